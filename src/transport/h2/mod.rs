//! HTTP/2 (RFC 9113): the frames of a connection into the exchanges of its streams.
//! Never waits for a whole frame of data, never gives a header that it only guesses.

mod frame;
mod half;
mod headers;
mod hpack;
mod huffman;
mod streams;
mod table;

use std::sync::Arc;

use crate::base::{Code, Cx, Finding, Severity};
use crate::pdu::{Conn, End, HttpEvent, HttpPart, Side, StreamKey};

use super::feed::Place;
use super::{Dir, StreamPart};
use half::{Half, Item, RawBlock};
use headers::Fields;
use hpack::{Decoder, Fault};
use streams::Streams;

/// Longest frame that a search waits for, whatever SETTINGS_MAX_FRAME_SIZE allows: so much is
/// held meanwhile.
const MAX_SEARCHED_FRAME: u32 = 1 << 20;

/// One HTTP/2 connection, or what the capture has of it.
pub struct Connection {
    conn: Arc<Conn>,
    /// Whether the directions were taken the wrong way round; decided by the preface or the
    /// first head.
    flipped: Option<bool>,
    halves: [Half; 2],
    decoders: [Decoder; 2],
    streams: Streams,
    /// The key of stream 1 where HTTP/1.1 sent its request.
    upgraded: Option<StreamKey>,
    told_lost: [bool; 2],
    told_push: bool,
}

impl Connection {
    /// A connection that may have begun before the capture.
    pub fn new(conn: Arc<Conn>) -> Self {
        Self {
            conn,
            flipped: None,
            halves: [Half::new(), Half::new()],
            decoders: [Decoder::new(), Decoder::new()],
            streams: Streams::default(),
            upgraded: None,
            told_lost: [false; 2],
            told_push: false,
        }
    }

    /// A connection that HTTP/1.1 was upgraded to (RFC 7540, section 3.2): stream 1 is
    /// half-closed, and its response belongs to `request`.
    pub fn upgraded(conn: Arc<Conn>, request: StreamKey) -> Self {
        let mut new = Self { upgraded: Some(request), ..Self::new(conn) };
        if let Some(stream) = new.streams.open(1) {
            let side = stream.side(Side::Request);
            side.begun = true;
            side.headed = true;
            side.ended = true;
        }
        new
    }

    /// Takes the next part of one direction.
    pub fn push(&mut self, dir: Dir, part: StreamPart, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        self.half(dir).feed.push(part);
        while let Some(item) = self.half(dir).step(cx.limits) {
            self.item(dir, item, cx, out);
        }
    }

