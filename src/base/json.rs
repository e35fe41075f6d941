//! JSON text as every room writes it: valid, and safe to show on a terminal.
//! Never builds a tree.

use std::collections::HashMap;

use serde_json::Value;

use super::text::is_unsafe;

/// Appends a JSON string with its quotes. Besides what RFC 8259 asks for, characters that could
/// act on a terminal (C1, bidirectional and zero-width controls) are written as `\uXXXX`.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        return push_plain(out, text.as_bytes());
    }
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let class = CLASS.get(usize::from(*byte)).copied().unwrap_or_default();
        if class == 0 {
            at += 1;
            continue;
        }
        let Some(c) = text.get(at..).and_then(|t| t.chars().next()) else {
            at += 1;
            continue;
        };
        let end = at + c.len_utf8();
        if class == 1 || is_unsafe(c) {
            out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
            push_escape(out, c);
            from = end;
        }
        at = end;
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out.push(b'"');
}

/// Whether JSON shows a text as it is: ASCII, with nothing to escape.
pub fn is_plain(bytes: &[u8]) -> bool {
    // What the chunks leave is in the last bytes, some of which are looked at twice.
    if let Some(last) = bytes.last_chunk::<64>() {
        let (chunks, _) = bytes.as_chunks();
        return chunks.iter().all(is_plain_chunk::<64>) && is_plain_chunk(last);
    }
    if let Some(last) = bytes.last_chunk::<16>() {
        let (chunks, _) = bytes.as_chunks();
        return chunks.iter().all(is_plain_chunk::<16>) && is_plain_chunk(last);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => is_plain_word(*first) && is_plain_word(*last),
        _ => bytes.iter().all(|b| rank(*b).min(0x7fu8.saturating_sub(*b)) != 0),
    }
}

/// Whether some bytes are such. Where one is not, one of these is zero, the least there is: operations that vectors have.
fn is_plain_chunk<const N: usize>(chunk: &[u8; N]) -> bool {
    chunk.iter().fold(u8::MAX, |least, b| least.min(rank(*b)).min(0x7fu8.saturating_sub(*b))) != 0
}

/// Zero for what does not stand for itself in a JSON string.
fn rank(byte: u8) -> u8 {
    (byte ^ b'"').min(byte ^ b'\\').min(byte.saturating_sub(0x1f))
}

/// The same of eight bytes, all at once.
fn is_plain_word(bytes: [u8; 8]) -> bool {
    let word = u64::from_le_bytes(bytes);
    (word & HIGH) | ends_plain(word) | marks(word, 0x7f) == 0
}

/// A one, and the highest bit, in each of eight bytes.
const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The highest bit is set in the first byte that is less than `limit` (at most 0x80), if any is; above it in others.
fn marks_less(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit) & !word & HIGH
}

fn marks(word: u64, byte: u8) -> u64 {
    marks_less(word ^ (ONES * u64::from(byte)), 1)
}

/// The highest bit is set in the first byte of a word that JSON does not take as itself inside of a string.
fn ends_plain(word: u64) -> u64 {
    marks_less(word, 0x20) | marks(word, b'"') | marks(word, b'\\')
}

/// How many bytes of a JSON string's text stand for themselves: those before the first quote, backslash or control
/// character (RFC 8259, section 7).
pub fn plain_length(text: &[u8]) -> usize {
    // Names and most values are short: the long steps are for those that are not.
    let short = text.first_chunk::<32>().map_or(text, |first| first);
    let mut at = plain_words(short);
    if at == 32 {
        // To look for two bytes takes fewer steps than to look for all; controls are hardly ever there.
        let rest = text.get(at..).unwrap_or_default();
        let quoted = rest.get(..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())).unwrap_or_default();
        let has_control = quoted.iter().fold(false, |any, b| any | (*b < 0x20));
        let control = quoted.iter().position(|b| has_control && *b < 0x20);
        at += control.unwrap_or(quoted.len());
    }
    at
}

