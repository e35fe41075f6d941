//! Which fields are credentials by their name.
//! Never knows a protocol: whole words that are credentials anywhere.

use std::borrow::Cow;

/// Names that are a credential as a whole or as the last words of a longer name.
const NAMES: &[&str] = &[
    "access_key",
    "access_key_id",
    "access_token",
    "api_key",
    "api_secret",
    "api_token",
    "apikey",
    "auth_header",
    "auth_token",
    "authorization",
    "bearer",
    "bearer_token",
    "client_secret",
    "connection_string",
    "credential",
    "encryption_key",
    "id_token",
    "jwt",
    "oauth_token",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "proxy_authorization",
    "refresh_token",
    "refresh_tokens",
    "secret",
    "secret_access_key",
    "secret_key",
    "secret_token",
    "session_token",
    "session_secret",
    "set_cookie",
    "shared_secret",
    "signing_key",
    "signing_secret",
    "webhook_secret",
];

/// The last words of [`NAMES`]: nearly all names are passed over by theirs.
const LAST_WORDS: &[&str] = &[
    "apikey",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "header",
    "id",
    "jwt",
    "key",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "string",
    "token",
    "tokens",
];

/// Whether a field of this name holds a credential: one of [`NAMES`], alone or after `_`.
pub fn is_secret_name(name: &str) -> bool {
    let is_snake = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let name = if is_snake { Cow::Borrowed(name) } else { Cow::Owned(snake_case(name)) };
    let last = name.rsplit('_').next().unwrap_or_default();
    LAST_WORDS.contains(&last)
        && NAMES.iter().any(|known| {
            name.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'))
        })
}

/// `HTTPServer2Name` → `http_server2_name`; snake_case stays as it is.
pub(super) fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut chars = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = chars.next() {
        let starts_word = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_uppercase() && chars.peek().is_some_and(|n| n.is_lowercase()))
            });
        if starts_word {
            out.push('_');
        }
        // Nearly all names are ASCII, of which one letter makes one.
        match c.is_ascii() {
            true => out.push(c.to_ascii_lowercase()),
            false => out.extend(c.to_lowercase()),
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, secret: bool) {
        assert_eq!(is_secret_name(name), secret, "{name}");
    }

    #[test]
    fn credentials_by_name() {
        for name in ["api_key", "apiKey", "openai_api_key", "access_key", "secret_key", "session_token"] {
            check(name, true);
        }
        for name in ["password", "client_secret", "github_access_token", "authorization", "APIKey"] {
            check(name, true);
        }
        for name in ["input_tokens", "region", "deployment", "model_id", "base_url", "page_token", "key"] {
            check(name, false);
        }
        for name in
            ["token", "secretary", "monkey", "session_id", "used_tokens", "prompt_tokens", "token_count"]
        {
            check(name, false);
        }
    }

    #[test]
    fn no_name_is_passed_over() {
        let last: Vec<_> = NAMES.iter().filter_map(|name| name.rsplit('_').next()).collect();
        assert!(last.iter().all(|word| LAST_WORDS.contains(word)));
        assert!(LAST_WORDS.iter().all(|word| last.contains(word)));
    }

    #[test]
    fn words() {
        assert_eq!(snake_case("HTTPServer2Name"), "http_server2_name");
        assert_eq!(snake_case("BidRequestId"), "bid_request_id");
        assert_eq!(snake_case("already_snake"), "already_snake");
    }
}
