//! Correlation in time: frames of many calls joined into runs, pairs, text, blobs and endings.
//! Never decodes a capture and never knows a protocol: what means what comes from the dialects.
//!
//! [`digest::make`] says on any thread what one frame says; [`Session`] takes the digests in capture
//! order and gives [`Event`]s, each of which is final, and a [`Model`] that a timeline is drawn from.

mod blobs;
mod channel;
mod correlate;
pub mod digest;
mod ending;
pub mod essence;
mod join;
mod life;
mod lives;
mod model;
mod order;
mod replay;
pub mod state;
pub mod status;
mod text;

use std::fmt;
use std::sync::Arc;

use crate::base::{Code, Finding, Severity, Timestamp};
use crate::pdu::{Head, Side};

pub use crate::base::text::hex;
pub use blobs::{Blob, Blobs};
pub use correlate::Session;
pub use digest::Digest;
pub use ending::{EndingKind, Outcome};
pub use essence::Essence;
pub use model::{Mark, Model, PointsTo, Stage};
pub use status::Status;
pub use text::RunText;

/// An id that a frame carries, or that its call has been joined to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IdValue {
    /// Text; bytes as lower-case hex.
    Str(Arc<str>),
    /// A number; an absent field of a namespace where absent means 0 is 0.
    Uint(u64),
}

impl fmt::Display for IdValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(text) => f.write_str(text),
            Self::Uint(number) => write!(f, "{number}"),
        }
    }
}

/// An id with the number of its namespace.
pub type Id = (u16, IdValue);

/// A frame, without what it says.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its number in the output, from 1.
    pub frame: u64,
    /// The number of its call.
    pub call: u64,
    /// Who sent it.
    pub side: Side,
    /// When.
    pub time: Option<Timestamp>,
    /// Whether frames of this call have times of their own, so that they can be put in order with
    /// those of other calls. A HAR or flow file has one time for a whole body.
    pub timed: bool,
    /// The call's RPC, `package.Service/Method`.
    pub rpc: Option<&'a str>,
    /// Ids that the call is joined to.
    pub ids: &'a [Id],
    /// The call's request head.
    pub head: Option<&'a Head>,
}

/// Where a frame was placed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Placed {
    /// The stage of the [`Model`] that it belongs to.
    pub stage: Option<u32>,
    /// The stage that is its run.
    pub run: Option<u32>,
    /// It repeats a frame seen before: a resent message or a replayed backlog. Counted once.
    pub repeated: bool,
    /// It came after a request to break off what it belongs to.
    pub after_abort: bool,
}

/// What became of something that was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// It was answered, or closed by its peer.
    Answered,
    /// It was not.
    Unanswered,
    /// An answer, step or end without an opening.
    Orphan,
    /// It was broken off.
    Aborted,
    /// Its answer does not fit it.
    Mismatch,
}

impl LinkState {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Unanswered => "unanswered",
            Self::Orphan => "orphan",
            Self::Aborted => "aborted",
            Self::Mismatch => "mismatch",
        }
    }
}

/// A life: what opened, what answered, how it went.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// The lifeline, a place in the plan.
    pub lifeline: u16,
    /// Its id.
    pub id: Option<IdValue>,
    /// The id of its run.
    pub run: Option<IdValue>,
    /// The branch that was asked for, by name.
    pub what: String,
    /// The frame that opened it.
    pub request: Option<u64>,
    /// The frames that answered or closed it, the first ones.
    pub responses: Vec<u64>,
    /// How many there were.
    pub count: u32,
    /// From the opening to the first answer, in nanoseconds, where both have a time of their own.
    pub latency: Option<i64>,
    /// What came along with the answers: field, how often.
    pub brought: Vec<(Box<str>, u32)>,
    /// What became of it.
    pub state: LinkState,
    /// When it opened.
    pub time: Option<Timestamp>,
    /// The stage that it belongs to.
    pub stage: Option<u32>,
}

impl Link {
    /// Milliseconds of the latency.
    pub fn latency_ms(&self) -> Option<f64> {
        self.latency.map(|n| n as f64 / 1e6)
    }
}

/// A finding of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Notice {
    /// Code, severity, text and path.
    pub finding: Finding,
    /// The frames it is about.
    pub frames: Vec<u64>,
    /// The id of its run.
    pub run: Option<IdValue>,
    /// Ids it is about.
    pub ids: Vec<Id>,
}

impl Notice {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { finding: Finding::new(code, text), frames: Vec::new(), run: None, ids: Vec::new() }
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.finding.severity = severity;
        self
    }
}

/// Something that is now known; never taken back.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A life has come to its end.
    Link(Link),
    /// Something is odd.
    Finding(Notice),
    /// A run has ended.
    Outcome(Outcome),
    /// What a run said, put together; one per run and stream.
    Text(RunText),
}

/// A frame as lives and sequences remember it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct At {
    frame: u64,
    call: u64,
    time: Option<Timestamp>,
    timed: bool,
    order: Option<i64>,
}

impl At {
    /// Whether this frame was sent before another; `None` where the capture does not tell.
    fn before(&self, other: &At) -> Option<bool> {
        match (self.order, other.order) {
            (Some(a), Some(b)) if a != b => Some(a < b),
            _ if self.call == other.call => Some(self.frame < other.frame),
            // A log may list a call as a whole, and others that began meanwhile after it.
            _ if self.timed && other.timed => Some((self.time, self.frame) < (other.time, other.frame)),
            _ => None,
        }
    }

    /// Nanoseconds to another, where both have times of their own.
    fn until(&self, other: &At) -> Option<i64> {
        let (from, to) = (self.time?, other.time?);
        let elapsed = to.0.checked_sub(from.0)?;
        (self.timed && other.timed && elapsed >= 0).then_some(elapsed)
    }
}
