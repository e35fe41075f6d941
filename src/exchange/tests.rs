//! What HTTP becomes, one line per case; splits and prefixes of everything.
//! Never reads a file.

mod lost;

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Cx, Finding, Limits};
use crate::pdu::{
    Conn, End, Head, Headers, HttpEvent, HttpPart, LaneEvent, LanePart, Side, Start, StreamKey,
};

use super::Exchanges;

const ONE: &[u8] = b"\0\0\0\0\x02\x08\x01";
const POST: &str = "POST /pkg.v1.Service/Method";

/// One side: `METHOD path` or a status, then `name: value` after each `|`; `?` is a lost field.
fn head(text: &str) -> HttpPart {
    let mut words = text.split('|').map(str::trim);
    let first = words.next().unwrap();
    let start = match first.split_once(' ') {
        Some((method, path)) => Start::Request {
            method: Some(method.to_owned()),
            scheme: None,
            authority: None,
            path: Some(path.to_owned()),
        },
        None if first == "request" => {
            Start::Request { method: None, scheme: None, authority: None, path: None }
        }
        None => Start::Response { status: first.parse().ok() },
    };
    let mut headers = Headers::default();
    for word in words {
        match word.split_once(": ") {
            Some((name, value)) => headers.push(name, value),
            None if word == "?" => headers.lost += 1,
            None => headers.push("content-type", word),
        }
    }
    HttpPart::Head(Arc::new(Head { start, headers, version: "HTTP/2" }))
}

fn body(bytes: &[u8]) -> HttpPart {
    HttpPart::Body(Bytes::copy_from_slice(bytes))
}

fn end() -> HttpPart {
    HttpPart::End(End::Complete)
}

type Story = Vec<(Side, HttpPart)>;

fn request(text: &str, bytes: &[u8]) -> Story {
    [head(text), body(bytes), end()].map(|p| (Side::Request, p)).into()
}

fn response(text: &str, bytes: &[u8]) -> Story {
    [head(text), body(bytes), end()].map(|p| (Side::Response, p)).into()
}

fn run_with(limits: &Limits, story: &Story, stream: impl Fn(usize) -> u32) -> (Vec<LaneEvent>, Vec<Finding>) {
    let (mut findings, mut out) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits };
    let mut exchanges = Exchanges::new();
    let conn = Arc::new(Conn { id: 0, label: "tcp:0".to_owned(), client: None, server: None });
    for (n, (side, part)) in story.iter().enumerate() {
        let event = HttpEvent {
            conn: Arc::clone(&conn),
            key: StreamKey { conn: 0, stream: stream(n) },
            side: *side,
            time: None,
            at: None,
            part: part.clone(),
        };
        exchanges.push(event, &mut cx, &mut out);
    }
    exchanges.finish(&mut cx, &mut out);
    assert_eq!((exchanges.calls.len(), exchanges.held), (0, 0));
    (out, findings)
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Events as lines; bytes of one lane that follow each other are joined.
fn describe(events: &[LaneEvent], findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for e in events {
        let l = &e.lane;
        let encoding = l.encoding.as_ref().map(|e| format!("({e})")).unwrap_or_default();
        let lane = format!("{} {:?} {:?}{encoding}", l.side.name(), l.protocol, l.codec);
        let what = match &e.part {
            LanePart::Bytes(bytes) => {
                let start = format!("{lane} bytes ");
                match lines.last_mut().filter(|l| l.starts_with(&start)) {
                    Some(last) => last.push_str(&show(bytes)),
                    None => lines.push(start + &show(bytes)),
                }
                continue;
            }
            LanePart::Gap(length) => format!("gap {length:?}"),
            LanePart::Whole(bytes) => format!("whole {}", show(bytes)),
            LanePart::Cut { bytes, length } => format!("cut {} {length:?}", show(bytes)),
            LanePart::Failed(bytes) => format!("failed {}", show(bytes)),
            LanePart::Trailers(h) => {
                format!(
                    "trailers {}",
                    h.fields.iter().map(|f| format!("{}={}", f.name, f.value)).collect::<String>()
                )
            }
            LanePart::Finding(f) => format!("{} {}", f.code.name(), f.text),
            LanePart::End(end) => format!("{end:?}"),
        };
        lines.push(format!("{lane} {what}"));
    }
    lines.extend(findings.iter().map(|f| format!("{} {}", f.code.name(), f.text)));
    lines
}

