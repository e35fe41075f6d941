//! Header blocks as heads, and how the body after them ends (RFC 9112, sections 3 to 6).
//! Never decides which request a response answers.

use httparse::{EMPTY_HEADER, ParserConfig};

use crate::pdu::{Head, Header, Headers, Start};

/// How a body ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// What the caller must know of a head besides what it shows.
#[derive(Debug)]
pub(super) struct Parsed {
    pub head: Head,
    /// What the headers alone say; `UntilClose` where they say nothing.
    pub framing: Framing,
    /// `Upgrade` names `h2c`.
    pub upgrades_to_h2c: bool,
    /// What is odd about the framing, if anything.
    pub odd: Option<String>,
}

/// Parses a whole header block, blank line included.
pub(super) fn head(block: &[u8], is_response: bool) -> Result<Parsed, httparse::Error> {
    let block = unfold(block);
    let mut fields = vec![EMPTY_HEADER; block.iter().filter(|b| **b == b'\n').count()];
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_multiple_spaces_in_request_line_delimiters(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_responses(true)
        .ignore_invalid_headers_in_requests(true);
    let (start, minor, fields) = if is_response {
        let mut response = httparse::Response::new(&mut fields);
        config.parse_response(&mut response, &block)?;
        (Start::Response { status: response.code }, response.version, response.headers)
    } else {
        let mut request = httparse::Request::new(&mut fields);
        config.parse_request(&mut request, &block)?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (method, path) = (owned(request.method), owned(request.path));
        let start = Start::Request { method, scheme: None, authority: None, path };
        (start, request.version, request.headers)
    };
    let headers = collect(fields);
    let (framing, odd) = framing(&headers);
    let upgrades_to_h2c = values(&headers, "upgrade").any(|token| token.eq_ignore_ascii_case("h2c"));
    let head = Head {
        start: complete(start, &headers),
        headers,
        version: if minor == Some(0) { "HTTP/1.0" } else { "HTTP/1.1" },
    };
    Ok(Parsed { head, framing, upgrades_to_h2c, odd })
}

/// Parses a trailer section, blank line included.
pub(super) fn trailers(block: &[u8]) -> Result<Headers, httparse::Error> {
    let block = unfold(block);
    let mut fields = vec![EMPTY_HEADER; block.iter().filter(|b| **b == b'\n').count()];
    match httparse::parse_headers(&block, &mut fields)? {
        httparse::Status::Complete((_, fields)) => Ok(collect(fields)),
        httparse::Status::Partial => Ok(Headers::default()),
    }
}

/// The size line of a chunk, line ending included (RFC 9112, section 7.1).
pub(super) fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at_checked(digits)?;
    let rest = rest.trim_ascii();
    if digits.len() > 16 || !(rest.is_empty() || rest.starts_with(b";")) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The authority of an authority-form or absolute-form target, or of Host.
fn complete(start: Start, headers: &Headers) -> Start {
    let Start::Request { method, path: Some(target), .. } = start else { return start };
    let host = headers.get("host").map(str::to_owned);
    if method.as_deref() == Some("CONNECT") {
        return Start::Request { method, scheme: None, authority: Some(target), path: None };
    }
    let absolute = target
        .split_once("://")
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"));
    let Some((scheme, rest)) = absolute else {
        return Start::Request { method, scheme: None, authority: host, path: Some(target) };
    };
    let split = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(split);
    Start::Request {
        method,
        scheme: Some(scheme.to_ascii_lowercase()),
        authority: Some(authority.to_owned()),
        path: Some(if path.is_empty() { "/".to_owned() } else { path.to_owned() }),
    }
}

fn collect(fields: &[httparse::Header<'_>]) -> Headers {
    let fields = fields.iter().filter(|field| !field.name.is_empty());
    let text = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|b| char::from(*b)).collect(),
    };
    let fields = fields
        .map(|field| Header { name: field.name.to_ascii_lowercase(), value: text(field.value.trim_ascii()) })
        .collect();
    Headers { fields, lost: 0 }
}

/// The members of a list field, over all its lines.
fn values<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers.fields.iter().filter(move |h| h.name == name).flat_map(|h| h.value.split(',')).map(str::trim)
}

