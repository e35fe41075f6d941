//! The pcap format: one header, then packets.
//! Never trusts the snap length of the header: files are wrong about it.

use bytes::Bytes;

use crate::base::Timestamp;
use crate::pdu::{Linktype, Packet};

use super::{ByteOrder, Input, MAX_RECORD, PcapItem, Step};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Of the "modified" format of Alexey Kuznetzov's libpcap patches: interface index,
/// protocol and packet type follow the lengths.
const MODIFIED_RECORD_HEADER: usize = 24;

/// What the magic number says about the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    order: ByteOrder,
    nanoseconds: bool,
    record_header: usize,
}

impl Layout {
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        let (number, order) = match magic[0] {
            0xa1 => (u32::from_be_bytes(magic), ByteOrder::Big),
            _ => (u32::from_le_bytes(magic), ByteOrder::Little),
        };
        let (nanoseconds, record_header) = match number {
            0xa1b2_c3d4 => (false, RECORD_HEADER),
            0xa1b2_3c4d => (true, RECORD_HEADER),
            0xa1b2_cd34 => (false, MODIFIED_RECORD_HEADER),
            _ => return None,
        };
        Some(Self { order, nanoseconds, record_header })
    }
}

#[derive(Debug)]
pub(super) struct Classic {
    layout: Layout,
    /// Known once the file header is read.
    linktype: Option<Linktype>,
    /// A record claimed an absurd length: where the next one begins cannot be known.
    lost: bool,
}

/// A record header.
struct Record {
    time: Timestamp,
    captured: u32,
    original: u32,
}

impl Classic {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, linktype: None, lost: false }
    }

    pub(super) fn step(&mut self, input: &mut Input, bytes: &mut Bytes, out: &mut Vec<PcapItem>) -> Step {
        if self.lost {
            input.take(bytes, bytes.len());
            return Step::Need(1);
        }
        let Some(linktype) = self.linktype else {
            let Some(mut header) = bytes.get(20..FILE_HEADER) else {
                return Step::Need(FILE_HEADER);
            };
            // The upper bits tell of a frame check sequence, not of the link type.
            self.linktype = Some(Linktype(self.layout.order.u32(&mut header) & 0xffff));
            input.take(bytes, FILE_HEADER);
            return Step::Done;
        };
        let Some(record) = self.record(bytes) else {
            return Step::Need(self.layout.record_header);
        };
        if u64::from(record.captured) > MAX_RECORD {
            input.packets += 1;
            let text = format!(
                "packet {} claims {} bytes, more than any packet has; the rest of the file cannot be read",
                input.packets, record.captured
            );
            input.damaged(out, text, self.layout.record_header as u64);
            self.lost = true;
            return Step::Done;
        }
        let whole = self.layout.record_header + record.captured as usize;
        if bytes.len() < whole {
            return Step::Need(whole);
        }
        input.take(bytes, self.layout.record_header);
        let at = input.at;
        let data = input.take(bytes, record.captured as usize);
        out.push(self.packet(input, linktype, record, data, at));
        Step::Done
    }

    pub(super) fn finish(&mut self, input: &mut Input, mut rest: Bytes, out: &mut Vec<PcapItem>) {
        if self.lost {
            return;
        }
        let Some(linktype) = self.linktype else {
            return input.cut(out, "the capture file ends inside its file header", rest.len());
        };
        if rest.is_empty() {
            return;
        }
        let Some(record) = self.record(&rest) else {
            let text =
                format!("the capture file ends inside the record header of packet {}", input.packets + 1);
            return input.cut(out, text, rest.len());
        };
        let there = rest.len() - self.layout.record_header;
        let text = format!(
            "the capture file ends inside packet {}: {there} of {} bytes are there",
            input.packets + 1,
            record.captured
        );
        input.cut(out, text, rest.len());
        input.take(&mut rest, self.layout.record_header);
        let at = input.at;
        let record = Record { original: 0, ..record };
        out.push(self.packet(input, linktype, record, rest, at));
    }

    fn record(&self, bytes: &[u8]) -> Option<Record> {
        let mut header = bytes.get(..self.layout.record_header)?;
        let order = self.layout.order;
        let (seconds, fraction) = (order.u32(&mut header), order.u32(&mut header));
        let nanos = i64::from(fraction) * if self.layout.nanoseconds { 1 } else { 1_000 };
        Some(Record {
            time: Timestamp::from_parts(seconds.into(), nanos),
            captured: order.u32(&mut header),
            original: order.u32(&mut header),
        })
    }

    fn packet(
        &self,
        input: &mut Input,
        linktype: Linktype,
        record: Record,
        bytes: Bytes,
        at: u64,
    ) -> PcapItem {
        input.packets += 1;
        PcapItem::Packet(Packet {
            number: input.packets,
            time: Some(record.time),
            linktype,
            interface: 0,
            original_length: record.original.max(bytes.len() as u32),
            bytes,
            at,
        })
    }
}
