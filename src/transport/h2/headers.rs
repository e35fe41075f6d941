//! Decoded blocks as heads and trailers (RFC 9113, section 8).
//! Never decides which of the two a block is.

use crate::pdu::{Head, Header, Headers, Side, Start};

use super::hpack::Block;

/// A block with its pseudo-headers set apart.
#[derive(Default)]
pub(super) struct Fields {
    pub method: Option<String>,
    pub scheme: Option<String>,
    pub authority: Option<String>,
    pub path: Option<String>,
    /// The status, where it is a number.
    pub status: Option<u16>,
    /// Whether there are pseudo-headers of a request, of a response.
    pub is_request: bool,
    pub is_response: bool,
    pub headers: Headers,
}

impl Fields {
    /// Sorts a block's fields.
    pub fn new(block: Block) -> Self {
        let mut out = Self { headers: Headers { fields: Vec::new(), lost: block.lost }, ..Self::default() };
        for (name, value) in block.fields {
            match name.as_str() {
                ":method" => out.method = Some(value),
                ":scheme" => out.scheme = Some(value),
                ":authority" => out.authority = Some(value),
                ":path" => out.path = Some(value),
                ":status" => {
                    out.is_response = true;
                    out.status = value.parse().ok();
                }
                _ if name.starts_with(':') => {}
                _ => out.headers.fields.push(Header { name: name.to_ascii_lowercase(), value }),
            }
        }
        out.is_request =
            out.method.is_some() || out.scheme.is_some() || out.authority.is_some() || out.path.is_some();
        out
    }

    /// Whether it is an informational response (RFC 9110, section 15.2).
    pub fn is_informational(&self) -> bool {
        self.status.is_some_and(|status| (100..200).contains(&status))
    }

    /// As the head of a message of `side`.
    pub fn into_head(self, side: Side) -> Head {
        let start = match side {
            Side::Request => Start::Request {
                method: self.method,
                scheme: self.scheme,
                authority: self.authority,
                path: self.path,
            },
            Side::Response => Start::Response { status: self.status },
        };
        Head { start, headers: self.headers, version: "HTTP/2" }
    }
}
