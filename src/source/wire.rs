//! Tells bytes that read as protobuf wire format or as envelopes from bytes that do not.
//! Never decodes: no schema, no value leaves this file.

use crate::pdu::Envelope;

/// Deepest nesting of groups that still counts as wire format.
const MAX_GROUPS: usize = 100;

/// Whether all of `bytes` is a run of protobuf fields with legal tags and balanced groups.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut groups: Vec<u64> = Vec::new();
    while !rest.is_empty() {
        let Some(tag) = varint(&mut rest) else { return false };
        let number = tag >> 3;
        if !(1..=0x1fff_ffff).contains(&number) {
            return false;
        }
        let fits = match tag & 7 {
            0 => varint(&mut rest).is_some(),
            1 => skip(&mut rest, 8),
            2 => varint(&mut rest).is_some_and(|len| skip(&mut rest, len)),
            3 => {
                groups.push(number);
                groups.len() <= MAX_GROUPS
            }
            4 => groups.pop() == Some(number),
            5 => skip(&mut rest, 4),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    groups.is_empty()
}

/// Whether all of `bytes` is a run of whole envelopes, one at least.
pub(super) fn is_enveloped(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((head, tail)) = rest.split_first_chunk::<{ Envelope::LEN }>() {
        rest = tail;
        if !skip(&mut rest, u64::from(Envelope::parse(*head).length)) {
            return false;
        }
    }
    rest.is_empty() && !bytes.is_empty()
}

/// Whether bytes out of a text are an enveloped stream rather than one bare message. A field
/// number of 0 is illegal, so a first byte below 8 is never a tag.
pub(super) fn prefers_envelopes(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(0..=7) => true,
        Some(_) => !is_message(bytes) && is_enveloped(bytes),
        None => false,
    }
}

fn skip(rest: &mut &[u8], len: u64) -> bool {
    let tail = usize::try_from(len).ok().and_then(|len| rest.get(len..));
    tail.map(|tail| *rest = tail).is_some()
}

/// A varint of at most ten bytes.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], message: bool, enveloped: bool) {
        assert_eq!((is_message(bytes), is_enveloped(bytes)), (message, enveloped), "{bytes:02x?}");
    }

    #[test]
    fn tells_them_apart() {
        check(b"\x0a\x02hi\x10\x01", true, false);
        check(b"\x00\x00\x00\x00\x02\x10\x01", false, true);
        check(b"\x00\x00\x00\x00\x03\x10\x01", false, false);
        check(b"\x0b\x10\x01\x0c", true, false);
        check(b"\x0b\x10\x01", false, false);
        check(b"\x0c", false, false);
        check(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false, false);
        check(b"", true, false);
        assert!(prefers_envelopes(b"\x00\x00\x00\x00\x09"));
        assert!(prefers_envelopes(b"\x80\x00\x00\x00\x01\x67"));
        assert!(!prefers_envelopes(b"\x0a\x00"));
    }
}
