//! One direction as HTTP/1 messages: header blocks, bodies in pieces, trailers.
//! Never waits for a whole chunk, never parses a header block.

mod holes;

use std::collections::VecDeque;

use bytes::Bytes;

use crate::base::{Code, Limits, Severity, Timestamp};
use crate::pdu::Side;
use crate::transport::StreamPart;
use crate::transport::feed::{Feed, Next, Place, Window};

use super::parse::{Framing, chunk_size};
use super::search;

/// Longest chunk-size line, extensions included.
const MAX_SIZE_LINE: usize = 4 << 10;

/// What a direction says next.
#[derive(Debug)]
pub(super) enum Item {
    /// A header block. `cut`: the lines after it are missing.
    Head {
        block: Vec<u8>,
        place: Place,
        cut: bool,
    },
    Body {
        bytes: Bytes,
        place: Place,
    },
    Gap(Option<u64>),
    Trailers {
        block: Vec<u8>,
        place: Place,
    },
    /// The message is over.
    Complete {
        time: Option<Timestamp>,
    },
    /// The middle of a message whose head is not there.
    Headless,
    Odd {
        code: Code,
        severity: Severity,
        text: String,
        place: Place,
        len: usize,
    },
    /// The direction is over; `Fin`, `Reset` or `CaptureEnd`.
    Over(StreamPart),
}

enum State {
    Head,
    /// `chunks`: a chunk may be what is found. `salvage`: what is passed over is the middle of
    /// some body, for it follows a hole or begins the capture. `side`: whose heads are looked
    /// for, as it was known when the search began.
    Search {
        window: Window,
        chunks: bool,
        salvage: bool,
        side: Option<Side>,
    },
    Length(u64),
    Size,
    Chunk(u64),
    /// The line end after a chunk; whether its CR was seen.
    ChunkEnd(bool),
    Trailers,
    UntilClose,
    /// Not HTTP/1 any more, or not known to be: what comes waits in the feed.
    Held,
    Over,
}

/// One direction of a connection.
pub(super) struct Half {
    pub feed: Feed,
    /// Who speaks, once that is known.
    pub side: Option<Side>,
    /// Whether any byte was seen.
    pub seen: bool,
    /// Heads may have been passed over since the last one.
    pub missed: bool,
    /// A message has begun and is not over.
    open: bool,
    /// A head was read before.
    begun: bool,
    state: State,
    ready: VecDeque<Item>,
    /// The header block, trailer section or size line as far as it is there.
    block: Vec<u8>,
    /// Where the last line of `block` begins.
    line: usize,
    place: Place,
}

impl Half {
    pub fn new() -> Self {
        Self {
            feed: Feed::default(),
            side: None,
            seen: false,
            missed: false,
            open: false,
            begun: false,
            state: State::Head,
            ready: VecDeque::new(),
            block: Vec::new(),
            line: 0,
            place: Place::default(),
        }
    }

