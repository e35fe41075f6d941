//! The cases of fixtures/cases: what each body gives, frame by frame, inflated.
//! Never decodes a message.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Cx, Limits};
use crate::pdu::{Codec, End, Frame, Lane, LaneEvent, LanePart, Protocol, Role, Side};

use super::{Deframers, Inflater, inflate};

macro_rules! case {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/cases/", $path))
    };
}

/// The frames of a raw body, as a file of nothing else gives them.
fn frames(protocol: Protocol, side: Side, encoding: Option<&str>, body: &[u8]) -> (Vec<Frame>, Vec<String>) {
    let lane = Arc::new(Lane {
        call: 1,
        conn: None,
        stream: None,
        side,
        rpc: None,
        protocol,
        codec: Codec::Proto,
        encoding: encoding.map(str::to_owned),
        message_type: None,
        request: None,
        response: None,
    });
    let (limits, mut findings, mut out) = (Limits::default(), Vec::new(), Vec::new());
    let mut cx = Cx { findings: &mut findings, limits: &limits };
    let mut deframers = Deframers::new();
    for part in [LanePart::Bytes(Bytes::copy_from_slice(body)), LanePart::End(End::CaptureEnd)] {
        let event = LaneEvent { lane: Arc::clone(&lane), time: None, at: Some(0), part };
        deframers.push(event, &mut cx, &mut out);
    }
    (out, findings.iter().map(|f| format!("{} {}", f.code.name(), f.text)).collect())
}

/// A line a frame: offset, flags, length, what the payload is and its length once inflated; then
/// its findings; at the end those that stand alone.
fn lines(protocol: Protocol, side: Side, encoding: Option<&str>, body: &[u8]) -> Vec<String> {
    let (frames, loose) = frames(protocol, side, encoding, body);
    let (mut inflater, mut out, limits) = (Inflater::new(), Vec::new(), Limits::default());
    let mut lines = Vec::new();
    for frame in &frames {
        let mut findings = frame.findings.clone();
        let is_message = !matches!(frame.role, Role::Trailers(_));
        let plain = if frame.compressed && is_message {
            inflate(frame, &mut inflater, &limits, &mut out, &mut findings);
            &out
        } else {
            &frame.payload[..]
        };
        let text: String =
            plain.iter().filter(|b| b.is_ascii_graphic() || **b == b' ').map(|b| *b as char).collect();
        let what = match &frame.role {
            Role::Message => "message",
            Role::EndStream => "end",
            Role::Trailers(_) => "trailers",
            Role::Error | Role::Decoded => "other",
        };
        let flags = frame.flags.map_or("--".to_owned(), |f| format!("{f:02x}"));
        lines.push(format!("{} {flags} {} {what} {} {text}", frame.offset, frame.length, plain.len()));
        lines.extend(findings.iter().map(|f| format!("{} {}", f.code.name(), f.text)));
    }
    lines.extend(loose);
    lines
}

#[track_caller]
fn check(encoding: Option<&str>, body: &[u8], expected: &[&str]) {
    assert_eq!(lines(Protocol::ConnectStream, Side::Response, encoding, body), expected);
}

#[test]
fn case_01_only_an_end() {
    check(None, case!("01-envelope-lengths/empty-stream.bin"), &["0 02 2 end 2 {}"]);
}

#[test]
fn case_02_lengths_that_the_file_cannot_hold() {
    for (body, length) in [
        (&case!("02-envelope-4gib-length/len-ffffffff.bin")[..], u32::MAX),
        (case!("02-envelope-4gib-length/len-80000000.bin"), 0x8000_0000),
        (case!("02-envelope-4gib-length/len-7fffffff.bin"), 0x7fff_ffff),
    ] {
        let told = lines(Protocol::Bare, Side::Response, None, body);
        assert!(told[0].starts_with("0 00 12 message 12"), "{told:?}");
        assert!(told[1].starts_with(&format!("17 00 {length} message 10")), "{told:?}");
        assert_eq!(
            told[2],
            format!("frame.truncated truncated frame payload: declared length {length}, present 10")
        );
    }
}

