//! Whole sessions of real peers: fixtures/tls/README.md says how each was made.

use bytes::Bytes;

use super::*;
use crate::base::{Code, Finding, Limits};

/// A session as its fixture holds it.
struct Fixture {
    /// What each side sent, in order.
    wire: Vec<(Dir, Vec<u8>)>,
    keys: Vec<u8>,
    /// What the peers wrote, by [`Dir`].
    plain: [Vec<u8>; 2],
}

fn parse(bytes: &[u8]) -> Fixture {
    let mut fixture = Fixture { wire: Vec::new(), keys: Vec::new(), plain: Default::default() };
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_at_checked(5) {
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let (body, after) = after.split_at(length);
        match head[0] {
            0 => fixture.wire.push((Dir::ToServer, body.to_vec())),
            1 => fixture.wire.push((Dir::ToClient, body.to_vec())),
            2 => fixture.keys = body.to_vec(),
            3 => fixture.plain[0] = body.to_vec(),
            _ => fixture.plain[1] = body.to_vec(),
        }
        rest = after;
    }
    fixture
}

/// A fixture by its name.
macro_rules! fixture {
    ($name:literal) => {
        parse(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/", $name, ".bin")))
    };
}

mod damage;

/// What came out.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    plain: [Vec<u8>; 2],
    /// Gap, Lost and ends, with the number of bytes before them.
    marks: Vec<(Dir, usize, String)>,
    findings: Vec<Finding>,
    alpn: Option<String>,
}

enum In {
    Data(Dir, Vec<u8>),
    Gap(Dir, u64),
    Keys(Vec<u8>),
}

fn run(input: &[In], step: usize) -> Seen {
    let limits = Limits { max_tls_search: 4 << 20, ..Limits::default() };
    let (mut session, mut keys, mut findings) = (Session::new(), KeyLog::new(), Vec::new());
    let (mut out, mut at) = (Vec::new(), 0);
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    for part in input {
        match part {
            In::Keys(text) => keys.add(text),
            In::Gap(dir, length) => session.push(*dir, StreamPart::Gap(*length), &keys, &mut cx, &mut out),
            In::Data(dir, bytes) => {
                for piece in bytes.chunks(step) {
                    let bytes = Bytes::copy_from_slice(piece);
                    let data = StreamPart::Data { bytes, time: None, at };
                    session.push(*dir, data, &keys, &mut cx, &mut out);
                    at += piece.len() as u64;
                }
            }
        }
    }
    for dir in [Dir::ToServer, Dir::ToClient] {
        session.push(dir, StreamPart::CaptureEnd, &keys, &mut cx, &mut out);
    }
    session.finish(&mut cx);
    session.finish(&mut cx);
    let mut seen = Seen { alpn: session.alpn().map(str::to_owned), findings, ..Seen::default() };
    for (dir, part) in out {
        match part {
            StreamPart::Data { bytes, .. } => seen.plain[dir.index()].extend_from_slice(&bytes),
            other => seen.marks.push((dir, seen.plain[dir.index()].len(), format!("{other:?}"))),
        }
    }
    seen
}

fn whole(fixture: &Fixture) -> Vec<In> {
    let mut input = vec![In::Keys(fixture.keys.clone())];
    input.extend(fixture.wire.iter().map(|(dir, bytes)| In::Data(*dir, bytes.clone())));
    input
}

/// Everything that the peers wrote comes out, whatever the split, with nothing to report.
fn check(fixture: &Fixture) {
    for step in [1 << 20, 1, 7, 1000] {
        let seen = run(&whole(fixture), step);
        assert!(seen.findings.is_empty(), "{:?}", seen.findings);
        assert_eq!(
            seen.plain.each_ref().map(Vec::len),
            fixture.plain.each_ref().map(Vec::len),
            "in pieces of {step}"
        );
        assert!(seen.plain == fixture.plain, "in pieces of {step}");
        assert!(!seen.marks.iter().any(|m| m.2.contains("Gap") || m.2.contains("Lost")), "{:?}", seen.marks);
    }
}

macro_rules! whole_sessions {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check(&fixture!($name)); })*
    };
}

whole_sessions! {
    tls13_aes_128_gcm "tls13-aes128gcm"
    tls13_aes_256_gcm "tls13-aes256gcm"
    tls13_chacha "tls13-chacha"
    tls13_ccm "tls13-ccm"
    tls13_ccm_8 "tls13-ccm8"
    tls13_key_updates "tls13-keyupdate"
    tls13_hello_retry "tls13-retry"
    tls13_early_data "tls13-early"
    tls13_early_data_refused "tls13-early-refused"
    tls12_aes_128_gcm "tls12-gcm"
    tls12_aes_256_gcm "tls12-gcm256"
    tls12_rsa_certificate "tls12-rsa"
    tls12_resumed "tls12-resumed"
    tls12_renegotiated "tls12-renegotiated"
    tls12_chacha "tls12-chacha"
    tls12_ccm "tls12-ccm"
    tls12_ccm_8 "tls12-ccm8"
    tls12_cbc_sha1 "tls12-cbc-sha1"
    tls12_cbc_sha1_encrypt_then_mac "tls12-cbc-sha1-etm"
    tls12_cbc_sha256 "tls12-cbc-sha256"
    tls12_cbc_sha256_encrypt_then_mac "tls12-cbc-sha256-etm"
    tls12_cbc_sha384 "tls12-cbc-sha384"
    tls12_cbc_sha384_encrypt_then_mac "tls12-cbc-sha384-etm"
}

