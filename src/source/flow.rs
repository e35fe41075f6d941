//! mitmproxy flows: HTTP exchanges out of a run of tnetstrings, each handed on when it is whole.
//! Never reads flows of other kinds; they are counted.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Code, Finding, Severity, Space, Span, Timestamp};
use crate::pdu::{End, Head, Headers, Side, Start};

use super::entry::{Conns, Half, Place, Sink, content_length, header_text, version};
use super::error::Trouble;
use super::tnet::{self, Value, items};

/// Reads flows that are pushed in pieces.
pub(super) struct Reader {
    max: usize,
    held: Vec<u8>,
    /// Offset of `held` in the file.
    at: u64,
    /// Bytes of a flow over the limit that are still to come.
    skip: u64,
    conns: Conns,
    flows: u64,
    skipped: Vec<(String, u64)>,
    dead: bool,
}

impl Reader {
    pub(super) fn new(max: usize) -> Self {
        let (held, skipped) = (Vec::new(), Vec::new());
        Self { max, held, at: 0, skip: 0, conns: Conns::default(), flows: 0, skipped, dead: false }
    }

    pub(super) fn push(&mut self, block: &[u8], sink: &mut Sink<'_>) -> Result<(), Trouble> {
        if self.dead {
            return Ok(());
        }
        self.held.extend_from_slice(block);
        let mut held = std::mem::take(&mut self.held);
        let mut from = 0;
        let result = self.take(&held, &mut from, sink);
        self.at += from as u64;
        held.drain(..from);
        self.held = held;
        result
    }

    /// Takes whole flows off `held`, and moves `from` past them.
    fn take(&mut self, held: &[u8], from: &mut usize, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        loop {
            let rest = held.get(*from..).unwrap_or_default();
            let at = self.at + *from as u64;
            if self.skip > 0 {
                let step = usize::try_from(self.skip).unwrap_or(usize::MAX).min(rest.len());
                *from += step;
                self.skip -= step as u64;
                if self.skip > 0 {
                    return Ok(());
                }
                continue;
            }
            match tnet::start(rest) {
                tnet::Start::More => return Ok(()),
                tnet::Start::Bad => {
                    *from = held.len();
                    return self.bad(at, rest, sink);
                }
                tnet::Start::Length { header, length } => {
                    let total = length.saturating_add(header as u64 + 1);
                    if length > self.max as u64 {
                        let text =
                            format!("a flow of {length} bytes is longer than the limit and was left out");
                        let span = Span::new(Space::Input, at, at.saturating_add(total));
                        sink.find(Finding::new(Code::LimitReached, text).at(span));
                        self.skip = total;
                        continue;
                    }
                    let Some(bytes) = rest.get(..total as usize) else { return Ok(()) };
                    match tnet::value(bytes) {
                        Some((flow @ Value::Dict(_), _)) => self.flow(at, flow, sink),
                        _ => {
                            *from = held.len();
                            return self.bad(at, rest, sink);
                        }
                    }
                    *from += total as usize;
                }
            }
        }
    }

    fn bad(&mut self, at: u64, rest: &[u8], sink: &mut Sink<'_>) -> Result<(), Trouble> {
        self.dead = true;
        let found = super::error::first_bytes(rest);
        if self.flows == 0 {
            let expected = "the length, payload and type of a flow".into();
            let advice = "name the format with --from if it is another";
            return Err(Trouble::Malformed {
                what: "a file of mitmproxy flows",
                at,
                expected,
                found,
                advice,
            });
        }
        let text = format!("no flow begins here, after {} flows; found {found}", self.flows);
        let finding = Finding::new(Code::CaptureDamaged, text).severity(Severity::Error);
        sink.find(finding.at(Span::new(Space::Input, at, at)));
        Ok(())
    }

    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        if self.skip > 0 || !self.held.is_empty() {
            let text = format!("the file ends inside a flow, after {} whole ones", self.flows);
            sink.find(Finding::new(Code::CaptureCut, text).at(Span::new(Space::Input, self.at, self.at)));
        }
        self.held = Vec::new();
        for (kind, count) in &self.skipped {
            let text = format!("{count} {kind} flows, which are not read");
            sink.find(Finding::new(Code::CaptureSkipped, text));
        }
    }

    fn flow(&mut self, at: u64, flow: Value<'_>, sink: &mut Sink<'_>) {
        self.flows += 1;
        let kind = flow.get("type").and_then(Value::bytes).map(header_text).unwrap_or_else(|| "http".into());
        let is_socket = matches!(flow.get("websocket"), Some(Value::Dict(_)));
        let request = flow.get("request").filter(|request| matches!(request, Value::Dict(_)));
        let request = match request {
            Some(request) if kind == "http" && !is_socket => request,
            _ => return self.skip_kind(if is_socket { "websocket".into() } else { kind }),
        };
        let place = self.place(at, flow, sink);
        let response = flow.get("response").filter(|response| matches!(response, Value::Dict(_)));
        let error = flow.get("error").filter(|error| matches!(error, Value::Dict(_)));
        let failed_at = error.and_then(|error| time(error, "timestamp"));
        if let Some(error) = error {
            let message = error.get("msg").and_then(Value::bytes).map(header_text).unwrap_or_default();
            let text = format!("flow {} ended with an error: {message}", self.flows);
            let finding = Finding::new(Code::NetReset, text).severity(Severity::Note);
            sink.find(finding.at(Span::new(Space::Input, at, at)));
        }

        let head = request_head(request);
        let end = if response.is_none() && error.is_some() && time(request, "timestamp_end").is_none() {
            End::Closed
        } else {
            End::Complete
        };
        place.emit(Side::Request, half(request, head, end), sink);
        match response {
            Some(response) => {
                let status = response.get("status_code").and_then(Value::number).map(|status| status as u16);
                let version =
                    response.get("http_version").and_then(Value::bytes).map_or("HTTP", wire_version);
                let start = Start::Response { status };
                let head = Head { start, headers: headers(response.get("headers")), version };
                let end = if error.is_some() { End::Closed } else { End::Complete };
                place.emit(Side::Response, half(response, head, end), sink);
            }
            None => {
                let end = if error.is_some() { End::Closed } else { End::CaptureEnd };
                let times = (failed_at, failed_at);
                place.emit(Side::Response, Half { end, times, ..Half::default() }, sink);
            }
        }
    }

    fn skip_kind(&mut self, kind: String) {
        const MAX_KINDS: usize = 16;
        let full = self.skipped.len() >= MAX_KINDS;
        match self.skipped.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, count)) => *count += 1,
            None if full => {}
            None => self.skipped.push((kind, 1)),
        }
    }

    fn place(&mut self, at: u64, flow: Value<'_>, sink: &Sink<'_>) -> Place {
        let client = flow.get("client_conn");
        let server = flow.get("server_conn");
        let id = client.and_then(|conn| conn.get("id")).and_then(Value::bytes).map(header_text);
        let client = client.and_then(|conn| address(conn, &["peername", "address"]));
        let server = server.and_then(|conn| address(conn, &["peername", "ip_address", "address"]));
        let name = id.unwrap_or_else(|| format!("{client:?}"));
        let (conn, stream) = self.conns.next_stream(&name, sink, |n| (format!("flow:{n}"), client, server));
        Place { conn, stream, at: Some(at) }
    }
}