fn framing(headers: &Headers) -> (Framing, Option<String>) {
    let mut codings = values(headers, "transfer-encoding").peekable();
    if codings.peek().is_some() {
        let chunked = codings.last().is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        return (if chunked { Framing::Chunked } else { Framing::UntilClose }, None);
    }
    let mut lengths = values(headers, "content-length");
    let Some(first) = lengths.next() else { return (Framing::UntilClose, None) };
    let odd = lengths
        .find(|other| *other != first)
        .map(|other| format!("content-length is both {first} and {other}; the first is taken"));
    let digits = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    match first.parse().ok().filter(|_| digits) {
        Some(length) => (Framing::Length(length), odd),
        None => (Framing::UntilClose, Some(format!("content-length {first} is no length"))),
    }
}

/// Joins folded lines (RFC 9112, section 5.2) by putting spaces for the line ends.
fn unfold(block: &[u8]) -> Vec<u8> {
    let mut block = block.to_vec();
    for at in memchr::memchr_iter(b'\n', &block.clone()) {
        if !matches!(block.get(at + 1), Some(b' ' | b'\t')) {
            continue;
        }
        for octet in block.get_mut(at.saturating_sub(1)..=at).into_iter().flatten() {
            if matches!(octet, b'\r' | b'\n') {
                *octet = b' ';
            }
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &str, is_response: bool, framing: Framing, fields: &[(&str, &str)]) {
        let parsed = head(block.as_bytes(), is_response).unwrap();
        assert_eq!(parsed.framing, framing, "{block}");
        let read: Vec<_> =
            parsed.head.headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str())).collect();
        assert_eq!(read, fields, "{block}");
    }

    #[test]
    fn framings() {
        use Framing::*;
        check("GET / HTTP/1.1\r\n\r\n", false, UntilClose, &[]);
        let one = [("content-length", "5")];
        check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, Length(5), &one);
        check("HTTP/1.0 200\nContent-Length:5\n\n", true, Length(5), &one);
        let te = [("transfer-encoding", "gzip, chunked"), ("content-length", "5")];
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n\r\n",
            true,
            Chunked,
            &te,
        );
        let bad = [("content-length", "+5")];
        check("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", true, UntilClose, &bad);
    }

    #[test]
    fn tolerated() {
        use Framing::UntilClose;
        check("POST  /a  HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", false, UntilClose, &[("a", "b  \tc")]);
        check(
            "HTTP/1.1 200 OK\r\nA : b\r\nbad line\r\nC: d\r\n\r\n",
            true,
            UntilClose,
            &[("a", "b"), ("c", "d")],
        );
        check("HTTP/1.1 200 OK\r\nA: \u{e9}\r\n\r\n", true, UntilClose, &[("a", "\u{e9}")]);
    }

    #[test]
    fn targets() {
        let start =
            |line: &str| head(format!("{line}\r\nHost: h\r\n\r\n").as_bytes(), false).unwrap().head.start;
        let request = |m: &str, s: Option<&str>, a: &str, p: Option<&str>| Start::Request {
            method: Some(m.to_owned()),
            scheme: s.map(str::to_owned),
            authority: Some(a.to_owned()),
            path: p.map(str::to_owned),
        };
        assert_eq!(start("GET /x?y HTTP/1.1"), request("GET", None, "h", Some("/x?y")));
        assert_eq!(start("GET http://o:1/x HTTP/1.1"), request("GET", Some("http"), "o:1", Some("/x")));
        assert_eq!(start("GET http://o HTTP/1.1"), request("GET", Some("http"), "o", Some("/")));
        assert_eq!(start("CONNECT o:443 HTTP/1.1"), request("CONNECT", None, "o:443", None));
    }

    #[test]
    fn chunk_sizes() {
        assert_eq!(chunk_size(b"1aF\r\n"), Some(0x1af));
        assert_eq!(chunk_size(b"5 ;a=\"b\"\n"), Some(5));
        assert_eq!(chunk_size(b"\r\n"), None);
        assert_eq!(chunk_size(b"5x\r\n"), None);
        assert_eq!(chunk_size(b"11111111111111111\r\n"), None);
    }
}
