//! HTTP Archives 1.2 as browsers and proxies write them, entry by entry.
//! Never holds more than one entry, and never takes a missing body for an empty one.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Code, Finding, Severity, Space, Span, Timestamp};
use crate::pdu::{End, Head, Headers, Side, Start};

use super::body::{self, About};
use super::entry::{Conns, Half, Place, Sink, content_length, split_url, version};
use super::error::Trouble;
use super::json::members::Members;
use super::json::{Item, Scanner, Target};

/// Reads a HAR that is pushed in pieces of UTF-8.
pub(super) struct Reader {
    scanner: Scanner,
    conns: Conns,
    entries: u64,
}

impl Reader {
    pub(super) fn new(max: usize) -> Self {
        Self { scanner: Scanner::new(Target::Entries, max), conns: Conns::default(), entries: 0 }
    }

    pub(super) fn push(&mut self, block: &[u8], sink: &mut Sink<'_>) {
        let mut scanner = std::mem::replace(&mut self.scanner, Scanner::new(Target::Entries, 0));
        scanner.push(block, &mut |item| self.item(item, sink));
        self.scanner = scanner;
    }

    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        let mut scanner = std::mem::replace(&mut self.scanner, Scanner::new(Target::Entries, 0));
        scanner.finish(&mut |item| self.item(item, sink));
        if scanner.found_entries {
            return Ok(());
        }
        Err(Trouble::Malformed {
            what: "a HAR",
            at: 0,
            expected: "an array log.entries".into(),
            found: "log.entries is missing".into(),
            advice: "export the session again, or name the format with --from",
        })
    }

    fn item(&mut self, item: Item<'_>, sink: &mut Sink<'_>) {
        let place = |at: u64, length: u64| Span::new(Space::Input, at, at.saturating_add(length));
        match item {
            Item::Value { at, json, .. } => {
                self.entries += 1;
                let text = String::from_utf8_lossy(json);
                match Members::read(&text) {
                    Some(members) => self.entry(at, &members, sink),
                    None => {
                        let text = format!("entry {} is not JSON", self.entries);
                        let finding = Finding::new(Code::CaptureDamaged, text).severity(Severity::Error);
                        sink.find(finding.at(place(at, json.len() as u64)));
                    }
                }
            }
            Item::Broken { at, why } => {
                let text = format!("the HAR is not JSON from here on, after {} entries: {why}", self.entries);
                let finding = Finding::new(Code::CaptureDamaged, text).severity(Severity::Error);
                sink.find(finding.at(place(at, 0)));
            }
            Item::Cut { at } => {
                let text = format!("the HAR ends after {} whole entries", self.entries);
                sink.find(Finding::new(Code::CaptureCut, text).at(place(at, 0)));
            }
            Item::TooLarge { at, length } => {
                self.entries += 1;
                let text = format!("entry {} of {length} bytes is longer than the limit", self.entries);
                sink.find(Finding::new(Code::LimitReached, text).at(place(at, length)));
            }
        }
    }

    fn entry(&mut self, at: u64, entry: &Members<'_>, sink: &mut Sink<'_>) {
        let request = entry.object("request").unwrap_or_default();
        let response = entry.object("response").unwrap_or_default();
        let head = request_head(&request);
        let server =
            entry.text("serverIPAddress").filter(|text| !text.is_empty()).map(|text| text.into_owned());
        let authority = match &head.start {
            Start::Request { authority: Some(authority), .. } => authority.clone(),
            _ => String::new(),
        };
        let name = entry.text("connection").filter(|text| !text.is_empty()).unwrap_or_default();
        let name = format!("{name}\0{}\0{authority}", server.as_deref().unwrap_or_default());
        let (conn, stream) = self.conns.next_stream(&name, sink, |n| (format!("har:{n}"), None, server));
        let place = Place { conn, stream, at: Some(at) };

        let begun = entry.text("startedDateTime").and_then(|text| Timestamp::parse(&text));
        let ended = begun.map(|begun| Timestamp(begun.0.saturating_add(milliseconds(entry))));
        let (body, end) = request_body(self.entries, at, &request, &head.headers, sink);
        let half = Half { head: Some(Arc::new(head)), body, trailers: None, end, times: (begun, begun) };
        place.emit(Side::Request, half, sink);

        let failed = entry.has("_error") || response.has("_error");
        let status = response.number("status").and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        if status == 0 {
            let half = Half { end: End::Closed, times: (ended, ended), ..Half::default() };
            return place.emit(Side::Response, half, sink);
        }
        let (headers, pseudo) = fields(&response);
        let version = match response.text("httpVersion").map_or("HTTP", |text| version(&text)) {
            "HTTP" if pseudo.has_any => "HTTP/2",
            version => version,
        };
        let (body, end) = response_body(self.entries, at, &response, status, &headers, sink);
        let end = if failed && end == End::Complete { End::Closed } else { end };
        let head = Head { start: Start::Response { status: Some(status) }, headers, version };
        let half = Half { head: Some(Arc::new(head)), body, trailers: None, end, times: (ended, ended) };
        place.emit(Side::Response, half, sink);
    }
}