/// One side; a content of null was streamed past the proxy or thrown away.
fn half(message: Value<'_>, head: Head, end: End) -> Half {
    let content = ["content", "raw_content"].iter().find_map(|name| message.get(name));
    let trailers = match message.get("trailers") {
        list @ Some(Value::List(_)) => Some(headers(list)),
        _ => None,
    };
    let (body, end) = match content {
        Some(Value::Bytes(bytes)) => (Bytes::copy_from_slice(bytes), end),
        _ => {
            // A proxy that streamed the content may have put 0 in its place.
            let declared = content_length(&head.headers).filter(|length| *length > 0);
            (Bytes::new(), End::NotCaptured { declared })
        }
    };
    let times = (time(message, "timestamp_start"), time(message, "timestamp_end"));
    Half { head: Some(Arc::new(head)), body, trailers, end, times: (times.0, times.1.or(times.0)) }
}

fn request_head(request: Value<'_>) -> Head {
    let text = |name: &str| {
        request.get(name).and_then(Value::bytes).map(header_text).filter(|text| !text.is_empty())
    };
    let headers = headers(request.get("headers"));
    let port = request.get("port").and_then(Value::number).map(|port| port as u16);
    let host = text("host").map(|host| match port {
        Some(port) if !is_default(port, text("scheme").as_deref()) => join(&host, port),
        _ => host,
    });
    let authority = text("authority").or_else(|| headers.get("host").map(str::to_owned)).or(host);
    let start =
        Start::Request { method: text("method"), scheme: text("scheme"), authority, path: text("path") };
    let version = request.get("http_version").and_then(Value::bytes).map_or("HTTP", wire_version);
    Head { start, headers, version }
}

fn is_default(port: u16, scheme: Option<&str>) -> bool {
    matches!((port, scheme), (443, Some("https")) | (80, Some("http")))
}

fn wire_version(bytes: &[u8]) -> &'static str {
    version(&header_text(bytes))
}

fn headers(list: Option<Value<'_>>) -> Headers {
    let mut headers = Headers::default();
    let Some(Value::List(list)) = list else { return headers };
    for pair in items(list) {
        let Value::List(pair) = pair else { continue };
        let mut pair = items(pair).filter_map(Value::bytes);
        if let (Some(name), Some(value)) = (pair.next(), pair.next())
            && !name.starts_with(b":")
        {
            headers.push(&header_text(name), header_text(value));
        }
    }
    headers
}

/// An address and port, in the list or the dictionary that versions of the format use.
fn address(conn: Value<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let list = match conn.get(name)? {
            Value::List(list) => list,
            dict @ Value::Dict(_) => match dict.get("address")? {
                Value::List(list) => list,
                _ => return None,
            },
            _ => return None,
        };
        let mut list = items(list);
        let host = header_text(list.next()?.bytes()?);
        Some(join(&host, list.next()?.number()? as u16))
    })
}

fn join(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn time(message: Value<'_>, name: &str) -> Option<Timestamp> {
    message.get(name).and_then(Value::number).and_then(Timestamp::from_seconds)
}

#[cfg(test)]
mod tests;
