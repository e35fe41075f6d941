//! Hex text: plain, with prefixes and separators, and the dumps that xxd and hexdump print.
//! Never pads and never drops a digit.

/// Why a text is not in its encoding, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Misfit {
    /// Offset of the character in bytes.
    pub at: usize,
    /// Its place among the characters of the text, from 1.
    pub position: usize,
    /// What is wrong, with the character where there is one.
    pub what: String,
}

impl Misfit {
    pub(super) fn new(text: &[u8], at: usize, what: &str) -> Self {
        let before = String::from_utf8_lossy(text.get(..at).unwrap_or(text)).chars().count();
        let rest = text.get(at..).unwrap_or_default();
        let found = String::from_utf8_lossy(rest.get(..4.min(rest.len())).unwrap_or_default()).chars().next();
        let what = match found {
            Some(c) => format!("{what}: '{}'", crate::base::text::clean(&c.to_string())),
            None => what.to_owned(),
        };
        Self { at, position: before + 1, what }
    }
}

/// The bytes of hex text in any form.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, Misfit> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match dump_kind(text) {
        Some(kind) => dump(text, kind),
        None => plain(text),
    }
}

/// The bytes of digits alone, as fields of records hold them; `0x` and white space are taken.
pub(super) fn digits(text: &str) -> Result<Vec<u8>, Misfit> {
    hex_simd::decode_to_vec(text).or_else(|_| plain(text.as_bytes()))
}

/// Whether text that is not clean hex is still more that than anything else.
pub(super) fn is_meant(text: &[u8]) -> bool {
    let ink = text.iter().filter(|b| !b.is_ascii_whitespace()).count();
    let hex = text.iter().filter(|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b'X' | b':')).count();
    ink > 0 && hex.saturating_mul(10) >= ink.saturating_mul(9)
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn plain(text: &[u8]) -> Result<Vec<u8>, Misfit> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    let mut fresh = true;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let prefixed = matches!((byte, text.get(at + 1)), (b'0' | b'\\', Some(b'x' | b'X')));
        if prefixed && high.is_none() && (fresh || byte == b'\\') {
            at += 2;
            fresh = false;
            continue;
        }
        at += 1;
        if let Some(digit) = nibble(byte) {
            fresh = false;
            high = match high {
                None => Some(digit),
                Some(high) => {
                    out.push(high << 4 | digit);
                    None
                }
            };
        } else if byte.is_ascii_whitespace() || matches!(byte, b':' | b',') {
            fresh = true;
        } else {
            return Err(Misfit::new(text, at - 1, "not a hex digit"));
        }
    }
    let end = text.trim_ascii_end().len();
    match high {
        Some(_) => Err(odd(text, end, out.len() * 2 + 1)),
        None if out.is_empty() => Err(Misfit::new(text, text.len(), "no hex digits")),
        None => Ok(out),
    }
}

fn odd(text: &[u8], at: usize, digits: usize) -> Misfit {
    let mut misfit = Misfit::new(text, at, "");
    misfit.what = format!("odd number of hex digits ({digits})");
    misfit
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dump {
    /// `xxd`: `00000000: 0a02 6869  ..hi`
    Colon,
    /// `hexdump -C`: `00000000  0a 02 68 69  |..hi|`
    Bar,
}

fn dump_kind(text: &[u8]) -> Option<Dump> {
    let line = text.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let rest = line.get(digits..)?;
    if (4..=16).contains(&digits) && rest.starts_with(b": ") {
        return Some(Dump::Colon);
    }
    (digits == 8 && rest.starts_with(b"  ") && rest.contains(&b'|')).then_some(Dump::Bar)
}

fn dump(text: &[u8], kind: Dump) -> Result<Vec<u8>, Misfit> {
    let mut out = Vec::with_capacity(text.len() / 4);
    let mut start = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let at = start;
        start += line.len();
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let offset = line.get(..digits).and_then(|d| std::str::from_utf8(d).ok());
        let offset = offset.and_then(|d| u64::from_str_radix(d, 16).ok());
        if offset != Some(out.len() as u64) {
            let what = format!("a line of a dump whose offset is not {:x}", out.len());
            return Err(Misfit::new(text, at, &what));
        }
        let from = match kind {
            Dump::Colon => digits + 1,
            Dump::Bar => digits,
        };
        dump_line(text, at, line, from, kind, &mut out)?;
    }
    Ok(out)
}

