//! IPv4 and IPv6: the TCP segment of a datagram, fragments put together.
//! Never holds a fragment past the limit, never picks between overlapping ones.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::{Buf, Bytes, BytesMut};
use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpSlice, LenSource};

use crate::base::{Code, Cx, Finding, Space, Span};
use crate::pdu::Packet;

const IPV6_HEADER: usize = 40;
/// What a fragment costs beside its bytes.
const FRAGMENT_COST: usize = 64;

/// The payload of a whole datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Datagram {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The protocol number of the payload (6: TCP).
    pub protocol: u8,
    pub payload: Bytes,
    /// Bytes of the payload that a snap length cut off its end.
    pub missing: u32,
    /// Where the payload begins in the capture file.
    pub at: u64,
}

/// What an IP header says of its fragment.
struct Fragment {
    identification: u32,
    /// In bytes.
    offset: u32,
    more: bool,
}

/// Puts fragments together (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Debug, Default)]
pub(super) struct Defragmenter {
    datagrams: BTreeMap<Key, Pieces>,
    /// Oldest first.
    order: BTreeMap<u64, Key>,
    begun: u64,
    held: usize,
    limit_told: bool,
}

type Key = (IpAddr, IpAddr, u8, u32);

#[derive(Debug, Default)]
struct Pieces {
    begun: u64,
    /// By offset: the bytes, how many a snap length cut off, and where they lie in the file.
    pieces: BTreeMap<u32, (Bytes, u32, u64)>,
    total: Option<u32>,
}

impl Defragmenter {
    /// Takes the IP datagram that a packet begins with; gives the one that is whole now.
    pub(super) fn push(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Option<Datagram> {
        let (datagram, fragment) = parse(packet)?;
        match fragment {
            None => Some(datagram),
            Some(fragment) => self.fragment(datagram, &fragment, cx),
        }
    }

    fn fragment(&mut self, d: Datagram, fragment: &Fragment, cx: &mut Cx<'_>) -> Option<Datagram> {
        let key = (d.source, d.destination, d.protocol, fragment.identification);
        let end = fragment.offset.saturating_add(d.payload.len() as u32).saturating_add(d.missing);
        if end == fragment.offset {
            return None;
        }
        let pieces = self.datagrams.entry(key).or_insert_with(|| {
            self.begun += 1;
            self.order.insert(self.begun, key);
            Pieces { begun: self.begun, ..Pieces::default() }
        });
        match pieces.place(fragment.offset, end, &d) {
            Place::Known => return None,
            Place::Overlaps => {
                self.forget(&key);
                let text = format!(
                    "IP fragments of {} to {} overlap; the datagram is left out",
                    d.source, d.destination
                );
                cx.find(Finding::new(Code::NetOverlap, text).at(Span::new(Space::Input, d.at, d.at)));
                return None;
            }
            Place::Free => {}
        }
        if !fragment.more {
            pieces.total = Some(end);
        }
        // A copy: a slice would keep the whole block of the file alive.
        self.held += d.payload.len() + FRAGMENT_COST;
        pieces.pieces.insert(fragment.offset, (Bytes::copy_from_slice(&d.payload), d.missing, d.at));
        if pieces.complete() {
            let whole = self.forget(&key)?.join(d);
            return Some(whole);
        }
        self.bound(cx);
        None
    }

    fn forget(&mut self, key: &Key) -> Option<Pieces> {
        let pieces = self.datagrams.remove(key)?;
        self.order.remove(&pieces.begun);
        let cost: usize = pieces.pieces.values().map(|(b, _, _)| b.len() + FRAGMENT_COST).sum();
        self.held = self.held.saturating_sub(cost);
        Some(pieces)
    }

    fn bound(&mut self, cx: &mut Cx<'_>) {
        while self.held > cx.limits.max_fragments {
            let Some((_, key)) = self.order.pop_first() else {
                return;
            };
            self.forget(&key);
            if !self.limit_told {
                self.limit_told = true;
                let text = format!(
                    "IP fragments of more than {} bytes wait for the rest; the oldest are given up",
                    cx.limits.max_fragments
                );
                cx.find(Finding::new(Code::LimitReached, text));
            }
        }
    }
}

enum Place {
    Free,
    Known,
    Overlaps,
}

impl Pieces {
    fn place(&self, start: u32, end: u32, d: &Datagram) -> Place {
        if self
            .pieces
            .get(&start)
            .is_some_and(|(bytes, missing, _)| *bytes == d.payload && *missing == d.missing)
        {
            return Place::Known;
        }
        let before = self.pieces.range(..end).next_back();
        if before.is_some_and(|(at, piece)| at.saturating_add(length(piece)) > start) {
            return Place::Overlaps;
        }
        Place::Free
    }

