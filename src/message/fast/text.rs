//! Strings: written as they are where nothing in them needs a second look.
//! Never decides what a credential is: what could be one is handed on.

use crate::base::json::push_string;

const ESCAPED: u8 = 1;
const WIDE: u8 = 2;
const MARK: u8 = 4;

/// What a byte may be: one that JSON escapes, part of a wider character, one that every credential has.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 0x20 {
        class[i] = ESCAPED;
        i += 1;
    }
    class[b'"' as usize] = ESCAPED;
    class[b'\\' as usize] = ESCAPED;
    class[0x7f] = ESCAPED;
    i = 0x80;
    while i < 0x100 {
        class[i] = WIDE;
        i += 1;
    }
    class[b'-' as usize] = MARK;
    class[b'_' as usize] = MARK;
    class[b':' as usize] = MARK;
    class[b'I' as usize] = MARK;
    class[b'J' as usize] = MARK;
    class
};

/// What a text holds that needs a second look, as bits of [`CLASS`].
pub(super) fn classes(bytes: &[u8]) -> u8 {
    let (chunks, rest) = bytes.as_chunks::<16>();
    let mut found = 0;
    for chunk in chunks {
        // Comparisons that the compiler makes one vector operation each.
        let mut odd = false;
        for b in chunk {
            odd |= *b < 0x20 || *b >= 0x7f || matches!(*b, b'"' | b'\\' | b'-' | b'_' | b':' | b'I' | b'J');
        }
        if odd {
            found |= chunk.iter().fold(0, |found, b| found | class(*b));
        }
    }
    rest.iter().fold(found, |found, b| found | class(*b))
}

fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Whether a text may hold what [`secret::mask`](crate::base::secret::mask) hides. False only where it cannot:
/// every token that it knows has one of these bytes, in this company.
pub(super) fn may_mask(bytes: &[u8], classes: u8) -> bool {
    // `://a:b@` is the shortest.
    if bytes.len() < 7 {
        return false;
    }
    classes & MARK != 0 && bytes.iter().enumerate().any(|(at, b)| class(*b) == MARK && marks(bytes, at, *b))
        || bytes.len() >= 23 && memchr::memmem::find(bytes, b"earer").is_some()
}

/// Whether a credential may hold this byte at this place.
fn marks(bytes: &[u8], at: usize, byte: u8) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|i| bytes.get(i)).copied().unwrap_or_default();
    let after = |n: usize| bytes.get(at + n).copied().unwrap_or_default();
    match byte {
        // sk- xai- glpat- xox?- -----BEGIN
        b'-' => matches!(before(1), b'k' | b'i' | b't') || before(2) == b'x' || after(1) == b'-',
        // crsr_ key_ gsk_ gh?_ github_pat_ npm_
        b'_' => matches!(before(1), b'r' | b'y' | b'k' | b't' | b'm') || before(2) == b'h',
        // ://user or "name" :
        b':' => after(1) == b'/' || before(1) == b'"' || before(1).is_ascii_whitespace() || before(1) == 0x0b,
        // AIza AKIA ASIA
        b'I' => before(1) == b'A' || after(1) == b'A',
        // eyJ
        b'J' => before(1) == b'y',
        _ => true,
    }
}

/// Whether a text may be the hex or base64 of a message.
pub(super) fn may_be_encoded(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

/// Appends a string whose classes are known; false where it is not UTF-8.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8], classes: u8) -> bool {
    if classes & (ESCAPED | WIDE) == 0 {
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
        return true;
    }
    let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return false };
    push_string(out, text);
    true
}
