//! The units that rooms hand to each other.
//! No behaviour beyond reading a fixed header; no room's own state.

mod frame;
mod http;
mod lane;
mod packet;

pub use frame::{Codec, Envelope, Frame, Lane, Protocol, Role};
pub use http::{Conn, End, Head, Header, Headers, HttpEvent, HttpPart, Start, StreamKey};
pub use lane::{LaneEvent, LanePart};
pub use packet::{Linktype, Packet};

/// Who sends: the side of a call that bytes belong to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Client to server.
    Request,
    /// Server to client.
    Response,
}

impl Side {
    /// The other side.
    pub fn peer(self) -> Self {
        match self {
            Self::Request => Self::Response,
            Self::Response => Self::Request,
        }
    }

    /// The name used in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}
