//! Packet captures: the seam to pcap and pcapng.
//! Never looks into a packet.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::base::Limits;

use super::{Format, Record};

/// Reads a packet capture that is pushed in blocks.
pub(super) struct Reader;

impl Reader {
    /// For a format that [`super::sniff`] found.
    pub(super) fn new(_format: Format, _limits: &Limits) -> Self {
        Self
    }

    /// Takes the next block, `at` bytes from the start of the file.
    pub(super) fn push(&mut self, _block: Bytes, _at: u64, _out: &mut VecDeque<Record>) {}

    /// Tells that there is no more.
    pub(super) fn finish(&mut self, _out: &mut VecDeque<Record>) {}
}
