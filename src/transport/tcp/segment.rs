//! The TCP header (RFC 9293, section 3.1).
//! Never checks checksums: captures are full of offloaded ones.

use bytes::{Buf, Bytes};

use crate::base::Timestamp;

use super::super::ip::Datagram;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// One segment.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::transport) struct Segment {
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence_number: u32,
    /// `None` where the ACK bit is not set.
    pub acknowledgment_number: Option<u32>,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub payload: Bytes,
    /// Bytes of the payload that a snap length cut off its end.
    pub missing: u32,
    pub time: Option<Timestamp>,
    /// Where the payload begins in the capture file.
    pub at: u64,
}

impl Segment {
    /// The header up to its flags: what must be there for a segment to be placed.
    const PLACED: usize = 14;

    /// Reads the segment that a datagram carries; `None` where it is cut too short.
    pub(in crate::transport) fn parse(datagram: Datagram, time: Option<Timestamp>) -> Option<Self> {
        let header: &[u8; Self::PLACED] = datagram.payload.first_chunk()?;
        let [s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, offset, flags] = *header;
        let header_length = usize::from(offset >> 4) * 4;
        if header_length < 20 {
            return None;
        }
        let there = datagram.payload.len();
        let mut payload = datagram.payload;
        payload.advance(header_length.min(there));
        let header_cut = header_length.saturating_sub(there) as u32;
        Some(Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            sequence_number: u32::from_be_bytes([n0, n1, n2, n3]),
            acknowledgment_number: (flags & ACK != 0).then_some(u32::from_be_bytes([a0, a1, a2, a3])),
            syn: flags & SYN != 0,
            fin: flags & FIN != 0,
            rst: flags & RST != 0,
            payload,
            missing: datagram.missing.saturating_sub(header_cut),
            time,
            at: datagram.at + header_length as u64,
        })
    }

    /// Bytes of payload on the wire.
    pub(in crate::transport) fn length(&self) -> u64 {
        self.payload.len() as u64 + u64::from(self.missing)
    }
}
