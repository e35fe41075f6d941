//! One field: by its plan where the wire type fits, kept as unknown where not.
//! Never takes a length at its word.

use crate::{
    message::{
        guess,
        wire::{self, Fault, Wire},
    },
    schema::{FieldPlan, Kind},
};

use super::{Decoder, Mode, Node, NodeKind, Open};

impl Decoder<'_> {
    /// A field of the schema whose wire type fits.
    pub(super) fn known(&mut self, tag: usize, index: u16, field: &FieldPlan, wire: Wire, start: usize) {
        let Some(open) = self.open.last() else { return };
        let end = open.end;
        match wire {
            Wire::Varint | Wire::I32 | Wire::I64 => match wire::scalar(self.payload, wire, start, end) {
                Ok((bits, next)) => {
                    self.branch(index, field);
                    let node =
                        Node { bits, ..self.node(NodeKind::Scalar, wire, field.number, tag, start, next) };
                    let at = self.push(Node { field: index, ..node });
                    self.enum_number(at, field, bits);
                    self.at = next;
                }
                Err(fault) => self.fault(tag, Some((field.number, Some(field))), fault),
            },
            Wire::Group => {
                self.branch(index, field);
                self.enter(tag, field.number, Some((index, field)), wire, start, end, false);
            }
            Wire::Len => match wire::len(self.payload, start, end) {
                Ok(((from, to), next)) => {
                    self.branch(index, field);
                    self.length(tag, index, field, from, to, next);
                }
                Err(fault) => self.overrun(tag, index, field, fault),
            },
        }
    }

    /// A length-delimited field of the schema.
    fn length(&mut self, tag: usize, index: u16, field: &FieldPlan, from: usize, to: usize, next: usize) {
        let node =
            Node { field: index, ..self.node(NodeKind::Bytes, Wire::Len, field.number, tag, from, to) };
        match field.kind {
            Kind::Message(_) => {
                return self.enter(tag, field.number, Some((index, field)), Wire::Len, from, to, false);
            }
            Kind::String => {
                let at = self.push(node);
                self.utf8(at, field);
            }
            Kind::Bytes => {
                let any = self.open.last().filter(|_| field.number == 2).and_then(|o| o.any);
                match any {
                    Some(ty) if self.open.len() <= self.max_depth => {
                        let undo = (self.report.mark(), self.tree.nodes.len());
                        let mode = Open { ty: Some(ty), undo: Some(undo), ..Open::new(Mode::Known, 0, to) };
                        let node = Node { kind: NodeKind::Message, ty: Some(ty), next: u32::MAX, ..node };
                        let at = self.push(node);
                        self.at = from;
                        return self.push_open(Open { node: at, ..mode });
                    }
                    Some(_) => {
                        let at = self.push(node);
                        self.too_deep(at);
                    }
                    None => drop(self.push(node)),
                }
            }
            _ => {
                let at = self.push(Node { kind: NodeKind::Packed, ..node });
                self.packed(at, field, from, to);
            }
        }
        self.at = next;
    }

    /// A field that the schema does not have, or has otherwise. False where it broke.
    pub(super) fn unknown(
        &mut self,
        tag: usize,
        number: u32,
        wire: Wire,
        start: usize,
        field: Option<&FieldPlan>,
    ) -> bool {
        let Some(open) = self.open.last() else { return false };
        let (end, mode) = (open.end, open.mode);
        let blame = Some((number, field));
        match wire {
            Wire::Varint | Wire::I32 | Wire::I64 => match wire::scalar(self.payload, wire, start, end) {
                Ok((bits, next)) => {
                    let node = self.node(NodeKind::Scalar, wire, number, tag, start, next);
                    self.push(Node { bits, ..node });
                    self.at = next;
                }
                Err(fault) => {
                    self.fault(tag, blame, fault);
                    return false;
                }
            },
            Wire::Group => self.enter(tag, number, None, wire, start, end, false),
            Wire::Len => match wire::len(self.payload, start, end) {
                Ok(((from, to), next)) => {
                    let content = self.payload.get(from..to).unwrap_or_default();
                    let kind = match mode {
                        Mode::Guess => guess::kind(content, self.open.len()),
                        _ => NodeKind::Bytes,
                    };
                    if kind == NodeKind::Message && self.open.len() <= self.max_depth {
                        self.enter(tag, number, None, wire, from, to, false);
                    } else {
                        let kind = if kind == NodeKind::Message { NodeKind::Bytes } else { kind };
                        self.push(self.node(kind, wire, number, tag, from, to));
                        self.at = next;
                    }
                }
                Err(fault) => {
                    self.fault(tag, blame, fault);
                    return false;
                }
            },
        }
        true
    }

    /// A length past the end. A message is read as far as it goes, anything else is kept as bytes.
    pub(super) fn overrun(&mut self, tag: usize, index: u16, field: &FieldPlan, fault: Fault) {
        let Some(open) = self.open.last() else { return };
        let end = open.end;
        let is_length = matches!(fault.broken, wire::Broken::Short(..));
        let Some(_) = field.kind.message().filter(|_| is_length && self.open.len() <= self.max_depth) else {
            return self.fault(tag, Some((field.number, Some(field))), fault);
        };
        self.say_fault(tag, Some((field.number, Some(field))), fault);
        if let Some(open) = self.open.last_mut() {
            open.malformed = true;
        }
        self.branch(index, field);
        self.enter(tag, field.number, Some((index, field)), Wire::Len, fault.at, end, true);
    }
}

/// Whether a wire type can hold a field. Packed or not, group or length-delimited: a reader takes either.
pub(in crate::message) fn fits(field: &FieldPlan, wire: Wire) -> bool {
    let scalar = match field.kind {
        Kind::String | Kind::Bytes => return wire == Wire::Len,
        Kind::Message(_) => return matches!(wire, Wire::Len | Wire::Group),
        kind => element_wire(kind),
    };
    wire == scalar || (wire == Wire::Len && field.is_many())
}

/// The wire type of one number.
pub(in crate::message) fn element_wire(kind: Kind) -> Wire {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Wire::I64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => Wire::I32,
        Kind::String | Kind::Bytes | Kind::Message(_) => Wire::Len,
        _ => Wire::Varint,
    }
}
