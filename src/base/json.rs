//! JSON text as every room writes it: valid, and safe to show on a terminal.
//! Never builds a tree.

use super::text::is_unsafe;

/// Appends a JSON string with its quotes. Besides what RFC 8259 asks for, characters that could
/// act on a terminal (C1, bidirectional and zero-width controls) are written as `\uXXXX`.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends the inside of a JSON string.
pub fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte >= 0x20 && byte != b'"' && byte != b'\\' && byte < 0x7f {
            at += 1;
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        let len = c.len_utf8();
        if byte >= 0x80 && !is_unsafe(c) {
            at += len;
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        push_escape(out, c);
        at += len;
        plain = at;
    }
    out.extend_from_slice(&bytes[plain..]);
}

fn push_escape(out: &mut Vec<u8>, c: char) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        c => {
            let mut units = [0u16; 2];
            for unit in c.encode_utf16(&mut units) {
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
    fn escapes_what_a_terminal_would_act_on() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"\\\n\u{1b}\u{7f}\u{9b}\u{202e}é😀\u{e0001}");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\\"\\\\\\n\\u001b\\u007f\\u009b\\u202eé😀\\udb40\\udc01\""
        );
    }
}
