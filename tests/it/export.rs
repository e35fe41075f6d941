//! `export`: what is written for other programs, read back by those programs where they are there.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::run::{fixture, rpcshark, stderr};

fn exported(to: &str, args: &[&str]) -> Vec<u8> {
    let output = rpcshark(&[&["export", "--to", to], args].concat());
    assert_eq!(output.status.code(), Some(0), "{to} {args:?}: {}", stderr(&output));
    output.stdout
}

/// Whether a program answers when it is asked for its version.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
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

/// Exports that are text.
const TEXTS: &[&str] = &["html"];

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
