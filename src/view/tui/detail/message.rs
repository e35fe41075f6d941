//! A decoded message as lines, encodings inside its fields opened under them.
//! Never recurses deeper than encodings nest within encodings, which has a bound.

use bytes::Bytes;

use crate::base::secret::{REDACTED, mask};
use crate::base::text::{clean, cut, push_clean_bytes};
use crate::base::{Severity, Timestamp};
use crate::message::{self, Node, NodeKind, Tree};
use crate::schema::{Cardinality, Encoding, FieldPlan, Inner, Kind, Nested, TypeId, TypePlan, WellKnown};

use super::super::super::text::tree::{hidden, scalar};
use super::build::{Builder, line};
use super::{From, Line, Place, Tab, Tone, tabs};

/// Lines of one frame, at most.
const MAX_LINES: usize = 100_000;
/// Longest value shown on a line, in bytes.
const LONGEST: usize = 2_000;
/// Encodings within encodings, at most.
const MAX_LEVEL: usize = 16;

/// Where a message lies.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// The tab.
    pub tab: usize,
    /// Its first byte there.
    pub base: usize,
    /// How deep its fields stand.
    pub depth: u16,
}

/// A message whose fields are being written.
struct Open {
    node: u32,
    end: u32,
    line: usize,
    /// How often each repeated field has come.
    counts: Vec<(u16, usize)>,
}

