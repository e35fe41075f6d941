use proptest::prelude::*;

use super::*;
use crate::transport::h2::huffman::tests::encode as huffman;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    hex_simd::decode_to_vec(digits).unwrap()
}

/// Decodes blocks in turn: what each gives, as `name: value` lines, and the table's size after it.
fn check(decoder: &mut Decoder, block: &str, expected: &str, size: usize) {
    let block = decoder.decode(&hex(block), 1 << 20);
    let lines: Vec<String> = block.fields.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(lines.join("\n"), expected);
    assert_eq!((block.lost, block.faults, decoder.table.size()), (0, vec![], size));
}

fn sized(size: u64) -> Decoder {
    let mut decoder = Decoder::new();
    decoder.table.resize(size, 1 << 20);
    decoder
}

#[test]
fn appendix_c_2() {
    let custom = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(&mut Decoder::new(), custom, "custom-key: custom-header", 55);
    check(&mut Decoder::new(), "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", 0);
    check(&mut Decoder::new(), "1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", 0);
    check(&mut Decoder::new(), "82", ":method: GET", 0);
}

fn requests(blocks: [&str; 3]) {
    let mut decoder = Decoder::new();
    let base = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com";
    check(&mut decoder, blocks[0], base, 57);
    check(&mut decoder, blocks[1], &format!("{base}\ncache-control: no-cache"), 110);
    let third = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value";
    check(&mut decoder, blocks[2], third, 164);
}

#[test]
fn appendix_c_3_and_4() {
    requests([
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ]);
    requests([
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ]);
}

fn responses(blocks: [&str; 3]) {
    let mut decoder = sized(256);
    let rest =
        "cache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com";
    check(&mut decoder, blocks[0], &format!(":status: 302\n{rest}"), 222);
    check(&mut decoder, blocks[1], &format!(":status: 307\n{rest}"), 222);
    let third = ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
                 location: https://www.example.com\ncontent-encoding: gzip\n\
                 set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    check(&mut decoder, blocks[2], third, 215);
}

#[test]
fn appendix_c_5_and_6() {
    responses([
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
         3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970
         7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61
         6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ]);
    responses([
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
         1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2
         e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ]);
}

/// What a decoder that joined late makes of a block.
fn check_late(decoder: &mut Decoder, block: &str, fields: &[(&str, &str)], lost: u32, unseen: u32) {
    let block = decoder.decode(&hex(block), 1 << 20);
    let read: Vec<_> = block.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!((read.as_slice(), block.lost, block.unseen, block.faults), (fields, lost, unseen, vec![]));
}

#[test]
fn joined_late_keeps_what_is_known() {
    let mut decoder = Decoder::unknown();
    // POST, an older entry, then a new one.
    check_late(&mut decoder, "83 be 40 0161 0162", &[(":method", "POST"), ("a", "b")], 1, 1);
    // The newest is 62; what was 62 is 63 now.
    check_late(&mut decoder, "be bf", &[("a", "b")], 1, 1);
    // A literal whose name is an older entry: counted, and it takes its place in the table.
    check_late(&mut decoder, "7f00 0163 be bf", &[("a", "b")], 2, 2);
    // After a size update to 0 everything is known again.
    check_late(&mut decoder, "20 3fe11f 40 0178 0179 be", &[("x", "y"), ("x", "y")], 0, 0);
}

#[test]
fn a_lost_block_costs_the_entries_before_it() {
    let mut decoder = Decoder::new();
    check_late(&mut decoder, "40 0161 0162", &[("a", "b")], 0, 0);
    decoder.lose();
    check_late(&mut decoder, "be 40 0163 0164 be", &[("c", "d"), ("c", "d")], 1, 1);
}

fn check_fault(block: &str, fault: Fault, fields: usize, lost: u32) {
    let block = Decoder::new().decode(&hex(block), 200);
    assert_eq!((block.faults, block.fields.len(), block.lost), (vec![fault], fields, lost));
}

