//! The rooms between packets and frames.
//!
//! Connections come as a list of pieces, as fixtures/tls has them: a byte of kind, a length in four bytes
//! (big-endian), the bytes. Kinds: 0 bytes to the server, 1 to the client, 2 a key log, 5 a gap of that
//! length, 6 a loss, 7 FIN, 8 RST, odd ones above 9 of the other direction; the rest is passed over.

use std::sync::Arc;

use bytes::Bytes;

use rpcshark::base::{Cx, Limits, Timestamp};
use rpcshark::exchange::Exchanges;
use rpcshark::frame::{self, Deframers, Inflater};
use rpcshark::pdu::{
    Codec, Conn, End, Frame, HttpEvent, Lane, LaneEvent, LanePart, Linktype, Packet, Protocol, Side,
};
use rpcshark::transport::{self, Dir, StreamPart, Transport, h2, http1, tls};

struct Piece<'a> {
    kind: u8,
    length: u64,
    bytes: &'a [u8],
}

fn pieces(mut data: &[u8]) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    while let [kind, a, b, c, d, rest @ ..] = data {
        let length = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
        let has_bytes = *kind < 5;
        let held = if has_bytes { rest.len().min(usize::try_from(length).unwrap_or(usize::MAX)) } else { 0 };
        let (bytes, after) = rest.split_at(held);
        out.push(Piece { kind: *kind, length, bytes });
        data = after;
    }
    out
}

impl Piece<'_> {
    /// What it is for a connection, and of which direction.
    fn part(&self, at: u64) -> Option<(Dir, StreamPart)> {
        let dir = if self.kind.is_multiple_of(2) { Dir::ToServer } else { Dir::ToClient };
        Some(match self.kind {
            0 | 1 => {
                let bytes = Bytes::copy_from_slice(self.bytes);
                (dir, StreamPart::Data { bytes, time: Some(Timestamp(at as i64)), at })
            }
            5 => (Dir::ToServer, StreamPart::Gap(self.length)),
            15 => (Dir::ToClient, StreamPart::Gap(self.length)),
            6 => (Dir::ToServer, StreamPart::Lost),
            16 => (Dir::ToClient, StreamPart::Lost),
            7 => (Dir::ToServer, StreamPart::Fin),
            17 => (Dir::ToClient, StreamPart::Fin),
            8 => (Dir::ToServer, StreamPart::Reset),
            18 => (Dir::ToClient, StreamPart::Reset),
            _ => return None,
        })
    }
}

fn conn() -> Arc<Conn> {
    Arc::new(Conn { id: 0, label: "tcp:0".to_owned(), client: None, server: None })
}

/// The rooms from HTTP down to payloads without their compression.
fn down(events: Vec<HttpEvent>, limits: &Limits) {
    let mut findings = Vec::new();
    let mut cx = Cx { findings: &mut findings, limits };
    let (mut exchanges, mut deframers) = (Exchanges::new(), Deframers::new());
    let (mut lanes, mut frames) = (Vec::new(), Vec::new());
    for event in events {
        exchanges.push(event, &mut cx, &mut lanes);
    }
    exchanges.finish(&mut cx, &mut lanes);
    for event in lanes {
        deframers.push(event, &mut cx, &mut frames);
    }
    deframers.finish(&mut cx, &mut frames);
    inflate(&frames, limits);
}

fn inflate(frames: &[Frame], limits: &Limits) {
    let (mut inflater, mut out, mut findings) = (Inflater::new(), Vec::new(), Vec::new());
    for frame in frames.iter().filter(|f| f.compressed) {
        frame::inflate(frame, &mut inflater, limits, &mut out, &mut findings);
        assert!(out.len() as u64 <= limits.max_inflate, "what is inflated is bounded");
    }
}

/// Link layer, IP and TCP: packets, each a link type in one byte, a length in two, the bytes.
pub fn fuzz_packets(data: &[u8]) {
    const LINKS: [u32; 8] = [1, 0, 101, 113, 108, 228, 229, 276];
    let limits = Limits::default();
    let (mut findings, mut events) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let mut transport = Transport::new(&transport::Options::default());
    let (mut rest, mut number) = (data, 0);
    while let [link, a, b, after @ ..] = rest {
        let length = after.len().min(usize::from(u16::from_be_bytes([*a, *b])));
        let (bytes, next) = after.split_at(length);
        number += 1;
        let packet = Packet {
            number,
            time: Some(Timestamp(number as i64 * 1_000_000)),
            linktype: Linktype(LINKS[usize::from(link % 8)]),
            interface: 0,
            original_length: length as u32,
            bytes: Bytes::copy_from_slice(bytes),
            at: (data.len() - after.len()) as u64,
        };
        transport.push_packet(packet, &mut cx, &mut events);
        rest = next;
    }
    transport.finish(&mut cx, &mut events);
    down(events, &limits);
}

