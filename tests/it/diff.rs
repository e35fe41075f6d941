//! Two sessions compared: what may differ between recordings of the same run, and what must be found.
//!
//! `tests/golden/*.diff` are whole outputs; after a change that is meant, write them anew with the command in the test.

use serde_json::Value;

use crate::run::{fixture, parse, rpcshark, rpcshark_fed, stderr};

/// The changes between two sessions, after the exit code has been compared with what they say.
fn changes(args: &[&str]) -> Vec<Value> {
    let output = rpcshark(&[&["diff", "--format", "jsonl"], args].concat());
    let found = parse(&output);
    assert_eq!(output.status.code(), Some(i32::from(!found.is_empty())), "{args:?}: {}", stderr(&output));
    found
}

/// `type path: left -> right` of each change.
fn lines(args: &[&str]) -> Vec<String> {
    let line = |change: &Value| {
        let side = |name: &str| change.get(name).map_or_else(|| "unset".to_owned(), Value::to_string);
        let (kind, path) = (change["type"].as_str().unwrap_or(""), change["path"].as_str().unwrap_or(""));
        format!("{kind} {path}: {} -> {}", side("left"), side("right"))
    };
    changes(args).iter().map(line).collect()
}

fn check_same(args: &[&str]) {
    let found = lines(args);
    assert!(found.is_empty(), "{args:?}:\n{}", found.join("\n"));
    let output = rpcshark(&[&["diff"], args].concat());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]), "{args:?}");
}

fn check_golden(name: &str, args: &[&str]) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let output = rpcshark(&[&["diff"], args].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let root = fixture("").display().to_string();
    let shown = String::from_utf8(output.stdout).expect("UTF-8").replace(&root, "");
    let expect = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == expect, "{name} differs; it is now:\n{shown}");
}

const CASE: [&str; 6] =
    ["--no-builtin", "-I", "@cases/88-diff/proto", "--as=qa.v1.Everything", "--encoding", "gzip"];

#[test]
fn field_order_map_order_packing_and_compression_are_no_difference() {
    check_same(&[&CASE[..], &["@cases/88-diff/same-a.bin", "@cases/88-diff/same-b.bin"]].concat());
}

#[test]
fn nan_is_nan() {
    check_same(&[&CASE[..], &["@cases/88-diff/other.bin", "@cases/88-diff/other.bin"]].concat());
}

#[test]
fn presence_unknown_fields_elements_and_ends_count() {
    let found = lines(&[&CASE[..], &["@cases/88-diff/same-a.bin", "@cases/88-diff/other.bin"]].concat());
    assert_eq!(
        found,
        [
            r#"removed counts: {"x":1,"y":2} -> unset"#,
            "changed packed_ints: [1,2] -> [1,2,3]",
            "added opt_int: unset -> 0",
            r#"removed $unknown: {"900":[{"varint":"5"}]} -> unset"#,
            r#"added dbl: unset -> "NaN""#,
            r#"added : unset -> {"str":"extra"}"#,
            r#"changed end: "ok" -> {"code":"aborted"}"#,
        ]
    );
}

#[test]
fn what_carried_a_session_is_no_difference() {
    let others = [
        "@good-h2c.pcap",
        "@good.har",
        "@good.flow",
        "@good-grpc.pcap.gz",
        "@good-grpcweb.pcap.gz",
        "@good-json.pcap.gz",
        "@good-bidi.pcap",
        "@good-bidi-grpc.pcap.gz",
        "@good-tls13.dsb.pcapng",
    ];
    for other in others {
        check_same(&["@good.pcap", other]);
        check_same(&[other, "@good.pcap"]);
    }
}

#[test]
fn an_error_is_one_thing_in_every_protocol() {
    check_same(&["@provider-error.pcap", "@provider-error-grpc.pcap"]);
    check_same(&["@provider-error.pcap", "@provider-error-grpcweb.pcap"]);
}

/// `cd fixtures; rpcshark diff good.pcap rerun.pcap.gz > ../tests/golden/rerun.diff`
#[test]
fn another_question_and_model() {
    check_golden("rerun.diff", &["@good.pcap", "@rerun.pcap.gz"]);
}