/// How long an exchange took, in nanoseconds; 0 where the entry does not say.
fn milliseconds(entry: &Members<'_>) -> i64 {
    let time: f64 = entry.get("time").and_then(|raw| raw.parse().ok()).unwrap_or(0.0);
    if time.is_finite() && time > 0.0 && time < 1e12 { (time * 1e3).round() as i64 * 1_000 } else { 0 }
}

/// What HTTP/2's pseudo-headers say, where an archive lists them among the headers.
#[derive(Default)]
struct Pseudo {
    method: Option<String>,
    scheme: Option<String>,
    authority: Option<String>,
    path: Option<String>,
    has_any: bool,
}

fn fields(message: &Members<'_>) -> (Headers, Pseudo) {
    let (mut headers, mut pseudo) = (Headers::default(), Pseudo::default());
    for field in message.list("headers").unwrap_or_default().into_iter().filter_map(Members::read) {
        let (Some(name), Some(value)) = (field.text("name"), field.text("value")) else { continue };
        if !name.starts_with(':') {
            headers.push(&name, value);
            continue;
        }
        pseudo.has_any = true;
        match &*name {
            ":method" => pseudo.method = Some(value.into_owned()),
            ":scheme" => pseudo.scheme = Some(value.into_owned()),
            ":authority" => pseudo.authority = Some(value.into_owned()),
            ":path" => pseudo.path = Some(value.into_owned()),
            _ => {}
        }
    }
    (headers, pseudo)
}

fn request_head(request: &Members<'_>) -> Head {
    let (mut headers, pseudo) = fields(request);
    let (scheme, authority, path) = split_url(&request.text("url").unwrap_or_default());
    let version = match request.text("httpVersion").map_or("HTTP", |text| version(&text)) {
        "HTTP" if pseudo.has_any => "HTTP/2",
        version => version,
    };
    if let (None, Some(kind)) = (
        headers.get("content-type"),
        request.object("postData").and_then(|data| data.text("mimeType")).filter(|kind| !kind.is_empty()),
    ) {
        headers.push("content-type", kind);
    }
    let start = Start::Request {
        method: request.text("method").map(|text| text.into_owned()).or(pseudo.method),
        scheme: scheme.or(pseudo.scheme),
        authority: authority.or(pseudo.authority),
        path: path.or(pseudo.path),
    };
    Head { start, headers, version }
}

/// Whether members of a body mark its text as base64, in any of the spellings in use.
fn is_base64(body: &Members<'_>) -> bool {
    body.first_text(&["encoding", "_encoding"]).is_some_and(|name| name.eq_ignore_ascii_case("base64"))
        || body.flag("_isBase64").unwrap_or(false)
}

