//! Cuts the bodies of calls into frames, and undoes the compression of one frame.
//! Never looks inside a message, and never allocates for a frame that lies whole in one piece.

#[cfg(test)]
mod cases;
mod cutter;
mod emit;
mod resync;
mod rules;
#[cfg(test)]
mod tests;
mod trailers;

use std::collections::hash_map::Entry;

use crate::base::maps::NumberMap;
use crate::base::{Cx, Finding, Limits, Space, Span};
use crate::pdu::{End, Envelope, Frame, LaneEvent, LanePart, Side};

pub use crate::base::codec::{Inflated, Inflater};

use cutter::{Cutter, Step};

/// The directions of all open calls, each with what is left of its last piece.
#[derive(Default)]
pub struct Deframers {
    lanes: NumberMap<(u64, Side), Cutter>,
    inflater: Inflater,
}

impl Deframers {
    /// No call yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of a direction and appends the frames that it completes. Findings go
    /// with their frame; those without one go to `cx`, and their text names the direction.
    pub fn push(&mut self, event: LaneEvent, cx: &mut Cx<'_>, out: &mut Vec<Frame>) {
        let key = (event.lane.call, event.lane.side);
        let LaneEvent { lane, time, at, part } = event;
        let mut step = Step { lane: &lane, time, cx, inflater: &mut self.inflater, out };
        match self.lanes.entry(key) {
            Entry::Occupied(mut entry) => {
                let is_end = matches!(part, LanePart::End(_));
                entry.get_mut().take(part, at, &mut step);
                if is_end {
                    entry.remove();
                } else {
                    entry.get_mut().remember(&lane);
                }
            }
            Entry::Vacant(entry) => {
                let mut cutter = Cutter::new(&lane);
                let is_end = matches!(part, LanePart::End(_));
                cutter.take(part, at, &mut step);
                if !is_end {
                    entry.insert(cutter);
                }
            }
        }
    }

    /// Ends every direction that has not ended, as the capture does.
    pub fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<Frame>) {
        let mut open: Vec<_> = self.lanes.drain().collect();
        open.sort_by_key(|((call, side), _)| (*call, *side == Side::Response));
        for (_, mut cutter) in open {
            let lane = cutter.lane();
            let mut step = Step { lane: &lane, time: None, cx, inflater: &mut self.inflater, out };
            cutter.take(LanePart::End(End::CaptureEnd), None, &mut step);
        }
    }
}

/// Undoes the compression of a frame's payload into `out`, which is cleared first; to be called
/// where [`Frame::compressed`] is set. The fields of a compressed trailers frame are in its role
/// already. Findings carry the place of the payload in the body.
pub fn inflate(
    frame: &Frame,
    inflater: &mut Inflater,
    limits: &Limits,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) -> Inflated {
    let known = findings.len();
    let encoding = frame.lane.encoding.as_deref();
    let done = inflater.inflate(encoding, &frame.payload, frame.whole, limits, out, findings);
    let start = frame.offset + if frame.flags.is_some() { Envelope::LEN as u64 } else { 0 };
    for finding in findings.iter_mut().skip(known) {
        finding.span = Some(Span::new(Space::Body, start, start + frame.payload.len() as u64));
    }
    done
}
