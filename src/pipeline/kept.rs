//! Frames kept to be looked at again: what was sent, packed close, with what one pass made of it.
//! Never holds a tree or a message; past its limit a frame's payload is let go and its entry stays.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::base::{Finding, Severity, Timestamp};
use crate::pdu::{Frame, Headers, Lane, Role, Side};
use crate::schema::TypeId;
use crate::view::tui::Class;

use super::Job;
use super::joins::{Id, Joined};
use super::typing::Typed;

/// Payloads are put together in pieces of this many bytes.
const PIECE: usize = 1 << 20;

/// What the pass over a frame found that a list shows without looking again.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The kind, a place among the names of kinds.
    pub kind: u32,
    /// What the frame is to a reader.
    pub class: Class,
    /// The worst of its findings.
    pub severity: Option<Severity>,
    /// The stage it belongs to.
    pub stage: Option<u32>,
}

/// One frame: 128 bytes beside its payload.
#[derive(Clone, Debug)]
struct Entry {
    seen: Seen,
    time: Option<Timestamp>,
    offset: u64,
    at: u64,
    length: u64,
    /// The payload: piece, place in it, length.
    payload: (u32, u32, u32),
    lane: u32,
    ids: u32,
    index: u32,
    ty: Option<TypeId>,
    inner: Option<(u16, TypeId, bool)>,
    flags: Option<u8>,
    role: u8,
    compressed: bool,
    whole: bool,
    capture: u16,
    has_more: bool,
    timed: bool,
}

/// What few frames have.
#[derive(Clone, Default, Debug)]
struct More {
    findings: Vec<Finding>,
    typed: Option<Box<Finding>>,
    trailers: Option<Headers>,
}

/// The frames of a run, by number.
#[derive(Default)]
pub struct Kept {
    entries: Vec<Entry>,
    more: HashMap<u32, More>,
    lanes: Vec<Arc<Lane>>,
    /// The last lane of each direction of each call.
    last_lanes: HashMap<(u64, Side), u32>,
    ids: Vec<Arc<[Id]>>,
    last_ids: HashMap<u64, u32>,
    captures: Vec<Arc<str>>,
    pieces: Vec<Bytes>,
    open: BytesMut,
    bytes: u64,
    /// Payload bytes that are kept, at most.
    pub max_bytes: u64,
    /// Frames whose payload was let go.
    pub lost: u64,
    first: Option<Timestamp>,
}

impl Kept {
    /// Bytes that an entry takes beside its payload.
    #[cfg(test)]
    pub const ENTRY: usize = size_of::<Entry>();

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Payload bytes held.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was seen of a frame, by its place from 0.
    pub fn seen(&self, at: usize) -> Option<&Seen> {
        self.entries.get(at).map(|e| &e.seen)
    }

    /// When a frame was seen.
    pub fn time(&self, at: usize) -> Option<Timestamp> {
        self.entries.get(at)?.time
    }

    /// The call and side of a frame.
    pub fn call(&self, at: usize) -> Option<(u64, Side)> {
        let lane = self.lanes.get(self.entries.get(at)?.lane as usize)?;
        Some((lane.call, lane.side))
    }

    /// Takes a frame in; its number is the next.
    pub fn push(&mut self, job: &Job, seen: Seen) {
        let frame = &job.frame;
        self.first = self.first.or(frame.time);
        let payload = self.keep(&frame.payload);
        let (role, trailers) = match &frame.role {
            Role::Message => (0, None),
            Role::EndStream => (1, None),
            Role::Trailers(headers) => (2, Some(headers.clone())),
            Role::Error => (3, None),
            Role::Decoded => (4, None),
        };
        let more = More { findings: frame.findings.clone(), typed: job.typed.finding.clone(), trailers };
        let has_more = !more.findings.is_empty() || more.typed.is_some() || more.trailers.is_some();
        if has_more {
            self.more.insert(self.entries.len() as u32, more);
        }
        let entry = Entry {
            seen,
            time: frame.time,
            offset: frame.offset,
            at: frame.at.unwrap_or(u64::MAX),
            length: frame.length,
            payload,
            lane: self.lane(&frame.lane),
            ids: self.ids(frame.lane.call, &job.joined.ids),
            index: frame.index,
            ty: job.typed.ty,
            inner: job.joined.inner,
            flags: frame.flags,
            role,
            compressed: frame.compressed,
            whole: frame.whole && payload.2 as usize == frame.payload.len(),
            capture: self.capture(&job.capture),
            has_more,
            timed: job.timed,
        };
        self.entries.push(entry);
    }

