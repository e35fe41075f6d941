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

macro_rules! fixture {
    ($name:literal) => {
        parse(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/", $name, ".bin")))
    };
}

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
    let limits = Limits::default();
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

fn drop_me() -> Fixture {
    parse(b"")
}
/// Every session of `/tmp/tg`.
#[test]
fn throwaway() {
    let mut paths: Vec<_> = ["/tmp/tg/out", "/tmp/tg/real"]
        .iter()
        .flat_map(|d| std::fs::read_dir(d).unwrap())
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let fixture = parse(&std::fs::read(&path).unwrap());
        let seen = run(&whole(&fixture), 1 << 20);
        let same = seen == Seen { ..run(&whole(&fixture), 1) };
        let ok = seen.plain == fixture.plain;
        println!(
            "{:40} {} split={same} {:?} of {:?} {:?} {:?}",
            path.file_name().unwrap().to_string_lossy(),
            if ok { "OK" } else { "--" },
            seen.plain.each_ref().map(Vec::len),
            fixture.plain.each_ref().map(Vec::len),
            seen.alpn,
            seen.marks
        );
        println!(
            "      {:?} {:?}",
            String::from_utf8_lossy(&seen.plain[0][..seen.plain[0].len().min(30)]),
            String::from_utf8_lossy(&seen.plain[1][..seen.plain[1].len().min(30)])
        );
        for f in &seen.findings {
            println!("      {:?} {}", f.code, f.text);
        }
    }
    let _ = (drop_me, In::Gap, check, Code::NetGap);
}
