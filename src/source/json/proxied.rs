//! Exchanges of a proxy that writes each into a file: headers in pairs, bodies as text or base64.
//! Never repairs a cut body.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::Timestamp;
use crate::pdu::{End, Head, Headers, Side, Start};
use crate::source::base64;
use crate::source::entry::{Conns, Half, Place, Sink};

use super::members::{Members, list};
use super::{Outcome, text, time};

/// Whether a record is such an exchange.
pub(super) fn is_proxied(m: &Members<'_>) -> bool {
    let sides = ["request_headers", "request_body", "response_headers", "response_body"];
    (m.has("path") || m.has("url")) && sides.iter().any(|name| m.has(name))
}

pub(super) fn read(at: u64, m: &Members<'_>, conns: &mut Conns, sink: &mut Sink<'_>) -> Outcome {
    let name = m.get("conn_id").map_or("", |raw| raw.trim_matches('"'));
    let (conn, stream) = conns.next_stream(&format!("proxied\0{name}"), sink, |n| {
        let label = if name.is_empty() { format!("jsonl:{n}") } else { super::label(name) };
        (label, None, None)
    });
    let place = Place { conn, stream, at: Some(at) };
    let begun = time(m);
    let ended = begun
        .zip(m.number("duration_ms"))
        .map(|(begun, ms)| Timestamp(begun.0.saturating_add(ms.saturating_mul(1_000_000))));
    let (scheme, authority, path) =
        crate::source::entry::split_url(&m.first_text(&["url", "path"]).unwrap_or_default());
    let method = m.text("method").map(|text| text.into_owned());
    let start = Start::Request { method, scheme, authority, path };
    let half = side(m, "request_headers", "request_body", start, (begun, begun));
    place.emit(Side::Request, half, sink);
    let status = m.number("response_status").and_then(|status| u16::try_from(status).ok());
    let half = match status {
        None | Some(0) if !m.has("response_body") => Half { end: End::Closed, ..Half::default() },
        status => {
            let start = Start::Response { status: status.filter(|status| *status > 0) };
            side(m, "response_headers", "response_body", start, (ended, ended))
        }
    };
    place.emit(Side::Response, half, sink);
    Outcome::Read
}

fn side(
    m: &Members<'_>,
    headers_name: &str,
    body_name: &str,
    start: Start,
    times: (Option<Timestamp>, Option<Timestamp>),
) -> Half {
    let mut headers = Headers::default();
    for pair in m.list(headers_name).unwrap_or_default().into_iter().filter_map(list) {
        if let [name, value] = pair.as_slice()
            && let (Some(name), Some(value)) = (text::string(name), text::string(value))
        {
            headers.push(&name, value);
        }
    }
    for (name, raw) in m.object(headers_name).unwrap_or_default().0 {
        text::string(raw).into_iter().for_each(|value| headers.push(&name, value));
    }
    let body = m.object(body_name).unwrap_or_default();
    if let (None, Some(kind)) = (headers.get("content-type"), body.text("content_type")) {
        headers.push("content-type", kind);
    }
    let declared = body.size("size");
    let bytes = body.text("data").map(|data| match body.flag("is_base64").unwrap_or(false) {
        true => base64::decode(data.as_bytes()).ok(),
        false => Some(data.into_owned().into_bytes()),
    });
    let missing = body.flag("truncated").unwrap_or(false)
        || matches!(bytes, Some(None))
        || (bytes.is_none() && declared.is_some_and(|size| size > 0));
    Half {
        head: Some(Arc::new(Head { start, headers, version: "HTTP" })),
        body: Bytes::from(bytes.flatten().unwrap_or_default()),
        trailers: None,
        end: if missing { End::NotCaptured { declared } } else { End::Complete },
        times,
    }
}
