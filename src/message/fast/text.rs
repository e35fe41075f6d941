//! Strings: written as they are where nothing in them needs a second look.
//! Never decides what a credential is: what could be one is handed on.

use crate::base::json::{is_plain, push_plain, push_string};

/// Appends a string; false where it is not UTF-8.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    if is_plain(bytes) {
        push_plain(out, bytes);
        return true;
    }
    let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return false };
    push_string(out, text);
    true
}
