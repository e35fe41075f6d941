//! One direction as frames: headers, DATA in pieces, header blocks put together.
//! Never waits for a whole DATA frame, never decodes a header block.

mod holes;

use std::collections::VecDeque;

use bytes::Bytes;

use crate::base::{Code, Limits};
use crate::transport::StreamPart;
use crate::transport::feed::{Feed, Next, Place, Window};

use super::frame::{self, FrameHeader};

/// A header block as it was put together.
#[derive(Debug)]
pub(super) struct RawBlock {
    pub stream: u32,
    /// The stream that PUSH_PROMISE announces.
    pub promised: Option<u32>,
    pub end_stream: bool,
    pub bytes: Vec<u8>,
    /// Whether it is all there.
    pub whole: bool,
    pub place: Place,
}

/// What a direction says next.
#[derive(Debug)]
pub(super) enum Item {
    /// It is known how the direction begins: seen from its first frame or joined later.
    Began {
        fresh: bool,
        preface: bool,
    },
    Data {
        stream: u32,
        bytes: Bytes,
        place: Place,
    },
    /// Bytes of a DATA frame that are not there.
    DataGap {
        stream: u32,
        length: Option<u64>,
    },
    /// END_STREAM on a DATA frame that is over.
    DataEnd {
        stream: u32,
        place: Place,
    },
    Block(RawBlock),
    /// A header block passed of which nothing is there to decode.
    BlockLost,
    Reset {
        stream: u32,
        code: u32,
        place: Place,
    },
    GoAway {
        last: u32,
        place: Place,
    },
    Setting {
        id: u16,
        value: u32,
    },
    /// Whole frames may be missing.
    Lost,
    Odd {
        code: Code,
        text: String,
        place: Place,
    },
    /// The direction is over; `Fin`, `Reset` or `CaptureEnd`.
    Over(StreamPart),
}

enum State {
    Start(Window),
    Search(Window),
    Header,
    Prefix,
    Content,
    Padding,
    Over,
}

/// One direction of a connection.
pub(super) struct Half {
    pub feed: Feed,
    /// Whether any byte was seen.
    pub seen: bool,
    /// Largest SETTINGS_MAX_FRAME_SIZE that binds this direction: what search believes.
    pub max_frame: u32,
    state: State,
    ready: VecDeque<Item>,
    header: FrameHeader,
    place: Place,
    /// Frame header, prefix, or one setting, as far as it is there.
    partial: [u8; 16],
    have: usize,
    content: u32,
    padding: u32,
    block: Option<RawBlock>,
    /// The rest of the open block is of no use.
    deaf: bool,
}

impl Half {
    pub fn new() -> Self {
        Self {
            feed: Feed::default(),
            seen: false,
            max_frame: 1 << 14,
            state: State::Start(Window::default()),
            ready: VecDeque::new(),
            header: FrameHeader::parse([0; FrameHeader::LEN]),
            place: Place::default(),
            partial: [0; 16],
            have: 0,
            content: 0,
            padding: 0,
            block: None,
            deaf: false,
        }
    }

