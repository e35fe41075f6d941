//! The frame record as one line of JSON. docs/JSONL.md is its specification.
//! Never skips a key that is always there, never prints a byte that acts on a terminal.

use crate::base::json::{push_fields, push_key, push_list, push_number, push_optional, push_string};
use crate::base::secret::Rules;
use crate::base::{Finding, Space};
use crate::pdu::{Head, Role, Side, Start};

use super::redact::{header_value, host, url};
use super::{Carrier, IdValue, Ids, Item, pieces};

/// Appends the record of a frame and a newline.
///
/// Keys, in order: `frame`, `capture`, `ts`, `conn`, `stream`, `call`, `rpc`, `direction`, `protocol`,
/// `offset`, `kind`, `messageType`, `flags`, `length`, `compressed`, `endStream`, `ids`, `message`, `findings`
/// are always there; `at`, `jsonLength` (length of a JSON payload, whose `length` is that of the message in wire
/// format), `http` (first frame of a direction) and `carrier` where they say something.
pub fn write(item: &Item<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    members(item, true, out);
    out.extend_from_slice(b"}\n");
}

/// Appends the members of a frame's record, with or without its message.
pub(super) fn members(item: &Item<'_>, with_message: bool, out: &mut Vec<u8>) {
    let (frame, lane) = (item.frame, &item.frame.lane);
    out.reserve(512 + if with_message { item.decoded.message.len() } else { 0 });
    // Keys that are always there are written with the comma before them, in one piece.
    let comma: &[u8] = if matches!(out.last(), Some(b'{') | None) { b"" } else { b"," };
    out.extend_from_slice(comma);
    pieces::with(|pieces| {
        out.extend_from_slice(b"\"frame\":");
        push_number(out, item.number);
        out.extend_from_slice(b",\"capture\":");
        pieces.push_capture(out, item.capture);
        match frame.time {
            Some(time) => {
                out.extend_from_slice(b",\"ts\":\"");
                pieces.push_time(out, time);
                out.push(b'"');
            }
            None => out.extend_from_slice(b",\"ts\":null"),
        }
        pieces.push_lane(out, lane);
        out.extend_from_slice(b",\"offset\":");
        push_number(out, frame.offset);
        if let Some(at) = frame.at {
            out.extend_from_slice(b",\"at\":");
            push_number(out, at);
        }
        pieces.push_kind(out, item.decoded.kind.as_ref(), item.decoded.message_type.as_ref());
    });
    match frame.flags {
        Some(flags) => {
            let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
            out.extend_from_slice(b",\"flags\":\"0x");
            out.extend_from_slice(&[digit(flags >> 4), digit(flags & 0xf), b'"']);
        }
        None => out.extend_from_slice(b",\"flags\":null"),
    }
    out.extend_from_slice(b",\"length\":");
    push_number(out, item.decoded.wire_length.unwrap_or(frame.length));
    if item.decoded.wire_length.is_some() {
        out.extend_from_slice(b",\"jsonLength\":");
        push_number(out, frame.length);
    }
    out.extend_from_slice(b",\"compressed\":");
    push_bool(out, frame.compressed);
    out.extend_from_slice(b",\"endStream\":");
    push_bool(out, matches!(frame.role, Role::EndStream));
    out.extend_from_slice(b",\"ids\":");
    push_ids(out, &item.decoded.ids);
    if let Some(carrier) = &item.decoded.carrier {
        out.extend_from_slice(b",\"carrier\":");
        push_carrier(out, carrier);
    }
    let head = if lane.side == Side::Request { &lane.request } else { &lane.response };
    if let (0, Some(head)) = (frame.index, head) {
        out.extend_from_slice(b",\"http\":");
        push_http(out, head, item.hides());
    }
    if with_message {
        out.extend_from_slice(b",\"message\":");
        match item.decoded.message.as_slice() {
            b"" => out.extend_from_slice(b"null"),
            message => out.extend_from_slice(message),
        }
    }
    out.extend_from_slice(b",\"findings\":");
    push_list(out, &item.decoded.findings, push_finding);
}

fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(super) fn push_ids(out: &mut Vec<u8>, ids: &Ids) {
    out.push(b'{');
    for (namespace, values) in ids.iter() {
        push_key(out, namespace);
        match values.as_slice() {
            [one] => push_id(out, one),
            many => push_list(out, many, push_id),
        }
    }
    out.push(b'}');
}

pub(super) fn push_id(out: &mut Vec<u8>, value: &IdValue) {
    match value {
        IdValue::Str(text) => push_string(out, text),
        IdValue::Uint(number) => push_number(out, *number),
    }
}

/// What the outer message says itself, as members of an object.
pub fn push_outer(out: &mut Vec<u8>, carrier: &Carrier) {
    if let Some((field, order)) = &carrier.order {
        push_key(out, field);
        push_number(out, *order);
    }
    if let Some((namespace, id)) = &carrier.id {
        push_key(out, namespace);
        push_id(out, id);
    }
    if !carrier.other.is_empty() {
        push_key(out, "other");
        out.extend_from_slice(&carrier.other);
    }
}

fn push_carrier(out: &mut Vec<u8>, carrier: &Carrier) {
    out.push(b'{');
    pieces::with(|pieces| pieces.push_carrier(out, carrier));
    push_outer(out, carrier);
    if carrier.assumed {
        push_key(out, "assumed");
        push_bool(out, true);
    }
    out.push(b'}');
}

/// The head of a direction: `method`, `host`, `path` or `status`, `version`, and `headers` (a repeated
/// field is an array).
fn push_http(out: &mut Vec<u8>, head: &Head, secrets: Option<&Rules>) {
    out.push(b'{');
    match &head.start {
        Start::Request { method, scheme: _, authority, path } => {
            push_key(out, "method");
            push_optional(out, method.as_deref());
            push_key(out, "host");
            push_optional(out, authority.as_deref().map(|a| host(a, secrets.is_none())).as_deref());
            push_key(out, "path");
            push_optional(out, path.as_deref().map(|p| url(secrets, p)).as_deref());
        }
        Start::Response { status } => {
            push_key(out, "status");
            match status {
                Some(status) => push_number(out, *status),
                None => out.extend_from_slice(b"null"),
            }
        }
    }
    push_key(out, "version");
    push_string(out, head.version);
    push_key(out, "headers");
    let fields = head.headers.fields.iter().map(|header| (&*header.name, &*header.value));
    push_fields(out, fields, |out, name, value| push_string(out, &header_value(secrets, name, value)));
    if head.headers.lost > 0 {
        push_key(out, "lost");
        push_number(out, head.headers.lost);
    }
    out.push(b'}');
}

/// What an offset counts in, where it is not the body.
pub fn space_name(space: Space) -> Option<&'static str> {
    match space {
        Space::Body => None,
        Space::Input => Some("capture"),
        Space::Payload => Some("inflated"),
        Space::Nested => Some("carrier"),
    }
}

/// A finding as it stands in a record: `code`, `severity`, `path` and `offset` where it has a place,
/// `in` where the offset does not count in the body, `text`.
pub fn push_finding(out: &mut Vec<u8>, finding: &Finding) {
    out.push(b'{');
    push_key(out, "code");
    push_string(out, finding.code.name());
    push_key(out, "severity");
    push_string(out, finding.severity.name());
    if let Some(path) = &finding.path {
        push_key(out, "path");
        push_string(out, path);
    }
    if let Some(span) = finding.span {
        push_key(out, "offset");
        push_number(out, span.start);
        if let Some(space) = space_name(span.space) {
            push_key(out, "in");
            push_string(out, space);
        }
    }
    push_key(out, "text");
    push_string(out, &finding.text);
    out.push(b'}');
}
