//! JSON records: one a line, pretty-printed, concatenated or in arrays, in the shapes that
//! proxies, debuggers and this tool write.
//! Never knows a protocol: members are told by general names.

mod exchange;
mod frame;
pub(super) mod members;
mod proxied;
mod rows;
mod scan;
mod skip;
pub(super) mod text;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Code, Finding, Severity, Space, Span, Timestamp};
use crate::pdu::{Conn, Side};

use super::entry::{Conns, Sink};
use super::error::Trouble;
use super::{Logged, LoggedBody, Record};
use members::{Members, is_object};
pub(super) use scan::{Item, Scanner, Target};

/// Broken records that get a finding each; more are counted.
const MAX_BROKEN: u64 = 100;

/// Reads JSON records that are pushed in pieces.
pub(super) struct Reader {
    scanner: Scanner,
    shapes: Shapes,
    /// Records read, skipped and not understood.
    read: u64,
    unknown: u64,
    first_unknown: Option<(u64, String)>,
    broken: u64,
    first_broken: Option<(u64, &'static str)>,
}

/// What became of one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It gave something.
    Read,
    /// Of a known shape, and of a kind that holds no message.
    Skipped(&'static str),
    /// Of no known shape.
    Unknown,
}

/// What the shapes remember from record to record.
#[derive(Default)]
pub(super) struct Shapes {
    conns: Conns,
    rows: rows::Rows,
    skipped: Vec<(&'static str, u64)>,
    /// The names of the record before, where it was one of messages by name and no shape knows any of them.
    names: Vec<Arc<str>>,
}

impl Reader {
    pub(super) fn new(max: usize) -> Self {
        Self {
            scanner: Scanner::new(Target::Values, max),
            shapes: Shapes::default(),
            read: 0,
            unknown: 0,
            first_unknown: None,
            broken: 0,
            first_broken: None,
        }
    }

    pub(super) fn push(&mut self, block: &Bytes, sink: &mut Sink<'_>) {
        sink.begin(block);
        let mut scanner = std::mem::replace(&mut self.scanner, Scanner::new(Target::Values, 0));
        scanner.push(block, &mut |item| self.item(item, sink));
        self.scanner = scanner;
    }

    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        let mut scanner = std::mem::replace(&mut self.scanner, Scanner::new(Target::Values, 0));
        scanner.finish(&mut |item| self.item(item, sink));
        self.shapes.finish(sink);
        if self.broken > MAX_BROKEN {
            let text = format!("{} more records are not JSON", self.broken - MAX_BROKEN);
            sink.find(Finding::new(Code::CaptureDamaged, text));
        }
        if self.read == 0 && self.shapes.skipped.is_empty() {
            return match (self.first_unknown.take(), self.first_broken) {
                (Some((at, members)), _) => Err(unknown_shape(at, members)),
                (None, Some((at, why))) => Err(Trouble::Malformed {
                    what: "JSON records",
                    at,
                    expected: "one JSON object after another".into(),
                    found: why.into(),
                    advice: "name the format with --from",
                }),
                (None, None) => Ok(()),
            };
        }
        if let Some((at, members)) = self.first_unknown.take() {
            let text = format!("{} records of no known shape, the first with {members}", self.unknown);
            sink.find(Finding::new(Code::CaptureSkipped, text).at(Span::new(Space::Input, at, at)));
        }
        Ok(())
    }

    fn item(&mut self, item: Item<'_>, sink: &mut Sink<'_>) {
        match item {
            Item::Value { at, json, members } => {
                let (json, members) = match simdutf8::basic::from_utf8(json) {
                    Ok(json) => (Cow::Borrowed(json), members),
                    Err(_) => (String::from_utf8_lossy(json), None),
                };
                let found = members.and_then(|places| Members::found(&json, places));
                match found.or_else(|| Members::read(&json)) {
                    Some(members) => self.count(at, &members, sink),
                    None => self.broken(at, "an object that does not parse", sink),
                }
            }
            Item::Broken { at, why } => self.broken(at, why, sink),
            Item::Cut { at } => {
                sink.find(Finding::new(Code::CaptureCut, "the file ends inside a JSON record").at(Span::new(
                    Space::Input,
                    at,
                    at,
                )))
            }
            Item::TooLarge { at, length } => {
                let text = format!("a record of {length} bytes is longer than the limit and was left out");
                let span = Span::new(Space::Input, at, at.saturating_add(length));
                sink.find(Finding::new(Code::LimitReached, text).at(span));
            }
        }
    }

