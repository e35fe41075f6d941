//! One exchange: two sides that are decided, passed on and ended each for itself.
//! Never assumes that a request comes first or ends first.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::codec::Inflater;
use crate::base::{Code, Cx, Finding, Timestamp};
use crate::pdu::{
    Conn, End, Head, Headers, HttpEvent, HttpPart, Lane, LaneEvent, LanePart, Protocol, Side, Start,
};

use super::body::{Body, First, Stopped};
use super::decide::{self, Clues, Plan, Way};
use super::text::Base64;
use super::{protocol, query};

/// What is kept of an answer that is no RPC's, to quote from.
const EXCERPT: u64 = 4 << 10;

/// What an event costs to hold besides its bytes.
const HELD: usize = 64;

/// What events are worked on with.
pub(super) struct Work<'a, 'b> {
    pub cx: &'a mut Cx<'b>,
    pub inflater: &'a mut Inflater,
    pub out: &'a mut Vec<LaneEvent>,
}

pub(super) struct Call {
    number: u64,
    conn: Arc<Conn>,
    stream: u32,
    rpc: Option<Arc<str>>,
    halves: [Half; 2],
    pub reset_told: bool,
}

/// One side.
#[derive(Default)]
pub(super) struct Half {
    pub head: Option<Arc<Head>>,
    /// When and where the head came.
    began: (Option<Timestamp>, Option<u64>),
    seen: bool,
    pub plan: Option<Plan>,
    held: Vec<Piece>,
    first: First,
    held_cost: usize,
    pub lane: Option<Arc<Lane>>,
    pub body: Body,
    text: Base64,
    pub trailers: Headers,
    pub ended: bool,
}

/// A part with its time and place.
struct Piece {
    time: Option<Timestamp>,
    at: Option<u64>,
    part: HttpPart,
}

impl Half {
    pub fn send(&self, time: Option<Timestamp>, at: Option<u64>, part: LanePart, work: &mut Work<'_, '_>) {
        if let Some(lane) = &self.lane {
            work.out.push(LaneEvent { lane: Arc::clone(lane), time, at, part });
        }
    }
}

impl Call {
    pub fn new(number: u64, event: &HttpEvent) -> Self {
        Self {
            number,
            conn: Arc::clone(&event.conn),
            stream: event.key.stream,
            rpc: None,
            halves: Default::default(),
            reset_told: false,
        }
    }

    pub fn half(&self, side: Side) -> &Half {
        &self.halves[side as usize]
    }

    pub fn half_mut(&mut self, side: Side) -> &mut Half {
        &mut self.halves[side as usize]
    }

    /// How findings name a side: as [`Lane::label`], with a colon.
    pub fn label(&self, side: Side) -> String {
        match &self.rpc {
            Some(rpc) => format!("{} of call {}, {rpc}: ", side.name(), self.number),
            None => format!("{} of call {}: ", side.name(), self.number),
        }
    }

    pub fn is_over(&self) -> bool {
        self.halves.iter().all(|h| h.ended)
    }

    /// Whether every side that has been seen has ended.
    pub fn is_quiet(&self) -> bool {
        self.halves.iter().all(|h| h.ended || !h.seen)
    }

    pub fn is_rpc(&self) -> bool {
        self.halves.iter().any(|h| h.plan.is_some_and(|p| p.way.is_rpc()))
    }

    /// Bytes held.
    pub fn cost(&self) -> usize {
        self.halves.iter().map(|h| h.held_cost + h.body.len()).sum()
    }

    /// Whether a head belongs to another exchange under the same key.
    pub fn is_another(&self, head: &HttpEvent) -> bool {
        self.half(head.side).head.is_some()
    }

    pub fn take(&mut self, event: HttpEvent, work: &mut Work<'_, '_>) {
        let HttpEvent { side, time, at, part, .. } = event;
        let half = self.half_mut(side);
        if half.ended {
            return;
        }
        half.seen = true;
        if let HttpPart::Head(head) = part {
            half.head = Some(Arc::clone(&head));
            half.began = (time, at);
            if let Start::Request { path: Some(path), .. } = &head.start {
                self.rpc = protocol::rpc(path).map(Arc::from);
            }
            self.relane();
            if self.half(side).plan.is_some() && head.headers.get("grpc-status").is_some() {
                // The first head to be seen of a body that was under way: its trailers.
                let part = HttpPart::Trailers(head.headers.clone());
                self.feed(side, Piece { time, at, part }, work);
            }
            self.settle(false, work);
        } else if half.plan.is_some() {
            self.feed(side, Piece { time, at, part }, work);
        } else {
            let bytes = if let HttpPart::Body(bytes) = &part { bytes.len() } else { 0 };
            half.held_cost += bytes + HELD;
            half.ended = matches!(part, HttpPart::End(_));
            half.first.take(&part);
            half.held.push(Piece { time, at, part });
            self.settle(false, work);
        }
        if self.is_over() {
            self.settle(true, work);
        }
    }