#[test]
fn case_03_reserved_bits() {
    let told =
        lines(Protocol::ConnectStream, Side::Response, None, case!("03-envelope-reserved-bits/stream.bin"));
    for (n, flags) in ["04", "08", "10", "20", "40", "80"].iter().enumerate() {
        assert!(told[2 * n].starts_with(&format!("{} {flags} 10 message 10", 15 * n)), "{told:?}");
        assert_eq!(told[2 * n + 1], format!("frame.reserved-flags reserved flag bits set (0x{flags})"));
    }
    assert_eq!(told.len(), 14, "{told:?}");
    assert_eq!(told[13], "106 02 2 end 2 {}");
}

#[test]
fn case_05_cut_tails() {
    let no_end = "frame.no-end no end-stream frame: the capture ends first";
    for (body, frame, told) in [
        (
            &case!("05-envelope-truncated-tail/cut-after-1.bin")[..],
            "28 -- 1 message 1 ",
            "header, 1 of 5 bytes present",
        ),
        (
            case!("05-envelope-truncated-tail/cut-after-4.bin"),
            "28 -- 4 message 4 ",
            "header, 4 of 5 bytes present",
        ),
        (
            case!("05-envelope-truncated-tail/cut-after-5.bin"),
            "28 00 15 message 0 ",
            "payload: declared length 15, present 0",
        ),
        (
            case!("05-envelope-truncated-tail/cut-after-9.bin"),
            "28 00 15 message 4 ",
            "payload: declared length 15, present 4",
        ),
    ] {
        let got = lines(Protocol::ConnectStream, Side::Response, None, body);
        assert!(got[0].starts_with("0 00 10") && got[1].starts_with("15 00 8"), "{got:?}");
        assert!(got[2].starts_with(frame), "{got:?}");
        assert_eq!(got[3..], [format!("frame.truncated truncated frame {told}"), no_end.to_owned()]);
    }
    let got = lines(
        Protocol::ConnectStream,
        Side::Response,
        None,
        case!("05-envelope-truncated-tail/cut-on-boundary.bin"),
    );
    assert_eq!(got[2], "frame.no-end response of call 1: no end-stream frame: the capture ends first");
    assert_eq!(got.len(), 3);
}

#[test]
fn case_07_after_the_end() {
    let told =
        lines(Protocol::ConnectStream, Side::Response, None, case!("07-data-after-end-stream/late.bin"));
    let frames = told.iter().filter(|l| !l.starts_with("frame.")).count();
    let late = told.iter().filter(|l| l.starts_with("frame.after-end"));
    assert_eq!(frames, 4, "{told:?}");
    assert_eq!(
        late.collect::<Vec<_>>(),
        ["frame.after-end data after the end of the stream", "frame.after-end a second end of the stream"]
    );
    let request = case!("07-data-after-end-stream/request-with-end.bin");
    let told = lines(Protocol::ConnectStream, Side::Request, None, request);
    assert!(told.iter().all(|l| !l.contains("frame.")) && told[told.len() - 1].contains(" end "), "{told:?}");
}

#[test]
fn case_09_web_trailers() {
    for body in
        [&case!("09-grpc-web-trailers/web.bin")[..], case!("09-grpc-web-trailers/web-compressed-trailer.bin")]
    {
        let (frames, loose) = frames(Protocol::GrpcWeb, Side::Response, Some("gzip"), body);
        assert!(frames.len() == 2 && loose.is_empty() && frames.iter().all(|f| f.findings.is_empty()));
        let Role::Trailers(headers) = &frames[1].role else { panic!("{frames:?}") };
        let fields: Vec<_> = headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str())).collect();
        let message = "not%20found%3A%20%C3%A9";
        assert_eq!(fields, [("grpc-status", "5"), ("grpc-message", message), ("x-note-bin", "AAEC")]);
    }
}

#[test]
fn case_11_compressed_without_a_declaration() {
    let told =
        lines(Protocol::ConnectStream, Side::Response, None, case!("11-compressed-no-encoding/stream.bin"));
    assert!(told[0].starts_with("0 01 32 message 12") && told[0].ends_with("packed"), "{told:?}");
    assert_eq!(told[1], "codec.undeclared compressed, but the stream declares no encoding; taken as gzip");
    assert!(told[2].starts_with("37 00 11 message 11") && told[3] == "53 02 2 end 2 {}" && told.len() == 4);
}

