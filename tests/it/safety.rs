//! No byte of a capture, a schema or an argument reaches a terminal raw, in any view or error; files are private and
//! never written over.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use rpcshark::base::text::is_unsafe;
use serde_json::json;

/// What a terminal obeys, hides or reorders: C0, C1, OSC 8, bidirectional and zero-width controls, separators.
const EVIL: &str = "\u{1b}[2J\u{1b}]8;;http://e.example/\u{7}l\u{1b}]8;;\u{1b}\\\r\u{8}\u{7f}\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}é";

fn run(args: &[OsString]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(args)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Nothing that acts on a terminal; line ends, and tabs where a view separates columns by them.
fn check(args: &[OsString]) -> Output {
    let output = run(args);
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap_or_else(|e| panic!("{args:?}: not UTF-8: {e}"));
        let bad = text.char_indices().find(|(_, c)| is_unsafe(*c) && !matches!(c, '\n' | '\t'));
        assert!(bad.is_none(), "{args:?}: {bad:?} in {text:?}");
    }
    assert!(output.status.code().is_some_and(|code| code <= 2), "{args:?}: {:?}", output.status);
    output
}

fn args(list: &[&str]) -> Vec<OsString> {
    list.iter().map(OsString::from).collect()
}

#[test]
fn arguments_are_quoted_clean() {
    let capture = crate::run::fixture("heartbeat.bin").display().to_string();
    for option in [
        "-Y",
        "--jq",
        "--as",
        "--map",
        "--from",
        "-e",
        "-E",
        "--encoding",
        "--limit",
        "--decode-as",
        "--keylog",
        "-I",
        "--proto",
        "--descriptor-set",
        "--dialect",
        "--threads",
        "--max-frame",
        "--format",
        "--time",
        "-c",
        "--protocol",
        "--color",
        "--expand",
        "--max-depth",
    ] {
        for value in
            [EVIL.to_owned(), format!("kind == \"{EVIL}\" and"), format!("{EVIL}=1,2"), format!("a.{EVIL}")]
        {
            check(&args(&["decode", option, &value, &capture]));
        }
    }
    for list in [
        &["decode", EVIL][..],
        &[EVIL],
        &["decode", &format!("--{EVIL}"), &capture],
        &["timeline", EVIL],
        &["diff", EVIL, &capture],
        &["diff", "--only", EVIL, "--ignore", EVIL, &capture, &capture],
        &["diff", "--run", EVIL, &capture, &capture],
        &["follow", "--stream", EVIL, &capture],
        &["check", "--fail-on", EVIL, &capture],
        &["blobs", "--id", EVIL, &capture],
        &["encode", "--as", EVIL, &capture],
        &["encode", EVIL],
        &["schema", "show", EVIL],
        &["schema", "list", EVIL],
        &["dialect", "check", EVIL],
        &["completions", EVIL],
        &["decode", "--jq", "$a", "--arg", "a", EVIL, &capture],
        &["decode", "--jq", &format!("error(\"{EVIL}\")"), &capture],
    ] {
        check(&args(list));
    }
}

#[cfg(unix)]
#[test]
fn file_names_are_shown_clean() {
    use std::os::unix::ffi::OsStringExt;
    let folder = tempfile::tempdir().expect("a folder");
    let shown: String = EVIL.chars().filter(|c| *c != '/').collect();
    let mut raw = shown.into_bytes();
    raw.extend_from_slice(b"\xff\xc2.bin");
    let path = folder.path().join(OsString::from_vec(raw));
    fs::copy(crate::run::fixture("heartbeat.bin"), &path).expect("a copy");
    let broken = folder.path().join(OsString::from_vec(b"\x1b[31m\xfe.proto".to_vec()));
    fs::write(&broken, format!("syntax = \"proto3\"; message {EVIL} {{")).expect("a file");
    let missing = folder.path().join(OsString::from_vec(b"no\xc2\x9b\xff".to_vec()));
    for command in ["decode", "timeline", "follow", "stats", "check", "blobs", "encode"] {
        for format in [&[][..], &["--format", "text"], &["--format", "jsonl"]] {
            let format = if command == "encode" { &[] } else { format };
            for file in [&path, &missing, &folder.path().to_path_buf()] {
                let mut list = args(&[&[command], format].concat());
                list.push(file.into());
                check(&list);
            }
        }
    }
    for option in ["--proto", "--dialect", "--descriptor-set", "--keylog", "-I"] {
        let mut list = args(&["decode", option]);
        list.extend([broken.clone().into(), path.clone().into()]);
        check(&list);
    }
    check(&[OsString::from("diff"), path.clone().into(), missing.into()]);
    check(&[OsString::from("decode"), OsString::from_vec(b"--\xff\x1b[31m".to_vec())]);
}

