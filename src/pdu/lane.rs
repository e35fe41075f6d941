//! What one direction of one call carries, before it is cut into frames.
//! Never holds state: an event is a fact and its place.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Finding, Timestamp};

use super::{End, Headers, Lane};

/// A piece of one direction of one call.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneEvent {
    /// The direction, as far as it is known by now.
    pub lane: Arc<Lane>,
    /// When its last byte was seen, where the capture tells.
    pub time: Option<Timestamp>,
    /// Where its first byte lies in the capture file, where that has a meaning.
    pub at: Option<u64>,
    /// What it is.
    pub part: LanePart,
}

/// What a piece is.
#[derive(Clone, PartialEq, Debug)]
pub enum LanePart {
    /// Bytes of a body of envelopes, in order; content coding and base64 are undone.
    Bytes(Bytes),
    /// Bytes of such a body that the capture does not hold; of unknown length where `None`.
    Gap(Option<u64>),
    /// A whole unary body, or the message of a Connect GET. Compressed only where a GET's lane
    /// has an encoding.
    Whole(Bytes),
    /// The beginning of a unary body whose rest is not there.
    Cut {
        /// What is there.
        bytes: Bytes,
        /// The length of the whole body in bytes, where the head declares it.
        length: Option<u64>,
    },
    /// The body of a unary error: JSON (Connect: Unary-Response).
    Failed(Bytes),
    /// HTTP trailers, or the head's fields of a gRPC response that is trailers only.
    Trailers(Headers),
    /// Something about what comes next in this direction, or about its end.
    Finding(Finding),
    /// Last of its direction.
    End(End),
}

impl Lane {
    /// How findings without a frame name the direction: `response of call 4, pkg.Service/Method`.
    pub fn label(&self) -> String {
        match &self.rpc {
            Some(rpc) => format!("{} of call {}, {rpc}", self.side.name(), self.call),
            None => format!("{} of call {}", self.side.name(), self.call),
        }
    }
}
