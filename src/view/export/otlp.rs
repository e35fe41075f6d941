//! Spans as OpenTelemetry's JSON (OTLP 1.x, an ExportTraceServiceRequest), as Jaeger, Tempo and collectors take them.
//! Never gives two spans of a trace one id.
//!
//! A run is a span, within it its stages and waits; a call that belongs to no run is a span of its own. Ids are those of
//! the capture where it has them (W3C trace context, or ids that a dialect names `trace_id` and `span_id`), else they are
//! hashes of what they stand for: the same capture gives the same ids.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::base::json::{push_key, push_number, push_string};
use crate::base::text::{clean, hex};
use crate::base::{Finding, Severity, Timestamp};
use crate::pdu::{Protocol, Side};
use crate::session::{EndingKind, LinkState, Outcome};
use crate::view::events::push_float;

use super::{Frame, Run, Story, TraceContext, Wait};

/// Span.SpanKind.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// Status.StatusCode.
const OK: u8 = 1;
const ERROR: u8 = 2;

/// Writes the request; how many spans it holds.
pub fn write(story: &Story<'_>, out: &mut dyn Write) -> io::Result<usize> {
    let mut contexts = HashMap::new();
    for frame in story.frames {
        let run = frame.stage.and_then(|s| story.run_of(s));
        if let Some((run, context)) = run.zip(frame.context.as_ref()) {
            contexts.entry(run).or_insert(context);
        }
    }
    let events = events(story);
    let mut spans = Spans { contexts, events, ..Spans::default() };
    let mut head = b"{\"resourceSpans\":[{\"resource\":{\"attributes\":[".to_vec();
    attribute(&mut head, "service.name", Value::Text("rpcshark"));
    for capture in story.captures.iter().take(16) {
        attribute(&mut head, "rpcshark.capture", Value::Text(capture));
    }
    head.extend_from_slice(b"]},\"scopeSpans\":[{\"scope\":{\"name\":\"rpcshark\",\"version\":");
    push_string(&mut head, env!("CARGO_PKG_VERSION"));
    head.extend_from_slice(b"},\"spans\":[");
    let runs = story.runs();
    let mut roots: HashMap<u32, (String, String)> = HashMap::new();
    for run in &runs {
        let around = story.run_around(run.is).and_then(|r| roots.get(&r).cloned());
        let root = spans.run(story, run, around);
        roots.insert(run.stage, root);
    }
    spans.calls(story);
    out.write_all(&head)?;
    out.write_all(&spans.json)?;
    out.write_all(b"\n]}]}]}\n")?;
    Ok(spans.count)
}

enum Value<'a> {
    Text(&'a str),
    Number(u64),
    Float(f64),
}

/// Appends an attribute (common.proto: KeyValue).
fn attribute(out: &mut Vec<u8>, key: &str, value: Value<'_>) {
    if !matches!(out.last(), Some(b'[')) {
        out.push(b',');
    }
    out.push(b'{');
    push_key(out, "key");
    push_string(out, key);
    push_key(out, "value");
    out.push(b'{');
    match value {
        Value::Text(text) => {
            push_key(out, "stringValue");
            push_string(out, &clean(text));
        }
        Value::Number(number) => {
            push_key(out, "intValue");
            push_string(out, &number.to_string());
        }
        Value::Float(number) if number.fract() == 0.0 && (0.0..9e15).contains(&number) => {
            push_key(out, "intValue");
            push_string(out, &(number as u64).to_string());
        }
        Value::Float(number) => {
            push_key(out, "doubleValue");
            push_float(out, Some(number));
        }
    }
    out.extend_from_slice(b"}}");
}

/// The first hex digits of a hash.
fn hashed(parts: &[&str], digits: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut id = hex(&hash.finalize());
    id.truncate(digits);
    id
}

/// One span, without its id.
struct Span<'a> {
    trace: &'a str,
    id: String,
    parent: Option<&'a str>,
    name: String,
    kind: u8,
    from: Timestamp,
    until: Timestamp,
    status: Option<(u8, String)>,
    attributes: Vec<u8>,
    events: Vec<u8>,
}

#[derive(Default)]
struct Spans<'a> {
    /// By run, the first trace context in it.
    contexts: HashMap<u32, &'a TraceContext>,
    /// By stage, its events.
    events: HashMap<u32, Vec<u8>>,
    /// Ids that are given, by trace.
    taken: HashSet<(String, String)>,
    json: Vec<u8>,
    count: usize,
}

