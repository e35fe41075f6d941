//! The wire format, read as total functions: every byte string gives a value or says where it breaks.
//! Never looks at a schema, never reads past the end it is given.

use smallvec::{SmallVec, smallvec};

/// Wire types that begin a field; end-group is [`Tag::End`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wire {
    /// 0
    Varint,
    /// 1: eight bytes
    I64,
    /// 2: a length, then that many bytes
    Len,
    /// 3: fields up to the end-group of the same number
    Group,
    /// 5: four bytes
    I32,
}

impl Wire {
    /// As records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Varint => "varint",
            Self::I64 => "i64",
            Self::Len => "len",
            Self::Group => "group",
            Self::I32 => "i32",
        }
    }
}

/// What a tag says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// A field begins.
    Field(u32, Wire),
    /// A group ends.
    End(u32),
}

/// Why bytes cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// A varint without its last byte.
    VarintCut,
    /// A varint of more than ten bytes or 64 bits.
    VarintLong,
    /// A tag with field number 0.
    NumberZero,
    /// A tag over 32 bits.
    TagWide,
    /// Wire type 6 or 7.
    WireType(u8),
    /// Fewer bytes than the type takes: wanted, there.
    Short(u64, u64),
}

/// Where it breaks, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// First byte of what cannot be read.
    pub at: usize,
    /// How.
    pub broken: Broken,
}

/// A read value and the offset after it.
type Read<T> = Result<(T, usize), Fault>;

/// A varint that starts at `at` and may not reach `end`.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize, end: usize) -> Read<u64> {
    // Most are one byte long.
    match bytes.get(at) {
        Some(byte) if *byte < 0x80 && at < end => Ok((u64::from(*byte), at + 1)),
        _ => long_varint(bytes, at, end),
    }
}

fn long_varint(bytes: &[u8], at: usize, end: usize) -> Read<u64> {
    let rest = bytes.get(at..end.max(at)).unwrap_or_default();
    // Of the others most are two.
    if let [first, second @ ..=0x7f, ..] = rest {
        return Ok((u64::from(first & 0x7f) | u64::from(*second) << 7, at + 2));
    }
    let mut value = 0;
    for (i, byte) in rest.iter().take(10).enumerate() {
        if i == 9 && *byte > 1 {
            return Err(Fault { at, broken: Broken::VarintLong });
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((value, at + i + 1));
        }
    }
    let broken = if rest.len() >= 10 { Broken::VarintLong } else { Broken::VarintCut };
    Err(Fault { at, broken })
}

/// A tag.
pub(super) fn tag(bytes: &[u8], at: usize, end: usize) -> Read<Tag> {
    let (value, next) = varint(bytes, at, end)?;
    let fault = |broken| Err(Fault { at, broken });
    let Ok(value) = u32::try_from(value) else { return fault(Broken::TagWide) };
    let number = value >> 3;
    let wire = match value & 7 {
        0 => Wire::Varint,
        1 => Wire::I64,
        2 => Wire::Len,
        3 => Wire::Group,
        4 if number > 0 => return Ok((Tag::End(number), next)),
        5 => Wire::I32,
        4 => return fault(Broken::NumberZero),
        other => return fault(Broken::WireType(other as u8)),
    };
    if number == 0 {
        return fault(Broken::NumberZero);
    }
    Ok((Tag::Field(number, wire), next))
}

/// Four bytes, little-endian.
pub(super) fn fixed32(bytes: &[u8], at: usize, end: usize) -> Read<u32> {
    let rest = bytes.get(at..end.max(at)).unwrap_or_default();
    match rest.first_chunk() {
        Some(chunk) => Ok((u32::from_le_bytes(*chunk), at + 4)),
        None => Err(Fault { at, broken: Broken::Short(4, rest.len() as u64) }),
    }
}

