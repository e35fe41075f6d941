//! br (RFC 7932), zstd (RFC 8878) and snappy (its format and framing descriptions).
//! Never lets a header decide how much memory is taken.

use std::io::Read;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};

use crate::base::Limits;

use super::{Room, Stop};

/// The stream identifier chunk that every framed snappy stream begins with.
pub(super) const SNAPPY_IDENTIFIER: &[u8] = b"\xff\x06\x00\x00sNaPpY";

/// No run of snappy elements expands more: a copy of 64 bytes takes three.
const SNAPPY_MOST: usize = 22;

pub(super) fn identity(payload: &[u8], room: &mut Room<'_>) -> Stop {
    let fits = payload.len() <= room.cap;
    room.out.extend_from_slice(payload.get(..payload.len().min(room.cap)).unwrap_or_default());
    if fits { Stop::Done(payload.len()) } else { Stop::Full }
}

pub(super) fn brotli(payload: &[u8], room: &mut Room<'_>) -> Stop {
    let alloc = StandardAlloc::default;
    // Strict: without the large-window extension a window is at most 16 MiB.
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut used, mut total) = (payload.len(), 0, 0);
    let mut buffer = [0u8; 16 << 10];
    loop {
        let (mut space, mut made) = (buffer.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut used,
            payload,
            &mut space,
            &mut made,
            &mut buffer,
            &mut total,
            &mut state,
        );
        room.out.extend_from_slice(buffer.get(..made).unwrap_or_default());
        if room.is_over() {
            return Stop::Full;
        }
        match result {
            BrotliResult::ResultSuccess => return Stop::Done(payload.len().saturating_sub(left)),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Stop::Cut,
            BrotliResult::ResultFailure => {
                return Stop::Damaged(format!("br: damaged data near byte {used}"));
            }
        }
    }
}

/// Whether the bytes begin with a zstd frame or a skippable frame.
pub(super) fn is_zstd(bytes: &[u8]) -> bool {
    match bytes.first_chunk::<4>() {
        Some([0x28, 0xb5, 0x2f, 0xfd]) => true,
        Some([first, 0x2a, 0x4d, 0x18]) => first & 0xf0 == 0x50,
        _ => false,
    }
}

pub(super) fn zstd(
    state: &mut Option<DCtx<'static>>,
    payload: &[u8],
    limits: &Limits,
    room: &mut Room<'_>,
) -> Stop {
    let Some(context) = state.take().or_else(DCtx::try_create) else {
        return Stop::Damaged("zstd: no memory for a decoder".to_owned());
    };
    let context = state.insert(context);
    // A window of the output limit is all that can be of use; RFC 8878 asks for 8 MiB at least.
    let window_log = limits.max_inflate.max(8 << 20).checked_next_power_of_two().map_or(27, u64::ilog2);
    let _ = context.reset(ResetDirective::SessionOnly);
    let _ = context.set_parameter(DParameter::WindowLogMax(window_log.min(27)));
    let mut input = InBuffer::around(payload);
    loop {
        room.grow(payload.len());
        let (start, before) = (input.pos(), room.out.len());
        let result = {
            let mut output = OutBuffer::around_pos(room.out, before);
            context.decompress_stream(&mut output, &mut input)
        };
        if room.is_over() {
            return Stop::Full;
        }
        let rest = payload.get(input.pos()..).unwrap_or_default();
        match result {
            Ok(0) if rest.is_empty() || !is_zstd(rest) => return Stop::Done(input.pos()),
            Ok(0) => {}
            Ok(_) if room.out.len() == room.out.capacity() => {}
            Ok(_) if rest.is_empty() || (input.pos() == start && room.out.len() == before) => {
                return Stop::Cut;
            }
            Ok(_) => {}
            Err(code) if start == 0 && before == 0 && !is_zstd(payload) => {
                let _ = code;
                let first = payload.iter().take(4).map(|b| format!(" {b:02x}")).collect::<String>();
                return Stop::Damaged(format!("not zstd: begins with{first} instead of 28 b5 2f fd"));
            }
            Err(code) => {
                return Stop::Damaged(format!("zstd: {} near byte {}", get_error_name(code), input.pos()));
            }
        }
    }
}

pub(super) fn snappy(payload: &[u8], room: &mut Room<'_>) -> Stop {
    if payload.starts_with(SNAPPY_IDENTIFIER) {
        snappy_framed(payload, room)
    } else {
        snappy_raw(payload, room)
    }
}

fn snappy_raw(payload: &[u8], room: &mut Room<'_>) -> Stop {
    let declared = match snap::raw::decompress_len(payload) {
        Ok(length) => length,
        Err(e) => return Stop::Damaged(format!("not snappy: {e}")),
    };
    if declared > payload.len().saturating_mul(SNAPPY_MOST) {
        return Stop::Damaged(format!(
            "snappy: declares {declared} bytes, more than {} bytes can hold",
            payload.len()
        ));
    }
    if declared > room.cap {
        return Stop::Full;
    }
    room.out.resize(declared, 0);
    match snap::raw::Decoder::new().decompress(payload, room.out) {
        Ok(_) => Stop::Done(payload.len()),
        Err(e) => {
            room.out.clear();
            Stop::Damaged(e.to_string())
        }
    }
}

fn snappy_framed(payload: &[u8], room: &mut Room<'_>) -> Stop {
    let limit = (room.cap as u64).saturating_add(1);
    let result = snap::read::FrameDecoder::new(payload).take(limit).read_to_end(room.out);
    if room.is_over() {
        return Stop::Full;
    }
    let Err(error) = result else { return Stop::Done(payload.len()) };
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return Stop::Cut;
    }
    match unskippable_chunk(payload) {
        Some(kind) => Stop::Unsupported(format!(
            "encoding 'snappy': a chunk of type {kind:#04x} is not supported; the payload is kept as bytes"
        )),
        None => Stop::Damaged(error.to_string()),
    }
}

/// The type of the first chunk that its format reserves and forbids to skip.
fn unskippable_chunk(payload: &[u8]) -> Option<u8> {
    let mut rest = payload;
    loop {
        let (&[kind, a, b, c], body) = rest.split_first_chunk::<4>()?;
        if (0x02..0x80).contains(&kind) {
            return Some(kind);
        }
        rest = body.get(u32::from_le_bytes([a, b, c, 0]) as usize..)?;
    }
}