#[test]
fn faults_cost_one_field_where_they_can() {
    check_fault("82 be 84", Fault::Index(62), 2, 1);
    check_fault("80 84", Fault::Index(0), 1, 1);
    check_fault("00 0161 81 18 84", Fault::Huffman, 1, 1);
    check_fault("82 ffff ffff ffff ff", Fault::Integer, 1, 1);
    check_fault("82 40 05 6162", Fault::Truncated, 1, 1);
    check_fault("82 40", Fault::Truncated, 1, 1);
    check_fault("3fe1ff03 82", Fault::TableSize(65_536), 1, 0);
    check_fault("82 82 82 82 82 82", Fault::TooLarge, 4, 2);
}

/// A list of fields that repeats names and values, as headers do.
fn lists() -> impl Strategy<Value = Vec<Vec<(Vec<u8>, Vec<u8>)>>> {
    let name = prop_oneof![
        Just(b":path".to_vec()),
        Just(b"content-type".to_vec()),
        Just(b"x-a".to_vec()),
        "[a-z]{1,9}".prop_map(String::into_bytes),
    ];
    let value = prop_oneof![
        Just(b"application/proto".to_vec()),
        "[ -~]{0,40}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    let list = proptest::collection::vec((name, value), 0..12);
    proptest::collection::vec(list, 1..20)
}

fn as_text(fields: &[(Vec<u8>, Vec<u8>)]) -> Vec<Field> {
    fields.iter().map(|(name, value)| (text(name), text(value))).collect()
}

proptest! {
    #[test]
    fn reads_what_a_foreign_encoder_writes(lists in lists()) {
        let mut encoder = loona_hpack::Encoder::new();
        let mut decoder = Decoder::new();
        for list in lists {
            let wire = encoder.encode(list.iter().map(|(n, v)| (n.as_slice(), v.as_slice())));
            let block = decoder.decode(&wire, 1 << 20);
            prop_assert_eq!(block.fields, as_text(&list));
            prop_assert_eq!((block.lost, block.faults), (0, vec![]));
        }
    }

    /// Joined after any number of blocks: nothing is wrong, only less is known.
    #[test]
    fn joined_late_never_gives_a_wrong_field(lists in lists(), skip in 0usize..20) {
        let mut encoder = loona_hpack::Encoder::new();
        let mut decoder = Decoder::unknown();
        for (i, list) in lists.iter().enumerate() {
            let wire = encoder.encode(list.iter().map(|(n, v)| (n.as_slice(), v.as_slice())));
            if i < skip {
                continue;
            }
            let block = decoder.decode(&wire, 1 << 20);
            let sent = as_text(list);
            prop_assert_eq!(block.fields.len() + block.lost as usize, sent.len());
            let mut rest = sent.iter();
            prop_assert!(block.fields.iter().all(|field| rest.any(|other| other == field)));
            prop_assert_eq!(block.faults, vec![]);
        }
    }

    /// Where the oracle accepts any bytes at all, ours says the same.
    #[test]
    fn agrees_with_a_foreign_decoder(
        pieces in proptest::collection::vec(
            prop_oneof![
                (0x80u8..).prop_map(|b| vec![b]),
                (prop_oneof![Just(0x40u8), Just(0u8), Just(0x10u8)], "[a-z]{1,8}", "[ -~]{0,30}").prop_map(
                    |(first, name, value)| {
                        let (name, value) = (huffman(name.as_bytes()), huffman(value.as_bytes()));
                        [&[first, 0x80 | name.len() as u8][..], &name, &[0x80 | value.len() as u8], &value].concat()
                    }
                ),
                (0x41u8..0x7f, "[ -~]{0,60}").prop_map(|(first, value)| {
                    [&[first, value.len() as u8][..], value.as_bytes()].concat()
                }),
            ],
            0..30,
        ),
    ) {
        let wire = pieces.concat();
        if let Ok(fields) = loona_hpack::Decoder::new().decode(&wire) {
            let block = Decoder::new().decode(&wire, 1 << 20);
            prop_assert_eq!(block.fields, as_text(&fields));
            prop_assert_eq!(block.faults, vec![]);
        }
    }

    #[test]
    fn no_bytes_are_too_odd(wire in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::unknown();
        decoder.decode(&wire, 1_000);
        Decoder::new().decode(&wire, 1_000);
    }
}