fn split(story: &Story) -> Story {
    let mut out = Vec::new();
    for (side, part) in story {
        match part {
            HttpPart::Body(bytes) => out.extend(bytes.iter().map(|b| (*side, body(&[*b])))),
            part => out.push((*side, part.clone())),
        }
    }
    out
}

#[track_caller]
fn check(stories: &[Story], expected: &[&str]) {
    let story = stories.concat();
    let (events, findings) = run_with(&Limits::default(), &story, |_| 1);
    let told = describe(&events, &findings);
    // An end adds nothing to these.
    let shown: Vec<_> = told.iter().filter(|l| !l.ends_with(" Complete")).map(String::as_str).collect();
    assert_eq!(shown, expected);
    let (events, findings) = run_with(&Limits::default(), &split(&story), |_| 1);
    assert_eq!(describe(&events, &findings), told, "the split changes the output");
    for n in 0..story.len() {
        run_with(&Limits::default(), &story[..n].to_vec(), |_| 1);
    }
}

#[test]
fn connect_streams() {
    check(
        &[
            request(&format!("{POST} | application/connect+proto | connect-content-encoding: GZIP"), ONE),
            response("200 | application/connect+json", b"\x02\0\0\0\x02{}"),
        ],
        &[
            "request ConnectStream Proto(gzip) bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01",
            "response ConnectStream Json bytes \\x02\\x00\\x00\\x00\\x02{}",
        ],
    );
}

#[test]
fn envelopes_labelled_as_events() {
    let request = || request(&format!("{POST} | application/connect+proto"), b"");
    let frames = ["response ConnectStream Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01"];
    check(&[request(), response("200 | text/event-stream", ONE)], &frames);
    check(&[response("200 | text/event-stream; charset=utf-8", ONE)], &frames);
    check(
        &[request(), response("200 | text/event-stream", b"data: {}\n\n")],
        &[
            "frame.unframed response of call 1, pkg.v1.Service/Method: HTTP 200, text/event-stream where frames were expected: \"data: {}\"",
        ],
    );
    check(
        &[request(), response("200 | text/event-stream", b"\xff\0\0\0\x01a")],
        &["response ConnectStream Proto bytes \\xff\\x00\\x00\\x00\\x01a"],
    );
    // The capture ends before the body: that is no other kind of answer.
    let head = (Side::Response, head("200 | text/event-stream"));
    check(&[request(), vec![head]], &["response ConnectStream Proto CaptureEnd"]);
    check(&[request_foreign(), response("200 | text/event-stream", b"data: x\n\n")], &[]);
}

fn request_foreign() -> Story {
    request("GET /events", b"")
}

#[test]
fn unary() {
    let request = || request(&format!("{POST} | application/proto"), b"\x08\x01");
    let asked = "request ConnectUnary Proto whole \\x08\\x01";
    check(
        &[request(), response("200 | application/proto", b"")],
        &[asked, "response ConnectUnary Proto whole "],
    );
    check(
        &[request(), response("404 | application/json", b"{\"code\":\"not_found\"}")],
        &[asked, "response ConnectUnary Json failed {\\\"code\\\":\\\"not_found\\\"}"],
    );
    check(
        &[request(), response("502 | text/html", b"<html>\n<b>Bad\x1b</b>")],
        &[
            asked,
            "frame.unframed response of call 1, pkg.v1.Service/Method: HTTP 502, text/html where a message was expected: \"<html> <b>Bad\\x1b</b>\"",
        ],
    );
    check(
        &[request(), response("415", b"")],
        &[
            asked,
            "frame.unframed response of call 1, pkg.v1.Service/Method: HTTP 415, no content-type where a message was expected, with an empty body",
        ],
    );
    // The answer before the request.
    check(
        &[response("200 | application/proto", b"\x08\x02"), request()],
        &["response ConnectUnary Proto whole \\x08\\x02", asked],
    );
    check(
        &[response("200 | application/json", b"{}"), request()],
        &["response ConnectUnary Json whole {}", asked],
    );
}