/// Captures of programs, not of our own peers.
#[test]
fn foreign_captures() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let captures = [
        (fixture!("connect-node-tls13"), [1222, 986]),
        (fixture!("grpc-node-tls12"), [1213, 1029]),
        (fixture!("case-tls13"), [129, 122]),
        (fixture!("case-tls12-cbc"), [129, 122]),
    ];
    for (fixture, lengths) in captures {
        let seen = run(&whole(&fixture), 11);
        assert_eq!(seen.plain.each_ref().map(Vec::len), lengths);
        assert!(seen.plain[0].starts_with(preface) && seen.findings.is_empty());
        assert_eq!(seen.alpn.as_deref(), Some("h2"));
    }
}

/// The lines of a key log that a condition keeps.
fn keep(keys: &[u8], condition: impl Fn(&str) -> bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(keys);
    text.lines().filter(|l| condition(l)).flat_map(|l| [l, "\n"]).collect::<String>().into_bytes()
}

/// The same with every secret made of zeros.
fn zeroed(keys: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(keys);
    let zero = |line: &str| match line.rsplit_once(' ') {
        Some((front, secret)) if !line.starts_with('#') => format!("{front} {}\n", "0".repeat(secret.len())),
        _ => String::new(),
    };
    text.lines().map(zero).collect::<String>().into_bytes()
}

fn with_keys(fixture: &Fixture, keys: Vec<u8>) -> Seen {
    let fixture = Fixture { wire: fixture.wire.clone(), keys, plain: Default::default() };
    run(&whole(&fixture), 1000)
}

/// One finding of a code whose text has all of these parts and no secret.
#[track_caller]
fn check_finding(fixture: &Fixture, seen: &Seen, code: Code, parts: &[&str]) {
    let found: Vec<_> = seen.findings.iter().filter(|f| f.code == code).collect();
    assert_eq!(found.len(), 1, "{:?}", seen.findings);
    for part in parts {
        assert!(found[0].text.contains(part), "{part} in {}", found[0].text);
    }
    assert!(found[0].span.is_some());
    for line in String::from_utf8_lossy(&fixture.keys).lines() {
        let secret = line.rsplit(' ').next().unwrap_or_default();
        assert!(secret.len() < 64 || !seen.findings.iter().any(|f| f.text.contains(secret)));
    }
}

#[test]
fn without_keys() {
    let fixture = fixture!("tls13-aes128gcm");
    let seen = with_keys(&fixture, Vec::new());
    assert!(seen.plain.iter().all(Vec::is_empty));
    let labels = ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0", "CLIENT_HANDSHAKE_TRAFFIC_SECRET"];
    check_finding(&fixture, &seen, Code::NetTlsNoKey, &labels);
    check_finding(
        &fixture,
        &seen,
        Code::NetTlsNoKey,
        &["TLS 1.3 to a.example", "offered h2", "client random "],
    );
    let fixture = fixture!("tls12-gcm");
    let seen = with_keys(&fixture, fixture!("tls12-chacha").keys);
    check_finding(&fixture, &seen, Code::NetTlsNoKey, &["TLS 1.2 to a.example", "ALPN h2", "CLIENT_RANDOM"]);
    assert_eq!(seen.findings.len(), 1);
}

#[test]
fn with_a_part_of_the_keys() {
    let fixture = fixture!("tls13-chacha");
    let [up, down] = fixture.plain.clone();
    let seen = with_keys(&fixture, keep(&fixture.keys, |l| l.starts_with("SERVER")));
    assert_eq!(seen.plain, [vec![], down.clone()]);
    check_finding(&fixture, &seen, Code::NetTlsNoKey, &["what the client sends", "CLIENT_TRAFFIC_SECRET_0"]);

    let seen = with_keys(&fixture, keep(&fixture.keys, |l| l.contains("HANDSHAKE")));
    assert_eq!((seen.plain, seen.alpn.as_deref()), (Default::default(), Some("h2")));

    // The application secrets are enough.
    let seen = with_keys(&fixture, keep(&fixture.keys, |l| !l.contains("HANDSHAKE")));
    assert_eq!((seen.plain, seen.findings.len()), ([up, down], 0));
}

#[test]
fn with_wrong_keys() {
    for fixture in [fixture!("tls13-aes256gcm"), fixture!("tls12-gcm"), fixture!("tls12-cbc-sha256")] {
        let seen = with_keys(&fixture, zeroed(&fixture.keys));
        assert!(seen.plain.iter().all(Vec::is_empty));
        assert_eq!(seen.findings.len(), 2);
        assert!(seen.findings.iter().all(|f| f.code == Code::NetTlsDamaged && f.text.contains("do not fit")));
        // The right ones beside them are found.
        let both = [zeroed(&fixture.keys), fixture.keys.clone()].concat();
        let seen = with_keys(&fixture, both);
        assert_eq!((seen.plain, seen.findings.len()), (fixture.plain, 0));
    }
}

