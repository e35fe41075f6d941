//! `export`: what is written for other programs, read back by those programs where they are there.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{fixture, is_there, rpcshark, stderr};

fn exported(to: &str, args: &[&str]) -> Vec<u8> {
    let output = rpcshark(&[&["export", "--to", to], args].concat());
    assert_eq!(output.status.code(), Some(0), "{to} {args:?}: {}", stderr(&output));
    output.stdout
}

/// A test that needs a program which is not there: said, so that nobody takes it for passed.
fn skipped(test: &str, what: &str) {
    eprintln!("SKIPPED {test}: {what}");
}

#[test]
fn files_are_the_owners_and_not_written_over() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("report.html");
    let path = path.to_str().expect("UTF-8");
    let args = ["export", "--to", "html", "-o", path, "@heartbeat.bin"];
    assert_eq!(rpcshark(&args).status.code(), Some(0));
    let before = fs::read(path).expect("the report");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(path).expect("the report").permissions().mode() & 0o777, 0o600);
    }
    let again = rpcshark(&["export", "--to", "html", "-o", path, "@good.pcap"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    assert_eq!(fs::read(path).expect("the report"), before);
    let forced = rpcshark(&["export", "--to", "html", "--force", "-o", path, "@good.pcap"]);
    assert_eq!(forced.status.code(), Some(0));
    assert!(fs::read(path).expect("the report").len() > before.len());
    let missing = dir.path().join("none.html");
    let unread =
        rpcshark(&["export", "--to", "html", "-o", missing.to_str().expect("UTF-8"), "@no-such.pcap"]);
    assert_eq!(unread.status.code(), Some(2));
    assert!(!missing.exists(), "nothing is written of what could not be read");
}

#[test]
fn options_that_mean_nothing_here_are_refused() {
    for option in [&["--format", "json"][..], &["-c", "3"], &["-x"], &["--count"]] {
        let output = rpcshark(&[&["export", "--to", "html"], option, &["@good.pcap"]].concat());
        assert_eq!(output.status.code(), Some(2), "{option:?}");
    }
}

/// All elements of data in a report.
fn data(report: &str) -> Vec<Value> {
    let parts = report.split("<script type=\"application/json\"").skip(1);
    let json =
        parts.map(|p| p.split_once('>').expect("an element").1.split("</script>").next().expect("its end"));
    json.map(|j| serde_json::from_str(j).expect("JSON")).collect()
}

#[test]
fn no_export_holds_a_secret() {
    let expect = fs::read(fixture("cases/82-redaction/expect.json")).expect("the case");
    let expect: Value = serde_json::from_slice(&expect).expect("JSON");
    let secrets: Vec<&str> =
        expect["must_not_contain"].as_array().expect("secrets").iter().map(|s| s.as_str().unwrap()).collect();
    for file in ["session.jsonl", "session.pcap", "session.har", "headers.har"] {
        let path = format!("@cases/82-redaction/{file}");
        let args = ["-I", "@cases/82-redaction/proto", &path];
        for to in TEXTS {
            let out = String::from_utf8(exported(to, &args)).expect("UTF-8");
            for secret in &secrets {
                assert!(!out.contains(secret), "{to} of {file} shows {secret}");
            }
        }
        // Nor in the bytes of a payload, or in hex or base64 within it.
        let report = String::from_utf8(exported("html", &args)).expect("UTF-8");
        let mut payloads = 0;
        for value in data(&report) {
            for frame in value.as_array().into_iter().flatten() {
                let Some(payload) = frame[1]["payload"].as_str() else { continue };
                payloads += 1;
                let bytes = base64_simd::STANDARD.decode_to_vec(payload).expect("base64");
                let text = String::from_utf8_lossy(&bytes);
                for secret in &secrets {
                    assert!(!text.contains(secret), "the bytes of {file} hold {secret}");
                    let hex = rpcshark::base::text::hex(secret.as_bytes());
                    assert!(!text.contains(&hex), "the bytes of {file} hold {secret} in hex");
                    let base64 = base64_simd::STANDARD_NO_PAD.encode_to_string(secret.as_bytes());
                    assert!(!text.contains(&base64[..base64.len() - 1]), "{file}: {secret} in base64");
                }
            }
        }
        assert!(payloads > 0, "{file}");
        let shown = exported("html", &[&args[..], &["--show-secrets"]].concat());
        let shown = String::from_utf8(shown).expect("UTF-8");
        assert!(secrets.iter().any(|s| shown.contains(s)), "{file}: --show-secrets shows them");
    }
}

#[test]
fn packets_are_copied_only_when_told_to() {
    let output = rpcshark(&["export", "--to", "pcapng", "@good.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && stderr(&output).contains("--show-secrets"), "{}", stderr(&output));
    for (file, says) in [("@good.har", "no packets"), ("-", "standard input")] {
        let output = rpcshark(&["export", "--to", "pcapng", "--show-secrets", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(stderr(&output).contains(says), "{file}: {}", stderr(&output));
    }
}

/// Findings reach the packet that they are about, and no packet is changed.
#[test]
fn packets_with_comments() {
    let dir = tempfile::tempdir().expect("a folder");
    for (capture, keys, says) in [
        ("wrong-answer.pcap", None, "error pair.type-mismatch"),
        ("cut-off.pcap", None, "warning run.cut-off"),
        ("good-tls13.dsb.pcapng", None, ""),
        ("disorder.pcap.gz", None, "order."),
        ("midstream-tls13-h2.pcap", Some("@midstream-tls13-h2.keys"), ""),
    ] {
        let mut args = vec!["--show-secrets".to_owned(), format!("@{capture}")];
        args.extend(keys.into_iter().flat_map(|keys| ["--keylog".to_owned(), keys.to_owned()]));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = exported("pcapng", &args);
        let path = dir.path().join("out.pcapng");
        fs::write(&path, &out).expect("written");
        let path = path.to_str().expect("UTF-8");
        // Read back by ourselves, it says the same.
        let again: Vec<&str> =
            args.iter().map(|a| if a.starts_with(&format!("@{capture}")) { path } else { a }).collect();
        let told = |args: &[&str]| {
            let mut records = crate::run::records(args);
            for record in &mut records {
                for key in ["capture", "at"] {
                    record.as_object_mut().expect("a record").remove(key);
                }
                // Places in the file are others.
                for finding in record["findings"].as_array_mut().expect("findings") {
                    finding.as_object_mut().expect("a finding").remove("offset");
                }
            }
            records
        };
        assert_eq!(told(&again), told(&args), "{capture}");
        if !is_there("tshark") {
            return skipped("packets_with_comments", "tshark is not installed");
        }
        let tshark = |file: &str, fields: &[&str]| {
            let fields = fields.iter().flat_map(|f| ["-e", f]);
            let output = Command::new("tshark").args(["-r", file, "-T", "fields"]).args(fields).output();
            String::from_utf8(output.expect("tshark runs").stdout).expect("UTF-8")
        };
        let source = fixture(capture);
        let source = source.to_str().expect("UTF-8");
        let packets =
            ["frame.number", "frame.time_epoch", "frame.len", "frame.protocols", "ip.src", "tcp.seq"];
        assert_eq!(tshark(path, &packets), tshark(source, &packets), "{capture}");
        let comments = tshark(path, &["frame.comment"]);
        assert!(comments.contains(says), "{capture}: {}", comments.trim());
    }
}

/// Tables hold what the JSON Lines hold.
#[cfg(feature = "parquet")]
#[test]
fn tables_hold_what_json_lines_hold() {
    let count = |records: &[Value], key: &str| {
        let mut counts: std::collections::BTreeMap<String, u64> = Default::default();
        for value in records.iter().filter_map(|r| r[key].as_str()) {
            *counts.entry(value.to_owned()).or_default() += 1;
        }
        serde_json::to_value(counts).expect("JSON")
    };
    for session in SESSIONS {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("tables");
        let folder = folder.to_str().expect("UTF-8");
        exported("parquet", &["-o", folder, session]);
        let again = rpcshark(&["export", "--to", "parquet", "-o", folder, session]);
        assert_eq!(again.status.code(), Some(2), "written over");
        if tool("duckdb").is_none() {
            return skipped("tables_hold_what_json_lines_hold", "tests/export/tools.sh was not run");
        }
        let told = python("tables.py", &[folder], b"");
        let parsed = |command: &str| crate::run::parse(&rpcshark(&[command, "--format", "jsonl", session]));
        let (timeline, findings) = (parsed("timeline"), parsed("check"));
        let of = |ty: &str| timeline.iter().filter(|e| e["type"] == ty).cloned().collect::<Vec<_>>();
        let (frames, links, runs) = (of("frame"), of("link"), of("outcome"));
        for (table, rows) in
            [("frames", &frames), ("links", &links), ("findings", &findings), ("runs", &runs)]
        {
            assert_eq!(told[table], rows.len(), "{session}: {table}");
        }
        let sum: u64 = frames.iter().filter_map(|f| f["length"].as_u64()).sum();
        assert_eq!(told["length"], sum, "{session}");
        assert_eq!(told["kinds"], count(&frames, "kind"), "{session}");
        assert_eq!(told["states"], count(&links, "state"), "{session}");
        assert_eq!(told["codes"], count(&findings, "code"), "{session}");
        let responses: usize = links.iter().map(|l| l["responses"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!(told["responses"], responses, "{session}");
        let latency: f64 = links.iter().filter_map(|l| l["latency_ms"].as_f64()).sum();
        assert!((told["latency"].as_f64().expect("a sum") - latency).abs() < 1e-6, "{session}");
        // The schema that docs/EXPORT.md promises.
        let docs = include_str!("../../docs/EXPORT.md");
        for table in ["frames", "links", "findings", "runs"] {
            for column in told[format!("{table}_columns")].as_array().expect("columns") {
                let (name, ty) = column.as_str().expect("text").split_once(' ').expect("a type");
                assert!(
                    docs.contains(&format!("`{name}` {ty}")),
                    "{table}: `{name}` {ty} is not in docs/EXPORT.md"
                );
            }
        }
    }
}

/// Exports that are text.
const TEXTS: &[&str] = &["html", "perfetto", "mermaid", "otlp"];

#[test]
fn a_report_says_what_it_leaves_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("long.bin");
    let long = vec![0x41u8; 40_000];
    let mut body = vec![0, 0, 0, 0x9c, 0x43, 0x0a, 0xc0, 0xb8, 0x02];
    body.extend_from_slice(&long[..40_000]);
    fs::write(&path, body).expect("written");
    let report = exported("html", &[path.to_str().expect("UTF-8")]);
    let values = data(&String::from_utf8(report).expect("UTF-8"));
    assert_eq!(values[0]["shownPayload"], 16 << 10);
    let contents = &values[1][0][1];
    assert!(contents["length"].as_u64() > Some(39_000), "{contents}");
    assert_eq!(contents["payload"].as_str().map(str::len), Some(((16 << 10) as usize).div_ceil(3) * 4));
}

#[test]
fn the_report_in_a_browser() {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    for program in [chromium.as_str(), "node"] {
        if !is_there(program) {
            return skipped("the_report_in_a_browser", &format!("{program} is not installed"));
        }
    }
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/check.mjs");
    let output =
        Command::new("node").args([check, env!("CARGO_BIN_EXE_rpcshark")]).output().expect("node starts");
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
}

/// Where tests/export/tools.sh puts what reads exports back.
fn tool(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".export-tools").join(name);
    path.exists().then_some(path)
}

/// A script under tests/export/ over its input; what it prints, as JSON.
fn python(script: &str, args: &[&str], input: &[u8]) -> Value {
    let python = tool("venv/bin/python").expect("asked for before");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export").join(script);
    let mut child = Command::new(python)
        .arg(script)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Sessions of every sort: with times and without, in order and not.
const SESSIONS: &[&str] =
    &["@good.pcap", "@good.har", "@good.bin", "@disorder.pcap.gz", "@wrong-answer.pcap", "@cut-off.pcap"];

/// An end of a flow: its phase, process and thread, time.
type End<'a> = (&'a str, (u64, u64), f64);

/// What the Trace Event Format asks of each event; Perfetto's importer holds to it.
#[test]
fn traces_are_sound() {
    for session in SESSIONS {
        let trace: Value = serde_json::from_slice(&exported("perfetto", &[session])).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let mut slices: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
        let mut flows: HashMap<u64, Vec<End<'_>>> = HashMap::new();
        let mut named = Vec::new();
        for event in events {
            let place = (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().expect("a thread"));
            let at = event["ts"].as_f64().expect("a time");
            assert!(at >= 0.0 && event["name"].is_string(), "{session}: {event}");
            match event["ph"].as_str().expect("a phase") {
                "X" => {
                    let lasts = event["dur"].as_f64().expect("a duration");
                    assert!(lasts >= 0.0, "{session}: {event}");
                    slices.entry(place).or_default().push((at, at + lasts));
                }
                phase @ ("s" | "f") => {
                    assert_eq!(event["bp"] == "e", phase == "f");
                    flows.entry(event["id"].as_u64().expect("an id")).or_default().push((phase, place, at));
                }
                "C" => assert!(event["args"].as_object().expect("values").values().all(Value::is_number)),
                "M" if event["name"] == "thread_name" => named.push(place),
                "M" => assert!(event["args"]["name"].is_string() || event["args"]["sort_index"].is_u64()),
                "i" => assert_eq!(event["s"], "p"),
                other => panic!("{session}: phase {other}"),
            }
        }
        assert!(!slices.is_empty(), "{session}");
        for (place, slices) in &mut slices {
            assert!(named.contains(place), "{session}: {place:?} has a name");
            slices.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for pair in slices.windows(2) {
                assert!(pair[1].0 >= pair[0].1 - 1e-6, "{session}: {place:?} {pair:?} overlap");
            }
        }
        for (id, ends) in &flows {
            let [("s", from, asked), ("f", to, answered)] = ends.as_slice() else { panic!("{id}: {ends:?}") };
            assert!(asked <= answered, "{session}: {id}");
            for (place, at) in [(from, asked), (to, answered)] {
                let holds = slices[place].iter().any(|(begins, ends)| begins <= at && at <= ends);
                assert!(holds, "{session}: flow {id} has a slice at either end");
            }
        }
        if *session == "@good.pcap" {
            assert_eq!(flows.len(), 29);
            let name = |n: &str| events.iter().filter(|e| e["ph"] == "X" && e["name"] == n).count();
            assert_eq!((name("read_tool_call"), name("shell_tool_call"), name("read_args")), (1, 1, 2));
            let tokens = events.iter().rfind(|e| e["name"] == "tokens" && e["pid"] == 1).expect("a counter");
            assert_eq!(tokens["args"]["input_tokens"], 2143);
        }
    }
}

#[test]
fn spans_are_what_the_published_protobuf_says() {
    let found = String::from_utf8(exported("otlp", &["@good.pcap"])).expect("UTF-8");
    let again = exported("otlp", &["@good.pcap"]);
    assert_eq!(found.as_bytes(), again, "one capture, one set of ids");
    // Those of the capture's own messages.
    assert!(found.contains("61607349336e4d1fa6108b701493a543") && found.contains("a91de76ea8388da9"));
    let value: Value = serde_json::from_str(&found).expect("JSON");
    let spans = value["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    let run = spans.iter().find(|s| s["name"] == "run").expect("a run");
    assert_eq!(run["status"]["code"], 1);
    let links = rpcshark(&["timeline", "--format", "jsonl", "@good.pcap"]);
    let links = crate::run::parse(&links).iter().filter(|e| e["type"] == "link").count();
    assert!(spans.len() >= links, "{} spans, {links} links", spans.len());
    if tool("opentelemetry-proto").is_none() {
        return skipped("spans_are_what_the_published_protobuf_says", "tests/export/tools.sh was not run");
    }
    for session in SESSIONS {
        let told = python("otlp.py", &[], &exported("otlp", &[session]));
        assert_eq!(told["outside"], 0, "{session}");
        if *session != "@good.bin" {
            assert!(told["spans"].as_u64() > Some(3), "{session}: {told}");
        }
    }
}

#[test]
fn diagrams_render() {
    let diagram = String::from_utf8(exported("mermaid", &["@good.pcap"])).expect("UTF-8");
    assert!(diagram.starts_with("sequenceDiagram\n    participant C as client\n"), "{diagram}");
    for line in [
        "    C-->>R1: set_blob_result id=1 (3.9 ms)\n",
        "    R1->>C: text_delta ×3\n",
        "    Note over C,R2: ■ completed after 141.3 ms\n",
    ] {
        assert!(diagram.contains(line), "{line}: {diagram}");
    }
    let (Some(library), true) = (tool("mermaid.min.js"), is_there("node") && is_there("chromium")) else {
        return skipped(
            "diagrams_render",
            "tests/export/tools.sh was not run, or there is no node or chromium",
        );
    };
    let dir = tempfile::tempdir().expect("a folder");
    let hostile = dir.path().join("hostile.jsonl");
    let mut lines = String::new();
    for text in [
        "a;b #quot; end",
        "%%{init: {'securityLevel':'loose'}}%% x",
        "<img src=x onerror=window.ran=1>",
        "</script><script>window.ran=1</script>",
        "`code` $$x^2$$ \\n participant X",
        "Note over C: no; C->>C: loop",
    ] {
        let line = serde_json::json!({"rpc": "demo.Talk/Say", "direction": "request", "messageType": "demo.Say", "message": {"text": text}});
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(&hostile, lines).expect("written");
    fs::write(dir.path().join("demo.proto"), "syntax = \"proto3\"; package demo; message Say { string text = 1; } service Talk { rpc Say(Say) returns (Say); }").expect("written");
    let mut paths = Vec::new();
    let proto = dir.path().to_str().expect("UTF-8").to_owned();
    for (n, session) in SESSIONS.iter().chain([&hostile.to_str().expect("UTF-8")]).enumerate() {
        let path = dir.path().join(format!("{n}.mmd"));
        fs::write(&path, exported("mermaid", &["-I", &proto, session])).expect("written");
        paths.push(path);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/mermaid.mjs");
    let output = Command::new("node").arg(script).arg(library).args(&paths).output().expect("node starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", stderr(&output));
    let shown: Vec<Value> = told.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(shown.len(), paths.len());
    assert_eq!(shown[0]["messages"], diagram.matches(">>").count());
    let last = shown.last().expect("the hostile one");
    assert_eq!((&last["messages"], &last["ran"]), (&Value::from(6), &Value::from(false)));
    let text = last["text"].as_str().expect("text");
    assert!(text.contains("<img src=x onerror=window.ran=1>") && text.contains("C->>C: loop"), "{text}");
}
