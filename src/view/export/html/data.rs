//! The session as the report's program reads it: columns of frames, stages, links, findings, outcomes.
//! Never holds what a frame says in full.

use std::collections::{HashMap, HashSet};

use crate::base::json::{push_key, push_list, push_number, push_optional, push_string};
use crate::base::{Finding, Timestamp};
use crate::dialect::{Take, Unit};
use crate::pdu::Side;
use crate::session::{IdValue, Link, Outcome, Stage};
use crate::view::events::push_float;
use crate::view::export::{Frame, Story};

use super::Left;

/// Bits of a frame's `flags`, above them its worst finding: 0 none, 1 note, 2 warning, 3 error.
const PULSE: u32 = 1;
const REPEATED: u32 = 2;
const COMPRESSED: u32 = 4;
const RECEIPT: u32 = 8;

/// Texts that many frames share, each once.
#[derive(Default)]
struct Names<'a> {
    list: Vec<&'a str>,
    place: HashMap<&'a str, i64>,
}

impl<'a> Names<'a> {
    /// The place of a text; -1 where there is none.
    fn of(&mut self, text: Option<&'a str>) -> i64 {
        let Some(text) = text else { return -1 };
        *self.place.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as i64 - 1
        })
    }
}

/// The session as JSON.
pub(super) fn session(story: &Story<'_>, left: &Left) -> Vec<u8> {
    let mut out = vec![b'{'];
    let began = story.began();
    push_key(&mut out, "version");
    push_string(&mut out, env!("CARGO_PKG_VERSION"));
    push_key(&mut out, "captures");
    push_list(&mut out, story.captures, |out, capture| push_string(out, capture));
    push_key(&mut out, "began");
    push_optional(&mut out, began.map(|t| t.to_string()).as_deref());
    for (key, number) in [
        ("dropped", story.dropped),
        ("shownPayload", left.payload as u64),
        ("leftContents", left.contents),
        ("secrets", left.secrets.into()),
    ] {
        push_key(&mut out, key);
        push_number(&mut out, number);
    }
    let plan = story.plan;
    push_key(&mut out, "levels");
    push_list(&mut out, &plan.levels, |out, level| push_string(out, &level.name));
    push_key(&mut out, "lifelines");
    push_list(&mut out, &plan.lifelines, |out, lifeline| push_string(out, &lifeline.name));
    push_key(&mut out, "measures");
    push_list(&mut out, &plan.measures, |out, measure| {
        let adds_up = measure.unit == Unit::Tokens && measure.take == Take::Sum;
        out.push(b'[');
        push_string(out, &measure.name);
        out.extend_from_slice(if adds_up { b",1]" } else { b",0]" });
    });
    frames(story, began, &mut out);
    let stages = &story.model.stages;
    push_key(&mut out, "stages");
    push_list(&mut out, stages, |out, stage| push_stage(story, stage, began, out));
    let spans: HashSet<(u64, u64)> =
        stages.iter().map(|s| (s.first.frame, s.closed.unwrap_or(s.last).frame)).collect();
    push_key(&mut out, "links");
    push_list(&mut out, &story.model.links, |out, link| {
        let ends = link.request.zip(link.responses.last().copied());
        push_link(link, ends.is_some_and(|ends| spans.contains(&ends)), out);
    });
    push_key(&mut out, "findings");
    findings(story, &mut out);
    push_key(&mut out, "outcomes");
    push_list(&mut out, &story.model.outcomes, |out, outcome| push_outcome(story, outcome, out));
    out.push(b'}');
    out
}

/// Microseconds since the beginning.
fn since(began: Option<Timestamp>, time: Option<Timestamp>) -> Option<f64> {
    Some(time?.0.checked_sub(began?.0)? as f64 / 1e3)
}

fn severity(findings: &[Finding]) -> u32 {
    findings.iter().map(|f| f.severity as u32 + 1).max().unwrap_or(0)
}

fn frames(story: &Story<'_>, began: Option<Timestamp>, out: &mut Vec<u8>) {
    let all = story.frames;
    let mut names = Names::default();
    push_key(out, "frames");
    out.push(b'{');
    for (key, number) in [
        ("number", (|f| f.number) as fn(&Frame) -> u64),
        ("call", |f| f.call),
        ("length", |f| f.length),
        ("wire", |f| f.wire),
        ("sent", |f| (f.side == Side::Request).into()),
    ] {
        push_key(out, key);
        push_list(out, all, |out, frame| push_number(out, number(frame)));
    }
    push_key(out, "time");
    push_list(out, all, |out, frame| push_float(out, since(began, frame.time)));
    for (key, text) in [
        ("rpc", (|f| f.rpc.as_deref()) as fn(&Frame) -> Option<&str>),
        ("kind", |f| f.kind.as_deref()),
        ("type", |f| f.message_type.as_deref()),
        ("name", |f| Some(&f.label.name)),
    ] {
        push_key(out, key);
        push_list(out, all, |out, frame| push_number(out, names.of(text(frame))));
    }
    push_key(out, "says");
    push_list(out, all, |out, frame| push_string(out, &frame.label.says));
    push_key(out, "stage");
    push_list(out, all, |out, frame| push_number(out, frame.stage.map_or(-1, i64::from)));
    push_key(out, "flags");
    push_list(out, all, |out, frame| {
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags = bit(frame.pulse, PULSE)
            | bit(frame.repeated, REPEATED)
            | bit(frame.compressed, COMPRESSED)
            | bit(frame.is_receipt(), RECEIPT)
            | severity(&frame.findings) << 4;
        push_number(out, flags);
    });
    out.push(b'}');
    push_key(out, "names");
    push_list(out, names.list, push_string);
    // Only what adds up makes a line over time.
    push_key(out, "samples");
    let samples = all.iter().enumerate().filter(|(_, f)| !f.repeated).flat_map(|(place, frame)| {
        frame.measures.iter().map(move |(measure, value)| (place, *measure, *value))
    });
    push_list(out, samples, |out, (place, measure, value)| {
        out.push(b'[');
        push_number(out, place);
        out.push(b',');
        push_number(out, measure);
        out.push(b',');
        push_float(out, Some(value));
        out.push(b']');
    });
}

