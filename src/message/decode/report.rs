//! Findings of one message: said at most so often, each with its path and bytes.
//! Never quotes bytes of a type in which a secret can lie.

use std::fmt::Write;

use crate::base::text::hex;
use crate::{
    base::{Code, Finding, Severity, Space, Span},
    message::{
        path::{path_of, push_name},
        wire::{Broken, Fault, Wire},
    },
    schema::FieldPlan,
};

use super::{Decoder, Tree};

/// How often a code is said for one message; the rest is counted.
const MAX_EACH: usize = 64;

/// Where findings go.
pub(super) struct Report<'a> {
    findings: &'a mut Vec<Finding>,
    counts: Vec<(Code, usize)>,
}

impl<'a> Report<'a> {
    pub fn new(findings: &'a mut Vec<Finding>) -> Self {
        Self { findings, counts: Vec::new() }
    }

    /// Counts one of a code; false where enough have been said.
    pub fn wants(&mut self, code: Code) -> bool {
        match self.counts.iter_mut().find(|(c, _)| *c == code) {
            Some((_, count)) => {
                *count += 1;
                *count <= MAX_EACH
            }
            None => {
                self.counts.push((code, 1));
                true
            }
        }
    }

    pub fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Gives what was said since a mark another severity.
    pub fn lower(&mut self, mark: usize, severity: Severity) {
        self.findings.iter_mut().skip(mark).for_each(|f| f.severity = severity);
    }

    pub fn mark(&self) -> usize {
        self.findings.len()
    }

    pub fn undo(&mut self, mark: usize) -> Option<Finding> {
        let first = self.findings.get(mark..)?.iter().find(|f| f.code == Code::ProtoMalformed).cloned();
        self.findings.truncate(mark);
        first
    }

    pub fn finish(self) {
        for (code, count) in self.counts {
            if count > MAX_EACH {
                let text = format!("{} more like the {MAX_EACH} before in this message", count - MAX_EACH);
                self.findings.push(Finding::new(code, text));
            }
        }
    }
}

/// `name (3)`, or `field 3` where the schema has none.
fn label(number: u32, field: Option<&FieldPlan>) -> String {
    match field {
        Some(field) => format!("field {} ({number})", field.name),
        None => format!("field {number}"),
    }
}

