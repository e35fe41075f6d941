use super::super::ip::Defragmenter;
use super::super::notice::Notices;
use super::super::packets::{FIN, RST, SYN, Seg, c, s};
use super::*;
use crate::base::Cx;

/// Runs one connection; shows each side's stream and the findings. Side 0 is the client.
fn run_with(segments: &[Seg], limits: &Limits) -> (Vec<String>, Vec<String>) {
    let mut connection = Connection::default();
    let mut notices = Notices::default();
    let (mut out, mut findings) = (Vec::new(), Vec::new());
    let mut defragmenter = Defragmenter::default();
    for seg in segments {
        let packet = seg.packet();
        let mut cx = Cx { findings: &mut findings, limits };
        let time = packet.time;
        let datagram = defragmenter.push(packet, &mut cx).unwrap();
        let segment = Segment::parse(datagram, time).unwrap();
        let side = usize::from(!seg.to_server);
        if connection.fit(side, &segment) == Fit::Belongs {
            connection.push(side, segment, limits, &mut out, &mut notices);
        }
    }
    connection.end(&StreamPart::CaptureEnd, limits, &mut out, &mut notices);
    let of = |side: usize| ["c", "s"][side].to_owned();
    notices.take(of, &mut findings);
    notices.sum_up(of, &mut findings);
    let streams = [0, 1].map(|wanted| {
        let mut text = String::new();
        for (_, part) in out.iter().filter(|(side, _)| *side == wanted) {
            match part {
                StreamPart::Data { bytes, .. } => text.push_str(&bytes.escape_ascii().to_string()),
                StreamPart::Gap(len) => text.push_str(&format!("<{len}>")),
                StreamPart::Lost => text.push_str("<?>"),
                StreamPart::Fin => text.push_str("|fin"),
                StreamPart::Reset => text.push_str("|reset"),
                StreamPart::CaptureEnd => text.push_str("|end"),
            }
        }
        text
    });
    (streams.to_vec(), findings.into_iter().map(|f| f.text).collect())
}

/// Checks what the server sent, behind a handshake with sequence numbers 100 and 1000.
fn check(segments: &[Seg], stream: &str, findings: &[&str]) {
    let (streams, found) = run_with(&[handshake(), segments.to_vec()].concat(), &Limits::default());
    assert_eq!((streams[1].as_str(), found), (stream, findings.iter().map(|f| f.to_string()).collect()));
}

fn handshake() -> Vec<Seg> {
    vec![c(100, b"").flag(SYN), s(1000, b"").flag(SYN).ack(101), c(101, b"").ack(1001)]
}

#[test]
fn in_order() {
    check(&[s(1001, b"ab"), s(1003, b"cd"), s(1005, b"").flag(FIN)], "abcd|fin", &[]);
}

#[test]
fn out_of_order() {
    check(&[s(1003, b"cd"), s(1005, b"").flag(FIN), s(1001, b"ab")], "abcd|fin", &[]);
    check(&[s(1005, b"ef"), s(1003, b"cd"), s(1007, b"gh"), s(1001, b"ab")], "abcdefgh|end", &[]);
}

#[test]
fn sent_again() {
    check(&[s(1001, b"abcd"), s(1001, b"abcd"), s(1003, b"cdef"), s(1002, b"b")], "abcdef|end", &[]);
    check(&[s(1003, b"cd"), s(1003, b"cd"), s(1002, b"bcde"), s(1001, b"a")], "abcde|end", &[]);
    check(&[s(1001, b"ab").flag(FIN), s(1001, b"ab").flag(FIN)], "ab|fin", &[]);
}

#[test]
fn sent_again_with_other_bytes() {
    let again = |n: u32, from: u32| {
        format!(
            "s: {n} bytes from sequence number {from} on were sent again with other values; the first are kept"
        )
    };
    check(&[s(1001, b"abcd"), s(1003, b"cXeY")], "abcdeY|end", &[&again(1, 1003)]);
    check(&[s(1003, b"cd"), s(1001, b"abXYe")], "abcde|end", &[&again(2, 1003)]);
}

#[test]
fn keep_alive() {
    check(&[s(1001, b"abc"), s(1003, b"\0"), s(1003, b""), s(1004, b"d")], "abcd|end", &[]);
}

#[test]
fn sequence_numbers_wrap() {
    let (streams, found) = run_with(
        &[
            s(0xffff_fffd, b"").flag(SYN),
            s(0xffff_fffe, b"ab"),
            s(2, b"ef"),
            s(0, b"cd"),
            s(4, b"").flag(FIN),
        ],
        &Limits::default(),
    );
    assert_eq!((streams[1].as_str(), found.len()), ("abcdef|fin", 0));
}

fn missing(n: u32, start: u32) -> String {
    let (from, to) = (1001 + start, 1001 + start + n);
    format!("s: {n} bytes are missing, {start}..{} of the stream, sequence numbers {from}..{to}", start + n)
}

