//! HTTP as every source gives it, whatever version and file format carried it.
//! Never decides what an RPC is.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::Timestamp;

use super::Side;

/// A connection, or what stands for one in a file that keeps none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Conn {
    /// Its number among the connections of the run, from 0.
    pub id: u32,
    /// As records show it: `tcp:2`, `har:0`, `flow:1`.
    pub label: String,
    /// The client's address and port, where known.
    pub client: Option<String>,
    /// The server's address and port, where known.
    pub server: Option<String>,
}

/// One HTTP exchange of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StreamKey {
    /// [`Conn::id`].
    pub conn: u32,
    /// HTTP/2 stream identifier; a count from 1 for HTTP/1 and files.
    pub stream: u32,
}

/// One header field (RFC 9110, section 5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The name in lower case.
    pub name: String,
    /// The value as sent; bytes over 0x7f are kept as UTF-8 where they are, else as Latin-1.
    pub value: String,
}

/// A header or trailer section, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Headers {
    /// The fields that could be read, pseudo-headers left out.
    pub fields: Vec<Header>,
    /// How many fields could not be read (HPACK entries sent before the capture began).
    pub lost: u32,
}

impl Headers {
    /// The first value of a field; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|h| h.name == name).map(|h| h.value.as_str())
    }

    /// Adds a field; the name is put into lower case.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.fields.push(Header { name: name.to_ascii_lowercase(), value: value.into() });
    }
}

/// What a message head begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// A request. What a lost header table hides is `None`.
    Request {
        /// `POST`, `GET`, …
        method: Option<String>,
        /// `http` or `https`.
        scheme: Option<String>,
        /// Host and port.
        authority: Option<String>,
        /// Path with query.
        path: Option<String>,
    },
    /// A final response (never 1xx).
    Response {
        /// The status code; `None` where the capture lost it.
        status: Option<u16>,
    },
}

/// The head of a request or response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// Request line or status line, in any version's spelling.
    pub start: Start,
    /// The header fields.
    pub headers: Headers,
    /// `HTTP/1.1`, `HTTP/2`, as shown to people.
    pub version: &'static str,
}

/// How one side of an exchange stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// As HTTP says a body ends: length reached, last chunk, END_STREAM; or the file holds it whole.
    Complete,
    /// RST_STREAM or a refused stream, with its error code (RFC 9113, section 7).
    Reset {
        /// The error code.
        code: u32,
    },
    /// The connection was closed or reset, or the file says aborted, before the end.
    Closed,
    /// The capture ends first.
    CaptureEnd,
    /// The file tells of a body but does not hold it.
    NotCaptured {
        /// The length that the file declares, in bytes.
        declared: Option<u64>,
    },
}

/// A piece of one side of an exchange.
#[derive(Clone, PartialEq, Debug)]
pub enum HttpPart {
    /// Head: first of its side. Never an informational response.
    Head(Arc<Head>),
    /// Body bytes, transfer coding undone, content coding not.
    Body(Bytes),
    /// Body bytes that the capture does not hold; of unknown length where `None`: what
    /// follows then has no known place in the body.
    Gap(Option<u64>),
    /// Trailer fields.
    Trailers(Headers),
    /// Last of its side.
    End(End),
}

/// One piece of HTTP at a time and place.
#[derive(Clone, PartialEq, Debug)]
pub struct HttpEvent {
    /// The connection.
    pub conn: Arc<Conn>,
    /// The exchange.
    pub key: StreamKey,
    /// Who sent it.
    pub side: Side,
    /// When its last byte was seen, where the capture tells.
    pub time: Option<Timestamp>,
    /// Where its first byte lies in the capture file, where that has a meaning.
    pub at: Option<u64>,
    /// What it is.
    pub part: HttpPart,
}