    /// The capture has no more of the connection.
    pub fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        self.push(Dir::ToServer, StreamPart::CaptureEnd, cx, out);
        self.push(Dir::ToClient, StreamPart::CaptureEnd, cx, out);
    }

    /// Whether the directions were taken the wrong way round. Events are right all the same.
    pub fn direction_wrong(&self) -> bool {
        self.flipped == Some(true)
    }

    fn half(&mut self, dir: Dir) -> &mut Half {
        let [to_server, to_client] = &mut self.halves;
        match dir {
            Dir::ToServer => to_server,
            Dir::ToClient => to_client,
        }
    }

    fn decoder(&mut self, dir: Dir) -> &mut Decoder {
        let [to_server, to_client] = &mut self.decoders;
        match dir {
            Dir::ToServer => to_server,
            Dir::ToClient => to_client,
        }
    }

    fn side(&self, dir: Dir) -> Side {
        match if self.flipped == Some(true) { dir.flip() } else { dir } {
            Dir::ToServer => Side::Request,
            Dir::ToClient => Side::Response,
        }
    }

    fn item(&mut self, dir: Dir, item: Item, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        let side = self.side(dir);
        match item {
            Item::Began { fresh, preface } => {
                if !fresh {
                    *self.decoder(dir) = Decoder::unknown();
                }
                if preface {
                    self.flipped = Some(dir == Dir::ToClient);
                }
            }
            Item::Data { stream, bytes, place } => {
                self.body(stream, side, place, HttpPart::Body(bytes), cx, out)
            }
            Item::DataGap { stream, length } => {
                self.body(stream, side, Place::default(), HttpPart::Gap(length), cx, out);
            }
            Item::DataEnd { stream, place } => self.end(stream, side, place, End::Complete, cx, out),
            Item::Block(block) => self.block(dir, block, cx, out),
            Item::BlockLost => self.decoder(dir).lose(),
            Item::Reset { stream, code, place } => {
                if self.streams.knows(stream) {
                    self.end(stream, Side::Request, place, End::Reset { code }, cx, out);
                    self.end(stream, Side::Response, place, End::Reset { code }, cx, out);
                }
            }
            Item::GoAway { last, place } => {
                // A client's names pushed streams, which are not followed.
                if side == Side::Response {
                    for stream in self.streams.above(last) {
                        self.end(stream, Side::Request, place, End::Closed, cx, out);
                        self.end(stream, Side::Response, place, End::Closed, cx, out);
                    }
                }
            }
            Item::Setting { id: frame::HEADER_TABLE_SIZE, value } => self.decoder(dir.flip()).allow(value),
            Item::Setting { id: frame::MAX_FRAME_SIZE, value } => {
                let half = self.half(dir.flip());
                half.max_frame = half.max_frame.max(value.min(MAX_SEARCHED_FRAME));
            }
            Item::Setting { .. } => {}
            Item::Lost => {
                self.decoder(dir).lose();
                for stream in self.streams.begun(side) {
                    if let Some(stream) = self.streams.open(stream) {
                        stream.side(side).left = None;
                    }
                    self.emit(stream, side, Place::default(), HttpPart::Gap(None), out);
                }
            }
            Item::Odd { code, text, place } => {
                find(cx, Finding::new(code, text), place, frame::FrameHeader::LEN)
            }
            Item::Over(part) => {
                let end = if part == StreamPart::CaptureEnd { End::CaptureEnd } else { End::Closed };
                let seen = self.half(dir).seen;
                for stream in self.streams.open_on(side, seen) {
                    self.end(stream, side, Place::default(), end.clone(), cx, out);
                }
            }
        }
    }

    fn body(
        &mut self,
        stream: u32,
        side: Side,
        place: Place,
        part: HttpPart,
        cx: &mut Cx<'_>,
        out: &mut Vec<HttpEvent>,
    ) {
        self.make_room(cx, out);
        let Some(state) = self.streams.open(stream).map(|s| s.side(side)).filter(|s| !s.ended) else {
            return;
        };
        state.left = match &part {
            HttpPart::Body(bytes) => state.left.and_then(|left| left.checked_sub(bytes.len() as u64)),
            HttpPart::Gap(Some(n)) => state.left.and_then(|left| left.checked_sub(*n)),
            _ => None,
        };
        // No head: the beginning of the body is not there either.
        let headless = !std::mem::replace(&mut state.begun, true);
        if headless {
            self.emit(stream, side, place, HttpPart::Gap(None), out);
        }
        if !headless || part != HttpPart::Gap(None) {
            self.emit(stream, side, place, part, out);
        }
    }

    fn end(
        &mut self,
        stream: u32,
        side: Side,
        place: Place,
        end: End,
        cx: &mut Cx<'_>,
        out: &mut Vec<HttpEvent>,
    ) {
        self.make_room(cx, out);
        let Some(state) = self.streams.open(stream).map(|s| s.side(side)) else { return };
        if !std::mem::replace(&mut state.ended, true) {
            // All of the body was there, END_STREAM only was not.
            let whole = state.left == Some(0) && matches!(end, End::Closed | End::CaptureEnd);
            let end = if whole { End::Complete } else { end };
            self.emit(stream, side, place, HttpPart::End(end), out);
        }
        self.streams.retire(stream);
    }

    /// The longest open stream gives way where too many are open.
    fn make_room(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        while let Some((stream, open)) = self.streams.excess(cx.limits.max_calls) {
            for side in open {
                let text = format!("more than {} streams are open: one is given up", cx.limits.max_calls);
                cx.find(Finding::new(Code::LimitReached, text));
                self.emit(stream, side, Place::default(), HttpPart::End(End::Closed), out);
            }
        }
    }

    /// Every block is decoded, wanted or not: the table of the direction depends on it.
    fn block(&mut self, dir: Dir, raw: RawBlock, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        let mut block = self.decoder(dir).decode(&raw.bytes, cx.limits.max_header_block);
        if !raw.whole {
            self.decoder(dir).lose();
            block.faults.retain(|fault| *fault != Fault::Truncated);
            block.lost = block.lost.max(1);
        }
        for fault in &block.faults {
            find(cx, fault_finding(*fault), raw.place, frame::FrameHeader::LEN);
        }
        if let Some(told) = self.told_lost.get_mut(dir.index())
            && block.unseen > 0
            && !std::mem::replace(told, true)
        {
            let text = "header fields refer to table entries that were sent before the capture can tell";
            // What that costs is said of each call that cannot be typed without.
            let finding = Finding::new(Code::NetHpackLost, text).severity(Severity::Note);
            find(cx, finding, raw.place, frame::FrameHeader::LEN);
        }
        if let Some(promised) = raw.promised {
            if !std::mem::replace(&mut self.told_push, true) {
                let text = format!("the server pushes stream {promised}: pushed streams are not followed");
                let finding = Finding::new(Code::NetHttp, text).severity(Severity::Note);
                find(cx, finding, raw.place, frame::FrameHeader::LEN);
            }
            return;
        }
        self.message(dir, &raw, Fields::new(block), cx, out);
    }

    fn message(
        &mut self,
        dir: Dir,
        raw: &RawBlock,
        fields: Fields,
        cx: &mut Cx<'_>,
        out: &mut Vec<HttpEvent>,
    ) {
        let (stream, place) = (raw.stream, raw.place);
        if self.flipped.is_none() && (fields.is_request || fields.is_response) {
            self.flipped = Some((dir == Dir::ToServer) == fields.is_response);
        }
        let side = self.side(dir);
        self.make_room(cx, out);
        let Some(state) = self.streams.open(stream).map(|s| s.side(side)) else { return };
        if state.ended {
            return;
        }
        let pseudo = fields.is_request || fields.is_response;
        if !fields.is_informational() {
            let is_head = !state.headed
                && match side {
                    Side::Request => pseudo || !state.begun,
                    // `:status` is in the static table: without it these are trailers, unless
                    // the block itself has a hole.
                    Side::Response => pseudo || !raw.whole && !state.begun && !raw.end_stream,
                };
            let again = state.headed && pseudo;
            state.begun = true;
            if is_head {
                state.headed = true;
                state.left = fields.headers.get("content-length").and_then(|length| length.parse().ok());
                let head = Arc::new(fields.into_head(side));
                self.emit(stream, side, place, HttpPart::Head(head), out);
            } else {
                if again {
                    let finding = Finding::new(Code::NetHttp, "expected trailers, found a second head");
                    find(cx, finding, place, frame::FrameHeader::LEN);
                }
                self.emit(stream, side, place, HttpPart::Trailers(fields.headers), out);
            }
        }
        if raw.end_stream {
            self.end(stream, side, place, End::Complete, cx, out);
        }
    }

    fn emit(&self, stream: u32, side: Side, place: Place, part: HttpPart, out: &mut Vec<HttpEvent>) {
        let key = match self.upgraded {
            Some(key) if stream == 1 => key,
            _ => StreamKey { conn: self.conn.id, stream },
        };
        out.push(HttpEvent { conn: Arc::clone(&self.conn), key, side, time: place.time, at: place.at, part });
    }
}

fn find(cx: &mut Cx<'_>, finding: Finding, place: Place, len: usize) {
    cx.find(match place.span(len) {
        Some(span) => finding.at(span),
        None => finding,
    });
}

fn fault_finding(fault: Fault) -> Finding {
    let text = match fault {
        Fault::Index(index) => format!("header table index {index} stands for nothing"),
        Fault::Huffman => "a header string breaks the Huffman code".to_owned(),
        Fault::Integer => "an integer in a header block does not fit in 35 bits".to_owned(),
        Fault::Truncated => "a header block ends inside a field".to_owned(),
        Fault::TableSize(size) => format!("a header table of {size} octets, more than the peer allows"),
        Fault::TooLarge => {
            return Finding::new(Code::LimitReached, "a header list is longer than the limit");
        }
    };
    Finding::new(Code::NetHttp, text)
}

#[cfg(test)]
mod tests;