    /// Ends what has not ended, as the capture does.
    pub fn finish(&mut self, work: &mut Work<'_, '_>) {
        self.settle(true, work);
        for side in [Side::Request, Side::Response] {
            let half = self.half(side);
            if half.seen && !half.ended {
                let part = HttpPart::End(End::CaptureEnd);
                self.feed(side, Piece { time: None, at: None, part }, work);
            }
        }
    }

    /// Too much is held: lets go of this call's bodies.
    pub fn give_up(&mut self, work: &mut Work<'_, '_>) {
        for half in &mut self.halves {
            if half.plan.is_none() && half.held_cost > 0 {
                half.plan = Some(Plan::foreign());
                half.held.clear();
                half.held_cost = 0;
                let text =
                    format!("call {}: a body of no known type is given up: too much is held", self.number);
                work.cx.find(Finding::new(Code::LimitReached, text));
            } else {
                half.body.stop(Stopped::GivenUp);
            }
        }
    }

    /// Decides the sides that are not decided, where that can be done now.
    fn settle(&mut self, last: bool, work: &mut Work<'_, '_>) {
        let names_rpc = self.half(Side::Request).head.as_deref().is_some_and(protocol::is_rpc_path);
        // Each side may wait for the other, so they are asked again. At the end the response goes
        // first, unless the request's path says what the call is.
        let rounds = [
            (Side::Request, last && self.is_decided_without(Side::Request)),
            (Side::Response, last && !names_rpc),
            (Side::Request, last),
            (Side::Response, last),
        ];
        for (side, last) in rounds {
            let half = self.half(side);
            if half.plan.is_some() || !half.seen {
                continue;
            }
            let clues = Clues {
                head: half.head.as_deref(),
                peer: self.half(side.peer()).plan,
                first: &half.first,
                last,
                limits: work.cx.limits,
            };
            let plan = match side {
                Side::Request => decide::request(&clues),
                Side::Response => decide::response(&clues),
            };
            if let Some(plan) = plan {
                self.half_mut(side).plan = Some(plan);
                self.relane();
                self.start(side, work);
                let half = self.half_mut(side);
                half.held_cost = 0;
                for piece in std::mem::take(&mut half.held) {
                    self.feed(side, piece, work);
                }
            }
        }
        // Both are left: neither can tell the other anything.
        if last {
            for side in [Side::Request, Side::Response] {
                let half = self.half_mut(side);
                if half.seen && half.plan.is_none() {
                    half.plan = Some(Plan::foreign());
                    half.held.clear();
                    half.held_cost = 0;
                }
            }
        }
    }

    /// Whether the peer will tell this side nothing more.
    fn is_decided_without(&self, side: Side) -> bool {
        let peer = self.half(side.peer());
        peer.plan.is_some() || !peer.seen || peer.head.is_none()
    }

    /// Makes the snapshots anew that a head or a decision has changed.
    fn relane(&mut self) {
        let (request, response) = (self.halves[0].head.clone(), self.halves[1].head.clone());
        for side in [Side::Request, Side::Response] {
            let half = &self.halves[side as usize];
            let Some(plan) = half.plan.filter(|p| p.way.is_rpc()) else { continue };
            let encoding = match (&half.head, plan.way) {
                (Some(head), Way::Get) if side == Side::Request => {
                    query::read(head).and_then(|q| q.compression)
                }
                (Some(head), _) => protocol::message_encoding(plan.protocol, &head.headers),
                (None, _) => None,
            };
            let lane = Lane {
                call: self.number,
                conn: Some(Arc::clone(&self.conn)),
                stream: Some(self.stream),
                side,
                rpc: self.rpc.clone(),
                protocol: plan.protocol,
                codec: plan.codec,
                encoding,
                message_type: None,
                request: request.clone(),
                response: response.clone(),
            };
            self.halves[side as usize].lane = Some(Arc::new(lane));
        }
    }