/// `cd fixtures; rpcshark diff --stat good.pcap canceled.pcap > ../tests/golden/canceled.stat`
#[test]
fn a_run_that_was_broken_off() {
    check_golden("canceled.stat", &["--stat", "@good.pcap", "@canceled.pcap"]);
    let found = lines(&["--only", "end", "@good.pcap", "@canceled.pcap"]);
    assert_eq!(
        found.first().map(|l| l.starts_with(r#"changed end: "ok" -> {"code":"canceled""#)),
        Some(true)
    );
}

#[test]
fn the_two_sides_are_each_others_mirror() {
    let mirrored = |found: &[Value]| {
        let mut all: Vec<String> = found
            .iter()
            .map(|c| {
                let kind = match c["type"].as_str() {
                    Some("added") => "removed",
                    Some("removed") => "added",
                    other => other.unwrap_or(""),
                };
                format!("{kind} {} {:?}", c["path"], [&c["frames"][1], &c["frames"][0]])
            })
            .collect();
        all.sort();
        all
    };
    let there = changes(&["@good.pcap", "@canceled.pcap"]);
    let back = changes(&["@canceled.pcap", "@good.pcap"]);
    let mut plain: Vec<String> = back
        .iter()
        .map(|c| {
            format!(
                "{} {} {:?}",
                c["type"].as_str().unwrap_or(""),
                c["path"],
                [&c["frames"][0], &c["frames"][1]]
            )
        })
        .collect();
    plain.sort();
    assert_eq!(mirrored(&there), plain);
}

#[test]
fn only_and_ignore() {
    let path = "run_request.requested_model";
    let found = changes(&["--only", path, "@good.pcap", "@rerun.pcap.gz"]);
    assert!(
        !found.is_empty() && found.iter().all(|c| c["path"].as_str().is_some_and(|p| p.starts_with(path)))
    );
    let all = changes(&["@good.pcap", "@rerun.pcap.gz"]).len();
    let rest = changes(&["--ignore", path, "@good.pcap", "@rerun.pcap.gz"]).len();
    assert_eq!(all, found.len() + rest);
    check_same(&["--ignore", "**", "@good.pcap", "@rerun.pcap.gz"]);
}

#[test]
fn raw_leaves_nothing_out() {
    assert!(!changes(&["--raw", "@good.pcap", "@good-grpc.pcap.gz"]).is_empty());
    check_same(&["--raw", "@good.pcap", "@good.pcap"]);
}

#[test]
fn runs_are_picked() {
    check_same(&["--run", "2:2", "@good.pcap", "@good-h2c.pcap"]);
    assert!(!changes(&["--run", "1:2", "@good.pcap", "@good.pcap"]).is_empty());
    let wrong = rpcshark(&["diff", "--run", "nobody:1", "@good.pcap", "@good.pcap"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("no run 'nobody' in the left session"), "{}", stderr(&wrong));
}

#[test]
fn forms_and_exit_codes() {
    let run = |args: &[&str]| rpcshark(&[&["diff"], args, &["@good.pcap", "@rerun.pcap.gz"]].concat());
    let array: Value = serde_json::from_slice(&run(&["--format", "json"]).stdout).expect("an array");
    let lines = changes(&["@good.pcap", "@rerun.pcap.gz"]);
    assert_eq!(array.as_array(), Some(&lines));
    let count = run(&["--count"]);
    assert_eq!(String::from_utf8_lossy(&count.stdout).trim(), lines.len().to_string());
    let quiet = run(&["-q"]);
    assert_eq!((quiet.status.code(), quiet.stdout.len()), (Some(1), 0));
    assert_eq!(changes(&["-c", "3", "@good.pcap", "@rerun.pcap.gz"]), lines[..3]);
    let same = rpcshark(&["diff", "--format", "json", "@good.pcap", "@good.pcap"]);
    assert_eq!((same.status.code(), same.stdout.as_slice()), (Some(0), &b"[]\n"[..]));
    let missing = rpcshark(&["diff", "@good.pcap", "@nothing.pcap"]);
    assert_eq!(missing.status.code(), Some(2));
    let colored = run(&["--color", "always"]);
    assert!(String::from_utf8_lossy(&colored.stdout).contains("\u{1b}[31m"));
}

#[test]
fn no_secret_is_shown_and_its_change_is() {
    let output = rpcshark(&["diff", "@good.pcap", "@rerun.pcap.gz"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("FIXTURE-SECRET-"));
    // The same message twice, but for a key that is hidden.
    let schema = "syntax = \"proto3\"; package pkg; message Login { string user = 1; string api_key = 2; }";
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.proto"), schema).expect("written");
    let root = dir.path().to_str().expect("UTF-8").to_owned();
    let message = |key: &str| [b"\x0a\x03ann\x12\x08".as_slice(), key.as_bytes()].concat();
    let file = |name: &str, key: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, message(key)).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (a, b) = (file("a.pb", "hunter22"), file("b.pb", "swordfis"));
    let common = ["--no-builtin", "-I", &root, "--as", "pkg.Login", "--from", "message"];
    let found = lines(&[&common[..], &[a.as_str(), b.as_str()]].concat());
    assert_eq!(found, [r#"changed api_key: "[redacted]" -> "[redacted]""#]);
    check_same(&[&common[..], &[a.as_str(), a.as_str()]].concat());
}

#[test]
fn standard_input_is_a_side() {
    let capture = std::fs::read(fixture("good.pcap")).expect("the fixture");
    let output = rpcshark_fed(&["diff", "-", "@good-h2c.pcap"], &capture);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Checks that a comparison is refused, what is said of it, and that nothing is printed.
fn check_refused(args: &[&str], said: &[&str]) {
    let output = rpcshark(&[&["diff"], args].concat());
    let text = stderr(&output);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{args:?}: {text}");
    assert!(said.iter().all(|part| text.contains(part)), "{args:?}: {text}");
}

#[test]
fn a_path_that_no_message_has_is_refused() {
    let files = ["@good.pcap", "@rerun.pcap.gz"];
    let refused = |option: &str, path: &str, said: &[&str]| {
        check_refused(&[&[option, path], &files[..]].concat(), said);
    };
    refused(
        "--only",
        "run_requst.action",
        &["--only: no message has a field 'run_requst'", "did you mean 'run_request'?"],
    );
    refused("--ignore", "message.run_request.acton", &["has no field 'acton'", "did you mean 'action'?"]);
    refused("--only", "", &["the path is empty"]);
    refused("--ignore", "...", &["a path goes on with a name"]);
    refused("--only", "a[[[", &["brackets take"]);
    refused("--only", "end.cod", &["no message has a field 'cod'"]);
    refused("--only", "a\u{1b}[31m", &["no part of a path", "a?[31m"]);
    refused("--only", "**.a.**.b.**.c.**.d", &["at most 3 **"]);
    refused("--only", &"x".repeat(5_000), &["longer than 4096 bytes"]);
    // What lies in JSON, in bytes and beside messages has no type.
    for path in ["**.blob_data.content", "**.$unknown", "end.code", "**.turns.0.2", &"**.".repeat(900), "**"]
    {
        let path = path.trim_end_matches('.');
        let output = rpcshark(&[&["diff", "-q", "--ignore", path], &files[..]].concat());
        assert_ne!(output.status.code(), Some(2), "{path}: {}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_read_is_no_difference() {
    let dir = tempfile::tempdir().expect("a folder");
    let empty = dir.path().join("empty");
    std::fs::write(&empty, b"").expect("written");
    let empty = empty.to_str().expect("UTF-8");
    check_refused(&["@good.pcap", empty], &["the input is empty"]);
    check_refused(&[empty, "@good.pcap"], &["the input is empty"]);
    check_refused(&[empty, empty], &["the input is empty"]);
    check_refused(&["@nothing.pcap", "@good.pcap"], &["does not exist"]);
    check_refused(&["-", "-"], &["one side of a comparison"]);
    for run in ["", ":", "1", "1:", ":1"] {
        check_refused(&["--run", run, "@good.pcap", "@good.pcap"], &["--run: expected ID:ID"]);
    }
    let huge = "1:99999999999999999999999999";
    check_refused(
        &["--run", huge, "@good.pcap", "@good.pcap"],
        &["no run '99999999999999999999999999' in the right"],
    );
    check_refused(
        &["--run", "\u{1b}[31m:1", "@good.pcap", "@good.pcap"],
        &["no run '\\x1b[31m' in the left"],
    );
}

#[test]
fn bytes_are_shown_by_what_they_hold() {
    // Blobs that differ in the ids inside alone are no difference; no blob is printed in base64.
    let found = lines(&["--only", "kv_server_message", "@good.pcap", "@rerun.pcap.gz"]);
    assert!(found.iter().all(|line| !line.contains("$bytes")), "{found:?}");
}
