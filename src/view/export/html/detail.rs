//! One frame in full for the report: its record, its tree with the place of each field, its bytes.
//! Never holds a secret unless told to, in the tree or in the bytes; never more than the report's limits.

use std::ops::Range;

use crate::base::json::{push_key, push_number, push_string};
use crate::base::text::{clean, push_clean_bytes};
use crate::base::{Code, Limits};
use crate::message::json::open;
use crate::message::{Expand, JsonOptions, Node, NodeKind, Tree};
use crate::schema::{FieldPlan, Kind, Schema};
use crate::view::redact::REDACTED;
use crate::view::text::tree;
use crate::view::{Item, jsonl};

/// Fields of one message that the report shows.
const MAX_NODES: usize = 4_000;
/// Longest text of one value that the report shows, in bytes.
const MAX_VALUE: usize = 4_096;
/// Longest opened value that the report shows, in bytes.
const MAX_OPENED: usize = 64 << 10;

/// Appends a frame's record without its message: small, and kept of every frame.
pub fn record(item: &Item<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    jsonl::members(item, false, out);
    out.push(b'}');
}

/// Appends what a frame holds: `tree`, or `message` where it has none; `length` and the first bytes of the payload in
/// base64, with those of secrets as zeros and listed under `hidden`.
pub fn contents(item: &Item<'_>, schema: &Schema, limits: &Limits, out: &mut Vec<u8>) {
    let payload = &item.decoded.payload;
    let mut hidden = tree::secret_spans(item, schema);
    let redacts = item.decoded.findings.iter().any(|f| f.code == Code::SecretRedacted);
    // A secret that no field's own bytes show to be one, as in an encoding within an encoding.
    if redacts && hidden.is_empty() && !item.show_secrets {
        hidden.push(0..payload.len());
    }
    let blind = hidden.contains(&(0..payload.len()));
    out.push(b'{');
    let fields = tree::decoded(item, schema).filter(|_| !blind);
    match fields {
        Some(fields) => {
            push_key(out, "tree");
            nodes(item, schema, limits, &fields, out);
        }
        None if item.decoded.message.len() <= MAX_OPENED && !item.decoded.message.is_empty() => {
            push_key(out, "message");
            out.extend_from_slice(&item.decoded.message);
        }
        None => {}
    }
    push_key(out, "length");
    push_number(out, payload.len());
    push_key(out, "payload");
    out.push(b'"');
    let shown = payload.get(..limits.max_report_payload).unwrap_or(payload);
    let mut shown = shown.to_vec();
    for range in &hidden {
        let end = range.end.min(shown.len());
        if let Some(bytes) = shown.get_mut(range.start.min(end)..end) {
            bytes.fill(0);
        }
    }
    out.extend_from_slice(base64_simd::STANDARD.encode_to_string(&shown).as_bytes());
    out.push(b'"');
    if !hidden.is_empty() {
        push_key(out, "hidden");
        spans(&hidden, out);
    }
    out.push(b'}');
}

fn spans(spans: &[Range<usize>], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, span) in spans.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b",[" } else { b"[" });
        push_number(out, span.start);
        out.push(b',');
        push_number(out, span.end);
        out.push(b']');
    }
    out.push(b']');
}

/// Appends the fields, each as `[depth, name, type, number, value, remark, tag, start, end, opened]`.
fn nodes(item: &Item<'_>, schema: &Schema, limits: &Limits, fields: &Tree, out: &mut Vec<u8>) {
    let payload = &item.decoded.payload;
    let options = JsonOptions { expand: Expand::All, redact: !item.show_secrets, ..JsonOptions::new(limits) };
    let mut hidden_to = 0;
    let mut count = 0;
    out.push(b'[');
    for (at, node, parent) in fields.walk() {
        if at < hidden_to {
            continue;
        }
        let plan = fields.type_of(parent).map(|ty| schema.ty(ty));
        let field = plan.and_then(|plan| plan.field(node.field));
        let hide = !item.show_secrets && tree::hidden(schema, plan, node, payload);
        if hide {
            // What is in a secret is as secret.
            hidden_to = node.next;
        }
        out.extend_from_slice(if count > 0 { b",[" } else { b"[" });
        count += 1;
        push_number(out, node.depth);
        out.push(b',');
        match field {
            Some(field) => push_string(out, &field.name),
            None if node.kind == NodeKind::Rest => push_string(out, "(cannot be decoded)"),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b',');
        match field {
            Some(field) => push_string(out, &tree::type_name(schema, field)),
            None => push_string(out, node.wire.name()),
        }
        out.push(b',');
        push_number(out, node.number);
        out.push(b',');
        match hide {
            true => push_pair(out, REDACTED, None),
            false => value(schema, node, field, payload, out),
        }
        for place in [node.tag, node.start, node.end] {
            out.push(b',');
            push_number(out, place);
        }
        // Not where bytes were hidden for what no rule declares: what opens them could show it.
        let known = field.is_some_and(|f| f.annotation.nested.is_some() && !f.annotation.secret);
        if let Some(opened) = known.then(|| open(schema, fields, payload, at, &options)).flatten()
            && opened.len() <= MAX_OPENED
        {
            out.push(b',');
            out.extend_from_slice(&opened);
        }
        out.push(b']');
        if count >= MAX_NODES {
            break;
        }
    }
    out.push(b']');
}

/// Appends a value and its remark.
fn value(schema: &Schema, node: &Node, field: Option<&FieldPlan>, payload: &[u8], out: &mut Vec<u8>) {
    let bytes = node.bytes(payload);
    let is_text = node.kind == NodeKind::Text || field.is_some_and(|f| f.kind == Kind::String);
    let length = || Some(format!("{} bytes", bytes.len()));
    match node.kind {
        NodeKind::Message => push_pair(out, "", length()),
        NodeKind::Scalar => {
            let (text, remark) = tree::scalar(schema, node.bits, field);
            push_pair(out, &text, remark);
        }
        NodeKind::Text | NodeKind::Bytes if is_text => {
            let mut text = String::from("\"");
            // Lines are kept as such: the report wraps them.
            for (i, line) in bytes.get(..MAX_VALUE).unwrap_or(bytes).split(|b| *b == b'\n').enumerate() {
                if i > 0 {
                    text.push('\n');
                }
                push_clean_bytes(&mut text, line);
            }
            let cut = bytes.len() > MAX_VALUE;
            text.push_str(if cut { "…\"" } else { "\"" });
            push_pair(out, &text, length().filter(|_| cut));
        }
        NodeKind::Text | NodeKind::Bytes | NodeKind::Packed | NodeKind::Rest => {
            let shown = bytes.get(..MAX_VALUE / 64).unwrap_or(bytes);
            let more = if shown.len() < bytes.len() { "…" } else { "" };
            push_pair(out, &format!("{}{more}", crate::base::text::hex(shown)), length());
        }
    }
}

fn push_pair(out: &mut Vec<u8>, value: &str, remark: Option<String>) {
    push_string(out, value);
    out.push(b',');
    push_string(out, &remark.map(|r| clean(&r)).unwrap_or_default());
}
