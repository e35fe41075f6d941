//! Decodes any bytes into a tree: what fits the schema, what is unknown, what is broken, each in its place.
//! Never fails, never recurses, never allocates by a length that the bytes declare.

mod check;
mod field;
mod report;

use smallvec::SmallVec;

use crate::{
    base::{Code, Finding, Limits},
    schema::{FieldPlan, Schema, TypeId, WellKnown},
};

use super::{
    Node, NodeKind, Tree,
    wire::{self, Fault, Tag, Wire},
};
pub(super) use field::{element_wire, fits};
use report::Report;

/// Depth over which no message is decoded, whatever the limits say: what walks the tree may recurse.
pub const MAX_DEPTH: usize = 400;

/// Decodes `payload` as a message of type `ty`, or by wire type alone, into `tree`. What is wrong or
/// odd becomes findings, with offsets in the payload.
pub fn decode(
    schema: &Schema,
    ty: Option<TypeId>,
    payload: &[u8],
    limits: &Limits,
    tree: &mut Tree,
    findings: &mut Vec<Finding>,
) {
    run(schema, ty, payload, false, limits, tree, findings);
}

/// [`decode`] for the beginning of a payload whose end is known to be missing: that it breaks
/// off is no finding, since whoever cut it has said so.
pub fn decode_start(
    schema: &Schema,
    ty: Option<TypeId>,
    payload: &[u8],
    limits: &Limits,
    tree: &mut Tree,
    findings: &mut Vec<Finding>,
) {
    run(schema, ty, payload, true, limits, tree, findings);
}

fn run(
    schema: &Schema,
    ty: Option<TypeId>,
    payload: &[u8],
    cut: bool,
    limits: &Limits,
    tree: &mut Tree,
    findings: &mut Vec<Finding>,
) {
    tree.nodes.clear();
    tree.root = ty;
    // Offsets are 32 bits wide.
    let payload = payload.get(..payload.len().min(u32::MAX as usize - 16)).unwrap_or_default();
    let mode = if ty.is_some() { Mode::Known } else { Mode::Guess };
    let mut decoder = Decoder {
        schema,
        payload,
        max_depth: limits.max_depth.min(MAX_DEPTH),
        max_fields: limits.max_fields,
        tree,
        report: Report::new(findings),
        open: Vec::new(),
        at: 0,
    };
    decoder.push_open(Open { ty, cut, ..Open::new(mode, Tree::ROOT, payload.len()) });
    decoder.go();
    decoder.report.finish();
}

/// How the fields of an open message are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// By its type.
    Known,
    /// An unknown group of a known message: kept, not guessed at.
    Unknown,
    /// Without a schema: lengths are guessed to be messages, text or bytes.
    Guess,
}

/// A message or group that is being read.
struct Open {
    mode: Mode,
    ty: Option<TypeId>,
    node: u32,
    /// Where it, or what holds it if it is a group, ends.
    end: usize,
    /// The number of a group.
    group: Option<u32>,
    /// Its end is missing, which has been said.
    cut: bool,
    /// Something in it is malformed.
    malformed: bool,
    /// It broke: what follows in it is kept as bytes.
    broken: bool,
    /// The type that an Any names.
    any: Option<TypeId>,
    /// The value of an Any: findings and nodes before it, to undo it by.
    undo: Option<(usize, usize)>,
    /// Oneofs with the branch seen last.
    branches: SmallVec<[(u16, u16); 2]>,
}

impl Open {
    fn new(mode: Mode, node: u32, end: usize) -> Self {
        Self {
            mode,
            ty: None,
            node,
            end,
            group: None,
            cut: false,
            malformed: false,
            broken: false,
            any: None,
            undo: None,
            branches: SmallVec::new(),
        }
    }
}

struct Decoder<'a> {
    schema: &'a Schema,
    payload: &'a [u8],
    max_depth: usize,
    max_fields: usize,
    tree: &'a mut Tree,
    report: Report<'a>,
    open: Vec<Open>,
    at: usize,
}

