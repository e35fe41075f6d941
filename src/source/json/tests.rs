use std::collections::VecDeque;

use bytes::Bytes;

use super::*;
use crate::base::Limits;
use crate::pdu::{End, HttpPart};
use crate::source::{ConnIds, Logged, LoggedBody, Record};

fn read(text: &str, size: usize) -> (Vec<Record>, bool) {
    let (mut out, limits, conns) = (VecDeque::new(), Limits::default(), ConnIds::default());
    let mut sink = Sink::new(&mut out, &limits, &conns);
    let mut reader = Reader::new(1 << 20);
    for chunk in text.as_bytes().chunks(size) {
        reader.push(&Bytes::copy_from_slice(chunk), &mut sink);
    }
    let fine = reader.finish(&mut sink).is_ok();
    (out.into(), fine)
}

/// The records, which are the same for any split; no prefix may panic.
fn records(text: &str) -> Vec<Record> {
    let (whole, fine) = read(text, text.len().max(1));
    assert!(fine, "{text}");
    for size in [1, 7] {
        assert_eq!(format!("{:?}", read(text, size).0), format!("{whole:?}"));
    }
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        read(text.get(..end).unwrap_or_default(), 64);
    }
    whole
}

fn logged(text: &str) -> Vec<Logged> {
    let logged = |record| match record {
        Record::Logged(logged) => Some(logged),
        _ => None,
    };
    records(text).into_iter().filter_map(logged).collect()
}