/// Keys that come after the packets open what is still held, and all that follows.
#[test]
fn keys_that_come_late() {
    for fixture in [fixture!("tls13-aes128gcm"), fixture!("tls12-gcm"), fixture!("tls13-early")] {
        for place in 0..fixture.wire.len() {
            let mut input = whole(&fixture);
            let keys = input.remove(0);
            input.insert(place, keys);
            let seen = run(&input, 1 << 20);
            assert_eq!(seen.plain, fixture.plain, "after {place} segments: {:?}", seen.findings);
        }
    }
}

/// The server's segments lie before the client's in the file.
#[test]
fn hellos_out_of_order() {
    for fixture in [fixture!("tls13-aes128gcm"), fixture!("tls12-gcm"), fixture!("tls12-cbc-sha1")] {
        let mut wire = fixture.wire.clone();
        wire.swap(0, 1);
        assert_ne!(wire[0].0, wire[1].0);
        check(&Fixture { wire, keys: fixture.keys, plain: fixture.plain });
    }
}

/// One direction alone is decrypted under TLS 1.3; under TLS 1.2 it takes both randoms.
#[test]
fn one_side_only() {
    for dir in [Dir::ToServer, Dir::ToClient] {
        for mut fixture in [fixture!("tls13-aes256gcm"), fixture!("tls13-chacha")] {
            fixture.wire.retain(|(d, _)| *d == dir);
            let seen = run(&whole(&fixture), 1 << 20);
            assert_eq!(seen.plain[dir.index()], fixture.plain[dir.index()], "{:?}", seen.findings);
            assert!(seen.findings.is_empty());
        }
        let mut fixture = fixture!("tls12-gcm");
        fixture.wire.retain(|(d, _)| *d == dir);
        let seen = run(&whole(&fixture), 1 << 20);
        assert!(seen.plain.iter().all(Vec::is_empty));
        assert_eq!(seen.findings.len(), 1);
    }
}

/// Joined at any segment, and any number of bytes into it: what comes out is an end of what was sent, and no
/// more is missing than the record that was cut.
#[test]
fn joined_late() {
    let foreign = [fixture!("tls13-retry").keys, fixture!("tls13-early").keys].concat();
    let sessions = [fixture!("tls13-aes128gcm"), fixture!("tls13-aes256gcm"), fixture!("tls13-chacha")];
    for fixture in sessions.iter().chain([&fixture!("tls13-keyupdate")]) {
        for start in 3..fixture.wire.len() {
            for (cut, flipped) in [(0, false), (0, true), (9, false)] {
                let mut wire = fixture.wire[start..].to_vec();
                let bytes = &mut wire[0].1;
                bytes.drain(..cut.min(bytes.len()));
                if flipped {
                    wire.iter_mut().for_each(|(d, _)| *d = d.flip());
                }
                let keys = [&foreign[..], &fixture.keys].concat();
                let seen = run(&whole(&Fixture { wire, keys, plain: Default::default() }), 1 << 20);
                let mut total = 0;
                for (mut i, plain) in fixture.plain.iter().enumerate() {
                    if flipped {
                        i = 1 - i;
                    }
                    assert!(plain.ends_with(&seen.plain[i]), "from {start}: {:?}", seen.marks);
                    total += seen.plain[i].len();
                }
                if start + 4 < fixture.wire.len() {
                    assert!(total > 0, "from {start}, cut {cut}: {:?}", seen.findings);
                    assert!(
                        seen.marks.iter().any(|m| m.2 == "Lost") || cut == 0,
                        "from {start}: {:?}",
                        seen.marks
                    );
                }
                assert!(!seen.marks.iter().any(|m| m.2.contains("Gap")), "{:?}", seen.marks);
            }
        }
    }
}

#[test]
fn joined_late_without_a_fitting_key() {
    let mut fixture = fixture!("tls13-aes128gcm");
    fixture.wire.drain(..8);
    let seen = with_keys(&fixture, fixture!("tls13-retry").keys);
    assert!(seen.plain.iter().all(Vec::is_empty));
    check_finding(&fixture, &seen, Code::NetTlsNoKey, &["handshake was not captured", "bytes to the server"]);
}

/// A suite that is not in the table, and a version before TLS 1.2, are named.
#[test]
fn what_is_not_read() {
    let mut fixture = fixture!("tls12-gcm");
    let hello = fixture.wire.iter_mut().find(|(d, _)| *d == Dir::ToClient).unwrap();
    // Header, message header, version, random, then the session id and the suite.
    let session_id = usize::from(hello.1[5 + 4 + 2 + 32]);
    let suite = 5 + 4 + 2 + 32 + 1 + session_id;
    hello.1[suite..suite + 2].copy_from_slice(&[0x00, 0x0a]);
    let seen = with_keys(&fixture, fixture.keys.clone());
    check_finding(&fixture, &seen, Code::NetTlsNoKey, &["0x000a", "not read"]);
}
