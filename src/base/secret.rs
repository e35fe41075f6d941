//! Credentials inside text, known by their own shape, and their masking.
//! Never knows where the text comes from; never keeps what it found.

mod name;
mod rules;
mod sieve;

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use memchr::memmem;
use regex::bytes::{Captures, Regex};

pub use name::{is_secret_header, is_secret_parameter};
pub use rules::Rules;
pub use sieve::Sieve;

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
    if may_hold(bytes) { search(bytes) } else { None }
}

/// Shortest text that holds a credential: `://a:b@`.
const SHORTEST: usize = 7;

/// Whether bytes hold the part of a credential that is always the same. False only where none can be there:
/// it is what makes a look at ordinary text cheap.
pub fn may_hold(bytes: &[u8]) -> bool {
    static EARER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"earer"));
    if bytes.len() < SHORTEST {
        return false;
    }
    let is_mark = |b: u8| matches!(b, b'-' | b'_' | b':' | b'I' | b'J');
    let (chunks, rest) = bytes.as_chunks::<16>();
    let marked = |at: usize, part: &[u8]| {
        part.iter().zip(at..).any(|(b, at)| is_mark(*b) && fits(bytes.get(..at), bytes.get(at..)))
    };
    for (chunk, n) in chunks.iter().zip(0..) {
        // A loop that the compiler makes a few vector operations.
        let mut any = false;
        for b in chunk {
            any |= is_mark(*b);
        }
        if any && marked(n * 16, chunk) {
            return true;
        }
    }
    let is_space = |at: usize| bytes.get(at + 5).is_some_and(|b| is_space(*b));
    marked(chunks.len() * 16, rest) || EARER.find_iter(bytes).any(is_space)
}

/// What `\s` is in the expressions.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Whether the mark that `after` begins with can belong to a credential.
fn fits(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let ends = |known: &[&[u8]]| known.iter().any(|k| before.ends_with(k));
    let has = |back: usize, start: &[u8]| {
        before.len().checked_sub(back).and_then(|at| before.get(at..)).is_some_and(|b| b.starts_with(start))
    };
    match after {
        [b'-', ..] => ends(&[b"sk", b"xai", b"glpat"]) || has(4, b"xox") || after.starts_with(b"-----BEGIN "),
        [b'_', ..] => ends(&[b"crsr", b"key", b"gsk", b"npm", b"github"]) || has(3, b"gh"),
        [b'I', b'z', b'a', ..] => before.ends_with(b"A"),
        [b'I', b'A', ..] => ends(&[b"AK", b"AS"]),
        [b'J', ..] => before.ends_with(b"ey"),
        [b':', b'/', b'/', rest @ ..] => {
            let authority = rest.iter().take_while(|b| !is_space(**b) && !matches!(b, b'/' | b'"' | b'\''));
            authority.into_iter().any(|b| *b == b'@')
        }
        [b':', ..] => {
            let end = before.iter().rposition(|b| !is_space(*b)).map_or(0, |at| at + 1);
            let mut name = before.get(..end).unwrap_or_default();
            // A quote, itself escaped where the text is inside a JSON string; a header has none.
            let quoted = name.strip_suffix(b"\"");
            name = quoted.unwrap_or(name);
            while let Some(less) = name.strip_suffix(b"\\") {
                name = less;
            }
            let known = if quoted.is_some() { &NAMES[..] } else { &[b"authorization".as_slice()] };
            known.iter().any(|known| {
                let tail = name.len().checked_sub(known.len()).and_then(|at| name.get(at..));
                tail.is_some_and(|tail| tail.eq_ignore_ascii_case(known))
            })
        }
        _ => false,
    }
}

/// What names of members that hold a credential end in.
const NAMES: [&[u8]; 6] = [b"key", b"password", b"passwd", b"secret", b"token", b"authorization"];

fn search(bytes: &[u8]) -> Option<Vec<u8>> {
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
    // To tell where groups lie takes more than to tell that there are none.
    if !pattern.is_match(bytes) {
        return None;
    }
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

    /// What credentials, and texts that look like one, are made of.
    const PARTS: &[&str] = &[
        "sk-",
        "eyJ",
        "crsr_",
        "key_",
        "AIza",
        "gsk_",
        "xai-",
        "AKIA",
        "ASIA",
        "ghp_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "npm_",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "://",
        "u:p",
        "@",
        "Bearer ",
        "bearer\n",
        "\"",
        "api_key",
        "Password",
        "refresh-token",
        "AUTHORIZATION",
        "Authorization",
        "basic ",
        "\\",
        "client_secret",
        " : ",
        ":",
        ".",
        " ",
        "-",
        "0123456789abcdefABCDEF",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
        "abcdefghijklmnopqrstuvwxyz_-",
        "a",
        "_",
    ];

    /// Texts of a few parts each, the same ones each time.
    pub(super) fn texts(count: usize) -> impl Iterator<Item = String> {
        let mut state = 7u64;
        let mut roll = move |sides: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % sides
        };
        (0..count).map(move |_| (0..1 + roll(9)).map(|_| PARTS[roll(PARTS.len())]).collect())
    }

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
    fn what_a_search_finds_is_never_passed_over() {
        let mut found = 0;
        for text in texts(60_000) {
            if search(text.as_bytes()).is_some() {
                found += 1;
                assert!(may_hold(text.as_bytes()), "{text:?}");
            }
        }
        assert!(found > 2_000, "{found}");
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
