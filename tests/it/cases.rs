//! Facts of the hostile cases under fixtures/cases: what each input says, and what is wrong with it.

use serde_json::{Value, json};

use crate::run::{codes, fixture, parse, records, rpcshark, stderr};

/// A case's frames against its expect.json: offset, flags, length and message of each.
fn check_frames(case: &str, file: &str, extra: &[&str]) -> Vec<Value> {
    let expect = std::fs::read(fixture(&format!("cases/{case}/expect.json"))).expect("the case");
    let expect: Value = serde_json::from_slice(&expect).expect("JSON");
    let input =
        expect["inputs"].as_array().expect("inputs").iter().find(|i| i["file"] == file).expect("the input");
    let (proto, path) = (format!("@cases/{case}/proto"), format!("@cases/{case}/{file}"));
    let mut args = vec!["--no-builtin", "-I", &proto, &path];
    args.extend(input["message"].as_str().into_iter().flat_map(|m| ["--as", m]));
    let encoding = input["encoding"].as_str().map(|e| e.split(' ').next().unwrap_or(e));
    args.extend(encoding.into_iter().flat_map(|e| ["--encoding", e]));
    args.extend_from_slice(extra);
    let found = records(&args);
    let Some(facts) = expect["facts"][file].as_array() else { return found };
    assert_eq!(found.len(), facts.len(), "{case}/{file}: {found:#?}");
    for (record, fact) in found.iter().zip(facts) {
        let at = format!("{case}/{file} at {}", fact["offset"]);
        for key in ["offset", "flags", "compressed"] {
            if fact.get(key).is_some() && fact.get("length").is_some() {
                assert_eq!(record[key], fact[key], "{at}: {key}");
            }
        }
        if let Some(length) = fact.get("length") {
            assert_eq!(&record["length"], length, "{at}");
        }
        // Long texts are only described in the expectation; their length is checked above.
        let spelled_out = |m: &&Value| !m.to_string().contains(" times ");
        if let Some(message) = fact.get("message").filter(spelled_out) {
            assert_eq!(without_unknown(&record["message"]), *message, "{at}");
        }
        match fact["kind"].as_str() {
            Some("end") if fact.get("end").is_some() => {
                assert_eq!(
                    (&record["kind"], &record["message"]),
                    (&json!("end_stream"), &fact["end"]),
                    "{at}"
                );
                assert_eq!(record["endStream"], true, "{at}");
            }
            Some("end") => assert_eq!(record["kind"], "trailers", "{at}"),
            _ => {}
        }
    }
    found
}

fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(k, _)| !matches!(k.as_str(), "$unknown" | "$rest"));
            Value::Object(kept.map(|(k, v)| (k.clone(), without_unknown(v))).collect())
        }
        other => other.clone(),
    }
}

/// The finding of a code in a record: severity, offset, text.
fn finding<'a>(record: &'a Value, code: &str) -> &'a Value {
    let findings = record["findings"].as_array().expect("findings");
    findings.iter().find(|f| f["code"] == code).unwrap_or_else(|| panic!("no {code} in {record:#}"))
}

fn check_text(record: &Value, code: &str, parts: &[&str]) {
    let text = finding(record, code)["text"].as_str().expect("a text");
    for part in parts {
        assert!(text.contains(part), "{code}: {text} lacks {part}");
    }
}

#[test]
fn envelope_lengths() {
    let found = check_frames("01-envelope-lengths", "stream.bin", &[]);
    assert_eq!(found[1]["message"], json!({}));
    assert!(found.iter().all(|r| codes(r).is_empty()));
    check_frames("01-envelope-lengths", "empty-stream.bin", &[]);
}

#[test]
fn lengths_that_the_file_cannot_hold() {
    for (file, length) in [
        ("len-ffffffff.bin", 4_294_967_295u64),
        ("len-80000000.bin", 2_147_483_648),
        ("len-7fffffff.bin", 2_147_483_647),
    ] {
        let found = check_frames("02-envelope-4gib-length", file, &[]);
        assert_eq!((found[1]["offset"].as_u64(), found[1]["length"].as_u64()), (Some(17), Some(length)));
        let all = found[1]["findings"].to_string();
        assert!(all.contains(&length.to_string()) && all.contains("10"), "{all}");
        assert_eq!(found[1]["message"], Value::Null);
    }
}

#[test]
fn reserved_flag_bits() {
    let found = check_frames("03-envelope-reserved-bits", "stream.bin", &[]);
    let marked: Vec<_> = found
        .iter()
        .filter(|r| codes(r).contains(&"frame.reserved-flags"))
        .map(|r| r["offset"].clone())
        .collect();
    assert_eq!(marked, [0, 15, 30, 45, 60, 75]);
}

