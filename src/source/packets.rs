//! Packet captures as records: the seam between the reader and the pcap parser.
//! Never looks into a packet.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Record;
use super::pcap::{Parser, PcapItem};

/// Reads a packet capture that is pushed in blocks.
#[derive(Default)]
pub(super) struct Reader {
    parser: Parser,
    items: Vec<PcapItem>,
}

impl Reader {
    /// Takes the next block.
    pub(super) fn push(&mut self, block: Bytes, out: &mut VecDeque<Record>) {
        self.parser.feed(block, &mut self.items);
        self.give(out);
    }

    /// Tells that there is no more.
    pub(super) fn finish(&mut self, out: &mut VecDeque<Record>) {
        self.parser.finish(&mut self.items);
        self.give(out);
    }

    fn give(&mut self, out: &mut VecDeque<Record>) {
        out.extend(self.items.drain(..).map(|item| match item {
            PcapItem::Packet(packet) => Record::Packet(packet),
            PcapItem::Secrets(text) => Record::Secrets(text),
            PcapItem::Finding(finding) => Record::Finding(finding),
        }));
    }
}
