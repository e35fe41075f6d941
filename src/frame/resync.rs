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

/// The bytes since the loss. A place is taken at the moment that the byte comes which proves it,
/// so how the bytes are split makes no difference.
pub(super) struct Search {
    bytes: Vec<u8>,
    /// Where runs of `bytes` begin, here and in the capture.
    runs: Vec<(usize, Option<u64>)>,
    /// How many of `bytes` have been looked at.
    seen: usize,
    /// Bytes that came before `bytes` and are given up.
    dropped: u64,
    /// By the place where their next header must lie: chains of plausible frames, each by its beginning.
    chains: BTreeMap<usize, Vec<usize>>,
}

/// Where frames go on.
pub(super) struct Found {
    /// Bytes since the loss that belong to no frame.
    pub skipped: u64,
    /// The bytes from there on, each run with its place in the capture.
    pub rest: Vec<(Bytes, Option<u64>)>,
}

impl Search {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), runs: Vec::new(), seen: 0, dropped: 0, chains: BTreeMap::new() }
    }

    /// How many bytes came since the loss.
    pub fn skipped(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    pub fn push(&mut self, bytes: &[u8], at: Option<u64>, lane: &Lane) -> Option<Found> {
        let follows = self.runs.last().is_some_and(|(start, run_at)| {
            run_at.map(|a| a + (self.bytes.len() - start) as u64) == at && (at.is_some() || run_at.is_none())
        });
        if !follows {
            self.runs.push((self.bytes.len(), at));
        }
        self.bytes.extend_from_slice(bytes);
        while self.seen < self.bytes.len() {
            self.seen += 1;
            if let Some(place) = self.seen.checked_sub(LOOK).and_then(|place| self.look(place, lane)) {
                return Some(self.found(place));
            }
            if self.seen == 2 * WINDOW {
                self.slide();
            }
        }
        None
    }

    /// At the end of the body: frames that end exactly there are believed too.
    pub fn end(&mut self) -> Option<Found> {
        let place = self.chains.get(&self.bytes.len())?.iter().min().copied()?;
        Some(self.found(place))
    }

    /// Looks at the header at `place`, now that the byte after it is there.
    fn look(&mut self, place: usize, lane: &Lane) -> Option<usize> {
        let header = self.bytes.get(place..)?.first_chunk::<LOOK>()?;
        let length = plausible(header, lane);
        let chains = self.chains.remove(&place);
        let length = length?;
        if length == 0 {
            // Runs of zero bytes are common: an empty frame proves nothing, but breaks no chain.
            if let Some(chains) = chains {
                self.chains.entry(place + Envelope::LEN).or_default().extend(chains);
            }
            return None;
        }
        if let Some(first) = chains.and_then(|c| c.into_iter().min()) {
            return Some(first);
        }
        self.chains.entry(place + Envelope::LEN + length).or_default().push(place);
        None
    }

    fn found(&mut self, place: usize) -> Found {
        let skipped = self.dropped + place as u64;
        let bytes = Bytes::from(std::mem::take(&mut self.bytes));
        let mut rest = Vec::new();
        for (i, (start, at)) in self.runs.iter().enumerate() {
            let end = self.runs.get(i + 1).map_or(bytes.len(), |(next, _)| *next);
            let from = place.max(*start);
            if from < end {
                rest.push((bytes.slice(from..end), at.map(|a| a + (from - start) as u64)));
            }
        }
        Found { skipped, rest }
    }

    /// Gives up the older half of the window.
    fn slide(&mut self) {
        self.bytes.drain(..WINDOW);
        self.seen -= WINDOW;
        self.dropped += WINDOW as u64;
        let first_kept = self.runs.iter().rposition(|(start, _)| *start <= WINDOW).unwrap_or(0);
        self.runs.drain(..first_kept);
        for (start, at) in &mut self.runs {
            *at = at.map(|a| a + WINDOW.saturating_sub(*start) as u64);
            *start = start.saturating_sub(WINDOW);
        }
        let chains = std::mem::take(&mut self.chains);
        for (next, firsts) in chains {
            let firsts: Vec<_> = firsts.into_iter().filter_map(|f| f.checked_sub(WINDOW)).collect();
            if let (Some(next), false) = (next.checked_sub(WINDOW), firsts.is_empty()) {
                self.chains.insert(next, firsts);
            }
        }
    }
}

/// The payload length of what may well be a frame of this direction.
fn plausible(&[flags, a, b, c, d, first]: &[u8; LOOK], lane: &Lane) -> Option<usize> {
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if flags & !rules::defined(lane.protocol) != 0 || length > WINDOW - LOOK {
        return None;
    }
    let fits = match rules::kind(lane.protocol, flags) {
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
