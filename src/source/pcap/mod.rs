//! pcap and pcapng files, cut into packets as their bytes arrive.
//! Never reads by itself, never allocates by a length that the file claims.
//!
//! Our own parser and not pcap-parser: that one pulls from a `Read` into one buffer that it
//! grows by claimed lengths, lends its packets out for one step only, and stops at the first
//! block that is wrong. Here blocks are pushed, packets are slices of them without a copy,
//! and reading goes on behind what is damaged.

mod classic;
mod ng;

use bytes::{Buf, Bytes, BytesMut};

use crate::base::{Code, Finding, Space, Span};
use crate::pdu::Packet;

use classic::Classic;
use ng::Ng;

/// Longest packet or block that is kept whole, in bytes. The largest snap length of
/// libpcap is 128 MiB (for D-Bus); what networks carry stays far below this.
const MAX_RECORD: u64 = 16 << 20;

/// What a capture file holds, in its order.
#[derive(Clone, Debug)]
pub enum PcapItem {
    /// A packet.
    Packet(Packet),
    /// TLS secrets in NSS key log format, from a Decryption Secrets Block (pcapng, section 4.7).
    Secrets(Bytes),
    /// Something wrong with the file.
    Finding(Finding),
}

/// Reads a pcap or pcapng file that is pushed in blocks of any size.
#[derive(Debug)]
pub struct Parser {
    input: Input,
    format: Format,
    /// The beginning of a record that goes on in the next block.
    carry: BytesMut,
    /// Bytes that the record in `carry` needs before it can be read further.
    need: usize,
}

#[derive(Debug)]
enum Format {
    /// The first four bytes are still to come.
    Unknown,
    Classic(Classic),
    Ng(Ng),
    /// Neither: everything is dropped.
    Neither,
}

/// What both formats keep count of.
#[derive(Debug, Default)]
struct Input {
    /// Where the next unread byte lies in the file.
    at: u64,
    /// Packets begun so far; the number of the last.
    packets: u64,
    /// Bytes still to be dropped before the next record.
    skip: u64,
}

/// Whether a step read a record, or how many bytes it needs to.
enum Step {
    Done,
    Need(usize),
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// A parser at the beginning of a file; which of the two formats it is shows itself.
    pub fn new() -> Self {
        Self { input: Input::default(), format: Format::Unknown, carry: BytesMut::new(), need: 0 }
    }

    /// Whether the bytes begin as a pcap or pcapng file does; four bytes are enough.
    pub fn sniff(bytes: &[u8]) -> bool {
        bytes.first_chunk().is_some_and(|m| *m == ng::SECTION_HEADER || classic::Layout::of(*m).is_some())
    }

    /// Takes the next bytes of the file; gives every packet that they complete.
    pub fn feed(&mut self, mut block: Bytes, out: &mut Vec<PcapItem>) {
        while !self.carry.is_empty() {
            let lack = self.need.saturating_sub(self.carry.len()).min(block.len());
            self.carry.extend_from_slice(&block.split_to(lack));
            if self.carry.len() < self.need {
                return;
            }
            let mut unit = self.carry.split().freeze();
            self.need = self.steps(&mut unit, out);
            self.carry.extend_from_slice(&unit);
        }
        self.need = self.steps(&mut block, out);
        self.carry.extend_from_slice(&block);
    }

    /// Ends the file. A packet that it ends in is given as far as it goes, with the length
    /// that is there as its original one.
    pub fn finish(&mut self, out: &mut Vec<PcapItem>) {
        let rest = self.carry.split().freeze();
        match &mut self.format {
            Format::Classic(format) => format.finish(&mut self.input, rest, out),
            Format::Ng(format) => format.finish(&mut self.input, rest, out),
            Format::Neither => {}
            Format::Unknown if rest.is_empty() => self.input.cut(out, "the capture file is empty", 0),
            Format::Unknown => {
                self.input.cut(out, "the capture file ends in its first four bytes", rest.len())
            }
        }
    }

    /// Reads all whole records of `bytes`; returns how many bytes the next one needs.
    fn steps(&mut self, bytes: &mut Bytes, out: &mut Vec<PcapItem>) -> usize {
        loop {
            let skip = usize::try_from(self.input.skip).unwrap_or(usize::MAX).min(bytes.len());
            self.input.pass(bytes, skip);
            self.input.skip -= skip as u64;
            if self.input.skip > 0 {
                return 1;
            }
            let step = match &mut self.format {
                Format::Classic(format) => format.step(&mut self.input, bytes, out),
                Format::Ng(format) => format.step(&mut self.input, bytes, out),
                Format::Neither => {
                    self.input.pass(bytes, bytes.len());
                    Step::Need(1)
                }
                Format::Unknown => self.begin(bytes, out),
            };
            if let Step::Need(need) = step {
                return need;
            }
        }
    }

    fn begin(&mut self, bytes: &[u8], out: &mut Vec<PcapItem>) -> Step {
        let Some(magic) = bytes.first_chunk::<4>() else {
            return Step::Need(4);
        };
        self.format = if *magic == ng::SECTION_HEADER {
            Format::Ng(Ng::default())
        } else if let Some(layout) = classic::Layout::of(*magic) {
            Format::Classic(Classic::new(layout))
        } else {
            self.input.damaged(out, "neither a pcap nor a pcapng file", 4);
            Format::Neither
        };
        Step::Done
    }
}

impl Input {
    /// Passes over bytes at the front; never more than there are.
    fn pass(&mut self, bytes: &mut Bytes, len: usize) {
        let len = len.min(bytes.len());
        self.at += len as u64;
        bytes.advance(len);
    }

    /// Takes bytes off the front; never more than there are.
    fn take(&mut self, bytes: &mut Bytes, len: usize) -> Bytes {
        let len = len.min(bytes.len());
        self.at += len as u64;
        bytes.split_to(len)
    }

    fn damaged(&self, out: &mut Vec<PcapItem>, text: impl Into<String>, len: u64) {
        self.find(out, Code::CaptureDamaged, text, len);
    }

    fn cut(&self, out: &mut Vec<PcapItem>, text: impl Into<String>, len: usize) {
        self.find(out, Code::CaptureCut, text, len as u64);
    }

    fn find(&self, out: &mut Vec<PcapItem>, code: Code, text: impl Into<String>, len: u64) {
        let span = Span::new(Space::Input, self.at, self.at.saturating_add(len));
        out.push(PcapItem::Finding(Finding::new(code, text).at(span)));
    }
}

/// Integers of either byte order, as the writer's machine had them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ByteOrder {
    #[default]
    Little,
    Big,
}

impl ByteOrder {
    /// Reads an integer off the front; 0 where the bytes end, which callers have ruled out.
    fn u16(self, bytes: &mut &[u8]) -> u16 {
        match self {
            Self::Little => bytes.try_get_u16_le().unwrap_or(0),
            Self::Big => bytes.try_get_u16().unwrap_or(0),
        }
    }

    fn u32(self, bytes: &mut &[u8]) -> u32 {
        match self {
            Self::Little => bytes.try_get_u32_le().unwrap_or(0),
            Self::Big => bytes.try_get_u32().unwrap_or(0),
        }
    }

    fn u64(self, bytes: &mut &[u8]) -> u64 {
        match self {
            Self::Little => bytes.try_get_u64_le().unwrap_or(0),
            Self::Big => bytes.try_get_u64().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests;
