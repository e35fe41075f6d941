//! Captures into records: files, pipes and directories, each format found by its content.
//! Never decodes a message, never knows a protocol, never prints.
//!
//! ```text
//!  path, "-" ─► discover ─► Reader::open ─► input (blocks; .gz and .zst undone) ─► sniff
//!                                                                                 │
//!   pcap → Packet   har flow saz → Http   raw → Body   message → Message   jsonl → Logged, Http
//! ```
//!
//! Parsers are pushed blocks of any size and queue what is complete; [`Reader`] is pulled.

mod base64;
mod body;
mod curl;
mod discover;
mod entry;
mod error;
mod flow;
mod format;
mod har;
mod hex;
mod http1;
mod input;
mod json;
mod packets;
pub mod pcap;
mod reader;
mod saz;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tnet;
mod utf16;
mod whole;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::base::{Finding, Limits, Timestamp};
use crate::pdu::{Conn, Head, HttpEvent, Packet, Side};

pub use discover::{Discovery, discover};
pub use error::Error;
pub use format::{Format, sniff};
pub use reader::Reader;

/// What a capture gives, on the floor where its format enters.
#[derive(Clone, Debug)]
pub enum Record {
    /// A captured packet.
    Packet(Packet),
    /// TLS secrets that the capture itself holds (NSS key log text).
    Secrets(Bytes),
    /// A piece of an HTTP exchange.
    Http(HttpEvent),
    /// The next piece of one stream of enveloped messages, and its offset in the file in bytes.
    Body(Bytes, u64),
    /// One bare message.
    Message(Bytes),
    /// One message or frame that a log gives one by one.
    Logged(Logged),
    /// Something wrong or odd about the capture itself.
    Finding(Finding),
}

/// One message or frame of a log, with what the log says about it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Logged {
    /// The connection or session that the log names.
    pub conn: Option<Arc<Conn>>,
    /// The stream or exchange on it.
    pub stream: Option<u32>,
    /// When it was seen.
    pub time: Option<Timestamp>,
    /// The time is that of the whole body, not of this message.
    pub shared_time: bool,
    /// Where the record begins in the file, in bytes.
    pub at: Option<u64>,
    /// `package.Service/Method`.
    pub rpc: Option<Arc<str>>,
    /// Whose message it is.
    pub side: Option<Side>,
    /// The full name of the message's type.
    pub message_type: Option<Arc<str>>,
    /// The flags byte of its envelope.
    pub flags: Option<u8>,
    /// The length of its payload on the wire in bytes; more than `body` holds where the log cut it.
    pub length: Option<u64>,
    /// The message encoding that the log's headers name.
    pub encoding: Option<String>,
    /// Whether the log says that this ends its stream.
    pub end_stream: bool,
    /// The message itself.
    pub body: LoggedBody,
    /// Id-like members, names in snake_case, in the order of the record.
    pub ids: Vec<(String, String)>,
    /// The head of its side, where the log keeps one.
    pub headers: Option<Arc<Head>>,
}

/// How a log holds a message.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum LoggedBody {
    /// As on the wire.
    Payload(Bytes),
    /// Decoded already: ProtoJSON, in either spelling of names.
    Json(String),
    /// A JSON object of the record's other members, some of which are fields of the message.
    Fields(String),
    /// Members whose key is the snake_case name of a message type, each with its ProtoJSON.
    Named(SmallVec<[(Arc<str>, Bytes); 1]>),
    /// Not in the file.
    #[default]
    None,
}

/// Gives connections their numbers; clones share one count, so that numbers are unique in a run.
#[derive(Clone, Default, Debug)]
pub struct ConnIds(Arc<AtomicU32>);

impl ConnIds {
    /// Numbers from `first` on.
    pub fn starting_at(first: u32) -> Self {
        Self(Arc::new(AtomicU32::new(first)))
    }

    /// The next number.
    pub fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// How captures are read.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// The format, where the operator names it (`--from`); else it is found by content.
    pub format: Option<Format>,
    /// Whether the operator named the root message type (`--as`): bytes that fit nothing are a message then.
    pub typed: bool,
    /// Whether to wait for more at the end of a regular file (`--follow`).
    pub follow: bool,
    /// Ends the input when set.
    pub stop: Option<Arc<AtomicBool>>,
    /// Where the bytes are counted that are read of all captures, before compression is undone.
    pub taken: Option<Arc<AtomicU64>>,
    /// The limits of the run.
    pub limits: Limits,
    /// The counter of connections, shared by all captures of a run.
    pub conns: ConnIds,
}
