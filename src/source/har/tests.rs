use std::collections::VecDeque;

use crate::base::Limits;
use crate::pdu::HttpPart;

use super::super::{ConnIds, Record};
use super::*;

fn read(text: &[u8], size: usize) -> (Vec<String>, bool) {
    let (mut out, limits, conns) = (VecDeque::new(), Limits::default(), ConnIds::default());
    let mut sink = Sink::new(&mut out, &limits, &conns);
    let mut reader = Reader::new(1 << 20);
    for chunk in text.chunks(size.max(1)) {
        reader.push(chunk, &mut sink);
    }
    let fine = reader.finish(&mut sink).is_ok();
    (out.iter().map(show).collect(), fine)
}

fn show(record: &Record) -> String {
    match record {
        Record::Http(event) => {
            let part = match &event.part {
                HttpPart::Head(head) => match &head.start {
                    Start::Request { path, .. } => {
                        format!("{} {}", path.as_deref().unwrap_or("?"), head.version)
                    }
                    Start::Response { status } => format!("{}", status.unwrap_or(0)),
                },
                HttpPart::Body(body) => format!("{body:?}"),
                part => format!("{part:?}"),
            };
            format!("{}/{} {}: {part}", event.conn.label, event.key.stream, event.side.name())
        }
        Record::Finding(finding) => format!("{} {}", finding.code.name(), finding.severity.name()),
        record => format!("{record:?}"),
    }
}

fn entry(request: &str, response: &str) -> String {
    format!(
        r#"{{"log":{{"entries":[{{"startedDateTime":"2024-01-01T00:00:00Z","time":1.5,"request":{{"method":"POST","url":"http://h/a.B/C",{request}}},"response":{{{response}}}}}]}}}}"#
    )
}

/// What the request (`true`) or response gives after its head.
fn check(of_request: bool, request: &str, response: &str, expected: &[&str]) {
    let text = entry(request, response);
    let (records, fine) = read(text.as_bytes(), text.len());
    assert!(fine);
    let side = if of_request { " request: " } else { " response: " };
    let got: Vec<_> = records
        .iter()
        .filter_map(|record| match record.split_once(side) {
            Some((_, part)) => Some(part),
            None => (!record.contains("/1 ")).then_some(record.as_str()),
        })
        .filter(|part| !part.ends_with("HTTP") && part.parse::<u16>().is_err())
        .collect();
    assert_eq!(got, expected, "{text}");
    for size in [1, 7] {
        assert_eq!(read(text.as_bytes(), size).0, records);
    }
    for end in 0..text.len() {
        read(text.as_bytes().get(..end).unwrap_or_default(), 64);
    }
}

const OK: &str = r#""status":200,"bodySize":0,"content":{"size":0}"#;
const NONE: &str = r#""bodySize":0"#;

#[test]
fn request_bodies() {
    let check = |request: &str, expected: &[&str]| check(true, request, OK, expected);
    let complete = "End(Complete)";
    check(
        r#""bodySize":2,"postData":{"mimeType":"application/proto","text":"CAE=","encoding":"base64"}"#,
        &["b\"\\x08\\x01\"", complete],
    );
    check(
        r#""bodySize":2,"postData":{"mimeType":"application/proto","text":"\u0008\u00ff"}"#,
        &["b\"\\x08\\xff\"", complete],
    );
    check(
        r#""bodySize":9,"postData":{"mimeType":"application/proto"}"#,
        &["End(NotCaptured { declared: Some(9) })"],
    );
    check(r#""bodySize":9"#, &["End(NotCaptured { declared: Some(9) })"]);
    check(r#""bodySize":-1"#, &["End(NotCaptured { declared: None })"]);
    check(r#""bodySize":0,"postData":{"text":null}"#, &["End(NotCaptured { declared: None })"]);
    check(r#""bodySize":0"#, &[complete]);
    check(r#""bodySize":0,"postData":{"text":""}"#, &[complete]);
}

#[test]
fn response_bodies() {
    let check = |response: &str, expected: &[&str]| check(false, NONE, response, expected);
    let complete = "End(Complete)";
    check(
        r#""status":200,"content":{"size":2,"mimeType":"application/proto","text":"CAE=","encoding":"base64"}"#,
        &["b\"\\x08\\x01\"", complete],
    );
    check(
        r#""status":200,"content":{"size":2,"mimeType":"application/proto","text":"CAE="}"#,
        &["capture.damaged note", "b\"\\x08\\x01\"", complete],
    );
    check(
        r#""status":200,"content":{"size":4,"mimeType":"application/grpc-web-text","text":"CAE="}"#,
        &["b\"CAE=\"", complete],
    );
    check(r#""status":200,"bodySize":5,"content":{"size":5}"#, &["End(NotCaptured { declared: Some(5) })"]);
    check(r#""status":200,"content":{"size":0,"text":""}"#, &[complete]);
    check(r#""status":204,"content":{"size":5}"#, &[complete]);
    check(r#""status":200,"bodySize":-1,"content":{}"#, &["End(NotCaptured { declared: None })"]);
    check(r#""status":0"#, &["End(Closed)"]);
    check(
        r#""status":200,"_error":"aborted","content":{"size":2,"text":"CAE=","encoding":"base64"}"#,
        &["b\"\\x08\\x01\"", "End(Closed)"],
    );
    check(
        r#""status":200,"content":{"size":9,"text":"CAE=","encoding":"base64"}"#,
        &["b\"\\x08\\x01\"", "End(NotCaptured { declared: Some(9) })"],
    );
}

#[test]
fn pseudo_headers_are_the_start() {
    let text = r#"{"log":{"entries":[{"request":{"headers":[{"name":":path","value":"/x"},{"name":":method","value":"GET"},{"name":"A","value":"1"}]},"response":{"status":0}}]}}"#;
    let (records, _) = read(text.as_bytes(), text.len());
    assert_eq!(records.first().map(String::as_str), Some("har:0/1 request: /x HTTP/2"));
}

#[test]
fn connections_count_their_entries() {
    let one = |conn: &str| format!(r#"{{"connection":"{conn}","request":{{}},"response":{{"status":0}}}}"#);
    let text = format!(r#"{{"log":{{"entries":[{},{},{}]}}}}"#, one("5"), one("6"), one("5"));
    let (records, _) = read(text.as_bytes(), 9);
    let heads: Vec<_> = records.iter().filter(|r| r.ends_with("HTTP")).map(|r| r.split(' ').next()).collect();
    assert_eq!(heads, [Some("har:0/1"), Some("har:1/1"), Some("har:0/2")]);
}

#[test]
fn what_is_no_har() {
    assert_eq!(read(b"{\"log\": 5}", 3), (vec![], false));
    assert_eq!(read(b"{\"log\": {\"entries\": []}}", 3), (vec![], true));
    let (records, fine) =
        read(b"{\"log\":{\"entries\":[{\"request\":{},\"response\":{\"status\":0}},{\"req", 3);
    assert_eq!((records.last().map(String::as_str), fine), (Some("capture.cut note"), true));
    let (records, fine) = read(b"{\"log\":{\"entries\":[{]}}", 3);
    assert_eq!((records, fine), (vec!["capture.damaged error".to_owned()], true));
}
