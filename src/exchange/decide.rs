//! Decides what one side of an exchange is, from its own head, then its peer, then its first bytes.
//! Never waits where the bytes can tell, and never types a side by what its peer only might be.

use crate::base::Limits;
use crate::pdu::{Codec, Head, Protocol, Start};

use super::body::First;
use super::protocol::{self, Content};
use super::query;

/// What one side is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub way: Way,
    pub protocol: Protocol,
    pub codec: Codec,
    /// The protocol is a guess that trailers may correct.
    pub guessed: bool,
}

/// How its body is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Envelopes, passed on as they come.
    Frames,
    /// Envelopes in base64.
    Text,
    /// Envelopes under a content coding: undone at the end of the body.
    Coded,
    /// One message, the whole body.
    Unary,
    /// A body without a type: one message, unless it is envelopes to the last byte.
    Guess,
    /// A Connect GET: the message is in the head.
    Get,
    /// An answer to envelopes under the type of a unary one: an error in JSON, or a mistake.
    Answer,
    /// An answer to an RPC that is none.
    Mismatch,
    /// No RPC at all.
    Foreign,
}

impl Way {
    /// Whether the bodies are envelopes.
    pub fn is_frames(self) -> bool {
        matches!(self, Self::Frames | Self::Text | Self::Coded)
    }

    pub fn is_unary(self) -> bool {
        matches!(self, Self::Unary | Self::Guess | Self::Get)
    }

    /// Whether the side has a lane.
    pub fn is_rpc(self) -> bool {
        !matches!(self, Self::Foreign | Self::Mismatch)
    }
}

impl Plan {
    fn new(way: Way, protocol: Protocol, codec: Codec) -> Self {
        Self { way, protocol, codec, guessed: false }
    }

    pub fn foreign() -> Self {
        Self::new(Way::Foreign, Protocol::Bare, Codec::Other)
    }

    fn frames(protocol: Protocol, codec: Codec, head: Option<&Head>) -> Self {
        let way = match protocol {
            Protocol::GrpcWebText => Way::Text,
            _ if head.and_then(protocol::content_encoding).is_some() => Way::Coded,
            _ => Way::Frames,
        };
        Self::new(way, protocol, codec)
    }

    fn unary(codec: Codec) -> Self {
        Self::new(Way::Unary, Protocol::ConnectUnary, codec)
    }
}

/// What there is to decide by.
pub(super) struct Clues<'a> {
    pub head: Option<&'a Head>,
    /// The other side, if it is decided.
    pub peer: Option<Plan>,
    pub first: &'a First,
    /// Nothing more will come from either side.
    pub last: bool,
    pub limits: &'a Limits,
}

/// Decides a request; `None` is to wait.
pub(super) fn request(clues: &Clues<'_>) -> Option<Plan> {
    let Some(head) = clues.head else { return lost(clues) };
    let Start::Request { method, path, .. } = &head.start else { return Some(Plan::foreign()) };
    let content = protocol::content(head);
    if let Content::Frames(protocol, codec) = content {
        return Some(Plan::frames(protocol, codec, Some(head)));
    }
    match method.as_deref() {
        Some("GET") if query::is_get(head) => {
            let codec = query::read(head).map_or(Codec::Other, |q| q.codec);
            return Some(Plan::new(Way::Get, Protocol::ConnectGet, codec));
        }
        Some("POST") | None => {}
        Some(_) => return Some(Plan::foreign()),
    }
    let is_rpc_path = protocol::is_rpc_path(head);
    match content {
        Content::Message { codec, proto } => {
            let is_connect = head.headers.get("connect-protocol-version").is_some();
            if proto || is_connect || is_rpc_path {
                Some(Plan::unary(codec))
            } else if path.is_none() {
                lost(clues)
            } else {
                Some(Plan::foreign())
            }
        }
        Content::Unnamed if head.headers.lost > 0 => lost(clues),
        Content::Unnamed if is_rpc_path => Some(Plan { way: Way::Guess, ..Plan::unary(Codec::Proto) }),
        _ => Some(Plan::foreign()),
    }
}

