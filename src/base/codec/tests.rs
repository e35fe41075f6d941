//! What each damage is called, and that no payload goes past its limits.
//! Never reads a file.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::base::{Code, Finding, Limits};

use super::Inflater;

const TEXT: &[u8] = b"hello hello hello hello hello";
const BROTLI: &[u8] = b"\x0b\x10\x80\x0a\x1f\x0a\x1d\x0a\x1bsame text in every encoding\x03";
const SAME: &[u8] = b"\x0a\x1f\x0a\x1d\x0a\x1bsame text in every encoding";

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 3).unwrap()
}

fn snappy_framed(data: &[u8]) -> Vec<u8> {
    let mut encoder = snap::write::FrameEncoder::new(Vec::new());
    encoder.write_all(data).unwrap();
    encoder.into_inner().unwrap()
}

fn snappy_raw(data: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(data).unwrap()
}

fn run(encoding: Option<&str>, payload: &[u8]) -> (Vec<u8>, bool, Vec<Finding>) {
    let (mut out, mut findings) = (vec![1, 2, 3], Vec::new());
    let done = Inflater::new().inflate(encoding, payload, true, &Limits::default(), &mut out, &mut findings);
    (out, done.complete, findings)
}

/// The output, completeness, and for each finding its code and a part of its text.
#[track_caller]
fn check(encoding: Option<&str>, payload: &[u8], out: &[u8], complete: bool, expected: &[(Code, &str)]) {
    let (got, done, findings) = run(encoding, payload);
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(out));
    let told: Vec<_> = findings.iter().map(|f| (f.code, f.text.as_str())).collect();
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((code, text), (want, part)) in told.iter().zip(expected) {
        assert!(code == want && text.contains(part), "{told:?}");
    }
    assert_eq!(done, complete);
}

#[test]
fn whole_streams_of_every_encoding() {
    for (name, bytes) in [
        ("gzip", gzip(TEXT)),
        ("x-gzip", gzip(TEXT)),
        ("GZIP", gzip(TEXT)),
        ("deflate", zlib(TEXT)),
        ("deflate", raw(TEXT)),
        ("zstd", zstd(TEXT)),
        ("snappy", snappy_framed(TEXT)),
        ("snappy", snappy_raw(TEXT)),
        ("identity", TEXT.to_vec()),
    ] {
        check(Some(name), &bytes, TEXT, true, &[]);
    }
    check(Some("br"), BROTLI, SAME, true, &[]);
    check(Some("gzip"), b"", b"", true, &[]);
}

#[test]
fn members_and_frames_are_joined() {
    let twice = [TEXT, TEXT].concat();
    check(Some("gzip"), &[gzip(TEXT), gzip(TEXT)].concat(), &twice, true, &[]);
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0skip".to_vec();
    check(Some("zstd"), &[zstd(TEXT), skippable, zstd(TEXT)].concat(), &twice, true, &[]);
}

#[test]
fn damaged_gzip_is_told_apart() {
    let good = gzip(TEXT);
    let n = good.len();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= byte;
        bytes
    };
    let corrupt = Code::CodecCorrupt;
    check(Some("gzip"), &with(n - 8, 1), TEXT, true, &[(corrupt, "gzip checksum mismatch")]);
    check(Some("gzip"), &with(n - 1, 1), TEXT, true, &[(corrupt, "gzip length mismatch")]);
    check(Some("gzip"), &good[..n - 8], TEXT, true, &[(corrupt, "gzip trailer missing")]);
    check(Some("gzip"), &good[..n - 5], TEXT, true, &[(corrupt, "3 of 8 bytes present")]);
    check(Some("gzip"), &with(1, 7), b"", false, &[(corrupt, "not gzip: begins with 1f 8c")]);
    check(Some("gzip"), &good[..10], b"", false, &[(corrupt, "compressed data cut off")]);
    let junk = [&good[..], b"JUNK"].concat();
    check(Some("gzip"), &junk, TEXT, true, &[(corrupt, "4 bytes after the gzip stream")]);
    check(Some("gzip"), TEXT, b"", false, &[(corrupt, "not gzip")]);
}

