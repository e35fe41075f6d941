//! The streams of a connection: which are open, and on which side.
//! Never holds bytes.

use std::collections::{BTreeMap, VecDeque};

use crate::pdu::Side;

/// Ended streams that are remembered, so that what was still under way is not taken for a
/// new stream.
const REMEMBERED: usize = 256;

/// One side of a stream.
#[derive(Default, Clone, Copy)]
pub(super) struct SideState {
    /// Anything was seen of it.
    pub begun: bool,
    /// Its head was seen.
    pub headed: bool,
    /// It is over.
    pub ended: bool,
    /// What `content-length` says is still to come, where it says so.
    pub left: Option<u64>,
}

impl SideState {
    fn is_open(self) -> bool {
        self.begun && !self.ended
    }
}

/// One stream.
#[derive(Default)]
pub(super) struct Stream {
    request: SideState,
    response: SideState,
}

impl Stream {
    pub fn side(&mut self, side: Side) -> &mut SideState {
        match side {
            Side::Request => &mut self.request,
            Side::Response => &mut self.response,
        }
    }

    fn state(&self, side: Side) -> SideState {
        match side {
            Side::Request => self.request,
            Side::Response => self.response,
        }
    }
}

/// All streams of a connection.
#[derive(Default)]
pub(super) struct Streams {
    known: BTreeMap<u32, Stream>,
    ended: VecDeque<u32>,
}

impl Streams {
    /// The stream, opened if it is new; `None` for those a server pushes, and for 0.
    pub fn open(&mut self, stream: u32) -> Option<&mut Stream> {
        (stream % 2 == 1).then(|| self.known.entry(stream).or_default())
    }

    /// Whether anything was seen of the stream.
    pub fn knows(&self, stream: u32) -> bool {
        self.known.contains_key(&stream)
    }

    /// Streams above `last`.
    pub fn above(&self, last: u32) -> Vec<u32> {
        self.known.range(last.saturating_add(1)..).map(|(stream, _)| *stream).collect()
    }

    /// Streams of which something was seen on `side`, and that is not over.
    pub fn begun(&self, side: Side) -> Vec<u32> {
        self.with(|stream| stream.state(side).is_open())
    }

    /// Streams not over on `side`: where the capture has that direction at all, requests
    /// without any response too.
    pub fn open_on(&self, side: Side, seen: bool) -> Vec<u32> {
        self.with(|stream| {
            let state = stream.state(side);
            !state.ended && (state.begun || seen && side == Side::Response && stream.request.headed)
        })
    }

    fn with(&self, test: impl Fn(&Stream) -> bool) -> Vec<u32> {
        self.known.iter().filter(|(_, stream)| test(stream)).map(|(id, _)| *id).collect()
    }

    /// Forgets the stream some time after both its sides are over.
    pub fn retire(&mut self, stream: u32) {
        if !self.known.get(&stream).is_some_and(|s| s.request.ended && s.response.ended)
            || self.ended.contains(&stream)
        {
            return;
        }
        self.ended.push_back(stream);
        if self.ended.len() > REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Drops the oldest stream where more than `max` are known; with the sides still open.
    pub fn excess(&mut self, max: usize) -> Option<(u32, Vec<Side>)> {
        if self.known.len() <= max.saturating_add(REMEMBERED) {
            return None;
        }
        let (id, stream) = self.known.pop_first()?;
        let open = |side: &Side| stream.state(*side).is_open();
        Some((id, [Side::Request, Side::Response].into_iter().filter(open).collect()))
    }
}
