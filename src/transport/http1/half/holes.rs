//! Holes, and how a direction is read again after them.
//! Never invents a byte: what a hole covers is a gap.

use bytes::Bytes;

use crate::transport::feed::{Place, Window};

use super::super::search::{self, Found, Want};
use super::{Half, Item, State};

impl Half {
    /// Goes on where a head or a chunk is found; `over` where the window will not grow.
    /// Whether one was.
    pub(super) fn search(&mut self, over: bool) -> bool {
        let State::Search { window, chunks, salvage, side } = &mut self.state else { return false };
        let salvage = *salvage;
        let want = Want { side: *side, chunks: *chunks, at_start: !window.moved, over };
        let found = search::search(window.bytes(), window.from, want);
        // Where the body bytes that are passed over end, and where reading goes on.
        let (end, at) = match found {
            Found::Head(at) => (at, at),
            Found::Not(_) if over => (window.bytes().len(), window.bytes().len()),
            Found::Not(at) => {
                window.from = at;
                (at, at)
            }
            Found::Chunk(at) => {
                let before = window.bytes().get(..at).unwrap_or_default();
                let before = before.strip_suffix(b"\n").unwrap_or(before);
                (before.strip_suffix(b"\r").unwrap_or(before).len(), at)
            }
        };
        let passed = if salvage { window.split(end) } else { Vec::new() };
        window.discard(if salvage { at - end } else { at });
        if matches!(found, Found::Not(_)) {
            self.pass_over(passed);
            return false;
        }
        std::mem::take(window).release(0, &mut self.feed);
        self.pass_over(passed);
        if matches!(found, Found::Chunk(_)) {
            self.open_headless();
            self.state = State::Size;
        } else {
            if self.open {
                self.complete();
            }
            self.state = State::Head;
        }
        true
    }

    pub(super) fn pass_over(&mut self, passed: Vec<(Bytes, Place)>) {
        if !passed.is_empty() {
            self.open_headless();
        }
        self.ready.extend(passed.into_iter().map(|(bytes, place)| Item::Body { bytes, place }));
    }

    /// What comes is of the message under way, or of one whose head is not there.
    pub(super) fn open_headless(&mut self) {
        self.missed = false;
        if !std::mem::replace(&mut self.open, true) {
            self.ready.push_back(Item::Headless);
        }
    }

    /// The place in the stream is lost.
    pub(super) fn lose(&mut self, chunks: bool, salvage: bool) {
        self.take_block();
        if matches!(self.state, State::Over) {
            return;
        }
        self.missed = true;
        self.state = State::Search { window: Window::default(), chunks, salvage, side: self.side };
    }

    pub(super) fn lose_chunks(&mut self, salvage: bool) {
        self.ready.push_back(Item::Gap(None));
        self.lose(true, salvage);
    }

    pub(super) fn gap(&mut self, length: Option<u64>) {
        if length == Some(0) {
            return;
        }
        match (&mut self.state, length) {
            (State::Over | State::Held, _) => {}
            (State::Search { window, salvage, .. }, _) => {
                *window = Window::default();
                *salvage = true;
                if self.open {
                    self.ready.push_back(Item::Gap(None));
                }
            }
            (State::UntilClose, n) => self.ready.push_back(Item::Gap(n)),
            (State::Length(left) | State::Chunk(left), Some(n)) if n <= *left => {
                *left -= n;
                self.ready.push_back(Item::Gap(Some(n)));
            }
            (State::Length(left), Some(_)) => {
                let left = *left;
                self.ready.push_back(Item::Gap(Some(left)));
                self.complete();
                self.lose(true, true);
            }
            (State::Length(_), None) => {
                self.ready.push_back(Item::Gap(None));
                self.lose(false, true);
            }
            // The line end after the chunk is of two bytes, as everyone sends it.
            (State::Chunk(left), Some(n)) if n - *left <= 2 => {
                let (left, past) = (*left, n - *left);
                self.ready.push_back(Item::Gap(Some(left)));
                self.state = if past == 2 { State::Size } else { State::ChunkEnd(true) };
            }
            (State::ChunkEnd(seen), Some(n)) if n == if *seen { 1 } else { 2 } => self.state = State::Size,
            (State::Chunk(_) | State::ChunkEnd(_) | State::Size, _) => self.lose_chunks(true),
            (State::Trailers, _) => {
                self.complete();
                self.lose(true, true);
            }
            (State::Head, _) => {
                self.cut_head();
                self.lose(true, true);
            }
        }
    }

    /// The lines of a head that are there before a hole or the end; its first must be whole.
    pub(super) fn cut_head(&mut self) {
        if self.line == 0 {
            return;
        }
        let mut block = self.take_block();
        block.truncate(memchr::memrchr(b'\n', &block).map_or(0, |at| at + 1));
        block.extend_from_slice(b"\r\n");
        self.open = true;
        self.ready.push_back(Item::Head { block, place: self.place, cut: true });
        self.ready.push_back(Item::Gap(None));
    }
}
