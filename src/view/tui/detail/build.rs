//! A frame's sections: the frame and what it belongs to, envelope, head, carrier, message, findings.
//! Never decides what a message is: that has been decoded.

use bytes::Bytes;

use crate::base::secret::{REDACTED, mask};
use crate::base::text::clean;
use crate::base::{Finding, Limits, Severity, Space};
use crate::message::{self, Tree};
use crate::pdu::{Side, Start};
use crate::schema::{Schema, TypeId};

use super::super::super::Item;
use super::super::super::redact::{header_value, host, url};
use super::message::At;
use super::{Detail, From, Line, Place, Tab, Tone, tabs};

/// What else is known of a frame.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// The payload with the frame's encoding undone, where it had one.
    pub inflated: Option<Vec<u8>>,
    /// A message in JSON, in wire format.
    pub wire: Option<Vec<u8>>,
    /// The type of the outer message of a carrier.
    pub outer: Option<TypeId>,
    /// Where it belongs, from the outside in, clean.
    pub levels: Vec<String>,
    /// Frames that it is joined to: what they are, their number, and the wait, clean.
    pub links: Vec<(String, u64, String)>,
    /// What correlation found about it.
    pub notices: Vec<Finding>,
}

pub(super) struct Builder<'a> {
    pub item: &'a Item<'a>,
    pub schema: &'a Schema,
    pub limits: &'a Limits,
    pub lines: Vec<Line>,
    pub tabs: Vec<Tab>,
    pub level: usize,
    /// The field of the message being written that carries another.
    pub carried: Option<&'a str>,
    /// Where it was found.
    pub carried_at: Option<Place>,
    /// Whether the message was written with its places.
    pub has_tree: bool,
}

/// A line without bytes.
pub(super) fn line(depth: u16, name: impl Into<String>, tone: Tone) -> Line {
    Line {
        depth,
        end: 0,
        parent: None,
        name: name.into(),
        meta: String::new(),
        value: String::new(),
        note: String::new(),
        tone,
        place: None,
        step: String::new(),
        jump: None,
        severity: None,
    }
}

/// Opens a frame.
pub fn build(item: &Item<'_>, facts: &Facts, schema: &Schema, limits: &Limits) -> Detail {
    let builder = Builder {
        item,
        schema,
        limits,
        lines: Vec::new(),
        tabs: Vec::new(),
        level: 0,
        carried: item.decoded.carrier.as_ref().map(|c| &*c.field),
        carried_at: None,
        has_tree: false,
    };
    builder.all(facts)
}