    fn count(&mut self, at: u64, members: &Members<'_>, sink: &mut Sink<'_>) {
        match self.shapes.again(at, members, sink).unwrap_or_else(|| self.shapes.read(at, members, sink)) {
            Outcome::Read => self.read += 1,
            Outcome::Skipped(_) => {}
            Outcome::Unknown => {
                self.unknown += 1;
                if self.first_unknown.is_none() {
                    self.first_unknown = Some((at, names(members)));
                }
            }
        }
    }

    fn broken(&mut self, at: u64, why: &'static str, sink: &mut Sink<'_>) {
        self.broken += 1;
        self.first_broken.get_or_insert((at, why));
        if self.broken <= MAX_BROKEN {
            let text = format!("a record that is not JSON: {why}");
            sink.find(Finding::new(Code::CaptureDamaged, text).severity(Severity::Error).at(Span::new(
                Space::Input,
                at,
                at,
            )));
        }
    }
}

impl Shapes {
    /// Hands on what one record holds.
    pub(super) fn read(&mut self, at: u64, members: &Members<'_>, sink: &mut Sink<'_>) -> Outcome {
        let outcome = self.dispatch(at, members, sink);
        if let Outcome::Skipped(kind) = outcome {
            match self.skipped.iter_mut().find(|(name, _)| *name == kind) {
                Some((_, count)) => *count += 1,
                None => self.skipped.push((kind, 1)),
            }
        }
        outcome
    }

