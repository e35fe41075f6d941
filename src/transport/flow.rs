//! TCP connections by their addresses, and what each one carries.
//! Never follows more of them than the limit.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::base::maps::KeyMap;
use crate::base::{Code, Finding, Severity};
use crate::pdu::{Conn, HttpEvent};

use super::detect::Protocol;
use super::gate::{Decision, Gate};
use super::layer::{Env, Layer};
use super::notice::Notices;
use super::tcp::{Connection, Fit, Segment, other};
use super::{Dir, StreamPart};

/// Ports that servers listen on; of two others the lower is the server's.
const SERVER_PORTS: [u16; 10] = [80, 443, 8080, 8443, 8000, 8888, 3000, 5000, 9090, 50_051];
/// Of the connections at the limit, this share is given up at once.
const SHARE_GIVEN_UP: usize = 16;

/// The two ends of a connection, in an order of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends([SocketAddr; 2]);

impl Hash for Ends {
    /// Address and port in one word where they fit: every packet is looked up by this.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in self.0 {
            match end.ip() {
                IpAddr::V4(ip) => state.write_u64(u64::from(ip.to_bits()) << 16 | u64::from(end.port())),
                IpAddr::V6(ip) => {
                    state.write_u128(ip.to_bits());
                    state.write_u16(end.port());
                }
            }
        }
    }
}

impl Ends {
    /// The ends of a segment, and which of them sent it.
    pub(super) fn of(source: IpAddr, destination: IpAddr, segment: &Segment) -> (Self, usize) {
        let from = SocketAddr::new(source, segment.source_port);
        let to = SocketAddr::new(destination, segment.destination_port);
        if from <= to { (Self([from, to]), 0) } else { (Self([to, from]), 1) }
    }

    fn ports(&self) -> [u16; 2] {
        self.0.map(|end| end.port())
    }

    fn end(&self, side: usize) -> SocketAddr {
        let [zero, one] = self.0;
        if side == 0 { zero } else { one }
    }
}

/// All connections of a capture.
#[derive(Default)]
pub(super) struct Flows {
    flows: KeyMap<Ends, Flow>,
    /// Connections begun so far.
    begun: u32,
    /// Segments so far.
    clock: u64,
    limit_told: bool,
    ignored: u64,
}

/// Parts, each with the side that sent it.
type Parts = Vec<(usize, StreamPart)>;

struct Flow {
    number: u32,
    ends: Ends,
    tcp: Connection,
    notices: Notices,
    gate: Gate,
    /// What `--decode-as` says it is.
    forced: Option<Protocol>,
    /// Sides whose data has begun.
    started: [bool; 2],
    client: usize,
    layer: Option<Layer>,
    /// Everything was told of it.
    done: bool,
    last_seen: u64,
    /// What the two steps of a segment's way give, to be used again.
    scratch: (Parts, Parts),
}

impl Flows {
    /// Connections that ended or were given up without a protocol of ours.
    pub(super) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Takes a segment that `side` of `ends` sent.
    pub(super) fn push(
        &mut self,
        (ends, side): (Ends, usize),
        segment: Segment,
        decode_as: &[(u16, Protocol)],
        env: &mut Env<'_, '_>,
        out: &mut Vec<HttpEvent>,
    ) {
        self.clock += 1;
        let clock = self.clock;
        match self.flows.get_mut(&ends) {
            Some(flow) => match flow.tcp.fit(side, &segment) {
                Fit::Belongs => {
                    flow.last_seen = clock;
                    return flow.push(side, segment, env, out);
                }
                Fit::Stray => return,
                Fit::Another => {}
            },
            // What is left of a connection that ended before the capture began.
            None if segment.rst => return,
            None => {}
        }
        if let Some(mut before) = self.flows.remove(&ends) {
            self.ignored += u64::from(before.end(&StreamPart::Reset, env, out));
        }
        self.make_room(env, out);
        let mut flow = Flow::new(self.begun, ends, decode_as);
        self.begun = self.begun.saturating_add(1);
        flow.last_seen = clock;
        flow.push(side, segment, env, out);
        self.flows.insert(ends, flow);
    }

    /// Ends all connections, in the order of their beginning.
    pub(super) fn finish(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        let mut flows: Vec<Flow> = self.flows.drain().map(|(_, flow)| flow).collect();
        flows.sort_unstable_by_key(|flow| flow.number);
        for mut flow in flows {
            self.ignored += u64::from(flow.end(&StreamPart::CaptureEnd, env, out));
        }
    }

    /// Gives the longest idle up, those first of which nothing more can come.
    fn make_room(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        let limit = env.cx.limits.max_connections.max(1);
        if self.flows.len() < limit {
            return;
        }
        let mut idle: Vec<_> =
            self.flows.values().map(|f| (Reverse(f.over()), f.last_seen, f.ends)).collect();
        idle.sort_unstable_by_key(|(over, last_seen, _)| (*over, *last_seen));
        for (over, _, ends) in idle.into_iter().take((limit / SHARE_GIVEN_UP).max(1)) {
            let Some(mut flow) = self.flows.remove(&ends) else {
                continue;
            };
            self.ignored += u64::from(flow.end(&StreamPart::CaptureEnd, env, out));
            if !over.0 && !self.limit_told {
                self.limit_told = true;
                let text = format!("more than {limit} connections at once; the longest idle are given up");
                env.cx.find(Finding::new(Code::LimitReached, text));
            }
        }
    }
}