    /// A finding of a run about a frame that is here already.
    pub fn worsen(&mut self, number: u64, severity: Severity) {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
            entry.seen.severity = entry.seen.severity.max(Some(severity));
        }
    }

    fn keep(&mut self, payload: &[u8]) -> (u32, u32, u32) {
        let length = payload.len();
        if self.bytes + length as u64 > self.max_bytes || u32::try_from(length).is_err() {
            self.lost += u64::from(length > 0);
            return (0, 0, 0);
        }
        self.bytes += length as u64;
        if length > PIECE / 4 {
            // One of its own, in a place of its own: the open piece goes on behind it.
            self.close();
            self.pieces.push(Bytes::copy_from_slice(payload));
            return ((self.pieces.len() - 1) as u32, 0, length as u32);
        }
        if self.open.len() + length > PIECE {
            self.close();
        }
        let at = self.open.len() as u32;
        self.open.extend_from_slice(payload);
        (self.pieces.len() as u32, at, length as u32)
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push(std::mem::take(&mut self.open).freeze());
        }
    }

    fn payload(&self, (piece, at, length): (u32, u32, u32)) -> Bytes {
        let range = at as usize..(at as usize).saturating_add(length as usize);
        match self.pieces.get(piece as usize) {
            Some(piece) if range.end <= piece.len() => piece.slice(range),
            Some(_) => Bytes::new(),
            None => Bytes::copy_from_slice(self.open.get(range).unwrap_or_default()),
        }
    }

    fn lane(&mut self, lane: &Arc<Lane>) -> u32 {
        let key = (lane.call, lane.side);
        let last = self.last_lanes.get(&key).copied();
        if let Some(number) = last
            && self.lanes.get(number as usize).is_some_and(|l| Arc::ptr_eq(l, lane) || l == lane)
        {
            return number;
        }
        self.lanes.push(lane.clone());
        let number = (self.lanes.len() - 1) as u32;
        self.last_lanes.insert(key, number);
        number
    }

    fn ids(&mut self, call: u64, ids: &[Id]) -> u32 {
        if let Some(number) = self.last_ids.get(&call).copied()
            && self.ids.get(number as usize).is_some_and(|i| **i == *ids)
        {
            return number;
        }
        self.ids.push(Arc::from(ids));
        let number = (self.ids.len() - 1) as u32;
        self.last_ids.insert(call, number);
        number
    }

    fn capture(&mut self, name: &Arc<str>) -> u16 {
        if self.captures.last().is_none_or(|last| last != name) {
            self.captures.push(name.clone());
        }
        (self.captures.len() - 1).min(usize::from(u16::MAX)) as u16
    }

    /// A frame as the pass had it, by its place from 0.
    pub fn job(&self, at: usize) -> Option<Job> {
        let entry = self.entries.get(at)?;
        let more = match entry.has_more {
            true => self.more.get(&(at as u32)).cloned().unwrap_or_default(),
            false => More::default(),
        };
        let frame = Frame {
            lane: self.lanes.get(entry.lane as usize)?.clone(),
            index: entry.index,
            time: entry.time,
            offset: entry.offset,
            at: Some(entry.at).filter(|at| *at != u64::MAX),
            flags: entry.flags,
            length: entry.length,
            role: match entry.role {
                0 => Role::Message,
                1 => Role::EndStream,
                2 => Role::Trailers(more.trailers.unwrap_or_default()),
                3 => Role::Error,
                _ => Role::Decoded,
            },
            payload: self.payload(entry.payload),
            compressed: entry.compressed,
            whole: entry.whole,
            findings: more.findings,
        };
        let before = at.checked_sub(1).and_then(|at| self.time(at)).or(entry.time);
        Some(Job {
            number: at as u64 + 1,
            capture: self.captures.get(usize::from(entry.capture))?.clone(),
            frame,
            typed: Typed { ty: entry.ty, rpc: None, finding: more.typed },
            joined: Joined {
                ids: self
                    .ids
                    .get(entry.ids as usize)
                    .map(|i| i.iter().cloned().collect())
                    .unwrap_or_default(),
                inner: entry.inner,
                outer: None,
            },
            clock: (self.first, before),
            timed: entry.timed,
            wired: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::{Codec, Protocol};

    fn job(number: u64, payload: &[u8]) -> Job {
        let lane = Arc::new(Lane {
            call: 1,
            conn: None,
            stream: None,
            side: Side::Response,
            rpc: None,
            protocol: Protocol::ConnectStream,
            codec: Codec::Proto,
            encoding: None,
            message_type: None,
            request: None,
            response: None,
        });
        let frame = Frame {
            lane,
            index: 0,
            time: Some(Timestamp(number as i64)),
            offset: number,
            at: None,
            flags: Some(0),
            length: payload.len() as u64,
            role: Role::Message,
            payload: Bytes::copy_from_slice(payload),
            compressed: false,
            whole: true,
            findings: Vec::new(),
        };
        let (typed, joined) = (Typed::default(), Joined::default());
        let clock = (None, None);
        Job { number, capture: "x".into(), frame, typed, joined, clock, timed: true, wired: None }
    }

    const SEEN: Seen = Seen { kind: 0, class: Class::Plain, severity: None, stage: None };

    #[test]
    fn what_goes_in_comes_out() {
        let mut kept = Kept { max_bytes: 1 << 30, ..Kept::default() };
        let sizes = [0, 5, PIECE / 4 + 1, 7, PIECE / 5, PIECE / 5, PIECE / 5, PIECE / 5, PIECE / 5, 3];
        let payloads: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(i, size)| vec![i as u8 + 1; *size]).collect();
        for (at, payload) in payloads.iter().enumerate() {
            kept.push(&job(at as u64 + 1, payload), SEEN);
            for (at, payload) in payloads.iter().enumerate().take(at + 1) {
                let again = kept.job(at).expect("kept");
                assert!(again.frame == job(at as u64 + 1, payload).frame, "frame {at}");
            }
        }
        assert_eq!(kept.lanes.len(), 1, "equal lanes are one");
        const { assert!(Kept::ENTRY <= 128) };
    }

    #[test]
    fn past_the_limit_the_payload_alone_is_let_go() {
        let mut kept = Kept { max_bytes: 6, ..Kept::default() };
        for number in 1..=3 {
            kept.push(&job(number, b"four"), SEEN);
        }
        assert_eq!((kept.len(), kept.lost, kept.bytes()), (3, 2, 4));
        let last = kept.job(2).expect("an entry").frame;
        assert!(last.payload.is_empty() && !last.whole && last.length == 4);
    }
}