/// The same, eight bytes at a time.
#[inline]
fn plain_words(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        match ends_plain(u64::from_le_bytes(*word)) {
            0 => at += 8,
            ends => return at + ends.trailing_zeros() as usize / 8,
        }
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| !matches!(b, ..0x20 | b'"' | b'\\')).count()
}

/// Appends a text that is plain ([`is_plain`]), in quotes.
pub fn push_plain(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// 0: plain; 1: always escaped; 2: may begin an unsafe character.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 0x20 {
        class[i] = 1;
        i += 1;
    }
    class[b'"' as usize] = 1;
    class[b'\\' as usize] = 1;
    class[0x7f] = 1;
    // Lead bytes of U+0080.., U+061C, U+180E, U+2000.., U+FEFF and U+FFF9.., U+E0000..
    class[0xc2] = 2;
    class[0xd8] = 2;
    class[0xe1] = 2;
    class[0xe2] = 2;
    class[0xef] = 2;
    class[0xf3] = 2;
    class
};

/// Appends one character escaped.
pub fn push_escape(out: &mut Vec<u8>, c: char) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

/// Appends `"key":`, with a comma before it where the object is not empty. `key` needs no escape.
pub fn push_key(out: &mut Vec<u8>, key: &str) {
    if !matches!(out.last(), Some(b'{' | b'[') | None) {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends an array, each element by `push`.
pub fn push_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push(out, item);
    }
    out.push(b']');
}

/// Appends an object, the value of each member by `push`.
pub fn push_object<'k, T>(
    out: &mut Vec<u8>,
    members: impl IntoIterator<Item = (&'k str, T)>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'{');
    for (i, (key, member)) in members.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, key);
        out.push(b':');
        push(out, member);
    }
    out.push(b'}');
}

/// Appends header or trailer fields as an object by name, each value by `push`, which is given the name too; the values
/// of a repeated name are an array.
pub fn push_fields<'a>(
    out: &mut Vec<u8>,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    mut push: impl FnMut(&mut Vec<u8>, &str, &str),
) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in fields {
        let place = *places.entry(name).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => all.push((name, vec![value])),
        }
    }
    let members = all.iter().map(|(name, values)| (*name, (*name, values.as_slice())));
    push_object(out, members, |out, (name, values)| match values {
        [one] => push(out, name, one),
        many => push_list(out, many, |out, value| push(out, name, value)),
    });
}

/// A value as text.
pub fn text_of(value: &Value) -> String {
    let mut out = Vec::new();
    push_value(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a value.
pub fn push_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::String(text) => push_string(out, text),
        Value::Array(elements) => push_list(out, elements, push_value),
        Value::Object(object) => push_object(out, object.iter().map(|(k, v)| (k.as_str(), v)), push_value),
        scalar => out.extend_from_slice(scalar.to_string().as_bytes()),
    }
}

/// Appends a number.
pub fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a string or `null`.
pub fn push_optional(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_special_is_found_wherever_it_stands() {
        for length in 0..150 {
            let text = vec![b'a'; length];
            assert!(is_plain(&text));
            for at in 0..length {
                for special in [b'"', b'\\', 0x1f, 0x7f, 0x80] {
                    let mut text = text.clone();
                    text[at] = special;
                    assert!(!is_plain(&text), "{special:02x} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn plain_text_ends_at_what_ends_it() {
        for length in 0..100 {
            let text = vec![0x80; length];
            assert_eq!(plain_length(&text), length);
            for at in 0..length {
                for end in [b'"', b'\\', 0, 0x1f] {
                    let mut text = text.clone();
                    text[at..].fill(end);
                    assert_eq!(plain_length(&text), at, "{end:02x} at {at} of {length}");
                    text[at + 1..].fill(0x21);
                    assert_eq!(plain_length(&text), at, "one {end:02x} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn escapes_what_a_terminal_would_act_on() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"\\\n\u{1b}\u{7f}\u{9b}\u{202e}é😀\u{e0001}");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\\"\\\\\\n\\u001b\\u007f\\u009b\\u202eé😀\\udb40\\udc01\""
        );
    }
}