#[test]
fn unary_bodies_in_other_dress() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(b"\x08\x01").unwrap();
    let gzip = gzip.finish().unwrap();
    let whole = ["request ConnectUnary Proto whole \\x08\\x01"];
    let coded = format!("{POST} | application/proto | content-encoding: gzip");
    check(&[request(&coded, &gzip)], &whole);
    check(&[request(&coded, b"\x08\x01")], &whole);
    check(&[request(&coded.replace("gzip", "br"), b"\x08\x01")], &whole);
    check(
        &[request(&format!("{POST} | application/proto"), ONE)],
        &[
            "request ConnectUnary Proto frame.enveloped a unary body with an envelope in front",
            "request ConnectUnary Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01",
        ],
    );
    check(&[request(&format!("{POST} | application/octet-stream"), b"\x08\x01")], &whole);
    check(&[request(POST, b"\x08\x01")], &whole);
    check(&[request(POST, ONE)], &["request ConnectStream Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01"]);
    // A stream under a content coding, and under the name of one.
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(ONE).unwrap();
    let coded = format!("{POST} | application/connect+proto | content-encoding: gzip");
    let bytes = ["request ConnectStream Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01"];
    check(&[request(&coded, &coder.finish().unwrap())], &bytes);
    check(&[request(&coded, ONE)], &bytes);
    check(&[request(&coded.replace("gzip", "br"), ONE)], &bytes);
}

#[test]
fn gets() {
    check(
        &[
            request("GET /pkg.v1.Service/Method?connect=v1&encoding=json&message=%7B%7D", b""),
            response("200 | application/json", b"{}"),
        ],
        &["request ConnectGet Json whole {}", "response ConnectGet Json whole {}"],
    );
    check(
        &[request(
            "GET /pkg.v1.Service/Method?connect=v1&encoding=proto&base64=1&compression=gzip&message=CAE",
            b"",
        )],
        &["request ConnectGet Proto(gzip) whole \\x08\\x01"],
    );
}

#[test]
fn grpc() {
    let trailers = |text: &str| match head(&format!("200 | {text}")) {
        HttpPart::Head(head) => (Side::Response, HttpPart::Trailers(head.headers.clone())),
        _ => unreachable!(),
    };
    let mut with_trailers = response("200 | application/grpc | grpc-encoding: gzip", ONE);
    with_trailers.insert(2, trailers("grpc-status: 0"));
    check(
        &[request(&format!("{POST} | application/grpc+proto | te: trailers"), ONE), with_trailers],
        &[
            "request Grpc Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01",
            "response Grpc Proto(gzip) bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01",
            "response Grpc Proto(gzip) trailers grpc-status=0",
        ],
    );
    check(
        &[request(&format!("{POST} | application/grpc"), b""), response("200 | grpc-status: 5", b"")],
        &["response Grpc Proto trailers grpc-status=5"],
    );
    check(
        &[response("200 | application/grpc-web-text", b"AAAAAAIIAQ==AAAAAAA=")],
        &["response GrpcWebText Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08\\x01\\x00\\x00\\x00\\x00\\x00"],
    );
}

