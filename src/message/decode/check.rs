//! What a schema says beyond the wire format: UTF-8, enums, oneofs, required fields, ranges, Any.
//! Never takes anything out of the tree but an Any's value that does not decode.

use crate::base::text::hex;
use crate::{
    base::{Code, Severity},
    message::{wire, wkt},
    schema::{FieldPlan, Kind, Presence, WellKnown},
};

use super::{Decoder, NodeKind, Open, element_wire};

/// Longest piece of a broken string that a finding quotes, in bytes.
const MAX_QUOTED: usize = 32;

impl Decoder<'_> {
    /// A string's bytes.
    pub(super) fn utf8(&mut self, at: u32, field: &FieldPlan) {
        let Some(bytes) = self.tree.node(at).map(|n| n.bytes(self.payload)) else { return };
        if simdutf8::basic::from_utf8(bytes).is_ok() {
            return;
        }
        let quoted = match bytes.get(..MAX_QUOTED) {
            _ if field.annotation.secret => String::new(),
            Some(start) if bytes.len() > MAX_QUOTED => format!(", bytes {}…", hex(start)),
            _ => format!(", bytes {}", hex(bytes)),
        };
        let before = self.report.mark();
        self.find(Code::ProtoUtf8, at, || {
            format!("field {} ({}): not valid UTF-8{quoted}", field.name, field.number)
        });
        // proto2 does not ask for UTF-8, so a peer may take it as it is.
        if !field.utf8 {
            self.report.lower(before, Severity::Warning);
        }
    }

    /// An enum's number.
    pub(super) fn enum_number(&mut self, at: u32, field: &FieldPlan, bits: u64) {
        let Kind::Enum(id) = field.kind else { return };
        let Some(plan) = self.schema.enum_plan(id) else { return };
        let number = bits as i32;
        if plan.name_of(number).is_none() {
            let name = &plan.name;
            self.find(Code::ProtoUnknownEnum, at, || format!("{number} is no value of {name}"));
        }
    }

    /// A packed run: what lies in it is read again by whoever wants it, and checked here.
    pub(super) fn packed(&mut self, node: u32, field: &FieldPlan, from: usize, to: usize) {
        let wire = element_wire(field.kind);
        let mut at = from;
        while at < to {
            match wire::scalar(self.payload, wire, at, to) {
                Ok((bits, next)) => {
                    self.enum_number(node, field, bits);
                    at = next;
                }
                Err(fault) => {
                    if let Some(open) = self.open.last_mut() {
                        open.malformed = true;
                    }
                    let (name, number, length) = (&field.name, field.number, to - from);
                    return self.find(Code::ProtoMalformed, node, || match fault.broken {
                        wire::Broken::Short(size, _) => {
                            format!(
                                "field {name} ({number}): packed length {length} is not a multiple of {size}"
                            )
                        }
                        wire::Broken::VarintCut => {
                            format!(
                                "field {name} ({number}): packed data ends inside a varint, at offset {at}"
                            )
                        }
                        _ => format!("field {name} ({number}): malformed varint that starts at offset {at}"),
                    });
                }
            }
        }
    }

    /// Notes which branch of a oneof comes last.
    pub(super) fn branch(&mut self, index: u16, field: &FieldPlan) {
        let Some(oneof) = field.oneof else { return };
        let Some(open) = self.open.last_mut() else { return };
        let Some((_, last)) = open.branches.iter_mut().find(|(o, _)| *o == oneof) else {
            open.branches.push((oneof, index));
            return;
        };
        let before = std::mem::replace(last, index);
        let node = open.node;
        if before == index || !self.report.wants(Code::ProtoOneofMultiple) {
            return;
        }
        let Some(ty) = self.tree.type_of(node) else { return };
        let plan = self.schema.ty(ty);
        let name = plan.oneofs.get(usize::from(oneof)).map_or("", |o| &o.name);
        let other = plan.field(before).map_or("", |f| &f.name);
        let text = format!("{} follows {other} in the oneof {name}; the last counts", field.name);
        self.find_next(Code::ProtoOneofMultiple, field, text);
    }

    /// A message that is whole: required fields and ranges.
    pub(super) fn check(&mut self, open: &Open) {
        let Some(ty) = open.ty else { return };
        let plan = self.schema.ty(ty);
        if plan.has_required && !open.cut && !open.broken {
            let required = plan.fields.iter().enumerate().filter(|(_, f)| f.presence == Presence::Required);
            for (index, field) in required {
                if !self.tree.children(open.node).any(|(_, n)| usize::from(n.field) == index) {
                    let text = format!(
                        "required field {} ({}) of {} is missing",
                        field.name, field.number, plan.name
                    );
                    self.find_in(Code::ProtoRequired, open.node, text);
                }
            }
        }
        if matches!(
            plan.known,
            Some(WellKnown::Timestamp | WellKnown::Duration | WellKnown::FieldMask | WellKnown::Value)
        ) && let Some(text) = wkt::out_of_range(self.schema, self.tree, self.payload, open.node)
        {
            self.find_in(Code::ProtoRange, open.node, text);
        }
    }

    /// Takes back the fields of an Any's value that does not decode: it is bytes then.
    pub(super) fn undo_any(&mut self, open: &Open, findings: usize, nodes: usize) {
        let inner = self.report.undo(findings);
        self.tree.nodes.truncate(nodes + 1);
        let Some(node) = self.tree.nodes.get_mut(nodes) else { return };
        node.kind = NodeKind::Bytes;
        node.ty = None;
        node.next = nodes as u32 + 1;
        let Some(ty) = open.ty else { return };
        let name = &self.schema.ty(ty).name;
        let why = inner.map(|f| format!(": {}", f.text)).unwrap_or_default();
        let any = self.open.last().map_or(super::Tree::ROOT, |o| o.node);
        self.find_in(Code::ProtoAny, any, format!("the value does not decode as {name}{why}"));
    }
}
