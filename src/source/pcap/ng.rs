//! The pcapng format: blocks in sections (draft-ietf-opsawg-pcapng).
//! Never needs a block type to be known to get past it.

use bytes::Bytes;

use crate::base::{Code, Timestamp};
use crate::pdu::{Linktype, Packet};

use super::{ByteOrder, Input, MAX_RECORD, PcapItem, Step};

/// The type of a Section Header Block: the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 0x01;
const PACKET: u32 = 0x02;
const SIMPLE_PACKET: u32 = 0x03;
const ENHANCED_PACKET: u32 = 0x06;
const DECRYPTION_SECRETS: u32 = 0x0a;
/// Secrets type of an NSS key log ("TLSK").
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Block type and length before the body, length again behind it.
const BLOCK_HEADER: usize = 8;
const BLOCK_TRAILER: usize = 4;
/// Longest block that is looked for behind a damaged one, in bytes: a packet of the usual largest snap length.
const MAX_SOUGHT: usize = 262_144 + 256;
/// Interfaces remembered in one section.
const MAX_INTERFACES: usize = 65_536;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_IF_TSOFFSET: u16 = 14;

#[derive(Debug, Default)]
pub(super) struct Ng {
    order: ByteOrder,
    /// Of the section that is being read.
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before.
    interfaces_before: u32,
    /// The block structure is broken: a new section header or a sound block is looked for.
    lost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    linktype: Linktype,
    snaplen: u32,
    resolution: Resolution,
    /// Seconds that every time of the interface lacks (if_tsoffset).
    offset: i64,
}

/// if_tsresol: a tick is 10^-n or 2^-n seconds.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    Decimal(u32),
    Binary(u32),
}

impl Ng {
    pub(super) fn step(&mut self, input: &mut Input, bytes: &mut Bytes, out: &mut Vec<PcapItem>) -> Step {
        if self.lost && !self.seek(input, bytes, false) {
            return Step::Need(2 * MAX_SOUGHT);
        }
        let Some(kind) = bytes.first_chunk::<4>().copied() else {
            return Step::Need(BLOCK_HEADER);
        };
        if kind == SECTION_HEADER {
            let Some(mut magic) = bytes.get(8..12) else {
                return Step::Need(12);
            };
            let Some(order) = byte_order(&mut magic) else {
                return self.lose(input, out, "a section header has no byte-order magic".into());
            };
            self.order = order;
        }
        let Some(mut header) = bytes.get(..BLOCK_HEADER) else {
            return Step::Need(BLOCK_HEADER);
        };
        let (block_type, total) = (self.order.u32(&mut header), self.order.u32(&mut header));
        if total < (BLOCK_HEADER + BLOCK_TRAILER) as u32 {
            let text = format!("a block of type 0x{block_type:x} claims a length of {total} bytes");
            return self.lose(input, out, text);
        }
        // A length that is no multiple of four is a writer's mistake: its padding is not counted.
        let padded = u64::from(total).next_multiple_of(4);
        if padded > MAX_RECORD {
            self.skip_large(input, block_type, total, out);
            // Such a length is hardly one: what is behind it is looked for, not counted off.
            self.lost = true;
            input.skip = 1;
            return Step::Done;
        }
        if (bytes.len() as u64) < padded {
            return Step::Need(padded as usize);
        }
        self.check_trailer(input, bytes, block_type, total, out);
        let start = input.at;
        let mut block = input.take(bytes, padded as usize);
        block.truncate((total as usize).saturating_sub(BLOCK_TRAILER));
        self.block(input, block_type, block, start, out);
        Step::Done
    }

    pub(super) fn finish(&mut self, input: &mut Input, mut rest: Bytes, out: &mut Vec<PcapItem>) {
        while self.lost {
            let skip = usize::try_from(input.skip).unwrap_or(usize::MAX).min(rest.len());
            input.pass(&mut rest, skip);
            input.skip = 0;
            if !self.seek(input, &mut rest, true) {
                return;
            }
            while !self.lost && input.skip == 0 && matches!(self.step(input, &mut rest, out), Step::Done) {}
        }
        if rest.is_empty() && input.skip == 0 {
            return;
        }
        let block_type = rest.get(..4).map(|mut b| self.order.u32(&mut b));
        let next = input.packets + 1;
        match block_type {
            Some(PACKET | ENHANCED_PACKET | SIMPLE_PACKET) => {
                let text = format!("the capture file ends inside the block of packet {next}");
                input.cut(out, text, rest.len());
                if rest.len() > BLOCK_HEADER + 20 {
                    self.block(input, block_type.unwrap_or(0), rest, input.at, out);
                }
            }
            _ => {
                let text = format!("the capture file ends inside a block, before packet {next}");
                input.cut(out, text, rest.len());
            }
        }
    }

