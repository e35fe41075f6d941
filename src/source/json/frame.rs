//! Records of one message or frame each: this tool's own, debuggers' frame views, logs with a
//! payload or with the fields of a request beside the name of the RPC.
//! Never guesses a type: it hands on what the record names.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::base::{Code, Finding, Severity, Space, Span};
use crate::pdu::{Headers, Side};
use crate::source::entry::{Conns, Sink};
use crate::source::{Logged, LoggedBody, Record, base64, hex};

use super::members::{Members, is_object};
use super::{Outcome, exchange, ids, rpc_of, session, side, text, time};

/// Members that say where a message was, not what it is.
const ABOUT: &[&str] = &[
    "ts",
    "at",
    "timestamp",
    "direction",
    "rpc",
    "procedure",
    "grpc_service",
    "layer",
    "schema_version",
    "conn",
    "stream",
    "call",
    "frame",
    "capture",
    "index",
    "protocol",
    "offset",
    "flags",
    "length",
    "compressed",
    "endStream",
    "kind",
    "messageType",
    "ids",
    "carrier",
    "findings",
];

/// Members that hold a payload in hex.
const HEX: &[&str] = &["payload_hex", "raw_hex", "rawHex", "payloadHex"];
/// Members that hold a payload in base64.
const BASE64: &[&str] = &["payload_base64", "raw_base64", "payload_b64", "grpc_raw", "rawBase64"];

pub(super) fn read(at: u64, m: &Members<'_>, conns: &mut Conns, sink: &mut Sink<'_>) -> Outcome {
    if let Some(skipped) = other_record(m) {
        return skipped;
    }
    let mut logged = logged(m);
    let named = logged.rpc.is_some() || logged.message_type.is_some();
    let framed = m.has("flags") || m.has("message_case") || m.has("frame");
    match logged.body {
        LoggedBody::Payload(_) => {}
        LoggedBody::Json(_) if named || framed => {}
        LoggedBody::None | LoggedBody::Fields(_) if named && (m.has("direction") || framed) => {}
        _ => return log_event(at, m, conns, sink),
    }
    if let Some((name, misfit)) = bad_payload(m) {
        let text = format!("{name}: {} at position {}", misfit.what, misfit.position);
        let finding = Finding::new(Code::CaptureDamaged, text).severity(Severity::Error);
        sink.find(finding.at(Span::new(Space::Input, at, at)));
    }
    logged.at = Some(at);
    logged.conn = m.first_text(&["conn", "session"]).map(|name| session(&name, conns, sink));
    sink.out.push_back(Record::Logged(logged));
    Outcome::Read
}

/// What a record says of one message.
pub(super) fn logged(m: &Members<'_>) -> Logged {
    let kind = m.text("kind");
    let flags = m.number("flags").and_then(|flags| u8::try_from(flags).ok());
    let ended = kind.as_deref().is_some_and(|kind| matches!(kind, "end_stream" | "trailers" | "error"));
    let stream = m.number("stream").or_else(|| m.number("call")).and_then(|n| u32::try_from(n).ok());
    let rpc = ["rpc", "procedure", "method", "endpoint", "path", "url"]
        .iter()
        .find_map(|name| m.text(name).and_then(|text| rpc_of(&text)))
        .or_else(|| Some(format!("{}/{}", m.text("grpc_service")?, m.text("grpc_method")?).into()));
    let mut logged = Logged {
        stream,
        time: time(m),
        rpc,
        side: m.text("direction").and_then(|text| side(&text)).or_else(|| implied_side(m)),
        message_type: m.text("messageType").or_else(|| m.text("message_type")).map(Into::into),
        flags,
        length: m.size("length"),
        encoding: m.text("encoding").map(|name| name.to_ascii_lowercase()),
        end_stream: m.flag("endStream").unwrap_or(false) || ended || flags.is_some_and(|f| f & 0x02 != 0),
        ids: ids(m),
        ..Logged::default()
    };
    logged.body = body(m, &logged);
    logged
}

/// A payload before decoded JSON: bytes can be decoded again. One that the log cut loses to JSON.
fn body(m: &Members<'_>, logged: &Logged) -> LoggedBody {
    let json = ["message", "json", "grpc_data"].iter().find_map(|name| {
        let raw = m.get(name)?;
        if is_object(raw) {
            return Some(raw.to_owned());
        }
        text::string(raw).filter(|text| text.trim_start().starts_with('{')).map(|text| text.into_owned())
    });
    let hex_text = HEX.iter().find_map(|name| m.text(name));
    if let Some(text) = hex_text {
        let cut = text.ends_with("...");
        return match (cut, json, hex::digits(&text)) {
            (true, Some(json), _) => LoggedBody::Json(json),
            (true, None, _) => LoggedBody::Payload(exchange::even_hex(text.trim_end_matches('.')).into()),
            (false, _, _) if text.trim().is_empty() => LoggedBody::Payload(Bytes::new()),
            (false, _, Ok(bytes)) => LoggedBody::Payload(bytes.into()),
            (false, Some(json), Err(_)) => LoggedBody::Json(json),
            (false, None, Err(_)) => LoggedBody::None,
        };
    }
    if let Some(text) = BASE64.iter().find_map(|name| m.text(name)) {
        return match (base64::decode(text.as_bytes()), json) {
            (Ok(bytes), _) => LoggedBody::Payload(bytes.into()),
            (Err(_), Some(json)) => LoggedBody::Json(json),
            (Err(_), None) => LoggedBody::None,
        };
    }
    if let Some(json) = json {
        return LoggedBody::Json(json);
    }
    let has_fields = m.0.iter().any(|(name, _)| !ABOUT.contains(&&**name));
    if logged.rpc.is_some() && logged.side == Some(Side::Request) && !m.has("flags") && has_fields {
        return LoggedBody::Fields(fields(m));
    }
    LoggedBody::None
}

