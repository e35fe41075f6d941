//! Which fields are credentials by their name, and which types they can be reached from.
//! Never knows a protocol: whole words that are credentials anywhere.

use super::{Kind, Nested, TypePlan, WellKnown};

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

/// Whether a field of this name holds a credential: one of [`NAMES`], alone or after `_`.
pub fn is_secret_name(name: &str) -> bool {
    let name = snake_case(name);
    NAMES.iter().any(|known| {
        name.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// Whether a field is a credential by its name: counts, flags and enums are not.
pub(super) fn is_secret_field(name: &str, kind: Kind) -> bool {
    matches!(kind, Kind::String | Kind::Bytes) && is_secret_name(name)
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
        out.extend(c.to_lowercase());
        before = Some(c);
    }
    out
}

/// Marks every type from which a secret field can be reached, through encodings inside fields
/// too. An Any can hold any type.
pub(super) fn settle(types: &mut [TypePlan], nested: &[Nested]) {
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); types.len()];
    let mut todo = Vec::new();
    let mut any = None;
    for (i, ty) in types.iter_mut().enumerate() {
        ty.reaches_secret = ty.fields.iter().any(|f| f.annotation.secret);
        if ty.reaches_secret {
            todo.push(i as u32);
        }
        if ty.known == Some(WellKnown::Any) {
            any = Some(i as u32);
        }
        for field in &ty.fields {
            let opened = field.annotation.nested.and_then(|n| nested.get(usize::from(n))?.ty);
            for inner in field.kind.message().into_iter().chain(opened) {
                if let Some(list) = holders.get_mut(inner.0 as usize) {
                    list.push(i as u32);
                }
            }
        }
    }
    if !todo.is_empty() {
        todo.extend(any);
    }
    while let Some(at) = todo.pop() {
        if let Some(ty) = types.get_mut(at as usize) {
            ty.reaches_secret = true;
        }
        for holder in holders.get(at as usize).into_iter().flatten() {
            if let Some(ty) = types.get_mut(*holder as usize)
                && !ty.reaches_secret
            {
                ty.reaches_secret = true;
                todo.push(*holder);
            }
        }
    }
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
    fn words() {
        assert_eq!(snake_case("HTTPServer2Name"), "http_server2_name");
        assert_eq!(snake_case("BidRequestId"), "bid_request_id");
        assert_eq!(snake_case("already_snake"), "already_snake");
    }
}
