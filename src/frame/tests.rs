//! Frames, damage and ends, one line per case; splits and prefixes of everything.
//! Never reads a file.

mod holes;

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Cx, Finding, Limits};
use crate::pdu::{Codec, End, Frame, Head, Headers, Lane, LaneEvent, LanePart, Protocol, Role, Side, Start};

use super::{Deframers, Inflater, inflate};

fn lane(protocol: Protocol, side: Side) -> Arc<Lane> {
    let head =
        Head { start: Start::Response { status: Some(200) }, headers: Headers::default(), version: "" };
    Arc::new(Lane {
        call: 1,
        conn: None,
        stream: None,
        side,
        rpc: Some("pkg.Service/Method".into()),
        protocol,
        codec: Codec::Proto,
        encoding: Some("gzip".to_owned()),
        message_type: None,
        request: None,
        response: Some(Arc::new(head)),
    })
}

fn run_with(limits: &Limits, lane: &Arc<Lane>, parts: Vec<(LanePart, u64)>) -> (Vec<Frame>, Vec<Finding>) {
    let (mut findings, mut out) = (Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits };
    let mut deframers = Deframers::new();
    for (part, at) in parts {
        let event = LaneEvent { lane: Arc::clone(lane), time: None, at: Some(at), part };
        deframers.push(event, &mut cx, &mut out);
    }
    deframers.finish(&mut cx, &mut out);
    assert!(deframers.lanes.is_empty());
    (out, findings)
}

/// `hex` in any spacing; `..N` is a gap of N bytes, `..?` one of unknown length, `/` a split.
fn parts(text: &str, end: End) -> Vec<(LanePart, u64)> {
    let mut parts = Vec::new();
    let (mut hex, mut at) = (String::new(), 0u64);
    let flush = |hex: &mut String, at: &mut u64, parts: &mut Vec<_>| {
        let bytes = hex_simd::decode_to_vec(&*hex).unwrap();
        let place = *at;
        *at += bytes.len() as u64;
        if !bytes.is_empty() {
            parts.push((LanePart::Bytes(Bytes::from(bytes)), place));
        }
        hex.clear();
    };
    for word in text.split_whitespace() {
        if let Some(gap) = word.strip_prefix("..") {
            flush(&mut hex, &mut at, &mut parts);
            let length = gap.parse().ok();
            parts.push((LanePart::Gap(length), at));
            at += length.unwrap_or(0);
        } else if word == "/" {
            flush(&mut hex, &mut at, &mut parts);
        } else if let Some(text) = word.strip_prefix('\'') {
            hex.extend(text.bytes().map(|b| format!("{b:02x}")));
        } else {
            hex.push_str(word);
        }
    }
    flush(&mut hex, &mut at, &mut parts);
    parts.push((LanePart::End(end), at));
    parts
}

/// The same with every piece of bytes cut into single bytes.
fn split(parts: &[(LanePart, u64)]) -> Vec<(LanePart, u64)> {
    let mut out = Vec::new();
    for (part, at) in parts {
        match part {
            LanePart::Bytes(bytes) => {
                out.extend((0..bytes.len()).map(|n| (LanePart::Bytes(bytes.slice(n..n + 1)), at + n as u64)))
            }
            part => out.push((part.clone(), *at)),
        }
    }
    out
}

fn describe(frames: &[Frame], findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    for f in frames {
        let role = match &f.role {
            Role::Message => "message".to_owned(),
            Role::EndStream => "end".to_owned(),
            Role::Error => "error".to_owned(),
            Role::Decoded => "decoded".to_owned(),
            Role::Trailers(h) => {
                let fields: Vec<_> = h.fields.iter().map(|f| format!("{}={}", f.name, f.value)).collect();
                format!("trailers[{}]", fields.join(","))
            }
        };
        let flags = f.flags.map_or("-".to_owned(), |f| format!("{f:02x}"));
        let whole = if f.whole { "" } else { " cut" };
        lines.push(format!(
            "{} @{} {flags} {} {role} {}{whole}",
            f.index,
            f.offset,
            f.length,
            hex_simd::encode_to_string(&f.payload, hex_simd::AsciiCase::Lower)
        ));
        assert_eq!(f.at, Some(f.offset), "the place in the body is that in the file here");
        lines.extend(f.findings.iter().map(say));
    }
    lines.extend(findings.iter().map(say));
    lines
}

