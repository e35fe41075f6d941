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

/// Longest packet that is looked for behind a damaged record, in bytes: the usual largest snap length.
const MAX_SOUGHT: usize = 262_144;
/// How far apart in time such a packet and the last one may be, in seconds.
const MAX_APART: u32 = 86_400;

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
    /// A record claimed an absurd length: where the next one begins has to be found.
    lost: bool,
    /// When the last packet was captured, in seconds, as its header says.
    last: Option<u32>,
    /// The last such time that the packet before it bears out: a header read in the wrong place says anything.
    trusted: Option<u32>,
}

/// A record header.
struct Record {
    seconds: u32,
    fraction: u32,
    captured: u32,
    original: u32,
}

impl Classic {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, linktype: None, lost: false, last: None, trusted: None }
    }

    pub(super) fn step(&mut self, input: &mut Input, bytes: &mut Bytes, out: &mut Vec<PcapItem>) -> Step {
        while self.lost {
            // A look takes in so many places, and for each of them what it needs behind: the same ones however the
            // file comes in pieces.
            if bytes.len() < 2 * self.look() {
                return Step::Need(2 * self.look());
            }
            self.seek(input, bytes, false);
        }
        let Some(linktype) = self.linktype else {
            let Some(mut header) = bytes.get(20..FILE_HEADER) else {
                return Step::Need(FILE_HEADER);
            };
            // The upper bits tell of a frame check sequence, not of the link type.
            self.linktype = Some(Linktype(self.layout.order.u32(&mut header) & 0xffff));
            input.pass(bytes, FILE_HEADER);
            return Step::Done;
        };
        let Some(record) = self.record(bytes) else {
            return Step::Need(self.layout.record_header);
        };
        let contradicts = record.captured as usize > MAX_SOUGHT && record.captured > record.original;
        if u64::from(record.captured) > MAX_RECORD || contradicts {
            input.packets += 1;
            let text = format!(
                "packet {} claims {} bytes, more than any packet has; reading goes on where two that can be follow",
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
        input.pass(bytes, self.layout.record_header);
        let at = input.at;
        let data = input.take(bytes, record.captured as usize);
        if self.last.is_none_or(|last| last.abs_diff(record.seconds) <= MAX_APART) {
            self.trusted = Some(record.seconds);
        }
        self.last = Some(record.seconds);
        out.push(self.packet(input, linktype, record, data, at));
        Step::Done
    }

    /// How many bytes a record and the header of the next may take, which is how many places one look takes in.
    fn look(&self) -> usize {
        MAX_SOUGHT + 2 * self.layout.record_header
    }

    /// Looks for a record that can be one and has such a one, or the end of the file, behind it, and passes over bytes to
    /// there; over all places of the look where there is none.
    fn seek(&mut self, input: &mut Input, bytes: &mut Bytes, ended: bool) {
        let header = self.layout.record_header;
        let end = bytes.len().min(self.look());
        let follows = |at: usize, near: Option<u32>| {
            let behind = at + header + self.sought(bytes.get(at..)?, near)?;
            let rest = bytes.get(behind..)?;
            let is_end = ended && rest.len() < header;
            (is_end || self.sought(rest, near).is_some()).then_some(at)
        };
        // Headers that were read in the wrong place may have borne each other out: a time is not held against all of them.
        let found = (0..end)
            .find_map(|at| follows(at, self.trusted))
            .or_else(|| (0..end).find_map(|at| follows(at, None)));
        input.pass(bytes, found.unwrap_or(end));
        self.lost = found.is_none();
    }

    /// The length of the packet behind a record header, where that can be one, `near` a time if there is one.
    fn sought(&self, bytes: &[u8], near: Option<u32>) -> Option<usize> {
        let record = self.record(bytes)?;
        let (captured, original) = (record.captured as usize, record.original as usize);
        let most = if self.layout.nanoseconds { 1_000_000_000 } else { 1_000_000 };
        let is_near = near.is_none_or(|then| then.abs_diff(record.seconds) <= MAX_APART);
        let can_be = (1..=MAX_SOUGHT).contains(&captured)
            && (captured..=MAX_SOUGHT).contains(&original)
            && record.fraction < most;
        (can_be && is_near).then_some(captured)
    }

    pub(super) fn finish(&mut self, input: &mut Input, mut rest: Bytes, out: &mut Vec<PcapItem>) {
        while self.lost {
            if rest.is_empty() {
                return;
            }
            self.seek(input, &mut rest, true);
            while !self.lost && matches!(self.step(input, &mut rest, out), Step::Done) {}
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
        input.pass(&mut rest, self.layout.record_header);
        let at = input.at;
        let record = Record { original: 0, ..record };
        out.push(self.packet(input, linktype, record, rest, at));
    }

    fn record(&self, bytes: &[u8]) -> Option<Record> {
        let mut header = bytes.get(..self.layout.record_header)?;
        let order = self.layout.order;
        Some(Record {
            seconds: order.u32(&mut header),
            fraction: order.u32(&mut header),
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
        let nanos = i64::from(record.fraction) * if self.layout.nanoseconds { 1 } else { 1_000 };
        PcapItem::Packet(Packet {
            number: input.packets,
            time: Some(Timestamp::from_parts(record.seconds.into(), nanos)),
            linktype,
            interface: 0,
            original_length: record.original.max(bytes.len() as u32),
            bytes,
            at,
        })
    }
}
