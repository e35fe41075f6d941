//! What TCP notices of a connection, kept until it is known whether the connection matters.
//! Never kept without bound: what repeats is counted.

use crate::base::{Code, Finding, Space, Span};

/// Something that is wrong with one direction.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Notice {
    /// A hole was given up.
    Gap {
        /// Where it begins in the stream.
        start: u64,
        bytes: u64,
        sequence_number: u32,
        /// Where the next byte after it lies in the file.
        at: Option<u64>,
        /// Given up because no more may be held.
        limit: bool,
    },
    /// A snap length cut bytes off a segment.
    Snapped { bytes: u64, at: u64 },
    /// Bytes were sent again, and differ.
    Overlap { bytes: usize, sequence_number: u32, at: u64 },
}

/// Notices kept of one connection while nothing is known of it.
const MAX_WAITING: usize = 256;

/// The notices of one connection.
#[derive(Debug, Default)]
pub(super) struct Notices {
    waiting: Vec<(usize, Notice)>,
    dropped: u64,
    snapped: [Snapped; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Snapped {
    segments: u64,
    bytes: u64,
    /// Where the first one was cut.
    at: u64,
}

impl Notices {
    /// Keeps what was noticed on a side.
    pub(super) fn add(&mut self, side: usize, notice: Notice) {
        match notice {
            // A snap length cuts every packet: told once, with the sum, at the end.
            Notice::Snapped { bytes, at } => {
                let Some(sum) = self.snapped.get_mut(side) else {
                    return;
                };
                if sum.segments == 0 {
                    sum.at = at;
                }
                sum.segments += 1;
                sum.bytes += bytes;
            }
            notice if self.waiting.len() < MAX_WAITING => self.waiting.push((side, notice)),
            _ => self.dropped += 1,
        }
    }

    /// Gives the findings; `of` names a side's direction.
    pub(super) fn take(&mut self, of: impl Fn(usize) -> String, findings: &mut Vec<Finding>) {
        findings.extend(self.waiting.drain(..).map(|(side, notice)| finding(&of(side), notice)));
        if std::mem::take(&mut self.dropped) > 0 {
            let text = format!("{}: more such findings are left out", of(0));
            findings.push(Finding::new(Code::NetGap, text));
        }
    }

    /// Gives the findings that sum up a connection, at its end.
    pub(super) fn sum_up(&mut self, of: impl Fn(usize) -> String, findings: &mut Vec<Finding>) {
        for (side, sum) in self.snapped.iter_mut().enumerate() {
            let Snapped { segments, bytes, at } = std::mem::take(sum);
            if segments > 0 {
                let text =
                    format!("{}: a snap length cut {segments} segments; {bytes} bytes are missing", of(side));
                let span = Span::new(Space::Input, at, at);
                findings.push(Finding::new(Code::NetGap, text).at(span));
            }
        }
    }
}

fn finding(direction: &str, notice: Notice) -> Finding {
    match notice {
        Notice::Gap { start, bytes, sequence_number, at, limit } => {
            let why = if limit { ", given up because too much waits behind them" } else { "" };
            let text = format!(
                "{direction}: {bytes} bytes are missing, {start}..{} of the stream, sequence numbers {sequence_number}..{}{why}",
                start + bytes,
                sequence_number.wrapping_add(bytes as u32),
            );
            let finding = Finding::new(Code::NetGap, text);
            match at {
                Some(at) => finding.at(Span::new(Space::Input, at, at)),
                None => finding,
            }
        }
        Notice::Snapped { bytes, at } => {
            let text = format!("{direction}: a snap length cut {bytes} bytes");
            Finding::new(Code::NetGap, text).at(Span::new(Space::Input, at, at))
        }
        Notice::Overlap { bytes, sequence_number, at } => {
            let text = format!(
                "{direction}: {bytes} bytes from sequence number {sequence_number} on were sent again with other values; the first are kept"
            );
            Finding::new(Code::NetOverlap, text).at(Span::new(Space::Input, at, at))
        }
    }
}