fn say(f: &Finding) -> String {
    format!("  {} {}: {}", f.severity.name(), f.code.name(), f.text)
}

#[track_caller]
fn check_as(protocol: Protocol, side: Side, text: &str, end: End, expected: &[&str]) {
    let (lane, limits) = (lane(protocol, side), Limits { max_frame: 1 << 20, ..Limits::default() });
    let parts = parts(text, end);
    let (frames, findings) = run_with(&limits, &lane, parts.clone());
    assert_eq!(describe(&frames, &findings), expected);
    let (again, findings_again) = run_with(&limits, &lane, split(&parts));
    assert_eq!((again, findings_again), (frames, findings), "the split changes the output");
}

#[track_caller]
fn check(text: &str, end: End, expected: &[&str]) {
    check_as(Protocol::ConnectStream, Side::Response, text, end, expected);
}

#[test]
fn lengths() {
    check(
        "00 00000004 0a026a00 00 00000000 00 00000001 08 02 00000002 7b7d",
        End::Complete,
        &["0 @0 00 4 message 0a026a00", "1 @9 00 0 message ", "2 @14 00 1 message 08", "3 @20 02 2 end 7b7d"],
    );
    check("02 00000002 7b7d", End::Complete, &["0 @0 02 2 end 7b7d"]);
}

#[test]
fn whole_frames_are_not_copied() {
    let body = Bytes::from_static(b"\0\0\0\0\x03abc\0\0\0\0\x02de\x02\0\0\0\x02{}");
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let (frames, _) = run_with(&Limits::default(), &lane, vec![(LanePart::Bytes(body.clone()), 0)]);
    let inside = body.as_ptr_range();
    assert!(frames.iter().all(|f| inside.contains(&f.payload.as_ptr())));
}

#[test]
fn declared_lengths_that_are_not_there() {
    for (hex, length) in [("ffffffff", "4294967295"), ("80000000", "2147483648"), ("7fffffff", "2147483647")]
    {
        check(
            &format!("00 00000001 0a 00 {hex} 30313233343536373839"),
            End::CaptureEnd,
            &[
                "0 @0 00 1 message 0a",
                &format!("1 @6 00 {length} message 30313233343536373839 cut"),
                &format!(
                    "  note frame.truncated: truncated frame payload: declared length {length}, present 10"
                ),
                "  note frame.no-end: no end-stream frame: the capture ends first",
            ],
        );
    }
}

#[test]
fn reserved_bits() {
    check(
        "04 00000001 08 80 00000001 08 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @0 04 1 message 08",
            "  warning frame.reserved-flags: reserved flag bits set (0x04)",
            "1 @6 80 1 message 08",
            "  warning frame.reserved-flags: reserved flag bits set (0x80)",
            "2 @12 02 2 end 7b7d",
        ],
    );
    check_as(
        Protocol::Grpc,
        Side::Request,
        "02 00000001 08",
        End::Complete,
        &["0 @0 02 1 message 08", "  warning frame.reserved-flags: reserved flag bits set (0x02)"],
    );
}

