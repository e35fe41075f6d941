//! Link-layer headers: where the IP datagram of a packet begins.
//! Never looks into it beyond its version.

use crate::pdu::{Linktype, Packet};

/// VLAN tags read one inside the other; networks use two.
const MAX_TAGS: usize = 8;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// What lies behind a link header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Network {
    /// An IP datagram, padding of the link included: where in the packet it begins.
    Ip(usize),
    /// Something else, or a header that is cut.
    Other,
    /// The link type is not read.
    Unread(Linktype),
}

/// What lies behind the link header of a packet.
pub(super) fn network(packet: &Packet) -> Network {
    let bytes = &packet.bytes;
    let begin = match packet.linktype.0 {
        1 => ethernet(bytes),
        // BSD loopback: the address family in the byte order of the machine, or of the network.
        0 | 108 => family(bytes).then_some(4),
        12 | 14 | 101 | 228 | 229 => Some(0),
        9 => ppp(bytes, 0),
        50 | 51 => ppp(bytes, if bytes.starts_with(&[0xff, 0x03]) { 0 } else { 6 }),
        113 => ethertype(bytes, 14),
        276 => match field(bytes, 0) {
            Some(ETHERTYPE_IPV4 | ETHERTYPE_IPV6) => Some(20),
            Some(tag) if ETHERTYPE_VLAN.contains(&tag) => ethertype(bytes, 22),
            _ => None,
        },
        _ => return Network::Unread(packet.linktype),
    };
    match begin {
        Some(begin) if begin < bytes.len() => Network::Ip(begin),
        _ => Network::Other,
    }
}

/// The name of a link type that is not read, as tcpdump.org's registry has it.
pub(super) fn name(linktype: Linktype) -> &'static str {
    match linktype.0 {
        6 => "IEEE802_5",
        7 => "ARCNET_BSD",
        8 => "SLIP",
        10 => "FDDI",
        104 => "C_HDLC",
        105 => "IEEE802_11",
        107 => "FRELAY",
        109 => "ENC",
        114 => "LTALK",
        117 => "PFLOG",
        119 => "IEEE802_11_PRISM",
        120 => "AIRONET_HEADER",
        127 => "IEEE802_11_RADIOTAP",
        129 => "ARCNET_LINUX",
        143 => "DOCSIS",
        147..=162 => "USER",
        163 => "IEEE802_11_AVS",
        187 => "BLUETOOTH_HCI_H4",
        189 => "USB_LINUX",
        192 => "PPI",
        195 => "IEEE802_15_4_WITHFCS",
        201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
        220 => "USB_LINUX_MMAPPED",
        227 => "CAN_SOCKETCAN",
        230 => "IEEE802_15_4_NOFCS",
        231 => "DBUS",
        239 => "NFLOG",
        240 => "NETANALYZER",
        247 => "INFINIBAND",
        249 => "USBPCAP",
        251 => "BLUETOOTH_LE_LL",
        252 => "WIRESHARK_UPPER_PDU",
        253 => "NETLINK",
        258 => "PKTAP",
        266 => "USB_DARWIN",
        271 => "VSOCK",
        272 => "NORDIC_BLE",
        278 => "ETW",
        _ => "unnamed",
    }
}

fn field(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

fn ethernet(bytes: &[u8]) -> Option<usize> {
    ethertype(bytes, 12)
}

/// Where IP begins behind the EtherType at `at`, behind any VLAN tags.
fn ethertype(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..=MAX_TAGS {
        match field(bytes, at)? {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Some(at + 2),
            ETHERTYPE_PPPOE_SESSION => return ppp(bytes, at + 8),
            tag if ETHERTYPE_VLAN.contains(&tag) => at += 4,
            _ => return None,
        }
    }
    None
}

/// The PPP protocol field at `at`, with or without address and control before it.
fn ppp(bytes: &[u8], at: usize) -> Option<usize> {
    let at = if bytes.get(at..)?.starts_with(&[0xff, 0x03]) { at + 2 } else { at };
    matches!(field(bytes, at)?, PPP_IPV4 | PPP_IPV6).then_some(at + 2)
}

/// Whether a BSD loopback header names IPv4 or IPv6, whose number differs by system.
fn family(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<4>() else {
        return false;
    };
    [u32::from_le_bytes(*header), u32::from_be_bytes(*header)]
        .iter()
        .any(|family| matches!(family, 2 | 10 | 24 | 28 | 30))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn check(linktype: u32, header: &str, expect: &str) {
        let mut bytes: Vec<u8> = header
            .split_whitespace()
            .flat_map(|w| {
                (0..w.len() / 2).map(move |i| u8::from_str_radix(&w[2 * i..2 * i + 2], 16).unwrap())
            })
            .collect();
        bytes.extend_from_slice(b"IP");
        let packet = |bytes: &[u8]| Packet {
            number: 1,
            time: None,
            linktype: Linktype(linktype),
            interface: 0,
            original_length: bytes.len() as u32,
            bytes: Bytes::copy_from_slice(bytes),
            at: 0,
        };
        for cut in 0..bytes.len() {
            network(&packet(&bytes[..cut]));
        }
        let found = match network(&packet(&bytes)) {
            Network::Ip(begin) => String::from_utf8(bytes[begin..].to_vec()).unwrap(),
            Network::Other => "other".into(),
            Network::Unread(linktype) => format!("{} {}", linktype.0, name(linktype)),
        };
        assert_eq!(found, expect, "link type {linktype}: {header}");
    }

    #[test]
    fn headers() {
        let macs = "000000000001000000000002";
        check(1, &format!("{macs} 0800"), "IP");
        check(1, &format!("{macs} 86dd"), "IP");
        check(1, &format!("{macs} 0806"), "other");
        check(1, &format!("{macs} 8100 0005 0800"), "IP");
        check(1, &format!("{macs} 88a8 0005 8100 0006 86dd"), "IP");
        check(1, &format!("{macs} 8864 1100 0001 0004 0021"), "IP");
        check(0, "02000000", "IP");
        check(0, "0000001e", "IP");
        check(0, "07000000", "other");
        check(108, "00000002", "IP");
        for raw in [12, 14, 101, 228, 229] {
            check(raw, "", "IP");
        }
        check(9, "ff03 0021", "IP");
        check(9, "0057", "IP");
        check(113, "0000 0001 0006 000000000000 0000 0800", "IP");
        check(113, "0000 0001 0006 000000000000 0000 8100 0001 86dd", "IP");
        check(276, "0800 0000 00000001 0001 00 06 0000000000000000", "IP");
        check(276, "0806 0000 00000001 0001 00 06 0000000000000000", "other");
    }

    #[test]
    fn unread() {
        check(105, "", "105 IEEE802_11");
        check(65_000, "", "65000 unnamed");
    }
}
