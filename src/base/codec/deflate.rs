//! gzip (RFC 1952), zlib (RFC 1950) and raw deflate (RFC 1951).
//! Never trusts a trailer; it is compared, and what differs is named.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::base::{Code, Finding};

use super::{Room, Stop};

/// ID1 and ID2.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

const FHCRC: u8 = 0x02;
const FEXTRA: u8 = 0x04;
const FNAME: u8 = 0x08;
const FCOMMENT: u8 = 0x10;
const RESERVED: u8 = 0xe0;

/// CRC32 and ISIZE.
const GZIP_TRAILER: usize = 8;

/// Inflates one or more gzip members.
pub(super) fn gzip(
    state: &mut Decompress,
    payload: &[u8],
    whole: bool,
    room: &mut Room<'_>,
    findings: &mut Vec<Finding>,
) -> Stop {
    let mut at = 0;
    loop {
        let rest = payload.get(at..).unwrap_or_default();
        // What follows a member and is none itself is for the caller to count.
        if at > 0 && !rest.starts_with(&GZIP_MAGIC) {
            return Stop::Done(at);
        }
        let header = match member_header(rest) {
            Ok(length) => length,
            Err(stop) => return stop,
        };
        let start = room.out.len();
        let body = rest.get(header..).unwrap_or_default();
        let used = match raw(state, body, room) {
            Stop::Done(used) => used,
            Stop::Damaged(text) => return Stop::Damaged(format!("gzip: {text}")),
            stop => return stop,
        };
        let after = body.get(used..).unwrap_or_default();
        let Some(trailer) = after.first_chunk::<GZIP_TRAILER>() else {
            if whole {
                let text = match after.len() {
                    0 => "gzip trailer missing".to_owned(),
                    n => format!("gzip trailer missing: {n} of 8 bytes present"),
                };
                findings.push(Finding::new(Code::CodecCorrupt, text));
            }
            return Stop::Done(payload.len());
        };
        compare_trailer(trailer, room.out.get(start..).unwrap_or_default(), findings);
        at += header + used + GZIP_TRAILER;
        if at >= payload.len() {
            return Stop::Done(at);
        }
    }
}

fn compare_trailer(&[a, b, c, d, e, f, g, h]: &[u8; 8], data: &[u8], findings: &mut Vec<Finding>) {
    let (crc, isize) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let mut sum = Crc::new();
    sum.update(data);
    if sum.sum() != crc {
        let text = format!(
            "gzip checksum mismatch: the trailer says {crc:#010x}, the inflated bytes give {:#010x}",
            sum.sum()
        );
        findings.push(Finding::new(Code::CodecCorrupt, text));
    }
    // ISIZE is the length modulo 2^32.
    if data.len() as u32 != isize {
        let text = format!(
            "gzip length mismatch: the trailer says {isize} bytes, {} bytes were inflated",
            data.len()
        );
        findings.push(Finding::new(Code::CodecCorrupt, text));
    }
}

/// The length of a member's header.
fn member_header(bytes: &[u8]) -> Result<usize, Stop> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        let short = bytes.len() < 2 && GZIP_MAGIC.starts_with(bytes);
        return Err(if short { Stop::Cut } else { not_gzip(bytes) });
    }
    let Some(&[_, _, method, flags, ..]) = bytes.first_chunk::<10>() else { return Err(Stop::Cut) };
    if method != 8 {
        return Err(Stop::Damaged(format!("not gzip: compression method {method} instead of 8")));
    }
    if flags & RESERVED != 0 {
        return Err(Stop::Damaged(format!("not gzip: reserved header flags {flags:#04x}")));
    }
    let mut at = 10;
    if flags & FEXTRA != 0 {
        let length = bytes.get(at..).and_then(|b| b.first_chunk::<2>()).ok_or(Stop::Cut)?;
        at += 2 + usize::from(u16::from_le_bytes(*length));
    }
    for text in [FNAME, FCOMMENT] {
        if flags & text != 0 {
            let rest = bytes.get(at..).ok_or(Stop::Cut)?;
            at += memchr::memchr(0, rest).ok_or(Stop::Cut)? + 1;
        }
    }
    if flags & FHCRC != 0 {
        at += 2;
    }
    if at > bytes.len() { Err(Stop::Cut) } else { Ok(at) }
}

fn not_gzip(bytes: &[u8]) -> Stop {
    let first = bytes.iter().take(4).map(|b| format!(" {b:02x}")).collect::<String>();
    Stop::Damaged(format!("not gzip: begins with{first} instead of 1f 8b"))
}

/// Inflates what HTTP calls deflate: zlib by RFC 9110, raw by what many send.
pub(super) fn deflate(
    state: &mut Decompress,
    payload: &[u8],
    whole: bool,
    room: &mut Room<'_>,
    findings: &mut Vec<Finding>,
) -> Stop {
    let Some(body) = zlib_body(payload) else {
        return match raw(state, payload, room) {
            Stop::Damaged(text) => Stop::Damaged(format!("deflate: {text}")),
            stop => stop,
        };
    };
    let used = match raw(state, body, room) {
        Stop::Done(used) => used,
        Stop::Damaged(text) => return Stop::Damaged(format!("deflate: {text}")),
        stop => return stop,
    };
    let after = body.get(used..).unwrap_or_default();
    let Some(&trailer) = after.first_chunk::<4>() else {
        if whole {
            findings.push(Finding::new(Code::CodecCorrupt, "zlib trailer missing"));
        }
        return Stop::Done(payload.len());
    };
    let (said, is) = (u32::from_be_bytes(trailer), adler32(room.out));
    if said != is {
        let text = format!(
            "zlib checksum mismatch: the trailer says {said:#010x}, the inflated bytes give {is:#010x}"
        );
        findings.push(Finding::new(Code::CodecCorrupt, text));
    }
    Stop::Done(2 + used + 4)
}

/// What follows a zlib header, where there is one without a preset dictionary.
pub(super) fn zlib_body(payload: &[u8]) -> Option<&[u8]> {
    let (&[cmf, flg], rest) = payload.split_first_chunk::<2>()?;
    let is_zlib = cmf & 0x0f == 8 && cmf >> 4 <= 7 && flg & 0x20 == 0;
    (is_zlib && u16::from_be_bytes([cmf, flg]).is_multiple_of(31)).then_some(rest)
}

/// Inflates one raw deflate stream.
fn raw(state: &mut Decompress, input: &[u8], room: &mut Room<'_>) -> Stop {
    state.reset(false);
    loop {
        room.grow(input.len());
        let used = state.total_in() as usize;
        let rest = input.get(used..).unwrap_or_default();
        let before = room.out.len();
        let status = state.decompress_vec(rest, room.out, FlushDecompress::None);
        let used = state.total_in() as usize;
        if room.is_over() {
            return Stop::Full;
        }
        match status {
            Ok(Status::StreamEnd) => return Stop::Done(used),
            Ok(_) if room.out.len() == room.out.capacity() => {}
            // Output space was left, so it is the input that ran out.
            Ok(_) if used >= input.len() || room.out.len() == before => return Stop::Cut,
            Ok(_) => {}
            Err(_) => return Stop::Damaged(format!("damaged deflate data near byte {used}")),
        }
    }
}

/// Adler-32 (RFC 1950, section 8.2).
fn adler32(data: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    // The largest run before the sums must be reduced.
    const RUN: usize = 5_552;
    let (mut a, mut b) = (1u32, 0u32);
    for run in data.chunks(RUN) {
        for &byte in run {
            a += u32::from(byte);
            b += a;
        }
        a %= BASE;
        b %= BASE;
    }
    b << 16 | a
}
