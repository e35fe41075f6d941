use std::collections::VecDeque;

use crate::base::Limits;
use crate::pdu::HttpPart;

use super::super::{ConnIds, Record};
use super::*;

fn put(payload: &str, kind: char) -> String {
    format!("{}:{payload}{kind}", payload.len())
}

fn text(text: &str) -> String {
    put(text, ',')
}

fn dict(members: &[(&str, String)]) -> String {
    put(&members.iter().map(|(key, value)| put(key, ';') + value).collect::<String>(), '}')
}

fn list(items: &[String]) -> String {
    put(&items.concat(), ']')
}

fn null() -> String {
    "0:~".into()
}

fn request(content: String) -> String {
    dict(&[
        ("method", text("POST")),
        ("scheme", text("https")),
        ("host", text("h")),
        ("port", put("443", '#')),
        ("path", text("/a.B/C")),
        ("http_version", text("HTTP/2.0")),
        ("headers", list(&[list(&[text("A"), text("1")]), list(&[text("a"), text("2")])])),
        ("content", content),
        ("timestamp_start", put("1.5", '^')),
        ("timestamp_end", put("2", '#')),
    ])
}

fn response(content: String, trailers: String) -> String {
    dict(&[("status_code", put("200", '#')), ("content", content), ("trailers", trailers)])
}

fn flow(request: String, response: String, more: &[(&str, String)]) -> String {
    let client = dict(&[("id", text("c1")), ("peername", list(&[text("::1"), put("9", '#')]))]);
    let mut members = vec![("type", put("http", ';')), ("client_conn", client)];
    members.push(("request", request));
    members.push(("response", response));
    members.extend(more.iter().cloned());
    dict(&members)
}

fn read(content: &str, size: usize) -> Vec<String> {
    let (mut out, limits, conns) = (VecDeque::new(), Limits::default(), ConnIds::default());
    let mut sink = Sink::new(&mut out, &limits, &conns);
    let mut reader = Reader::new(10_000);
    for chunk in content.as_bytes().chunks(size) {
        if reader.push(chunk, &mut sink).is_err() {
            return vec!["refused".into()];
        }
    }
    reader.finish(&mut sink);
    out.iter().map(show).collect()
}

fn show(record: &Record) -> String {
    match record {
        Record::Http(event) => {
            let part = match &event.part {
                HttpPart::Head(head) => format!("head {} {}", head.version, head.headers.fields.len()),
                HttpPart::Body(body) => String::from_utf8_lossy(body).into_owned(),
                HttpPart::Trailers(trailers) => format!("trailers {}", trailers.fields.len()),
                part => format!("{part:?}"),
            };
            format!("{}/{} {}: {part}", event.conn.label, event.key.stream, event.side.name())
        }
        Record::Finding(finding) => finding.code.name().into(),
        record => format!("{record:?}"),
    }
}

fn check(content: &str, expected: &[&str]) {
    for size in [1, 5, content.len().max(1)] {
        assert_eq!(read(content, size), expected, "{content} by {size}");
    }
    for end in 0..content.len() {
        read(content.get(..end).unwrap_or_default(), 64);
    }
}

#[test]
fn exchanges() {
    let trailers = list(&[list(&[text("t"), text("1")])]);
    let one = flow(request(text("up")), response(text("down"), trailers), &[]);
    let two = flow(request(null()), null(), &[("error", dict(&[("msg", text("lost"))]))]);
    let three = flow(request(text("")), null(), &[]);
    check(
        &format!("{one}{two}{three}"),
        &[
            "flow:0/1 request: head HTTP/2 2",
            "flow:0/1 request: up",
            "flow:0/1 request: End(Complete)",
            "flow:0/1 response: head HTTP 0",
            "flow:0/1 response: down",
            "flow:0/1 response: trailers 1",
            "flow:0/1 response: End(Complete)",
            "net.reset",
            "flow:0/2 request: head HTTP/2 2",
            "flow:0/2 request: End(NotCaptured { declared: None })",
            "flow:0/2 response: End(Closed)",
            "flow:0/3 request: head HTTP/2 2",
            "flow:0/3 request: End(Complete)",
            "flow:0/3 response: End(CaptureEnd)",
        ],
    );
}

#[test]
fn addresses_and_times() {
    let content = flow(request(text("up")), null(), &[]);
    let (mut out, limits, conns) = (VecDeque::new(), Limits::default(), ConnIds::default());
    let mut sink = Sink::new(&mut out, &limits, &conns);
    let _ = Reader::new(10_000).push(content.as_bytes(), &mut sink);
    let Some(Record::Http(event)) = out.front() else { panic!("an event") };
    assert_eq!(event.conn.client.as_deref(), Some("[::1]:9"));
    assert_eq!(event.time, Timestamp::from_seconds(1.5));
    let HttpPart::Head(head) = &event.part else { panic!("a head") };
    assert!(matches!(&head.start, Start::Request { authority: Some(a), .. } if a == "h"));
}

#[test]
fn other_kinds_are_counted() {
    let tcp = dict(&[("type", put("tcp", ';'))]);
    let socket = flow(request(text("")), null(), &[("websocket", dict(&[]))]);
    check(&format!("{tcp}{tcp}{socket}"), &["capture.skipped", "capture.skipped"]);
}

#[test]
fn damage() {
    let one = dict(&[("type", put("tcp", ';'))]);
    check("nonsense", &["refused"]);
    check(&format!("{one}nonsense"), &["capture.damaged", "capture.skipped"]);
    check(&format!("{one}50:"), &["capture.cut", "capture.skipped"]);
    let long = text(&"x".repeat(20_000));
    check(&format!("{long}{one}"), &["limit.reached", "capture.skipped"]);
}