/// Eight bytes, little-endian.
pub(super) fn fixed64(bytes: &[u8], at: usize, end: usize) -> Read<u64> {
    let rest = bytes.get(at..end.max(at)).unwrap_or_default();
    match rest.first_chunk() {
        Some(chunk) => Ok((u64::from_le_bytes(*chunk), at + 8)),
        None => Err(Fault { at, broken: Broken::Short(8, rest.len() as u64) }),
    }
}

/// A length and the range that it takes: (start, end).
pub(super) fn len(bytes: &[u8], at: usize, end: usize) -> Read<(usize, usize)> {
    let (length, start) = varint(bytes, at, end)?;
    let there = end.saturating_sub(start);
    match usize::try_from(length) {
        Ok(length) if length <= there => Ok(((start, start + length), start + length)),
        _ => Err(Fault { at: start, broken: Broken::Short(length, there as u64) }),
    }
}

/// A scalar of a wire type as 64 bits.
pub(super) fn scalar(bytes: &[u8], wire: Wire, at: usize, end: usize) -> Read<u64> {
    match wire {
        Wire::Varint | Wire::Len | Wire::Group => varint(bytes, at, end),
        Wire::I64 => fixed64(bytes, at, end),
        Wire::I32 => fixed32(bytes, at, end).map(|(v, next)| (u64::from(v), next)),
    }
}

/// The field after `at`, skipped whole: its number, wire type, content range and the offset
/// after it. Groups are skipped without recursion.
pub(super) fn field(bytes: &[u8], at: usize, end: usize) -> Read<(u32, Wire, usize, usize)> {
    let (tag, next) = tag(bytes, at, end)?;
    let Tag::Field(number, wire) = tag else { return Err(Fault { at, broken: Broken::WireType(4) }) };
    let (content, after) = match wire {
        Wire::Len => len(bytes, next, end)?,
        Wire::Group => {
            let (close, after) = skip_group(bytes, number, next, end)?;
            ((next, close), after)
        }
        _ => {
            let (_, after) = scalar(bytes, wire, next, end)?;
            ((next, after), after)
        }
    };
    Ok(((number, wire, content.0, content.1), after))
}

/// The offset of the end-group tag of a group whose content starts at `at`, and the offset after it.
pub(super) fn skip_group(bytes: &[u8], number: u32, at: usize, end: usize) -> Read<usize> {
    let mut open: SmallVec<[u32; 16]> = smallvec![number];
    let mut at = at;
    loop {
        let (found, next) = tag(bytes, at, end)?;
        let after = match found {
            Tag::End(number) => {
                if open.pop() != Some(number) {
                    return Err(Fault { at, broken: Broken::WireType(4) });
                }
                if open.is_empty() {
                    return Ok((at, next));
                }
                next
            }
            Tag::Field(number, Wire::Group) => {
                open.push(number);
                next
            }
            Tag::Field(_, Wire::Len) => len(bytes, next, end)?.1,
            Tag::Field(_, wire) => scalar(bytes, wire, next, end)?.1,
        };
        at = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hex: &[u8], expect: Result<u64, (usize, Broken)>) {
        let found = varint(hex, 0, hex.len()).map(|(v, _)| v).map_err(|f| (f.at, f.broken));
        assert_eq!(found, expect);
    }

    #[test]
    fn varints() {
        check(&[0], Ok(0));
        check(&[0x80, 0x80, 0], Ok(0));
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], Ok(u64::MAX));
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], Err((0, Broken::VarintLong)));
        check(&[0x80; 11], Err((0, Broken::VarintLong)));
        check(&[0x80; 9], Err((0, Broken::VarintCut)));
        check(&[], Err((0, Broken::VarintCut)));
    }

    #[test]
    fn lengths_are_not_trusted() {
        let broken = |bytes: &[u8]| len(bytes, 0, bytes.len()).map_err(|f| f.broken);
        assert_eq!(broken(&[2, 1]), Err(Broken::Short(2, 1)));
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(broken(&huge), Err(Broken::Short(u64::MAX, 0)));
        assert_eq!(broken(&[2, 1, 1]), Ok(((1, 3), 3)));
    }
}
