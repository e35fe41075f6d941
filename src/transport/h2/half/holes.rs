//! Where frames begin: at the start of a direction, and after a hole.
//! Never invents a byte: what a hole covers is a gap.

use crate::transport::feed::{Next, Window};

use super::super::frame::{self, Found, FrameHeader, PREFACE};
use super::{Half, Item, State};

/// Longest HTTP/1 head before the first frame (the 101 of an upgrade).
const MAX_SWITCH_HEAD: usize = 64 << 10;

impl Half {
    /// Decides how the direction begins: preface, the head of an upgrade, SETTINGS, or
    /// the middle of a connection.
    pub(super) fn start(&mut self) {
        let State::Start(window) = &mut self.state else { return };
        let bytes = window.bytes();
        let n = bytes.len().min(PREFACE.len());
        if bytes.get(..n) == PREFACE.get(..n) {
            if n == PREFACE.len() {
                self.begin(n, true);
            }
            return;
        }
        const VERSION: &[u8] = b"HTTP/1.";
        let n = bytes.len().min(VERSION.len());
        if bytes.get(..n) == VERSION.get(..n) && bytes.len() < MAX_SWITCH_HEAD {
            if let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") {
                std::mem::take(window).release(end + 4, &mut self.feed);
            }
            return;
        }
        let Some(first) = bytes.first_chunk().map(|b| FrameHeader::parse(*b)) else { return };
        if first.kind == frame::SETTINGS && first.flags == 0 && first.is_plausible(self.max_frame) {
            self.begin(0, false);
        } else {
            self.join();
        }
    }

    pub(super) fn begin(&mut self, skip: usize, preface: bool) {
        if let State::Start(window) = std::mem::replace(&mut self.state, State::Header) {
            window.release(skip, &mut self.feed);
        }
        self.ready.push_back(Item::Began { fresh: true, preface });
    }

    pub(super) fn join(&mut self) {
        if let State::Start(window) = &mut self.state {
            self.state = State::Search(std::mem::take(window));
            self.ready.push_back(Item::Began { fresh: false, preface: false });
            self.search(false);
        }
    }

    /// Looks for frames; `over` where the window will not grow. Whether they were found.
    pub(super) fn search(&mut self, over: bool) -> bool {
        let State::Search(window) = &mut self.state else { return false };
        match frame::search(window.bytes(), window.from, self.max_frame, over) {
            Found::At(at) => {
                std::mem::take(window).release(at, &mut self.feed);
                self.have = 0;
                self.state = State::Header;
                true
            }
            Found::Not(at) => {
                window.from = at;
                window.discard(at);
                false
            }
        }
    }

    /// A hole or the end comes while a search waits for more: it decides with what it has.
    /// Whether there is something to read again before the hole.
    pub(super) fn settle_search(&mut self) -> bool {
        if matches!(&self.state, State::Start(window) if !window.bytes().is_empty()) {
            self.join();
        }
        if matches!(self.state, State::Header) && self.have == 0 && matches!(self.feed.next(), Next::Bytes) {
            return true;
        }
        let found = self.search(true);
        if !found && let State::Search(window) = &mut self.state {
            *window = Window::default();
        }
        found
    }

    /// Bytes are missing. A hole inside one payload costs what it covers; one that may
    /// cover a frame header costs the alignment.
    pub(super) fn gap(&mut self, length: Option<u64>) {
        if length == Some(0) {
            return;
        }
        let left = match self.state {
            State::Over => return,
            State::Start(_) => {
                self.state = State::Search(Window::default());
                self.ready.push_back(Item::Began { fresh: false, preface: false });
                return;
            }
            State::Search(_) => return,
            State::Header => 0,
            State::Prefix => self.header.length.saturating_sub(self.have as u32),
            State::Content | State::Padding => self.content.saturating_add(self.padding),
        };
        let Some(n) = length.and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= left) else {
            self.lose();
            return;
        };
        let stream = self.header.stream;
        let is_data = self.header.kind == frame::DATA;
        if matches!(self.state, State::Prefix) {
            // How much is padding is not known, so neither is what remains.
            self.content = 0;
            self.padding = left - n;
            self.state = State::Padding;
            match self.header.kind {
                frame::DATA => self.ready.push_back(Item::DataGap { stream, length: None }),
                frame::HEADERS | frame::PUSH_PROMISE => self.ready.push_back(Item::BlockLost),
                _ => {}
            }
            return;
        }
        let content = n.min(self.content);
        self.content -= content;
        self.padding -= (n - content).min(self.padding);
        if content == 0 {
            return;
        }
        if is_data {
            self.ready.push_back(Item::DataGap { stream, length: Some(u64::from(content)) });
        } else if self.header.kind == frame::SETTINGS {
            self.padding += self.content;
            self.content = 0;
        } else if let Some(block) = &mut self.block {
            block.whole = false;
            self.deaf = true;
        }
    }

    pub(super) fn lose(&mut self) {
        self.flush_block();
        self.have = 0;
        self.state = State::Search(Window::default());
        self.ready.push_back(Item::Lost);
    }
}
