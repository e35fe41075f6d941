//! How a run ended, from what it said last and from the way its stream stopped.
//! Never takes a closed stream alone for an end.

use crate::base::{Code, Timestamp};
use crate::dialect::{Plan, Verdict};
use crate::pdu::End;

use super::{At, Id, IdValue, Status};

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndingKind {
    /// In good order.
    Completed,
    /// Broken off on purpose.
    Canceled,
    /// By an error.
    Error,
    /// Its stream was closed or reset without an end frame.
    CutOff,
    /// Its stream ended cleanly, but its turn did not.
    Unfinished,
    /// The capture ends first.
    Open,
}

impl EndingKind {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Canceled => "canceled",
            Self::Error => "error",
            Self::CutOff => "cut-off",
            Self::Unfinished => "unfinished",
            Self::Open => "open",
        }
    }

    /// The finding that tells of it.
    pub fn code(self) -> Option<Code> {
        match self {
            Self::Canceled => Some(Code::RunCanceled),
            Self::Error => Some(Code::RunError),
            Self::CutOff => Some(Code::RunCutOff),
            Self::Unfinished => Some(Code::RunUnfinished),
            Self::Completed | Self::Open => None,
        }
    }
}

/// A run and how it ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The id of the run (`request_id` in records).
    pub run: Option<IdValue>,
    /// The id of the level around it (`conversation_id`).
    pub conversation: Option<IdValue>,
    /// Ids that hold for all of it.
    pub ids: Vec<Id>,
    /// How it ended.
    pub ending: EndingKind,
    /// Why, in words.
    pub reason: Option<String>,
    /// Measures that count tokens: (measure, value).
    pub tokens: Vec<(u16, f64)>,
    /// Every other measure of the run.
    pub measures: Vec<(u16, f64)>,
    /// Measured time to the first token, in milliseconds.
    pub ttft_ms: Option<f64>,
    /// From its first frame to its last, in milliseconds.
    pub duration_ms: Option<f64>,
    /// When its first frame came.
    pub began: Option<Timestamp>,
    /// First and last frame.
    pub frames: (u64, u64),
    /// Its stage in the model.
    pub stage: Option<u32>,
}

/// What is known of a run's end.
#[derive(Default)]
pub(super) struct Signs {
    /// The branch that ended it: ending rule, reason, where.
    pub ended_by: Option<(u16, Option<Box<str>>, At)>,
    /// A branch that asked for an end.
    pub asked: Option<(u16, Option<Box<str>>, At)>,
    /// What its stream's end frame or trailers say.
    pub status: Option<Status>,
    /// How the stream stopped.
    pub end: Option<End>,
}

impl Signs {
    /// The ending and its reason.
    pub(super) fn judge(&self, plan: &Plan) -> (EndingKind, Option<String>) {
        let said = self.ended_by.as_ref().or(self.asked.as_ref());
        let words = said.and_then(|(_, reason, _)| reason.as_deref()).map(str::to_owned);
        let verdict =
            said.and_then(|(ending, ..)| plan.endings.get(usize::from(*ending))).map(|e| kind(e.verdict));
        let ended = self.ended_by.is_some();
        if let Some(status) = &self.status {
            let Some(code) = status.code.as_deref() else {
                return match verdict {
                    Some(verdict) => (verdict, words),
                    None => (EndingKind::Unfinished, Some("the stream ended before the turn did".to_owned())),
                };
            };
            let rule = plan.endings.iter().find(|e| e.codes.iter().any(|c| **c == *code));
            let ending = rule.map_or(EndingKind::Error, |e| kind(e.verdict));
            let mut reason = match status.message.is_empty() || *status.message == *code {
                true => code.to_owned(),
                false => format!("{code}: {}", status.message),
            };
            if !status.details.is_empty() {
                reason = format!("{reason} ({})", status.details.join(": "));
            }
            if let Some(words) = words.filter(|_| ending == EndingKind::Canceled) {
                reason = format!("{reason} ({words})");
            }
            if ended {
                reason.push_str(", after its turn had ended");
            }
            return (ending, Some(reason));
        }
        let how = match &self.end {
            None | Some(End::CaptureEnd | End::NotCaptured { .. }) => {
                let reason =
                    if ended { "the capture ends after the turn did" } else { "the capture ends first" };
                return (EndingKind::Open, Some(reason.to_owned()));
            }
            Some(End::Reset { code }) => format!("the stream was reset (code {code})"),
            Some(End::Closed) => "the connection was closed without an end frame".to_owned(),
            Some(End::Complete) => "the stream stops without an end frame".to_owned(),
        };
        match (ended, verdict) {
            (false, Some(verdict)) => (verdict, words.or(Some(how))),
            (true, _) => (EndingKind::CutOff, Some(format!("{how}, after its turn had ended"))),
            (false, None) => (EndingKind::CutOff, Some(how)),
        }
    }
}

fn kind(verdict: Verdict) -> EndingKind {
    match verdict {
        Verdict::Completed => EndingKind::Completed,
        Verdict::Canceled => EndingKind::Canceled,
        Verdict::Error => EndingKind::Error,
    }
}
