//! One capture's rooms, from records to frames.
//! Never keeps a frame.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::Cx;
use crate::exchange::Exchanges;
use crate::frame::Deframers;
use crate::pdu::{Codec, End, Frame, HttpEvent, Lane, LaneEvent, LanePart, Protocol, Role, Side};
use crate::source::Record;
use crate::transport::{self, Transport};

use super::Config;
use super::logged::{LoggedCalls, LoggedFrame};
use super::named::{self, Named};

/// The rooms of one capture.
pub struct Feed {
    transport: Transport,
    exchanges: Exchanges,
    deframers: Deframers,
    logged: LoggedCalls,
    raw: Option<Arc<Lane>>,
    named: Option<Named>,
    files: Files,
    events: Vec<HttpEvent>,
    lanes: Vec<LaneEvent>,
    frames: Vec<Frame>,
    /// Whether messages that come in bodies have times of their own: a recorder of whole bodies gives one.
    timed: bool,
}

/// Calls that have a file for each side, by what their names share.
pub type Files = HashMap<String, u64>;

/// What a capture gives, in order.
pub enum Fed {
    /// A frame, ids that a log gives beside it, and whether its time is its own.
    Frame(Frame, Vec<(String, String)>, bool),
    /// One side of a call has stopped.
    End(u64, Side, End),
}

impl Feed {
    /// Rooms for a capture of this name; `exchanges` goes from one to the next, since it numbers the
    /// calls of the run, and so do the calls of files.
    pub fn new(config: &Config, name: &str, exchanges: Exchanges, files: Files) -> Self {
        let options = transport::Options {
            decode_as: config.decode_as.clone(),
            key_logs: config.keylog.clone(),
            first_conn: 0,
        };
        Self {
            transport: Transport::new(&options),
            exchanges,
            deframers: Deframers::new(),
            logged: LoggedCalls::default(),
            raw: None,
            named: named::of(&config.schema, name).filter(|_| config.as_type.is_none()),
            files,
            events: Vec::new(),
            lanes: Vec::new(),
            frames: Vec::new(),
            timed: true,
        }
    }

    /// Gives back what goes on to the next capture.
    pub fn into_parts(self) -> (Exchanges, Files) {
        (self.exchanges, self.files)
    }

    /// Takes a record in.
    pub fn push(&mut self, config: &Config, record: Record, cx: &mut Cx<'_>, out: &mut Vec<Fed>) {
        match record {
            Record::Packet(packet) => self.transport.push_packet(packet, cx, &mut self.events),
            Record::Secrets(text) => self.transport.push_secrets(&text),
            Record::Http(event) => {
                self.timed = false;
                self.events.push(event);
            }
            Record::Body(bytes, at) => {
                let lane = self.raw_lane(config);
                let part = LanePart::Bytes(bytes);
                self.deframers.push(LaneEvent { lane, time: None, at: Some(at), part }, cx, &mut self.frames);
            }
            Record::Message(bytes) => {
                let frame = self.message(config, bytes);
                self.frames.push(frame);
            }
            Record::Logged(logged) => {
                let timed = !logged.shared_time;
                let next_call = &mut || self.exchanges.take_number();
                let give = &mut |f: LoggedFrame| out.push(Fed::Frame(f.frame, f.ids, timed));
                self.logged.frames(config, logged, next_call, give);
            }
            Record::Finding(finding) => cx.find(finding),
        }
        self.drain(cx, out);
    }

    /// The capture has no more.
    pub fn finish(&mut self, _config: &Config, cx: &mut Cx<'_>, out: &mut Vec<Fed>) {
        self.transport.finish(cx, &mut self.events);
        self.drain(cx, out);
        self.exchanges.finish(cx, &mut self.lanes);
        if let Some(lane) = self.raw.take() {
            let end = LaneEvent { lane, time: None, at: None, part: LanePart::End(End::CaptureEnd) };
            self.lanes.push(end);
        }
        self.drain(cx, out);
        self.deframers.finish(cx, &mut self.frames);
        let timed = self.timed;
        out.extend(self.frames.drain(..).map(|f| Fed::Frame(f, Vec::new(), timed)));
    }

    fn drain(&mut self, cx: &mut Cx<'_>, out: &mut Vec<Fed>) {
        let timed = self.timed;
        for event in self.events.drain(..) {
            self.exchanges.push(event, cx, &mut self.lanes);
        }
        for event in self.lanes.drain(..) {
            let end = match &event.part {
                LanePart::End(end) => Some(Fed::End(event.lane.call, event.lane.side, end.clone())),
                _ => None,
            };
            self.deframers.push(event, cx, &mut self.frames);
            out.extend(self.frames.drain(..).map(|f| Fed::Frame(f, Vec::new(), timed)));
            out.extend(end);
        }
        out.extend(self.frames.drain(..).map(|f| Fed::Frame(f, Vec::new(), timed)));
    }

    /// The lane of a raw body: a response, as saved bodies mostly are.
    fn raw_lane(&mut self, config: &Config) -> Arc<Lane> {
        if let Some(lane) = &self.raw {
            return lane.clone();
        }
        let lane = Arc::new(self.bare_lane(config, config.raw));
        self.raw = Some(lane.clone());
        lane
    }

    fn bare_lane(&mut self, config: &Config, protocol: Protocol) -> Lane {
        // A type that RPCs only take is a request's.
        let is_request = config.as_type.is_some_and(|ty| config.schema.is_only_taken(ty));
        let named = self.named.clone();
        let side = if is_request { Side::Request } else { Side::Response };
        Lane {
            call: match &named {
                Some(named) => self.call_of(config, named),
                None => self.exchanges.take_number(),
            },
            conn: None,
            stream: None,
            side: named.as_ref().map_or(side, |n| n.side),
            rpc: named.map(|n| n.rpc),
            protocol,
            codec: Codec::Proto,
            encoding: config.encoding.clone(),
            message_type: None,
            request: None,
            response: None,
        }
    }

    fn call_of(&mut self, config: &Config, named: &Named) -> u64 {
        if let Some(call) = self.files.get(&named.call) {
            return *call;
        }
        let call = self.exchanges.take_number();
        if self.files.len() < config.limits.max_calls {
            self.files.insert(named.call.clone(), call);
        }
        call
    }

    fn message(&mut self, config: &Config, payload: Bytes) -> Frame {
        let lane = self.bare_lane(config, Protocol::Bare);
        Frame {
            lane: Arc::new(lane),
            index: 0,
            time: None,
            offset: 0,
            at: None,
            flags: None,
            length: payload.len() as u64,
            role: Role::Message,
            payload,
            compressed: false,
            whole: true,
            findings: Vec::new(),
        }
    }
}