#[test]
fn case_12_only_flagged_frames_are_compressed() {
    let body = case!("12-encoding-declared-flag-unset/stream.bin");
    let told = lines(Protocol::ConnectStream, Side::Response, Some("gzip"), body);
    for (line, start) in
        told.iter().zip(["0 00 4 message 4", "9 00 37 message 37", "51 01 51 message 33", "107 02 2"])
    {
        assert!(line.starts_with(start), "{told:?}");
    }
    assert_eq!(told.len(), 4);
}

#[test]
fn case_13_damaged_gzip() {
    for (body, told, whole) in [
        (&case!("13-gzip-corrupt/bad-crc.bin")[..], "gzip checksum mismatch", true),
        (case!("13-gzip-corrupt/bad-size.bin"), "gzip length mismatch", true),
        (case!("13-gzip-corrupt/no-trailer.bin"), "gzip trailer missing", true),
        (case!("13-gzip-corrupt/cut-in-deflate.bin"), "compressed data cut off", false),
        (case!("13-gzip-corrupt/bad-magic.bin"), "not gzip", false),
        (case!("13-gzip-corrupt/trailing-junk.bin"), "4 bytes after the gzip stream", true),
    ] {
        let got = lines(Protocol::ConnectStream, Side::Response, Some("gzip"), body);
        assert!(got.len() == 5 && got[0].ends_with("first") && got[3].ends_with("last"), "{got:?}");
        assert!(got[2].starts_with("codec.corrupt") && got[2].contains(told), "{got:?}");
        assert_eq!(got[1].contains("message 29 "), whole, "{got:?}");
    }
}

#[test]
fn case_16_other_encodings() {
    for (body, encoding) in [
        (&case!("16-zstd-br-deflate/zstd.bin")[..], "zstd"),
        (case!("16-zstd-br-deflate/zstd-no-size.bin"), "zstd"),
        (case!("16-zstd-br-deflate/zstd-frames-and-skippable.bin"), "zstd"),
        (case!("16-zstd-br-deflate/br.bin"), "br"),
        (case!("16-zstd-br-deflate/deflate-zlib.bin"), "deflate"),
        (case!("16-zstd-br-deflate/deflate-raw.bin"), "deflate"),
    ] {
        let told = lines(Protocol::ConnectStream, Side::Response, Some(encoding), body);
        assert!(
            told[0].contains("message 33 ") && told[0].ends_with("same text in every encoding"),
            "{told:?}"
        );
        assert_eq!(told.len(), 2, "{told:?}");
    }
    let body = case!("16-zstd-br-deflate/says-gzip-is-zstd.bin");
    let told = lines(Protocol::ConnectStream, Side::Response, Some("gzip"), body);
    assert!(told[0].ends_with("same text in every encoding"));
    assert_eq!(told[1], "codec.corrupt declared gzip, but the payload begins as zstd does");
    let body = case!("16-zstd-br-deflate/unknown-name.bin");
    let told = lines(Protocol::ConnectStream, Side::Response, Some("snappy"), body);
    assert!(told[1].starts_with("codec.unsupported encoding 'snappy'"), "{told:?}");
}

#[test]
fn case_15_a_bomb_stops_and_its_neighbours_do_not() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = vec![0; 1 << 20];
    for _ in 0..65 {
        encoder.write_all(&piece).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let length = (bomb.len() as u32).to_be_bytes();
    let body = [&b"\0\0\0\0\x01a\x01"[..], &length, &bomb, b"\0\0\0\0\x01b\x02\0\0\0\x02{}"].concat();
    let told = lines(Protocol::ConnectStream, Side::Response, Some("gzip"), &body);
    assert_eq!(told[0], "0 00 1 message 1 a");
    assert!(told[1].contains(" message 67108864 "), "{}", told[1]);
    assert_eq!(told[2], "codec.bomb gzip: inflates past the limit of 67108864 bytes (--max-inflate)");
    assert!(told[3].ends_with("00 1 message 1 b") && told[4].ends_with("02 2 end 2 {}"));
}