impl Flow {
    fn new(number: u32, ends: Ends, decode_as: &[(u16, Protocol)]) -> Self {
        let forced = decode_as.iter().find(|(port, _)| ends.ports().contains(port)).map(|(_, p)| *p);
        Self {
            number,
            ends,
            tcp: Connection::default(),
            notices: Notices::default(),
            gate: forced.map_or_else(|| Gate::new([false; 2]), Gate::known),
            forced,
            started: [false; 2],
            client: 0,
            layer: None,
            done: false,
            last_seen: 0,
            scratch: Default::default(),
        }
    }

    /// Whether nothing more can come of it.
    fn over(&self) -> bool {
        self.done || self.gate.shut()
    }

    fn push(&mut self, side: usize, segment: Segment, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        if self.over() {
            return;
        }
        let (mut parts, mut passed) = std::mem::take(&mut self.scratch);
        self.tcp.push(side, segment, env.cx.limits, &mut parts, &mut self.notices);
        self.deliver(&mut parts, &mut passed, env, out);
        self.scratch = (parts, passed);
        if self.tcp.closed() {
            self.close(env, out);
        }
    }

    /// Ends it; whether it was none of ours.
    fn end(&mut self, part: &StreamPart, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) -> bool {
        if !self.over() {
            let (mut parts, mut passed) = (Parts::new(), Parts::new());
            self.tcp.end(part, env.cx.limits, &mut parts, &mut self.notices);
            self.deliver(&mut parts, &mut passed, env, out);
            self.close(env, out);
        }
        self.layer.is_none()
    }

    /// Hands on what the connection gave; `passed` is for the gate and empty between calls.
    fn deliver(
        &mut self,
        parts: &mut Parts,
        passed: &mut Parts,
        env: &mut Env<'_, '_>,
        out: &mut Vec<HttpEvent>,
    ) {
        for (side, part) in parts.drain(..) {
            if matches!(part, StreamPart::Data { .. })
                && let Some(started) = self.started.get_mut(side)
                && !std::mem::replace(started, true)
                && self.tcp.joined_late(side)
                && self.forced.is_none()
            {
                self.gate.join(side);
            }
            let decision = self.gate.push(side, part, passed);
            if let Some(decision) = decision {
                self.begin(decision, env);
            } else if let Some(protocol) = self.forced
                && self.layer.is_none()
            {
                self.begin(Decision { protocol, client: None, from_first: false }, env);
            }
            let Some(layer) = &mut self.layer else {
                continue;
            };
            for (side, part) in passed.drain(..) {
                let dir = if side == self.client { Dir::ToServer } else { Dir::ToClient };
                layer.push(dir, part, env, out);
            }
        }
        passed.clear();
        if self.layer.is_some() {
            let of = namer(self.number, self.client);
            self.notices.take(of, env.cx.findings);
        }
    }

    /// The protocol is known: the connection is one of ours from now on.
    fn begin(&mut self, decision: Decision, env: &mut Env<'_, '_>) {
        self.client = self.tcp.opener().or(decision.client).unwrap_or_else(|| self.client_by_port());
        let server = other(self.client);
        let conn = Conn {
            id: *env.next_conn,
            label: format!("tcp:{}", self.number),
            client: Some(self.ends.end(self.client).to_string()),
            server: Some(self.ends.end(server).to_string()),
        };
        *env.next_conn = env.next_conn.saturating_add(1);
        let middle = [self.client, server].map(|side| self.tcp.joined_late(side));
        if self.tcp.opener().is_none() {
            // What begins like a connection has lost no more than its handshake, most likely.
            let severity = if decision.from_first { Severity::Note } else { Code::NetGap.severity() };
            let text = format!(
                "tcp:{}: the connection began before the capture; what was sent until then is missing",
                self.number
            );
            env.cx.find(Finding::new(Code::NetGap, text).severity(severity));
        }
        self.layer = Some(Layer::new(decision.protocol, &Arc::new(conn), middle));
    }

    fn client_by_port(&self) -> usize {
        let [zero, one] = self.ends.ports();
        let served = |port| SERVER_PORTS.contains(&port);
        match (served(zero), served(one)) {
            (true, false) => 1,
            (false, true) => 0,
            _ if zero < one => 1,
            _ => 0,
        }
    }

    fn close(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let Some(layer) = &mut self.layer else {
            return self.tell_unknown(env);
        };
        layer.finish(env, out);
        let of = namer(self.number, self.client);
        self.notices.take(&of, env.cx.findings);
        self.notices.sum_up(&of, env.cx.findings);
        for side in [0, 1] {
            if !self.tcp.seen(side) {
                let text = format!("{}: no packet of this direction is in the capture", of(side));
                env.cx.find(Finding::new(Code::NetGap, text));
            }
        }
    }

    /// Bytes from the middle of something that could not be told: perhaps ours, so it is told.
    fn tell_unknown(&self, env: &mut Env<'_, '_>) {
        let late = [0, 1].into_iter().any(|side| self.tcp.joined_late(side));
        if late && self.started.contains(&true) {
            let [zero, one] = [0, 1].map(|side| self.ends.end(side));
            let text = format!(
                "tcp:{} ({zero}, {one}): the connection began before the capture, and what is there does not \
                 show its protocol; it is left out",
                self.number
            );
            let web = self.ends.ports().iter().any(|port| SERVER_PORTS.contains(port));
            let code = if web { Code::NetGap } else { Code::CaptureSkipped };
            env.cx.find(Finding::new(code, text));
        }
    }
}

/// Names the direction that a side sends in.
fn namer(number: u32, client: usize) -> impl Fn(usize) -> String {
    move |side| match side == client {
        true => format!("tcp:{number} client to server"),
        false => format!("tcp:{number} server to client"),
    }
}

#[cfg(test)]
mod tests;
