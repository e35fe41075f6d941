//! Rows of a proxy that logs each request, response, body and RPC message by itself.
//! Never makes up a body: an exchange is handed on when a body of it was logged.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Code, Finding, Space, Span, Timestamp};
use crate::pdu::{Conn, End, Head, Headers, Side, Start};
use crate::source::base64;
use crate::source::entry::{Conns, Half, Place, Sink};
use crate::source::{Logged, LoggedBody, Record};

use super::members::Members;
use super::{Outcome, ids, rpc_of, session, side, text, time};

/// Whether a record is such a row.
pub(super) fn is_row(m: &Members<'_>) -> bool {
    const TYPES: &[&str] = &["request", "response", "grpc", "sse", "body", "error", "debug"];
    m.text("type").is_some_and(|kind| TYPES.contains(&&*kind))
        && (m.has("session") || m.has("url") || m.has("host"))
        && !m.has("messageType")
}

/// What is open in each session: exchanges follow one another on a connection.
#[derive(Default)]
pub(super) struct Rows {
    sessions: HashMap<String, Session>,
}

#[derive(Default)]
struct Session {
    request: Option<(Arc<Head>, Option<Timestamp>)>,
    response: Option<(Arc<Head>, Option<Timestamp>)>,
    /// The exchange's number, once it was handed on.
    place: Option<(Arc<Conn>, u32)>,
    /// Sides that are handed on, or whose messages come as rows of their own.
    request_done: bool,
    request_logged: bool,
}

impl Rows {
    pub(super) fn read(
        &mut self,
        at: u64,
        m: &Members<'_>,
        conns: &mut Conns,
        sink: &mut Sink<'_>,
    ) -> Outcome {
        let name = m.first_text(&["session", "host"]).unwrap_or_default().into_owned();
        if self.sessions.len() >= sink.limits.max_connections && !self.sessions.contains_key(&name) {
            self.sessions.clear();
        }
        let open = self.sessions.entry(name.clone()).or_default();
        match m.text("type").as_deref() {
            Some("request") => {
                *open = Session { request: Some((request(m), time(m))), ..Session::default() };
                Outcome::Read
            }
            Some("response") => {
                open.response = Some((response(m), time(m)));
                Outcome::Read
            }
            Some("body") => open.body(at, &name, m, conns, sink),
            Some("grpc") => open.message(at, &name, m, conns, sink),
            Some("sse") => Outcome::Skipped("server-sent events, cut as the log cuts them"),
            Some("error") => {
                let text = format!("the log holds an error: {}", m.text("error").unwrap_or_default());
                let span = Span::new(Space::Input, at, at);
                sink.find(Finding::new(Code::CaptureSkipped, text).at(span));
                Outcome::Read
            }
            _ => Outcome::Skipped("rows of the log about itself"),
        }
    }

    pub(super) fn finish(&mut self, _sink: &mut Sink<'_>) {
        self.sessions.clear();
    }
}

impl Session {
    /// A body closes its side; heads that were held back go first.
    fn body(
        &mut self,
        at: u64,
        name: &str,
        m: &Members<'_>,
        conns: &mut Conns,
        sink: &mut Sink<'_>,
    ) -> Outcome {
        let Some(side) = m.text("direction").and_then(|text| side(&text)) else { return Outcome::Unknown };
        let body = match (m.text("body_base64"), m.text("body")) {
            (Some(text), _) => base64::decode(text.as_bytes()).unwrap_or_default(),
            (None, Some(text)) => text.into_owned().into_bytes(),
            (None, None) => return Outcome::Skipped("bodies that are empty"),
        };
        let (conn, stream) = match &self.place {
            Some(place) => place.clone(),
            None => {
                conns.next_stream(name, sink, |_| (super::label(name), None, m.text("host").map(Into::into)))
            }
        };
        self.place = Some((conn.clone(), stream));
        let place = Place { conn, stream, at: Some(at) };
        let now = time(m);
        let half = |head: &Option<(Arc<Head>, Option<Timestamp>)>, body: Vec<u8>, end: End| Half {
            head: head.as_ref().map(|(head, _)| head.clone()),
            times: (head.as_ref().and_then(|(_, time)| *time), now),
            body: Bytes::from(body),
            trailers: None,
            end,
        };
        if side == Side::Request {
            if !std::mem::replace(&mut self.request_done, true) {
                place.emit(Side::Request, half(&self.request, body, End::Complete), sink);
            }
            return Outcome::Read;
        }
        if !std::mem::replace(&mut self.request_done, true) {
            let end = match self.request_logged {
                true => End::NotCaptured { declared: None },
                false => End::Complete,
            };
            place.emit(Side::Request, half(&self.request, Vec::new(), end), sink);
        }
        place.emit(Side::Response, half(&self.response, body, End::Complete), sink);
        *self = Self::default();
        Outcome::Read
    }