impl Builder<'_> {
    /// Appends the fields of a message, `bytes` of its tab.
    pub(super) fn fields(&mut self, tree: &Tree, bytes: &Bytes, at: At) {
        let mut open = vec![Open { node: Tree::ROOT, end: u32::MAX, line: usize::MAX, counts: Vec::new() }];
        let mut number = 0;
        while let Some(node) = tree.node(number) {
            if self.lines.len() >= MAX_LINES {
                let left = tree.nodes.len().saturating_sub(number as usize);
                self.lines.push(line(at.depth, format!("… {left} more fields"), Tone::Field));
                break;
            }
            while open.len() > 1 && open.last().is_some_and(|o| number >= o.end) {
                self.shut(&mut open);
            }
            let parent = open.last().map_or(Tree::ROOT, |o| o.node);
            let plan = tree.type_of(parent).map(|ty| self.schema.ty(ty));
            let field = plan.and_then(|plan| plan.field(node.field));
            let depth = at.depth.saturating_add(open.len() as u16 - 1);
            let mut row =
                line(depth, String::new(), if field.is_some() { Tone::Field } else { Tone::Unknown });
            row.place = Some(Place {
                tab: at.tab,
                tag: at.base + node.tag as usize,
                start: at.base + node.start as usize,
                end: at.base + node.end as usize,
            });
            self.name(&mut row, node, field, open.last_mut());
            let here = self.lines.len();
            let told = self.content(tree, number, plan, bytes, at, row);
            if told && node.next > number + 1 {
                open.push(Open { node: number, end: node.next, line: here, counts: Vec::new() });
            }
            number = if told { number + 1 } else { node.next.max(number + 1) };
        }
        while open.len() > 1 {
            self.shut(&mut open);
        }
    }

    fn shut(&mut self, open: &mut Vec<Open>) {
        let end = self.lines.len() as u32;
        if let Some(line) = open.pop().and_then(|o| self.lines.get_mut(o.line)) {
            line.end = end;
        }
    }

    fn name(&self, row: &mut Line, node: &Node, field: Option<&FieldPlan>, around: Option<&mut Open>) {
        let Some(field) = field else {
            row.name = match node.kind {
                NodeKind::Rest => "(cannot be decoded)".to_owned(),
                _ => node.number.to_string(),
            };
            row.meta = node.wire.name().to_owned();
            row.step = if node.kind == NodeKind::Rest { String::new() } else { node.number.to_string() };
            return;
        };
        row.name = clean(&field.name);
        row.step = row.name.clone();
        let kind = match field.kind {
            Kind::Message(ty) => clean(self.schema.ty(ty).short_name()),
            Kind::Enum(id) => {
                let name = self.schema.enum_plan(id).map_or("", |e| e.name.rsplit('.').next().unwrap_or(""));
                clean(name)
            }
            scalar => scalar.name().to_owned(),
        };
        row.meta = format!("{} {kind}", field.number);
        if field.cardinality == Cardinality::Repeated
            && let Some(around) = around
        {
            let count = match around.counts.iter_mut().find(|(f, _)| *f == node.field) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    around.counts.push((node.field, 0));
                    0
                }
            };
            row.step = format!("{}[{count}]", row.name);
            row.name = row.step.clone();
        }
    }

    /// Appends a field's line, and what is opened of it; false where what is in it is not to be told.
    fn content(
        &mut self,
        tree: &Tree,
        number: u32,
        plan: Option<&TypePlan>,
        bytes: &Bytes,
        at: At,
        mut row: Line,
    ) -> bool {
        let Some(node) = tree.node(number) else { return false };
        let field = plan.and_then(|plan| plan.field(node.field));
        let content = node.bytes(bytes);
        let carried =
            self.carried.is_some_and(|f| field.is_some_and(|field| *field.name == *f) && node.depth == 0);
        if carried {
            row.value = format!("{} bytes", content.len());
            row.note = "carries the message below".to_owned();
            self.carried_at = row.place;
            self.lines.push(row);
            return true;
        }
        if !self.item.show_secrets && hidden(self.schema, plan, node, bytes) {
            if let Some(place) = row.place {
                tabs::hide(&mut self.tabs, place);
            }
            let secret_field = field.is_some_and(|f| f.annotation.secret || f.annotation.carrier.is_some());
            let is_text = node.kind == NodeKind::Text || field.is_some_and(|f| f.kind == Kind::String);
            // Of a text with a credential in it the rest is told.
            row.value = match mask(content).filter(|_| is_text && !secret_field) {
                Some(masked) => quoted(&masked),
                None => REDACTED.to_owned(),
            };
            row.tone = Tone::Hidden;
            self.lines.push(row);
            return false;
        }
        match node.kind {
            NodeKind::Message => {
                (row.value, row.note) = self.summary(tree, number, node, field, bytes);
                self.lines.push(row);
            }
            NodeKind::Scalar => {
                let (value, note) = scalar(self.schema, node.bits, field);
                (row.value, row.note) = (value, note.unwrap_or_default());
                self.lines.push(row);
            }
            NodeKind::Packed => {
                row.value = packed(field, content, |bits| scalar(self.schema, bits, field).0);
                row.note = format!("{} bytes", content.len());
                self.lines.push(row);
            }
            NodeKind::Rest => {
                row.severity = Some(Severity::Error);
                row.value = shown_bytes(content);
                self.lines.push(row);
            }
            NodeKind::Text | NodeKind::Bytes => {
                let is_text = node.kind == NodeKind::Text || field.is_some_and(|f| f.kind == Kind::String);
                row.value = if is_text { quoted(content) } else { shown_bytes(content) };
                if !is_text || content.len() > LONGEST {
                    row.note = format!("{} bytes", content.len());
                }
                let here = self.lines.len();
                let place = row.place;
                self.lines.push(row);
                let nested = field.and_then(|f| f.annotation.nested).and_then(|n| self.schema.nested(n));
                if let (Some(nested), Some(place)) = (nested, place) {
                    self.nested(nested, content, place, at.depth.saturating_add(node.depth + 1));
                }
                let end = self.lines.len() as u32;
                if let Some(row) = self.lines.get_mut(here) {
                    row.end = end;
                }
            }
        }
        true
    }

    /// What stands beside a message's name: a time or duration as people write it, else its length.
    fn summary(
        &self,
        tree: &Tree,
        number: u32,
        node: &Node,
        field: Option<&FieldPlan>,
        bytes: &Bytes,
    ) -> (String, String) {
        let known = node.ty.and_then(|ty| self.schema.ty(ty).known);
        let part = |n: u32| {
            tree.children(number).filter(|(_, c)| c.number == n).last().map_or(0, |(_, c)| c.bits as i64)
        };
        let length = format!("{} bytes", node.bytes(bytes).len());
        match known {
            Some(WellKnown::Timestamp) => (Timestamp::from_parts(part(1), part(2)).to_string(), length),
            Some(WellKnown::Duration) => (format!("{} s", part(1) as f64 + part(2) as f64 / 1e9), length),
            _ if field.is_some_and(|f| f.cardinality == Cardinality::Map) => {
                let key = tree.children(number).find(|(_, c)| c.number == 1).map(|(_, c)| c);
                let secret = |c: &&Node| {
                    let plan = node.ty.map(|ty| self.schema.ty(ty));
                    !self.item.show_secrets && hidden(self.schema, plan, c, bytes)
                };
                let key = key.filter(|c| !secret(c));
                let shown = key.map_or_else(String::new, |c| match c.kind {
                    NodeKind::Bytes => cut(&quoted(c.bytes(bytes)), 60),
                    _ => (c.bits as i64).to_string(),
                });
                (shown, length)
            }
            _ => (String::new(), length),
        }
    }

    /// Opens an encoding under the field that holds it.
    fn nested(&mut self, nested: Nested, content: &[u8], place: Place, depth: u16) {
        if content.is_empty() || self.level >= MAX_LEVEL {
            return;
        }
        self.level += 1;
        let (tab, start) = (place.tab, place.start);
        match nested.encoding {
            Encoding::Json => self.json_text(content, depth),
            Encoding::Text => self.plain_text(content, depth),
            Encoding::Protobuf => self.opened(nested, content, tab, start, depth),
            Encoding::Hex => {
                let raw = hex_simd::decode_to_vec(content).ok();
                self.decoded(nested, raw, place, 2, "hex", depth);
            }
            Encoding::Base64 => {
                let raw = base64_simd::forgiving_decode_to_vec(content).ok();
                self.decoded(nested, raw, place, 0, "base64", depth);
            }
            // 32 bytes are the id of bytes that lie elsewhere.
            Encoding::Blob if content.len() == 32 => {}
            Encoding::Blob => self.opened(nested, content, tab, start, depth),
        }
        self.level -= 1;
    }

    fn decoded(
        &mut self,
        nested: Nested,
        raw: Option<Vec<u8>>,
        place: Place,
        step: usize,
        name: &str,
        depth: u16,
    ) {
        let Some(raw) = raw.map(Bytes::from) else { return };
        let from = From { tab: place.tab, start: place.start, end: place.end, step };
        self.tabs.push(Tab {
            name: format!("from {name}"),
            bytes: raw.clone(),
            hidden: Vec::new(),
            from: Some(from),
        });
        self.opened(nested, &raw, self.tabs.len() - 1, 0, depth);
    }

    /// What bytes hold: a message, JSON, text.
    fn opened(&mut self, nested: Nested, content: &[u8], tab: usize, base: usize, depth: u16) {
        match (nested.ty, nested.inner) {
            (Some(ty), _) => self.inner_message(ty, content, At { tab, base, depth }),
            (None, Some(Inner::Json)) => self.json_text(content, depth),
            (None, _) => self.plain_text(content, depth),
        }
    }

    fn inner_message(&mut self, ty: TypeId, content: &[u8], at: At) {
        let mut tree = Tree::new();
        let mut findings = Vec::new();
        message::decode(self.schema, Some(ty), content, self.limits, &mut tree, &mut findings);
        let here = self.lines.len();
        let mut head = line(at.depth, clean(&self.schema.ty(ty).name), Tone::Opened);
        head.severity = findings.iter().map(|f| f.severity).max().filter(|s| *s > Severity::Note);
        head.place = Some(Place { tab: at.tab, tag: at.base, start: at.base, end: at.base + content.len() });
        self.lines.push(head);
        let bytes = Bytes::copy_from_slice(content);
        self.fields(&tree, &bytes, At { depth: at.depth.saturating_add(1), ..at });
        let end = self.lines.len() as u32;
        if let Some(head) = self.lines.get_mut(here) {
            head.end = end;
        }
    }

    fn plain_text(&mut self, content: &[u8], depth: u16) {
        let Ok(text) = std::str::from_utf8(content) else { return };
        for part in text.lines().take(MAX_LINES) {
            let mut row = line(depth, String::new(), Tone::Opened);
            row.value = cut(&clean(part), LONGEST);
            self.lines.push(row);
        }
    }

    fn json_text(&mut self, content: &[u8], depth: u16) {
        if let Ok(value) = serde_json::from_slice(content) {
            self.json(&value, depth, Tone::Opened);
        }
    }
}

