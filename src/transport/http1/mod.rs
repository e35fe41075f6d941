//! HTTP/1.0 and 1.1 (RFC 9112): the messages of a connection into exchanges.
//! Never waits for a whole body, never undoes a content coding.

mod half;
mod pairing;
mod parse;
mod search;

use std::sync::Arc;

use crate::base::{Code, Cx, Finding};
use crate::pdu::{Conn, End, HttpEvent, HttpPart, Side, Start, StreamKey};

use super::feed::Place;
use super::{Dir, StreamPart};
use half::{Half, Item};
use pairing::{Method, Pairing};
use parse::{Framing, Parsed};

/// What a connection becomes when HTTP/1 ends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upgrade {
    /// HTTP/2 in the clear (RFC 7540, section 3.2). The key is that of the request that
    /// asked for it, which is stream 1 from now on; `None` where only a preface was seen.
    H2c(Option<StreamKey>),
    /// Bytes of any protocol: a CONNECT tunnel, or an upgrade to something else.
    Tunnel,
}

/// One HTTP/1 connection, or what the capture has of it.
pub struct Connection {
    conn: Arc<Conn>,
    halves: [Half; 2],
    pairing: Pairing,
    /// The request and the response under way.
    open: [Option<Open>; 2],
    upgrade: Option<Upgrade>,
    /// The response under way opens a tunnel when its head is over.
    tunnels: bool,
}

#[derive(Clone, Copy)]
struct Open {
    stream: u32,
    method: Method,
}

impl Connection {
    /// A connection that may have begun before the capture.
    pub fn new(conn: Arc<Conn>) -> Self {
        Self {
            conn,
            halves: [Half::new(), Half::new()],
            pairing: Pairing::default(),
            open: [None; 2],
            upgrade: None,
            tunnels: false,
        }
    }

    /// The capture has the connection from its first byte (the handshake was seen): a
    /// response captured before its request is then still known to answer it.
    pub fn from_start(mut self) -> Self {
        self.pairing.from_start = true;
        self
    }

    /// Takes the next part of one direction.
    pub fn push(&mut self, dir: Dir, part: StreamPart, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        self.half(dir).feed.push(part);
        self.run(dir, cx, out);
        // The other direction may have waited for what was just read.
        self.run(dir.flip(), cx, out);
        let half = self.half(dir);
        if half.is_held() && half.feed.len() > cx.limits.max_header_block {
            self.upgrade.get_or_insert(Upgrade::Tunnel);
        }
    }