#[test]
fn a_cut_stream_keeps_its_beginning() {
    let data: Vec<u8> = (0..5_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for (name, bytes) in [("gzip", gzip(&data)), ("deflate", zlib(&data)), ("zstd", zstd(&data))] {
        let (out, complete, findings) = run(Some(name), &bytes[..bytes.len() * 3 / 4]);
        assert!(!complete && data.starts_with(&out), "{name}");
        assert!(findings[0].text.contains("cut off"), "{findings:?}");
    }
    let (out, _, _) = run(Some("gzip"), &gzip(&data)[..15_000]);
    assert!(out.len() > 10_000);
}

#[test]
fn names_that_do_not_fit() {
    check(Some("lz4"), b"abc", b"", false, &[(Code::CodecUnsupported, "encoding 'lz4' is not supported")]);
    check(None, &gzip(TEXT), TEXT, true, &[(Code::CodecUndeclared, "taken as gzip")]);
    check(None, &zstd(TEXT), TEXT, true, &[(Code::CodecUndeclared, "taken as zstd")]);
    check(None, b"abc", b"", false, &[(Code::CodecUndeclared, "kept as bytes")]);
    let said = "declared gzip, but the payload begins as zstd";
    check(Some("gzip"), &zstd(TEXT), TEXT, true, &[(Code::CodecCorrupt, said)]);
    let reserved = [super::foreign::SNAPPY_IDENTIFIER, SAME].concat();
    let told = "encoding 'snappy': a chunk of type 0x0a is not supported";
    check(Some("snappy"), &reserved, b"", false, &[(Code::CodecUnsupported, told)]);
}

#[test]
fn bombs_stop_at_the_limit() {
    let zeros = vec![0u8; 8 << 20];
    let limits = Limits { max_inflate: 3 << 20, max_ratio: u64::MAX, ..Limits::default() };
    let ratio = Limits { max_ratio: 10, ratio_floor: 1 << 20, ..Limits::default() };
    let mut inflater = Inflater::new();
    for (name, bytes) in [
        ("gzip", gzip(&zeros)),
        ("deflate", raw(&zeros)),
        ("zstd", zstd(&zeros)),
        ("snappy", snappy_raw(&zeros)),
    ] {
        let (mut out, mut findings) = (Vec::new(), Vec::new());
        let done = inflater.inflate(Some(name), &bytes, true, &limits, &mut out, &mut findings);
        assert!(!done.complete && out.len() <= 3 << 20);
        assert_eq!(findings[0].code, Code::CodecBomb);
        assert!(findings[0].text.contains("limit of 3145728 bytes"), "{findings:?}");
        assert!(out.capacity() < 8 << 20, "{name} {}", out.capacity());
    }
    let (mut out, mut findings) = (Vec::new(), Vec::new());
    inflater.inflate(Some("gzip"), &gzip(&zeros), true, &ratio, &mut out, &mut findings);
    assert_eq!((findings[0].code, out.len()), (Code::CodecBomb, 1 << 20));
    // Exactly the limit is no bomb, and the largest limit does not overflow.
    for max_inflate in [8 << 20, u64::MAX] {
        let limits = Limits { max_inflate, max_ratio: u64::MAX, ..Limits::default() };
        findings.clear();
        assert!(
            inflater.inflate(Some("gzip"), &gzip(&zeros), true, &limits, &mut out, &mut findings).complete
        );
        assert!(findings.is_empty() && out.len() == 8 << 20);
    }
    // A raw snappy header may claim 4 GiB.
    let (_, complete, findings) = run(Some("snappy"), b"\xff\xff\xff\xff\x0f\x00a");
    assert!(!complete && findings[0].code == Code::CodecCorrupt);
}

#[test]
fn every_prefix_and_every_flip_is_survived() {
    for (name, bytes) in [
        ("gzip", gzip(TEXT)),
        ("deflate", zlib(TEXT)),
        ("deflate", raw(TEXT)),
        ("zstd", zstd(TEXT)),
        ("br", BROTLI.to_vec()),
        ("snappy", snappy_framed(TEXT)),
        ("snappy", snappy_raw(TEXT)),
    ] {
        for n in 1..bytes.len() {
            let (_, complete, findings) = run(Some(name), &bytes[..n]);
            // Each prefix is told; snappy chunks end where they like.
            assert!(!findings.is_empty() || complete && bytes[0] == 0xff, "{name} {n}");
        }
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            run(Some(name), &bytes);
            run(None, &bytes);
        }
    }
}

#[test]
fn content_codings_are_undone_where_they_are() {
    let undo = |codings: &str, body: &[u8]| {
        let mut findings = Vec::new();
        let body = Bytes::copy_from_slice(body);
        let out = Inflater::new().undo_content(codings, body, true, &Limits::default(), &mut findings);
        assert_eq!(findings, []);
        out
    };
    let plain = b"\x72\x11plain in the file";
    for (codings, body) in [
        ("gzip", gzip(plain)),
        ("deflate", zlib(plain)),
        ("deflate", raw(plain)),
        ("zstd", zstd(plain)),
        ("deflate, gzip", gzip(&zlib(plain))),
        ("identity", plain.to_vec()),
        ("gzip", plain.to_vec()),
        ("br", plain.to_vec()),
        ("zstd", plain.to_vec()),
        ("deflate", plain.to_vec()),
    ] {
        assert_eq!(&undo(codings, &body)[..], plain, "{codings}");
    }
    assert_eq!(&undo("br", BROTLI)[..], SAME);
}
