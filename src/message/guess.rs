//! What a length-delimited field holds where no schema says: a message, text, or bytes.
//! Never looks deeper than one level at a time, so the work stays linear in depth times length.

use crate::base::text::is_unsafe;

use super::{NodeKind, wire};

/// Deepest nesting that is guessed; below it bytes stay bytes.
const MAX_GUESS: usize = 32;

/// The likeliest kind of some bytes.
pub(crate) fn kind(bytes: &[u8], depth: usize) -> NodeKind {
    if bytes.is_empty() {
        return NodeKind::Text;
    }
    let is_text = is_text(bytes);
    // Text rarely begins with a line break; messages whose first field is a length do.
    let odd_start = bytes.first().is_some_and(|b| matches!(b, b'\n' | b'\r' | b'\t'));
    if is_text && !odd_start {
        return NodeKind::Text;
    }
    if depth <= MAX_GUESS && is_message(bytes) {
        return NodeKind::Message;
    }
    if is_text { NodeKind::Text } else { NodeKind::Bytes }
}

fn is_text(bytes: &[u8]) -> bool {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => text.chars().all(|c| matches!(c, '\n' | '\r' | '\t') || !is_unsafe(c)),
        Err(_) => false,
    }
}

/// Whether bytes read as whole fields to their last byte.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        match wire::field(bytes, at, bytes.len()) {
            Ok(((number, ..), next)) if number < 1 << 29 => at = next,
            _ => return false,
        }
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_message_and_bytes_are_told_apart() {
        assert_eq!(kind(b"hi", 1), NodeKind::Text);
        assert_eq!(kind("grüße\n".as_bytes(), 1), NodeKind::Text);
        assert_eq!(kind(b"\x0a\x02hi", 1), NodeKind::Message);
        assert_eq!(kind(b"\x0a\x20abcdefghijklmnopqrstuvwxyz012345", 1), NodeKind::Message);
        assert_eq!(kind(b"\x08\x01", 1), NodeKind::Message);
        assert_eq!(kind(b"\xff\xfe\xfd", 1), NodeKind::Bytes);
        assert_eq!(kind(b"\x08\x01", 99), NodeKind::Bytes);
        assert_eq!(kind(b"", 1), NodeKind::Text);
    }
}
