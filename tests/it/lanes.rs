//! What makes the program quick must not show: lanes, threads, the cache of schemas, the end by Ctrl-C.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::run::{fixture, rpcshark};

/// Under `--json-names` with a filter, messages take the tolerant lane alone; without one, the fast lane first.
#[test]
fn either_lane_says_the_same() {
    for capture in [
        "good.pcap",
        "good.bin",
        "good.har",
        "records/tap.jsonl.gz",
        "disorder.pcap.gz",
        "good-bidi-grpc.pcap.gz",
    ] {
        for secrets in [&[][..], &["--show-secrets"]] {
            let run = |filter: &[&str]| {
                let capture = format!("@{capture}");
                let fixed = ["decode", "--format", "jsonl", "--json-names", &capture];
                rpcshark(&[&fixed, secrets, filter].concat()).stdout
            };
            let (fast, tolerant) = (run(&[]), run(&["-Y", "frame > 0"]));
            assert!(fast.len() > 10_000, "{capture}");
            for (a, b) in fast.split(|b| *b == b'\n').zip(tolerant.split(|b| *b == b'\n')) {
                assert_eq!(String::from_utf8_lossy(a), String::from_utf8_lossy(b), "{capture}");
            }
            assert_eq!(fast.len(), tolerant.len(), "{capture}");
        }
    }
}

/// The same for messages in hex that a log carries, regular and of any other sort.
#[test]
fn what_is_carried_takes_either_lane() {
    let mut state = 7u64;
    let mut roll = |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let parts: [&[u8]; 7] =
        [b"", b"text", b"\x08\x01", b"\x0a\x03abc", b"sk-0123456789abcdef0123", b"\xff\xfe", b"00ff12ab"];
    let mut lines = String::new();
    for number in 0..600 {
        let mut message = Vec::new();
        for _ in 0..roll(4) {
            let part = parts[roll(7) as usize];
            let inner = [&[((1 + roll(20)) << 3 | 2) as u8, part.len() as u8], part].concat();
            message.extend([((1 + roll(8)) << 3 | 2) as u8, inner.len() as u8]);
            message.extend(inner);
        }
        message.truncate(message.len() - roll(10) as usize / 9 * message.len().min(1));
        let digits: String = message.iter().map(|b| format!("{b:02x}")).collect();
        let id = roll(5);
        lines += &format!(
            "{{\"bidi_append_request\":{{\"data\":\"{digits}\",\"requestId\":{{\"requestId\":\"r-{id}\"}},\
             \"appendSeqno\":\"{number}\"}}}}\n"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("appends.jsonl");
    std::fs::write(&path, lines).expect("written");
    for secrets in [&[][..], &["--show-secrets"]] {
        let run = |filter: &[&str]| {
            let fixed = ["decode", "--format", "jsonl", "--json-names", path.to_str().expect("a path")];
            rpcshark(&[&fixed, secrets, filter].concat()).stdout
        };
        let (fast, tolerant) = (run(&[]), run(&["-Y", "frame > 0"]));
        assert_eq!(fast.iter().filter(|b| **b == b'\n').count(), 600);
        for (a, b) in fast.split(|b| *b == b'\n').zip(tolerant.split(|b| *b == b'\n')) {
            assert_eq!(String::from_utf8_lossy(a), String::from_utf8_lossy(b));
        }
    }
}

#[test]
fn a_filter_on_kind_finds_what_a_look_at_all_finds() {
    for capture in ["good.pcap", "good.bin", "good.har"] {
        let capture = format!("@{capture}");
        let run = |filter: &str| rpcshark(&["decode", "--format", "jsonl", &capture, "-Y", filter]).stdout;
        // The second has to see the whole record before it can tell.
        let early = run("kind == \"interaction_update\"");
        assert!(
            !early.is_empty()
                && early == run("kind == \"interaction_update\" and not findings.text == \"-\"")
        );
    }
}

#[cfg(unix)]
#[test]
fn the_second_run_takes_the_kept_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let protos = folder.path().join("protos");
    std::fs::create_dir(&protos).expect("a folder");
    std::fs::write(protos.join("a.proto"), "syntax = \"proto3\"; message A { string text = 1; }")
        .expect("written");
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpcshark"));
        command
            .args(["decode", "--no-builtin", "--as", "A", "--from", "message", "-"])
            .arg("-I")
            .arg(&protos);
        command
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        child.stdin.take().expect("a pipe").write_all(b"\x0a\x02hi").expect("written");
        child.wait_with_output().expect("the program ends").stdout
    };
    let first = run();
    assert!(String::from_utf8_lossy(&first).contains("\"message\":{\"text\":\"hi\"}"));
    let kept: Vec<_> = std::fs::read_dir(folder.path().join("cache/rpcshark/schemas"))
        .expect("the cache")
        .map(|e| e.expect("an entry").path())
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(run(), first);
    std::fs::write(&kept[0], b"damaged").expect("written");
    assert_eq!(run(), first);
    assert!(std::fs::metadata(&kept[0]).expect("it is back").len() > 20);
}

/// Ctrl-C is the end of a pipe that still stands open: what is complete is there, and the summary too.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_capture() {
    let bytes = std::fs::read(fixture("good.bin")).expect("the fixture");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpcshark"));
    command.args([
        "decode",
        "--format",
        "jsonl",
        "--from",
        "raw",
        "--as",
        "agent.v1.AgentServerMessage",
        "-",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&bytes).expect("written");
    input.flush().expect("written");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    output.read_line(&mut first).expect("a record");
    assert!(first.starts_with("{\"frame\":1,"), "{first}");
    // The records that are out already do not hold the program up.
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        output.read_to_string(&mut rest).map(|_| rest)
    });
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let mut told = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{told}");
    let rest = rest.join().expect("no panic").expect("text");
    assert!(rest.ends_with('\n') && told.contains(" frames, "), "{told}");
    drop(input);
}