fn push_id(out: &mut Vec<u8>, id: Option<&IdValue>) {
    push_optional(out, id.map(|id| id.to_string()).as_deref());
}

/// `[level, id, title, parent, first frame, its time, last frame, its time, closed, run, run around it]`.
fn push_stage(story: &Story<'_>, stage: &Stage, began: Option<Timestamp>, out: &mut Vec<u8>) {
    let last = stage.closed.unwrap_or(stage.last);
    out.push(b'[');
    push_number(out, stage.level);
    out.push(b',');
    push_id(out, stage.id.as_ref());
    out.push(b',');
    push_optional(out, story.title(stage));
    out.push(b',');
    push_number(out, stage.parent.map_or(-1, i64::from));
    for mark in [stage.first, last] {
        out.push(b',');
        push_number(out, mark.frame);
        out.push(b',');
        push_float(out, since(began, mark.time));
    }
    out.push(b',');
    push_number(out, u8::from(stage.closed.is_some()));
    out.push(b',');
    push_number(out, u8::from(story.is_run(stage)));
    out.push(b',');
    push_number(out, story.run_around(stage).map_or(-1, i64::from));
    out.push(b']');
}

/// `[lifeline, id, what, request, responses, milliseconds, state, stage, whether it is a stage]`.
fn push_link(link: &Link, is_stage: bool, out: &mut Vec<u8>) {
    out.push(b'[');
    push_number(out, link.lifeline);
    out.push(b',');
    push_id(out, link.id.as_ref());
    out.push(b',');
    push_string(out, &link.what);
    out.push(b',');
    push_number(out, link.request.map_or(-1, |f| f as i64));
    out.push(b',');
    push_list(out, &link.responses, |out, frame| push_number(out, *frame));
    out.push(b',');
    push_float(out, link.latency_ms());
    out.push(b',');
    push_string(out, link.state.name());
    out.push(b',');
    push_number(out, link.stage.map_or(-1, i64::from));
    out.push(b',');
    push_number(out, u8::from(is_stage));
    out.push(b']');
}

fn findings(story: &Story<'_>, out: &mut Vec<u8>) {
    type Told<'a> = (&'a Finding, &'a [u64], Option<&'a str>);
    let of_frames = story
        .frames
        .iter()
        .flat_map(|f| f.findings.iter().map(|finding| (finding, std::slice::from_ref(&f.number), None)));
    let of_runs = story.model.notices.iter().map(|n| (&n.finding, n.frames.as_slice(), None));
    let loose = story.loose.iter().map(|(capture, f)| (f, &[][..], Some(capture.as_str())));
    let all = of_frames.chain(of_runs).chain(loose);
    push_list(out, all, |out, (finding, frames, capture): Told<'_>| {
        out.push(b'{');
        push_key(out, "code");
        push_string(out, finding.code.name());
        push_key(out, "severity");
        push_number(out, severity(std::slice::from_ref(finding)));
        push_key(out, "text");
        push_string(out, &finding.text);
        push_key(out, "frames");
        push_list(out, frames, |out, frame| push_number(out, *frame));
        if let Some(path) = &finding.path {
            push_key(out, "path");
            push_string(out, path);
        }
        if let Some(span) = finding.span {
            push_key(out, "offset");
            push_number(out, span.start);
        }
        if let Some(capture) = capture {
            push_key(out, "capture");
            push_string(out, capture);
        }
        out.push(b'}');
    });
}

fn push_outcome(story: &Story<'_>, outcome: &Outcome, out: &mut Vec<u8>) {
    out.push(b'{');
    push_key(out, "id");
    push_id(out, outcome.run.as_ref());
    push_key(out, "around");
    push_id(out, outcome.conversation.as_ref());
    push_key(out, "ending");
    push_string(out, outcome.ending.name());
    // Whether it went as it should: the page colours by it.
    push_key(out, "severity");
    push_number(out, outcome.ending.code().map_or(0, |c| c.severity() as u32 + 1));
    push_key(out, "reason");
    push_optional(out, outcome.reason.as_deref());
    for (key, value) in [("ttft", outcome.ttft_ms), ("duration", outcome.duration_ms)] {
        push_key(out, key);
        push_float(out, value);
    }
    push_key(out, "stage");
    push_number(out, outcome.stage.map_or(-1, i64::from));
    push_key(out, "tokens");
    push_list(out, &outcome.tokens, |out, (measure, value)| {
        out.push(b'[');
        push_string(out, story.plan.measures.get(usize::from(*measure)).map_or("", |m| &m.name));
        out.push(b',');
        push_float(out, Some(*value));
        out.push(b']');
    });
    out.push(b'}');
}