fn one(text: &str) -> Logged {
    let mut all = logged(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.pop().unwrap_or_default()
}

fn http(text: &str) -> Vec<String> {
    let shown = |record: &Record| match record {
        Record::Http(event) => Some(match &event.part {
            HttpPart::Head(head) => format!("{} head {}", event.side.name(), head.headers.fields.len()),
            HttpPart::Body(body) => format!("{} {body:?}", event.side.name()),
            HttpPart::End(End::NotCaptured { declared }) => {
                format!("{} missing {declared:?}", event.side.name())
            }
            part => format!("{} {part:?}", event.side.name()),
        }),
        _ => None,
    };
    records(text).iter().filter_map(shown).collect()
}

fn payload(bytes: &'static [u8]) -> LoggedBody {
    LoggedBody::Payload(Bytes::from_static(bytes))
}

fn json(text: &str) -> LoggedBody {
    LoggedBody::Json(text.into())
}

fn id(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

#[test]
fn payloads_and_fields() {
    let l = one(
        r#"{"ts":"2024-01-01T00:00:00Z","direction":"server_to_client","rpc":"a.B/C","request_id":"r","flags":2,"payload_hex":"7b7d"}"#,
    );
    assert_eq!(
        (l.rpc.as_deref(), l.side, l.flags, l.end_stream),
        (Some("a.B/C"), Some(Side::Response), Some(2), true)
    );
    assert_eq!((l.body, l.ids, l.at), (payload(b"{}"), vec![id("request_id", "r")], Some(0)));

    let l = one(
        r#"{"direction":"client_to_server","rpc":"a.B/C","data":"3a00","request_id":{"request_id":"r"},"seqno":1}"#,
    );
    assert_eq!(
        l.body,
        LoggedBody::Fields(r#"{"data":"3a00","request_id":{"request_id":"r"},"seqno":1}"#.into())
    );
    assert_eq!(l.ids, [id("request_id", "r")]);

    let l = one(
        r#"{"at":"2024-01-01T00:00:00Z","layer":"raw","direction":"client_to_backend","procedure":"/a.B/C","order_seqno":0,"data_hex":"3a00"}"#,
    );
    assert_eq!((l.rpc.as_deref(), l.ids), (Some("a.B/C"), vec![id("order_seqno", "0")]));
    assert_eq!(l.body, LoggedBody::Fields(r#"{"order_seqno":0,"data_hex":"3a00"}"#.into()));

    let l = one(r#"{"timestamp":1700000000.5,"endpoint":"https://h/a.B/C?x","raw_hex":"0A00"}"#);
    assert_eq!((l.body, l.time), (payload(b"\x0a\x00"), Timestamp::from_seconds(1_700_000_000.5)));
}

#[test]
fn own_records_and_frame_views() {
    let l = one(
        r#"{"frame":1,"conn":"tcp:2","stream":5,"call":4,"rpc":"a.B/C","direction":"response","kind":"x","messageType":"a.M","flags":"0x01","length":4,"compressed":true,"endStream":false,"ids":{"run_id":"9"},"carrier":{"order_seqno":7},"message":{"x":1}}"#,
    );
    assert_eq!(
        (l.stream, l.flags, l.length, l.message_type.as_deref()),
        (Some(5), Some(1), Some(4), Some("a.M"))
    );
    assert_eq!((l.body, l.conn.map(|c| c.label.clone())), (json(r#"{"x":1}"#), Some("tcp:2".into())));
    assert_eq!(l.ids, [id("run_id", "9"), id("order_seqno", "7")]);

    let l = one(
        r#"{"index":0,"flags":0,"length":2,"kind":"x","messageType":"a.M","json":"{\"x\":1}","rawHex":""}"#,
    );
    assert_eq!(l.body, payload(b""));
    let l = one(r#"{"flags":0,"length":9000,"messageType":"a.M","json":"{\"x\":1}","rawHex":"0a0..."}"#);
    assert_eq!((l.body, l.length), (json(r#"{"x":1}"#), Some(9000)));
    let l = one(r#"{"flags":0,"length":9000,"messageType":"a.M","rawHex":"0a0..."}"#);
    assert_eq!(l.body, payload(b"\x0a"));
    assert!(logged("{\"type\":\"finding\",\"code\":\"x\",\"rpc\":\"a.B/C\",\"message\":{}}").is_empty());
}

#[test]
fn bad_hex_is_told() {
    let records = records(r#"{"rpc":"a.B/C","direction":"response","payload_hex":"0g"}"#);
    let Some(Record::Finding(finding)) = records.first() else { panic!("{records:?}") };
    assert_eq!(finding.text, "payload_hex: not a hex digit: 'g' at position 2");
    assert!(matches!(records.get(1), Some(Record::Logged(l)) if l.body == LoggedBody::None));
}

#[test]
fn logs_of_decoded_messages() {
    let l = one(
        r#"{"at":"2024-01-01T00:00:00Z","layer":"x","client_kind":"k","message_case":"k","message":{"k":{}}}"#,
    );
    assert_eq!((l.side, l.body), (Some(Side::Request), json(r#"{"k":{}}"#)));
    let l = one(
        r#"{"at":"2024-01-01T00:00:00Z","layer":"x","event":"send_message","message_case":"k","message":{"k":{}}}"#,
    );
    assert_eq!((l.side, l.end_stream), (Some(Side::Response), false));
    let l = one(
        r#"{"at":"2024-01-01T00:00:00Z","layer":"x","event":"terminal","terminal_error_code":"canceled"}"#,
    );
    assert_eq!((l.end_stream, l.body), (true, json(r#"{"error":{"code":"canceled"}}"#)));
    assert!(logged(r#"{"at":"2024-01-01T00:00:00Z","layer":"x","event":"subscribe"}"#).is_empty());
}

#[test]
fn a_record_is_read_as_if_it_were_alone() {
    // Shapes are kept from record to record: each of these pairs must not be taken for one.
    let records = [
        "{\"a_b\":{}}",
        "{\"a_b\":{\"c\":{}}}",
        "{\"a_b\":5}",
        "{\"a_b\":{},\"c_d\":{}}",
        "{\"c_d\":{},\"a_b\":{}}",
        "{\"a_b\":{},\"c_d\":null}",
        "{\"a_b\":{},\"Cd\":{}}",
        "{\"a_b\":{},\"ids\":{\"e\":\"f\"}}",
        "{\"a_b\":{},\"ids\":{}}",
        "{\"a_b\":{},\"x_id\":{\"v\":\"1\"}}",
        "{\"a_b\":{},\"x_id\":{}}",
        "{\"a_b\":{},\"ts\":\"2024-01-01T00:00:00Z\"}",
        "{\"a_b\":{},\"ts\":{}}",
        "{\"a_b\":{},\"grpc_data\":{}}",
        "{\"a_b\":{},\"type\":\"x\"}",
        "{\"a_b\":{},\"message_type\":\"x\"}",
        "{\"a_b\":{},\"request\":{}}",
        "{\"a_b\":{\"x\":\"\\n\"}}",
    ];
    let given = |text: &str| {
        read(text, text.len()).0.into_iter().filter_map(|r| match r {
            Record::Logged(logged) => Some(logged),
            _ => None,
        })
    };
    for first in records {
        for second in records {
            let mut alone: Vec<Logged> = given(first).collect();
            let from = first.len() as u64;
            alone.extend(given(second).map(|l| Logged { at: l.at.map(|at| at + from), ..l }));
            let together: Vec<Logged> = given(&[first, second].concat()).collect();
            assert_eq!(together, alone, "{first}{second}");
        }
    }
}

#[test]
fn named_messages() {
    let l = one(
        "{\n \"open_request\": {\"data\": \"3a00\"},\n \"client_kind\": \"k\",\n \"client_message\": {\"k\": {}}\n}\n",
    );
    let named = |name: &str, json: &'static str| (name.into(), json.into());
    let expected = smallvec::smallvec![
        named("open_request", "{\"data\": \"3a00\"}"),
        named("client_message", "{\"k\": {}}")
    ];
    assert_eq!(l.body, LoggedBody::Named(expected));
    assert_eq!(logged("[{\"a_b\":{}},\n{\"a_b\":{}}]{\"c_d\":{}}").len(), 3);
}

#[test]
fn rows() {
    let rows = [
        r#"{"ts":"2024-01-01T00:00:00Z","session":"s","type":"request","method":"POST","url":"/a.B/C","headers":{"X-Request-Id":["r"],"Connect-Content-Encoding":["gzip"]}}"#,
        r#"{"session":"s","type":"grpc","direction":"C2S","url":"/a.B/C","grpc_service":"a.B","grpc_method":"C","grpc_data":"{\"x\":\"1\"}"}"#,
        r#"{"session":"s","type":"response","status":200}"#,
        r#"{"session":"s","type":"grpc","direction":"S2C","grpc_service":"a.B","grpc_method":"C","grpc_streaming":true,"error":"bad","size":2,"grpc_raw":"e30="}"#,
        r#"{"session":"s","type":"debug","error":"x"}"#,
    ];
    let all = logged(&rows.join("\n"));
    let got: Vec<_> = all.iter().map(|l| (l.body.clone(), l.end_stream, l.ids.clone())).collect();
    let ids = vec![id("session", "s"), id("request_id", "r")];
    assert_eq!(got, [(json(r#"{"x":"1"}"#), false, ids.clone()), (payload(b"{}"), true, ids)]);
    assert_eq!(all.first().and_then(|l| l.encoding.as_deref()), Some("gzip"));
    assert_eq!(all.first().and_then(|l| l.conn.clone()), all.get(1).and_then(|l| l.conn.clone()));

    let bodies = [
        r#"{"session":"s","type":"request","method":"POST","url":"/a.B/C","headers":{"a":["1"]}}"#,
        r#"{"session":"s","type":"body","direction":"C2S","body":"{}","body_encoding":"text"}"#,
        r#"{"session":"s","type":"response","status":200}"#,
        r#"{"session":"s","type":"body","direction":"S2C","body_base64":"AAE="}"#,
    ];
    let expected = [
        "request head 1",
        "request b\"{}\"",
        "request End(Complete)",
        "response head 0",
        "response b\"\\0\\x01\"",
        "response End(Complete)",
    ];
    assert_eq!(http(&bodies.join("\n")), expected);
}

#[test]
fn exchanges() {
    let text = r#"{"id":"1","method":"POST","url":"https://h/a.B/C","status":200,"startedAt":"2024-01-01T00:00:00Z","durationMs":5,"requestId":"r",
        "request":{"headers":[{"name":"a","value":"1"}],"size":2,"rawHex":"3a00"},
        "response":{"headers":[],"size":99,"rawHex":"00...","rawTruncated":true,"frames":[{"index":0,"flags":0,"length":2,"messageType":"a.M","rawHex":"0800"}]}}"#;
    assert_eq!(http(text), ["request head 1", "request b\":\\0\"", "request End(Complete)"]);
    let l = one(text);
    assert_eq!(
        (l.rpc.as_deref(), l.side, l.body),
        (Some("a.B/C"), Some(Side::Response), payload(b"\x08\x00"))
    );
    assert_eq!(l.ids, [id("request_id", "r")]);
    let text =
        r#"{"exchanges":[{"path":"/a.B/C","status":0,"error":"x","request":{"headers":[],"size":7}}]}"#;
    assert_eq!(http(text), ["request head 0", "request missing Some(7)", "response End(Closed)"]);
}

#[test]
fn proxied() {
    let text = r#"{"id":1,"conn_id":"c","method":"POST","path":"/a.B/C","request_headers":[["a","1"]],"request_body":{"content_type":"application/proto","size":2,"data":"OgA=","is_base64":true},
        "response_status":200,"response_headers":[],"response_body":{"size":9,"data":"x","is_base64":false,"truncated":true},"duration_ms":3}"#;
    let expected = [
        "request head 2",
        "request b\":\\0\"",
        "request End(Complete)",
        "response head 0",
        "response b\"x\"",
        "response missing Some(9)",
    ];
    assert_eq!(http(text), expected);
}

#[test]
fn other_protocols_are_refused() {
    let refused = |text: &str| assert!(!read(text, 5).1, "{text}");
    refused("{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"x\",\"model\":\"m\"}\n");
    refused("{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\"},\"session_id\":\"x\"}\n");
    refused("{\"type\":\"tool_call\",\"subtype\":\"started\",\"tool_call\":{},\"session_id\":\"x\"}\n");
    refused("oops");
    assert!(read("", 1).1 && read("[]", 1).1);
}

#[test]
fn broken_lines_are_findings() {
    let records = records("{\"a_b\":{}}\n{\"a_b\":{\n{\"a_b\":{}}\n");
    let kinds: Vec<_> = records.iter().map(|r| matches!(r, Record::Finding(_))).collect();
    assert_eq!(kinds, [false, true, false]);
}

#[test]
fn names() {
    assert_eq!(rpc_of("https://h:1/x/a.B/C?q").as_deref(), Some("a.B/C"));
    assert_eq!(rpc_of("a.B/C").as_deref(), Some("a.B/C"));
    assert_eq!(rpc_of("/ws"), None);
    assert_eq!(rpc_of("POST"), None);
    assert_eq!(snake("requestId"), "request_id");
}