fn request_body(
    entry: u64,
    at: u64,
    request: &Members<'_>,
    headers: &Headers,
    sink: &mut Sink<'_>,
) -> (Bytes, End) {
    let size = request.size("bodySize");
    let declared = size.filter(|size| *size > 0).or_else(|| content_length(headers)).filter(|size| *size > 0);
    let data = request.object("postData");
    let text = data.as_ref().and_then(|data| data.get("text"));
    let kind = data.as_ref().and_then(|data| data.text("mimeType"));
    let kind = kind
        .filter(|kind| !kind.is_empty())
        .unwrap_or_else(|| headers.get("content-type").unwrap_or_default().to_owned().into());
    let about = About { base64: data.as_ref().is_some_and(is_base64), media_type: &kind, declared };
    let Some(decoded) = text.and_then(|text| body::decode(text, &about)) else {
        // A null text tells of a body that was there; its absence is that of an empty one only
        // where the size says 0 or the method has none.
        let null =
            data.as_ref().is_some_and(|data| data.0.iter().any(|(key, raw)| key == "text" && *raw == "null"));
        let bodiless =
            matches!(request.text("method").as_deref(), Some("GET" | "HEAD" | "OPTIONS" | "DELETE"));
        let stated = content_length(headers) == Some(0) || (size == Some(0) && !null);
        let missing = declared.is_some() || !(bodiless || stated);
        return (Bytes::new(), if missing { End::NotCaptured { declared } } else { End::Complete });
    };
    if decoded.bytes.is_empty() && declared.is_some() && !headers_encode(headers) {
        return (Bytes::new(), End::NotCaptured { declared });
    }
    (told(entry, at, "request", decoded, sink), End::Complete)
}

fn response_body(
    entry: u64,
    at: u64,
    response: &Members<'_>,
    status: u16,
    headers: &Headers,
    sink: &mut Sink<'_>,
) -> (Bytes, End) {
    let content = response.object("content").unwrap_or_default();
    let (size, sent) = (content.size("size"), response.size("bodySize"));
    let encoded = headers_encode(headers);
    let stated = size.filter(|size| *size > 0);
    let declared = stated.or(sent.filter(|sent| *sent > 0 && !encoded));
    let declared = declared.or_else(|| content_length(headers).filter(|length| *length > 0 && !encoded));
    let kind = content.text("mimeType").filter(|kind| !kind.is_empty());
    let kind = kind.unwrap_or_else(|| headers.get("content-type").unwrap_or_default().to_owned().into());
    let about = About { base64: is_base64(&content), media_type: &kind, declared };
    let bodiless = matches!(status, 100..=199 | 204 | 304);
    let decoded = content.get("text").and_then(|text| body::decode(text, &about));
    let Some(decoded) = decoded.filter(|decoded| !decoded.bytes.is_empty()) else {
        let has_text = content.has("text");
        let empty = size == Some(0) && (sent == Some(0) || has_text || content_length(headers) == Some(0));
        let complete = bodiless || (declared.is_none() && (empty || has_text));
        return (Bytes::new(), if complete { End::Complete } else { End::NotCaptured { declared } });
    };
    let cut = about.base64 && !encoded && stated.is_some_and(|size| size > decoded.bytes.len() as u64);
    let end = if cut { End::NotCaptured { declared } } else { End::Complete };
    (told(entry, at, "response", decoded, sink), end)
}

fn headers_encode(headers: &Headers) -> bool {
    headers.get("content-encoding").is_some_and(|name| !name.eq_ignore_ascii_case("identity"))
}

/// The bytes; what was assumed or lost about them is told.
fn told(entry: u64, at: u64, side: &str, decoded: body::Decoded, sink: &mut Sink<'_>) -> Bytes {
    let span = Span::new(Space::Input, at, at);
    if let Some(assumed) = decoded.assumed {
        let text = format!("entry {entry}, {side} body: {assumed}");
        sink.find(Finding::new(Code::CaptureDamaged, text).severity(Severity::Note).at(span));
    }
    if decoded.damaged {
        let text = format!("entry {entry}, {side} body: bytes were replaced by U+FFFD when it was saved");
        sink.find(Finding::new(Code::CaptureDamaged, text).at(span));
    }
    Bytes::from(decoded.bytes)
}

#[cfg(test)]
mod tests;