impl Spans<'_> {
    /// An id for a span: the wanted one, or a hash, whichever is free.
    fn id(&mut self, trace: &str, wanted: Option<&str>, parts: &[&str]) -> String {
        if let Some(id) = wanted
            && self.taken.insert((trace.to_owned(), id.to_owned()))
        {
            return id.to_owned();
        }
        let mut turn = 0u32;
        loop {
            let id = hashed(&[parts, &[trace, &turn.to_string()]].concat(), 16);
            if self.taken.insert((trace.to_owned(), id.clone())) {
                return id;
            }
            turn += 1;
        }
    }

    fn push(&mut self, span: &Span<'_>) {
        let out = &mut self.json;
        out.extend_from_slice(if self.count > 0 { b",\n{" } else { b"\n{" });
        self.count += 1;
        push_key(out, "traceId");
        push_string(out, span.trace);
        push_key(out, "spanId");
        push_string(out, &span.id);
        if let Some(parent) = span.parent {
            push_key(out, "parentSpanId");
            push_string(out, parent);
        }
        push_key(out, "name");
        push_string(out, &clean(&span.name));
        push_key(out, "kind");
        push_number(out, span.kind);
        // Where a body has one time for all of it, an answer can come before what it answers.
        let until = span.until.max(span.from);
        for (key, time) in [("startTimeUnixNano", span.from), ("endTimeUnixNano", until)] {
            push_key(out, key);
            push_string(out, &time.0.max(0).to_string());
        }
        for (key, list) in [("attributes", &span.attributes), ("events", &span.events)] {
            if !list.is_empty() {
                push_key(out, key);
                out.extend_from_slice(list);
                out.push(b']');
            }
        }
        if let Some((code, message)) = &span.status {
            push_key(out, "status");
            out.push(b'{');
            push_key(out, "code");
            push_number(out, *code);
            if !message.is_empty() {
                push_key(out, "message");
                push_string(out, &clean(message));
            }
            out.push(b'}');
        }
        out.push(b'}');
    }

    /// A run with its stages and waits; its trace and its span.
    fn run(
        &mut self,
        story: &Story<'_>,
        run: &Run<'_>,
        around: Option<(String, String)>,
    ) -> (String, String) {
        let id = run.is.id.as_ref().map(|id| id.to_string()).unwrap_or_default();
        let trace = match (self.contexts.get(&run.stage), &around) {
            (Some(context), _) => context.trace.clone(),
            (None, Some((trace, _))) => trace.clone(),
            (None, None) => hashed(&["trace", &id], 32),
        };
        let parent = around.filter(|(other, _)| *other == trace).map(|(_, span)| span);
        let root = self.id(&trace, None, &["run", &id]);
        let mut spans: HashMap<u32, String> = HashMap::from([(run.stage, root.clone())]);
        if let Some((from, until)) = run.is.first.time.zip(run.is.last.time) {
            let mut attributes = vec![b'['];
            attribute(&mut attributes, "rpcshark.run", Value::Text(&id));
            if let Some(around) = run.around.and_then(|s| s.id.as_ref()) {
                attribute(&mut attributes, "rpcshark.conversation", Value::Text(&around.to_string()));
            }
            let mut status = None;
            if let Some(outcome) = run.outcome {
                status = outcome_of(story, outcome, &mut attributes);
            }
            let events = self.events.remove(&run.stage).unwrap_or_default();
            let name = story.level(run.is).to_owned();
            let (trace, parent, id) = (trace.as_str(), parent.as_deref(), root.clone());
            let kind = CLIENT;
            self.push(&Span { trace, id, parent, name, kind, from, until, status, attributes, events });
        }
        for (number, _, stage) in &run.stages {
            let last = stage.closed.unwrap_or(stage.last);
            let Some((from, until)) = stage.first.time.zip(last.time) else { continue };
            let level = story.level(stage);
            let stage_id = stage.id.as_ref().map(|id| id.to_string()).unwrap_or_default();
            let place = stage.first.frame.to_string();
            let span = self.id(&trace, None, &["stage", level, &id, &stage_id, &place]);
            let parent = stage.parent.and_then(|p| spans.get(&p)).unwrap_or(&root).clone();
            let mut attributes = vec![b'['];
            if !stage_id.is_empty() {
                attribute(&mut attributes, &format!("rpcshark.{level}"), Value::Text(&stage_id));
            }
            let title = story.title(stage);
            if let Some(title) = title {
                attribute(&mut attributes, "rpcshark.title", Value::Text(title));
            }
            attribute(&mut attributes, "rpcshark.frame", Value::Number(stage.first.frame));
            measures(story, &stage.measures, &mut attributes);
            let name = match title.filter(|_| stage.title.is_none()) {
                Some(title) => format!("{level} {title}"),
                None => level.to_owned(),
            };
            spans.insert(*number, span.clone());
            let (trace, parent, kind) = (trace.as_str(), Some(parent.as_str()), INTERNAL);
            let (status, events, id) = (None, self.events.remove(number).unwrap_or_default(), span);
            self.push(&Span { trace, id, parent, name, kind, from, until, status, attributes, events });
        }
        for wait in &run.waits {
            self.wait(story, wait, &trace, &spans, &root);
        }
        (trace, root)
    }

    fn wait(
        &mut self,
        story: &Story<'_>,
        wait: &Wait<'_>,
        trace: &str,
        spans: &HashMap<u32, String>,
        root: &str,
    ) {
        let link = wait.link;
        let Some(asked) = wait.asked else { return };
        let until = wait.over.or(Some(asked)).and_then(|f| f.time);
        let Some((from, until)) = asked.time.zip(until) else { return };
        let name = story.plan.lifelines.get(usize::from(link.lifeline)).map_or("", |l| &l.name);
        let context = asked.context.as_ref().filter(|c| c.trace == *trace);
        let place = asked.number.to_string();
        let id = self.id(trace, context.and_then(|c| c.parent.as_deref()), &["wait", name, &place]);
        let parent = link.stage.and_then(|s| spans.get(&s)).map_or(root, String::as_str);
        let mut attributes = vec![b'['];
        attribute(&mut attributes, "rpcshark.pair", Value::Text(name));
        if let Some(id) = &link.id {
            attribute(&mut attributes, "rpcshark.id", Value::Text(&id.to_string()));
        }
        attribute(&mut attributes, "rpcshark.state", Value::Text(link.state.name()));
        attribute(&mut attributes, "rpcshark.frame", Value::Number(asked.number));
        if let Some(ms) = link.latency_ms() {
            attribute(&mut attributes, "rpcshark.first_answer_ms", Value::Float(ms));
        }
        let status =
            (link.state != LinkState::Answered).then(|| (ERROR, format!("{name} {}", link.state.name())));
        let (name, parent, kind, events) = (link.what.clone(), Some(parent), CLIENT, Vec::new());
        self.push(&Span { trace, id, parent, name, kind, from, until, status, attributes, events });
    }

    /// Calls of which no frame belongs to a run, and that do not only carry.
    fn calls(&mut self, story: &Story<'_>) {
        let mut calls: BTreeMap<u64, Vec<&Frame>> = BTreeMap::new();
        for frame in story.frames {
            calls.entry(frame.call).or_default().push(frame);
        }
        for (call, frames) in calls {
            let times = || frames.iter().filter_map(|f| f.time);
            let Some((from, until)) = times().min().zip(times().max()) else { continue };
            if frames.iter().any(|f| f.stage.is_some()) {
                continue;
            }
            let rpc = frames.iter().find_map(|f| f.rpc.as_deref()).unwrap_or_default();
            let context = frames.iter().find_map(|f| f.context.as_ref());
            let number = call.to_string();
            let hash = || hashed(&["call", rpc, &number, &from.to_string()], 32);
            let trace = context.map_or_else(hash, |c| c.trace.clone());
            let id = self.id(&trace, None, &["call", rpc, &number]);
            let mut attributes = vec![b'['];
            let system = match frames.first().map(|f| f.protocol) {
                Some(Protocol::Grpc | Protocol::GrpcWeb | Protocol::GrpcWebText) => "grpc",
                _ => "connect_rpc",
            };
            attribute(&mut attributes, "rpc.system", Value::Text(system));
            if let Some((service, method)) = rpc.rsplit_once('/') {
                attribute(&mut attributes, "rpc.service", Value::Text(service));
                attribute(&mut attributes, "rpc.method", Value::Text(method));
            }
            for (key, side) in [("sent", Side::Request), ("received", Side::Response)] {
                let bytes = frames.iter().filter(|f| f.side == side).map(|f| f.wire).sum();
                attribute(&mut attributes, &format!("rpcshark.bytes_{key}"), Value::Number(bytes));
            }
            let failed = frames.iter().any(|f| f.kind.as_deref() == Some("error"));
            let status = failed.then(|| (ERROR, frames.last().map_or("", |f| &f.label.says).to_owned()));
            let mut events = Vec::new();
            for frame in &frames {
                frame.findings.iter().for_each(|f| event(&mut events, frame, f));
            }
            let name = if rpc.is_empty() { "call".to_owned() } else { rpc.to_owned() };
            let (trace, kind, parent) = (trace.as_str(), CLIENT, context.and_then(|c| c.parent.as_deref()));
            self.push(&Span { trace, id, parent, name, kind, from, until, status, attributes, events });
        }
    }
}

