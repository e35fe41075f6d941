//! Packets made in code, for the tests of this room.
//! Never read from a file.

use bytes::Bytes;

use crate::base::Timestamp;
use crate::pdu::{Linktype, Packet};

/// A TCP segment to be, from client (10.0.0.1:40000) to server (10.0.0.2:8080) or back.
#[derive(Clone, Debug)]
pub(super) struct Seg {
    pub to_server: bool,
    pub seq: u32,
    pub ack: Option<u32>,
    pub flags: u8,
    pub data: Vec<u8>,
    /// Bytes that a snap length cuts off.
    pub cut: usize,
    /// Milliseconds.
    pub time: i64,
    pub client_port: u16,
}

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;

/// From the client.
pub(super) fn c(seq: u32, data: &[u8]) -> Seg {
    Seg {
        to_server: true,
        seq,
        ack: None,
        flags: 0,
        data: data.to_vec(),
        cut: 0,
        time: 0,
        client_port: 40_000,
    }
}

/// From the server.
pub(super) fn s(seq: u32, data: &[u8]) -> Seg {
    Seg { to_server: false, ..c(seq, data) }
}

impl Seg {
    pub(super) fn ack(self, ack: u32) -> Self {
        Self { ack: Some(ack), ..self }
    }

    pub(super) fn flag(self, flags: u8) -> Self {
        Self { flags: self.flags | flags, ..self }
    }

    pub(super) fn cut(self, cut: usize) -> Self {
        Self { cut, ..self }
    }

    pub(super) fn at(self, time: i64) -> Self {
        Self { time, ..self }
    }

    pub(super) fn port(self, client_port: u16) -> Self {
        Self { client_port, ..self }
    }

    /// The TCP header and payload.
    pub(super) fn tcp(&self) -> Vec<u8> {
        let (from, to) = if self.to_server { (self.client_port, 8080) } else { (8080, self.client_port) };
        let flags = self.flags | if self.ack.is_some() { 0x10 } else { 0 };
        let mut bytes = [from.to_be_bytes(), to.to_be_bytes()].concat();
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.unwrap_or(0).to_be_bytes());
        bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend_from_slice(&self.data);
        bytes
    }

    /// As a raw IPv4 packet.
    pub(super) fn packet(&self) -> Packet {
        let ip = ipv4(self.to_server, &self.tcp(), 7, 0);
        let mut packet = packet(101, &ip);
        packet.bytes.truncate(ip.len() - self.cut);
        packet.time = Some(Timestamp(self.time * 1_000_000));
        packet
    }
}

/// An IPv4 header with its payload; `fragment` is the flags and offset field.
pub(super) fn ipv4(to_server: bool, payload: &[u8], id: u16, fragment: u16) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((payload.len() as u16 + 20).to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, 6, 0, 0]);
    let (from, to) = if to_server { (1, 2) } else { (2, 1) };
    bytes.extend([10, 0, 0, from, 10, 0, 0, to]);
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 header with its payload.
pub(super) fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([next_header, 64]);
    for last in [1, 2] {
        bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    bytes.extend_from_slice(payload);
    bytes
}

pub(super) fn packet(linktype: u32, bytes: &[u8]) -> Packet {
    Packet {
        number: 1,
        time: None,
        linktype: Linktype(linktype),
        interface: 0,
        original_length: bytes.len() as u32,
        bytes: Bytes::copy_from_slice(bytes),
        at: 0,
    }
}
