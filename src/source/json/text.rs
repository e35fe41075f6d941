//! JSON strings as code points, lone surrogates included, as some proxies write bytes with them.
//! Never fails: what is no escape is taken as it stands.

use std::borrow::Cow;

/// The text of a JSON string, given with its quotes; `None` where it is no string. Lone
/// surrogates become U+FFFD.
pub(in crate::source) fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = inner(raw)?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let c = |point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some(Cow::Owned(points(raw)?.map(c).collect()))
}

/// The code points of a JSON string; surrogate pairs are joined, lone ones kept.
pub(in crate::source) fn points(raw: &str) -> Option<Points<'_>> {
    Some(Points { chars: inner(raw)?.chars(), pending: None })
}

fn inner(raw: &str) -> Option<&str> {
    raw.trim().strip_prefix('"')?.strip_suffix('"')
}

/// See [`points`].
#[derive(Clone)]
pub(in crate::source) struct Points<'a> {
    chars: std::str::Chars<'a>,
    pending: Option<u32>,
}

impl Points<'_> {
    fn one(&mut self) -> Option<u32> {
        match self.chars.next()? {
            '\\' => {}
            c => return Some(c as u32),
        }
        Some(match self.chars.next()? {
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'b' => 0x08,
            'f' => 0x0c,
            'u' => {
                let digits = self.chars.as_str().get(..4)?;
                let point = u32::from_str_radix(digits, 16).ok()?;
                self.chars = self.chars.as_str().get(4..)?.chars();
                point
            }
            c => c as u32,
        })
    }
}

impl Iterator for Points<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let point = match self.pending.take() {
            Some(point) => point,
            None => self.one()?,
        };
        if !(0xd800..0xdc00).contains(&point) {
            return Some(point);
        }
        match self.one() {
            Some(low @ 0xdc00..0xe000) => Some(0x1_0000 + ((point - 0xd800) << 10) + (low - 0xdc00)),
            other => {
                self.pending = other;
                Some(point)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: &[u32]) {
        assert_eq!(points(raw).map(|p| p.collect::<Vec<_>>()).as_deref(), Some(expected), "{raw}");
    }

    #[test]
    fn reads_escapes() {
        check(r#""a\n\u00e9\\\/""#, &[0x61, 0x0a, 0xe9, 0x5c, 0x2f]);
        check(r#""\ud83d\ude00""#, &[0x1f600]);
        check(r#""\ud83d\ud83d\ude00x""#, &[0xd83d, 0x1f600, 0x78]);
        check(r#""\udc80""#, &[0xdc80]);
        check(r#""\u12""#, &[]);
        assert_eq!(string(r#""\udc80a""#).as_deref(), Some("\u{fffd}a"));
        assert_eq!(string("5"), None);
    }
}
