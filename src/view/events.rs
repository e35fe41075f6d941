//! What correlation found, as one line of JSON each: `type` first.
//! Never refers forward: a line says only what is known by then.

use crate::base::Finding;
use crate::base::json::{push_key, push_list, push_number, push_optional, push_string};
use crate::dialect::Plan;
use crate::schema::Schema;
use crate::session::{Blob, Blobs, Event, Id, IdValue, Link, Notice, Outcome, RunText, hex};

use super::jsonl::push_id;
use super::{Item, jsonl};

/// Appends a frame's record, with or without its message: `type` is `frame`.
pub fn frame(item: &Item<'_>, message: bool, out: &mut Vec<u8>) {
    begin(out, "frame");
    jsonl::members(item, message, out);
    out.extend_from_slice(b"}\n");
}

/// Appends an event; the text of a run is left to [`text`].
pub fn event(plan: &Plan, event: &Event, out: &mut Vec<u8>) {
    match event {
        Event::Link(found) => link(plan, found, out),
        Event::Finding(found) => notice(plan, found, out),
        Event::Outcome(found) => outcome(plan, found, out),
        Event::Text(_) => {}
    }
}

pub(super) fn begin(out: &mut Vec<u8>, name: &str) {
    out.push(b'{');
    push_key(out, "type");
    push_string(out, name);
}

pub(super) fn push_value(out: &mut Vec<u8>, value: Option<&IdValue>) {
    match value {
        Some(value) => push_id(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// A number of milliseconds or tokens: whole where it is.
pub(super) fn push_float(out: &mut Vec<u8>, value: Option<f64>) {
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => push_number(out, value as i64),
        Some(value) if value.is_finite() => {
            out.extend_from_slice(ryu::Buffer::new().format(value).as_bytes())
        }
        _ => out.extend_from_slice(b"null"),
    }
}

fn push_frames(out: &mut Vec<u8>, frames: &[u64]) {
    push_list(out, frames, |out, frame| push_number(out, *frame));
}

/// Appends what was opened and by which frame, as it stands in every record about it.
pub(super) fn push_opening(plan: &Plan, link: &Link, out: &mut Vec<u8>) {
    push_key(out, "pair");
    push_string(out, plan.lifelines.get(usize::from(link.lifeline)).map_or("", |l| &l.name));
    push_key(out, "id");
    push_value(out, link.id.as_ref());
    push_key(out, "what");
    push_string(out, &link.what);
    push_key(out, "request");
    match link.request {
        Some(frame) => push_number(out, frame),
        None => out.extend_from_slice(b"null"),
    }
}

fn link(plan: &Plan, link: &Link, out: &mut Vec<u8>) {
    begin(out, "link");
    push_opening(plan, link, out);
    push_key(out, "responses");
    push_frames(out, &link.responses);
    push_key(out, "latency_ms");
    push_float(out, link.latency_ms());
    push_key(out, "state");
    push_string(out, link.state.name());
    push_key(out, "request_id");
    push_value(out, link.run.as_ref());
    if !link.brought.is_empty() {
        push_key(out, "brought");
        out.push(b'{');
        for (field, count) in &link.brought {
            push_key(out, field);
            push_number(out, *count);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"}\n");
}

fn notice(plan: &Plan, notice: &Notice, out: &mut Vec<u8>) {
    finding(plan, &notice.finding, &notice.frames, notice.run.as_ref(), &notice.ids, out);
}

/// Appends a finding as a line of its own: `code`, `severity`, `text`, `frames`, `path`, `offset`, `request_id`, `ids`.
pub fn finding(
    plan: &Plan,
    finding: &Finding,
    frames: &[u64],
    run: Option<&IdValue>,
    ids: &[Id],
    out: &mut Vec<u8>,
) {
    begin(out, "finding");
    push_key(out, "code");
    push_string(out, finding.code.name());
    push_key(out, "severity");
    push_string(out, finding.severity.name());
    push_key(out, "text");
    push_string(out, &finding.text);
    push_key(out, "frames");
    push_frames(out, frames);
    push_key(out, "path");
    push_optional(out, finding.path.as_deref());
    push_key(out, "offset");
    match finding.span {
        Some(span) => push_number(out, span.start),
        None => out.extend_from_slice(b"null"),
    }
    push_key(out, "request_id");
    push_value(out, run);
    push_key(out, "ids");
    push_ids(plan, ids, out);
    out.extend_from_slice(b"}\n");
}

fn push_ids(plan: &Plan, ids: &[Id], out: &mut Vec<u8>) {
    out.push(b'{');
    for (namespace, value) in ids {
        if let Some(namespace) = plan.namespaces.get(usize::from(*namespace)) {
            push_key(out, &namespace.key);
            push_id(out, value);
        }
    }
    out.push(b'}');
}

fn outcome(plan: &Plan, outcome: &Outcome, out: &mut Vec<u8>) {
    begin(out, "outcome");
    push_key(out, "request_id");
    push_value(out, outcome.run.as_ref());
    push_key(out, "conversation_id");
    push_value(out, outcome.conversation.as_ref());
    push_key(out, "ending");
    push_string(out, outcome.ending.name());
    push_key(out, "reason");
    push_optional(out, outcome.reason.as_deref());
    push_key(out, "tokens");
    out.push(b'{');
    for (measure, value) in &outcome.tokens {
        if let Some(measure) = plan.measures.get(usize::from(*measure)) {
            push_key(out, &measure.name);
            push_float(out, Some(*value));
        }
    }
    out.push(b'}');
    push_key(out, "ttft_ms");
    push_float(out, outcome.ttft_ms);
    push_key(out, "duration_ms");
    push_float(out, outcome.duration_ms);
    push_key(out, "frames");
    push_frames(out, &[outcome.frames.0, outcome.frames.1]);
    push_key(out, "ids");
    push_ids(plan, &outcome.ids, out);
    out.extend_from_slice(b"}\n");
}

/// Appends what a run said on one stream; `text` as it may be shown.
pub fn text(said: &RunText, text: &str, out: &mut Vec<u8>) {
    begin(out, "text");
    push_key(out, "request_id");
    push_value(out, said.run.as_ref());
    push_key(out, "stream");
    push_string(out, &said.stream);
    push_key(out, "text");
    push_string(out, text);
    out.extend_from_slice(b"}\n");
}

/// Appends a blob's line.
pub fn blob(schema: &Schema, blobs: &Blobs, blob: &Blob, out: &mut Vec<u8>) {
    begin(out, "blob");
    push_key(out, "id");
    push_string(out, &hex(&blob.id));
    push_key(out, "length");
    push_number(out, blob.length);
    push_key(out, "content");
    push_optional(out, blobs.content(schema, &blob.id).as_deref());
    push_key(out, "sha256_ok");
    out.extend_from_slice(match blob.sha256_ok {
        Some(true) => b"true",
        Some(false) => b"false",
        None => b"null",
    });
    push_key(out, "frames");
    push_frames(out, &blob.frames);
    push_key(out, "from");
    push_string(out, &blob.from);
    out.extend_from_slice(b"}\n");
}
