//! Header fields and query parameters that hold credentials, known by their names.
//! Never looks at a value.

/// Header fields that hold credentials whatever the protocol (RFC 9110 section 11, RFC 6265).
const HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "cookie", "set-cookie", "x-goog-iam-authority-selector"];

/// Words that make a header or query parameter a credential where they stand alone between `-`, `_` or `.`.
const WORDS: &[&str] = &[
    "auth",
    "authentication",
    "authorization",
    "apikey",
    "checksum",
    "credential",
    "credentials",
    "jwt",
    "key",
    "passwd",
    "password",
    "policy",
    "secret",
    "session",
    "sig",
    "signature",
    "token",
    "verifier",
];

/// Header fields whose last word is on the list above and that hold no credential.
const HARMLESS: &[&str] = &[
    "sec-websocket-key",
    "content-security-policy",
    "referrer-policy",
    "permissions-policy",
    "x-session-id",
];

/// Whether a header field's value is a credential; `name` in lower case.
pub fn is_secret_header(name: &str) -> bool {
    if HARMLESS.contains(&name) || name.ends_with("-policy") && !name.starts_with("x-") {
        return false;
    }
    HEADERS.contains(&name) || name.split(['-', '_', '.']).any(|word| WORDS.contains(&word))
}

/// Whether a query parameter's value is a credential: its name says so, or it is one of a signed address.
pub fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("x-amz-")
        || name.starts_with("x-goog-")
        || name.split(['-', '_', '.']).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        for name in [
            "authorization",
            "cookie",
            "x-api-key",
            "x-client-key",
            "x-inference-authentication-jwt",
            "x-acme-checksum",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["content-type", "x-request-id", "grpc-encoding", "content-security-policy", "user-agent"]
        {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
