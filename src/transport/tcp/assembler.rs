//! One direction of a connection put in order, with its holes.
//! Never fills a hole, never lets a later copy of a byte replace an earlier one.
//!
//! ```text
//!            next            held                 held
//!   ─────────┤   hole        ├──────────┤  hole   ├────┤
//!   given on                                         ▲ acknowledged: every hole before it
//!                                                      was received, so only the capture lacks it
//! ```

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, Bytes};

use crate::base::{Limits, Timestamp};

use super::super::{StreamPart, notice::Notice};
use super::Segment;

/// Stream offset of the first sequence number known, so that earlier ones have an offset too.
const ORIGIN: u64 = 1 << 32;
/// Farthest that a segment can lie from the next byte (the largest window: RFC 7323, section 2.3).
pub(super) const MAX_WINDOW: u64 = 1 << 30;
/// Packets of the connection that may still bring what is acknowledged already: captures
/// show packets out of order, but not by much.
const GRACE_PACKETS: u64 = 32;
/// The same in time, in nanoseconds.
const GRACE_TIME: i64 = 1_000_000_000;
/// Nanoseconds after which a hole is given up though no acknowledgment was seen: a sender
/// would have sent the bytes again by then.
const PATIENCE: i64 = 30_000_000_000;
/// Packets and nanoseconds that a connection joined late is given to show its first byte.
const SETTLE_PACKETS: u64 = 4;
const SETTLE_TIME: i64 = 50_000_000;
/// Given bytes that are remembered, to compare with what is sent again.
const REMEMBERED: usize = 16 << 10;
/// What a held segment costs beside its bytes.
const SEGMENT_COST: usize = 128;

/// When something happened: the connection's packets so far, and the capture's time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    pub packets: u64,
    pub time: Option<Timestamp>,
}

impl Now {
    fn since(&self, then: &Now, packets: u64, nanos: i64) -> bool {
        self.packets.saturating_sub(then.packets) >= packets || self.waited(then, nanos)
    }

    fn waited(&self, then: &Now, nanos: i64) -> bool {
        match (self.time, then.time) {
            (Some(now), Some(then)) => now.0.saturating_sub(then.0) >= nanos,
            _ => false,
        }
    }
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// The SYN's sequence number, if it was seen.
    pub isn: Option<u32>,
    /// The sequence number at [`ORIGIN`].
    origin: Option<u32>,
    /// Offset of the next byte to give on; before that is settled, of some byte seen.
    next: u64,
    /// Whether it is settled where the stream begins.
    settled: bool,
    /// Where it begins.
    begin: u64,
    /// When the first data was seen, until settled.
    first: Option<Now>,
    held: BTreeMap<u64, Piece>,
    held_bytes: usize,
    fin: Option<u64>,
    /// Whether an end was given on.
    pub ended: bool,
    /// What the peer acknowledges, as sent; kept while nothing else is known.
    acknowledged: Option<u32>,
    evidence: Option<Evidence>,
    /// Since when the foremost hole is there.
    hole_since: Option<Now>,
    recent: VecDeque<u8>,
}

/// An acknowledgment past a hole, and when it was seen.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    up_to: u64,
    seen: Now,
}

#[derive(Clone, Debug)]
struct Piece {
    bytes: Bytes,
    /// Bytes behind them that a snap length cut off.
    missing: u64,
    time: Option<Timestamp>,
    at: u64,
}

/// Where an assembler puts what it finds.
pub(super) struct Sink<'a> {
    pub parts: &'a mut Vec<StreamPart>,
    pub notices: &'a mut Vec<Notice>,
    pub limits: &'a Limits,
    pub now: Now,
}

impl Assembler {
    /// Whether any segment of this direction was seen.
    pub(super) fn seen(&self) -> bool {
        self.origin.is_some()
    }

    /// Whether data was given on, and the beginning of the stream was not seen.
    pub(super) fn joined_late(&self) -> bool {
        self.isn.is_none() && self.settled
    }

