//! One direction of a connection as bytes in order, holes and ends included.
//! Never says what the bytes mean.

use bytes::Bytes;

use crate::base::Timestamp;

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dir {
    /// From the side that opened the connection, or that is taken to have.
    ToServer,
    /// The other.
    ToClient,
}

impl Dir {
    /// The other direction.
    pub fn flip(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }

    /// Its place in a pair of states.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// The next piece of one direction.
#[derive(Clone, PartialEq, Debug)]
pub enum StreamPart {
    /// Bytes in order.
    Data {
        /// The bytes.
        bytes: Bytes,
        /// When the packet (or record) that completed them was captured.
        time: Option<Timestamp>,
        /// Where the first of them lies in the capture file; for decrypted bytes, their record.
        at: u64,
    },
    /// Bytes that were sent but are not in the capture: exactly this many.
    Gap(u64),
    /// Bytes that were sent but cannot be given, of unknown number: the connection was joined late, or
    /// TLS records were lost whose content has no fixed length. What follows has no known place.
    Lost,
    /// The sender closed its direction (FIN, or TLS close_notify).
    Fin,
    /// The connection was reset, or gave way to another on the same ports.
    Reset,
    /// The capture has no more.
    CaptureEnd,
}