impl Builder<'_> {
    fn all(mut self, facts: &Facts) -> Detail {
        self.frame(facts);
        let payload_tab = self.payload_tabs(facts);
        self.envelope();
        self.head();
        let mut root = self.message(facts, payload_tab);
        let before = self.lines.len();
        self.findings(facts, payload_tab);
        root = self.findings_first(before, root);
        self.fail_closed(payload_tab);
        self.tabs.iter_mut().for_each(Tab::settle);
        let message = String::from_utf8_lossy(&self.item.decoded.message).into_owned();
        let mut detail =
            Detail { number: self.item.number, lines: self.lines, tabs: self.tabs, message, root };
        detail.settle();
        mark(&mut detail, &self.item.decoded.findings);
        detail
    }

    /// Heads a section; what follows stands within it until [`Builder::end`].
    fn section(&mut self, name: impl Into<String>, value: String) -> usize {
        let mut row = line(0, name, Tone::Section);
        row.value = value;
        self.lines.push(row);
        self.lines.len() - 1
    }

    fn end(&mut self, section: usize) {
        let end = self.lines.len() as u32;
        if let Some(row) = self.lines.get_mut(section) {
            row.end = end;
        }
    }

    fn fact(&mut self, name: &str, value: impl Into<String>) {
        let mut row = line(1, name, Tone::Field);
        row.value = value.into();
        self.lines.push(row);
    }

    fn frame(&mut self, facts: &Facts) {
        let (frame, lane) = (self.item.frame, &self.item.frame.lane);
        let rpc = clean(lane.rpc.as_deref().unwrap_or("(unknown RPC)"));
        let here = self.section(format!("Frame {}", self.item.number), format!("{} {rpc}", lane.side.name()));
        self.fact("capture", clean(self.item.capture));
        self.fact("time", frame.time.map_or_else(|| "(none)".to_owned(), |t| t.to_string()));
        if let Some(conn) = &lane.conn {
            let ends = match (&conn.client, &conn.server) {
                (Some(client), Some(server)) => format!(" ({} → {})", clean(client), clean(server)),
                _ => String::new(),
            };
            let stream = lane.stream.map(|s| format!(", stream {s}")).unwrap_or_default();
            self.fact("connection", format!("{}{ends}{stream}", clean(&conn.label)));
        }
        self.fact("call", format!("#{}, {} of its {}s", lane.call, frame.index + 1, lane.side.name()));
        self.fact("protocol", lane.protocol.name());
        self.fact("offset", frame.offset.to_string());
        if let Some(at) = frame.at {
            self.fact("in the capture", at.to_string());
        }
        for level in &facts.levels {
            self.fact("belongs to", level.clone());
        }
        for (key, values) in self.item.decoded.ids.iter() {
            let values: Vec<String> = values.iter().map(|v| clean(&v.to_string())).collect();
            let mut row = line(1, clean(key), Tone::Field);
            row.value = values.join(", ");
            row.note = "id".to_owned();
            self.lines.push(row);
        }
        for (what, number, wait) in &facts.links {
            let mut row = line(1, what.clone(), Tone::Link);
            row.value = format!("frame {number}");
            row.note = wait.clone();
            row.jump = Some(*number);
            self.lines.push(row);
        }
        self.end(here);
    }

    /// The tabs from the bytes as sent to the payload; the last of them.
    fn payload_tabs(&mut self, facts: &Facts) -> usize {
        let frame = self.item.frame;
        let mut bytes = Vec::with_capacity(frame.payload.len() + 5);
        if let Some(flags) = frame.flags {
            bytes.push(flags);
            bytes.extend_from_slice(&u32::try_from(frame.length).unwrap_or(u32::MAX).to_be_bytes());
        }
        let base = bytes.len();
        bytes.extend_from_slice(&frame.payload);
        let decrypted = matches!(
            frame.lane.request.as_ref().map(|h| &h.start),
            Some(Start::Request { scheme: Some(scheme), .. }) if scheme == "https"
        ) && frame.lane.conn.as_ref().is_some_and(|c| c.label.starts_with("tcp"));
        let name = if decrypted { "frame, decrypted" } else { "frame" };
        let end = bytes.len();
        self.tabs.push(Tab { name: name.to_owned(), bytes: bytes.into(), hidden: Vec::new(), from: None });
        let mut from = From { tab: 0, start: base, end, step: 1 };
        let mut add = |tabs: &mut Vec<Tab>, name: &str, bytes: &[u8]| {
            from.step = 0;
            tabs.push(Tab {
                name: name.to_owned(),
                bytes: Bytes::copy_from_slice(bytes),
                hidden: Vec::new(),
                from: Some(from),
            });
            from = From { tab: tabs.len() - 1, start: 0, end: bytes.len(), step: 0 };
        };
        if let Some(inflated) = &facts.inflated {
            add(&mut self.tabs, "inflated", inflated);
        }
        if let Some(wire) = &facts.wire {
            add(&mut self.tabs, "as protobuf", wire);
        }
        self.tabs.len() - 1
    }

    /// Where the payload begins in its tab.
    fn base(&self, tab: usize) -> usize {
        if tab == 0 && self.item.frame.flags.is_some() { 5 } else { 0 }
    }

    fn envelope(&mut self) {
        let frame = self.item.frame;
        let Some(flags) = frame.flags else { return };
        let compressed = match (&frame.lane.encoding, frame.compressed) {
            (Some(encoding), true) => format!(", compressed with {}", clean(encoding)),
            (None, true) => ", compressed".to_owned(),
            (_, false) => String::new(),
        };
        let here =
            self.section("Envelope", format!("flags 0x{flags:02x}, length {}{compressed}", frame.length));
        let place = |from: usize, to: usize| Some(Place { tab: 0, tag: from, start: from, end: to });
        self.fact("flags", format!("0x{flags:02x}"));
        self.fact("length", frame.length.to_string());
        for (back, from, to) in [(2, 0, 1), (1, 1, 5)] {
            let at = self.lines.len() - back;
            if let Some(row) = self.lines.get_mut(at) {
                row.place = place(from, to);
            }
        }
        if let Some(row) = self.lines.get_mut(here) {
            row.place = place(0, 5);
        }
        self.end(here);
    }

    fn head(&mut self) {
        let (frame, show) = (self.item.frame, self.item.show_secrets);
        let secrets = (!show).then_some(self.item.secrets);
        let lane = &frame.lane;
        let head = if lane.side == Side::Request { &lane.request } else { &lane.response };
        let (0, Some(head)) = (frame.index, head) else { return };
        let unknown = || "(unknown)".to_owned();
        let first = match &head.start {
            Start::Request { method, path, .. } => {
                let path = path.as_deref().map_or_else(unknown, |p| url(secrets, p).into_owned());
                format!("{} {path}", method.clone().unwrap_or_else(unknown))
            }
            Start::Response { status } => status.map_or_else(unknown, |s| s.to_string()),
        };
        let here = self.section(head.version, clean(&first));
        if let Start::Request { authority: Some(authority), .. } = &head.start {
            self.fact("host", clean(&host(authority, show)));
        }
        for header in head.headers.fields.iter().filter(|h| h.name != "host") {
            let value = header_value(secrets, &header.name, &header.value);
            self.fact(&clean(&header.name), clean(&value));
            if value == REDACTED
                && let Some(row) = self.lines.last_mut()
            {
                row.tone = Tone::Hidden;
            }
        }
        if head.headers.lost > 0 {
            self.fact("lost", format!("{} fields were sent before the capture began", head.headers.lost));
        }
        self.end(here);
    }

    /// The message, the one that carried it before; the line where the message begins.
    fn message(&mut self, facts: &Facts, payload_tab: usize) -> u32 {
        let decoded = self.item.decoded;
        let base = self.base(payload_tab);
        let payload =
            self.tabs.get(payload_tab).map(|t| t.bytes.slice(base.min(t.bytes.len())..)).unwrap_or_default();
        let mut tab = payload_tab;
        let mut start = base;
        if let Some(carrier) = &decoded.carrier {
            let mut tree = Tree::new();
            message::decode(self.schema, facts.outer, &payload, self.limits, &mut tree, &mut Vec::new());
            let here = self.section("Carrier", clean(&carrier.message_type));
            if let Some(row) = self.lines.get_mut(here) {
                row.place = Some(Place { tab, tag: base, start: base, end: base + payload.len() });
            }
            self.fields(&tree, &payload, At { tab, base, depth: 1 });
            self.end(here);
            let step = match carrier.encoding {
                "hex" => 2,
                "binary" => 1,
                _ => 0,
            };
            let from = match self.carried_at {
                Some(place) => {
                    // `0x` before the digits is no digit.
                    let digits = self.tabs.get(place.tab).and_then(|t| t.bytes.get(place.start..place.end));
                    let prefix = digits.is_some_and(|d| d.starts_with(b"0x") || d.starts_with(b"0X"));
                    let start = place.start + if step == 2 && prefix { 2 } else { 0 };
                    From { tab: place.tab, start, end: place.end, step }
                }
                None => From { tab, start: base, end: base + payload.len(), step: 0 },
            };
            let name = if carrier.encoding == "binary" {
                "carried".to_owned()
            } else {
                format!("from {}", carrier.encoding)
            };
            let bytes = Bytes::copy_from_slice(&decoded.payload);
            self.tabs.push(Tab { name, bytes, hidden: Vec::new(), from: Some(from) });
            (tab, start) = (self.tabs.len() - 1, 0);
        }
        self.carried = None;
        let name = match (&decoded.message_type, &decoded.kind) {
            (Some(name), _) => clean(name),
            (None, Some(kind)) => clean(kind),
            (None, None) => "Message".to_owned(),
        };
        let known = decoded.ty.is_some() || decoded.kind.is_none() && decoded.message_type.is_none();
        let here = self.section(name, String::new());
        let is_json = decoded.ty.is_none()
            && serde_json::from_slice::<serde_json::Value>(&payload).is_ok_and(|v| v.is_object());
        if known && !is_json && !decoded.payload.is_empty() {
            let bytes = Bytes::copy_from_slice(&decoded.payload);
            let mut tree = Tree::new();
            message::decode(self.schema, decoded.ty, &bytes, self.limits, &mut tree, &mut Vec::new());
            if let Some(row) = self.lines.get_mut(here) {
                row.place = Some(Place { tab, tag: start, start, end: start + bytes.len() });
                row.note = format!("{} bytes", bytes.len());
            }
            self.fields(&tree, &bytes, At { tab, base: start, depth: 1 });
            self.has_tree = true;
        } else if let Ok(value) = serde_json::from_slice(&decoded.message) {
            self.json(&value, 1, Tone::Field);
        }
        if self.lines.len() == here + 1
            && let Some(row) = self.lines.get_mut(here)
        {
            row.note = "empty".to_owned();
        }
        self.end(here);
        here as u32
    }

    fn findings(&mut self, facts: &Facts, payload_tab: usize) {
        let all: Vec<&Finding> = self.item.decoded.findings.iter().chain(&facts.notices).collect();
        let Some(worst) = all.iter().map(|f| f.severity).max() else { return };
        let count = all.len();
        let here =
            self.section("Findings", format!("{count}, the worst {} {}", article(worst), worst.name()));
        if let Some(row) = self.lines.get_mut(here) {
            row.tone = Tone::Finding(worst);
        }
        let carried_tab = self.tabs.iter().position(|t| t.name.starts_with("from ") || t.name == "carried");
        for finding in all {
            let mut row = line(1, finding.code.name(), Tone::Finding(finding.severity));
            row.value = clean(&finding.text);
            row.note = finding.path.as_deref().map(clean).unwrap_or_default();
            row.place = finding.span.and_then(|span| {
                let (tab, from) = match span.space {
                    Space::Body => (0, span.start.checked_sub(self.item.frame.offset)?),
                    Space::Payload => (payload_tab, span.start),
                    Space::Nested => (carried_tab?, span.start),
                    Space::Input => return None,
                };
                let length = self.tabs.get(tab)?.bytes.len();
                let from = usize::try_from(from).ok().filter(|from| *from < length)?;
                let to = from.saturating_add((span.end.saturating_sub(span.start)) as usize).min(length);
                Some(Place { tab, tag: from, start: from, end: to.max(from + 1) })
            });
            self.lines.push(row);
        }
        self.end(here);
    }

    /// Puts the findings, the lines from `from` on, right below the frame's section where one is more than a
    /// note: what is wrong is to be seen first. The line that the message begins at, by then.
    fn findings_first(&mut self, from: usize, root: u32) -> u32 {
        let worst = self.lines.get(from).map(|l| l.tone);
        if !matches!(worst, Some(Tone::Finding(severity)) if severity > Severity::Note) {
            return root;
        }
        let to = self.lines.first().map_or(0, |l| l.end as usize);
        let mut findings = self.lines.split_off(from);
        let count = findings.len() as u32;
        let moved = (from - to.min(from)) as u32;
        findings.iter_mut().for_each(|l| l.end = l.end.saturating_sub(moved));
        self.lines.iter_mut().skip(to).filter(|l| l.end > 0).for_each(|l| l.end += count);
        self.lines.splice(to..to, findings);
        root + count
    }

    /// Hides bytes as sent where nobody can say which of them are a secret.
    fn fail_closed(&mut self, payload_tab: usize) {
        if self.item.show_secrets {
            return;
        }
        let decoded = self.item.decoded;
        let base = self.base(0);
        let whole = |tab: usize, start: usize, tabs: &[Tab]| {
            let end = tabs.get(tab).map_or(0, |t| t.bytes.len());
            Place { tab, tag: start, start, end }
        };
        let redacted = memchr::memmem::find(&decoded.message, REDACTED.as_bytes()).is_some();
        let damaged =
            self.item.frame.compressed && decoded.findings.iter().any(|f| f.severity == Severity::Error);
        // Not decoded at all, or decoded as what has no places: the text is hidden where anything in it is.
        let unread =
            decoded.payload.is_empty() && !self.item.frame.payload.is_empty() && decoded.carrier.is_none();
        let nothing_hidden = self.tabs.iter().all(|t| t.hidden.is_empty());
        let leaks = self.tabs.first().is_some_and(|t| mask(&t.bytes).is_some());
        if damaged || unread || !self.has_tree && redacted || nothing_hidden && (redacted || leaks) {
            for tab in 0..=payload_tab {
                let start = if tab == 0 { base } else { 0 };
                let place = whole(tab, start, &self.tabs);
                tabs::hide(&mut self.tabs, place);
            }
        }
    }
}

fn article(severity: Severity) -> &'static str {
    if severity == Severity::Error { "an" } else { "a" }
}

/// Marks the fields that findings are about, and what they stand within.
fn mark(detail: &mut Detail, findings: &[Finding]) {
    for finding in findings.iter().filter(|f| f.severity > Severity::Note).take(64) {
        let Some(path) = &finding.path else { continue };
        let path = clean(path);
        let found = (0..detail.lines.len()).find(|at| {
            let line = detail.lines.get(*at);
            line.is_some_and(|l| !l.step.is_empty() && path.ends_with(l.step.as_str()))
                && detail.path(*at) == path
        });
        let mut at = found;
        while let Some(line) = at.and_then(|at| detail.lines.get_mut(at)) {
            line.severity = line.severity.max(Some(finding.severity));
            at = at.and_then(|at| detail.parent(at));
        }
    }
}