fn outcome_of(story: &Story<'_>, outcome: &Outcome, attributes: &mut Vec<u8>) -> Option<(u8, String)> {
    attribute(attributes, "rpcshark.ending", Value::Text(outcome.ending.name()));
    measures(story, &outcome.tokens, attributes);
    if let Some(ms) = outcome.ttft_ms {
        attribute(attributes, "rpcshark.ttft_ms", Value::Float(ms));
    }
    let reason = || outcome.reason.clone().unwrap_or_else(|| outcome.ending.name().to_owned());
    match outcome.ending {
        EndingKind::Completed => Some((OK, String::new())),
        EndingKind::Error | EndingKind::CutOff | EndingKind::Unfinished => Some((ERROR, reason())),
        EndingKind::Canceled | EndingKind::Open => None,
    }
}

fn measures(story: &Story<'_>, list: &[(u16, f64)], attributes: &mut Vec<u8>) {
    for (number, value) in list {
        if let Some(measure) = story.plan.measures.get(usize::from(*number)) {
            attribute(attributes, &format!("rpcshark.{}", measure.name), Value::Float(*value));
        }
    }
}

/// By stage, what is wrong or odd in it, as events.
fn events(story: &Story<'_>) -> HashMap<u32, Vec<u8>> {
    let of_frames =
        story.frames.iter().flat_map(|f| f.findings.iter().map(move |finding| (Some(f), finding)));
    let of_runs = story.model.notices.iter().map(|n| (story.about(n), &n.finding));
    let mut out: HashMap<u32, Vec<u8>> = HashMap::new();
    for (frame, finding) in of_frames.chain(of_runs) {
        if let Some((frame, stage)) = frame.and_then(|f| Some((f, f.stage?))) {
            event(out.entry(stage).or_default(), frame, finding);
        }
    }
    out
}

