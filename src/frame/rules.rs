//! What each protocol makes of the flags byte and of the end of a body.
//! Never holds state.

use crate::pdu::{Lane, Protocol, Side};

/// Compressed-Flag: all protocols.
pub(super) const COMPRESSED: u8 = 0x01;
/// Connect: EndStreamResponse.
pub(super) const END_STREAM: u8 = 0x02;
/// gRPC-Web: trailers.
pub(super) const TRAILERS: u8 = 0x80;

/// The protocol that a frame is read by: that of its direction; but where no head told which, a flag
/// that only one of those that look alike has, tells.
pub(super) fn spoken(lane: &Lane, flags: u8) -> Protocol {
    let is_guess = lane.protocol == Protocol::ConnectStream && lane.response.is_none() && lane.conn.is_some();
    let is_trailers = lane.side == Side::Response && flags & !COMPRESSED == TRAILERS;
    if is_guess && is_trailers { Protocol::GrpcWeb } else { lane.protocol }
}

/// The bits that a protocol defines.
pub(super) fn defined(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Grpc => COMPRESSED,
        Protocol::GrpcWeb | Protocol::GrpcWebText => COMPRESSED | TRAILERS,
        Protocol::ConnectStream | Protocol::ConnectUnary | Protocol::ConnectGet | Protocol::Bare => {
            COMPRESSED | END_STREAM
        }
    }
}

/// What an enveloped payload is, by its flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    EndStream,
    Trailers,
}

pub(super) fn kind(protocol: Protocol, flags: u8) -> Kind {
    match flags & defined(protocol) & !COMPRESSED {
        END_STREAM => Kind::EndStream,
        TRAILERS => Kind::Trailers,
        _ => Kind::Message,
    }
}

/// What a direction of this kind must end with, in words; `None` where it need not.
pub(super) fn expected_end(lane: &Lane, saw_body: bool) -> Option<&'static str> {
    if lane.side == Side::Request {
        return None;
    }
    let has_head = lane.response.is_some();
    match lane.protocol {
        Protocol::ConnectStream if saw_body || has_head => Some("no end-stream frame"),
        Protocol::Bare if saw_body => Some("no end-stream frame"),
        // Without a head the body stands alone, as in a file of raw bytes, and HTTP's trailers
        // are not to be expected.
        Protocol::Grpc if has_head => Some("no trailers"),
        Protocol::GrpcWeb | Protocol::GrpcWebText if saw_body || has_head => Some("no trailers frame"),
        _ => None,
    }
}
