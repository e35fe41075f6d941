use crate::base::{Cx, Limits};
use crate::pdu::{HttpPart, Side};

use super::super::packets::{FIN, RST, SYN, Seg, c, s};
use super::super::{DecodeAs, Options, Transport};

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Reads the segments; shows each head with its connection, then the findings.
fn run(options: &Options, limits: &Limits, segments: &[Seg]) -> Vec<String> {
    let mut transport = Transport::new(options);
    let (mut findings, mut out) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits };
    for segment in segments {
        transport.push_packet(segment.packet(), &mut cx, &mut out);
    }
    transport.finish(&mut cx, &mut out);
    let heads = out.iter().filter(|event| matches!(event.part, HttpPart::Head(_)));
    let mut shown: Vec<String> = heads
        .map(|event| {
            let (client, arrow) =
                (event.conn.client.as_deref(), if event.side == Side::Request { '>' } else { '<' });
            format!("{} {} {} {arrow}", event.conn.id, event.conn.label, client.unwrap_or("?"))
        })
        .collect();
    shown.extend(findings.iter().map(|f| format!("{} {}", f.severity.name(), f.text)));
    if transport.ignored() > 0 {
        shown.push(format!("ignored {}", transport.ignored()));
    }
    shown
}

fn check(segments: &[Seg], expect: &[&str]) {
    assert_eq!(run(&Options::default(), &Limits::default(), segments), expect);
}

/// A whole exchange, from SYN to FIN, with these initial sequence numbers.
fn exchange(client: u32, server: u32) -> Vec<Seg> {
    let (request, response) = (REQUEST.len() as u32, RESPONSE.len() as u32);
    let c_at = |after: u32| client.wrapping_add(1).wrapping_add(after);
    let s_at = |after: u32| server.wrapping_add(1).wrapping_add(after);
    vec![
        c(client, b"").flag(SYN),
        s(server, b"").flag(SYN).ack(c_at(0)),
        c(c_at(0), REQUEST).ack(s_at(0)),
        s(s_at(0), RESPONSE).ack(c_at(request)),
        s(s_at(response), b"").flag(FIN),
        c(c_at(request), b"").flag(FIN),
    ]
}

#[test]
fn one_connection() {
    check(&exchange(100, 900), &["0 tcp:0 10.0.0.1:40000 >", "0 tcp:0 10.0.0.1:40000 <"]);
    let twice: Vec<_> = exchange(100, 900).into_iter().flat_map(|seg| [seg.clone(), seg]).collect();
    check(&twice, &["0 tcp:0 10.0.0.1:40000 >", "0 tcp:0 10.0.0.1:40000 <"]);
}

#[test]
fn ports_are_used_again() {
    let both = [
        "0 tcp:0 10.0.0.1:40000 >",
        "0 tcp:0 10.0.0.1:40000 <",
        "1 tcp:1 10.0.0.1:40000 >",
        "1 tcp:1 10.0.0.1:40000 <",
    ];
    check(&[exchange(100, 900), exchange(50_000, 70_000)].concat(), &both);
    // The first never ended.
    check(&[&exchange(100, 900)[..4], &exchange(50_000, 70_000)].concat(), &both);
}

#[test]
fn clients_are_told_apart() {
    // By the server's answer to a SYN that was not captured.
    check(&exchange(100, 900)[1..], &["0 tcp:0 10.0.0.1:40000 >", "0 tcp:0 10.0.0.1:40000 <"]);
    // By what they say.
    let late = "note tcp:0: the connection began before the capture; what was sent until then is missing";
    check(&exchange(100, 900)[2..], &["0 tcp:0 10.0.0.1:40000 >", "0 tcp:0 10.0.0.1:40000 <", late]);
}

#[test]
fn one_side_only() {
    let one: Vec<_> = exchange(100, 900).into_iter().filter(|seg| seg.to_server).collect();
    let gap = "warning tcp:0 server to client: no packet of this direction is in the capture";
    check(&one, &["0 tcp:0 10.0.0.1:40000 >", gap]);
}

#[test]
fn holes_are_told_of_what_is_read_only() {
    let ssh = [
        c(100, b"").flag(SYN),
        s(900, b"").flag(SYN).ack(101),
        s(901, b"SSH-2.0-x\r\n"),
        s(990, b"more"),
        c(101, b"").flag(RST),
    ];
    check(&ssh, &["ignored 1"]);
    let late = [c(5_000, b"\x01\x02\x03"), s(7_000, b"\x04\x05")];
    let told = "warning tcp:0 (10.0.0.1:40000, 10.0.0.2:8080): the connection began before the capture, and what \
                is there does not show its protocol; it is left out";
    check(&late, &[told, "ignored 1"]);
}

#[test]
fn told_what_it_is() {
    let options = Options { decode_as: vec![(8080, DecodeAs::Http)], first_conn: 5, ..Options::default() };
    let odd = [c(100, b"").flag(SYN), c(101, b"BREW /pot HTTP/1.1\r\n\r\n")];
    let shown = run(&options, &Limits::default(), &odd);
    assert_eq!(shown.first().map(String::as_str), Some("5 tcp:0 10.0.0.1:40000 >"));
}

#[test]
fn connections_are_bounded() {
    let limits = Limits { max_connections: 3, ..Limits::default() };
    let many = (0..20).flat_map(|port| [c(100, b"").flag(SYN).port(port), c(101, REQUEST).port(port)]);
    let shown = run(&Options::default(), &limits, &many.collect::<Vec<_>>());
    assert_eq!(shown.iter().filter(|line| line.ends_with('>')).count(), 20);
    let told = "warning more than 3 connections at once; the longest idle are given up";
    assert_eq!(shown.iter().filter(|line| *line == told).count(), 1);
}

#[test]
fn no_packet_is_too_odd() {
    let segments = [exchange(100, 900), exchange(0xffff_fff0, 0x7fff_fff0)].concat();
    let packets: Vec<_> = segments.iter().map(Seg::packet).collect();
    let mut state = 7u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let limits = Limits { max_connections: 4, max_held: 200, max_fragments: 200, ..Limits::default() };
    for _ in 0..400 {
        let mut transport = Transport::new(&Options::default());
        let (mut findings, mut out) = (Vec::new(), Vec::new());
        let mut cx = Cx { findings: &mut findings, limits: &limits };
        for _ in 0..40 {
            let mut packet = packets[random(packets.len())].clone();
            let mut bytes = packet.bytes.to_vec();
            for _ in 0..random(4) {
                let at = random(bytes.len().min(44));
                bytes[at] = random(256) as u8;
            }
            bytes.truncate(bytes.len() - if random(4) == 0 { random(bytes.len()) } else { 0 });
            packet.bytes = bytes.into();
            packet.original_length = random(3) as u32 * 0x7fff_ffff;
            packet.linktype.0 = [101, 101, 101, 101, 1, 0, 113, 276, 9][random(9)];
            transport.push_packet(packet, &mut cx, &mut out);
        }
        transport.finish(&mut cx, &mut out);
    }
}