/// Appends an event (trace.proto: Span.Event).
fn event(out: &mut Vec<u8>, frame: &Frame, finding: &Finding) {
    let Some(time) = frame.time.filter(|_| finding.severity > Severity::Note) else { return };
    out.extend_from_slice(if out.is_empty() { b"[{" } else { b",{" });
    push_key(out, "timeUnixNano");
    push_string(out, &time.0.max(0).to_string());
    push_key(out, "name");
    push_string(out, finding.code.name());
    push_key(out, "attributes");
    out.push(b'[');
    attribute(out, "rpcshark.severity", Value::Text(finding.severity.name()));
    attribute(out, "rpcshark.text", Value::Text(&finding.text));
    attribute(out, "rpcshark.frame", Value::Number(frame.number));
    out.extend_from_slice(b"]}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_never_given_twice() {
        let mut spans = Spans::default();
        let first = spans.id("t", Some("00f067aa0ba902b7"), &["a"]);
        let second = spans.id("t", Some("00f067aa0ba902b7"), &["a"]);
        let third = spans.id("t", None, &["a"]);
        assert_eq!(first, "00f067aa0ba902b7");
        assert!(second != first && third != second && third.len() == 16);
        assert_eq!(spans.id("u", None, &["a"]).len(), 16);
        assert_ne!(hashed(&["ab", "c"], 32), hashed(&["a", "bc"], 32));
    }
}
