//! Every limit of docs/LIMITS.md: what it bounds, given up with a finding that says so, and never a crash.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rpcshark::base::Limits;

use crate::run::{fixture, rpcshark, rpcshark_fed, stderr};

const ZSTD: &str = "@cases/16-zstd-br-deflate/zstd.bin";

/// The codes of all findings of a capture under a limit.
fn codes_under(limit: &str, args: &[&str]) -> BTreeSet<String> {
    let output = rpcshark(&[&["check", "--format", "jsonl", "--limit", limit], args].concat());
    assert!(output.status.code().is_some_and(|code| code < 2), "{limit}: {}", stderr(&output));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let code = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record["code"].as_str().expect("a code").to_owned()
    };
    lines.lines().map(code).collect()
}

fn check(limit: &str, args: &[&str], code: &str) -> Option<String> {
    let (usual, under) = (codes_under("max_depth=100", args), codes_under(limit, args));
    let told = !usual.contains(code) && under.contains(code);
    (!told).then(|| format!("{limit} {args:?}: {code} is not new in {under:?}"))
}

#[test]
fn each_limit_is_told() {
    let silent = [
        check("max_frame=100", &["@good.pcap"], "frame.too-large"),
        check("max_inflate=10", &["@good-grpc.pcap.gz"], "codec.bomb"),
        check("max_depth=2", &["@good.pcap"], "proto.depth"),
        check("max_fields=3", &["@good.pcap"], "limit.reached"),
        check("max_held=10", &["@cases/63-tcp-retransmit-overlap-order/disorder.pcap"], "net.gap"),
        check("max_connections=1", &["@good.pcap"], "limit.reached"),
        check("max_calls=1", &["@good-h2c.pcap"], "limit.reached"),
        check("max_header_block=50", &["@good.pcap"], "limit.reached"),
        check("max_header_block=50", &["@good-h2c.pcap"], "limit.reached"),
        check("max_body=20", &["@good.har"], "frame.too-large"),
        check("max_record=200", &["@good.har"], "limit.reached"),
        check("max_record=200", &["@good.flow"], "limit.reached"),
        check("max_record=200", &["@records/debug/runsse.jsonl"], "limit.reached"),
        check("max_bodies=10", &["@good-h2c.pcap"], "limit.reached"),
        check("max_ratio=0", &["--limit", "ratio_floor=0", "--encoding", "zstd", ZSTD], "codec.bomb"),
        check(
            "max_tls_search=0",
            &["--keylog", "@midstream-tls13-h2.keys", "@midstream-tls13-h2.pcap"],
            "net.tls-no-key",
        ),
        check("max_channels=0", &["@good.pcap"], "limit.reached"),
        check("max_channels=0", &["-Y", "kind == \"run_request\"", "@good.pcap"], "limit.reached"),
        check("max_lives=1", &["@good.pcap"], "limit.reached"),
        check("max_stages=2", &["@good.pcap"], "limit.reached"),
        check("max_text=10", &["@good.pcap"], "limit.reached"),
        check("max_blobs=1", &["@good.pcap"], "limit.reached"),
        check("max_blob_bytes=10", &["@good.pcap"], "limit.reached"),
    ];
    let silent: Vec<String> = silent.into_iter().flatten().collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// Said once, at the first frame whose call is not joined.
#[test]
fn ids_left_out_are_told() {
    let output = rpcshark(&["decode", "--format", "jsonl", "--limit", "max_channels=1", "@good.pcap"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.matches("more ids that join calls than are kept").count(), 1, "{text}");
}

#[test]
fn a_broken_end_is_shown_in_part() {
    let path = "@cases/27-length-overrun/over-file.bin";
    let args =
        ["decode", "--format", "jsonl", "--as", "agent.v1.AgentClientMessage", "--limit", "max_rest=2"];
    let output = rpcshark(&[&args[..], &["--show-secrets", path]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("\"$rest\"") && text.contains("bytes are shown of what cannot be decoded"),
        "{text}"
    );
    // What is not there cannot be encoded.
    let again = rpcshark_fed(&["encode", "--hex", "-"], &output.stdout);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
}

/// No limit is so small that it breaks anything.
#[test]
fn any_value_is_survived() {
    let captures = ["good-bidi.pcap", "midstream-tls13-h2.pcap", "heartbeat.har", "heartbeat.bin"];
    let paths = captures.map(|name| fixture(name).display().to_string());
    Limits::NAMES.par_iter().for_each(|name| {
        for value in ["0", "1", "18446744073709551615"] {
            let limit = format!("{name}={value}");
            let mut args = vec!["timeline", "--format", "jsonl", "--limit", &limit];
            args.extend(paths.iter().map(String::as_str));
            let output = rpcshark(&args);
            assert!(output.status.code().is_some_and(|code| code <= 2), "{limit}: {}", stderr(&output));
        }
    });
}

#[test]
fn a_wrong_limit_is_refused() {
    for (rule, says) in [
        ("max_conections=1", "did you mean 'max_connections'?"),
        ("max_calls", "expected NAME=VALUE"),
        ("max_calls=x", "expected NAME=VALUE"),
    ] {
        let output = rpcshark(&["decode", "--limit", rule, "@heartbeat.bin"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    let long = format!("kind == \"{}\"", "x".repeat(70_000));
    let output = rpcshark(&["decode", "-Y", &long, "@heartbeat.bin"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("longer than 64 KiB"), "{}", stderr(&output).len());
}