    /// The next item; `None` when the feed has no more.
    pub fn step(&mut self, limits: &Limits) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match self.state {
                State::Held => return None,
                State::Length(0) => {
                    self.complete();
                    continue;
                }
                State::Chunk(0) => self.state = State::ChunkEnd(false),
                _ => {}
            }
            match self.feed.next() {
                Next::Empty => return None,
                Next::Bytes => {
                    self.seen = true;
                    self.read(limits);
                }
                Next::Gap(_) | Next::Over if self.search(true) => {}
                Next::Gap(n) => {
                    self.feed.pop();
                    self.gap(n);
                }
                Next::Over => {
                    let part = self.feed.pop()?;
                    self.over(part);
                }
            }
        }
    }

    /// The body after the head just given.
    pub fn begin(&mut self, framing: Framing) {
        self.open = true;
        self.state = match framing {
            Framing::None => State::Length(0),
            Framing::Length(n) => State::Length(n),
            Framing::Chunked => State::Size,
            Framing::UntilClose => State::UntilClose,
        };
    }

    /// The head just given is of no message that is followed: an informational response.
    pub fn skip(&mut self) {
        self.open = false;
        if !matches!(self.state, State::Over) {
            self.state = State::Head;
        }
    }

    /// The head just given is none.
    pub fn reject(&mut self) {
        self.open = false;
        self.lose(true, false);
    }

    /// What comes now is not HTTP/1, or that is not known yet.
    pub fn hold(&mut self) {
        if let State::Search { window, .. } = &mut self.state {
            std::mem::take(window).release(0, &mut self.feed);
        }
        self.give_back();
        if !matches!(self.state, State::Over) {
            self.state = State::Held;
        }
    }

    /// Puts back a header block that is not HTTP/1's.
    pub fn put_back(&mut self, block: Vec<u8>, place: Place) {
        self.feed.unpop(data(block, place));
    }

    /// What was held is HTTP/1 after all.
    pub fn resume(&mut self) {
        if self.is_held() {
            self.state = State::Head;
        }
    }

    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Held)
    }

    fn read(&mut self, limits: &Limits) {
        match &mut self.state {
            State::Held => {}
            State::Over => {
                self.feed.pop();
            }
            State::Head => self.head(limits),
            State::Search { window, .. } => {
                window.absorb(&mut self.feed);
                self.search(false);
            }
            State::Length(left) | State::Chunk(left) => {
                let (bytes, place) = self.feed.take(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= bytes.len() as u64;
                self.place = place;
                self.ready.push_back(Item::Body { bytes, place });
            }
            State::UntilClose => {
                let (bytes, place) = self.feed.take(usize::MAX);
                self.place = place;
                self.ready.push_back(Item::Body { bytes, place });
            }
            State::Size => self.size(),
            State::ChunkEnd(seen) => {
                let seen = *seen;
                match self.feed.bytes().first() {
                    Some(b'\r') if !seen => self.state = State::ChunkEnd(true),
                    Some(b'\n') => self.state = State::Size,
                    _ => {
                        self.place = self.feed.place();
                        self.odd("expected a line end after a chunk, found other bytes");
                        self.lose_chunks(false);
                        return;
                    }
                }
                self.feed.take(1);
            }
            State::Trailers => self.trailers(limits),
        }
    }

    /// Takes bytes to the end of the line into `block`; whether the line is whole. Never
    /// lets `block` grow past `max` by more than one.
    fn gather(&mut self, max: usize) -> bool {
        let room = max.saturating_add(1).saturating_sub(self.block.len());
        let line = memchr::memchr(b'\n', self.feed.bytes()).map_or(usize::MAX, |at| at + 1);
        let (bytes, place) = self.feed.take(line.min(room));
        self.place = if self.block.is_empty() { place } else { self.place.until(place) };
        self.block.extend_from_slice(&bytes);
        bytes.ends_with(b"\n")
    }

    /// Whether the line just gathered is empty; the next one begins.
    fn at_blank_line(&mut self) -> bool {
        let line = self.block.get(self.line..).unwrap_or_default();
        let blank = matches!(line, b"\n" | b"\r\n");
        self.line = self.block.len();
        blank
    }

    fn take_block(&mut self) -> Vec<u8> {
        self.line = 0;
        std::mem::take(&mut self.block)
    }

    /// Puts what was gathered back into the feed.
    fn give_back(&mut self) {
        let block = self.take_block();
        if !block.is_empty() {
            self.feed.unpop(data(block, self.place));
        }
    }

    fn head(&mut self, limits: &Limits) {
        if self.block.is_empty() {
            // RFC 9112, section 2.2: empty lines before a start line are ignored.
            let empty = self.feed.bytes().iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            if empty > 0 {
                self.feed.take(empty);
                return;
            }
        }
        let whole = self.gather(limits.max_header_block);
        let first = self.block.get(..32).unwrap_or(&self.block);
        if !search::may_be_head(first, self.side) {
            let broken = self.begun && !self.missed;
            // How much of the line is there depends on how the bytes were split: the first counts.
            self.give_back();
            if broken {
                self.odd("expected a start line, found other bytes");
            }
            self.lose(true, !broken);
        } else if self.block.len() > limits.max_header_block {
            self.too_long(limits);
            self.lose(true, false);
        } else if whole && self.at_blank_line() {
            self.begun = true;
            let block = self.take_block();
            self.ready.push_back(Item::Head { block, place: self.place, cut: false });
        }
    }

    fn size(&mut self) {
        let whole = self.gather(MAX_SIZE_LINE);
        if !whole && self.block.len() <= MAX_SIZE_LINE {
            return;
        }
        match chunk_size(&self.block).filter(|_| whole) {
            Some(0) => self.state = State::Trailers,
            Some(size) => self.state = State::Chunk(size),
            None => {
                self.odd("expected the size of a chunk, found other bytes");
                self.give_back();
                self.lose_chunks(false);
            }
        }
        self.take_block();
    }

    fn trailers(&mut self, limits: &Limits) {
        let whole = self.gather(limits.max_header_block);
        if self.block.len() > limits.max_header_block {
            self.too_long(limits);
            self.complete();
            self.lose(true, false);
        } else if whole && self.at_blank_line() {
            let block = self.take_block();
            if block.len() > 2 {
                self.ready.push_back(Item::Trailers { block, place: self.place });
            }
            self.complete();
        }
    }

    fn complete(&mut self) {
        self.open = false;
        self.state = State::Head;
        self.ready.push_back(Item::Complete { time: self.place.time });
    }

    fn over(&mut self, part: StreamPart) {
        match self.state {
            State::Over => return,
            State::UntilClose if part == StreamPart::Fin => self.complete(),
            State::Head if !self.block.is_empty() => {
                let len = self.block.len();
                let severity =
                    if part == StreamPart::CaptureEnd { Severity::Note } else { Code::NetHttp.severity() };
                self.ready.push_back(Item::Odd {
                    code: Code::NetHttp,
                    severity,
                    text: "the stream ends inside a message head".to_owned(),
                    place: self.place,
                    len,
                });
                self.cut_head();
            }
            _ => {}
        }
        self.state = State::Over;
        self.take_block();
        self.ready.push_back(Item::Over(part));
    }

    fn too_long(&mut self, limits: &Limits) {
        let text = format!("a header block is longer than {} bytes", limits.max_header_block);
        let code = Code::LimitReached;
        let (place, len) = (self.place, self.block.len());
        self.ready.push_back(Item::Odd { code, severity: code.severity(), text, place, len });
    }

    fn odd(&mut self, text: &str) {
        let code = Code::NetHttp;
        let (text, place) = (text.to_owned(), self.place);
        // How far the oddity goes is not known, only where it begins.
        let len = 1;
        self.ready.push_back(Item::Odd { code, severity: code.severity(), text, place, len });
    }
}

fn data(block: Vec<u8>, place: Place) -> StreamPart {
    StreamPart::Data { bytes: Bytes::from(block), time: place.time, at: place.at.unwrap_or_default() }
}