/// The hex column of one line; the text column is behind two blanks (`|` for hexdump), or
/// behind one where 16 pairs stand before it (curl).
fn dump_line(
    text: &[u8],
    start: usize,
    line: &[u8],
    from: usize,
    kind: Dump,
    out: &mut Vec<u8>,
) -> Result<(), Misfit> {
    let (mut at, mut blanks, mut pairs, mut high) = (from, 0, 0usize, None);
    while let Some(&byte) = line.get(at) {
        match byte {
            b' ' => blanks += 1,
            b'|' if kind == Dump::Bar => break,
            _ if kind == Dump::Colon && pairs > 0 && (blanks > 1 || (blanks == 1 && pairs == 16)) => break,
            _ => {
                blanks = 0;
                let Some(digit) = nibble(byte) else {
                    return Err(Misfit::new(text, start + at, "not a hex digit"));
                };
                high = match high {
                    None => Some(digit),
                    Some(high) => {
                        out.push(high << 4 | digit);
                        pairs += 1;
                        None
                    }
                };
            }
        }
        at += 1;
    }
    match high {
        Some(_) => Err(odd(text, start + at, pairs * 2 + 1)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) {
        assert_eq!(decode(text.as_bytes()).as_deref(), Ok(&b"\x12\x08/a\x0a"[..]), "{text}");
    }

    fn refuse(text: &str, position: usize, what: &str) {
        let misfit = decode(text.as_bytes()).err();
        assert_eq!(misfit.map(|m| (m.position, m.what)), Some((position, what.to_owned())), "{text}");
    }

    #[test]
    fn reads_every_form() {
        check("12082f610a");
        check("12082F610A\r\n");
        check("0x12082f610a");
        check("0X12082F610A");
        check("0x12 0x08,0x2f\n0x61\t0x0a");
        check("\\x12\\x08\\x2f\\x61\\x0a");
        check("12:08:2f:61:0a");
        check("120\n82f61 0a");
        check("00000000: 1208 2f61 0a                             ../a.\n");
        check("0000: 12 08 2f 61 0a                                  ../a.\n");
        check("00000000  12 08 2f 61 0a                                    |../a.|\n00000005\n");
    }

    #[test]
    fn reads_dumps_of_several_lines() {
        let text = "0000: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ................\n\
                    0010: 61 62                                           ab\n";
        let bytes = decode(text.as_bytes()).unwrap_or_default();
        assert_eq!((bytes.len(), bytes.last()), (18, Some(&b'b')));
        let text =
            "00000000: 0001 0203 0405 0607 0809 0a0b 0c0d 0e0f  ................\n00000010: 6162  ab\n";
        assert_eq!(decode(text.as_bytes()).map(|b| b.len()), Ok(18));
    }

    #[test]
    fn refuses_with_a_position() {
        refuse("12080", 6, "odd number of hex digits (5)");
        refuse("0x21808", 8, "odd number of hex digits (5)");
        refuse("1208g0", 5, "not a hex digit: 'g'");
        refuse("-1208", 1, "not a hex digit: '-'");
        refuse("0x", 3, "no hex digits");
        refuse("\u{ff10}\u{ff18}", 1, "not a hex digit: '\u{ff10}'");
        refuse("00000000: 1208\n00000010: 00\n", 16, "a line of a dump whose offset is not 2: '0'");
    }

    #[test]
    fn every_prefix_is_safe() {
        for text in ["0x12 0x08:2f\r\n", "00000000: 1208 2f61  ../a\n", "00000000  12 08  |..|\n00000002\n"] {
            for end in 0..=text.len() {
                let _ = decode(text.as_bytes().get(..end).unwrap_or_default());
            }
        }
    }
}
