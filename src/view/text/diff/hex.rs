//! Bytes that differ, as hex around the place where they do.
//! Never shows more than a line's worth of a blob.

use std::ops::Range;

use serde_json::Value;

/// Bytes shown of a blob.
const MOST: usize = 32;
/// Bytes shown of what both sides have, on either side of a difference.
const AROUND: usize = 4;

/// The bytes of a value that is nothing else.
pub(super) fn bytes(value: &Value) -> Option<Vec<u8>> {
    let object = value.as_object().filter(|o| o.len() == 1)?;
    base64_simd::STANDARD.decode_to_vec(object.get("$bytes")?.as_str()?).ok()
}

/// A blob by itself: how long it is, and how it begins.
pub(super) fn whole(bytes: &[u8]) -> String {
    let more = if bytes.len() > MOST { "…" } else { "" };
    format!("{}: {}{more}", count(bytes), digits(bytes.get(..MOST).unwrap_or(bytes)))
}

/// Two blobs, each around the part that the other has not: `[-…-]` and `{+…+}`.
pub(super) fn pair(old: &[u8], new: &[u8]) -> [String; 2] {
    let begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (old.get(begin..).unwrap_or_default(), new.get(begin..).unwrap_or_default());
    let end = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    [(old, "[-", "-]"), (new, "{+", "+}")].map(|(bytes, open, close)| {
        let own = begin..bytes.len() - end;
        let part = |range: Range<usize>| digits(bytes.get(range).unwrap_or_default());
        let before = begin.saturating_sub(AROUND)..begin;
        let shown = own.start..own.end.min(own.start + MOST);
        let cut = if shown.end < own.end { " …" } else { "" };
        let after = own.end..bytes.len().min(own.end + AROUND);
        let marked =
            if own.is_empty() { String::new() } else { format!("{open}{}{cut}{close}", part(shown)) };
        let head = if before.start > 0 { "…" } else { "" };
        let tail = if after.end < bytes.len() { "…" } else { "" };
        let parts = [part(before), marked, part(after)];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        let place = if begin > 0 { format!(", from {begin}") } else { String::new() };
        format!("{}{place}: {head}{}{tail}", count(bytes), parts.join(" "))
    })
}

fn count(bytes: &[u8]) -> String {
    if bytes.len() == 1 { "1 byte".to_owned() } else { format!("{} bytes", bytes.len()) }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &[u8], new: &[u8], left: &str, right: &str) {
        assert_eq!(pair(old, new), [left, right]);
    }

    #[test]
    fn a_difference_is_shown_with_what_is_around_it() {
        check(&[1, 2], &[1, 3], "2 bytes, from 1: 01 [-02-]", "2 bytes, from 1: 01 {+03+}");
        check(&[1, 2], &[1, 9, 2], "2 bytes, from 1: 01 02", "3 bytes, from 1: 01 {+09+} 02");
        check(&[], &[7], "0 bytes: ", "1 byte: {+07+}");
        let long = [0; 100];
        let mut other = long;
        other[50] = 1;
        check(
            &long,
            &other,
            "100 bytes, from 50: …00 00 00 00 [-00-] 00 00 00 00…",
            "100 bytes, from 50: …00 00 00 00 {+01+} 00 00 00 00…",
        );
        assert_eq!(whole(&[0xab; 40]), format!("40 bytes: {}…", ["ab"; 32].join(" ")));
    }
}