#[test]
fn truncated_tails() {
    for (file, dangling) in
        [("cut-after-1.bin", 1), ("cut-after-4.bin", 4), ("cut-after-5.bin", 5), ("cut-after-9.bin", 9)]
    {
        let path = format!("@cases/05-envelope-truncated-tail/{file}");
        let found = records(&[
            "--no-builtin",
            "-I",
            "@cases/05-envelope-truncated-tail/proto",
            "--as",
            "agent.v1.AgentServerMessage",
            &path,
        ]);
        assert_eq!(found.len(), 3, "{file}");
        assert_eq!(found[2]["offset"], 28, "{file}");
        let present = if dangling < 5 { dangling } else { dangling - 5 };
        check_text(&found[2], "frame.truncated", &[&present.to_string()]);
    }
    let output = rpcshark(&[
        "decode",
        "--format",
        "jsonl",
        "--as",
        "agent.v1.AgentServerMessage",
        "@cases/05-envelope-truncated-tail/cut-on-boundary.bin",
    ]);
    let told = format!("{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    assert!(told.contains("frame.no-end"), "{told}");
}

#[test]
fn frames_after_the_end() {
    let found = check_frames("07-data-after-end-stream", "late.bin", &[]);
    assert!(codes(&found[2]).contains(&"frame.after-end") && codes(&found[3]).contains(&"frame.after-end"));
    let found = check_frames("07-data-after-end-stream", "request-with-end.bin", &[]);
    assert!(found.iter().all(|r| codes(r).is_empty() && r["direction"] == "request"), "{found:#?}");
}

#[test]
fn grpc_web_trailers() {
    for file in ["web.bin", "web-compressed-trailer.bin", "web-text.b64"] {
        let found = check_frames("09-grpc-web-trailers", file, &["--protocol", "grpc-web"]);
        let trailers = &found[1]["message"];
        assert_eq!(
            (&trailers["grpc-status"], &trailers["grpc-message"]),
            (&json!("5"), &json!("not found: é")),
            "{file}"
        );
        assert!(trailers["x-note-bin"].is_string());
    }
}

#[test]
fn compressed_without_a_declared_encoding() {
    let found = check_frames("11-compressed-no-encoding", "stream.bin", &[]);
    check_text(&found[0], "codec.undeclared", &["gzip"]);
    assert_eq!(found[0]["message"]["interaction_update"]["text_delta"]["text"], "packed");
}

#[test]
fn declared_but_not_flagged() {
    let found = check_frames("12-encoding-declared-flag-unset", "stream.bin", &[]);
    assert!(found.iter().all(|r| codes(r).is_empty()));
}

#[test]
fn damaged_gzip() {
    for (file, words) in [
        ("bad-crc.bin", "checksum"),
        ("bad-size.bin", "length"),
        ("no-trailer.bin", "trailer"),
        ("cut-in-deflate.bin", "cut off"),
        ("bad-magic.bin", "gzip"),
        ("trailing-junk.bin", "4 bytes after"),
    ] {
        let found = records(&[
            "--no-builtin",
            "-I",
            "@cases/13-gzip-corrupt/proto",
            "--as",
            "agent.v1.AgentServerMessage",
            "--encoding",
            "gzip",
            &format!("@cases/13-gzip-corrupt/{file}"),
        ]);
        let bad = found.iter().find(|r| r["offset"] == 16).expect("the frame at 16");
        check_text(bad, "codec.corrupt", &[words]);
        let others: Vec<_> = found.iter().filter(|r| r["offset"] != 16).collect();
        assert!(others.iter().all(|r| codes(r).iter().all(|c| *c == "frame.no-end")), "{others:#?}");
        assert!(others.len() >= 2);
    }
}

#[test]
fn other_encodings() {
    for file in [
        "zstd.bin",
        "zstd-no-size.bin",
        "zstd-frames-and-skippable.bin",
        "br.bin",
        "deflate-zlib.bin",
        "deflate-raw.bin",
    ] {
        check_frames("16-zstd-br-deflate", file, &[]);
    }
    let run = |file: &str, encoding: &str| {
        let path = format!("@cases/16-zstd-br-deflate/{file}");
        records(&[
            "--as",
            "agent.v1.AgentServerMessage",
            "--no-builtin",
            "-I",
            "@cases/16-zstd-br-deflate/proto",
            "--encoding",
            encoding,
            &path,
        ])
    };
    check_text(&run("says-gzip-is-zstd.bin", "gzip")[0], "codec.corrupt", &["gzip", "zstd"]);
    // The product reads snappy; the payload of this file is not in it.
    let found = run("unknown-name.bin", "lz77");
    check_text(&found[0], "codec.unsupported", &["lz77"]);
}

#[test]
fn hex_in_many_forms() {
    let case = "42-hex-forms";
    let expect: Value =
        serde_json::from_slice(&std::fs::read(fixture(&format!("cases/{case}/expect.json"))).unwrap())
            .unwrap();
    let args = |file: &str, ty: &str| {
        let path = format!("@cases/{case}/{file}");
        rpcshark(&["decode", "--format", "jsonl", "-I", "@cases/42-hex-forms/proto", "--as", ty, &path])
    };
    for (file, message) in expect["facts"].as_object().unwrap().iter().filter(|(f, _)| f.ends_with(".hex")) {
        let found = parse(&args(file, "agent.v1.AgentClientMessage"));
        assert_eq!((found.len(), &found[0]["message"]), (1, message), "{file}");
    }
    for (file, parts) in [
        ("odd.hex", &["odd number of hex digits", "53"][..]),
        ("odd-0x.hex", &["odd number of hex digits", "51"]),
        ("letter-g.hex", &["'g'", "11"]),
        ("only-0x.hex", &["no hex digits"]),
        ("unicode-digits.hex", &["position 1"]),
        ("lone-minus.hex", &["'-'", "position 1"]),
    ] {
        let output = args(file, "agent.v1.AgentClientMessage");
        assert_eq!(output.status.code(), Some(2), "{file}");
        for part in parts {
            assert!(stderr(&output).contains(part), "{file}: {} lacks {part}", stderr(&output));
        }
    }
    let found = parse(&args("append-odd.bin", "aiserver.v1.BidiAppendRequest"));
    assert_eq!(found[0]["message"]["request_id"]["request_id"], "r1");
    check_text(&found[0], "carrier.bad-encoding", &["odd number of hex digits"]);
}

#[test]
fn both_payload_fields_of_a_carrier() {
    let run = |file: &str| {
        let path = format!("@cases/43-data-and-data-binary/{file}");
        records(&[
            "-I",
            "@cases/43-data-and-data-binary/proto",
            "--as",
            "aiserver.v1.BidiAppendRequest",
            &path,
        ])
        .remove(0)
    };
    let (heartbeat, cancel) = (
        json!({"client_heartbeat": {}}),
        json!({"conversation_action": {"cancel_action": {"reason": "user"}}}),
    );
    for (file, seqno, field, message) in [
        ("only-hex.bin", 1, "data", &heartbeat),
        ("only-binary.bin", 2, "data_binary", &cancel),
        ("both-same.bin", 3, "data", &cancel),
        ("both-differ.bin", 4, "data", &heartbeat),
        ("hex-empty-binary-set.bin", 6, "data_binary", &heartbeat),
    ] {
        let record = run(file);
        assert_eq!((&record["message"], &record["carrier"]["field"]), (message, &json!(field)), "{file}");
        assert_eq!(record["carrier"]["append_seqno"], seqno, "{file}");
        assert_eq!(codes(&record).contains(&"carrier.both-payloads"), file == "both-differ.bin", "{file}");
    }
    assert_eq!(run("both-differ.bin")["carrier"]["other"]["message"], cancel);
    assert!(!codes(&run("both-same-other-order.bin")).contains(&"carrier.both-payloads"));
    let neither = run("neither.bin");
    assert_eq!(neither["message"], json!({}));
    check_text(&neither, "carrier.empty", &["empty"]);
}

fn har(case: &str, file: &str) -> (Vec<Value>, String) {
    let (proto, path) = (format!("@cases/{case}/proto"), format!("@cases/{case}/{file}"));
    let output = rpcshark(&["decode", "--format", "jsonl", "--no-builtin", "-I", &proto, &path]);
    (parse(&output), stderr(&output))
}

fn messages(records: &[Value], direction: &str) -> Vec<Value> {
    records.iter().filter(|r| r["direction"] == direction).map(|r| r["message"].clone()).collect()
}

#[test]
fn har_bodies() {
    let case = "75-har-bodies";
    let (found, _) = har(case, "ok.har");
    assert_eq!(messages(&found, "request"), [json!({"request_id": "r1"})]);
    assert_eq!(
        messages(&found, "response")[0],
        json!({"interaction_update": {"text_delta": {"text": "from har"}}})
    );
    assert!(found.iter().all(|r| codes(r).is_empty()));
    let (marked, told) = har(case, "response-not-marked.har");
    assert_eq!(messages(&marked, "response"), messages(&found, "response"));
    assert!(
        told.contains("base64") || marked.iter().any(|r| r["findings"].to_string().contains("base64")),
        "{told}"
    );
    let (found, told) = har(case, "bodies-missing.har");
    assert!(told.contains("declared size 39"), "{told}");
    assert!(found.iter().all(|r| r["call"] != 1), "a missing body is shown as a message");
    let (found, _) = har(case, "request-as-latin1.har");
    assert_eq!(messages(&found, "request"), [json!({"request_id": "r1"})]);
    let output = rpcshark(&["decode", "@cases/75-har-bodies/not-a-har.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not-a-har.json"), "{}", stderr(&output));
    assert_eq!(rpcshark(&["decode", "@cases/75-har-bodies/empty-log.har"]).status.code(), Some(0));
}

#[test]
fn har_bodies_that_are_decoded_already() {
    let (found, told) = har("76-har-already-decoded", "decoded.har");
    let plain = json!({"str": "plain in the file"});
    let responses: Vec<_> =
        messages(&found, "response").into_iter().filter(|m| m.get("str").is_some()).collect();
    assert_eq!(
        responses,
        [plain.clone(), plain.clone(), plain, json!({"str": "frame plain"}), json!({"str": "frame zipped"})]
    );
    assert!(!told.contains("error["), "{told}");
    assert!(found.iter().all(|r| codes(r).iter().all(|c| *c == "frame.no-end")), "{found:#?}");
}

#[test]
fn mitmproxy_flows() {
    let (found, told) = har("78-mitmproxy-flows", "session.flows");
    let text = |t: &str| json!({"interaction_update": {"text_delta": {"text": t}}});
    let responses = messages(&found, "response");
    assert!(responses.contains(&text("via flow")) && responses.contains(&text("zipped")), "{responses:?}");
    for word in ["TCP", "UDP", "DNS", "WebSocket"] {
        assert!(told.to_lowercase().contains(&word.to_lowercase()), "{told} lacks {word}");
    }
    let output = rpcshark(&[
        "decode",
        "-I",
        "@cases/78-mitmproxy-flows/proto",
        "@cases/78-mitmproxy-flows/session.flows",
    ]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("QA-SECRET-BEARER-1"));
}

#[test]
fn no_secret_in_any_form() {
    let expect: Value =
        serde_json::from_slice(&std::fs::read(fixture("cases/82-redaction/expect.json")).unwrap()).unwrap();
    let forbidden: Vec<&str> =
        expect["must_not_contain"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(forbidden.len() > 20);
    let mut all = String::new();
    for file in ["session.jsonl", "session.pcap", "session.har", "headers.har"] {
        for schema in [&["--no-builtin"][..], &[]] {
            for form in [
                &["--format", "jsonl"][..],
                &["--format", "text", "-V", "-x"],
                &["--format", "jsonl", "--expand", "none"],
                &["--format", "jsonl", "--expand", "all"],
            ] {
                let path = format!("@cases/82-redaction/{file}");
                let output = rpcshark(
                    &[&["decode", "-I", "@cases/82-redaction/proto"], schema, form, &[&path]].concat(),
                );
                let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
                for secret in &forbidden {
                    assert!(!told.contains(secret), "{file} {schema:?} {form:?} shows {secret}");
                }
                all.push_str(&told);
            }
        }
    }
    for word in ["dep-visible", "region-visible", "input_tokens", "page=2"] {
        assert!(all.contains(word), "{word} is hidden");
    }
    let shown = rpcshark(&[
        "decode",
        "--show-secrets",
        "-I",
        "@cases/82-redaction/proto",
        "@cases/82-redaction/session.har",
    ]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("QA-SECRET-APIKEY-1"));
}

#[test]
fn schemas_that_do_not_compile() {
    let check = |args: &[&str], parts: &[&str]| {
        let output = rpcshark(&[&["decode"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{args:?}: {} lacks {part}", stderr(&output));
        }
    };
    let hex = "@heartbeat.hex";
    check(
        &["-I", "@cases/35-import-missing/proto", "--proto", "main.proto", hex],
        &["main.proto:4", "lib/missing.proto", "35-import-missing/proto"],
    );
    check(
        &["-I", "@cases/36-import-cycle/bad", "--proto", "a.proto", hex],
        &["a.proto -> b.proto -> c.proto -> a.proto"],
    );
    check(&["-I", "@cases/36-import-cycle/bad-self", "--proto", "s.proto", hex], &["s.proto"]);
    check(
        &["-I", "@cases/37-duplicate-definitions/clash", "--proto", "one.proto", "--proto", "two.proto", hex],
        &["clash.T", "one.proto", "two.proto"],
    );
    check(&["--as", "agent.v1.AgentServerMesage", hex], &["agent.v1.AgentServerMessage"]);
}