/// TLS records, with their key log.
pub fn fuzz_tls(data: &[u8]) {
    let limits = Limits::default();
    let mut findings = Vec::new();
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let (mut session, mut keys, mut out) = (tls::Session::new(), tls::KeyLog::new(), Vec::new());
    for (at, piece) in pieces(data).iter().enumerate() {
        if piece.kind == 2 {
            keys.add(piece.bytes);
        } else if let Some((dir, part)) = piece.part(at as u64) {
            session.push(dir, part, &keys, &mut cx, &mut out);
        }
    }
    for dir in [Dir::ToServer, Dir::ToClient] {
        session.push(dir, StreamPart::CaptureEnd, &keys, &mut cx, &mut out);
    }
    session.finish(&mut cx);
    let clear: usize = out
        .iter()
        .map(|(_, part)| if let StreamPart::Data { bytes, .. } = part { bytes.len() } else { 0 })
        .sum();
    assert!(clear <= data.len(), "nothing is decrypted to more than it was");
}

/// HTTP/1 connections, bodies and envelopes included.
pub fn fuzz_http1(data: &[u8]) {
    let limits = Limits::default();
    let (mut findings, mut events) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let mut connection = http1::Connection::new(conn());
    for (at, piece) in pieces(data).iter().enumerate() {
        if let Some((dir, part)) = piece.part(at as u64) {
            connection.push(dir, part, &mut cx, &mut events);
        }
    }
    connection.finish(&mut cx, &mut events);
    down(events, &limits);
}

/// HTTP/2 connections.
pub fn fuzz_http2(data: &[u8]) {
    h2_connection(pieces(data).iter().enumerate().filter_map(|(at, piece)| piece.part(at as u64)));
}

/// Header blocks, each behind its length in two bytes: requests of a connection of their own.
pub fn fuzz_hpack(data: &[u8]) {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let (mut rest, mut stream) = (data, 1u32);
    while let [a, b, after @ ..] = rest {
        let length = after.len().min(usize::from(u16::from_be_bytes([*a, *b]) % 16_384));
        let (block, next) = after.split_at(length);
        bytes.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[0x01, 0x05]);
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(block);
        stream += 2;
        rest = next;
    }
    let bytes = Bytes::from(bytes);
    h2_connection([(Dir::ToServer, StreamPart::Data { bytes, time: None, at: 0 })].into_iter());
}

fn h2_connection(parts: impl Iterator<Item = (Dir, StreamPart)>) {
    let limits = Limits::default();
    let (mut findings, mut events) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let mut connection = h2::Connection::new(conn());
    for (dir, part) in parts {
        connection.push(dir, part, &mut cx, &mut events);
    }
    connection.finish(&mut cx, &mut events);
    down(events, &limits);
}

const ENCODINGS: [Option<&str>; 8] = [
    None,
    Some("gzip"),
    Some("deflate"),
    Some("br"),
    Some("zstd"),
    Some("snappy"),
    Some("x-unheard-of"),
    Some("identity"),
];

/// Bodies of envelopes: the first byte chooses protocol, side and encoding, the second the piece length; 0xff is a hole.
pub fn fuzz_envelopes(data: &[u8]) {
    let [choice, step, body @ ..] = data else { return };
    const PROTOCOLS: [Protocol; 4] =
        [Protocol::ConnectStream, Protocol::Grpc, Protocol::GrpcWeb, Protocol::ConnectUnary];
    let limits = Limits::default();
    let lane = Arc::new(Lane {
        call: 1,
        conn: None,
        stream: None,
        side: if choice & 1 == 0 { Side::Request } else { Side::Response },
        rpc: None,
        protocol: PROTOCOLS[usize::from(choice >> 1 & 3)],
        codec: Codec::Proto,
        encoding: ENCODINGS[usize::from(choice >> 3 & 7)].map(str::to_owned),
        message_type: None,
        request: None,
        response: None,
    });
    let (mut findings, mut frames) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let mut deframers = Deframers::new();
    let mut at = 0;
    for piece in body.chunks(usize::from(*step).max(1)) {
        let part = match choice >> 6 {
            3 if piece.first() == Some(&0xff) => LanePart::Gap(Some(piece.len() as u64)),
            2 if piece.first() == Some(&0xff) => LanePart::Gap(None),
            _ => LanePart::Bytes(Bytes::copy_from_slice(piece)),
        };
        deframers.push(
            LaneEvent { lane: lane.clone(), time: None, at: Some(at), part },
            &mut cx,
            &mut frames,
        );
        at += piece.len() as u64;
    }
    let part = LanePart::End(End::CaptureEnd);
    deframers.push(LaneEvent { lane, time: None, at: None, part }, &mut cx, &mut frames);
    deframers.finish(&mut cx, &mut frames);
    let held: usize = frames.iter().map(|f| f.payload.len()).sum();
    assert!(held <= body.len(), "frames hold what was there");
    inflate(&frames, &limits);
}

/// Compressed bytes; the first byte names the encoding.
pub fn fuzz_inflate(data: &[u8]) {
    let [choice, payload @ ..] = data else { return };
    let limits = Limits::default();
    let (mut inflater, mut out, mut findings) = (Inflater::new(), Vec::new(), Vec::new());
    let encoding = ENCODINGS[usize::from(choice & 7)];
    inflater.inflate(encoding, payload, choice & 0x80 == 0, &limits, &mut out, &mut findings);
    assert!(out.len() as u64 <= limits.max_inflate, "what is inflated is bounded");
}
