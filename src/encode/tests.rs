//! There and back: what is encoded decodes to what it was.

use std::io::Cursor;

use crate::base::Limits;
use crate::message::{self, JsonOptions, Tree};
use crate::schema::{Sources, load};

use super::*;

const PROTO: &str = r#"
syntax = "proto3";
package demo.v1;
message Chat {
  oneof body { Say say = 1; int64 count = 2; }
  repeated int32 numbers = 3;
  map<string, Say> by_name = 4;
  optional bool urgent = 5;
  bytes blob = 6;
}
message Say { string text = 1; }
message Outer { string data = 1; Id id = 2; int64 seqno = 3; bytes raw = 4; }
message Id { string value = 1; }
"#;

fn schema() -> Schema {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), PROTO).unwrap();
    load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema
}

/// Wire bytes (hex) → JSON → wire bytes: the same.
fn there_and_back(ty: Option<&str>, hex: &str) {
    let schema = schema();
    let wire = hex_simd::decode_to_vec(hex).unwrap();
    let limits = Limits::default();
    let options = JsonOptions { redact: false, ..JsonOptions::new(&limits) };
    let (mut tree, mut out, mut findings) = (Tree::new(), Vec::new(), Vec::new());
    let ty = ty.map(|name| schema.type_by_name(name).unwrap());
    message::decode(&schema, ty, &wire, &limits, &mut tree, &mut findings);
    message::json::write(&schema, &tree, &wire, &options, &mut out, &mut findings);
    let text = String::from_utf8(out).unwrap();
    let back = match ty {
        Some(ty) => message(&schema, ty, &text),
        None => free::message(&text),
    };
    assert_eq!(back.map(hex_of), Ok(hex.to_owned()), "{text}");
}

fn hex_of(bytes: Vec<u8>) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

#[test]
fn messages_come_back() {
    let chat = Some("demo.v1.Chat");
    there_and_back(chat, "");
    there_and_back(chat, "0a040a026869");
    there_and_back(chat, "0a00");
    there_and_back(chat, "1000");
    there_and_back(chat, "1a0301027f");
    there_and_back(chat, "22050a01611200");
    there_and_back(chat, "280032020aff");
    // Unknown fields of every wire type, a string that is no UTF-8, and a message that breaks off.
    there_and_back(chat, "8802059102010000000000000092020401020304950200000001");
    there_and_back(chat, "9302 0801 9402".replace(' ', "").as_str());
    there_and_back(chat, "0a040a02ff68");
    there_and_back(chat, "28010aff");
    there_and_back(None, "08051202686 91a020802".replace(' ', "").as_str());
    there_and_back(None, "0dffffffff08ffffffffffffffffff0111ffffffffffffffff");
}

