use super::*;

fn u32s(order: ByteOrder, values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|v| if order == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() })
        .collect()
}

/// A pcap file with one Ethernet packet for each of `packets`.
fn pcap(magic: u32, order: ByteOrder, packets: &[&[u8]]) -> Vec<u8> {
    let mut file = u32s(order, &[magic, 0x0004_0002, 0, 0, 64, 1]);
    for (i, packet) in packets.iter().enumerate() {
        file.extend(u32s(order, &[10 + i as u32, 7, packet.len() as u32, packet.len() as u32 + 3]));
        if magic == 0xa1b2_cd34 {
            file.extend([0; 8]);
        }
        file.extend_from_slice(packet);
    }
    file
}

fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let total = padded as u32 + 12;
    let mut block = u32s(order, &[kind, total]);
    block.extend_from_slice(body);
    block.resize(8 + padded, 0);
    block.extend(u32s(order, &[total]));
    block
}

fn section(order: ByteOrder) -> Vec<u8> {
    block(order, 0x0a0d_0d0a, &[u32s(order, &[0x1a2b_3c4d, 1]), vec![0xff; 8]].concat())
}

/// An interface with options given as code and value.
fn interface(order: ByteOrder, linktype: u16, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let u16s = |v: u16| if order == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut body = [u16s(linktype), u16s(0)].concat();
    body.extend(u32s(order, &[0]));
    for (code, value) in options {
        body.extend(u16s(*code));
        body.extend(u16s(value.len() as u16));
        body.extend_from_slice(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

fn enhanced(order: ByteOrder, interface: u32, ticks: u64, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    let head = u32s(order, &[interface, (ticks >> 32) as u32, ticks as u32, length, length]);
    block(order, 6, &[head, data.to_vec()].concat())
}

fn show(items: &[PcapItem]) -> Vec<String> {
    items
        .iter()
        .map(|item| match item {
            PcapItem::Packet(p) => format!(
                "{} {} {}/{} {}+{} @{}",
                p.number,
                p.time.map_or("-".into(), |t| t.0.to_string()),
                p.interface,
                p.linktype.0,
                p.bytes.escape_ascii(),
                p.original_length as usize - p.bytes.len(),
                p.at
            ),
            PcapItem::Secrets(text) => format!("secrets {}", text.escape_ascii()),
            PcapItem::Finding(f) => format!("{}: {}", f.code.name(), f.text),
        })
        .collect()
}

fn read(file: &[u8], block: usize) -> Vec<String> {
    let mut parser = Parser::new();
    let mut out = Vec::new();
    for chunk in file.chunks(block.max(1)) {
        parser.feed(Bytes::copy_from_slice(chunk), &mut out);
    }
    parser.finish(&mut out);
    show(&out)
}

/// Reads a file whole and in blocks of every small size, and every prefix of it.
fn check(file: &[u8], expect: &[&str]) {
    assert_eq!(read(file, file.len()), expect);
    for size in 1..40 {
        assert_eq!(read(file, size), expect, "in blocks of {size}");
    }
    for cut in 0..file.len() {
        assert_eq!(read(&file[..cut], cut), read(&file[..cut], 1), "cut at {cut}");
    }
}

#[test]
fn pcap_variants() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let micro = ["1 10000007000 0/1 abc+3 @40", "2 11000007000 0/1 de+3 @59"];
        check(&pcap(0xa1b2_c3d4, order, &[b"abc", b"de"]), &micro);
        let nano = ["1 10000000007 0/1 abc+3 @40", "2 11000000007 0/1 de+3 @59"];
        check(&pcap(0xa1b2_3c4d, order, &[b"abc", b"de"]), &nano);
        let modified = ["1 10000007000 0/1 abc+3 @48", "2 11000007000 0/1 de+3 @75"];
        check(&pcap(0xa1b2_cd34, order, &[b"abc", b"de"]), &modified);
    }
    check(&pcap(0xa1b2_c3d4, ByteOrder::Little, &[]), &[]);
    // The header's snap length is 64.
    let long = [b'x'; 100];
    let shown = format!("1 10000007000 0/1 {}+3 @40", "x".repeat(100));
    check(&pcap(0xa1b2_c3d4, ByteOrder::Little, &[&long]), &[&shown]);
}

#[test]
fn pcap_cut() {
    let file = pcap(0xa1b2_c3d4, ByteOrder::Little, &[b"abc", b"def"]);
    let cut = |by: usize| &file[..file.len() - by];
    check(
        cut(1),
        &[
            "1 10000007000 0/1 abc+3 @40",
            "capture.cut: the capture file ends inside packet 2: 2 of 3 bytes are there",
            "2 11000007000 0/1 de+0 @59",
        ],
    );
    check(
        cut(4),
        &[
            "1 10000007000 0/1 abc+3 @40",
            "capture.cut: the capture file ends inside the record header of packet 2",
        ],
    );
    check(cut(30), &["capture.cut: the capture file ends inside the record header of packet 1"]);
    check(&file[..10], &["capture.cut: the capture file ends inside its file header"]);
    check(&[], &["capture.cut: the capture file is empty"]);
    check(b"GET / HTTP/1.1", &["capture.damaged: neither a pcap nor a pcapng file"]);
}

#[test]
fn pcap_absurd_length() {
    let mut file = pcap(0xa1b2_c3d4, ByteOrder::Little, &[b"abc"]);
    file.extend(u32s(ByteOrder::Little, &[1, 1, 0xffff_fff0, 0xffff_fff0]));
    file.extend([0; 50]);
    check(
        &file,
        &[
            "1 10000007000 0/1 abc+3 @40",
            "capture.damaged: packet 2 claims 4294967280 bytes, more than any packet has; \
             reading goes on where two that can be follow",
        ],
    );
}

#[test]
fn pcap_goes_on_behind_a_damaged_record() {
    let good = pcap(0xa1b2_c3d4, ByteOrder::Little, &[b"abc", b"defg", b"hi"]);
    let records = &good[24..];
    let bad = u32s(ByteOrder::Little, &[1, 1, 0xffff_fff0, 7]);
    // Between the damage and the next record lies what looks like a header and has none behind it.
    let alone = u32s(ByteOrder::Little, &[11, 5, 3, 3]);
    let file = [&good[..], &bad, b"junk", &alone, b"jun", &[0xff; 30], records].concat();
    check(
        &file,
        &[
            "1 10000007000 0/1 abc+3 @40",
            "2 11000007000 0/1 defg+3 @59",
            "3 12000007000 0/1 hi+3 @79",
            "capture.damaged: packet 4 claims 4294967280 bytes, more than any packet has; \
             reading goes on where two that can be follow",
            "5 10000007000 0/1 abc+3 @166",
            "6 11000007000 0/1 defg+3 @185",
            "7 12000007000 0/1 hi+3 @205",
        ],
    );
}

#[test]
fn pcap_goes_on_whatever_time_stands_before_the_damage() {
    let good = pcap(0xa1b2_c3d4, ByteOrder::Little, &[b"abc", b"defg"]);
    let wild = [&u32s(ByteOrder::Little, &[0xf000_0000, 7, 3, 3])[..], b"abc"].concat();
    let bad = u32s(ByteOrder::Little, &[1, 1, 0xffff_fff0, 7]);
    let file = [&good[..], &wild, &bad, b"junk", &good[24..]].concat();
    let shown = read(&file, file.len());
    let behind = shown.iter().skip_while(|line| !line.starts_with("capture.damaged")).skip(1);
    assert_eq!(behind.count(), 2, "{shown:#?}");
}

/// Zeros read as headers of empty packets: two of them say the same time.
#[test]
fn pcap_goes_on_behind_headers_that_bear_each_other_out() {
    let good = pcap(0xa1b2_c3d4, ByteOrder::Little, &[b"abc", b"defg"]);
    let now = |seconds: u32| [&u32s(ByteOrder::Little, &[seconds, 7, 3, 3])[..], b"abc"].concat();
    let bad = u32s(ByteOrder::Little, &[0, 0, 0xffff_fff0, 7]);
    let behind = [now(1_700_000_000), now(1_700_000_001), now(1_700_000_002)].concat();
    for junk in [0, 100_000, 300_000, 700_000] {
        let file = [&good[..24], &[0; 64], &bad, &vec![0xff; junk], &behind, &behind].concat();
        let shown = read(&file, file.len());
        assert!(shown.len() >= 5 + 3, "{junk}: {shown:#?}");
        assert_eq!(shown, read(&file, 10_007), "{junk}");
    }
}

#[test]
fn ng_sections_and_interfaces() {
    let (little, big) = (ByteOrder::Little, ByteOrder::Big);
    let file = [
        section(little),
        interface(little, 1, &[]),
        interface(little, 113, &[(2, b"eth0".to_vec()), (9, vec![9])]),
        enhanced(little, 1, 5, b"abc"),
        enhanced(little, 0, 5, b"abcd"),
        section(big),
        interface(big, 101, &[(9, vec![0x80 | 20]), (14, 1_700_000_000i64.to_be_bytes().to_vec())]),
        enhanced(big, 0, 3 << 19, b"x"),
        enhanced(big, 7, 0, b"x"),
        block(big, 3, &[u32s(big, &[2]), b"yz".to_vec()].concat()),
        block(big, 2, &[vec![0, 0, 0, 9], u32s(big, &[0, 1 << 20, 1, 1]), b"o".to_vec()].concat()),
    ]
    .concat();
    check(
        &file,
        &[
            "1 5 1/113 abc+0 @112",
            "2 5000 0/1 abcd+0 @148",
            "3 1700000001500000000 2/101 x+0 @252",
            "capture.damaged: packet 4 names interface 7, which the section does not describe",
            "5 - 2/101 yz+0 @308",
            "6 1700000001000000000 2/101 o+0 @344",
        ],
    );
}

#[test]
fn ng_other_blocks() {
    let order = ByteOrder::Little;
    let secrets = |kind: u32, text: &[u8]| {
        block(order, 0x0a, &[u32s(order, &[kind, text.len() as u32]), text.to_vec()].concat())
    };
    let file = [
        section(order),
        secrets(0x544c_534b, b"CLIENT_RANDOM 00 11\n"),
        secrets(0x5747_4b4c, b"wireguard"),
        block(order, 5, &[0; 20]),
        block(order, 0xbad, b"custom"),
        interface(order, 1, &[]),
        enhanced(order, 0, 1, b"abc"),
    ]
    .concat();
    check(
        &file,
        &[
            "secrets CLIENT_RANDOM 00 11\\n",
            "capture.skipped: decryption secrets of type 0x57474b4c are not read",
            "1 1000 0/1 abc+0 @200",
        ],
    );
}

#[test]
fn ng_damage() {
    let order = ByteOrder::Little;
    let head = [section(order), interface(order, 1, &[])].concat();
    let packet = enhanced(order, 0, 1, b"abc");
    let mut wrong = packet.clone();
    wrong[32] = 99;
    check(
        &[head.clone(), wrong, packet.clone()].concat(),
        &[
            "capture.damaged: a block of type 0x6 gives its length as 36 bytes first and as 99 at its end, \
             before packet 1",
            "1 1000 0/1 abc+0 @76",
            "2 1000 0/1 abc+0 @112",
        ],
    );
    let mut wrong = packet.clone();
    wrong[4] = 3;
    check(
        &[head.clone(), wrong, packet.clone(), head.clone(), packet.clone()].concat(),
        &[
            "capture.damaged: a block of type 0x6 claims a length of 3 bytes, before packet 1; \
             reading goes on at the next sound block",
            "1 1000 0/1 abc+0 @112",
            "2 1000 1/1 abc+0 @196",
        ],
    );
    let mut wrong = packet.clone();
    wrong[20] = 200;
    check(
        &[head.clone(), wrong].concat(),
        &["capture.damaged: packet 1 claims 200 bytes, its block has 4", "1 1000 0/1 abc\\x00+0 @76"],
    );
    check(
        &[&head[..], &packet[..30]].concat(),
        &["capture.cut: the capture file ends inside the block of packet 1", "1 1000 0/1 ab+0 @76"],
    );
    let large = u32s(order, &[6, 0x4000_0000, 0, 0, 0]);
    check(
        &[head, large, packet].concat(),
        &[
            "capture.damaged: packet 1 claims 1073741824 bytes, more than is read; \
             reading goes on at the next sound block",
            "2 1000 0/1 abc+0 @96",
        ],
    );
}

#[test]
fn memory_is_not_claimed() {
    let mut file = pcap(0xa1b2_c3d4, ByteOrder::Little, &[]);
    file.extend(u32s(ByteOrder::Little, &[1, 1, 15 << 20, 15 << 20]));
    let mut parser = Parser::new();
    let mut out = Vec::new();
    parser.feed(Bytes::from(file), &mut out);
    assert!(parser.carry.capacity() < 1 << 20);
}

#[test]
fn no_bytes_are_too_odd() {
    let order = ByteOrder::Little;
    let ng = [section(order), interface(order, 1, &[(9, vec![0xff])]), enhanced(order, 0, u64::MAX, b"abc")]
        .concat();
    let classic = pcap(0xa1b2_3c4d, order, &[b"abc", b"def"]);
    for file in [ng, classic] {
        for at in 0..file.len() {
            for value in [0, 1, 0x0a, 0x7f, 0x80, 0xff] {
                let mut file = file.clone();
                file[at] = value;
                assert_eq!(read(&file, file.len()), read(&file, 3), "{at}: {value}");
            }
        }
    }
}
