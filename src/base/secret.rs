//! Credentials inside text, known by their own shape, and their masking.
//! Never knows where the text comes from; never keeps what it found.

mod name;
mod rules;

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use regex::bytes::{Captures, Regex};

pub use name::{is_secret_header, is_secret_parameter};
pub use rules::Rules;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

/// Tokens that carry their issuer's mark. Every branch begins with a literal, which lets the
/// regex engine skip text without one at memory speed.
static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let branches = [
        r"eyJ[A-Za-z0-9_=-]{6,}\.[A-Za-z0-9_=-]{6,}\.?[A-Za-z0-9_.+/=-]*",
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\bcrsr_[A-Za-z0-9_-]{16,}",
        r"\bkey_[0-9a-fA-F]{64}\b",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"\bgsk_[A-Za-z0-9]{20,}",
        r"\bxai-[A-Za-z0-9_-]{20,}",
        r"\bAKIA[A-Z0-9]{12,}",
        r"\bASIA[A-Z0-9]{12,}",
        r"\bgh[opsur]_[A-Za-z0-9]{20,}",
        r"github_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.)*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ];
    Regex::new(&format!("(?-u){}", branches.join("|"))).ok()
});

/// A password in a URL, the credentials of an Authorization header, a member of JSON text by its name, also where
/// the text is inside a JSON string or breaks off. The group is what is hidden.
static IN_PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let branches = [
        r#"://([^/\s:@"']+:[^/\s@"']+)@"#,
        r"[Bb]earer\s+([A-Za-z0-9_.~+/=-]{16,})",
        r#"[Aa]uthorization"?\s*:\s*"?(?i:basic|digest|negotiate|token)\s+([A-Za-z0-9_.~+/=-]+)"#,
        r#""NAME"\s*:\s*"((?:[^"\\]|\\.)+)(?:"|\\?\z)"#,
        r#"\\+"NAME\\+"\s*:\s*\\+"([^"\\]+)"#,
    ];
    let name = "(?:[A-Za-z0-9]+[_-])*(?i:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|password|passwd\
        |client[_-]?secret|(?:access|refresh|session|bearer|auth)[_-]?token|authorization)";
    Regex::new(&format!("(?-u){}", branches.join("|").replace("NAME", name))).ok()
});

/// `bytes` with every credential in it replaced; `None` where it holds none.
pub fn mask(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut masked: Cow<'_, [u8]> = Cow::Borrowed(bytes);
    if let Some(tokens) = &*TOKENS
        && let Cow::Owned(new) = tokens.replace_all(&masked, REDACTED.as_bytes())
    {
        masked = Cow::Owned(new);
    }
    let may_hold = memchr::memchr2(b':', b'B', &masked).is_some() || memchr::memchr(b'b', &masked).is_some();
    let groups = |found: &Captures<'_>| -> Vec<Range<usize>> {
        found.iter().skip(1).flatten().map(|group| group.range()).collect()
    };
    if may_hold
        && let Some(in_place) = &*IN_PLACE
        && let Some(new) = replaced(in_place, &masked, groups)
    {
        masked = Cow::Owned(new);
    }
    match masked {
        Cow::Owned(new) if new != bytes => Some(new),
        _ => None,
    }
}

/// `bytes` with what `secret` names of each match replaced; `None` where nothing matches.
fn replaced(
    pattern: &Regex,
    bytes: &[u8],
    secret: impl Fn(&Captures<'_>) -> Vec<Range<usize>>,
) -> Option<Vec<u8>> {
    let hide = |found: &Captures<'_>| -> Vec<u8> {
        let whole = found.get(0).map_or(0..0, |m| m.range());
        let mut out = Vec::new();
        let mut at = whole.start;
        for hidden in secret(found) {
            out.extend_from_slice(bytes.get(at..hidden.start).unwrap_or_default());
            out.extend_from_slice(REDACTED.as_bytes());
            at = hidden.end;
        }
        out.extend_from_slice(bytes.get(at..whole.end).unwrap_or_default());
        out
    };
    match pattern.replace_all(bytes, hide) {
        Cow::Owned(new) => Some(new),
        Cow::Borrowed(_) => None,
    }
}

/// [`mask`] for text.
pub fn mask_text(text: &str) -> Option<String> {
    mask(text.as_bytes()).map(|masked| String::from_utf8_lossy(&masked).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, masked: &str) {
        assert_eq!(mask_text(text).as_deref().unwrap_or(text), masked);
    }

    #[test]
    fn tokens_are_masked_within_text() {
        check("use sk-test-0123456789abcdef now", "use [redacted] now");
        check("https://user:hunter2@host/x", "https://[redacted]@host/x");
        check("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [redacted]");
        check("AKIAIOSFODNN7EXAMPLE", "[redacted]");
        check(r#"{"openai_api_key": "abc", "n": 1}"#, r#"{"openai_api_key": "[redacted]", "n": 1}"#);
        check(r#"{\"api_key\": \"abc\", \"n\": 1}"#, r#"{\"api_key\": \"[redacted]\", \"n\": 1}"#);
        check(r#"{"n":1,"api_key":"ab\"c"#, r#"{"n":1,"api_key":"[redacted]"#);
        check(r#"{"api_key":"abc\"#, r#"{"api_key":"[redacted]\"#);
        check("Authorization: Basic dTpw, x", "Authorization: Basic [redacted], x");
        let pem = "a -----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY----- b";
        check(pem, "a [redacted] b");
        check("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl y", "x [redacted] y");
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in
            ["a task-management-system-for-everyone", "https://host:8080/a@b", "key_value: 12", "12:30"]
        {
            check(text, text);
        }
        check(r#"{"page_token":"2","input_tokens":"5"}"#, r#"{"page_token":"2","input_tokens":"5"}"#);
    }
}