#[test]
fn cut_tails() {
    let no_end = "  note frame.no-end: no end-stream frame: the capture ends first";
    let header = |n: u32| format!("  note frame.truncated: truncated frame header, {n} of 5 bytes present");
    check(
        "00 00000000 00",
        End::CaptureEnd,
        &["0 @0 00 0 message ", "1 @5 - 1 message 00 cut", &header(1), no_end],
    );
    check("00000000", End::CaptureEnd, &["0 @0 - 4 message 00000000 cut", &header(4), no_end]);
    check(
        "00 0000000f",
        End::CaptureEnd,
        &[
            "0 @0 00 15 message  cut",
            "  note frame.truncated: truncated frame payload: declared length 15, present 0",
            no_end,
        ],
    );
    check(
        "00 00000000",
        End::CaptureEnd,
        &[
            "0 @0 00 0 message ",
            "  note frame.no-end: response of call 1, pkg.Service/Method: no end-stream frame: the capture ends first",
        ],
    );
    check(
        "00 00000003 08",
        End::Closed,
        &[
            "0 @0 00 3 message 08 cut",
            "  warning frame.truncated: truncated frame payload: declared length 3, present 1",
            "  warning frame.no-end: no end-stream frame: the stream was cut off",
        ],
    );
    let cut = "  warning frame.truncated: truncated frame payload: declared length 3, present 1";
    check("00 00000003 08", End::Reset { code: 8 }, &["0 @0 00 3 message 08 cut", cut]);
    check_as(
        Protocol::ConnectStream,
        Side::Request,
        "00 00000001 08",
        End::Complete,
        &["0 @0 00 1 message 08"],
    );
}

#[test]
fn after_the_end() {
    check(
        "02 00000002 7b7d 00 00000001 08 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @0 02 2 end 7b7d",
            "1 @7 00 1 message 08",
            "  error frame.after-end: data after the end of the stream",
            "2 @13 02 2 end 7b7d",
            "  error frame.after-end: a second end of the stream",
        ],
    );
    check_as(
        Protocol::ConnectStream,
        Side::Request,
        "02 00000002 7b7d",
        End::Complete,
        &["0 @0 02 2 end 7b7d"],
    );
}

#[test]
fn web_trailers() {
    let text = "00 00000001 08 80 0000000f 'grpc-status: 35 0d0a";
    check_as(
        Protocol::GrpcWeb,
        Side::Response,
        text,
        End::Complete,
        &["0 @0 00 1 message 08", "1 @6 80 15 trailers[grpc-status=5] 677270632d7374617475733a350d0a"],
    );
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"grpc-status: 5\r\nX-Note-Bin: AAEC\r\n").unwrap();
    let block = encoder.finish().unwrap();
    let frame = [&[0x81, 0, 0, 0, block.len() as u8][..], &block].concat();
    let lane = lane(Protocol::GrpcWebText, Side::Response);
    let (frames, findings) =
        run_with(&Limits::default(), &lane, vec![(LanePart::Bytes(Bytes::from(frame)), 0)]);
    let Role::Trailers(headers) = &frames[0].role else { panic!() };
    assert_eq!((headers.get("grpc-status"), headers.get("x-note-bin")), (Some("5"), Some("AAEC")));
    assert!(frames[0].compressed && frames[0].findings.is_empty() && findings.is_empty());
}

#[test]
fn grpc_trailers() {
    let lane = lane(Protocol::Grpc, Side::Response);
    let mut headers = Headers::default();
    headers.push("grpc-status", "0");
    let body = LanePart::Bytes(Bytes::from_static(b"\0\0\0\0\x01\x08"));
    let end = LanePart::End(End::Complete);
    let all = vec![(body.clone(), 0), (LanePart::Trailers(headers), 6), (end.clone(), 6)];
    let (frames, findings) = run_with(&Limits::default(), &lane, all);
    let told = describe(&frames, &findings);
    assert_eq!(told, ["0 @0 00 1 message 08", "1 @6 - 0 trailers[grpc-status=0] "]);
    let (frames, findings) = run_with(&Limits::default(), &lane, vec![(body, 0), (end, 6)]);
    let told =
        "  warning frame.no-end: response of call 1, pkg.Service/Method: no trailers: the stream was cut off";
    assert_eq!(describe(&frames, &findings), ["0 @0 00 1 message 08", told]);
}