    /// An RPC message, decoded by the proxy or, where that failed, in base64.
    fn message(
        &mut self,
        at: u64,
        name: &str,
        m: &Members<'_>,
        conns: &mut Conns,
        sink: &mut Sink<'_>,
    ) -> Outcome {
        let rpc = match (m.text("grpc_service"), m.text("grpc_method")) {
            (Some(service), Some(method)) => Some(format!("{service}/{method}").into()),
            _ => m.text("url").and_then(|url| rpc_of(&url)),
        };
        let side = m.text("direction").and_then(|text| side(&text));
        let head = match side {
            Some(Side::Request) => {
                self.request_logged = true;
                &self.request
            }
            _ => &self.response,
        };
        let raw = m.text("grpc_raw").map(|text| base64::decode(text.as_bytes()).unwrap_or_default());
        let streaming = m.flag("grpc_streaming").unwrap_or(false);
        // The proxy takes the JSON that ends a Connect stream for a message and fails to decode it.
        let failed_json = raw.as_ref().is_some_and(|raw| {
            raw.starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(raw).is_ok()
        });
        let decoded = m.get("grpc_data");
        let decoded = decoded.map(|raw| text::string(raw).map_or(raw.to_owned(), Into::into));
        let empty_json = decoded.as_deref() == Some("{}") && m.size("size") == Some(2);
        let end_stream = streaming && side == Some(Side::Response) && (failed_json || empty_json);
        let compressed = m.flag("grpc_compressed").unwrap_or(false) && raw.is_some() && !failed_json;
        let body = match (decoded, raw) {
            (Some(json), _) => LoggedBody::Json(json),
            (None, Some(raw)) => LoggedBody::Payload(Bytes::from(raw)),
            (None, None) if m.has("error") => LoggedBody::None,
            (None, None) => LoggedBody::Payload(Bytes::new()),
        };
        let encoding = head.as_ref().and_then(|(head, _)| {
            let headers = &head.headers;
            headers.get("connect-content-encoding").or_else(|| headers.get("grpc-encoding"))
        });
        sink.out.push_back(Record::Logged(Logged {
            shared_time: false,
            conn: Some(session(name, conns, sink)),
            stream: None,
            time: time(m),
            at: Some(at),
            rpc,
            side,
            message_type: None,
            flags: compressed.then_some(1),
            length: m.size("size"),
            encoding: encoding.map(str::to_ascii_lowercase),
            end_stream,
            body,
            ids: ids(m).into_iter().chain(request_id(&self.request)).collect(),
            headers: head.as_ref().map(|(head, _)| head.clone()),
        }));
        Outcome::Read
    }
}

/// The id that the request's header carries, by which streams and their siblings are joined.
fn request_id(request: &Option<(Arc<Head>, Option<Timestamp>)>) -> Option<(String, String)> {
    let (head, _) = request.as_ref()?;
    Some(("request_id".into(), head.headers.get("x-request-id")?.to_owned()))
}

fn request(m: &Members<'_>) -> Arc<Head> {
    let text = |name: &str| m.text(name).map(|text| text.into_owned());
    let (scheme, authority, path) = crate::source::entry::split_url(&text("url").unwrap_or_default());
    let authority = authority.or_else(|| text("host"));
    let start = Start::Request { method: text("method"), scheme, authority, path };
    Arc::new(Head { start, headers: headers(m), version: "HTTP/1.1" })
}

fn response(m: &Members<'_>) -> Arc<Head> {
    let status = m.number("status").and_then(|status| u16::try_from(status).ok());
    Arc::new(Head { start: Start::Response { status }, headers: headers(m), version: "HTTP/1.1" })
}

/// Headers as a map of lists, or of strings.
fn headers(m: &Members<'_>) -> Headers {
    let mut headers = Headers::default();
    for (name, raw) in m.object("headers").unwrap_or_default().0 {
        match super::members::list(raw) {
            Some(values) => {
                values.into_iter().filter_map(text::string).for_each(|value| headers.push(&name, value));
            }
            None => text::string(raw).into_iter().for_each(|value| headers.push(&name, value)),
        }
    }
    if let (None, Some(kind)) = (headers.get("content-type"), m.text("content_type")) {
        headers.push("content-type", kind);
    }
    headers
}