    /// Hands on a record with the names of the one before, of which no shape knows any: it is of the same shape.
    fn again(&self, at: u64, members: &Members<'_>, sink: &mut Sink<'_>) -> Option<Outcome> {
        let is_same =
            |(name, (other, raw)): (&Arc<str>, &(Cow<'_, str>, &str))| **name == **other && is_object(raw);
        let names = &self.names;
        if names.is_empty() || names.len() != members.0.len() || !names.iter().zip(&members.0).all(is_same) {
            return None;
        }
        let messages = names.iter().zip(&members.0).map(|(name, (_, raw))| (name.clone(), sink.part(raw)));
        sink.out.push_back(Record::Logged(Logged {
            at: Some(at),
            body: LoggedBody::Named(messages.collect()),
            ..Logged::default()
        }));
        Some(Outcome::Read)
    }

    fn dispatch(&mut self, at: u64, members: &Members<'_>, sink: &mut Sink<'_>) -> Outcome {
        if rows::is_row(members) {
            return self.rows.read(at, members, &mut self.conns, sink);
        }
        if exchange::is_exchange(members) {
            return exchange::read(at, members, &mut self.conns, sink);
        }
        if proxied::is_proxied(members) {
            return proxied::read(at, members, &mut self.conns, sink);
        }
        match frame::read(at, members, &mut self.conns, sink) {
            Outcome::Unknown => self.listed(at, members, sink),
            outcome => {
                self.keep_names(members, sink);
                outcome
            }
        }
    }

    /// Keeps the names of a record, where they alone made it what it is.
    fn keep_names(&mut self, members: &Members<'_>, sink: &Sink<'_>) {
        let last = match sink.out.back() {
            Some(Record::Logged(Logged { body: LoggedBody::Named(messages), .. })) => messages,
            _ => return,
        };
        self.names.clear();
        if !members.is_known() && last.len() == members.0.len() {
            self.names.extend(last.iter().map(|(name, _)| name.clone()));
        }
    }

    /// Records in an array of an outer object, as an HTTP API lists them.
    fn listed(&mut self, at: u64, members: &Members<'_>, sink: &mut Sink<'_>) -> Outcome {
        const LISTS: &[&str] = &["exchanges", "records", "items", "frames"];
        let Some(list) = LISTS.iter().find_map(|name| members.list(name)) else { return Outcome::Unknown };
        let mut outcome = Outcome::Unknown;
        for inner in list.into_iter().filter_map(Members::read) {
            let known = rows::is_row(&inner) || exchange::is_exchange(&inner) || proxied::is_proxied(&inner);
            let got = match known {
                true => self.dispatch(at, &inner, sink),
                false => frame::read(at, &inner, &mut self.conns, sink),
            };
            if got == Outcome::Read {
                outcome = Outcome::Read;
            }
        }
        outcome
    }

    /// Tells what was left out.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.rows.finish(sink);
        for (kind, count) in &self.skipped {
            let text = format!("{count} {kind} that hold no message");
            sink.find(Finding::new(Code::CaptureSkipped, text));
        }
    }
}

fn unknown_shape(at: u64, members: String) -> Trouble {
    Trouble::Malformed {
        what: "JSON records of a known shape",
        at,
        expected: "an HTTP exchange (url or path with request and response), an RPC (rpc, procedure, \
                   grpc_service, messageType) or a payload (payload_hex, raw_hex, rawHex, data_hex)"
            .into(),
        found: format!("an object with {members}"),
        advice: "another protocol's log has to be turned into one of these first",
    }
}

/// The names of an object's members, as an error lists them.
fn names(members: &Members<'_>) -> String {
    let mut out: Vec<String> = members.0.iter().take(12).map(|(k, _)| crate::base::text::clean(k)).collect();
    if members.0.len() > out.len() {
        out.push("…".into());
    }
    if out.is_empty() { "no members".into() } else { out.join(", ") }
}

/// When a record says it was made: RFC 3339, or seconds or milliseconds since 1970.
fn time(members: &Members<'_>) -> Option<Timestamp> {
    const NAMES: &[&str] = &["ts", "at", "timestamp", "time", "startedAt", "started_at"];
    let name = NAMES.iter().find(|name| members.has(name))?;
    if let Some(time) = members.text(name).and_then(|text| Timestamp::parse(&text)) {
        return Some(time);
    }
    let raw = members.get(name)?;
    let number: f64 = raw.trim_matches('"').parse().ok()?;
    Timestamp::from_seconds(if number.abs() > 1e11 { number / 1e3 } else { number })
}

/// Whose message a record's `direction` says it is.
fn side(text: &str) -> Option<Side> {
    match text.to_ascii_lowercase().as_str() {
        "request" | "c2s" | "client_to_server" | "client_to_backend" | "client" | "up" | "upstream"
        | "outgoing" | "out" | "send" | "sent" => Some(Side::Request),
        "response" | "s2c" | "server_to_client" | "backend_to_client" | "server" | "down" | "downstream"
        | "incoming" | "in" | "recv" | "received" => Some(Side::Response),
        _ => None,
    }
}

/// `package.Service/Method` of a path, a URL or such a name itself; `None` where it is no RPC's.
fn rpc_of(text: &str) -> Option<Arc<str>> {
    let (_, _, path) = super::entry::split_url(text.trim());
    let path = path?;
    let path = path.split('?').next()?.trim_matches('/');
    let (head, method) = path.rsplit_once('/')?;
    let service = head.rsplit('/').next()?;
    (!service.is_empty() && !method.is_empty()).then(|| [service, "/", method].concat().into())
}

/// The ids that a record names: members whose name ends as an id's or an order number's does.
fn ids(members: &Members<'_>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (name, raw) in &members.0 {
        if name == "ids" || name == "carrier" {
            members.know();
            if let Some(inner) = Members::read(raw) {
                out.extend(
                    inner.0.iter().filter(|(k, _)| name == "ids" || is_id(k)).filter_map(|(k, v)| id(k, v)),
                );
            }
        } else if is_id(name) {
            members.know();
            out.extend(id(name, raw));
        }
    }
    out
}

fn is_id(name: &str) -> bool {
    let snake = name.ends_with("_id") || name.ends_with("_seqno") || name == "id" || name == "session";
    snake || name.ends_with("Id") || name.ends_with("Seqno")
}

/// One id: a string, a number, or a message whose one field is the id.
fn id(name: &str, raw: &str) -> Option<(String, String)> {
    let value = match raw.as_bytes().first()? {
        b'"' => text::string(raw)?.into_owned(),
        b'0'..=b'9' | b'-' => raw.to_owned(),
        b'{' => {
            let inner = Members::read(raw)?;
            let (_, only) = inner.0.first().filter(|_| inner.0.len() == 1)?;
            text::string(only)?.into_owned()
        }
        _ => return None,
    };
    Some((snake(name), value)).filter(|(_, value)| !value.is_empty())
}

/// A lowerCamelCase name in snake_case.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The connection that a session or connection of a log stands for.
fn session(name: &str, conns: &mut Conns, sink: &Sink<'_>) -> Arc<Conn> {
    conns.named(name, sink, |_| (label(name), None, None))
}

fn label(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("jsonl:{name}") }
}

#[cfg(test)]
mod tests;