    /// The capture has no more of the connection. Where a tunnel was asked for and the answer
    /// is not in the capture, [`Connection::take_upgrade`] may still give it afterwards.
    pub fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        for dir in [Dir::ToServer, Dir::ToClient] {
            if !self.half(dir).is_held() {
                self.push(dir, StreamPart::CaptureEnd, cx, out);
            }
        }
        if self.halves.iter().any(|half| half.is_held() && half.feed.len() > 0) {
            self.upgrade.get_or_insert(Upgrade::Tunnel);
        }
    }

    /// What the connection has become, once.
    pub fn take_upgrade(&mut self) -> Option<Upgrade> {
        self.upgrade.take()
    }

    /// After an upgrade: the next part of a direction that was not HTTP/1 any more.
    pub fn leftover(&mut self, dir: Dir) -> Option<StreamPart> {
        let half = self.half(dir);
        half.hold();
        half.feed.pop()
    }

    /// Whether the directions were taken the wrong way round. Events are right all the same.
    pub fn direction_wrong(&self) -> bool {
        self.halves.first().is_some_and(|half| half.side == Some(Side::Response))
    }

    fn half(&mut self, dir: Dir) -> &mut Half {
        let [to_server, to_client] = &mut self.halves;
        match dir {
            Dir::ToServer => to_server,
            Dir::ToClient => to_client,
        }
    }

    fn run(&mut self, dir: Dir, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        while let Some(item) = self.half(dir).step(cx.limits) {
            self.item(dir, item, cx, out);
        }
    }

    /// Who speaks in this direction: as its first head says, else as it was guessed.
    fn side(&mut self, dir: Dir) -> Side {
        let guess = match dir {
            Dir::ToServer => Side::Request,
            Dir::ToClient => Side::Response,
        };
        self.half(dir).side.unwrap_or(guess)
    }

    fn settle_sides(&mut self, dir: Dir, side: Side) {
        self.half(dir).side.get_or_insert(side);
        self.half(dir.flip()).side.get_or_insert(side.peer());
    }

    fn open(&mut self, side: Side) -> &mut Option<Open> {
        let [request, response] = &mut self.open;
        match side {
            Side::Request => request,
            Side::Response => response,
        }
    }

    fn item(&mut self, dir: Dir, item: Item, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        let side = self.side(dir);
        match item {
            Item::Head { block, place, cut } => self.head(dir, block, place, cut, cx, out),
            Item::Body { bytes, place } => self.emit(side, place, HttpPart::Body(bytes), out),
            Item::Gap(length) => self.emit(side, Place::default(), HttpPart::Gap(length), out),
            Item::Trailers { block, place } => match parse::trailers(&block) {
                Ok(headers) => self.emit(side, place, HttpPart::Trailers(headers), out),
                Err(error) => {
                    let finding = Finding::new(Code::NetHttp, format!("trailers do not parse: {error}"));
                    find(cx, finding, place, block.len());
                }
            },
            Item::Complete { time } => self.complete(dir, side, Place { time, at: None }, out),
            Item::Headless => {
                self.settle_sides(dir, side);
                let max = cx.limits.max_pipelined;
                let stream = match side {
                    Side::Request => self.pairing.request(false, Method::Other, false, max),
                    Side::Response => self.pairing.response(false, max).stream,
                };
                *self.open(side) = Some(Open { stream, method: Method::Other });
                self.emit(side, Place::default(), HttpPart::Gap(None), out);
            }
            Item::Odd { code, severity, text, place, len } => {
                find(cx, Finding::new(code, text).severity(severity), place, len);
            }
            Item::Over(part) => self.over(dir, side, part, out),
        }
    }

    fn head(
        &mut self,
        dir: Dir,
        block: Vec<u8>,
        place: Place,
        cut: bool,
        cx: &mut Cx<'_>,
        out: &mut Vec<HttpEvent>,
    ) {
        let is_response = block.starts_with(b"HTTP/");
        if !is_response && block.starts_with(b"PRI * HTTP/2.0") {
            self.half(dir).put_back(block, place);
            let key =
                self.pairing.front().filter(|waiting| waiting.h2c).map(|waiting| self.key(waiting.stream));
            self.become_other(Upgrade::H2c(key));
            return;
        }
        let mut parsed = match parse::head(&block, is_response) {
            Ok(parsed) => parsed,
            Err(error) => {
                let finding = Finding::new(Code::NetHttp, format!("a message head does not parse: {error}"));
                find(cx, finding, place, block.len());
                self.half(dir).reject();
                return;
            }
        };
        self.settle_sides(dir, if is_response { Side::Response } else { Side::Request });
        if cut {
            parsed.head.headers.lost = 1;
        }
        if let Some(odd) = parsed.odd.take() {
            find(cx, Finding::new(Code::NetHttp, odd), place, block.len());
        }
        let framing = match parsed.head.start {
            Start::Request { .. } => self.request(&parsed, cx),
            Start::Response { status: Some(100 | 102..=199) } => {
                self.half(dir).skip();
                return;
            }
            Start::Response { status } => {
                let missed = self.half(dir).missed;
                match self.response(&parsed, status.unwrap_or_default(), missed, cx, out) {
                    Some(framing) => framing,
                    None => return,
                }
            }
        };
        self.half(dir).missed = cut;
        let side = self.side(dir);
        self.emit(side, place, HttpPart::Head(Arc::new(parsed.head)), out);
        if !cut {
            self.half(dir).begin(framing);
        }
    }

    fn request(&mut self, parsed: &Parsed, cx: &Cx<'_>) -> Framing {
        let Start::Request { method, .. } = &parsed.head.start else { return Framing::None };
        let method = match method.as_deref() {
            Some("HEAD") => Method::Head,
            Some("CONNECT") => Method::Connect,
            _ => Method::Other,
        };
        let stream = self.pairing.request(true, method, parsed.upgrades_to_h2c, cx.limits.max_pipelined);
        *self.open(Side::Request) = Some(Open { stream, method });
        match parsed.framing {
            _ if method == Method::Connect => Framing::None,
            Framing::UntilClose => Framing::None,
            framing => framing,
        }
    }

    /// RFC 9112, section 6.3; `None` where another protocol begins.
    fn response(
        &mut self,
        parsed: &Parsed,
        status: u16,
        missed: bool,
        cx: &mut Cx<'_>,
        out: &mut Vec<HttpEvent>,
    ) -> Option<Framing> {
        if missed {
            for stream in self.pairing.passed_over() {
                *self.open(Side::Response) = Some(Open { stream, method: Method::Other });
                self.emit(Side::Response, Place::default(), HttpPart::Gap(None), out);
                self.emit(Side::Response, Place::default(), HttpPart::End(End::Complete), out);
            }
        }
        let waiting = self.pairing.response(true, cx.limits.max_pipelined);
        let open = Open { stream: waiting.stream, method: waiting.method };
        *self.open(Side::Response) = Some(open);
        if status == 101 {
            if parsed.upgrades_to_h2c {
                self.become_other(Upgrade::H2c(Some(self.key(open.stream))));
            } else {
                self.emit(Side::Response, Place::default(), HttpPart::End(End::Complete), out);
                self.become_other(Upgrade::Tunnel);
            }
            *self.open(Side::Response) = None;
            return None;
        }
        // RFC 9110, section 9.3.6: the tunnel begins after the head of a 2xx.
        self.tunnels = open.method == Method::Connect && (200..300).contains(&status);
        Some(match open.method {
            Method::Head => Framing::None,
            Method::Connect if self.tunnels => Framing::None,
            _ if matches!(status, 204 | 304) => Framing::None,
            _ => parsed.framing,
        })
    }

    fn complete(&mut self, dir: Dir, side: Side, place: Place, out: &mut Vec<HttpEvent>) {
        self.emit(side, place, HttpPart::End(End::Complete), out);
        let Some(open) = self.open(side).take() else { return };
        match (side, open.method) {
            (Side::Request, Method::Connect) => self.half(dir).hold(),
            (Side::Request, _) => {}
            (Side::Response, method) => {
                self.pairing.response_over();
                if self.tunnels {
                    self.become_other(Upgrade::Tunnel);
                } else if method == Method::Connect {
                    self.half(dir.flip()).resume();
                }
            }
        }
    }

    fn become_other(&mut self, upgrade: Upgrade) {
        self.upgrade = Some(upgrade);
        for half in &mut self.halves {
            half.hold();
        }
    }

    fn over(&mut self, dir: Dir, side: Side, part: StreamPart, out: &mut Vec<HttpEvent>) {
        let end = if part == StreamPart::CaptureEnd { End::CaptureEnd } else { End::Closed };
        self.emit(side, Place::default(), HttpPart::End(end.clone()), out);
        *self.open(side) = None;
        let answers = side == Side::Response && (self.half(dir).seen || end == End::Closed);
        if answers {
            for stream in self.pairing.give_up() {
                *self.open(side) = Some(Open { stream, method: Method::Other });
                self.emit(side, Place::default(), HttpPart::End(end.clone()), out);
            }
            *self.open(side) = None;
        }
    }

    fn key(&self, stream: u32) -> StreamKey {
        StreamKey { conn: self.conn.id, stream }
    }

    /// A part of the message under way on this side; nothing where there is none.
    fn emit(&mut self, side: Side, place: Place, part: HttpPart, out: &mut Vec<HttpEvent>) {
        let Some(open) = *self.open(side) else { return };
        let (conn, key) = (Arc::clone(&self.conn), self.key(open.stream));
        out.push(HttpEvent { conn, key, side, time: place.time, at: place.at, part });
    }
}

fn find(cx: &mut Cx<'_>, finding: Finding, place: Place, len: usize) {
    cx.find(match place.span(len) {
        Some(span) => finding.at(span),
        None => finding,
    });
}

#[cfg(test)]
mod tests;
