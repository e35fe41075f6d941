//! A session for other programs: a report, a trace, a diagram, spans, tables.
//! Never reads a capture, never correlates: what it is given is final.

pub mod html;
pub mod mermaid;
pub mod otlp;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
mod story;
pub mod tables;

use std::sync::Arc;

use crate::base::{Finding, Timestamp};
use crate::dialect::Plan;
use crate::pdu::{Protocol, Side};
use crate::session::{Model, Stage};

pub use story::{Run, Wait};

use super::text::label::Label;
use super::{Ids, Item};

/// A frame as exporters see it: what it is, where it stands, without what it says in full.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number, from 1.
    pub number: u64,
    /// The capture's name.
    pub capture: Arc<str>,
    /// When.
    pub time: Option<Timestamp>,
    /// Who sent it.
    pub side: Side,
    /// The number of its call.
    pub call: u64,
    /// The call's RPC.
    pub rpc: Option<Arc<str>>,
    /// How the call rides on HTTP.
    pub protocol: Protocol,
    /// The branch that is set, or what ends the call.
    pub kind: Option<String>,
    /// Full name of the message's type.
    pub message_type: Option<Arc<str>>,
    /// Length as records have it, in bytes.
    pub length: u64,
    /// Bytes of the payload as it was sent.
    pub wire: u64,
    /// Where it begins in the capture file, where that has a meaning.
    pub at: Option<u64>,
    /// Whether it was compressed.
    pub compressed: bool,
    /// Whether five bytes of envelope came before it.
    pub enveloped: bool,
    /// What it says, in a line; clean.
    pub label: Label,
    /// The stage that it belongs to.
    pub stage: Option<u32>,
    /// Whether it only keeps something alive.
    pub pulse: bool,
    /// Whether it repeats an earlier frame.
    pub repeated: bool,
    /// Values of measures that it brings.
    pub measures: Vec<(u16, f64)>,
    /// Ids by namespace key.
    pub ids: Ids,
    /// A W3C trace context: that of the call's request head, or of the message.
    pub context: Option<TraceContext>,
    /// What is wrong with the frame itself.
    pub findings: Vec<Finding>,
}

impl Frame {
    /// What a frame is, with what correlation made of it still to be filled in.
    pub fn of(item: &Item<'_>, label: Label) -> Self {
        let (frame, lane) = (item.frame, &item.frame.lane);
        Self {
            number: item.number,
            capture: Arc::from(item.capture),
            time: frame.time,
            side: lane.side,
            call: lane.call,
            rpc: lane.rpc.clone(),
            protocol: lane.protocol,
            kind: item.decoded.kind.as_deref().map(str::to_owned),
            message_type: item.decoded.message_type.clone(),
            length: item.decoded.wire_length.unwrap_or(frame.length),
            wire: frame.payload.len() as u64,
            at: frame.at,
            compressed: frame.compressed,
            enveloped: frame.flags.is_some(),
            label,
            stage: None,
            pulse: false,
            repeated: false,
            measures: Vec::new(),
            ids: item.decoded.ids.clone(),
            context: TraceContext::of(item),
            findings: item.decoded.findings.clone(),
        }
    }
}

impl Frame {
    /// Whether it is the empty answer of a call that only carries: no event of its own.
    pub fn is_receipt(&self) -> bool {
        self.length == 0 && !self.enveloped && self.stage.is_none() && self.findings.is_empty()
    }
}

/// A position in a distributed trace (W3C Trace Context, section 3.2.2), in lower-case hex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceContext {
    /// 32 digits, not all 0.
    pub trace: String,
    /// 16 digits, not all 0: the span that sent this.
    pub parent: Option<String>,
}

impl TraceContext {
    /// Of a message whose dialect names its ids `trace_id` and `span_id`, else of the request's `traceparent`.
    fn of(item: &Item<'_>) -> Option<Self> {
        let id = |key: &str, digits: usize| {
            let (_, values) = item.decoded.ids.iter().find(|(name, _)| &**name == key)?;
            values.iter().find_map(|v| trace_id(&v.to_string(), digits))
        };
        if let Some(trace) = id("trace_id", 32) {
            return Some(Self { trace, parent: id("span_id", 16) });
        }
        let head = item.frame.lane.request.as_ref()?;
        let parent = head.headers.fields.iter().find(|h| h.name == "traceparent")?;
        let mut parts = parent.value.split('-').skip(1);
        let trace = trace_id(parts.next()?, 32)?;
        Some(Self { trace, parent: parts.next().and_then(|id| trace_id(id, 16)) })
    }
}

/// An id of so many hex digits, where it is one.
fn trace_id(text: &str, digits: usize) -> Option<String> {
    let is_hex = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    (is_hex && text.bytes().any(|b| b != b'0')).then(|| text.to_ascii_lowercase())
}

/// All that an exporter is given.
pub struct Story<'a> {
    /// The rules, for names.
    pub plan: &'a Plan,
    /// Stages, links, findings of runs, outcomes.
    pub model: &'a Model,
    /// The frames, in the order of the capture.
    pub frames: &'a [Frame],
    /// Findings of no frame, each with its capture.
    pub loose: &'a [(String, Finding)],
    /// Names of the captures.
    pub captures: &'a [String],
    /// Frames that were left out because there were too many.
    pub dropped: u64,
}

impl Story<'_> {
    /// The name of a level.
    pub fn level(&self, stage: &Stage) -> &str {
        self.plan.levels.get(usize::from(stage.level)).map_or("", |l| &l.name)
    }

    /// Whether stages of a level are runs.
    pub fn is_run(&self, stage: &Stage) -> bool {
        stage.merged.is_none()
            && self.plan.levels.get(usize::from(stage.level)).is_some_and(|l| !l.methods.is_empty())
    }

    /// The earliest time of all.
    pub fn began(&self) -> Option<Timestamp> {
        self.frames.iter().filter_map(|f| f.time).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_traces_are_hex_and_not_zero() {
        let id = "4BF92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(id, 32).as_deref(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
        assert_eq!(trace_id(&"0".repeat(32), 32), None);
        assert_eq!(trace_id("00f067aa0ba902b", 16), None);
        assert_eq!(trace_id("00f067aa0ba902bé", 16), None);
    }
}