#[test]
fn hole_until_the_end() {
    check(&[s(1001, b"ab"), s(1006, b"fg")], "ab<3>fg|end", &[&missing(3, 2)]);
    check(&[s(1001, b"ab"), s(1006, b"").flag(FIN)], "ab<3>|fin", &[&missing(3, 2)]);
}

#[test]
fn hole_that_is_acknowledged() {
    let mut segments = vec![s(1001, b"ab"), s(1006, b"fg"), c(101, b"").ack(1008)];
    segments.extend((0..40).map(|i| s(1008 + i, b"-")));
    segments.push(s(1003, b"XYZ"));
    let stream = format!("ab<3>fg{}|end", "-".repeat(40));
    check(&segments, &stream, &[&missing(3, 2)]);
}

#[test]
fn hole_that_is_acknowledged_for_a_second() {
    let segments = [
        s(1001, b"ab"),
        s(1006, b"fg").at(10),
        c(101, b"").ack(1008).at(11),
        s(1008, b"h").at(1500),
        s(1003, b"XYZ").at(1501),
    ];
    check(&segments, "ab<3>fgh|end", &[&missing(3, 2)]);
}

#[test]
fn acknowledged_before_it_is_captured() {
    let segments =
        [c(101, b"").ack(1008), s(1001, b"ab"), s(1006, b"fg"), c(101, b"").ack(1008), s(1003, b"cde")];
    check(&segments, "abcdefg|end", &[]);
}

#[test]
fn hole_without_acknowledgment_waits_for_the_sender() {
    let mut segments = vec![s(1001, b"ab")];
    segments.extend((0..100).map(|i| s(1006 + i, b"-")));
    segments.push(s(1003, b"cde").at(3000));
    check(&segments, &format!("abcde{}|end", "-".repeat(100)), &[]);
}

#[test]
fn last_bytes_are_missing() {
    check(&[s(1001, b"ab"), c(101, b"").ack(1010)], "ab<7>|end", &[&missing(7, 2)]);
    // One byte may be a FIN.
    check(&[s(1001, b"ab"), c(101, b"").ack(1004)], "ab|end", &[]);
}

#[test]
fn snap_length() {
    check(
        &[s(1001, b"abcdef").cut(4), s(1007, b"ghi").cut(3), s(1010, b"j")],
        "ab<4><3>j|end",
        &["s: a snap length cut 2 segments; 7 bytes are missing"],
    );
    check(
        &[s(1007, b"ghi").cut(1), s(1001, b"abcdef").cut(4)],
        "ab<4>gh<1>|end",
        &["s: a snap length cut 2 segments; 5 bytes are missing"],
    );
    // Headers that are cut.
    check(
        &[s(1001, b"abc").cut(9), s(1004, b"d")],
        "<3>d|end",
        &["s: a snap length cut 1 segments; 3 bytes are missing"],
    );
}

#[test]
fn reset() {
    check(&[s(1001, b"ab"), s(1006, b"fg"), c(101, b"").flag(RST)], "ab<3>fg|reset", &[&missing(3, 2)]);
    check(&[s(1001, b"ab"), c(0x8000_0000, b"").flag(RST), s(1003, b"c")], "abc|end", &[]);
}

#[test]
fn joined_late() {
    let (streams, found) =
        run_with(&[s(503, b"cd"), s(501, b"ab"), s(505, b"ef"), c(101, b"").ack(507)], &Limits::default());
    assert_eq!((streams[1].as_str(), found.len()), ("abcdef|end", 0));
    let late: Vec<_> =
        (0..20).map(|i| s(500 + i, b"-").at(20 * i64::from(i))).chain([s(490, b"x")]).collect();
    assert_eq!(run_with(&late, &Limits::default()).0[1], format!("{}|end", "-".repeat(20)));
}

#[test]
fn syn_captured_late() {
    let (streams, _) =
        run_with(&[s(1003, b"cd"), s(1000, b"").flag(SYN), s(1001, b"ab")], &Limits::default());
    assert_eq!(streams[1], "abcd|end");
}

#[test]
fn held_bytes_are_bounded() {
    let limits = Limits { max_held: 1_000, ..Limits::default() };
    let mut segments = handshake();
    segments.extend((0..50).map(|i| s(1003 + 2 * i, b"x")));
    let (streams, found) = run_with(&segments, &limits);
    assert!(streams[1].starts_with("<2>x<1>x<1>x"), "{}", streams[1]);
    assert!(found[0].ends_with("given up because too much waits behind them"), "{}", found[0]);
}

#[test]
fn every_order_gives_the_same_bytes() {
    let data: Vec<u8> = (b'a'..=b'z').collect();
    let mut state = 1u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for _ in 0..300 {
        let mut segments = handshake();
        for _ in 0..30 {
            let from = random(26);
            let to = (from + 1 + random(6)).min(26);
            segments.push(s(1001 + from, &data[from as usize..to as usize]));
        }
        segments.push(s(1001, &data).flag(FIN));
        let (streams, found) = run_with(&segments, &Limits::default());
        assert_eq!((streams[1].as_str(), found.len()), ("abcdefghijklmnopqrstuvwxyz|fin", 0));
    }
}
