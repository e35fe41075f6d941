//! The wire format, written: varints, tags, lengths.
//! Never knows a field.

use crate::schema::Kind;

/// The wire type that a kind is written in, but packed or delimited.
pub(super) fn wire_type(kind: Kind) -> u32 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => 1,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => 5,
        Kind::String | Kind::Bytes | Kind::Message(_) => 2,
        _ => 0,
    }
}

/// Appends a varint (Protobuf encoding, Base 128 Varints).
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a tag.
pub(crate) fn push_tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    push_varint(out, u64::from(number) << 3 | u64::from(wire_type));
}

/// Puts tag and length before what was written from `start` on.
pub(crate) fn prefix_length(out: &mut Vec<u8>, start: usize, number: u32) {
    let length = out.len() - start;
    let mut head = Vec::with_capacity(16);
    push_tag(&mut head, number, 2);
    push_varint(&mut head, length as u64);
    out.splice(start..start, head);
}
