//! Exchanges of a debugging proxy: heads, bodies as hex, and the frames it cut them into.
//! Never mixes the two: a body that is whole is used, else the frames.

use bytes::Bytes;

use crate::base::Timestamp;
use crate::pdu::{End, Head, Headers, Side, Start};
use crate::source::Record;
use crate::source::entry::{Conns, Half, Place, Sink};
use crate::source::hex;

use super::members::Members;
use super::{Outcome, frame, ids, rpc_of, time};
use std::sync::Arc;

/// Whether a record is such an exchange.
pub(super) fn is_exchange(m: &Members<'_>) -> bool {
    let payload =
        |name: &str| m.object(name).is_some_and(|p| p.has("headers") || p.has("rawHex") || p.has("frames"));
    (m.has("url") || m.has("path")) && (payload("request") || payload("response"))
}

pub(super) fn read(at: u64, m: &Members<'_>, conns: &mut Conns, sink: &mut Sink<'_>) -> Outcome {
    let host = m.text("host").unwrap_or_default().into_owned();
    let name = format!("exchange\0{host}");
    let server = (!host.is_empty()).then_some(host);
    let (conn, stream) = conns.next_stream(&name, sink, |n| (format!("jsonl:{n}"), None, server));
    let place = Place { conn, stream, at: Some(at) };
    let begun = time(m);
    let ended = begun
        .zip(m.number("durationMs"))
        .map(|(begun, ms)| Timestamp(begun.0.saturating_add(ms.saturating_mul(1_000_000))));
    if let Some(request) = m.object("request") {
        let head = request_head(m, &request);
        payload(&place, Side::Request, head, &request, m, (begun, begun), sink);
    }
    let response = m.object("response");
    match response {
        Some(response)
            if m.number("status").unwrap_or(0) > 0 || response.has("rawHex") || response.has("frames") =>
        {
            let status = m.number("status").and_then(|status| u16::try_from(status).ok());
            let head = Head {
                start: Start::Response { status: status.filter(|status| *status > 0) },
                headers: headers(&response),
                version: "HTTP",
            };
            payload(&place, Side::Response, head, &response, m, (ended, ended), sink);
        }
        _ => {
            let end = if m.has("error") { End::Closed } else { End::CaptureEnd };
            place.emit(Side::Response, Half { end, times: (ended, ended), ..Half::default() }, sink);
        }
    }
    Outcome::Read
}

/// One side: as HTTP where its body is whole, else frame by frame.
fn payload(
    place: &Place,
    side: Side,
    head: Head,
    payload: &Members<'_>,
    exchange: &Members<'_>,
    times: (Option<Timestamp>, Option<Timestamp>),
    sink: &mut Sink<'_>,
) {
    let head = Arc::new(head);
    let raw = payload.text("rawHex").filter(|raw| !raw.is_empty());
    let cut =
        payload.flag("rawTruncated").unwrap_or(false) || raw.as_ref().is_some_and(|raw| raw.ends_with("..."));
    let whole = raw.as_ref().filter(|_| !cut).and_then(|raw| hex::digits(raw).ok());
    let frames = payload.list("frames").unwrap_or_default();
    if whole.is_none() && !frames.is_empty() {
        let rpc = exchange.first_text(&["path", "url"]).and_then(|text| rpc_of(&text));
        let outer = ids(exchange).into_iter().filter(|(name, _)| name != "id").collect::<Vec<_>>();
        for frame in frames.into_iter().filter_map(Members::read) {
            let mut logged = frame::logged(&frame);
            logged.conn = Some(place.conn.clone());
            logged.stream = Some(place.stream);
            logged.shared_time = logged.time.is_none();
            logged.time = logged.time.or(times.1);
            logged.at = place.at;
            logged.rpc = logged.rpc.or_else(|| rpc.clone());
            logged.side = Some(side);
            logged.headers = Some(head.clone());
            logged.encoding = logged.encoding.or_else(|| frame::encoding(&head.headers));
            let new = outer.iter().filter(|id| !logged.ids.contains(id)).cloned().collect::<Vec<_>>();
            logged.ids.extend(new);
            sink.out.push_back(Record::Logged(logged));
        }
        return;
    }
    let declared = payload.size("size");
    let missing = match whole {
        Some(_) => false,
        None => declared != Some(0),
    };
    let part = raw.filter(|_| cut).map(|raw| even_hex(raw.trim_end_matches('.'))).unwrap_or_default();
    let end = if missing { End::NotCaptured { declared } } else { End::Complete };
    let body = Bytes::from(whole.unwrap_or(part));
    place.emit(side, Half { head: Some(head), body, trailers: None, end, times }, sink);
}

/// The bytes of cut hex; a half digit pair at the end is no byte.
pub(super) fn even_hex(text: &str) -> Vec<u8> {
    hex::digits(text.get(..text.len() & !1).unwrap_or_default()).unwrap_or_default()
}

fn request_head(m: &Members<'_>, request: &Members<'_>) -> Head {
    let text = |name: &str| m.text(name).map(|text| text.into_owned());
    let (scheme, authority, path) = crate::source::entry::split_url(&text("url").unwrap_or_default());
    let start = Start::Request {
        method: text("method"),
        scheme,
        authority: authority.or_else(|| text("host")),
        path: path.or_else(|| text("path")),
    };
    Head { start, headers: headers(request), version: "HTTP" }
}

fn headers(payload: &Members<'_>) -> Headers {
    let mut headers = Headers::default();
    for field in payload.list("headers").unwrap_or_default().into_iter().filter_map(Members::read) {
        if let (Some(name), Some(value)) = (field.text("name"), field.text("value")) {
            headers.push(&name, value);
        }
    }
    if let (None, Some(kind)) = (headers.get("content-type"), payload.text("contentType")) {
        headers.push("content-type", kind);
    }
    headers
}