impl Decoder<'_> {
    fn go(&mut self) {
        while let Some(open) = self.open.last() {
            if self.at >= open.end {
                self.end_of_bytes();
            } else if self.tree.nodes.len() >= self.max_fields {
                self.too_many();
            } else {
                self.field();
            }
        }
    }

    fn field(&mut self) {
        let Some(open) = self.open.last() else { return };
        let (tag_at, end, mode) = (self.at, open.end, open.mode);
        let (number, wire, start) = match wire::tag(self.payload, tag_at, end) {
            Ok((Tag::Field(number, wire), next)) => (number, wire, next),
            Ok((Tag::End(number), next)) if open.group == Some(number) => return self.close(tag_at, next),
            Ok((Tag::End(number), _)) => return self.stray_end(tag_at, number),
            Err(fault) => return self.fault(tag_at, None, fault),
        };
        let schema = self.schema;
        let plan = open.ty.filter(|_| mode == Mode::Known).map(|ty| schema.ty(ty));
        let found = plan.and_then(|p| p.index_of(number).and_then(|i| Some((i, p.field(i)?))));
        match found {
            Some((index, field)) if fits(field, wire) => self.known(tag_at, index, field, wire, start),
            _ => {
                let before = self.tree.nodes.len() as u32;
                let whole = self.unknown(tag_at, number, wire, start, found.map(|(_, f)| f));
                match found {
                    Some((_, field)) if whole => self.wire_type(before, field, wire),
                    None if whole && mode == Mode::Known => self.unknown_field(before, number, wire),
                    _ => {}
                }
            }
        }
    }

    /// Opens a message or group, or keeps its bytes where the limit is reached.
    #[allow(clippy::too_many_arguments)]
    fn enter(
        &mut self,
        tag: usize,
        number: u32,
        field: Option<(u16, &FieldPlan)>,
        wire: Wire,
        from: usize,
        to: usize,
        cut: bool,
    ) {
        let Some(parent) = self.open.last() else { return };
        let mode = match (parent.mode, field) {
            (Mode::Known, Some(_)) => Mode::Known,
            (Mode::Guess, _) => Mode::Guess,
            _ => Mode::Unknown,
        };
        let group = (wire == Wire::Group).then_some(number);
        let cut = cut || (parent.cut && wire == Wire::Group);
        let too_deep = self.open.len() > self.max_depth;
        let ty = field.and_then(|(_, f)| f.kind.message());
        let node = Node {
            field: field.map_or(Node::UNKNOWN, |(i, _)| i),
            ty,
            next: u32::MAX,
            ..self.node(NodeKind::Message, wire, number, tag, from, to)
        };
        let at = self.push(node);
        if too_deep {
            return self.keep_deep(at, number, wire, from, to);
        }
        self.at = from;
        self.push_open(Open { ty, node: at, group, cut, ..Open::new(mode, at, to) });
    }

    /// Keeps a message below the depth limit as bytes.
    fn keep_deep(&mut self, at: u32, number: u32, wire: Wire, from: usize, to: usize) {
        let (content_end, next) = match wire {
            Wire::Group => match wire::skip_group(self.payload, number, from, to) {
                Ok((close, next)) => (close, next),
                Err(_) => (to, to),
            },
            _ => (to, to),
        };
        let depth = self.open.len() as u16;
        let rest = Node { depth, ..self.node(NodeKind::Rest, Wire::Len, 0, from, from, content_end) };
        if content_end > from {
            self.push(rest);
        }
        self.seal(at, content_end);
        self.too_deep(at);
        self.at = next;
    }

    /// Reports a fault and keeps the rest of the message as bytes.
    fn fault(&mut self, tag: usize, blame: Option<(u32, Option<&FieldPlan>)>, fault: Fault) {
        self.say_fault(tag, blame, fault);
        self.give_up(tag);
    }

    fn give_up(&mut self, from: usize) {
        let Some(open) = self.open.last_mut() else { return };
        open.malformed = true;
        open.broken = true;
        let end = open.end;
        let rest = self.node(NodeKind::Rest, Wire::Len, 0, from, from, end);
        self.push(rest);
        // Groups that hold this one end here too: where their end tags are cannot be known.
        for open in self.open.iter_mut().rev() {
            open.broken = true;
            if open.group.is_none() {
                break;
            }
        }
        self.at = end;
    }

    fn too_many(&mut self) {
        let text = format!("more than {} fields; the rest is kept as bytes", self.max_fields);
        self.report.push(Finding::new(Code::LimitReached, text));
        for open in &mut self.open {
            open.broken = true;
        }
        let (at, end) = (self.at, self.payload.len());
        let rest = self.node(NodeKind::Rest, Wire::Len, 0, at, at, end);
        self.push(rest);
        self.at = end;
        while let Some(open) = self.open.pop() {
            self.seal(open.node, open.end);
        }
    }

    /// The bytes of the innermost open message are used up.
    fn end_of_bytes(&mut self) {
        let Some(open) = self.open.last() else { return };
        if open.group.is_some() && !open.broken {
            if !open.cut && !self.open.iter().all(|o| o.cut) {
                self.not_closed();
            }
            if let Some(open) = self.open.last_mut() {
                open.malformed = true;
            }
        }
        let end = self.open.last().map_or(self.at, |o| o.end);
        self.close(end, end);
    }

    /// Closes the innermost message; its content ends at `end` and reading goes on at `next`.
    fn close(&mut self, end: usize, next: usize) {
        let Some(open) = self.open.pop() else { return };
        self.at = next;
        self.seal(open.node, end);
        if let Some((findings, nodes)) = open.undo.filter(|_| open.malformed) {
            return self.undo_any(&open, findings, nodes);
        }
        if let Some(parent) = self.open.last_mut() {
            parent.malformed |= open.malformed;
        }
        self.check(&open);
    }

    fn seal(&mut self, at: u32, end: usize) {
        let next = self.tree.nodes.len() as u32;
        if let Some(node) = self.tree.nodes.get_mut(at as usize) {
            node.next = next;
            node.end = end as u32;
        }
    }

    fn push_open(&mut self, mut open: Open) {
        if let Some(ty) = open.ty
            && self.schema.ty(ty).known == Some(WellKnown::Any)
        {
            open.any = self.any_type(self.at, open.end, open.group);
        }
        self.open.push(open);
    }

    /// The type that an Any names, looked up before its fields are read: the value may come first.
    fn any_type(&self, from: usize, end: usize, group: Option<u32>) -> Option<TypeId> {
        let end = match group {
            Some(number) => wire::skip_group(self.payload, number, from, end).map_or(end, |(close, _)| close),
            None => end,
        };
        let mut at = from;
        let mut url = None;
        while at < end {
            let Ok(((number, wire, start, stop), next)) = wire::field(self.payload, at, end) else { break };
            if (number, wire) == (1, Wire::Len) {
                url = self.payload.get(start..stop);
            }
            at = next;
        }
        self.schema.type_by_name(super::any_name(std::str::from_utf8(url?).ok()?)?)
    }

    fn node(&self, kind: NodeKind, wire: Wire, number: u32, tag: usize, start: usize, end: usize) -> Node {
        Node {
            kind,
            wire,
            field: Node::UNKNOWN,
            depth: self.open.len().saturating_sub(1) as u16,
            number,
            next: 0,
            tag: tag as u32,
            start: start as u32,
            end: end as u32,
            ty: None,
            bits: 0,
        }
    }

    fn push(&mut self, mut node: Node) -> u32 {
        let at = self.tree.nodes.len() as u32;
        if node.next == 0 {
            node.next = at + 1;
        }
        self.tree.nodes.push(node);
        at
    }
}

#[cfg(test)]
mod tests;