#[test]
fn what_is_no_rpc() {
    check(&[request("GET /index.html", b""), response("200 | text/html", b"<html>")], &[]);
    check(
        &[request("POST /v1/users | application/json", b"{}"), response("200 | application/json", b"{}")],
        &[],
    );
    check(&[request("OPTIONS /pkg.v1.Service/Method", b""), response("204", b"")], &[]);
    check(&[response("200 | application/json", b"{}")], &[]);
    check(&[response("200 | image/png", b"\x89PNG")], &[]);
    check(&[request(&format!("{POST} | text/plain"), b"x")], &[]);
}

#[test]
fn answers_in_json_to_envelopes() {
    let request = || request(&format!("{POST} | application/connect+proto"), b"");
    check(
        &[request(), response("401 | application/json", b"{\"code\":\"unauthenticated\"}")],
        &["response ConnectStream Json failed {\\\"code\\\":\\\"unauthenticated\\\"}"],
    );
    check(
        &[request(), response("500 | application/json", b"{\"oops\":1}")],
        &[
            "frame.unframed response of call 1, pkg.v1.Service/Method: HTTP 500, application/json where frames were expected: \"{\"oops\":1}\"",
        ],
    );
}

#[test]
fn ends() {
    let request = |end: End| -> Story {
        let last = HttpPart::End(end);
        [head(&format!("{POST} | application/proto | content-length: 9")), body(b"\x08"), last]
            .map(|p| (Side::Request, p))
            .into()
    };
    let cut = "request ConnectUnary Proto cut \\x08 Some(9)";
    let told = "request ConnectUnary Proto frame.truncated truncated body: declared length 9, present 1";
    check(&[request(End::Closed)], &[told, cut, "request ConnectUnary Proto Closed"]);
    check(
        &[request(End::Reset { code: 8 })],
        &[
            told,
            cut,
            "request ConnectUnary Proto net.reset the stream was reset: CANCEL (0x8)",
            "request ConnectUnary Proto Reset { code: 8 }",
        ],
    );
    let missing = HttpPart::End(End::NotCaptured { declared: Some(39) });
    let parts = |status: &str| -> Story {
        [head(&format!("{status} | application/connect+proto")), missing.clone()]
            .map(|p| (Side::Response, p))
            .into()
    };
    check(
        &[parts("200")],
        &[
            "response ConnectStream Proto frame.missing-body body missing from the capture (declared size 39)",
            "response ConnectStream Proto NotCaptured { declared: Some(39) }",
        ],
    );
    check(&[parts("0")], &["response ConnectStream Proto NotCaptured { declared: Some(39) }"]);
    let gap: Story = [
        head(&format!("{POST} | application/proto")),
        body(b"\x08"),
        HttpPart::Gap(Some(3)),
        body(b"\x01"),
        end(),
    ]
    .map(|p| (Side::Request, p))
    .into();
    check(
        &[gap],
        &[
            "request ConnectUnary Proto net.gap bytes of the body are missing from the capture",
            "request ConnectUnary Proto cut \\x08 None",
        ],
    );
}

#[test]
fn limits_are_kept() {
    let open: Story =
        (0..5).map(|_| (Side::Request, head(&format!("{POST} | application/connect+proto")))).collect();
    let limits = Limits { max_calls: 2, ..Limits::default() };
    let (events, findings) = run_with(&limits, &open, |n| n as u32);
    assert_eq!((events.len(), findings.len()), (5, 3));
    assert_eq!(events.iter().map(|e| e.lane.call).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let large = request(&format!("{POST} | application/proto"), &[8; 100]);
    let limits = Limits { max_body: 10, ..Limits::default() };
    let told = describe(&run_with(&limits, &large, |_| 1).0, &[]);
    assert!(told[0].contains("frame.too-large body longer than the limit of 10 bytes"), "{told:?}");
    let limits = Limits { max_bodies: 10, ..Limits::default() };
    let told = describe(&run_with(&limits, &split(&large), |_| 1).0, &[]);
    assert!(told[0].contains("limit.reached"), "{told:?}");
}
