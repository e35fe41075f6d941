//! Strings: written as they are where nothing in them needs a second look.
//! Never decides what a credential is: what could be one is handed on.

use crate::base::json::push_string;

/// Whether JSON shows a text as it is: ASCII, with nothing to escape.
fn is_plain(bytes: &[u8]) -> bool {
    let special = |b: u8| !(0x20..0x7f).contains(&b) || b == b'"' || b == b'\\';
    let (chunks, rest) = bytes.as_chunks::<16>();
    chunks.iter().all(|chunk| {
        // Comparisons that the compiler makes one vector operation each.
        let mut odd = false;
        for b in chunk {
            odd |= special(*b);
        }
        !odd
    }) && !rest.iter().any(|b| special(*b))
}

/// Whether a text may be the hex or base64 of a message.
pub(super) fn may_be_encoded(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

/// Appends a string; false where it is not UTF-8.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    if is_plain(bytes) {
        out.reserve(bytes.len() + 2);
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
        return true;
    }
    let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return false };
    push_string(out, text);
    true
}
