mod oracle;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::{
    base::Severity,
    message::{decode, kind},
    schema::{Annotation, Sources, load},
};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases").join(name)
}

fn schema_of(case_name: &str) -> Schema {
    let roots = vec![case(case_name).join("proto")];
    load(&Sources { roots, ..Sources::default() }).unwrap().schema
}

/// A schema of one proto3 text.
fn schema_from(text: &str) -> Schema {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), text).unwrap();
    load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema
}

/// JSON text and findings of a payload.
fn shown(
    schema: &Schema,
    ty: &str,
    payload: &[u8],
    change: impl Fn(&mut JsonOptions<'_>),
) -> (String, Vec<Finding>) {
    let limits = Limits::default();
    let mut options = JsonOptions::new(&limits);
    change(&mut options);
    let (mut tree, mut findings, mut out) = (Tree::new(), Vec::new(), Vec::new());
    let ty = (!ty.is_empty()).then(|| schema.type_by_name(ty).unwrap());
    decode(schema, ty, payload, &limits, &mut tree, &mut findings);
    write(schema, &tree, payload, &options, &mut out, &mut findings);
    (String::from_utf8(out).unwrap(), findings)
}

fn decoded(schema: &Schema, ty: &str, payload: &[u8]) -> (Value, Vec<Finding>) {
    let (text, findings) = shown(schema, ty, payload, |_| {});
    (serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")), findings)
}

/// The same facts without what ProtoJSON has no form for (`#…` there, `$…` here).
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(k, _)| !k.starts_with(['#', '$']));
            Value::Object(kept.map(|(k, v)| (k.clone(), plain(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Number(n) => json!(n.as_f64()),
        other => other.clone(),
    }
}

/// Every file of a case gives its facts, and findings exactly where problems are named.
fn check_case(name: &str) {
    let schema = schema_of(name);
    let expect: Value =
        serde_json::from_slice(&std::fs::read(case(name).join("expect.json")).unwrap()).unwrap();
    for input in expect["inputs"].as_array().unwrap() {
        let (file, Some(ty)) = (input["file"].as_str().unwrap(), input["message"].as_str()) else { continue };
        let payload = std::fs::read(case(name).join(file)).unwrap();
        let (value, findings) = decoded(&schema, ty, &payload);
        if let Some(facts) = expect["facts"].get(file).filter(|f| f["small"].as_str().is_none()) {
            let (want, mut found) = (plain(facts), plain(&value));
            // What came through of a broken part is shown beside the facts.
            for part in ["small", "box"] {
                if want.get(part).is_none() && !findings.is_empty() {
                    found.as_object_mut().unwrap().remove(part);
                }
            }
            if file == "bad-inner.bin" {
                found["any"].as_object_mut().unwrap().remove("value");
            }
            for any in ["/any", "/anys/1"] {
                let undecoded = facts.pointer(any).is_some_and(|a| a.get("#value_base64").is_some());
                if let (true, Some(any)) = (undecoded, found.pointer_mut(any)) {
                    assert!(any.as_object_mut().unwrap().remove("value").is_some());
                }
            }
            for key in ["/str"] {
                if facts.pointer(key).is_some_and(|s| s.get("#not_utf8").is_some()) {
                    assert!(value.pointer(key).unwrap().get("$bytes").is_some());
                }
            }
            assert_eq!(want, found, "{name}/{file}");
        }
        let faults: Vec<_> = findings
            .iter()
            .filter(|f| f.severity > Severity::Note && f.code != Code::ProtoOneofMultiple)
            .collect();
        let problems = expect["problems"].get(file).map_or(0, |p| p.as_array().unwrap().len());
        assert_eq!(problems, faults.len(), "{name}/{file}: {faults:#?}");
        for finding in faults.iter().filter(|f| f.code != Code::ProtoRequired) {
            assert!(finding.span.is_some(), "{finding:?}");
        }
    }
}

#[test]
fn varint_limits() {
    check_case("18-varint-limits");
}

#[test]
fn groups() {
    check_case("20-groups");
    let schema = schema_of("20-groups");
    let payload = std::fs::read(case("20-groups/unknown.bin")).unwrap();
    let (value, findings) = decoded(&schema, "qa.g.M", &payload);
    let inner = json!([{"number": 1, "wire": "varint", "value": "5"},
        {"number": 4, "wire": "group", "value": [{"number": 2, "wire": "len", "value": "aW4="}]}]);
    assert_eq!(value["$unknown"], json!([{"number": 9, "wire": "group", "value": inner}]));
    assert_eq!(findings.len(), 1);
    let texts = |file: &str| {
        let payload = std::fs::read(case("20-groups").join(file)).unwrap();
        decoded(&schema, "qa.g.M", &payload).1.remove(0).text
    };
    assert!(texts("unclosed.bin").contains("group 2 is not closed"));
    assert!(texts("wrong-end.bin").contains("end of group 3 inside group 2"));
    assert!(texts("stray-end.bin").contains("end of group 2 without a start"));
}

#[test]
fn wire_types_that_do_not_fit() {
    check_case("21-wire-type-mismatch");
    let payload = std::fs::read(case("21-wire-type-mismatch/mismatch.bin")).unwrap();
    let (value, findings) = decoded(&schema_of("21-wire-type-mismatch"), "qa.v1.Everything", &payload);
    let unknown = value["$unknown"].as_array().unwrap();
    let numbers: Vec<u64> = unknown.iter().map(|u| u["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 14, 2, 17, 12, 13, 15]);
    assert_eq!(unknown[0]["name"], "i32");
    assert!(findings.iter().all(|f| f.code == Code::ProtoWireType));
    assert_eq!(findings[0].path.as_deref(), Some("i32"));
}

#[test]
fn packed_and_not() {
    check_case("22-packed-unpacked");
}

#[test]
fn merging() {
    check_case("23-merge-last-wins");
}

#[test]
fn text_that_is_not_utf8() {
    check_case("25-utf8-invalid");
    let payload = std::fs::read(case("25-utf8-invalid/latin1.bin")).unwrap();
    let (value, findings) = decoded(&schema_of("25-utf8-invalid"), "qa.v1.Everything", &payload);
    assert_eq!(value["str"], json!({"$bytes": "Y2Fm6SBub2ly", "$text": "caf\u{fffd} noir"}));
    assert!(findings[0].text.contains("636166e9206e6f6972"), "{findings:?}");
}

#[test]
fn depth() {
    check_case("26-deep-nesting");
}

#[test]
fn lengths() {
    check_case("27-length-overrun");
    let schema = schema_of("27-length-overrun");
    let text = |file: &str| {
        let payload = std::fs::read(case("27-length-overrun").join(file)).unwrap();
        let finding = decoded(&schema, "qa.v1.Everything", &payload).1.remove(0);
        (finding.path.unwrap_or_default(), finding.text)
    };
    let (path, words) = text("over-parent.bin");
    assert!(path == "small.name" && words.contains("50 bytes declared, 5 there"), "{path} {words}");
    assert!(text("cut-fixed.bin").1.contains("3 of 8 bytes"));
    assert!(text("newline-at-end.bin").1.contains("1 byte left: 0a"));
    let (_, words) = text("envelope-as-message.bin");
    assert!(words.contains("field number 0 at offset 0") && words.contains("envelope of 8 bytes"), "{words}");
}

#[test]
fn presence() {
    check_case("28-presence");
}

#[test]
fn numbers() {
    check_case("29-json-numbers");
}

#[test]
fn unknown_fields() {
    let name = "31-unknown-fields";
    let schema = schema_of(name);
    let expect: Value =
        serde_json::from_slice(&std::fs::read(case(name).join("expect.json")).unwrap()).unwrap();
    let stream = std::fs::read(case(name).join("stream.bin")).unwrap();
    let ty = expect["inputs"].as_array().unwrap().iter().find_map(|i| {
        let ty = i["message"].as_str()?;
        (i["file"] == "stream.bin").then_some(ty)
    });
    for frame in expect["facts"]["stream.bin"].as_array().unwrap().iter().filter(|f| f["kind"] == "data") {
        let offset = frame["offset"].as_u64().unwrap() as usize + 5;
        let payload = &stream[offset..offset + frame["length"].as_u64().unwrap() as usize];
        let (value, findings) = decoded(&schema, ty.unwrap(), payload);
        assert_eq!(plain(&frame["message"]), plain(&value));
        assert_eq!(findings.len(), frame["#unknown"].as_array().unwrap().len());
        assert!(findings.iter().all(|f| f.code == Code::ProtoUnknownField), "{findings:?}");
    }
}

#[test]
fn any() {
    check_case("33-any");
}

#[test]
fn proto2() {
    check_case("39-proto2-required-extensions");
}

#[test]
fn secrets_in_a_carrier_that_nobody_opens() {
    let schema = schema_of("82-redaction");
    let mut hex: Vec<String> = Vec::new();
    for line in std::fs::read_to_string(case("82-redaction/session.jsonl")).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        hex.extend(record["data"].as_str().map(str::to_owned));
    }
    assert_eq!(hex.len(), 3);
    // The carrier's type is found by its shape, so that no name of the protocol stands here.
    let carrier =
        schema.methods().iter().find(|m| schema.ty(m.input).field_by_name("data").is_some()).unwrap();
    let carrier = schema.ty(carrier.input).name.to_string();
    for data in hex {
        let raw = hex_simd::decode_to_vec(data.as_bytes()).unwrap();
        let mut payload = Vec::new();
        prost::encoding::string::encode(1, &data, &mut payload);
        let cut = payload.len();
        prost::encoding::bytes::encode(4, &raw, &mut payload);
        let (value, findings) = decoded(&schema, &carrier, &payload);
        // Both copies are shown opened, so that what is no secret can be read; no copy of the secret is left.
        let (text, _) = shown(&schema, &carrier, &payload, |_| {});
        assert_eq!(value["data"]["$encoding"], "hex");
        assert_eq!(value["data_binary"]["$encoding"], "protobuf");
        assert_eq!(value["data"]["$value"], value["data_binary"]["$value"]);
        assert!(text.contains("[redacted]") && text.contains("\"model_id\":\"m\""), "{text}");
        assert!(!text.contains("QA-SECRET") && !text.contains(&data), "{text}");
        let hidden = findings.iter().find(|f| f.code == Code::SecretRedacted).unwrap();
        assert!(hidden.text.contains("hidden: data.") && hidden.text.contains(" data_binary."), "{hidden:?}");
        // Broken off, it shows no less care.
        for end in [cut - 20, cut - 1, payload.len() - 9] {
            let (text, _) = shown(&schema, &carrier, &payload[..end], |_| {});
            assert!(!text.contains("5345435245542d") && !text.contains("NTM0NTQzNTI0NTU0MmQ"), "{text}");
            assert!(text.contains("[redacted]"), "{text}");
        }
        let (open, _) = shown(&schema, &carrier, &payload, |o| o.redact = false);
        assert!(open.contains(&data));
    }
}

const CHAT: &str = r#"syntax = "proto3"; package demo.v1;
    import "google/protobuf/any.proto";
    message Chat { oneof body { Text text = 1; Login login = 2; } map<string, string> names = 3; uint32 id = 4;
                   bytes blob = 5; string hex = 6; google.protobuf.Any any = 7; int64 big = 8; }
    message Text { string text = 1; repeated string parts = 2; }
    message Login { string user = 1; string password = 2; map<string, Login> more = 3; repeated Login list = 4; }"#;

#[test]
fn secrets_anywhere() {
    let schema = schema_from(CHAT);
    let check = |payload: &[u8], expect: Value| {
        let (text, _) = shown(&schema, "demo.v1.Chat", payload, |_| {});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expect);
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyM"), "{text}");
    };
    let login = b"\x12\x09\x12\x07hunter2";
    check(login, json!({"login": {"password": "[redacted]"}}));
    check(b"\x12\x02\x12\x00", json!({"login": {}}));
    // In a map's value, in an Any, cut off, under another wire type.
    let mut map = b"\x12\x10\x1a\x0e\x0a\x01k\x12\x09\x12\x07hunter2".to_vec();
    check(&map, json!({"login": {"more": {"k": {"password": "[redacted]"}}}}));
    map.truncate(map.len() - 2);
    let (text, _) = shown(&schema, "demo.v1.Chat", &map, |_| {});
    assert!(text.contains("[redacted]") && !text.contains("hunte"), "{text}");
    let mut any = b"\x3a\x1b\x0a\x0edemo.v1.Login\x12\x09\x12\x07hunter2".to_vec();
    any[3] = 13;
    any[1] = 26;
    check(&any, json!({"any": {"@type": "demo.v1.Login", "password": "[redacted]"}}));
    // By the shape of the value.
    check(b"\x0a\x21\x0a\x1fsk-hunter2hunter2hunter2hunter2", json!({"text": {"text": "[redacted]"}}));
}

#[test]
fn strings_are_safe_to_show() {
    let mut out = Vec::new();
    push_string(&mut out, "a\"\\\n\u{7f}\u{9b}\u{202e}\u{e0001}\u{ad}é😀\u{200d}");
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "\"a\\\"\\\\\\n\\u007f\\u009b\\u202e\\udb40\\udc01\\u00adé😀\\u200d\"");
    let back: String = serde_json::from_str(&text).unwrap();
    assert_eq!(back, "a\"\\\n\u{7f}\u{9b}\u{202e}\u{e0001}\u{ad}é😀\u{200d}");
}

#[test]
fn without_a_schema_numbers_are_keys() {
    let schema = Schema::from_sets(&[]).unwrap();
    assert!(schema.is_empty());
    let check = |payload: &[u8], expect: Value| assert_eq!(decoded(&schema, "", payload).0, expect);
    check(b"\x0a\x02hi\x10\x05\x10\x06", json!({"1": "hi", "2": [5, 6]}));
    check(b"\x0a\x04\x0a\x02hi\x1d\x01\x00\x00\x00", json!({"1": {"1": "hi"}, "3": {"$i32": "1"}}));
    check(b"\x0b\x08\x01\x0c", json!({"1": {"$group": {"1": 1}}}));
    check(b"\x0a\x02\xff\xfe", json!({"1": {"$bytes": "//4="}}));
    check(b"\x08\x01\x0a\x09x", json!({"1": 1, "$rest": "Cgl4"}));
    check(b"", json!({}));
}

#[test]
fn kinds() {
    let schema = schema_from(CHAT);
    let check = |ty: &str, payload: &[u8], expect: Option<&str>| {
        let (mut tree, limits) = (Tree::new(), Limits::default());
        decode(&schema, schema.type_by_name(ty), payload, &limits, &mut tree, &mut Vec::new());
        assert_eq!(kind(&schema, &tree).as_deref(), expect);
    };
    check("demo.v1.Chat", b"\x0a\x00", Some("text"));
    check("demo.v1.Chat", b"\x0a\x00\x12\x00", Some("login"));
    check("demo.v1.Chat", b"\x20\x01", None);
    check("demo.v1.Text", b"", Some("Text"));
    check("", b"", None);
}

#[test]
fn options() {
    let schema = schema_from(CHAT);
    let (text, _) = shown(&schema, "demo.v1.Text", b"", |o| o.emit_defaults = true);
    assert_eq!(text, r#"{"text":"","parts":[]}"#);
    let (text, _) = shown(&schema, "demo.v1.Chat", b"\x0a\x00", |o| o.emit_defaults = true);
    assert_eq!(text, r#"{"text":{"text":"","parts":[]},"names":{},"id":0,"blob":"","hex":"","big":"0"}"#);
}

#[test]
fn encodings_inside_fields() {
    let mut schema = schema_from(CHAT);
    let ty = schema.type_by_name("demo.v1.Text");
    let mut set = |path: &str, encoding, ty, inner| {
        let nested = Some(schema.add_nested(crate::schema::Nested { encoding, ty, inner }));
        let field = schema.field(path).unwrap();
        schema.annotate(field, Annotation { nested, ..Annotation::default() });
    };
    use crate::schema::Encoding;
    set("demo.v1.Chat.blob", Encoding::Blob, ty, None);
    set("demo.v1.Chat.hex", Encoding::Hex, ty, None);
    set("demo.v1.Text.text", Encoding::Json, None, None);
    let check = |payload: &[u8], expect: Value| {
        let (text, _) = shown(&schema, "demo.v1.Chat", payload, |o| o.expand = Expand::All);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expect);
    };
    let inner = |encoding: &str, text: Value| json!({"$type": "demo.v1.Text", "$encoding": encoding, "$value": {"text": text}});
    check(b"\x2a\x04\x0a\x02hi", json!({"blob": inner("protobuf", json!("hi"))}));
    check(b"\x32\x080a026869", json!({"hex": inner("hex", json!("hi"))}));
    check(b"\x32\x07not hex", json!({"hex": "not hex"}));
    let json = json!({"$encoding": "json", "$value": {"a": [1, "\u{202e}"]}});
    check("\x0a\x13\x0a\x11{ \"a\":\n[1,\"\u{202e}\"]}".as_bytes(), json!({"text": {"text": json}}));
}
