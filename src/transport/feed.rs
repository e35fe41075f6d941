//! The parts of one direction on their way into a parser, and the window of a search.
//! Never says what the bytes mean, never copies what only passes through a [`Feed`].

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::base::{Space, Span, Timestamp};

use super::StreamPart;

/// Where and when a run of bytes was seen.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Place {
    /// When its last byte was seen.
    pub time: Option<Timestamp>,
    /// Where its first byte lies in the capture file.
    pub at: Option<u64>,
}

impl Place {
    /// The span of `len` bytes from here.
    pub fn span(self, len: usize) -> Option<Span> {
        let at = self.at?;
        Some(Span::new(Space::Input, at, at.saturating_add(len as u64)))
    }

    /// This beginning, with the end of `last`.
    pub fn until(self, last: Self) -> Self {
        Self { time: last.time.or(self.time), at: self.at }
    }
}

/// What is next of a direction.
pub(super) enum Next {
    /// At least one byte.
    Bytes,
    /// Bytes are missing: how many, where that is known.
    Gap(Option<u64>),
    /// `Fin`, `Reset` or `CaptureEnd`.
    Over,
    /// Nothing yet.
    Empty,
}

/// Parts in order, consumed from the front.
#[derive(Default)]
pub(super) struct Feed {
    parts: VecDeque<StreamPart>,
}

impl Feed {
    /// Adds the next part.
    pub fn push(&mut self, part: StreamPart) {
        self.parts.push_back(part);
    }

    /// What lies at the front; nothing is consumed.
    pub fn next(&mut self) -> Next {
        loop {
            match self.parts.front() {
                None => return Next::Empty,
                Some(StreamPart::Data { bytes, .. }) if bytes.is_empty() => {
                    self.parts.pop_front();
                }
                Some(StreamPart::Data { .. }) => return Next::Bytes,
                Some(StreamPart::Gap(n)) => return Next::Gap(Some(*n)),
                Some(StreamPart::Lost) => return Next::Gap(None),
                Some(StreamPart::Fin | StreamPart::Reset | StreamPart::CaptureEnd) => return Next::Over,
            }
        }
    }

    /// The bytes of the front part; empty where it is none.
    pub fn bytes(&self) -> &[u8] {
        match self.parts.front() {
            Some(StreamPart::Data { bytes, .. }) => bytes,
            _ => &[],
        }
    }

    /// The place of the front part's first byte.
    pub fn place(&self) -> Place {
        match self.parts.front() {
            Some(StreamPart::Data { time, at, .. }) => Place { time: *time, at: Some(*at) },
            _ => Place::default(),
        }
    }

    /// At most `max` bytes of the front part, as a slice of it.
    pub fn take(&mut self, max: usize) -> (Bytes, Place) {
        let place = self.place();
        match self.parts.front_mut() {
            Some(StreamPart::Data { bytes, .. }) if bytes.len() <= max => {
                let taken = std::mem::take(bytes);
                self.parts.pop_front();
                (taken, place)
            }
            Some(StreamPart::Data { bytes, at, .. }) => {
                *at = at.saturating_add(max as u64);
                (bytes.split_to(max), place)
            }
            _ => (Bytes::new(), place),
        }
    }

    /// Copies bytes of the front part to where there is room for them; gives how many.
    pub fn copy(&mut self, room: &mut [u8]) -> (usize, Place) {
        let place = self.place();
        let Some(StreamPart::Data { bytes, at, .. }) = self.parts.front_mut() else { return (0, place) };
        let count = room.len().min(bytes.len());
        bytes.copy_to_slice(room.get_mut(..count).unwrap_or_default());
        *at = at.saturating_add(count as u64);
        if bytes.is_empty() {
            self.parts.pop_front();
        }
        (count, place)
    }

    /// The front part, whatever it is.
    pub fn pop(&mut self) -> Option<StreamPart> {
        self.parts.pop_front()
    }

    /// Puts a part before all others.
    pub fn unpop(&mut self, part: StreamPart) {
        self.parts.push_front(part);
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        let len = |part: &StreamPart| if let StreamPart::Data { bytes, .. } = part { bytes.len() } else { 0 };
        self.parts.iter().map(len).sum()
    }
}

/// Bytes that a search looks through, with their places.
#[derive(Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// Offset in `bytes` where each run begins; rising.
    runs: VecDeque<(usize, Place)>,
    /// Whether bytes were discarded since the search began.
    pub moved: bool,
    /// Where the search goes on.
    pub from: usize,
}

impl Window {
    /// Takes the front part of the feed in.
    pub fn absorb(&mut self, feed: &mut Feed) {
        let (bytes, place) = feed.take(usize::MAX);
        self.runs.push_back((self.bytes.len(), place));
        self.bytes.extend_from_slice(&bytes);
    }

    /// All bytes held.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops the first `n` bytes.
    pub fn discard(&mut self, n: usize) {
        let n = n.min(self.bytes.len());
        if n == 0 {
            return;
        }
        self.moved = true;
        self.from = self.from.saturating_sub(n);
        self.bytes.drain(..n);
        self.advance(n);
        if self.bytes.is_empty() {
            self.runs.clear();
        }
    }

    /// Takes the first `n` bytes out, as runs that lie together in the capture.
    pub fn split(&mut self, n: usize) -> Vec<(Bytes, Place)> {
        let n = n.min(self.bytes.len());
        let mut out = Vec::new();
        let mut start = 0;
        while start < n {
            let end = self.runs.get(1).map_or(n, |(next, _)| n.min(start + *next));
            let length = end - start;
            out.push((Bytes::copy_from_slice(self.bytes.get(start..end).unwrap_or_default()), self.place()));
            // Offsets of runs count from the first byte that is not yet taken.
            self.advance(length);
            start = end;
        }
        self.bytes.drain(..n);
        self.from = self.from.saturating_sub(n);
        self.moved |= n > 0;
        if self.bytes.is_empty() {
            self.runs.clear();
        }
        out
    }

    fn place(&self) -> Place {
        self.runs.front().map(|(_, place)| *place).unwrap_or_default()
    }

    /// Moves the runs `n` bytes on.
    fn advance(&mut self, n: usize) {
        while self.runs.get(1).is_some_and(|(start, _)| *start <= n) {
            self.runs.pop_front();
        }
        for (start, place) in &mut self.runs {
            if *start < n {
                place.at = place.at.map(|at| at.saturating_add((n - *start) as u64));
            }
            *start = start.saturating_sub(n);
        }
    }

    /// Ends the search at `from`: the bytes from there on go back to the front of the feed.
    pub fn release(mut self, from: usize, feed: &mut Feed) {
        self.discard(from);
        let mut bytes = Bytes::from(self.bytes);
        for (start, place) in self.runs.into_iter().rev() {
            let piece = bytes.split_off(start.min(bytes.len()));
            feed.unpop(StreamPart::Data { bytes: piece, time: place.time, at: place.at.unwrap_or(0) });
        }
    }
}
