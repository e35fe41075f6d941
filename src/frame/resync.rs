//! Finds the next frame after bytes whose number is not known are lost.
//! Never takes one header's word: a second must follow where the first says, or the end.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::pdu::{Codec, Envelope, Lane};

use super::rules::{self, COMPRESSED, Kind};

/// Bytes that are kept to search in, at least; also the longest frame that is looked for.
const WINDOW: usize = 1 << 20;

/// A header and the first byte of its payload.
const LOOK: usize = Envelope::LEN + 1;

/// Holes that are stepped over in one search.
const MAX_HOLES: usize = 64;

/// The bytes since the loss. A place is taken at the moment that the byte comes which proves it,
/// so how the bytes are split makes no difference. Places count the holes; `bytes` has none.
pub(super) struct Search {
    bytes: Vec<u8>,
    /// Where runs of `bytes` begin: here, as a place, and in the capture.
    runs: Vec<Run>,
    /// How many of `bytes` have been looked at.
    seen: usize,
    /// The place after the last byte or hole.
    end: u64,
    /// By the place where their next header must lie: chains of plausible frames, each by the
    /// place of its beginning.
    chains: BTreeMap<u64, Vec<u64>>,
}

#[derive(Clone, Copy)]
struct Run {
    start: usize,
    place: u64,
    at: Option<u64>,
    /// Whether a hole is before it.
    holed: bool,
}

/// Where frames go on.
pub(super) struct Found {
    /// Bytes and holes since the loss that belong to no frame.
    pub skipped: u64,
    /// What is there from there on.
    pub rest: Vec<Piece>,
}

/// A part of what a search went through.
pub(super) enum Piece {
    /// Bytes, with their place in the capture.
    Bytes(Bytes, Option<u64>),
    /// So many bytes are missing.
    Hole(u64),
}