#[test]
fn captures_are_shown_clean() {
    let head = |name: &str| json!({ "name": name, "value": EVIL });
    let json_of = json!({ "message": EVIL, "details": [{ "type": EVIL, "value": EVIL }], EVIL: EVIL });
    let har = json!({ "log": { "version": EVIL, "creator": { "name": EVIL, "version": "1" }, "entries": [{
        "startedDateTime": EVIL, "time": 1, "comment": EVIL,
        "request": { "method": EVIL, "url": format!("https://a.example/pkg.S/M{EVIL}?a={EVIL}"), "httpVersion": EVIL,
            "headers": [head("content-type"), head(EVIL), json!({ "name": "content-type", "value": "application/connect+json" })],
            "postData": { "mimeType": EVIL, "text": EVIL } },
        "response": { "status": 400, "statusText": EVIL, "httpVersion": EVIL,
            "headers": [json!({ "name": "content-type", "value": "application/json" }), head("x-a")],
            "content": { "mimeType": "application/json", "text": json_of.to_string() } } }] } });
    let rpc = "agent.v1.AgentService/RunSSE";
    let text = |text: &str| {
        let mut inner = vec![0x0a, text.len() as u8];
        inner.extend_from_slice(text.as_bytes());
        let mut out = inner;
        for tag in [0x0a, 0x0a] {
            let mut outer = vec![tag, out.len() as u8];
            outer.extend_from_slice(&out);
            out = outer;
        }
        rpcshark::base::text::hex(&out)
    };
    let lines = [
        json!({ "rpc": rpc, "direction": "response", "flags": 0, "payload_hex": text(EVIL), "request_id": EVIL, "conn": EVIL }),
        json!({ "rpc": EVIL, "direction": EVIL, "flags": 0, "payload_hex": text(EVIL), "messageType": EVIL, "encoding": EVIL }),
        json!({ "rpc": rpc, "direction": "response", "flags": 1, "payload_hex": text(EVIL), "encoding": EVIL }),
        json!({ "rpc": rpc, "direction": "response", "flags": 0, "message": { EVIL: EVIL, "interaction_update": { EVIL: 1 } } }),
        json!({ "rpc": rpc, "direction": "response", "flags": 2, "message": { "error": json_of } }),
        json!({ "rpc": rpc, "direction": "response", "flags": 0, "payload_hex": EVIL }),
        json!({ "rpc": "no.S/M", "direction": "request", "flags": 0, "payload_hex": text(EVIL) }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect::<String>() + "{" + EVIL + "\n";
    let http = format!(
        "POST /pkg.S/M{EVIL} HTTP/1.1\r\nHost: {EVIL}\r\n{EVIL}: 1\r\nContent-Type: application/grpc-web+proto\r\nContent-Length: 3\r\n\r\n{EVIL}"
    );
    let trace = format!("=> Send header, 9 bytes (0x9)\n0000: {http}\n<= Recv data, 3 bytes\n0000: {EVIL}\n");
    let raw =
        [b"\0\0\0\0".as_slice(), &[EVIL.len() as u8], EVIL.as_bytes(), b"\x02\0\0\0\x03{\x1b}"].concat();
    for (ending, bytes) in [
        ("har", har.to_string().into_bytes()),
        ("jsonl", lines.into_bytes()),
        ("trace", trace.into_bytes()),
        ("bin", raw),
        ("hex", format!("00 00 {EVIL}").into_bytes()),
        ("txt", EVIL.as_bytes().to_vec()),
    ] {
        let mut file = tempfile::Builder::new().suffix(&format!(".{ending}")).tempfile().expect("a file");
        file.write_all(&bytes).expect("is written");
        let path = file.path().display().to_string();
        for view in [
            &["decode", "--format", "jsonl"][..],
            &["decode", "--format", "jsonl", "--expand", "all", "--show-secrets"],
            &["decode", "--format", "text", "-V", "-x"],
            &["decode", "--format", "text", "-V", "--show-secrets"],
            &["decode", "-e", "message", "-e", "http", "-e", "rpc", "-e", "ids", "-e", "findings.text"],
            &["decode", "--jq", ".message"],
            &["timeline", "--format", "text"],
            &["timeline", "--format", "jsonl"],
            &["follow", "--stream", "all"],
            &["follow", "--stream", "all", "--format", "jsonl"],
            &["check", "--format", "text"],
            &["check", "--format", "jsonl"],
            &["stats", "--format", "text"],
            &["stats", "--format", "jsonl"],
            &["blobs", "--format", "text"],
            &["encode", "--to", "hex"],
        ] {
            check(&args(&[view, &[&path]].concat()));
        }
        let other = crate::run::fixture("heartbeat.bin").display().to_string();
        for format in ["text", "jsonl"] {
            check(&args(&["diff", "--format", format, &path, &other]));
            check(&args(&["diff", "--raw", "--format", format, &other, &path]));
        }
    }
}

#[cfg(unix)]
#[test]
fn blobs_are_private_and_not_written_over() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let capture = crate::run::fixture("good.pcap").display().to_string();
    let to = folder.path().display().to_string();
    let list = args(&["blobs", "--write-to", &to, &capture]);
    assert!(check(&list).status.success());
    let files: Vec<_> = fs::read_dir(folder.path()).expect("the folder").flatten().collect();
    assert!(!files.is_empty());
    for file in &files {
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
        let name = file.file_name().into_string().expect("a name");
        assert!(name.bytes().all(|b| b.is_ascii_hexdigit()), "{name} is no hash");
    }
    let first = files[0].path();
    fs::write(&first, b"mine").expect("is written");
    assert_eq!(check(&list).status.code(), Some(2), "what is there stays");
    assert_eq!(fs::read(&first).expect("the file"), b"mine");
    let forced = args(&["blobs", "--force", "--write-to", &to, &capture]);
    assert!(check(&forced).status.success());
    assert_ne!(fs::read(&first).expect("the file"), b"mine");
    // A link in the way leads nowhere.
    let target = folder.path().join("target");
    fs::write(&target, b"elsewhere").expect("is written");
    fs::remove_file(&first).expect("is removed");
    std::os::unix::fs::symlink(&target, &first).expect("a link");
    assert_eq!(check(&list).status.code(), Some(2));
    assert_eq!(fs::read(&target).expect("the file"), b"elsewhere");
}
