//! Frames: the five bytes, and what one direction of a call agrees on.
//! Never inflates, never looks into a payload.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Finding, Timestamp};

use super::{Conn, Head, Headers, Side};

/// The five-byte prefix of a message (Connect: Enveloped-Message; gRPC: Length-Prefixed-Message).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Compressed-Flag, and what else the protocol defines.
    pub flags: u8,
    /// Length of the payload in bytes.
    pub length: u32,
}

impl Envelope {
    /// Bytes of the prefix.
    pub const LEN: usize = 5;

    /// Reads the prefix; every five bytes are one.
    pub fn parse([flags, a, b, c, d]: [u8; Self::LEN]) -> Self {
        Self { flags, length: u32::from_be_bytes([a, b, c, d]) }
    }
}

/// How an RPC rides on HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// Connect, enveloped.
    ConnectStream,
    /// Connect unary POST: the body is the message.
    ConnectUnary,
    /// Connect unary GET: the message is in the query.
    ConnectGet,
    /// gRPC over HTTP/2.
    Grpc,
    /// gRPC-Web, binary.
    GrpcWeb,
    /// gRPC-Web in base64.
    GrpcWebText,
    /// Not HTTP: a message or frame that a file gives as such.
    Bare,
}

impl Protocol {
    /// The name used in records: `connect`, `grpc`, `grpc-web`; `bare` where nothing carried it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectStream | Self::ConnectUnary | Self::ConnectGet => "connect",
            Self::Grpc => "grpc",
            Self::GrpcWeb | Self::GrpcWebText => "grpc-web",
            Self::Bare => "bare",
        }
    }
}

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Codec {
    /// Protobuf wire format.
    Proto,
    /// ProtoJSON.
    Json,
    /// Neither.
    Other,
}

/// One direction of one call, as far as it is known when a frame is cut.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// The call's number, from 1, over the whole run.
    pub call: u64,
    /// The connection, where there is one.
    pub conn: Option<Arc<Conn>>,
    /// HTTP/2 stream identifier, or the count of the exchange on its connection.
    pub stream: Option<u32>,
    /// Whose messages these are.
    pub side: Side,
    /// `package.Service/Method`, where the path is known and is an RPC's.
    pub rpc: Option<Arc<str>>,
    /// How it rides on HTTP.
    pub protocol: Protocol,
    /// How messages are written.
    pub codec: Codec,
    /// The message encoding that headers declare for flagged frames (`gzip`), in lower case;
    /// `None` where none is declared or it is identity.
    pub encoding: Option<String>,
    /// The message type, where the file itself names one.
    pub message_type: Option<Arc<str>>,
    /// The request's head, if seen by now.
    pub request: Option<Arc<Head>>,
    /// The response's head, if seen by now.
    pub response: Option<Arc<Head>>,
}

/// What a frame's payload is.
#[derive(Clone, PartialEq, Debug)]
pub enum Role {
    /// A message.
    Message,
    /// Connect's EndStreamResponse: JSON.
    EndStream,
    /// Trailers, from HTTP or from gRPC-Web's 0x80 frame.
    Trailers(Headers),
    /// A unary call's error body: JSON (Connect: Unary-Response, error).
    Error,
    /// The payload is a message that the file gives already decoded, as ProtoJSON.
    Decoded,
}

/// One message or one end of a stream, before its encoding is undone.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// The direction it belongs to.
    pub lane: Arc<Lane>,
    /// Its place in its direction, from 0.
    pub index: u32,
    /// When its last byte was seen.
    pub time: Option<Timestamp>,
    /// Where it begins in the body of its direction: the first byte of the envelope, or of the message where there is none.
    pub offset: u64,
    /// Where it begins in the capture file, where that has a meaning.
    pub at: Option<u64>,
    /// The flags byte; `None` where there is no envelope.
    pub flags: Option<u8>,
    /// Length of the payload that the envelope declares, or that the body has.
    pub length: u64,
    /// What the payload is.
    pub role: Role,
    /// The payload as sent, all that is there of it.
    pub payload: Bytes,
    /// Whether `payload` is compressed with the lane's encoding.
    pub compressed: bool,
    /// Whether all of the payload is there.
    pub whole: bool,
    /// What the rooms before found about it.
    pub findings: Vec<Finding>,
}
