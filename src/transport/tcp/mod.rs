//! TCP connections: two directions put in order (RFC 9293).
//! Never knows what the bytes mean.

mod assembler;
mod segment;

pub(super) use segment::Segment;

use crate::base::Limits;

use super::StreamPart;
use super::notice::{Notice, Notices};
use assembler::{Assembler, MAX_WINDOW, Now, Sink};

/// Segments far from all others after which they are taken for another connection.
const STRAYS: u32 = 3;
/// How far before the first byte seen a SYN may still lie that was captured late.
const LATE_SYN: u64 = 64 << 10;

/// One connection. Its sides are 0 and 1; which one is the client is not decided here.
#[derive(Debug, Default)]
pub(super) struct Connection {
    sides: [Assembler; 2],
    now: Now,
    /// The side whose SYN opened the connection.
    opener: Option<usize>,
    /// Both directions ended, or it was reset.
    closed: bool,
    strays: u32,
    scratch: (Vec<StreamPart>, Vec<Notice>),
}

/// What a segment is to a connection with its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// Its own.
    Belongs,
    /// Too far off to be; nothing is done about it yet.
    Stray,
    /// The beginning of another connection.
    Another,
}

impl Connection {
    /// The side that opened the connection, where its handshake was seen.
    pub(super) fn opener(&self) -> Option<usize> {
        self.opener
    }

    /// Whether nothing more can come of it.
    pub(super) fn closed(&self) -> bool {
        self.closed
    }

    /// Whether a side's bytes begin somewhere in their middle.
    pub(super) fn joined_late(&self, side: usize) -> bool {
        self.side(side).joined_late()
    }

    /// Whether packets of a side were captured.
    pub(super) fn seen(&self, side: usize) -> bool {
        self.side(side).seen()
    }

    /// Tells segments of this connection from those of a later one on the same ports.
    pub(super) fn fit(&mut self, side: usize, segment: &Segment) -> Fit {
        let fit = if segment.syn { self.fit_syn(side, segment) } else { self.fit_other(side, segment) };
        match fit {
            Fit::Belongs => self.strays = 0,
            Fit::Stray => self.strays += 1,
            Fit::Another => {}
        }
        if fit == Fit::Stray && self.strays >= STRAYS { Fit::Another } else { fit }
    }

    fn fit_syn(&self, side: usize, segment: &Segment) -> Fit {
        let assembler = self.side(side);
        let first = segment.sequence_number.wrapping_add(1);
        let same = match (assembler.isn, assembler.acknowledged()) {
            (Some(isn), _) => isn == segment.sequence_number,
            _ if self.closed => false,
            (None, _) if assembler.seen() => assembler.distance(first) <= LATE_SYN,
            (None, Some(acknowledged)) => u64::from(acknowledged.wrapping_sub(first)) <= LATE_SYN,
            (None, None) => true,
        };
        if same { Fit::Belongs } else { Fit::Another }
    }

    fn fit_other(&self, side: usize, segment: &Segment) -> Fit {
        let assembler = self.side(side);
        let far = assembler.seen() && assembler.distance(segment.sequence_number) > MAX_WINDOW;
        match far {
            false => Fit::Belongs,
            // A reset of what is not there any more carries any number.
            true if segment.rst => Fit::Belongs,
            true => Fit::Stray,
        }
    }

    /// Takes a segment that one side sent.
    pub(super) fn push(
        &mut self,
        side: usize,
        segment: Segment,
        limits: &Limits,
        out: &mut Vec<(usize, StreamPart)>,
        notices: &mut Notices,
    ) {
        if self.closed {
            return;
        }
        self.now.packets += 1;
        self.now.time = segment.time.or(self.now.time);
        if segment.rst {
            let side = self.side(side);
            if !side.seen() || side.distance(segment.sequence_number) <= MAX_WINDOW {
                self.end(&StreamPart::Reset, limits, out, notices);
            }
            return;
        }
        if segment.syn {
            self.opener = self.opener.or(Some(match segment.acknowledgment_number {
                None => side,
                Some(_) => other(side),
            }));
            self.side_mut(side).syn(segment.sequence_number);
            // A SYN's acknowledgment can only be that of the other SYN, seen or not.
            if let Some(acknowledgment_number) = segment.acknowledgment_number {
                self.side_mut(other(side)).syn(acknowledgment_number.wrapping_sub(1));
            }
        }
        if let Some(acknowledgment_number) = segment.acknowledgment_number {
            self.side_mut(other(side)).acknowledge(acknowledgment_number);
        }
        self.with(side, limits, out, notices, |assembler, sink| {
            assembler.segment(segment, sink);
            assembler.tick(sink);
        });
        self.with(other(side), limits, out, notices, Assembler::tick);
        self.closed = self.sides.iter().all(|s| s.ended);
    }

    /// Ends the connection: all that waits is given on, then `part` on both sides.
    pub(super) fn end(
        &mut self,
        part: &StreamPart,
        limits: &Limits,
        out: &mut Vec<(usize, StreamPart)>,
        notices: &mut Notices,
    ) {
        if self.closed {
            return;
        }
        for side in [0, 1] {
            self.with(side, limits, out, notices, Assembler::finish);
            if !self.side(side).ended {
                out.push((side, part.clone()));
            }
        }
        self.closed = true;
        self.sides.iter_mut().for_each(|side| side.ended = true);
    }

    fn with(
        &mut self,
        side: usize,
        limits: &Limits,
        out: &mut Vec<(usize, StreamPart)>,
        notices: &mut Notices,
        act: impl FnOnce(&mut Assembler, &mut Sink<'_>),
    ) {
        let (mut parts, mut found) = std::mem::take(&mut self.scratch);
        let now = self.now;
        let mut sink = Sink { parts: &mut parts, notices: &mut found, limits, now };
        act(self.side_mut(side), &mut sink);
        out.extend(parts.drain(..).map(|part| (side, part)));
        found.drain(..).for_each(|notice| notices.add(side, notice));
        self.scratch = (parts, found);
    }

    fn side(&self, side: usize) -> &Assembler {
        let [zero, one] = &self.sides;
        if side == 0 { zero } else { one }
    }

    fn side_mut(&mut self, side: usize) -> &mut Assembler {
        let [zero, one] = &mut self.sides;
        if side == 0 { zero } else { one }
    }
}

/// The other side.
pub(super) fn other(side: usize) -> usize {
    1 - side.min(1)
}

#[cfg(test)]
mod tests;