impl Decoder<'_> {
    /// Reports something about a node.
    pub(super) fn find(&mut self, code: Code, at: u32, text: impl FnOnce() -> String) {
        if !self.report.wants(code) {
            return;
        }
        let Some(node) = self.tree.node(at) else { return };
        let span = Span::new(Space::Payload, u64::from(node.tag), u64::from(node.end));
        let path = path_of(self.schema, self.tree, self.payload, at);
        self.report.push(Finding::new(code, text()).path(path).at(span));
    }

    /// Reports something about a message, the root included.
    pub(super) fn find_in(&mut self, code: Code, at: u32, text: String) {
        if at != Tree::ROOT {
            return self.find(code, at, || text);
        }
        if self.report.wants(code) {
            let span = Span::new(Space::Payload, 0, self.payload.len() as u64);
            self.report.push(Finding::new(code, text).at(span));
        }
    }

    /// Reports something about a field of the innermost message whose node comes next.
    pub(super) fn find_next(&mut self, code: Code, field: &FieldPlan, text: String) {
        let path = self.path_below(field.number, Some(field));
        let end = self.open.last().map_or(self.at, |o| o.end);
        let span = Span::new(Space::Payload, self.at as u64, end as u64);
        self.report.push(Finding::new(code, text).path(path).at(span));
    }

    /// The path of a field of the innermost message that has no node yet.
    fn path_below(&self, number: u32, field: Option<&FieldPlan>) -> String {
        let parent = self.open.last().map_or(Tree::ROOT, |o| o.node);
        let mut path = path_of(self.schema, self.tree, self.payload, parent);
        match field {
            Some(field) => push_name(&mut path, &field.name),
            None => push_name(&mut path, &number.to_string()),
        }
        if field.is_some_and(FieldPlan::is_many) {
            let count =
                self.tree.children(parent).filter(|(_, n)| n.is_known() && n.number == number).count();
            let _ = write!(path, "[{count}]");
        }
        path
    }

    /// Reports bytes that cannot be read; `blame` is the field whose tag was sound.
    pub(super) fn say_fault(&mut self, tag: usize, blame: Option<(u32, Option<&FieldPlan>)>, fault: Fault) {
        let Some(open) = self.open.last() else { return };
        let (end, cut, ty) = (open.end, open.cut, open.ty);
        // Past the end of what is known to be cut nothing is worth a word.
        if cut && matches!(fault.broken, Broken::VarintCut | Broken::Short(..)) {
            return;
        }
        if !self.report.wants(Code::ProtoMalformed) {
            return;
        }
        let at = fault.at;
        let what = match fault.broken {
            Broken::VarintCut if blame.is_none() => format!("the tag at offset {at} does not end"),
            Broken::VarintCut => format!("malformed varint that starts at offset {at} does not end"),
            Broken::VarintLong => {
                format!("malformed varint that starts at offset {at} is over 64 bits or ten bytes")
            }
            Broken::NumberZero => format!("field number 0 at offset {at}"),
            Broken::TagWide => format!("the tag at offset {at} is over 32 bits"),
            Broken::WireType(wire) => format!("wire type {wire} at offset {at} does not exist"),
            Broken::Short(want, there)
                if matches!(want, 4 | 8) && fault.at + (there as usize) == end && self.is_fixed(tag) =>
            {
                format!("{there} of {want} bytes")
            }
            Broken::Short(want, there) => format!("{want} bytes declared, {there} there"),
        };
        let mut text = match blame {
            Some((number, field)) => format!("{}: {what}", label(number, field)),
            None => what,
        };
        let left = end.saturating_sub(tag);
        let secret = ty.is_some_and(|ty| self.schema.reaches_secret(ty));
        let _ = write!(text, "; {left} byte{} left", if left == 1 { "" } else { "s" });
        if left <= 16 && !secret {
            let bytes = self.payload.get(tag..end).unwrap_or_default();
            let _ = write!(text, ": {}", hex(bytes));
        }
        if let Some(length) = self.envelope(fault) {
            let _ = write!(text, "; the bytes are one whole envelope of {length} bytes, not a bare message");
        }
        let path = match blame {
            Some((number, field)) => self.path_below(number, field),
            None => {
                path_of(self.schema, self.tree, self.payload, self.open.last().map_or(Tree::ROOT, |o| o.node))
            }
        };
        let span = Span::new(Space::Payload, at as u64, end as u64);
        let mut finding = Finding::new(Code::ProtoMalformed, text).at(span);
        finding.path = Some(path).filter(|p| !p.is_empty());
        self.report.push(finding);
    }

    fn is_fixed(&self, tag: usize) -> bool {
        let tag = super::wire::tag(self.payload, tag, self.payload.len());
        matches!(tag, Ok((super::Tag::Field(_, Wire::I32 | Wire::I64), _)))
    }

    /// The length that a five-byte prefix declares, where the whole payload is one such envelope.
    fn envelope(&self, fault: Fault) -> Option<usize> {
        let [0 | 1, a, b, c, d, rest @ ..] = self.payload else { return None };
        let whole = u32::from_be_bytes([*a, *b, *c, *d]) as usize == rest.len();
        (whole && fault.at == 0 && self.open.len() == 1).then_some(rest.len())
    }

    /// An end-group tag where none belongs.
    pub(super) fn stray_end(&mut self, tag: usize, number: u32) {
        if self.report.wants(Code::ProtoMalformed) {
            let open = self.open.last();
            let text = match open.and_then(|o| o.group) {
                Some(group) => format!("end of group {number} inside group {group}, at offset {tag}"),
                None => format!("end of group {number} without a start, at offset {tag}"),
            };
            let parent = open.map_or(Tree::ROOT, |o| o.node);
            let path = path_of(self.schema, self.tree, self.payload, parent);
            let end = open.map_or(tag, |o| o.end);
            let mut finding = Finding::new(Code::ProtoMalformed, text);
            finding.path = Some(path).filter(|p| !p.is_empty());
            self.report.push(finding.at(Span::new(Space::Payload, tag as u64, end as u64)));
        }
        self.give_up(tag);
    }

    pub(super) fn not_closed(&mut self) {
        let Some((node, group)) = self.open.last().map(|o| (o.node, o.group)) else { return };
        let number = group.unwrap_or_default();
        self.find(Code::ProtoMalformed, node, || format!("group {number} is not closed"));
    }

    pub(super) fn too_deep(&mut self, at: u32) {
        let limit = self.max_depth;
        self.find(Code::ProtoDepth, at, || {
            format!("nests deeper than the limit of {limit} messages; the bytes below it are kept")
        });
    }

    pub(super) fn wire_type(&mut self, at: u32, field: &FieldPlan, wire: Wire) {
        let kind = field.kind.name();
        let before = self.report.mark();
        self.find(Code::ProtoWireType, at, || {
            let label = label(field.number, Some(field));
            format!("{label}: wire type {} does not fit the declared type {kind}", wire.name())
        });
        if let Some(path) = self.report.findings.get_mut(before).and_then(|f| f.path.as_mut()) {
            // The node is unknown, so its step is a number: the name says more.
            let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent).to_owned();
            *path = parent;
            push_name(path, &field.name);
        }
    }

    pub(super) fn unknown_field(&mut self, at: u32, number: u32, wire: Wire) {
        let name = self.open.iter().rev().find_map(|o| o.ty).map(|ty| self.schema.ty(ty).name.clone());
        self.find(Code::ProtoUnknownField, at, || {
            format!("field {number} ({}) is not in {}", wire.name(), name.unwrap_or_default())
        });
    }
}