    /// The next item; `None` when the feed has no more.
    pub fn step(&mut self, limits: &Limits) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match self.state {
                State::Prefix if self.have >= self.header.prefix_len() => {
                    self.open_content();
                    continue;
                }
                State::Content if self.content == 0 => {
                    self.state = State::Padding;
                    continue;
                }
                State::Padding if self.padding == 0 => {
                    self.close_frame();
                    continue;
                }
                _ => {}
            }
            match self.feed.next() {
                Next::Empty => return None,
                Next::Bytes => {
                    self.seen = true;
                    self.read(limits);
                }
                Next::Gap(_) | Next::Over if self.settle_search() => {}
                Next::Gap(n) => {
                    self.feed.pop();
                    self.gap(n);
                }
                Next::Over => {
                    let part = self.feed.pop()?;
                    if !matches!(self.state, State::Over) {
                        self.flush_block();
                        self.state = State::Over;
                        self.ready.push_back(Item::Over(part));
                    }
                }
            }
        }
    }

    fn read(&mut self, limits: &Limits) {
        match &mut self.state {
            State::Over => {
                self.feed.pop();
            }
            State::Start(window) => {
                window.absorb(&mut self.feed);
                self.start();
            }
            State::Search(window) => {
                window.absorb(&mut self.feed);
                self.search(false);
            }
            State::Header => {
                if self.have == 0 {
                    self.place = self.feed.place();
                }
                if self.gather(FrameHeader::LEN) {
                    self.have = 0;
                    if let Some(header) = self.partial.first_chunk() {
                        self.open_frame(FrameHeader::parse(*header));
                    }
                }
            }
            State::Prefix => {
                self.gather(self.header.prefix_len());
            }
            State::Content => self.content(limits),
            State::Padding => {
                let (bytes, _) = self.feed.take(self.padding as usize);
                self.padding -= bytes.len() as u32;
            }
        }
    }

    /// Fills `partial` up to `want` octets; whether it is full.
    fn gather(&mut self, want: usize) -> bool {
        let room = self.partial.get_mut(self.have..want).unwrap_or_default();
        let (count, place) = self.feed.copy(room);
        self.place = self.place.until(place);
        self.have += count;
        self.have >= want
    }

    fn open_frame(&mut self, header: FrameHeader) {
        if header.reserved || !header.is_valid() {
            let text = format!(
                "expected a frame header, found type 0x{:02x}, length {}, stream {}",
                header.kind, header.length, header.stream
            );
            self.odd(Code::NetHttp, text);
            let bytes = Bytes::copy_from_slice(self.partial.first_chunk::<9>().map_or(&[], |b| b.as_slice()));
            self.feed.unpop(StreamPart::Data {
                bytes,
                time: self.place.time,
                at: self.place.at.unwrap_or_default(),
            });
            self.lose();
            return;
        }
        self.header = header;
        let continues = header.kind == frame::CONTINUATION
            && self.block.as_ref().is_some_and(|block| block.stream == header.stream);
        if self.block.is_some() && !continues {
            self.odd(Code::NetHttp, "expected CONTINUATION, found another frame".to_owned());
            self.flush_block();
        }
        if header.kind == frame::CONTINUATION && !continues {
            self.odd(Code::NetHttp, "CONTINUATION of a header block whose beginning is not there".to_owned());
            self.ready.push_back(Item::BlockLost);
        }
        self.state = State::Prefix;
    }

    fn open_content(&mut self) {
        let header = self.header;
        let prefix = header.prefix_len();
        let rest = header.length.saturating_sub(prefix as u32);
        let padded = matches!(header.kind, frame::DATA | frame::HEADERS | frame::PUSH_PROMISE)
            && header.has(frame::PADDED);
        self.padding = if padded { u32::from(self.partial[0]) } else { 0 };
        let excess = self.padding > rest;
        if excess {
            self.odd(
                Code::NetHttp,
                format!("{} octets of padding in a frame of {}", self.padding, header.length),
            );
            self.padding = rest;
        }
        self.content = rest - self.padding;
        self.have = 0;
        self.state = State::Content;
        let [a, b, c, d, e, ..] = self.partial;
        match header.kind {
            frame::HEADERS | frame::PUSH_PROMISE => {
                let promised = if padded { [b, c, d, e] } else { [a, b, c, d] };
                self.deaf = false;
                self.block = Some(RawBlock {
                    stream: header.stream,
                    promised: (header.kind == frame::PUSH_PROMISE)
                        .then_some(u32::from_be_bytes(promised) & 0x7fff_ffff),
                    end_stream: header.kind == frame::HEADERS && header.has(frame::END_STREAM),
                    bytes: Vec::new(),
                    whole: !excess,
                    place: self.place,
                });
            }
            frame::RST_STREAM => {
                let code = u32::from_be_bytes([a, b, c, d]);
                self.ready.push_back(Item::Reset { stream: header.stream, code, place: self.place });
            }
            frame::GOAWAY => {
                let last = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
                self.ready.push_back(Item::GoAway { last, place: self.place });
            }
            _ => {}
        }
    }

    fn content(&mut self, limits: &Limits) {
        if self.header.kind == frame::SETTINGS {
            let before = self.have;
            let full = self.gather(6);
            self.content = self.content.saturating_sub((self.have - before) as u32);
            if full {
                self.have = 0;
                let [a, b, c, d, e, f, ..] = self.partial;
                let (id, value) = (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f]));
                self.ready.push_back(Item::Setting { id, value });
            }
            return;
        }
        let (bytes, place) = self.feed.take(self.content as usize);
        self.content -= bytes.len() as u32;
        self.place = self.place.until(place);
        match self.header.kind {
            frame::DATA => self.ready.push_back(Item::Data { stream: self.header.stream, bytes, place }),
            frame::HEADERS | frame::PUSH_PROMISE | frame::CONTINUATION => self.fragment(&bytes, limits),
            _ => {}
        }
    }

    fn fragment(&mut self, bytes: &[u8], limits: &Limits) {
        let Some(block) = self.block.as_mut().filter(|_| !self.deaf) else { return };
        block.place = block.place.until(self.place);
        let room = limits.max_header_block.saturating_sub(block.bytes.len());
        block.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if bytes.len() > room {
            block.whole = false;
            self.deaf = true;
            let text = format!("a header block is longer than {} octets", limits.max_header_block);
            self.odd(Code::LimitReached, text);
        }
    }

    fn close_frame(&mut self) {
        self.state = State::Header;
        self.have = 0;
        let FrameHeader { kind, stream, .. } = self.header;
        match kind {
            frame::DATA if self.header.has(frame::END_STREAM) => {
                self.ready.push_back(Item::DataEnd { stream, place: self.place });
            }
            frame::HEADERS | frame::PUSH_PROMISE | frame::CONTINUATION
                if self.header.has(frame::END_HEADERS) =>
            {
                self.ready.extend(self.block.take().map(Item::Block));
            }
            _ => {}
        }
    }

    /// The open block ends here, whole or not.
    fn flush_block(&mut self) {
        if let Some(mut block) = self.block.take() {
            block.whole = false;
            self.ready.push_back(Item::Block(block));
        }
    }

    fn odd(&mut self, code: Code, text: String) {
        self.ready.push_back(Item::Odd { code, text, place: self.place });
    }
}
