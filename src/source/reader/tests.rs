use std::io::{self, Cursor, Write};

use super::*;

/// A reader that gives a few bytes at a time.
struct Slow(Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(buffer.get_mut(..length).unwrap_or_default())
    }
}

fn read_by(content: &[u8], size: usize, options: &Options) -> Result<(Format, Vec<Record>), Error> {
    let raw = Box::new(Slow(Cursor::new(content.to_vec()), size));
    let mut reader = Reader::from_reader("x", raw, options)?;
    let mut out = Vec::new();
    while let Some(record) = reader.next()? {
        out.push(record);
    }
    Ok((reader.format(), out))
}

/// Records as text, with pieces of one body joined.
fn shown(records: Vec<Record>) -> Vec<String> {
    let mut body = Vec::new();
    let mut out = Vec::new();
    for record in records {
        match record {
            Record::Body(piece, _) => body.extend_from_slice(&piece),
            record => out.push(format!("{record:?}")),
        }
    }
    if !body.is_empty() {
        out.push(format!("body {}", hex_simd::encode_to_string(&body, hex_simd::AsciiCase::Lower)));
    }
    out
}

fn check_with(content: &[u8], options: &Options, expected: &[&str]) {
    for size in [1, 3, 1 << 20] {
        let got = read_by(content, size, options).map(|(_, records)| shown(records));
        assert_eq!(got.map_err(|e| e.to_string()).as_deref(), Ok(&expected.map_owned()[..]), "by {size}");
    }
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

fn check(content: &[u8], expected: &[&str]) {
    check_with(content, &Options::default(), expected);
}

fn refuse(content: &[u8], part: &str) {
    let error = read_by(content, 7, &Options::default()).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.starts_with("x: ") && error.contains(part), "{error}");
}

#[test]
fn bodies_and_messages() {
    check(b"\x00\x00\x00\x00\x01x\x02\x00", &["body 0000000001780200"]);
    check(b"\x0a\x02hi", &["Message(b\"\\n\\x02hi\")"]);
    check(b"0a026869\n", &["Message(b\"\\n\\x02hi\")"]);
    check(b"00 00 00 00 00", &["body 0000000000"]);
    check(b"AAAAAAA=AgAAAAJ7fQ==", &["body 000000000002000000027b7d"]);
}

#[test]
fn what_the_operator_says_wins() {
    let named = |format| Options { format: Some(format), ..Options::default() };
    check_with(b"0a026869", &named(Format::Message), &["Message(b\"0a026869\")"]);
    check_with(b"ab", &named(Format::Raw), &["body 6162"]);
    check_with(b"", &named(Format::Flow), &[]);
    check_with(b"", &named(Format::Jsonl), &[]);
    let typed = Options { typed: true, ..Options::default() };
    check_with(b"", &typed, &["Message(b\"\")"]);
    check_with(b"\xff\xff", &typed, &["Message(b\"\\xff\\xff\")"]);
}

#[test]
fn unusable_inputs() {
    refuse(b"", "empty");
    refuse(b"just some words\n", "not recognised");
    refuse(b"\xff\xffab", "ff ff 61 62 (\"\\xff\\xffab\")");
    refuse(b"0a0", "odd number of hex digits (3)");
    refuse(b"\xac\xed\x00\x05sr", "HAR");
    refuse(b"{\"log\":5}", "log.entries is missing");
    refuse(b"{\"type\":\"system\",\"session_id\":\"x\"}", "type, session_id");
    let missing = Reader::open("/nonexistent/\u{1b}x".as_ref(), &Options::default()).err();
    assert_eq!(missing.map(|e| e.to_string()).as_deref(), Some("/nonexistent/\\x1bx: does not exist"));
}

#[test]
fn a_record_is_there_before_the_next_byte() {
    let (mut writer, raw) = match io::pipe() {
        Ok((raw, writer)) => (writer, raw),
        Err(_) => return,
    };
    let _ = writer.write_all(b"{\"a_b\":{}}\n{\"a_");
    let Ok(mut reader) = Reader::from_reader("x", Box::new(raw), &Options::default()) else {
        panic!("opens")
    };
    assert!(matches!(reader.next(), Ok(Some(Record::Logged(_)))));
    let _ = writer.write_all(b"b\":{}}");
    assert!(matches!(reader.next(), Ok(Some(Record::Logged(_)))));
    drop(writer);
    assert!(matches!(reader.next(), Ok(None)));
}

#[test]
fn compressed_captures() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let _ = encoder.write_all(b"\x00\x00\x00\x00\x00");
    let packed = encoder.finish().unwrap_or_default();
    check(&packed, &["body 0000000000"]);
    let cut = packed.get(..packed.len() - 4).unwrap_or_default();
    let records = read_by(cut, 5, &Options::default()).map(|(_, records)| shown(records)).unwrap_or_default();
    assert!(records.iter().any(|r| r.contains("CodecCorrupt")), "{records:?}");
}

#[test]
fn utf16() {
    let text = "\u{feff}{\"a_b\":{\"c\":\"é\"}}";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for size in [1, 4, 1000] {
        let records = read_by(&bytes, size, &Options::default()).map(|(_, r)| shown(r)).unwrap_or_default();
        assert!(records.first().is_some_and(|r| r.contains("{\\\"c\\\":\\\"\\xc3\\xa9\\\"}")), "{records:?}");
    }
}

#[test]
fn every_prefix_is_safe() {
    let samples: &[&[u8]] = &[
        b"{\"log\":{\"entries\":[{\"request\":{},\"response\":{\"status\":0}}]}}",
        b"{\"rpc\":\"a.B/C\",\"direction\":\"up\",\"data\":\"3a00\"}\n",
        b"12:4:type;3:tcp;}",
        b"00000000: 1208 2f61 0a  ../a.\n",
        b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a",
        b"PK\x03\x04\x14\x00\x00\x00",
        b"SQLite format 3\0\x10\x00",
    ];
    for sample in samples {
        for end in 0..=sample.len() {
            let _ = read_by(sample.get(..end).unwrap_or_default(), 3, &Options::default());
        }
    }
}