    /// Reports the break; what comes next is looked for from behind its first byte on.
    fn lose(&mut self, input: &mut Input, out: &mut Vec<PcapItem>, what: String) -> Step {
        let text =
            format!("{what}, before packet {}; reading goes on at the next sound block", input.packets + 1);
        input.damaged(out, text, BLOCK_HEADER as u64);
        self.lost = true;
        input.skip = 1;
        Step::Done
    }

    /// Passes over bytes up to a section header or a sound block; false where there is none yet.
    fn seek(&mut self, input: &mut Input, bytes: &mut Bytes, ended: bool) -> bool {
        let end = if ended { bytes.len() } else { bytes.len().saturating_sub(MAX_SOUGHT) };
        let found = (0..end).find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let is_section = rest.starts_with(&SECTION_HEADER)
                && rest.get(8..12).is_some_and(|mut magic| byte_order(&mut magic).is_some());
            is_section || self.is_sound(rest)
        });
        input.pass(bytes, found.unwrap_or(end));
        self.lost = found.is_none();
        !self.lost
    }

    /// Whether bytes begin with a block of a kind that is read and whose two lengths agree.
    fn is_sound(&self, bytes: &[u8]) -> bool {
        let Some(mut header) = bytes.get(..BLOCK_HEADER) else { return false };
        let (kind, total) = (self.order.u32(&mut header), self.order.u32(&mut header));
        let kinds = [INTERFACE_DESCRIPTION, PACKET, SIMPLE_PACKET, ENHANCED_PACKET, DECRYPTION_SECRETS];
        let length = total as usize;
        kinds.contains(&kind)
            && length.is_multiple_of(4)
            && (BLOCK_HEADER + BLOCK_TRAILER + 4..=MAX_SOUGHT).contains(&length)
            && bytes
                .get(length - BLOCK_TRAILER..length)
                .is_some_and(|mut trailer| self.order.u32(&mut trailer) == total)
    }

    fn skip_large(&mut self, input: &mut Input, block_type: u32, total: u32, out: &mut Vec<PcapItem>) {
        let what = match block_type {
            PACKET | ENHANCED_PACKET | SIMPLE_PACKET => {
                input.packets += 1;
                format!("packet {}", input.packets)
            }
            DECRYPTION_SECRETS => "a Decryption Secrets Block".to_owned(),
            _ => format!("a block of type 0x{block_type:x}"),
        };
        let text = format!(
            "{what} claims {total} bytes, more than is read; reading goes on at the next sound block"
        );
        input.damaged(out, text, BLOCK_HEADER as u64);
    }

    fn check_trailer(&self, input: &Input, bytes: &Bytes, kind: u32, total: u32, out: &mut Vec<PcapItem>) {
        let end = (total as usize).next_multiple_of(4);
        let Some(mut trailer) = bytes.get(end - BLOCK_TRAILER..end) else {
            return;
        };
        let again = self.order.u32(&mut trailer);
        if again != total {
            let text = format!(
                "a block of type 0x{kind:x} gives its length as {total} bytes first and as {again} at its end, \
                 before packet {}",
                input.packets + 1
            );
            input.damaged(out, text, end as u64);
        }
    }

    /// Reads a block without its trailer; `start` is where it begins in the file.
    fn block(&mut self, input: &mut Input, kind: u32, block: Bytes, start: u64, out: &mut Vec<PcapItem>) {
        let order = self.order;
        let Some(mut body) = block.get(BLOCK_HEADER..) else {
            return;
        };
        let b = &mut body;
        match kind {
            k if k.to_ne_bytes() == SECTION_HEADER => {
                self.interfaces_before = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
                self.interfaces.clear();
            }
            INTERFACE_DESCRIPTION if b.len() >= 8 => self.interface(b),
            ENHANCED_PACKET if b.len() >= 20 => {
                let interface = order.u32(b);
                let ticks = u64::from(order.u32(b)) << 32 | u64::from(order.u32(b));
                let lengths = (order.u32(b), order.u32(b));
                self.packet(input, &block, start, (BLOCK_HEADER + 20, interface, Some(ticks), lengths), out);
            }
            PACKET if b.len() >= 20 => {
                let interface = u32::from(order.u16(b));
                order.u16(b);
                let ticks = u64::from(order.u32(b)) << 32 | u64::from(order.u32(b));
                let lengths = (order.u32(b), order.u32(b));
                self.packet(input, &block, start, (BLOCK_HEADER + 20, interface, Some(ticks), lengths), out);
            }
            SIMPLE_PACKET if b.len() >= 4 => {
                let original = order.u32(b);
                let snaplen = self.interfaces.first().map_or(0, |i| i.snaplen);
                // No length of its own: as much as the snap length allows, 0 being no limit.
                let captured = original.min(if snaplen == 0 { u32::MAX } else { snaplen });
                let lengths = (captured.min(b.len() as u32), original);
                self.packet(input, &block, start, (BLOCK_HEADER + 4, 0, None, lengths), out);
            }
            ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                input.packets += 1;
                let text = format!("the block of packet {} is too short for a packet", input.packets);
                input.damaged(out, text, 0);
            }
            DECRYPTION_SECRETS if b.len() >= 8 => {
                let (secrets, length) = (order.u32(b), order.u32(b) as usize);
                let text = block.slice(BLOCK_HEADER + 8..).slice(..length.min(b.len()));
                if secrets == TLS_KEY_LOG {
                    out.push(PcapItem::Secrets(text));
                } else {
                    let what = format!("decryption secrets of type 0x{secrets:x} are not read");
                    input.find(out, Code::CaptureSkipped, what, 0);
                }
            }
            // Names, statistics, custom blocks and those yet to be invented.
            _ => {}
        }
    }

    fn interface(&mut self, body: &mut &[u8]) {
        if self.interfaces.len() >= MAX_INTERFACES {
            return;
        }
        let order = self.order;
        let linktype = Linktype(order.u16(body).into());
        order.u16(body);
        let snaplen = order.u32(body);
        let mut interface = Interface { linktype, snaplen, resolution: Resolution::Decimal(6), offset: 0 };
        while body.len() >= 4 {
            let (code, length) = (order.u16(body), usize::from(order.u16(body)));
            let mut value = body.get(..length).unwrap_or(body);
            *body = body.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            match code {
                OPTION_IF_TSRESOL if length == 1 => {
                    let byte = value.first().copied().unwrap_or(6);
                    let power = u32::from(byte & 0x7f);
                    interface.resolution =
                        if byte & 0x80 == 0 { Resolution::Decimal(power) } else { Resolution::Binary(power) };
                }
                OPTION_IF_TSOFFSET if length == 8 => interface.offset = order.u64(&mut value).cast_signed(),
                0 => break,
                _ => {}
            }
        }
        self.interfaces.push(interface);
    }

    /// `head` is where the data begins in the block, the interface, the time in ticks, and
    /// the captured and original lengths.
    fn packet(
        &self,
        input: &mut Input,
        block: &Bytes,
        start: u64,
        head: (usize, u32, Option<u64>, (u32, u32)),
        out: &mut Vec<PcapItem>,
    ) {
        let (data, id, ticks, (captured, original)) = head;
        input.packets += 1;
        let number = input.packets;
        let Some(interface) = self.interfaces.get(id as usize) else {
            let text = format!("packet {number} names interface {id}, which the section does not describe");
            return input.damaged(out, text, 0);
        };
        let there = block.len().saturating_sub(data);
        let cut = captured as usize > there;
        if cut && !matches!(out.last(), Some(PcapItem::Finding(f)) if f.code == Code::CaptureCut) {
            let text = format!("packet {number} claims {captured} bytes, its block has {there}");
            input.damaged(out, text, 0);
        }
        let bytes = block.slice(data.min(block.len())..).slice(..there.min(captured as usize));
        out.push(PcapItem::Packet(Packet {
            number,
            time: ticks.map(|t| interface.time(t)),
            linktype: interface.linktype,
            interface: self.interfaces_before.saturating_add(id),
            original_length: if cut { 0 } else { original }.max(bytes.len() as u32),
            bytes,
            at: start + data as u64,
        }));
    }
}

impl Interface {
    fn time(&self, ticks: u64) -> Timestamp {
        let ticks = u128::from(ticks);
        let nanos = match self.resolution {
            Resolution::Decimal(n @ 0..=9) => ticks * 10u128.pow(9 - n),
            // 10^38 still fits; with more digits nothing is left of a 64-bit count.
            Resolution::Decimal(n) => 10u128.checked_pow(n - 9).map_or(0, |d| ticks / d),
            Resolution::Binary(n) => (ticks * 1_000_000_000) >> n,
        };
        Timestamp::from_parts(self.offset, i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

fn byte_order(bytes: &mut &[u8]) -> Option<ByteOrder> {
    let magic = ByteOrder::Little.u32(bytes);
    match magic {
        BYTE_ORDER_MAGIC => Some(ByteOrder::Little),
        _ if magic == BYTE_ORDER_MAGIC.swap_bytes() => Some(ByteOrder::Big),
        _ => None,
    }
}
