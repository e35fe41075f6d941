//! A packet as a capture file holds it.
//! Never looks behind the link type.

use bytes::Bytes;

use crate::base::Timestamp;

/// The link-layer header type of an interface (the pcap registry's LINKTYPE_ numbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Linktype(pub u32);

/// One captured packet.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its number in the file, from 1, as Wireshark counts.
    pub number: u64,
    /// When it was captured.
    pub time: Option<Timestamp>,
    /// What its bytes begin with.
    pub linktype: Linktype,
    /// The interface (pcapng), by its place over all sections of the file.
    pub interface: u32,
    /// Length on the wire in bytes; more than `bytes` holds where a snap length cut it.
    pub original_length: u32,
    /// The captured bytes.
    pub bytes: Bytes,
    /// Where `bytes` begins in the capture file.
    pub at: u64,
}
