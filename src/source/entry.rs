//! HTTP exchanges that a file holds in one piece, handed on as events.
//! Never decides what an exchange means.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Finding, Limits, Timestamp};
use crate::pdu::{Conn, End, Head, Headers, HttpEvent, HttpPart, Side, StreamKey};

use super::{ConnIds, Record};

/// Where a parser puts what it made, and what it may use.
pub(super) struct Sink<'a> {
    pub out: &'a mut VecDeque<Record>,
    pub limits: &'a Limits,
    pub conns: &'a ConnIds,
    /// The block that is being read.
    block: Bytes,
}

impl<'a> Sink<'a> {
    pub(super) fn new(out: &'a mut VecDeque<Record>, limits: &'a Limits, conns: &'a ConnIds) -> Self {
        Self { out, limits, conns, block: Bytes::new() }
    }

    pub(super) fn find(&mut self, finding: Finding) {
        self.out.push_back(Record::Finding(finding));
    }

    /// Tells which block is being read.
    pub(super) fn begin(&mut self, block: &Bytes) {
        self.block = block.clone();
    }

    /// The bytes of a text: a part of the block, where it lies in that.
    pub(super) fn part(&self, text: &str) -> Bytes {
        let from = (text.as_ptr() as usize).wrapping_sub(self.block.as_ptr() as usize);
        let range = from..from.wrapping_add(text.len());
        match self.block.get(range.clone()) {
            Some(part) if std::ptr::eq(part, text.as_bytes()) => self.block.slice(range),
            _ => Bytes::copy_from_slice(text.as_bytes()),
        }
    }
}

/// One side of an exchange.
pub(super) struct Half {
    pub head: Option<Arc<Head>>,
    pub body: Bytes,
    pub trailers: Option<Headers>,
    pub end: End,
    /// When its head came, and when its last byte did.
    pub times: (Option<Timestamp>, Option<Timestamp>),
}

impl Default for Half {
    fn default() -> Self {
        Self { head: None, body: Bytes::new(), trailers: None, end: End::Complete, times: (None, None) }
    }
}

/// The exchange that events belong to.
pub(super) struct Place {
    pub conn: Arc<Conn>,
    pub stream: u32,
    pub at: Option<u64>,
}

impl Place {
    /// Hands on one side, head to end.
    pub(super) fn emit(&self, side: Side, half: Half, sink: &mut Sink<'_>) {
        let (begun, ended) = half.times;
        if let Some(head) = half.head {
            self.part(side, begun, HttpPart::Head(head), sink);
        }
        if !half.body.is_empty() {
            self.part(side, ended, HttpPart::Body(half.body), sink);
        }
        if let Some(trailers) = half.trailers {
            self.part(side, ended, HttpPart::Trailers(trailers), sink);
        }
        self.part(side, ended, HttpPart::End(half.end), sink);
    }

    fn part(&self, side: Side, time: Option<Timestamp>, part: HttpPart, sink: &mut Sink<'_>) {
        let key = StreamKey { conn: self.conn.id, stream: self.stream };
        // The entry's place; a body inside it is encoded text, whose bytes lie nowhere in the file.
        let at = self.at.filter(|_| matches!(part, HttpPart::Head(_)));
        let event = HttpEvent { conn: self.conn.clone(), key, side, time, at, part };
        sink.out.push_back(Record::Http(event));
    }
}

/// The connections that a file names, each with the count of its exchanges.
#[derive(Default)]
pub(super) struct Conns {
    known: HashMap<String, (Arc<Conn>, u32)>,
    made: u32,
}

impl Conns {
    /// The connection of a name; one that is new is made by `make`, which is told how many
    /// there were before.
    pub(super) fn named(
        &mut self,
        name: &str,
        sink: &Sink<'_>,
        make: impl FnOnce(u32) -> (String, Option<String>, Option<String>),
    ) -> Arc<Conn> {
        self.entry(name, sink, make).0.clone()
    }

    /// The next exchange on the connection of a name.
    pub(super) fn next_stream(
        &mut self,
        name: &str,
        sink: &Sink<'_>,
        make: impl FnOnce(u32) -> (String, Option<String>, Option<String>),
    ) -> (Arc<Conn>, u32) {
        let (conn, streams) = self.entry(name, sink, make);
        *streams = streams.saturating_add(1);
        (conn.clone(), *streams)
    }

    fn entry(
        &mut self,
        name: &str,
        sink: &Sink<'_>,
        make: impl FnOnce(u32) -> (String, Option<String>, Option<String>),
    ) -> &mut (Arc<Conn>, u32) {
        if self.known.len() >= sink.limits.max_connections && !self.known.contains_key(name) {
            self.known.clear();
        }
        let made = &mut self.made;
        self.known.entry(name.to_owned()).or_insert_with(|| {
            let (label, client, server) = make(*made);
            *made = made.saturating_add(1);
            (Arc::new(Conn { id: sink.conns.next(), label, client, server }), 0)
        })
    }
}

/// The version of HTTP in the spelling of records.
pub(super) fn version(text: &str) -> &'static str {
    match text.to_ascii_lowercase().as_str() {
        "http/0.9" => "HTTP/0.9",
        "http/1.0" => "HTTP/1.0",
        "http/1.1" => "HTTP/1.1",
        "http/2" | "http/2.0" | "h2" | "h2c" => "HTTP/2",
        "http/3" | "http/3.0" | "h3" => "HTTP/3",
        _ => "HTTP",
    }
}

/// Scheme, authority and path with query of an absolute URL; the path alone of a relative one.
pub(super) fn split_url(url: &str) -> (Option<String>, Option<String>, Option<String>) {
    let url = url.split('#').next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return (None, None, (!url.is_empty()).then(|| url.to_owned()));
    };
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(at).unwrap_or((rest, ""));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (Some(scheme.to_ascii_lowercase()), Some(authority.to_owned()), Some(path))
}

/// A header value: UTF-8 where it is, else Latin-1.
pub(super) fn header_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
    }
}

/// The length that a header section declares for its body.
pub(super) fn content_length(headers: &Headers) -> Option<u64> {
    headers.get("content-length")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let part = |text: &str| Some(text.to_owned());
        assert_eq!(split_url("HTTPS://h:1/a?b=c#d"), (part("https"), part("h:1"), part("/a?b=c")));
        assert_eq!(split_url("http://h"), (part("http"), part("h"), part("/")));
        assert_eq!(split_url("http://h?x"), (part("http"), part("h"), part("/?x")));
        assert_eq!(split_url("/pkg.Svc/M"), (None, None, part("/pkg.Svc/M")));
        assert_eq!(split_url(""), (None, None, None));
    }

    #[test]
    fn names_of_connections_are_kept() {
        let (mut out, limits, ids) = (VecDeque::new(), Limits::default(), ConnIds::starting_at(7));
        let sink = Sink::new(&mut out, &limits, &ids);
        let mut conns = Conns::default();
        let make = |n: u32| (format!("har:{n}"), None, None);
        let (a, first) = conns.next_stream("a", &sink, make);
        let (b, _) = conns.next_stream("b", &sink, make);
        let (again, second) = conns.next_stream("a", &sink, make);
        assert_eq!((a.id, b.id, again.id, first, second), (7, 8, 7, 1, 2));
        assert_eq!((a.label.as_str(), b.label.as_str()), ("har:0", "har:1"));
    }
}
