//! One HTTP/1 message that a file holds whole: head, body and trailers.
//! Never waits for more bytes: what is missing is told as missing.

use std::sync::Arc;

use bytes::Bytes;

use crate::pdu::{End, Head, Headers, Start};

use super::entry::{Half, content_length, header_text, split_url};

/// Most header fields of a message.
const MAX_FIELDS: usize = 512;

/// Reads a request; `None` where the bytes do not begin with one.
pub(super) fn request(bytes: &[u8]) -> Option<Half> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(length) = request.parse(bytes).ok()? else { return None };
    let (scheme, authority, path) = split_url(request.path?);
    let headers = headers(request.headers);
    let authority = authority.or_else(|| headers.get("host").map(str::to_owned));
    let start = Start::Request { method: request.method.map(Into::into), scheme, authority, path };
    let head = Head { start, headers, version: version(request.version) };
    Some(half(head, bytes.get(length..).unwrap_or_default(), false))
}

/// Reads a response, informational ones before it skipped; `None` where the bytes do not begin
/// with one. `bodiless` says that its request was HEAD.
pub(super) fn response(mut bytes: &[u8], bodiless: bool) -> Option<Half> {
    loop {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(length) = response.parse(bytes).ok()? else { return None };
        let status = response.code?;
        let rest = bytes.get(length..).unwrap_or_default();
        if (100..200).contains(&status) && status != 101 && rest.starts_with(b"HTTP/") {
            bytes = rest;
            continue;
        }
        let start = Start::Response { status: Some(status) };
        let head = Head { start, headers: headers(response.headers), version: version(response.version) };
        let bodiless = bodiless || matches!(status, 100..=199 | 204 | 304);
        return Some(half(head, if bodiless { &[] } else { rest }, bodiless));
    }
}

fn half(head: Head, body: &[u8], bodiless: bool) -> Half {
    let chunked = head
        .headers
        .get("transfer-encoding")
        .is_some_and(|name| name.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("chunked")));
    let declared = content_length(&head.headers);
    let (body, trailers, end) = match chunked {
        // Tools that undo the coding leave its header: such a body has no chunks.
        true => dechunk(body).unwrap_or_else(|| (body.to_vec(), None, End::Complete)),
        false => match declared {
            Some(length) if !bodiless && length > body.len() as u64 => {
                let end = if body.is_empty() { End::NotCaptured { declared } } else { End::CaptureEnd };
                (body.to_vec(), None, end)
            }
            _ => (body.to_vec(), None, End::Complete),
        },
    };
    Half { head: Some(Arc::new(head)), body: Bytes::from(body), trailers, end, times: (None, None) }
}

/// Undoes the chunked coding (RFC 9112, section 7.1); `None` where the first line is no chunk's.
fn dechunk(mut rest: &[u8]) -> Option<(Vec<u8>, Option<Headers>, End)> {
    let mut body = Vec::with_capacity(rest.len());
    let mut first = true;
    loop {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return (!first || rest.is_empty()).then_some((body, None, End::CaptureEnd));
        };
        let line = rest.get(..end)?.trim_ascii();
        let size = line.split(|b| *b == b';').next()?.trim_ascii();
        let size = std::str::from_utf8(size).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size else {
            return (!first).then_some((body, None, End::CaptureEnd));
        };
        first = false;
        rest = rest.get(end + 1..)?;
        if size == 0 {
            return Some((body, trailers(rest), End::Complete));
        }
        let Some(chunk) = rest.get(..size) else {
            body.extend_from_slice(rest);
            return Some((body, None, End::CaptureEnd));
        };
        body.extend_from_slice(chunk);
        rest = rest.get(size..)?;
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
}

fn trailers(bytes: &[u8]) -> Option<Headers> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    match httparse::parse_headers(bytes, &mut fields).ok()? {
        httparse::Status::Complete((_, fields)) if !fields.is_empty() => Some(headers(fields)),
        _ => None,
    }
}

fn headers(fields: &[httparse::Header<'_>]) -> Headers {
    let mut headers = Headers::default();
    fields.iter().for_each(|field| headers.push(field.name, header_text(field.value)));
    headers
}

fn version(minor: Option<u8>) -> &'static str {
    if minor == Some(0) { "HTTP/1.0" } else { "HTTP/1.1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], body: &[u8], end: End) {
        let half = response(bytes, false);
        assert_eq!(half.map(|h| (h.body.to_vec(), h.end)), Some((body.to_vec(), end)));
        for end in 0..bytes.len() {
            let _ = response(bytes.get(..end).unwrap_or_default(), false);
        }
    }

    #[test]
    fn bodies() {
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi", End::Complete);
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", b"hi", End::CaptureEnd);
        let missing = End::NotCaptured { declared: Some(5) };
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"", missing);
        check(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhi", b"hi", End::Complete);
        check(b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", b"", End::Complete);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n1\r\n!\r\n0\r\ngrpc-status: 0\r\n\r\n";
        check(chunked, b"hi!", End::Complete);
        let trailers = response(chunked, false).and_then(|h| h.trailers);
        assert_eq!(trailers.as_ref().and_then(|t| t.get("grpc-status")), Some("0"));
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi", b"hi", End::CaptureEnd);
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nplain\n", b"plain\n", End::Complete);
    }

    #[test]
    fn heads() {
        let half = request(b"POST http://h:1/a.B/C?x=1 HTTP/1.1\r\nHost: other\r\n\r\n");
        let start = half.and_then(|h| h.head).map(|head| head.start.clone());
        let text = |text: &str| Some(text.to_owned());
        let (method, scheme, authority, path) = (text("POST"), text("http"), text("h:1"), text("/a.B/C?x=1"));
        assert_eq!(start, Some(Start::Request { method, scheme, authority, path }));
        assert!(request(b"nonsense").is_none() && response(b"", false).is_none());
    }
}