    /// Sends what the head itself holds.
    fn start(&mut self, side: Side, work: &mut Work<'_, '_>) {
        let half = self.half(side);
        let (Some(plan), (time, at)) = (half.plan, half.began) else { return };
        let Some(head) = half.head.clone() else {
            // Without a head the body may have begun before the capture.
            if plan.way.is_frames()
                && half.first.is_envelope(work.cx.limits) == Some(false)
                && half.first.count > 0
            {
                half.send(time, at, LanePart::Gap(None), work);
            }
            return;
        };
        if plan.way == Way::Get
            && side == Side::Request
            && let Some(query) = query::read(&head)
        {
            if let Some(finding) = query.finding {
                half.send(time, at, LanePart::Finding(finding), work);
            }
            half.send(time, at, LanePart::Whole(Bytes::from(query.message)), work);
        }
        let is_grpc = matches!(plan.protocol, Protocol::Grpc | Protocol::GrpcWeb | Protocol::GrpcWebText);
        if side == Side::Response
            && is_grpc
            && plan.way.is_frames()
            && head.headers.get("grpc-status").is_some()
        {
            half.send(time, at, LanePart::Trailers(head.headers.clone()), work);
        }
    }

    /// Takes a part of a side that is decided.
    fn feed(&mut self, side: Side, piece: Piece, work: &mut Work<'_, '_>) {
        let Some(plan) = self.half(side).plan else { return };
        let Piece { time, at, part } = piece;
        match part {
            HttpPart::Head(_) => {}
            HttpPart::Body(bytes) => self.bytes(side, plan, bytes, time, at, work),
            HttpPart::Gap(length) => {
                let half = self.half_mut(side);
                match plan.way {
                    Way::Frames => half.send(time, at, LanePart::Gap(length), work),
                    Way::Text => {
                        half.text.gap(length);
                        half.send(time, at, LanePart::Gap(None), work);
                    }
                    _ => half.body.stop(Stopped::Gap),
                }
            }
            HttpPart::Trailers(trailers) => {
                // Streams of the other protocol have no trailers, so lost ones tell too.
                let is_grpc = trailers.get("grpc-status").is_some() || trailers.lost > 0;
                if plan.way.is_frames() && plan.guessed && is_grpc {
                    for half in &mut self.halves {
                        if let Some(plan) = half.plan.as_mut().filter(|p| p.guessed) {
                            plan.protocol = Protocol::Grpc;
                        }
                    }
                    self.relane();
                }
                let half = self.half_mut(side);
                match plan.way {
                    Way::Frames | Way::Text => half.send(time, at, LanePart::Trailers(trailers), work),
                    _ => half.trailers = trailers,
                }
            }
            HttpPart::End(end) => {
                self.half_mut(side).ended = true;
                self.end(side, plan, end, time, work);
            }
        }
    }

    fn bytes(
        &mut self,
        side: Side,
        plan: Plan,
        bytes: Bytes,
        time: Option<Timestamp>,
        at: Option<u64>,
        work: &mut Work<'_, '_>,
    ) {
        if bytes.is_empty() {
            return;
        }
        let half = self.half_mut(side);
        match plan.way {
            Way::Frames => half.send(time, at, LanePart::Bytes(bytes), work),
            Way::Text => half.base64(&bytes, time, work),
            Way::Coded | Way::Unary | Way::Guess | Way::Answer => {
                half.body.push(&bytes, time, at, work.cx.limits.max_body);
            }
            Way::Mismatch => half.body.push(&bytes, time, at, EXCERPT),
            Way::Get | Way::Foreign => {}
        }
    }

    pub fn replace_lane(&mut self, side: Side, protocol: Protocol) {
        if let Some(plan) = &mut self.half_mut(side).plan {
            plan.protocol = protocol;
        }
        self.relane();
    }
}

impl Half {
    /// Undoes the base64 of a piece; where it is broken, decoding goes on after the break.
    fn base64(&mut self, bytes: &Bytes, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let mut rest = bytes.as_ref();
        loop {
            let mut out = Vec::new();
            let broken = self.text.push(rest, &mut out);
            if !out.is_empty() {
                self.send(time, None, LanePart::Bytes(Bytes::from(out)), work);
            }
            let Some(at) = broken else { return };
            let byte = rest.get(at).copied().unwrap_or_default();
            let text = format!("byte {byte:#04x} in what should be base64");
            self.send(time, None, LanePart::Finding(Finding::new(Code::FrameUnframed, text)), work);
            self.send(time, None, LanePart::Gap(None), work);
            self.text.gap(Some(1));
            rest = rest.get(at + 1..).unwrap_or_default();
        }
    }

    /// What an unpadded last group of base64 holds.
    pub fn last_base64(&mut self, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let mut out = Vec::new();
        self.text.finish(&mut out);
        if !out.is_empty() {
            self.send(time, None, LanePart::Bytes(Bytes::from(out)), work);
        }
    }
}
