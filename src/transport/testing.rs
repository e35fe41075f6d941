//! What the tests of the HTTP parsers share: a script of parts in, lines of text out.
//! Never part of the product.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Cx, Finding, Limits};
use crate::pdu::{Conn, HttpEvent, HttpPart, Side, Start};

use super::{Dir, StreamPart};

/// A parser of one connection, as the scripts drive it.
pub(super) trait Parser {
    fn push(&mut self, dir: Dir, part: StreamPart, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>);
    fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>);
}

pub(super) type Script = Vec<(Dir, StreamPart)>;

pub(super) fn conn() -> Arc<Conn> {
    Arc::new(Conn { id: 7, label: "tcp:7".to_owned(), client: None, server: None })
}

pub(super) fn data(bytes: &[u8]) -> StreamPart {
    StreamPart::Data { bytes: Bytes::copy_from_slice(bytes), time: None, at: 0 }
}

pub(super) fn to_server(bytes: &[u8]) -> (Dir, StreamPart) {
    (Dir::ToServer, data(bytes))
}

pub(super) fn to_client(bytes: &[u8]) -> (Dir, StreamPart) {
    (Dir::ToClient, data(bytes))
}

/// Places bytes one after the other, as if each direction were the file.
fn placed(script: &Script, step: usize) -> Script {
    let mut at = [0u64; 2];
    let mut out = Vec::new();
    for (dir, part) in script {
        let place = &mut at[dir.index()];
        match part {
            StreamPart::Data { bytes, time, .. } => {
                for piece in bytes.chunks(step.min(bytes.len().max(1))) {
                    let bytes = Bytes::copy_from_slice(piece);
                    out.push((*dir, StreamPart::Data { bytes, time: *time, at: *place }));
                    *place += piece.len() as u64;
                }
            }
            other => {
                if let StreamPart::Gap(n) = other {
                    *place += n;
                }
                out.push((*dir, other.clone()));
            }
        }
    }
    out
}

/// What a fresh parser makes of a script, in pieces of `step` bytes at most.
pub(super) fn run(parser: &mut impl Parser, script: &Script, step: usize) -> (Vec<HttpEvent>, Vec<Finding>) {
    let limits = Limits { max_header_block: 4_096, max_pipelined: 8, ..Limits::default() };
    let (mut findings, mut out) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    for (dir, part) in placed(script, step) {
        parser.push(dir, part, &mut cx, &mut out);
    }
    parser.finish(&mut cx, &mut out);
    (joined(out), findings)
}

/// Adjacent body pieces of one side as one.
fn joined(events: Vec<HttpEvent>) -> Vec<HttpEvent> {
    let mut out: Vec<HttpEvent> = Vec::new();
    for event in events {
        if let HttpPart::Body(more) = &event.part
            && let Some(last) = out.last_mut()
            && (last.key, last.side) == (event.key, event.side)
            && let HttpPart::Body(body) = &mut last.part
        {
            *body = [body.as_ref(), more.as_ref()].concat().into();
            continue;
        }
        out.push(event);
    }
    out
}

/// An event as `stream> what` for requests, `stream< what` for responses.
fn line(event: &HttpEvent) -> String {
    let text = |t: &Option<String>| t.clone().unwrap_or_else(|| "?".to_owned());
    let what = match &event.part {
        HttpPart::Head(head) => {
            let lost =
                if head.headers.lost > 0 { format!(" lost {}", head.headers.lost) } else { String::new() };
            match &head.start {
                Start::Request { method, path, .. } => format!("{} {}{lost}", text(method), text(path)),
                Start::Response { status } => format!("{}{lost}", text(&status.map(|s| s.to_string()))),
            }
        }
        HttpPart::Body(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        HttpPart::Gap(None) => "gap".to_owned(),
        HttpPart::Gap(Some(n)) => format!("gap {n}"),
        HttpPart::Trailers(headers) => {
            let fields: Vec<_> = headers.fields.iter().map(|h| format!("{}={}", h.name, h.value)).collect();
            format!("trailers {}", fields.join(" "))
        }
        HttpPart::End(end) => format!("{end:?}"),
    };
    let arrow = if event.side == Side::Request { '>' } else { '<' };
    format!("{}{arrow} {what}", event.key.stream)
}

/// Runs a script whole and byte by byte, which must agree, and compares its lines; lines of
/// findings follow as `! code`.
pub(super) fn check<P: Parser>(new: impl Fn() -> P, script: &Script, expected: &[&str]) {
    let (events, findings) = run(&mut new(), script, usize::MAX);
    let mut lines: Vec<String> = events.iter().map(line).collect();
    lines.extend(findings.iter().map(|f| format!("! {}", f.code.name())));
    assert_eq!(lines, expected);
    for step in [1, 2, 3, 7] {
        let (other, other_findings) = run(&mut new(), script, step);
        let placed = |events: &[HttpEvent]| -> Vec<_> { events.iter().map(|e| (line(e), e.at)).collect() };
        assert_eq!(placed(&other), placed(&events), "in pieces of {step}");
        assert!(other == events, "in pieces of {step}");
        assert_eq!(other_findings, findings, "in pieces of {step}");
    }
    check_prefixes(new, script);
}

/// Every prefix of a script (of a long one, some hundreds), and what holes make of it: no panic.
fn check_prefixes<P: Parser>(new: impl Fn() -> P, script: &Script) {
    let mut prefix = Script::new();
    let parts = placed(script, 1);
    let stride = parts.len() / 300 + 1;
    for (i, (dir, part)) in parts.into_iter().enumerate() {
        prefix.push((dir, part));
        if i % stride != 0 {
            continue;
        }
        run(&mut new(), &prefix, usize::MAX);
        let mut holed = prefix.clone();
        holed.extend([(dir, StreamPart::Gap(3)), (dir, data(b"\r\n4\r\nabcd\r\n")), (dir, StreamPart::Lost)]);
        run(&mut new(), &holed, 5);
    }
}
