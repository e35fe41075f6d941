//! One field of a regular message off the wire, and the id that it is.
//! Never tells why something cannot be read: that is for the tolerant lane.

use crate::{
    message::{IdValue, ids::widened, wire},
    schema::Kind,
};

use super::{FastId, table::Op};

/// A field's content: a number's bits, or a range of the payload.
#[derive(Clone, Copy)]
pub(super) enum Raw {
    Bits(u64),
    Range(usize, usize),
}

/// As [`wire::varint`] reads it, with the place after it.
#[inline(always)]
pub(super) fn varint(payload: &[u8], at: usize, end: usize) -> Option<(u64, usize)> {
    wire::varint(payload, at, end).ok()
}

/// A value of a wire type, and the place after it.
#[inline]
pub(super) fn value(payload: &[u8], wire: u32, at: usize, end: usize) -> Option<(Raw, usize)> {
    match wire {
        0 => varint(payload, at, end).map(|(bits, next)| (Raw::Bits(bits), next)),
        2 => {
            let (length, from) = varint(payload, at, end)?;
            let to = from.checked_add(usize::try_from(length).ok()?).filter(|to| *to <= end)?;
            Some((Raw::Range(from, to), to))
        }
        1 => {
            let bytes = payload.get(at..end)?.first_chunk()?;
            Some((Raw::Bits(u64::from_le_bytes(*bytes)), at + 8))
        }
        _ => {
            let bytes = payload.get(at..end)?.first_chunk()?;
            Some((Raw::Bits(u64::from(u32::from_le_bytes(*bytes))), at + 4))
        }
    }
}

/// The id that a field with a namespace is; an empty text is none.
pub(super) fn id<'a>(payload: &'a [u8], namespace: u16, op: &Op, raw: Raw) -> Option<FastId<'a>> {
    let value = match (op.kind, raw) {
        (Kind::String | Kind::Bytes, Raw::Range(from, to)) if from < to => {
            let bytes = payload.get(from..to).unwrap_or_default();
            match op.kind {
                Kind::String => {
                    simdutf8::basic::from_utf8(bytes).map_or(IdValue::Bytes(bytes), IdValue::Text)
                }
                _ => IdValue::Bytes(bytes),
            }
        }
        (Kind::String | Kind::Bytes | Kind::Message(_), _) | (_, Raw::Range(..)) => return None,
        (kind, Raw::Bits(bits)) => IdValue::Number(widened(kind, bits)),
    };
    Some(FastId { namespace, value, absent: false })
}

/// Whether a value is its kind's default.
pub(super) fn is_zero(kind: Kind, raw: Raw) -> bool {
    match (kind, raw) {
        (_, Raw::Range(from, to)) => from == to,
        (Kind::Int32 | Kind::Uint32 | Kind::Sint32 | Kind::Enum(_), Raw::Bits(bits)) => bits as u32 == 0,
        (_, Raw::Bits(bits)) => bits == 0,
    }
}