    /// What the peer last acknowledged.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        self.acknowledged
    }

    /// How far a sequence number lies from the next byte.
    pub(super) fn distance(&self, sequence_number: u32) -> u64 {
        self.offset(sequence_number).abs_diff(self.next)
    }

    /// Takes the SYN that begins this direction.
    pub(super) fn syn(&mut self, sequence_number: u32) {
        if self.isn.is_some() {
            return;
        }
        self.isn = Some(sequence_number);
        let first = sequence_number.wrapping_add(1);
        if self.settled {
            return;
        }
        if self.origin.is_none() {
            self.origin = Some(first);
            self.next = ORIGIN;
        }
        // Segments may have been captured before the SYN.
        self.next = self.offset(first);
        self.begin = self.next;
        self.settled = true;
    }

    /// Notes what the peer acknowledges.
    pub(super) fn acknowledge(&mut self, acknowledgment_number: u32) {
        let newer = |old: u32| acknowledgment_number.wrapping_sub(old).cast_signed() > 0;
        if self.acknowledged.is_none_or(newer) {
            self.acknowledged = Some(acknowledgment_number);
        }
    }

    /// Takes a segment's payload and FIN.
    pub(super) fn segment(&mut self, segment: Segment, sink: &mut Sink<'_>) {
        let sequence_number = segment.sequence_number.wrapping_add(segment.syn.into());
        if self.origin.is_none() {
            self.origin = Some(sequence_number);
            self.next = ORIGIN;
        }
        let start = self.offset(sequence_number);
        let length = segment.length();
        let end = start + length;
        if segment.fin && self.fin.is_none_or(|fin| end < fin) {
            self.fin = Some(end);
        }
        if length > 0 && !self.ended {
            let piece = Piece {
                bytes: segment.payload,
                missing: segment.missing.into(),
                time: segment.time,
                at: segment.at,
            };
            self.first.get_or_insert(sink.now);
            self.place(start, piece, sink);
        } else if segment.fin {
            self.first.get_or_insert(sink.now);
        }
    }

    /// Looks again at what waits, after every packet of the connection.
    pub(super) fn tick(&mut self, sink: &mut Sink<'_>) {
        if !self.settled {
            let Some(first) = self.first else {
                return;
            };
            if sink.now.since(&first, SETTLE_PACKETS, SETTLE_TIME) || self.held_bytes > REMEMBERED {
                self.settle();
            } else {
                return;
            }
        }
        self.drain(sink);
        while self.held_bytes > sink.limits.max_held {
            self.give_up(sink, true);
        }
        while let Some(end) = self.hole_end() {
            self.note_evidence(end, sink.now);
            let since = *self.hole_since.get_or_insert(sink.now);
            let proven = self
                .evidence
                .is_some_and(|e| e.up_to >= end && sink.now.since(&e.seen, GRACE_PACKETS, GRACE_TIME));
            if !proven && !sink.now.waited(&since, PATIENCE) {
                return;
            }
            self.give_up(sink, false);
        }
        self.evidence = None;
        self.hole_since = None;
    }

    /// Gives on all that waits; no more comes.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        if !self.settled {
            self.settle();
        }
        self.drain(sink);
        while self.hole_end().is_some() {
            self.give_up(sink, false);
        }
    }

    fn offset(&self, sequence_number: u32) -> u64 {
        let next = self.origin.unwrap_or(0).wrapping_add(self.next.wrapping_sub(ORIGIN) as u32);
        let distance = sequence_number.wrapping_sub(next).cast_signed();
        self.next.saturating_add_signed(distance.into())
    }

    fn sequence_number(&self, offset: u64) -> u32 {
        self.origin.unwrap_or(0).wrapping_add(offset.wrapping_sub(ORIGIN) as u32)
    }

    /// The first byte held, or the FIN, is where the stream begins for us.
    fn settle(&mut self) {
        if let Some(first) = self.held.first_key_value().map(|(start, _)| *start).or(self.fin) {
            self.next = first;
        }
        self.begin = self.next;
        self.settled = self.seen();
    }

    fn place(&mut self, mut start: u64, mut piece: Piece, sink: &mut Sink<'_>) {
        if self.settled && start < self.next {
            // One byte right before the next is a keep-alive; its byte means nothing.
            if !(piece.length() == 1 && start + 1 == self.next) {
                self.compare_given(start, &piece, sink);
            }
            let old = self.next - start;
            if piece.length() <= old {
                return;
            }
            piece.advance(old);
            start = self.next;
        }
        let end = start + piece.length();
        let free = self.held.first_key_value().is_none_or(|(first, _)| *first >= end);
        if self.settled && start == self.next && free {
            self.give(piece, sink);
        } else {
            self.hold(start, piece, sink);
        }
    }

    /// Keeps the parts of a piece that are not held yet.
    fn hold(&mut self, mut start: u64, mut piece: Piece, sink: &mut Sink<'_>) {
        while piece.length() > 0 {
            if let Some((at, before)) = self.held.range(..=start).next_back() {
                let before_end = at + before.length();
                if before_end > start {
                    self.compare_held(*at, before, start, &piece, sink);
                    let known = (before_end - start).min(piece.length());
                    piece.advance(known);
                    start += known;
                    continue;
                }
            }
            let room = match self.held.range(start..).next() {
                Some((next, _)) => (next - start).min(piece.length()),
                None => piece.length(),
            };
            let rest = piece.split_off(room);
            // A copy: a slice would keep the whole block of the file alive.
            piece.bytes = Bytes::copy_from_slice(&piece.bytes);
            self.held_bytes += piece.bytes.len() + SEGMENT_COST;
            self.held.insert(start, piece);
            start += room;
            piece = rest;
        }
    }

    /// Gives on everything that is next.
    fn drain(&mut self, sink: &mut Sink<'_>) {
        while let Some(entry) = self.held.first_entry() {
            if *entry.key() > self.next {
                break;
            }
            let (start, mut piece) = entry.remove_entry();
            self.held_bytes = self.held_bytes.saturating_sub(piece.bytes.len() + SEGMENT_COST);
            let old = self.next - start;
            if piece.length() > old {
                piece.advance(old);
                self.give(piece, sink);
            }
        }
        if self.fin.is_some_and(|fin| fin <= self.next) && !self.ended {
            self.ended = true;
            sink.parts.push(StreamPart::Fin);
            self.forget();
        }
    }

    fn give(&mut self, piece: Piece, sink: &mut Sink<'_>) {
        let Piece { bytes, missing, time, at } = piece;
        if !bytes.is_empty() {
            self.next += bytes.len() as u64;
            let tail = bytes.len().saturating_sub(REMEMBERED);
            let excess = (self.recent.len() + bytes.len() - tail).saturating_sub(REMEMBERED);
            self.recent.drain(..excess);
            self.recent.extend(bytes.get(tail..).unwrap_or_default());
            let end = at + bytes.len() as u64;
            sink.parts.push(StreamPart::Data { bytes, time, at });
            if missing > 0 {
                self.cut(missing, end, sink);
            }
        } else if missing > 0 {
            self.cut(missing, at, sink);
        }
    }

    fn cut(&mut self, missing: u64, at: u64, sink: &mut Sink<'_>) {
        self.next += missing;
        self.recent.clear();
        sink.parts.push(StreamPart::Gap(missing));
        sink.notices.push(Notice::Snapped { bytes: missing, at });
    }

    /// End of the foremost hole.
    fn hole_end(&self) -> Option<u64> {
        if let Some((start, _)) = self.held.first_key_value() {
            return Some(*start);
        }
        if self.ended {
            return None;
        }
        if let Some(fin) = self.fin {
            return (fin > self.next).then_some(fin);
        }
        // One byte alone may be a FIN that was not captured.
        self.acknowledged_offset().filter(|end| *end > self.next + 1)
    }

    fn acknowledged_offset(&self) -> Option<u64> {
        // A direction of which nothing was captured has no place to count from.
        self.origin?;
        let offset = self.offset(self.acknowledged?);
        (offset.abs_diff(self.next) <= MAX_WINDOW).then_some(offset.min(self.fin.unwrap_or(u64::MAX)))
    }

    /// The first acknowledgment that covers the foremost hole counts for all that it covers.
    fn note_evidence(&mut self, end: u64, now: Now) {
        if self.evidence.is_some_and(|e| e.up_to >= end) {
            return;
        }
        self.evidence =
            self.acknowledged_offset().filter(|o| *o >= end).map(|up_to| Evidence { up_to, seen: now });
    }

    fn give_up(&mut self, sink: &mut Sink<'_>, limit: bool) {
        let Some(end) = self.hole_end() else {
            return;
        };
        let bytes = end.saturating_sub(self.next);
        if bytes > 0 {
            sink.parts.push(StreamPart::Gap(bytes));
            sink.notices.push(Notice::Gap {
                start: self.next - self.begin,
                bytes,
                sequence_number: self.sequence_number(self.next),
                at: self.held.first_key_value().map(|(_, piece)| piece.at),
                limit,
            });
            self.next = end;
            self.recent.clear();
        }
        self.hole_since = None;
        self.drain(sink);
    }

    /// Compares bytes that were given on with those sent again.
    fn compare_given(&self, start: u64, piece: &Piece, sink: &mut Sink<'_>) {
        let known = self.next - self.recent.len() as u64;
        let from = start.max(known);
        let skip = usize::try_from(from - start).unwrap_or(usize::MAX);
        let again = piece.bytes.get(skip..).unwrap_or_default();
        let first = self.recent.iter().skip(usize::try_from(from - known).unwrap_or(usize::MAX));
        let differ = first.zip(again).filter(|(a, b)| a != b).count();
        self.overlap(differ, from, piece.at, sink);
    }

    fn compare_held(&self, at: u64, held: &Piece, start: u64, piece: &Piece, sink: &mut Sink<'_>) {
        let skip = usize::try_from(start - at).unwrap_or(usize::MAX);
        let first = held.bytes.get(skip..).unwrap_or_default();
        let differ = first.iter().zip(&piece.bytes).filter(|(a, b)| a != b).count();
        self.overlap(differ, start, piece.at, sink);
    }

    fn overlap(&self, bytes: usize, offset: u64, at: u64, sink: &mut Sink<'_>) {
        if bytes > 0 {
            let sequence_number = self.sequence_number(offset);
            sink.notices.push(Notice::Overlap { bytes, sequence_number, at });
        }
    }

    fn forget(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
        self.recent = VecDeque::new();
    }
}

impl Piece {
    fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.missing
    }

    fn advance(&mut self, by: u64) {
        let captured = by.min(self.bytes.len() as u64);
        self.bytes.advance(captured as usize);
        self.at += captured;
        self.missing = self.missing.saturating_sub(by - captured);
    }

    /// Keeps `len` bytes and gives the rest.
    fn split_off(&mut self, len: u64) -> Self {
        let mut rest = self.clone();
        rest.advance(len);
        let captured = len.min(self.bytes.len() as u64);
        self.bytes.truncate(captured as usize);
        self.missing = len - captured;
        rest
    }
}