    fn complete(&self) -> bool {
        let mut end = 0;
        for (at, piece) in &self.pieces {
            if *at != end {
                return false;
            }
            end += length(piece);
        }
        self.total == Some(end)
    }

    /// The payload up to the first byte that a snap length cut off.
    fn join(self, of: Datagram) -> Datagram {
        let total = self.total.unwrap_or(0);
        let at = self.pieces.first_key_value().map_or(of.at, |(_, piece)| piece.2);
        let mut payload = BytesMut::new();
        for (bytes, missing, _) in self.pieces.into_values() {
            payload.extend_from_slice(&bytes);
            if missing > 0 {
                break;
            }
        }
        let missing = total.saturating_sub(payload.len() as u32);
        Datagram { payload: payload.freeze(), missing, at, ..of }
    }
}

fn length((bytes, missing, _): &(Bytes, u32, u64)) -> u32 {
    (bytes.len() as u32).saturating_add(*missing)
}

fn parse(packet: Packet) -> Option<(Datagram, Option<Fragment>)> {
    let Packet { original_length, at, bytes: mut ip, .. } = packet;
    let (slice, _) = LaxIpSlice::from_slice(&ip).ok()?;
    let inner = slice.payload();
    let begin = match inner.payload.is_empty() {
        true => ip.len(),
        false => (inner.payload.as_ptr() as usize).checked_sub(ip.as_ptr() as usize)?,
    };
    let there = inner.payload.len();
    let declared = match &slice {
        LaxIpSlice::Ipv4(v4) => usize::from(v4.header().total_len()),
        LaxIpSlice::Ipv6(v6) => usize::from(v6.header().payload_length()) + IPV6_HEADER,
    };
    let on_wire = ip.len().max(original_length as usize);
    // A length of zero is what the kernel leaves to the network card (segmentation offload).
    let undeclared = inner.len_source == LenSource::Slice && !inner.incomplete;
    let total = if undeclared { on_wire } else { declared.min(on_wire) };
    let missing = total.saturating_sub(begin).saturating_sub(there);
    let fragment = inner.fragmented.then(|| fragment(&slice)).flatten();
    let (source, destination, protocol) = (slice.source_addr(), slice.destination_addr(), inner.ip_number.0);
    ip.truncate(begin + there);
    ip.advance(begin.min(ip.len()));
    let datagram = Datagram {
        source,
        destination,
        protocol,
        missing: u32::try_from(missing).unwrap_or(0),
        at: at + begin as u64,
        payload: ip,
    };
    Some((datagram, fragment))
}

fn fragment(slice: &LaxIpSlice<'_>) -> Option<Fragment> {
    match slice {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            Some(Fragment {
                identification: header.identification().into(),
                offset: u32::from(header.fragments_offset().value()) * 8,
                more: header.more_fragments(),
            })
        }
        LaxIpSlice::Ipv6(v6) => v6.extensions().clone().into_iter().find_map(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(header) => Some(Fragment {
                identification: header.identification(),
                offset: u32::from(header.fragment_offset().value()) * 8,
                more: header.more_fragments(),
            }),
            _ => None,
        }),
    }
}

/// The protocol number of TCP.
pub(super) const TCP: u8 = IpNumber::TCP.0;

#[cfg(test)]
mod tests {
    use super::super::packets::{c, ipv4, ipv6, packet};
    use super::*;
    use crate::base::Limits;

    const MORE: u16 = 0x2000;

    /// Pushes raw IP packets; shows every datagram that becomes whole, and the findings.
    fn run(packets: &[Packet], limits: &Limits) -> Vec<String> {
        let mut defragmenter = Defragmenter::default();
        let (mut findings, mut shown) = (Vec::new(), Vec::new());
        for packet in packets {
            let mut cx = Cx { findings: &mut findings, limits };
            let whole = defragmenter.push(packet.clone(), &mut cx);
            shown.extend(whole.map(|d| format!("{} {}+{}", d.protocol, d.payload.escape_ascii(), d.missing)));
        }
        shown.extend(findings.iter().map(|f| f.code.name().to_owned()));
        shown
    }