/// The record without the members that say where the message was.
fn fields(m: &Members<'_>) -> String {
    let mut out = String::from("{");
    for (name, raw) in m.0.iter().filter(|(name, _)| !ABOUT.contains(&&**name)) {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(&**name).to_string());
        out.push(':');
        out.push_str(raw);
    }
    out.push('}');
    out
}

/// The first payload member that is not in its encoding.
fn bad_payload(m: &Members<'_>) -> Option<(&'static str, hex::Misfit)> {
    let hex = HEX.iter().find_map(|name| Some((*name, m.text(name)?)));
    if let Some((name, text)) = hex.filter(|(_, text)| !text.ends_with("...") && !text.trim().is_empty()) {
        return hex::digits(&text).err().map(|misfit| (name, misfit));
    }
    let (name, text) = BASE64.iter().find_map(|name| Some((*name, m.text(name)?)))?;
    base64::decode(text.as_bytes()).err().map(|misfit| (name, misfit))
}

/// The side of a record without a direction.
fn implied_side(m: &Members<'_>) -> Option<Side> {
    match m.text("event").as_deref() {
        Some("send_message" | "send_error" | "terminal") => Some(Side::Response),
        _ if m.has("client_kind") => Some(Side::Request),
        _ => None,
    }
}

/// The message encoding that headers declare.
pub(super) fn encoding(headers: &Headers) -> Option<String> {
    let name = headers.get("connect-content-encoding").or_else(|| headers.get("grpc-encoding"))?;
    Some(name.to_ascii_lowercase()).filter(|name| name != "identity")
}

/// This tool's records that are no frames.
fn other_record(m: &Members<'_>) -> Option<Outcome> {
    match m.text("type").as_deref() {
        Some("exchange" | "link" | "finding" | "outcome" | "summary" | "blob")
            if m.has("code") || m.has("id") || m.has("request_id") || m.has("ids") || m.has("frames") =>
        {
            Some(Outcome::Skipped("records of this tool that are no frames"))
        }
        _ => None,
    }
}

/// Rows of a log about its own work: the end of a stream is kept, the rest counted. What is no
/// such row may be members named after message types.
fn log_event(at: u64, m: &Members<'_>, conns: &mut Conns, sink: &mut Sink<'_>) -> Outcome {
    let is_log =
        (m.has("layer") || m.has("event")) && (m.has("at") || m.has("ts") || m.has("schema_version"));
    if !is_log {
        return named(at, m, sink);
    }
    let code = m.text("terminal_error_code");
    let message = m.first_text(&["terminal_error_message", "error"]);
    let ends = matches!(m.text("event").as_deref(), Some("send_error" | "terminal"));
    if !ends || (code.is_none() && message.is_none()) {
        return Outcome::Skipped("rows of a log");
    }
    let mut error = serde_json::Map::new();
    for (name, value) in [("code", code), ("message", message)] {
        if let Some(value) = value {
            error.insert(name.into(), value.into_owned().into());
        }
    }
    let json = serde_json::json!({ "error": error }).to_string();
    sink.out.push_back(Record::Logged(Logged {
        conn: m.text("session").map(|name| session(&name, conns, sink)),
        time: time(m),
        at: Some(at),
        side: Some(Side::Response),
        end_stream: true,
        body: LoggedBody::Json(json),
        ids: ids(m),
        ..Logged::default()
    }));
    Outcome::Read
}

/// An object whose members are messages under the snake_case names of their types. One word
/// alone is too common a name, and `type` marks an event of some other log.
fn named(at: u64, m: &Members<'_>, sink: &mut Sink<'_>) -> Outcome {
    let is_name = |name: &str| {
        name.contains('_') && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let messages: SmallVec<[(Arc<str>, Bytes); 1]> =
        m.0.iter()
            .filter(|(name, raw)| is_name(name) && is_object(raw))
            .map(|(name, raw)| (Arc::from(&**name), sink.part(raw)))
            .collect();
    if messages.is_empty() || m.has("type") {
        return Outcome::Unknown;
    }
    sink.out.push_back(Record::Logged(Logged {
        time: time(m),
        at: Some(at),
        body: LoggedBody::Named(messages),
        ids: ids(m),
        ..Logged::default()
    }));
    Outcome::Read
}
