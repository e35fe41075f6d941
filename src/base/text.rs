//! Text from a capture, made fit to show: no control byte reaches a terminal raw.
//! Never shortens and never guesses an encoding.

use std::fmt::Write;

/// Whether a character may move the cursor, change the terminal or reorder the line: C0, DEL,
/// C1, bidirectional controls, zero-width and other invisible formatting, line separators.
pub fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Appends `text` with unsafe characters written as `\n`, `\t`, `\r`, `\x1b` or `\u{202e}`.
pub fn push_clean(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !is_unsafe(c) => out.push(c),
            c => {
                let code = c as u32;
                let _ =
                    if code < 0x100 { write!(out, "\\x{code:02x}") } else { write!(out, "\\u{{{code:x}}}") };
            }
        }
    }
}

/// `text` as [`push_clean`] writes it.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_clean(&mut out, text);
    out
}

/// Appends bytes as clean text; what is not UTF-8 is written as `\xff`.
pub fn push_clean_bytes(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        push_clean(out, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
}

/// The beginning of a text, of at most `room` characters; an ellipsis stands for what was cut.
pub fn cut(text: &str, room: usize) -> String {
    match text.char_indices().nth(room.saturating_sub(1)) {
        Some((at, _)) if text[at..].chars().nth(1).is_some() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}

/// Line and column, from 1, of a byte of a text; of its end where the byte is none of it.
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

/// Undoes percent-encoding (RFC 3986, section 2.1; gRPC: Percent-Encoded); a broken escape stands for
/// itself. In queries of forms, a plus sign is a blank.
pub fn percent_decoded(text: &str, plus_is_space: bool) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        out.push(match (byte, digit(at), digit(at + 1)) {
            (b'%', Some(high), Some(low)) => {
                at += 2;
                (high << 4 | low) as u8
            }
            (b'+', ..) if plus_is_space => b' ',
            _ => byte,
        });
    }
    out
}

/// The known name nearest to `name` by edits, where one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|k| (distance(name, k, limit), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Edit distance (insert, delete, replace), without case; anything over `limit` is `limit + 1`.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()].min(limit + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidi_are_escaped() {
        assert_eq!(clean("a\u{1b}[31m\u{202e}b\n\u{9b}"), "a\\x1b[31m\\u{202e}b\\n\\x9b");
        let mut out = String::new();
        push_clean_bytes(&mut out, b"ok\xff\xc2\x9b");
        assert_eq!(out, "ok\\xff\\x9b");
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("agent.Foo", ["agent.Fop", "other"]), Some("agent.Fop"));
        assert_eq!(nearest("zzz", ["agent.Foo"]), None);
    }
}