/// Text in quotes, cut where it is long.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    let kept = bytes.get(..LONGEST).unwrap_or(bytes);
    push_clean_bytes(&mut out, kept);
    out.push_str(if bytes.len() > LONGEST { "…\"" } else { "\"" });
    out
}

/// The beginning of bytes in hex.
fn shown_bytes(bytes: &[u8]) -> String {
    let kept = bytes.get(..32).unwrap_or(bytes);
    let more = if bytes.len() > 32 { "…" } else { "" };
    format!("{}{more}", crate::base::text::hex(kept))
}

/// The elements of a packed field, the first of them.
fn packed(field: Option<&FieldPlan>, mut bytes: &[u8], show: impl Fn(u64) -> String) -> String {
    let width = match field.map(|f| f.kind) {
        Some(Kind::Double | Kind::Fixed64 | Kind::Sfixed64) => 8,
        Some(Kind::Float | Kind::Fixed32 | Kind::Sfixed32) => 4,
        _ => 0,
    };
    let mut shown = Vec::new();
    while !bytes.is_empty() && shown.len() < 64 {
        let used = match width {
            0 => bytes.iter().position(|b| b & 0x80 == 0).map(|at| at + 1).filter(|used| *used <= 10),
            width => Some(width).filter(|width| *width <= bytes.len()),
        };
        let Some((element, rest)) = used.and_then(|used| bytes.split_at_checked(used)) else { break };
        let bits = match width {
            0 => element.iter().rev().fold(0u64, |n, b| (n << 7) | u64::from(b & 0x7f)),
            _ => element.iter().rev().fold(0u64, |n, b| (n << 8) | u64::from(*b)),
        };
        shown.push(show(bits));
        bytes = rest;
    }
    let more = if bytes.is_empty() { "" } else { ", …" };
    format!("[{}{more}]", shown.join(", "))
}
