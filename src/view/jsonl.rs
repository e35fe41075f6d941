//! The frame record as one line of JSON. docs/JSONL.md is its specification.
//! Never skips a key that is always there, never prints a byte that acts on a terminal.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::base::json::{push_key, push_number, push_optional, push_string};
use crate::base::secret::Rules;
use crate::base::{Finding, Space};
use crate::pdu::{Head, Role, Side, Start};

use super::redact::{header_value, host, url};
use super::{Carrier, Decoded, IdValue, Item};

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
    push_key(out, "frame");
    push_number(out, item.number);
    push_key(out, "capture");
    push_string(out, item.capture);
    push_key(out, "ts");
    push_optional(out, frame.time.map(|t| t.to_string()).as_deref());
    push_key(out, "conn");
    push_optional(out, lane.conn.as_ref().map(|c| c.label.as_str()));
    push_key(out, "stream");
    match lane.stream {
        Some(stream) => push_number(out, stream),
        None => out.extend_from_slice(b"null"),
    }
    push_key(out, "call");
    push_number(out, lane.call);
    push_key(out, "rpc");
    push_optional(out, lane.rpc.as_deref());
    push_key(out, "direction");
    push_string(out, lane.side.name());
    push_key(out, "protocol");
    push_string(out, lane.protocol.name());
    push_key(out, "offset");
    push_number(out, frame.offset);
    if let Some(at) = frame.at {
        push_key(out, "at");
        push_number(out, at);
    }
    push_key(out, "kind");
    push_optional(out, item.decoded.kind.as_deref());
    push_key(out, "messageType");
    push_optional(out, item.decoded.message_type.as_deref());
    push_key(out, "flags");
    match frame.flags {
        Some(flags) => out.extend_from_slice(format!("\"0x{flags:02x}\"").as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    push_key(out, "length");
    push_number(out, item.decoded.wire_length.unwrap_or(frame.length));
    if item.decoded.wire_length.is_some() {
        push_key(out, "jsonLength");
        push_number(out, frame.length);
    }
    push_key(out, "compressed");
    push_bool(out, frame.compressed);
    push_key(out, "endStream");
    push_bool(out, matches!(frame.role, Role::EndStream));
    push_key(out, "ids");
    push_ids(out, item.decoded);
    if let Some(carrier) = &item.decoded.carrier {
        push_key(out, "carrier");
        push_carrier(out, carrier);
    }
    let head = if lane.side == Side::Request { &lane.request } else { &lane.response };
    if let (0, Some(head)) = (frame.index, head) {
        push_key(out, "http");
        push_http(out, head, item.hides());
    }
    if with_message {
        push_key(out, "message");
        match item.decoded.message.as_slice() {
            b"" => out.extend_from_slice(b"null"),
            message => out.extend_from_slice(message),
        }
    }
    push_key(out, "findings");
    out.push(b'[');
    for (i, finding) in item.decoded.findings.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_finding(out, finding);
    }
    out.push(b']');
}

fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

fn push_ids(out: &mut Vec<u8>, decoded: &Decoded) {
    out.push(b'{');
    for (namespace, values) in &decoded.ids {
        push_key(out, namespace);
        match values.as_slice() {
            [one] => push_id(out, one),
            many => {
                out.push(b'[');
                for (i, value) in many.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    push_id(out, value);
                }
                out.push(b']');
            }
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

fn push_carrier(out: &mut Vec<u8>, carrier: &Carrier) {
    out.push(b'{');
    push_key(out, "messageType");
    push_string(out, &carrier.message_type);
    push_key(out, "field");
    push_string(out, &carrier.field);
    push_key(out, "encoding");
    push_string(out, carrier.encoding);
    for (name, value) in &carrier.members {
        push_key(out, name);
        out.extend_from_slice(value);
    }
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
    out.push(b'{');
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
    for header in &head.headers.fields {
        match places.entry(&header.name) {
            Entry::Occupied(place) => fields[*place.get()].1.push(&header.value),
            Entry::Vacant(place) => {
                place.insert(fields.len());
                fields.push((&header.name, vec![&header.value]));
            }
        }
    }
    for (i, (name, values)) in fields.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, name);
        out.push(b':');
        if let [one] = values.as_slice() {
            push_string(out, &header_value(secrets, name, one));
            continue;
        }
        out.push(b'[');
        for (k, value) in values.iter().enumerate() {
            if k > 0 {
                out.push(b',');
            }
            push_string(out, &header_value(secrets, name, value));
        }
        out.push(b']');
    }
    out.push(b'}');
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
