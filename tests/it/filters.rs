//! The display filter, `--jq`, columns and `encode`, by running the program.

use std::collections::BTreeSet;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::run::{fixture, parse, records, rpcshark, rpcshark_fed, stderr};

/// The rows of docs/FILTERS.md for single frames or for whole captures: filter, last cell.
fn rows(whole: bool) -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/FILTERS.md");
    let text = std::fs::read_to_string(path).expect("docs/FILTERS.md");
    let (single, of_whole) = text.split_once("## Whole captures").expect("both parts");
    let rows = if whole { of_whole } else { single }.lines().filter_map(|line| {
        let (filter, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        let last = rest.trim_end().strip_suffix('|')?.rsplit('|').next()?.trim();
        Some((filter.replace("\\|", "|"), last.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_row_of_the_documentation_holds() {
    let rows = rows(false);
    assert!(rows.len() > 80, "the tables are where they are looked for");
    for (filter, expect) in rows {
        let output = rpcshark(&["decode", "-Y", &filter, "--count", "@good.pcap"]);
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match expect.parse::<u64>() {
            Ok(0) => assert_eq!((found.as_str(), output.status.code()), ("0", Some(1)), "{filter}"),
            Ok(_) => assert_eq!((found, output.status.code()), (expect, Some(0)), "{filter}"),
            Err(_) => {
                assert_eq!(output.status.code(), Some(2), "{filter}");
                assert!(stderr(&output).contains(&expect), "{filter}: {}", stderr(&output));
                assert!(output.stdout.is_empty(), "{filter}: refused before any input is read");
            }
        }
    }
}

#[test]
fn every_row_about_whole_captures_holds() {
    let rows = rows(true);
    assert!(rows.len() > 15, "the table is where it is looked for");
    let capture = std::fs::read(fixture("unanswered.pcap")).expect("the fixture");
    let frames = ["timeline", "--jq", "select(.type == \"frame\") | .frame"];
    for (filter, expect) in rows {
        let output = rpcshark(&[&frames[..], &["-Y", &filter, "@unanswered.pcap"]].concat());
        assert_eq!(output.status.code(), Some(if expect.parse::<u64>().is_ok() { 0 } else { 2 }), "{filter}");
        if expect.parse::<u64>().is_err() {
            assert!(stderr(&output).contains(&expect), "{filter}: {}", stderr(&output));
            continue;
        }
        let found = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!(found.to_string(), expect, "{filter}");
        let piped = rpcshark_fed(&[&frames[..], &["-Y", &filter, "-"]].concat(), &capture);
        assert_eq!(piped.stdout, output.stdout, "{filter}: from a pipe");
    }
}

#[test]
fn commands_over_runs_take_the_filter_and_its_fellows() {
    let run = |args: &[&str]| {
        let output = rpcshark(args);
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code(), stderr(&output))
    };
    let filter = "kind == \"interaction_update\" and length < 40";
    let decoded = run(&["decode", "-Y", filter, "--jq", ".frame", "@good.pcap"]);
    let frames = "select(.type == \"frame\") | .frame";
    assert_eq!(run(&["timeline", "-Y", filter, "--jq", frames, "@good.pcap"]).0, decoded.0);
    let count = decoded.0.lines().count().to_string();
    assert_eq!(run(&["stats", "-Y", filter, "--jq", ".frames", "@good.pcap"]).0.trim(), count);
    assert_eq!(run(&["stats", "-Y", filter, "-e", "frames", "@good.pcap"]).0.trim(), count);
    // What is about no frame that passes is left out.
    let none = "frame == 5000";
    assert_eq!(run(&["timeline", "-Y", none, "--format", "jsonl", "@good.pcap"]).0, "");
    assert_eq!(run(&["timeline", "-Y", none, "--format", "text", "@good.pcap"]).0, "");
    assert_eq!(run(&["blobs", "-Y", none, "--count", "@good.pcap"]).0, "0\n");
    assert_eq!(run(&["follow", "-Y", none, "--stream", "all", "@good.pcap"]).0, "");
    let same = run(&["diff", "-Y", none, "@good.pcap", "@unanswered.pcap"]);
    assert_eq!((same.0.as_str(), same.1), ("", Some(0)));
    let text = run(&["follow", "@good.pcap"]).0;
    assert_eq!(run(&["follow", "-Y", "run.ending == \"completed\"", "@good.pcap"]).0, text);
    assert_eq!(run(&["follow", "--jq", ".text", "-r", "@good.pcap"]).0.trim_end(), text.trim_end());
    assert_eq!(run(&["timeline", "-c", "3", "--format", "jsonl", "@good.pcap"]).0.lines().count(), 3);
    let codes =
        run(&["check", "-Y", "pair.state == \"unanswered\"", "--jq", ".code", "-r", "@unanswered.pcap"]);
    assert!(codes.0.lines().any(|l| l == "pair.unanswered"), "{codes:?}");
    let changed = run(&["diff", "--jq", ".type", "@good.pcap", "@unanswered.pcap"]);
    assert_eq!(changed.1, Some(1));
    assert!(!changed.0.is_empty());
    for command in
        [&["timeline"][..], &["stats"], &["follow"], &["check"], &["blobs"], &["export", "--to", "otlp"]]
    {
        let run = |args: &[&str]| run(&[command, args].concat());
        let refused = run(&["-Y", "pair.stat == \"answered\"", "@none.pcap"]);
        assert_eq!(refused.1, Some(2));
        assert!(refused.2.contains("did you mean 'pair.state'?"), "{command:?}: {}", refused.2);
        let refused = run(&["-Y", "pair.state == \"answered\"", "--follow", "@good.pcap"]);
        assert!(
            refused.1 == Some(2) && refused.2.contains("--follow never comes"),
            "{command:?}: {}",
            refused.2
        );
    }
}

#[test]
fn exports_hold_what_a_filter_lets_through() {
    let capture = std::fs::read(fixture("unanswered.pcap")).expect("the fixture");
    for filter in
        ["pair.state == \"unanswered\"", "run.ending == \"completed\" and pair.latency > 1ms", "frame < 12"]
    {
        let frames = ["timeline", "--jq", "select(.type == \"frame\") | .frame", "-Y", filter];
        let frames = rpcshark(&[&frames[..], &["@unanswered.pcap"]].concat()).stdout;
        let frames: Vec<u64> =
            String::from_utf8_lossy(&frames).lines().map(|l| l.parse().expect("a number")).collect();
        assert!(!frames.is_empty());
        let export = |to: &str| {
            let args = ["export", "--to", to, "-Y", filter];
            let output = rpcshark(&[&args[..], &["@unanswered.pcap"]].concat());
            assert_eq!(output.status.code(), Some(0), "{to} {filter}: {}", stderr(&output));
            let piped = rpcshark_fed(&[&args[..], &["-"]].concat(), &capture);
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            (text, String::from_utf8(piped.stdout).expect("UTF-8"))
        };
        let (report, piped) = export("html");
        let numbers = serde_json::to_string(&frames).expect("JSON");
        assert!(report.contains(&format!("\"number\":{numbers},")), "{filter}");
        assert!(piped.contains(&format!("\"number\":{numbers},")), "{filter}: from a pipe");
        let (trace, piped) = export("perfetto");
        assert_eq!(trace, piped.replace("\"-\"", "\"unanswered.pcap\""), "{filter}");
        let trace: Value = serde_json::from_str(&trace).expect("JSON");
        let waits = trace["traceEvents"].as_array().expect("events").iter().filter(|e| e["cat"] == "wait");
        assert_eq!(waits.count() > 0, !filter.starts_with("pair"), "{filter}");
        let (diagram, _) = export("mermaid");
        assert!(diagram.contains("participant R1") && !diagram.contains("participant R2"), "{diagram}");
        assert_eq!(diagram.contains("never answered"), filter.starts_with("pair"), "{diagram}");
    }
    let none = rpcshark(&["export", "--to", "mermaid", "-Y", "frame == 5000", "@unanswered.pcap"]);
    assert_eq!(none.stdout, b"sequenceDiagram\n    participant C as client\n");
    assert!(stderr(&none).contains("no frame passes"), "{}", stderr(&none));
}

/// The frames that pass a filter, and those that the same predicate in jq selects.
fn same_as_jq(filter: &str, predicate: &str, file: &str, extra: &[&str]) {
    let frames = |args: &[&str]| -> Vec<String> {
        let output = rpcshark(&[&["decode", file][..], extra, args].concat());
        assert!(output.status.code().is_some_and(|c| c < 2), "{filter}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    };
    let filtered = frames(&["-Y", filter, "--jq", ".frame"]);
    let selected = frames(&["--jq", &format!("select({predicate}) | .frame")]);
    assert_eq!(filtered, selected, "{filter} | {predicate}");
}

#[test]
fn filters_agree_with_jq() {
    let text = ".. | objects | .text? | strings";
    for (filter, predicate) in [
        ("kind == \"interaction_update\"", ".kind == \"interaction_update\"".to_owned()),
        (
            "length > 100 and direction == \"request\"",
            ".length > 100 and .direction == \"request\"".to_owned(),
        ),
        ("flags & 1 or endStream", "(.flags // \"\" | test(\"[13579bdf]$\")) or .endStream".to_owned()),
        ("message.**.text contains \"the\"", format!("any(.message | {text}; contains(\"the\"))")),
        ("message.**.text matches \"^t\"", format!("any(.message | {text}; test(\"^t\"; \"i\"))")),
        (
            "message.exec_server_message.id in {1..2}",
            ".message.exec_server_message?.id as $n | [1,2] | any(. == $n)".to_owned(),
        ),
        ("ids.call_id", ".ids | has(\"call_id\")".to_owned()),
        ("findings.code == \"secret.redacted\"", "any(.findings[]; .code == \"secret.redacted\")".to_owned()),
        ("http.status == 200", ".http.status? == 200".to_owned()),
        ("not carrier", ".carrier == null".to_owned()),
    ] {
        same_as_jq(filter, &predicate, "@good.pcap", &[]);
        same_as_jq(filter, &predicate, "@good-json.pcap.gz", &["--threads", "1"]);
    }
}

#[test]
fn the_form_of_the_output_does_not_change_what_passes() {
    let count = |args: &[&str]| {
        let filter = "message.**.text contains \"the\" or message.interaction_update.heartbeat";
        let output = rpcshark(&[&["decode", "--count", "-Y", filter, "@good.pcap"], args].concat());
        String::from_utf8_lossy(&output.stdout).trim().parse::<u64>().expect("a number")
    };
    let all = count(&[]);
    assert!(all > 5);
    assert_eq!(count(&["--format", "text"]), all);
    assert_eq!(count(&["--expand", "all"]), all);
    assert_eq!(count(&["--json-names", "--emit-defaults"]), all);
    assert_eq!(count(&["-e", "frame"]), all);
    assert_eq!(count(&["-c", "3"]), 3);
}

#[test]
fn frames_keep_their_numbers_and_nothing_matched_is_told() {
    let found = records(&["-Y", "frame in {5, 9}", "@good.pcap"]);
    let numbers: Vec<_> = found.iter().map(|r| r["frame"].as_u64()).collect();
    assert_eq!(numbers, [Some(5), Some(9)]);
    let none = rpcshark(&["decode", "-q", "-Y", "frame == 5000", "@good.pcap"]);
    assert_eq!((none.status.code(), none.stdout.len(), none.stderr.len()), (Some(1), 0, 0));
    let caret = rpcshark(&["decode", "-Y", "kind ==", "@good.pcap"]);
    assert!(
        stderr(&caret).contains("expected a value at the end") && stderr(&caret).contains('┬'),
        "{}",
        stderr(&caret)
    );
}

#[test]
fn jq_runs_over_the_records() {
    let jq = |args: &[&str]| {
        let output = rpcshark(&[&["decode", "@heartbeat.har"], args].concat());
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code(), stderr(&output))
    };
    assert_eq!(jq(&["--jq", ".kind", "-r"]).0, "BidiRequestId\ninteraction_update\nend_stream\n");
    assert_eq!(jq(&["--jq", "[.frame, $a]", "--arg", "a", "x"]).0, "[1,\"x\"]\n[2,\"x\"]\n[3,\"x\"]\n");
    assert_eq!(
        jq(&["--jq", "18446744073709551615, 9007199254740993", "-c", "1"]).0,
        "18446744073709551615\n9007199254740993\n"
    );
    assert_eq!(jq(&["--jq", ".frame", "--format", "json"]).0, "[\n1,\n2,\n3]\n");
    assert_eq!(jq(&["--jq", "\"\\u202e\""]).0.lines().next(), Some("\"\\u202e\""));
    let (out, code, told) = jq(&["--jq", "if .frame == 2 then error(\"no\") else .frame end"]);
    assert_eq!((out.as_str(), code), ("1\n3\n", Some(2)), "{told}");
    assert!(told.contains("frame 2: no"), "{told}");
    let (out, code, told) = jq(&["--jq", ".kind | nofun"]);
    assert_eq!((out.as_str(), code), ("", Some(2)));
    assert!(told.contains("no function 'nofun'") && told.contains(".kind | nofun"), "{told}");
    assert_eq!(jq(&["--jq", ".", "-V"]).1, Some(2));
}

#[test]
fn columns_of_what_passes() {
    let args = [
        "decode",
        "-Y",
        "frame <= 2",
        "-e",
        "frame",
        "-e",
        "kind",
        "-E",
        "header=y,separator=;",
        "@heartbeat.har",
    ];
    assert_eq!(
        String::from_utf8_lossy(&rpcshark(&args).stdout),
        "frame;kind\n1;BidiRequestId\n2;interaction_update\n"
    );
}

/// The payloads of a body of envelopes, inflated, with the compression bit off.
fn frames_of(mut body: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [flags, a, b, c, d, rest @ ..] = body {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (payload, after) = rest.split_at(length.min(rest.len()));
        let mut inflated = Vec::new();
        if flags & 1 == 1 {
            std::io::Read::read_to_end(&mut MultiGzDecoder::new(payload), &mut inflated).expect("gzip");
        } else {
            inflated.extend_from_slice(payload);
        }
        frames.push((flags & !1, inflated));
        body = after;
    }
    frames
}

#[test]
fn a_body_comes_back_byte_for_byte() {
    let body = std::fs::read(fixture("good.bin")).expect("the fixture");
    let args = ["--as", "agent.v1.AgentServerMessage", "--expand", "none", "--show-secrets", "@good.bin"];
    let decoded = rpcshark(&[&["decode", "--format", "jsonl"][..], &args].concat());
    let encoded = rpcshark_fed(&["encode"], &decoded.stdout);
    assert_eq!(stderr(&encoded), "");
    assert_eq!(frames_of(&encoded.stdout), frames_of(&body));
    let again = rpcshark_fed(&["encode", "--encoding", "gzip"], &decoded.stdout);
    assert_eq!(frames_of(&again.stdout), frames_of(&body));
    let flags = |body: &[u8]| -> BTreeSet<u8> { body.first().copied().into_iter().collect() };
    assert_eq!(flags(&again.stdout), flags(&body));
}

/// Every message of a capture, decoded, encoded and decoded again, is what it was.
fn comes_back(file: &str) {
    let decoded = rpcshark(&["decode", "--format", "jsonl", "--expand", "none", "--show-secrets", file]);
    let before = parse(&decoded);
    let hex = rpcshark_fed(&["encode", "--to", "hex"], &decoded.stdout);
    assert_eq!(hex.status.code(), Some(0), "{file}: {}", stderr(&hex));
    let lines: Vec<String> = String::from_utf8_lossy(&hex.stdout).lines().map(str::to_owned).collect();
    let frames: Vec<&Value> = before
        .iter()
        .filter(|r| {
            !(r["flags"].is_null()
                && matches!(r["kind"].as_str(), Some("trailers" | "error"))
                && r["messageType"].is_null())
        })
        .collect();
    assert_eq!(lines.len(), frames.len(), "{file}");
    // Bodies of one type at once: a raw body has one.
    let mut types: BTreeSet<&str> = BTreeSet::new();
    types.extend(frames.iter().filter_map(|r| r["messageType"].as_str()));
    for ty in types {
        let of_type = || frames.iter().zip(&lines).filter(|(r, _)| r["messageType"] == ty);
        let body: String = of_type().map(|(_, line)| line.as_str()).collect();
        let args = [
            "decode",
            "--format",
            "jsonl",
            "--from",
            "hex",
            "--as",
            ty,
            "--expand",
            "none",
            "--show-secrets",
            "-",
        ];
        let again = parse(&rpcshark_fed(&args, body.as_bytes()));
        let messages =
            |records: &[&Value]| -> Vec<Value> { records.iter().map(|r| r["message"].clone()).collect() };
        let first: Vec<&Value> = of_type().map(|(r, _)| *r).collect();
        assert_eq!(messages(&again.iter().collect::<Vec<_>>()), messages(&first), "{file}: {ty}");
        for ((record, line), again) in of_type().zip(&again) {
            // What was not compressed has the length that it had, as all these peers write canonically.
            if record["compressed"] == false && record.get("jsonLength").is_none() {
                assert_eq!(again["length"], record["length"], "{file}: frame {}: {line}", record["frame"]);
            }
        }
    }
}

#[test]
fn captures_come_back() {
    for file in [
        "@good.pcap",
        "@good-json.pcap.gz",
        "@good-grpc.pcap.gz",
        "@good-grpcweb.pcap.gz",
        "@good.flow",
        "@provider-error.pcap",
        "@provider-error-grpcweb.pcap",
        "@prewarm.pcap.gz",
    ] {
        comes_back(file);
    }
}

#[test]
fn a_carried_message_is_carried_again() {
    let outer = records(&[
        "--expand",
        "none",
        "--show-secrets",
        "-Y",
        "messageType == \"aiserver.v1.BidiAppendRequest\"",
        "@good.pcap",
    ]);
    let inner = rpcshark(&["decode", "--format", "jsonl", "--show-secrets", "-Y", "carrier", "@good.pcap"]);
    let hex = rpcshark_fed(&["encode", "--to", "carrier", "--hex"], &inner.stdout);
    assert_eq!(stderr(&hex), "");
    let lines: Vec<Vec<u8>> = String::from_utf8_lossy(&hex.stdout)
        .lines()
        .map(|l| hex_simd::decode_to_vec(l).expect("hex"))
        .collect();
    assert_eq!(lines.len(), outer.len());
    for (line, record) in lines.iter().zip(&outer) {
        assert_eq!(
            line.len() as u64,
            record["length"].as_u64().expect("a length"),
            "frame {}",
            record["frame"]
        );
        let args = [
            "decode",
            "--format",
            "jsonl",
            "--from",
            "message",
            "--as",
            "aiserver.v1.BidiAppendRequest",
            "--expand",
            "none",
            "--show-secrets",
            "-",
        ];
        let again = parse(&rpcshark_fed(&args, line));
        assert_eq!(again[0]["message"], record["message"]);
    }
}

#[test]
fn encode_refuses_with_a_place() {
    let encode = |args: &[&str], text: &str| {
        let output = rpcshark_fed(&[&["encode"], args].concat(), text.as_bytes());
        (output.status.code(), stderr(&output), output.stdout)
    };
    let bare = ["--as", "agent.v1.AgentServerMessage"];
    let (code, told, bytes) = encode(
        &bare,
        "{\"interaction_update\":{\"heartbeat\":{}}}\n{\n  \"interaction_update\": {\"nope\": 1}}",
    );
    assert_eq!((code, bytes.as_slice()), (Some(2), &b"\0\0\0\0\x04\x0a\x02\x6a\0"[..]));
    assert!(told.contains("standard input:3:34: interaction_update: "), "{told}");
    let (code, told, _) = encode(&[], "{\"frame\":1,\"messageType\":\"agent.v1.Nope\",\"message\":{}}");
    assert!(code == Some(2) && told.contains("standard input:1:26: messageType: no message type"), "{told}");
    let (code, told, _) = encode(&[], "[1");
    assert!(code == Some(2) && told.contains("standard input:1:2: "), "{told}");
    let (code, told, _) = encode(&["--to", "message", "--as", "agent.v1.AgentServerMessage"], "{}{}");
    assert!(code == Some(2) && told.contains("nothing tells where a bare message ends"), "{told}");
    let unknown = |value: &str| {
        format!("{{\"$unknown\":[{{\"number\":900,\"wire\":\"varint\",\"value\":\"{value}\"}}]}}")
    };
    let (code, told, _) = encode(&bare, &unknown("99999999999999999999999"));
    assert!(
        code == Some(2) && told.contains("standard input:1:14: $unknown[0]: expected an unknown field"),
        "{told}"
    );
    assert_eq!(encode(&bare, &unknown("7")).0, Some(0));
    let output = rpcshark_fed(&[&["encode"], &bare[..]].concat(), b"{}\n{\n \"\xc3\xa9\xff\": 1}");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard input:3:4: the value is not UTF-8"), "{}", stderr(&output));
}

#[test]
fn encode_stands_hostile_values() {
    let bare = ["encode", "--as", "agent.v1.AgentClientMessage"];
    let deep = [format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000)), "{\"a\":".repeat(50_000)];
    let bad = [
        "null",
        "1",
        "\"x\"",
        "{",
        "{}}",
        "{} x",
        "{\"exec_client_message\":{\"id\":NaN}}",
        "{\"exec_client_message\":{\"id\":4294967296}}",
        "{\"exec_client_message\":{\"id\":-1}}",
        "{\"exec_client_message\":{\"id\":1.5}}",
        "{\"exec_client_message\":{\"id\":1e400}}",
        "{\"\u{1b}[31m\":1}",
        "{\"run_request\":{\"conversation_id\":\"\\ud800\"}}",
        "{\"run_request\":{},\"run_request\":{}}",
        "{\"run_request\":{},\"exec_client_message\":{}}",
    ];
    for text in bad.into_iter().chain(deep.iter().map(String::as_str)) {
        let output = rpcshark_fed(&bare, text.as_bytes());
        let told = stderr(&output);
        let shown = text.get(..60).unwrap_or(text);
        assert_eq!(output.status.code(), Some(2), "{shown}: {told}");
        assert!(told.starts_with("error: standard input:1:") && !told.contains('\u{1b}'), "{shown}: {told}");
    }
    for text in ["", " \n", "[]", "{}", "\u{feff}{}", "[{},{}]"] {
        assert_eq!(rpcshark_fed(&bare, text.as_bytes()).status.code(), Some(0), "{text:?}");
    }
}

#[test]
fn a_column_that_no_record_has_is_refused() {
    let said = |args: &[&str]| {
        let output = rpcshark(&[args, &["@provider-error.pcap"]].concat());
        (output.status.code(), stderr(&output))
    };
    for (path, parts) in [
        ("knd", &["-e: a record has no field 'knd'", "did you mean 'kind'?"][..]),
        ("message.run_requst", &["no message has a field 'run_requst' here", "did you mean 'run_request'?"]),
        ("run_request.action", &["no field 'run_request'", "did you mean 'message.run_request.action'?"]),
        ("kind=", &["no part of a path"]),
        ("", &["the path is empty"]),
        ("**.a.**.b.**.c.**.d", &["at most 3 **"]),
    ] {
        let (code, told) = said(&["decode", "-e", path]);
        assert!(code == Some(2) && parts.iter().all(|p| told.contains(p)), "{path}: {told}");
    }
    for path in
        ["kind", "ids.request_id", "message.**.text", "http.headers.content-type", "findings.code", "*"]
    {
        assert_eq!(said(&["decode", "-e", path]).0, Some(0), "{path}");
    }
    // Records of other commands have no schema: what stayed empty is told at the end.
    let (code, told) = said(&["timeline", "-e", "typ", "-e", "type", "-e", "\u{1b}x"]);
    assert_eq!(code, Some(0));
    assert!(told.contains("note: -e typ: no record has it; did you mean 'type'?"), "{told}");
    assert!(!told.contains("-e type:") && told.contains("-e \\x1bx: no record"), "{told}");
}

#[test]
fn no_depth_of_an_expression_is_too_much() {
    let nested = |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
    for text in [
        nested("[", "]", 30_000),
        nested("(", ")", 30_000),
        nested("1+", "", 30_000),
        nested(".|", "", 30_000),
        nested("1,", "", 30_000),
        nested("try ", "", 15_000),
        nested("if . then ", " end", 4_000),
        nested("def f: ", "; f", 5_000),
        nested("\"\\(", ")\"", 12_000),
        nested("[", "", 30_000),
        nested("[", "]", 60_000),
    ] {
        let output = rpcshark(&["decode", "-c1", "--jq", &text, "@heartbeat.bin"]);
        let shown = text.get(..40).unwrap_or_default();
        assert!(matches!(output.status.code(), Some(0 | 2)), "{shown}: {:?}", output.status);
    }
    for text in [nested("(", ")", 30_000), nested("not ", "", 15_000), "message.**.*.**.*".repeat(3_000)] {
        let output = rpcshark(&["decode", "-Y", &text, "@heartbeat.bin"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}
