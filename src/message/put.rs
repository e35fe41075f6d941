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
    // The head is written behind its content and turned to the front: nothing is allocated for it.
    push_tag(out, number, 2);
    push_varint(out, length as u64);
    let head = out.len() - start - length;
    if let Some(all) = out.get_mut(start..) {
        all.rotate_right(head);
    }
}

/// Writes a tag and room for a length; gives where the content begins, for [`close`].
pub(super) fn open(out: &mut Vec<u8>, number: u32) -> usize {
    push_tag(out, number, 2);
    out.push(0);
    out.len()
}

/// Writes the length of what was written since [`open`]; only that is moved, where its length takes more than a byte.
pub(super) fn close(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start;
    let Some(head) = start.checked_sub(1) else { return };
    if let (0..=0x7f, Some(byte)) = (length, out.get_mut(head)) {
        *byte = length as u8;
        return;
    }
    let more = length.checked_ilog2().unwrap_or(0) as usize / 7;
    out.resize(start + length + more, 0);
    out.copy_within(start..start + length, start + more);
    let mut rest = length;
    for (i, byte) in out.iter_mut().skip(head).take(more + 1).enumerate() {
        *byte = rest as u8 & 0x7f | if i < more { 0x80 } else { 0 };
        rest >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_if_written_first() {
        for length in [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152] {
            let content: Vec<u8> = (0..length).map(|i| i as u8).collect();
            for number in [1, 16, 536_870_911] {
                let mut first = b"before".to_vec();
                push_tag(&mut first, number, 2);
                push_varint(&mut first, length as u64);
                first.extend_from_slice(&content);
                let mut opened = b"before".to_vec();
                let start = open(&mut opened, number);
                opened.extend_from_slice(&content);
                close(&mut opened, start);
                assert!(opened == first, "open and close: {length}");
                let mut prefixed = b"before".to_vec();
                prefixed.extend_from_slice(&content);
                prefix_length(&mut prefixed, 6, number);
                assert!(prefixed == first, "prefix: {length}");
            }
        }
    }
}
