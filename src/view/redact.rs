//! Credentials in headers and addresses, replaced before anything is shown.
//! Never shows a part of a secret; fails closed where it cannot tell.

use std::borrow::Cow;

pub use crate::base::secret::REDACTED;
use crate::base::secret::Rules;

/// A header field's value as it may be shown.
pub fn header_value<'a>(secrets: Option<&Rules>, name: &str, value: &'a str) -> Cow<'a, str> {
    let Some(secrets) = secrets.filter(|_| !value.is_empty()) else { return Cow::Borrowed(value) };
    if secrets.is_header(name) {
        return Cow::Borrowed(REDACTED);
    }
    if matches!(name, "referer" | "location" | "origin" | "content-location") {
        return url(Some(secrets), value);
    }
    secrets.mask_text(value).map_or(Cow::Borrowed(value), Cow::Owned)
}

/// A host and port without user and password (RFC 3986, section 3.2.1).
pub fn host(authority: &str, show_secrets: bool) -> Cow<'_, str> {
    match authority.rsplit_once('@') {
        Some((_, host)) if !show_secrets => Cow::Owned(format!("{REDACTED}@{host}")),
        _ => Cow::Borrowed(authority),
    }
}

/// An address or path with the values of secret query parameters and the user part replaced.
pub fn url<'a>(secrets: Option<&Rules>, text: &'a str) -> Cow<'a, str> {
    let Some(secrets) = secrets else { return Cow::Borrowed(text) };
    let (before, query) = match text.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (text, None),
    };
    let mut out = String::with_capacity(text.len());
    match before.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host_end);
            out.push_str(scheme);
            out.push_str("://");
            match host.rsplit_once('@') {
                Some((_, host)) => {
                    out.push_str(REDACTED);
                    out.push('@');
                    out.push_str(host);
                }
                None => out.push_str(host),
            }
            out.push_str(path);
        }
        None => out.push_str(before),
    }
    let Some(query) = query else { return Cow::Owned(out) };
    for (i, pair) in query.split('&').enumerate() {
        out.push(if i == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            // Connect's GET carries the whole message in its query; the record shows it decoded.
            Some(("message", value)) if value.len() > 16 => {
                out.push_str("message=[");
                out.push_str(&value.len().to_string());
                out.push_str(" characters]");
            }
            Some((name, value)) if !value.is_empty() && secrets.is_parameter(before, name) => {
                out.push_str(name);
                out.push('=');
                out.push_str(REDACTED);
            }
            _ => out.push_str(pair),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(url(Some(&Rules::default()), "/a?page=2&token=x&q=1"), "/a?page=2&token=[redacted]&q=1");
        assert_eq!(
            url(Some(&Rules::default()), "https://u:p@h/x?X-Amz-Signature=ab"),
            "https://[redacted]@h/x?X-Amz-Signature=[redacted]"
        );
        assert_eq!(url(None, "/a?token=x"), "/a?token=x");
    }
}
