//! The message of a Connect GET, from its query (Connect: Unary-Get-Request).
//! Never fails: what cannot be decoded is given as far as it goes.

use crate::base::text::percent_decoded;
use crate::base::{Code, Finding};
use crate::pdu::{Codec, Head, Start};

/// A message in a query.
pub(super) struct Query {
    pub codec: Codec,
    /// In lower case; `None` for identity.
    pub compression: Option<String>,
    pub message: Vec<u8>,
    pub finding: Option<Finding>,
}

/// Whether the head is that of a Connect GET.
pub(super) fn is_get(head: &Head) -> bool {
    let Some(query) = query(head) else { return false };
    let has = |name: &str| pairs(query).any(|(n, _)| n == name);
    has("message") && (has("connect") || has("encoding"))
}

pub(super) fn read(head: &Head) -> Option<Query> {
    let query = query(head)?;
    let value = |name: &str| pairs(query).find(|(n, _)| *n == name).map(|(_, v)| v);
    let text = |name: &str| {
        let bytes = percent_decoded(value(name)?, true);
        Some(String::from_utf8_lossy(&bytes).trim().to_ascii_lowercase())
    };
    let codec = match text("encoding").as_deref() {
        Some("json") => Codec::Json,
        Some("proto") | None => Codec::Proto,
        Some(_) => Codec::Other,
    };
    let compression = text("compression").filter(|c| !c.is_empty() && c != "identity");
    let raw = value("message")?;
    let (mut finding, is_base64) = (None, text("base64").as_deref() == Some("1"));
    let message = if is_base64 {
        let chars: Vec<u8> = percent_decoded(raw, false)
            .into_iter()
            .filter(|b| *b != b'=')
            .map(|b| match b {
                b'-' => b'+',
                b'_' => b'/',
                b => b,
            })
            .collect();
        base64_simd::forgiving_decode_to_vec(&chars).unwrap_or_else(|_| {
            let text = "the message in the query is not base64, as base64=1 says; kept as it is";
            finding = Some(Finding::new(Code::FrameUnframed, text));
            raw.as_bytes().to_vec()
        })
    } else {
        percent_decoded(raw, true)
    };
    Some(Query { codec, compression, message, finding })
}

fn query(head: &Head) -> Option<&str> {
    let Start::Request { path: Some(path), .. } = &head.start else { return None };
    let query = path.split_once('?')?.1;
    Some(query.split('#').next().unwrap_or(query))
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::Headers;

    fn of(path: &str) -> Option<Query> {
        let path = Some(path.to_owned());
        let start = Start::Request { method: None, scheme: None, authority: None, path };
        let head = Head { start, headers: Headers::default(), version: "" };
        is_get(&head).then(|| read(&head)).flatten()
    }

    #[test]
    fn messages_in_queries() {
        let q = of("/a.B/C?connect=v1&encoding=json&message=%7B%22a%22%3A+%e9%zz%7D").unwrap();
        assert_eq!((q.codec, q.compression, &q.message[..]), (Codec::Json, None, &b"{\"a\": \xe9%zz}"[..]));
        let q = of("/a.B/C?base64=1&compression=GZIP&connect=v1&encoding=proto&message=-_8").unwrap();
        assert_eq!(
            (q.codec, q.compression.as_deref(), &q.message[..]),
            (Codec::Proto, Some("gzip"), &b"\xfb\xff"[..])
        );
        let q = of("/a.B/C?connect=v1&base64=1&message=YWI%3D").unwrap();
        assert_eq!((&q.message[..], q.finding), (&b"ab"[..], None));
        assert!(of("/a.B/C?connect=v1&base64=1&message=!").unwrap().finding.is_some());
        assert!(of("/a.B/C?message=x").is_none());
        assert!(of("/a.B/C").is_none());
    }
}