    fn check(packets: &[Packet], expect: &[&str]) {
        assert_eq!(run(packets, &Limits::default()), expect);
        for packet in packets {
            for cut in 0..packet.bytes.len() {
                let mut packet = packet.clone();
                packet.bytes.truncate(cut);
                run(&[packet], &Limits::default());
            }
        }
    }

    fn v4(payload: &[u8], fragment: u16) -> Packet {
        packet(101, &ipv4(true, payload, 7, fragment))
    }

    fn v6(payload: &[u8], offset: u16, more: bool) -> Packet {
        let mut bytes = vec![6, 0];
        bytes.extend((offset * 8 + u16::from(more)).to_be_bytes());
        bytes.extend([0, 0, 0, 9]);
        bytes.extend_from_slice(payload);
        packet(101, &ipv6(44, &bytes))
    }

    fn snap(mut packet: Packet, cut: usize) -> Packet {
        packet.bytes.truncate(packet.bytes.len() - cut);
        packet
    }

    #[test]
    fn lengths() {
        check(&[v4(b"abc", 0)], &["6 abc+0"]);
        check(&[packet(101, &ipv6(6, b"abc"))], &["6 abc+0"]);
        // Padding of the link is not data.
        check(&[packet(101, &[ipv4(true, b"abc", 7, 0), vec![0; 9]].concat())], &["6 abc+0"]);
        check(&[snap(v4(b"abcdef", 0), 4)], &["6 ab+4"]);
        // Cut, and no snap length to blame: nothing more is known to have been sent.
        let cut = snap(v4(b"abcdef", 0), 4);
        check(&[Packet { original_length: 22, ..cut }], &["6 ab+0"]);
        let mut offloaded = ipv4(true, b"abc", 7, 0);
        offloaded[2..4].fill(0);
        check(&[packet(101, &offloaded)], &["6 abc+0"]);
        check(&[snap(packet(101, &offloaded), 1)], &["6 ab+1"]);
        check(&[packet(101, b"not IP at all, that is")], &[]);
    }

    #[test]
    fn extension_headers() {
        let options = [&[60, 0, 1, 4, 0, 0, 0, 0][..], &[6, 0, 1, 4, 0, 0, 0, 0], b"abc"].concat();
        check(&[packet(101, &ipv6(0, &options))], &["6 abc+0"]);
    }

    #[test]
    fn fragments() {
        let (a, b, c) = (v4(b"abcdefgh", MORE), v4(b"ijklmnop", MORE | 1), v4(b"qr", 2));
        check(&[a.clone(), b.clone(), c.clone()], &["6 abcdefghijklmnopqr+0"]);
        check(&[c.clone(), a.clone(), a.clone(), b.clone()], &["6 abcdefghijklmnopqr+0"]);
        check(&[a.clone(), c.clone()], &[]);
        check(&[a.clone(), snap(b, 3), c], &["6 abcdefghijklm+5"]);
        check(&[a, v4(b"XXXXXXXXyyyyyyyy", MORE)], &["net.overlap"]);
        check(&[v6(b"abcdefgh", 0, true), v6(b"ij", 1, false)], &["6 abcdefghij+0"]);
        check(&[v6(b"abc", 0, false)], &["6 abc+0"]);
    }

    #[test]
    fn fragments_are_bounded() {
        let limits = Limits { max_fragments: 1_000, ..Limits::default() };
        let lonely = |id: u16| packet(101, &ipv4(true, &[0; 80], id, MORE));
        let mut packets: Vec<_> = (100..200).map(lonely).collect();
        packets.extend([v4(b"abcdefgh", MORE), v4(b"ij", 1)]);
        assert_eq!(run(&packets, &limits), ["6 abcdefghij+0", "limit.reached"]);
    }

    #[test]
    fn places_in_the_file() {
        let packet = Packet { at: 1_000, ..c(1, b"abc").packet() };
        let limits = Limits::default();
        let mut cx = Cx { findings: &mut Vec::new(), limits: &limits };
        let datagram = Defragmenter::default().push(packet, &mut cx);
        assert_eq!(datagram.map(|d| d.at), Some(1_020));
    }
}