/// A record's payload as hex, its flags, and whether it is a frame.
fn check(text: &str, payload: &str, flags: u8, role: Role) {
    let encoded = record(&schema(), text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(
        (hex_of(encoded.payload), encoded.flags, encoded.role),
        (payload.to_owned(), flags, role),
        "{text}"
    );
}

#[test]
fn records() {
    check(
        r#"{"messageType":"demo.v1.Chat","flags":"0x01","compressed":true,"message":{"say":{"text":"hi"}}}"#,
        "0a040a026869",
        1,
        Role::Message,
    );
    check(r#"{"messageType":null,"flags":4,"message":{"1":"hi"}}"#, "0a026869", 4, Role::Message);
    check(r#"{"messageType":null,"flags":"0x00","length":0,"message":null}"#, "", 0, Role::Message);
    check(r#"{"kind":"end_stream","flags":"0x02","endStream":true,"message":{}}"#, "7b7d", 2, Role::End);
    let text = r#"{"kind":"end_stream","flags":"0x02","message":{"error":{"code":"a","details":[{"type":"t","value":"AA","decoded":{}}]}}}"#;
    let payload = r#"{"error":{"code":"a","details":[{"type":"t","value":"AA"}]}}"#;
    check(text, &hex_of(payload.into()), 2, Role::End);
    let trailers = r#"{"kind":"trailers","flags":"0x80","message":{"grpc-status":"0","x":["1","2"],"grpc-message":"a%"}}"#;
    check(
        trailers,
        &hex_of("grpc-status: 0\r\nx: 1\r\nx: 2\r\ngrpc-message: a%25\r\n".into()),
        0x80,
        Role::End,
    );
    check(
        r#"{"kind":"trailers","flags":null,"message":{"grpc-status":"0"}}"#,
        &hex_of("grpc-status: 0\r\n".into()),
        0,
        Role::Outside,
    );
}

/// A record is refused at a place, with a path and words.
fn refused(text: &str, at: &str, path: &str, said: &str) {
    let error = record(&schema(), text).expect_err(text);
    let place = if at.is_empty() { 0 } else { text.find(at).expect("the place") };
    assert_eq!((error.at, error.path.as_str()), (place, path), "{text}: {error}");
    assert!(error.text.contains(said), "{text}: {error}");
}

#[test]
fn mistakes_have_a_place() {
    refused("{}", "", "", "no frame record");
    refused(r#"{"messageType":"demo.v1.Chta","message":{}}"#, "\"demo", "messageType", "demo.v1.Chat");
    refused(r#"{"messageType":"demo.v1.Chat","message":{"sya":1}}"#, "1}}", "message", "did you mean 'say'");
    refused(
        r#"{"messageType":"demo.v1.Chat","message":{"say":{"text":5}}}"#,
        "5}}",
        "message.say.text",
        "string",
    );
    refused(
        r#"{"messageType":"demo.v1.Chat","message":{"numbers":[1,"x"]}}"#,
        "\"x\"",
        "message.numbers[1]",
        "",
    );
    refused(r#"{"messageType":"demo.v1.Chat","flags":"0x1ff","message":{}}"#, "\"0x1ff", "flags", "flags");
    refused(r#"{"messageType":null,"message":{"a":1}}"#, "{\"a\"", "message.a", "field number");
    refused(r#"{"messageType":"demo.v1.Chat","message":null,"length":5}"#, "", "message", "does not hold");
    refused(
        r#"{"messageType":"demo.v1.Chat","message":{},"findings":[{"code":"secret.redacted"}]}"#,
        "",
        "findings",
        "--show-secrets",
    );
}

#[test]
fn values_are_found_in_a_stream() {
    let text = "{\"a\":1}\n\n{\n \"b\": \"}é\\\"\"}  [ {\"c\":[2]},\n{}] \"x\" 5";
    let mut pieces = Pieces::new(Cursor::new(text), 100);
    let mut found = Vec::new();
    while let Some(piece) = pieces.next_piece().unwrap() {
        found.push((piece.text.clone(), piece.line, piece.column));
        if piece.text.contains('}') && piece.line == 3 && piece.column == 1 {
            assert_eq!(piece.place(piece.text.find('é').unwrap()), (4, 9));
        }
    }
    let expect = [
        ("{\"a\":1}", 1, 1),
        ("{\n \"b\": \"}é\\\"\"}", 3, 1),
        ("{\"c\":[2]}", 4, 18),
        ("{}", 5, 1),
        ("\"x\"", 5, 5),
        ("5", 5, 9),
    ];
    assert_eq!(found, expect.map(|(t, l, c)| (t.to_owned(), l, c)));
    let mut stray = Pieces::new(Cursor::new("{}] , {}"), 100);
    let mut next = || stray.next_piece().unwrap().map(|piece| piece.text);
    assert_eq!([next(), next(), next(), next()], ["{}", "]", ",", "{}"].map(|t| Some(t.to_owned())));
    assert_eq!(next(), None);
    let long = Pieces::new(Cursor::new("{\"a\":12345678}"), 5).next_piece();
    assert!(matches!(long, Err(SplitError::Malformed { line: 1, column: 1, .. })));
}

#[test]
fn carriers() {
    let schema = schema();
    let outer = schema.type_by_name("demo.v1.Outer").unwrap();
    let wrap =
        |payload, order| Wrap { carrier: outer, payload, order, id: Some((vec![1, 0], "r".to_owned())) };
    let hex = wrap((0, PayloadForm::Hex), Some((2, 5))).wrap(&schema, &[1, 0xab]);
    assert_eq!(hex.map(hex_of), Ok("0a0430316162".to_owned() + "12030a0172" + "1805"));
    let raw = wrap((3, PayloadForm::Raw), Some((2, 0))).wrap(&schema, &[1, 0xab]);
    assert_eq!(raw.map(hex_of), Ok("12030a0172".to_owned() + "220201ab"));
}
