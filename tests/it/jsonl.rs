//! The frame record against its published schema, and laws of the output.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{fixture, records, rpcshark};

const CAPTURES: &[&str] = &[
    "good.pcap",
    "good-h2c.pcap",
    "good-bidi.pcap",
    "good.har",
    "good.flow",
    "good.bin",
    "heartbeat.har",
    "heartbeat.hex",
    "good-json.pcap.gz",
    "good-grpc.pcap.gz",
    "good-grpcweb.pcap.gz",
    "provider-error-grpc.pcap",
    "provider-error.pcap",
    "refused.pcap",
    "cut-off.pcap",
    "midstream-h2c.pcap.gz",
    "records/tap.jsonl.gz",
    "records/debugger.json.gz",
    "cases/13-gzip-corrupt/bad-crc.bin",
    "cases/43-data-and-data-binary/both-differ.bin",
];

/// The part of JSON Schema that docs/record.schema.json uses.
fn check(schema: &Value, value: &Value, at: &str) {
    if let Some(kinds) = schema.get("type") {
        let is = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            "null" => value.is_null(),
            other => panic!("a type that is not known here: {other}"),
        };
        let fits = match kinds {
            Value::String(kind) => is(kind),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
            _ => false,
        };
        assert!(fits, "{at}: {value} is no {kinds}");
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        assert!(allowed.contains(value), "{at}: {value} is none of {allowed:?}");
    }
    if let Value::Object(members) = value {
        for name in
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            assert!(members.contains_key(name), "{at}: no {name}");
        }
        for (name, inner) in members {
            let at = format!("{at}.{name}");
            match (schema.pointer(&format!("/properties/{name}")), schema.get("additionalProperties")) {
                (Some(known), _) => check(known, inner, &at),
                (None, Some(Value::Bool(false))) => panic!("{at}: not in the schema"),
                (None, Some(rest)) => check(rest, inner, &at),
                (None, None) => {}
            }
        }
    }
    if let (Some(items), Value::Array(all)) = (schema.get("items"), value) {
        all.iter().enumerate().for_each(|(i, item)| check(items, item, &format!("{at}[{i}]")));
    }
}

#[test]
fn records_fit_their_schema() {
    let text = include_str!("../../docs/record.schema.json");
    let schema: Value = serde_json::from_str(text).expect("JSON");
    let mut seen = 0;
    for capture in CAPTURES {
        for record in records(&[&format!("@{capture}")]) {
            check(&schema, &record, capture);
            seen += 1;
        }
    }
    assert!(seen > 1_000, "{seen} records");
    let documented = include_str!("../../docs/JSONL.md");
    for key in schema["properties"].as_object().expect("properties").keys() {
        assert!(documented.contains(&format!("| `{key}` |")), "docs/JSONL.md does not speak of {key}");
    }
}

#[test]
fn threads_do_not_show() {
    for capture in ["good.pcap", "good.har", "records/tap.jsonl.gz", "disorder.pcap.gz"] {
        let run = |threads: &str| {
            rpcshark(&["decode", "--format", "jsonl", "--threads", threads, &format!("@{capture}")]).stdout
        };
        let one = run("1");
        assert!(one.len() > 10_000);
        assert!(one == run("4"), "{capture}: output differs with the number of threads");
    }
}

/// A pipe that gives a byte at a time says what the file says.
#[test]
fn a_slow_pipe_says_the_same() {
    for capture in ["heartbeat.bin", "heartbeat.flow", "cut-off.pcap", "heartbeat.har"] {
        let bytes = std::fs::read(fixture(capture)).expect("the fixture");
        let run = |size: usize| {
            let mut child = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
                .args(["decode", "--format", "jsonl", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts");
            let mut input = child.stdin.take().expect("a pipe");
            let bytes = bytes.clone();
            let feeder =
                std::thread::spawn(move || bytes.chunks(size).try_for_each(|piece| input.write_all(piece)));
            let output = child.wait_with_output().expect("the program ends");
            feeder.join().expect("the feeder").expect("all is read");
            output.stdout
        };
        let whole = run(usize::MAX);
        assert!(!whole.is_empty());
        assert!(whole == run(1), "{capture}: output differs with the pieces of the input");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(["decode", "--format", "jsonl"])
        .arg(fixture("good.pcap"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_was_said_can_be_piped_out() {
    let said: String = records(&["@good.har"])
        .iter()
        .filter(|r| r["kind"] == "interaction_update" && r["ids"]["request_id"] != Value::Null)
        .filter_map(|r| r["message"]["interaction_update"]["text_delta"]["text"].as_str().map(str::to_owned))
        .collect();
    assert!(said.contains("I'll read tides.py first, then run the tests."), "{said}");
}