/// Decides a response; `None` is to wait.
pub(super) fn response(clues: &Clues<'_>) -> Option<Plan> {
    let Some(head) = clues.head else { return lost(clues) };
    let content = protocol::content(head);
    if let Content::Frames(protocol, codec) = content {
        return Some(Plan::frames(protocol, codec, Some(head)));
    }
    if head.headers.get("grpc-status").is_some() {
        let (protocol, codec) = match clues.peer {
            Some(peer) if peer.way.is_frames() => (peer.protocol, peer.codec),
            _ => (Protocol::Grpc, Codec::Proto),
        };
        return Some(Plan::frames(protocol, codec, None));
    }
    let Some(peer) = clues.peer else { return alone(content, clues) };
    if content == Content::Unnamed && head.headers.lost > 0 && peer.way.is_rpc() && is_success(head) {
        return lost(clues);
    }
    if peer.way == Way::Foreign {
        return Some(Plan::foreign());
    }
    let as_peer = |way| Plan { way, guessed: false, ..peer };
    match content {
        Content::Message { codec, .. } if peer.way.is_unary() => Some(Plan { codec, ..as_peer(Way::Unary) }),
        Content::Message { codec, .. } => Some(Plan { codec, ..as_peer(Way::Answer) }),
        Content::Unnamed if peer.way.is_unary() => {
            Some(as_peer(if peer.way == Way::Guess { Way::Guess } else { Way::Unary }))
        }
        Content::Unnamed => Some(match clues.first.is_envelope(clues.limits) {
            Some(true) => Plan::frames(peer.protocol, peer.codec, Some(head)),
            // An empty body says no more than its status.
            Some(false) if clues.first.count == 0 && is_success(head) => {
                Plan::frames(peer.protocol, peer.codec, None)
            }
            Some(false) => as_peer(Way::Mismatch),
            // The capture ends before the body tells.
            None if clues.last && is_success(head) => Plan::frames(peer.protocol, peer.codec, Some(head)),
            None if clues.last => as_peer(Way::Mismatch),
            None => return None,
        }),
        Content::Events => events(clues, head),
        Content::Other | Content::Frames(..) => Some(as_peer(Way::Mismatch)),
    }
}

/// A response whose request is not known, or not yet.
fn alone(content: Content, clues: &Clues<'_>) -> Option<Plan> {
    let plan = match content {
        Content::Message { codec: Codec::Proto, proto: true } => return Some(Plan::unary(Codec::Proto)),
        Content::Unnamed => lost(clues),
        Content::Events if clues.first.is_envelope(clues.limits) == Some(true) => events(clues, clues.head?),
        _ => None,
    };
    plan.or_else(|| clues.last.then(Plan::foreign))
}

/// A body labelled text/event-stream: envelopes under a label that proxies let through, or what
/// the label says.
fn events(clues: &Clues<'_>, head: &Head) -> Option<Plan> {
    let peer = clues.peer.filter(|p| p.way.is_frames() || p.way.is_unary());
    let codec = peer.map_or_else(|| clues.first.codec(), |p| p.codec);
    let protocol = peer.filter(|p| p.way.is_frames()).map_or(Protocol::ConnectStream, |p| p.protocol);
    let frames = Plan::frames(protocol, codec, Some(head));
    let is_envelope = clues.first.is_envelope(clues.limits).or(clues.last.then_some(false))?;
    match is_envelope {
        true => Some(frames),
        // Damaged envelopes are still no text.
        false if !clues.first.is_event_text() && peer.is_some_and(|p| p.way.is_frames()) => Some(frames),
        false => peer.map(|p| Plan { way: Way::Mismatch, ..p }),
    }
}

/// A side whose head is missing or was read without its lost entries.
fn lost(clues: &Clues<'_>) -> Option<Plan> {
    if let Some(peer) = clues.peer {
        if peer.way.is_frames() {
            return Some(Plan {
                guessed: peer.guessed,
                ..Plan::frames(peer.protocol, peer.codec, clues.head)
            });
        }
        if peer.way.is_unary() {
            let way = if peer.way == Way::Guess { Way::Guess } else { Way::Unary };
            return Some(Plan { way, ..Plan::unary(peer.codec) });
        }
    }
    if clues.first.is_envelope(clues.limits) == Some(true) {
        let is_grpc = clues.head.is_some_and(|h| protocol::hints_grpc(&h.headers));
        let protocol = if is_grpc { Protocol::Grpc } else { Protocol::ConnectStream };
        let plan = Plan::frames(protocol, clues.first.codec(), clues.head);
        return Some(Plan { guessed: !is_grpc, ..plan });
    }
    if !clues.last {
        return None;
    }
    Some(match clues.head {
        Some(head) if protocol::is_rpc_path(head) => Plan { way: Way::Guess, ..Plan::unary(Codec::Proto) },
        _ => Plan::foreign(),
    })
}

/// Whether the status is 2xx, or is lost.
pub(super) fn is_success(head: &Head) -> bool {
    protocol::status(head).is_none_or(|s| (200..300).contains(&s))
}