#[test]
fn too_large() {
    let limits = Limits { max_frame: 16, ..Limits::default() };
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let body =
        [b"\0\0\0\0\x20".as_slice(), &[7; 32], b"\0\0\0\0\x10", &[8; 16], b"\x02\0\0\0\x02{}"].concat();
    let all = vec![(LanePart::Bytes(Bytes::from(body)), 0)];
    let (frames, findings) = run_with(&limits, &lane, all.clone());
    assert_eq!(frames.len(), 3);
    assert!(!frames[0].whole && frames[0].payload.len() <= 16 && frames[1].whole);
    assert_eq!(
        say(&frames[0].findings[0]),
        "  error frame.too-large: frame of 32 bytes is over the limit of 16 (--max-frame); skipped"
    );
    assert_eq!((frames, findings), run_with(&limits, &lane, split(&all)));
}

#[test]
fn a_long_search_is_bounded_and_the_same_for_any_split() {
    let noise: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 4).collect();
    let tail = b"\0\0\0\0\x03\x0a\x01a\x02\0\0\0\x02{}";
    let body = Bytes::from([&noise[..], tail].concat());
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let all = vec![(LanePart::Gap(None), 0), (LanePart::Bytes(body), 0), (LanePart::End(End::Complete), 0)];
    let (frames, _) = run_with(&Limits::default(), &lane, all.clone());
    assert_eq!(frames.iter().map(|f| f.at).collect::<Vec<_>>(), [Some(3_000_000), Some(3_000_008)]);
    assert_eq!(frames, run_with(&Limits::default(), &lane, split(&all)).0);
}

#[test]
fn unary_bodies() {
    let lane = lane(Protocol::ConnectUnary, Side::Response);
    let whole = LanePart::Whole(Bytes::from_static(b"\x08\x01"));
    let (frames, findings) = run_with(&Limits::default(), &lane, vec![(whole, 0)]);
    assert_eq!(describe(&frames, &findings), ["0 @0 - 2 message 0801"]);
    let failed = LanePart::Failed(Bytes::from_static(b"{}"));
    let (frames, findings) = run_with(&Limits::default(), &lane, vec![(failed, 0)]);
    assert_eq!(describe(&frames, &findings), ["0 @0 - 2 error 7b7d"]);
    let cut = LanePart::Cut { bytes: Bytes::from_static(b"\x08"), length: Some(9) };
    let (frames, findings) = run_with(&Limits::default(), &lane, vec![(cut, 0)]);
    assert_eq!(describe(&frames, &findings), ["0 @0 - 9 message 08 cut"]);
}

#[test]
fn every_prefix_is_survived() {
    let all = "00 00000004 0a026a00 ..3 81 00000001 08 ff 00 00000003 0a0161 01 00000001 1f 02 00000002 7b7d";
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let pieces = split(&parts(all, End::Closed));
    let (full, _) = run_with(&Limits::default(), &lane, pieces.clone());
    for n in 0..pieces.len() {
        let (frames, findings) = run_with(&Limits::default(), &lane, pieces[..n].to_vec());
        let whole: Vec<_> = frames.iter().filter(|f| f.whole).map(|f| (f.offset, f.length)).collect();
        assert!(whole.iter().all(|w| full.iter().any(|f| (f.offset, f.length) == *w)), "{n}");
        assert!(n == 0 || !findings.is_empty() || frames.iter().any(|f| !f.findings.is_empty()));
    }
}

#[test]
fn inflating_names_the_place() {
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let body = LanePart::Bytes(Bytes::from_static(b"\0\0\0\0\0\x01\0\0\0\x02\x1f\x8c"));
    let (frames, _) = run_with(&Limits::default(), &lane, vec![(body, 0)]);
    let (mut out, mut findings) = (Vec::new(), Vec::new());
    let done = inflate(&frames[1], &mut Inflater::new(), &Limits::default(), &mut out, &mut findings);
    let span = findings[0].span.unwrap();
    assert!(!done.complete && (span.start, span.end) == (10, 12));
}