impl Search {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), runs: Vec::new(), seen: 0, end: 0, chains: BTreeMap::new() }
    }

    /// How many bytes came since the loss, holes included.
    pub fn skipped(&self) -> u64 {
        self.end
    }

    pub fn push(&mut self, bytes: &[u8], at: Option<u64>, lane: &Lane) -> Option<Found> {
        let follows = self.runs.last().is_some_and(|run| {
            let have = (self.bytes.len() - run.start) as u64;
            run.place + have == self.end
                && (run.at.map(|a| a + have) == at && (at.is_some() || run.at.is_none()))
        });
        if !follows {
            let holed = self
                .runs
                .last()
                .is_some_and(|run| run.place + (self.bytes.len() - run.start) as u64 != self.end);
            self.runs.push(Run { start: self.bytes.len(), place: self.end, at, holed });
        }
        self.bytes.extend_from_slice(bytes);
        self.end = self.end.saturating_add(bytes.len() as u64);
        while self.seen < self.bytes.len() {
            self.seen += 1;
            if let Some(start) = self.seen.checked_sub(LOOK)
                && let Some(place) = self.place(start)
                && let Some(found) = self.look(start, place, lane)
            {
                return Some(self.found(found));
            }
            if self.seen == 2 * WINDOW {
                self.slide();
            }
        }
        None
    }

    /// Steps over a hole. False where the search cannot go on after it.
    pub fn gap(&mut self, length: Option<u64>) -> bool {
        let Some(end) = length.and_then(|n| self.end.checked_add(n)) else { return false };
        let holes = self.runs.iter().filter(|run| run.holed).count();
        if self.chains.is_empty() || holes >= MAX_HOLES {
            return false;
        }
        self.end = end;
        true
    }

    /// At the end of the body: frames that end exactly there are believed too.
    pub fn end(&mut self) -> Option<Found> {
        let place = self.chains.get(&self.end)?.iter().min().copied()?;
        Some(self.found(place))
    }

    /// The place of [`LOOK`] bytes at `start`; `None` where a hole is among them.
    fn place(&self, start: usize) -> Option<u64> {
        let last = self.runs.iter().rfind(|run| run.start <= start)?;
        let broken = |run: &&Run| run.holed && run.start > start && run.start < start + LOOK;
        self.runs
            .iter()
            .rev()
            .take_while(|run| run.start > start)
            .find(broken)
            .is_none()
            .then(|| last.place + (start - last.start) as u64)
    }

    /// Looks at the header at `place`, now that the byte after it is there.
    fn look(&mut self, start: usize, place: u64, lane: &Lane) -> Option<u64> {
        let header = self.bytes.get(start..)?.first_chunk::<LOOK>()?;
        let length = plausible(header, lane);
        let chains = self.chains.remove(&place);
        let length = length?;
        let next = place.saturating_add((Envelope::LEN + length) as u64);
        if length == 0 {
            // Runs of zero bytes are common: an empty frame proves nothing, but breaks no chain.
            if let Some(chains) = chains {
                self.chains.entry(next).or_default().extend(chains);
            }
            return None;
        }
        if let Some(first) = chains.and_then(|c| c.into_iter().min()) {
            return Some(first);
        }
        self.chains.entry(next).or_default().push(place);
        None
    }

    fn found(&mut self, place: u64) -> Found {
        let bytes = Bytes::from(std::mem::take(&mut self.bytes));
        let mut rest = Vec::new();
        let mut next = place;
        for (i, run) in self.runs.iter().enumerate() {
            let end = self.runs.get(i + 1).map_or(bytes.len(), |next| next.start);
            let skip = usize::try_from(place.saturating_sub(run.place)).unwrap_or(usize::MAX);
            let from = run.start.saturating_add(skip);
            if from >= end {
                continue;
            }
            let from_place = run.place.max(place);
            if from_place > next {
                rest.push(Piece::Hole(from_place - next));
            }
            next = from_place + (end - from) as u64;
            rest.push(Piece::Bytes(bytes.slice(from..end), run.at.map(|a| a + (from - run.start) as u64)));
        }
        if self.end > next {
            rest.push(Piece::Hole(self.end - next));
        }
        Found { skipped: place, rest }
    }

    /// Gives up the older half of the window.
    fn slide(&mut self) {
        self.bytes.drain(..WINDOW);
        self.seen -= WINDOW;
        let first_kept = self.runs.iter().rposition(|run| run.start <= WINDOW).unwrap_or(0);
        self.runs.drain(..first_kept);
        for run in &mut self.runs {
            let lost = WINDOW.saturating_sub(run.start) as u64;
            run.at = run.at.map(|a| a + lost);
            run.place += lost;
            run.start = run.start.saturating_sub(WINDOW);
        }
        let kept = self.runs.first().map_or(self.end, |run| run.place);
        self.chains.retain(|_, firsts| {
            firsts.retain(|first| *first >= kept);
            !firsts.is_empty()
        });
    }
}

/// The payload length of what may well be a frame of this direction.
fn plausible(&[flags, a, b, c, d, first]: &[u8; LOOK], lane: &Lane) -> Option<usize> {
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    let protocol = rules::spoken(lane, flags);
    if flags & !rules::defined(protocol) != 0 || length > WINDOW - LOOK {
        return None;
    }
    let fits = match rules::kind(protocol, flags) {
        _ if length == 0 => true,
        _ if flags & COMPRESSED != 0 => match lane.encoding.as_deref() {
            Some("gzip") | None => first == 0x1f,
            Some("zstd") => first == 0x28,
            Some(_) => true,
        },
        Kind::EndStream => first == b'{',
        Kind::Trailers => first.is_ascii_alphabetic(),
        Kind::Message => match lane.codec {
            Codec::Json => matches!(first, b'{' | b'['),
            Codec::Other => true,
            // A tag: a field number, and a wire type that is no group's.
            Codec::Proto => matches!(first & 7, 0 | 1 | 2 | 5) && first >> 3 != 0,
        },
    };
    fits.then_some(length)
}
