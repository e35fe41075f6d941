//! A decoded message as wire format again, in canonical form: parts merged, the last of each kept,
//! packed and delimited as declared, fields in the order of their numbers, what is unknown after them.
//! Never drops what the schema does not know, nor what could not be decoded.

use crate::schema::{Cardinality, FieldPlan, Kind, Presence, Schema, TypeId};

use super::{
    Node, NodeKind, Tree, Wire,
    collect::{self, Parts, Unknown, collect},
    decode::element_wire,
    put::{prefix_length, push_tag, push_varint, wire_type},
    wire,
};

/// Appends the tree of `payload` in wire format. A message without a type is copied as it is.
pub fn write(schema: &Schema, tree: &Tree, payload: &[u8], out: &mut Vec<u8>) {
    match tree.root {
        Some(ty) => Writer { schema, tree, payload, out }.message(ty, &[Tree::ROOT]),
        None => out.extend_from_slice(payload),
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    tree: &'a Tree,
    payload: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// The content of a message, merged of its parts.
    fn message(&mut self, ty: TypeId, parts: &[u32]) {
        let schema = self.schema;
        let plan = schema.ty(ty);
        let found = collect(schema, plan, self.tree, self.payload, parts);
        let mut runs: Vec<(u16, Parts)> = found.runs().collect();
        runs.sort_by_key(|(index, _)| *index);
        for (index, nodes) in &runs {
            if let Some(field) = plan.field(*index) {
                self.field(field, nodes);
            }
        }
        for item in &found.unknown {
            match *item {
                Unknown::Node(at) => self.raw(at),
                Unknown::Enum(number, bits) => {
                    push_tag(self.out, number, 0);
                    push_varint(self.out, bits);
                }
            }
        }
        for at in &found.rest {
            let bytes = self.tree.node(*at).map(|n| n.bytes(self.payload)).unwrap_or_default();
            self.out.extend_from_slice(bytes);
        }
    }

    fn field(&mut self, field: &FieldPlan, nodes: &[u32]) {
        match field.cardinality {
            Cardinality::Singular => self.single(field, nodes, field.presence != Presence::Implicit),
            Cardinality::Repeated if matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_)) => {
                for at in nodes {
                    self.single(field, &[*at], true);
                }
            }
            Cardinality::Repeated => self.numbers(field, nodes),
            Cardinality::Map => self.map(field, nodes),
        }
    }

    /// One value with its tag: of a message all parts, of anything else the last. A default is
    /// written where it is to be.
    fn single(&mut self, field: &FieldPlan, nodes: &[u32], with_default: bool) {
        let number = field.number;
        let Some(node) = nodes.last().and_then(|at| self.tree.node(*at)).copied() else { return };
        match field.kind {
            Kind::Message(ty) if field.delimited => {
                push_tag(self.out, number, 3);
                self.message(ty, nodes);
                push_tag(self.out, number, 4);
            }
            Kind::Message(ty) => {
                let start = self.out.len();
                self.message(ty, nodes);
                prefix_length(self.out, start, number);
            }
            Kind::String | Kind::Bytes => {
                let bytes = node.bytes(self.payload);
                if !bytes.is_empty() || with_default {
                    push_tag(self.out, number, 2);
                    push_varint(self.out, bytes.len() as u64);
                    self.out.extend_from_slice(bytes);
                }
            }
            kind => {
                if !collect::is_zero(kind, node.bits) || with_default {
                    push_tag(self.out, number, wire_type(kind));
                    self.number(kind, node.bits);
                }
            }
        }
    }

    /// A repeated field of numbers, whichever way its elements came.
    fn numbers(&mut self, field: &FieldPlan, nodes: &[u32]) {
        let (tree, payload, schema) = (self.tree, self.payload, self.schema);
        let start = self.out.len();
        for node in nodes.iter().filter_map(|at| tree.node(*at)) {
            if node.kind == NodeKind::Packed {
                collect::packed(field.kind, node, payload)
                    .filter(|bits| !collect::is_closed_out(schema, field.kind, *bits))
                    .for_each(|bits| self.element(field, bits));
            } else {
                self.element(field, node.bits);
            }
        }
        if field.packed && self.out.len() > start {
            prefix_length(self.out, start, field.number);
        }
    }

    fn element(&mut self, field: &FieldPlan, bits: u64) {
        if !field.packed {
            push_tag(self.out, field.number, wire_type(field.kind));
        }
        self.number(field.kind, bits);
    }

    /// A map: the last entry of a key counts; key and value are always written.
    fn map(&mut self, field: &FieldPlan, nodes: &[u32]) {
        let Kind::Message(entry) = field.kind else { return };
        let schema = self.schema;
        let plan = schema.ty(entry);
        let part = |number| plan.index_of(number).and_then(|i| Some((i, plan.field(i)?)));
        let (Some((key, key_plan)), Some((value, value_plan))) = (part(1), part(2)) else { return };
        let keys: Vec<String> =
            nodes.iter().map(|n| collect::map_key(self.tree, self.payload, *n, key, key_plan)).collect();
        let last = collect::last_of_each(&keys);
        for (_, at) in nodes.iter().enumerate().filter(|(place, _)| last(*place)) {
            let start = self.out.len();
            for (index, plan) in [(key, key_plan), (value, value_plan)] {
                let parts: Parts =
                    self.tree.children(*at).filter(|(_, n)| n.field == index).map(|(i, _)| i).collect();
                if parts.is_empty() {
                    self.default(plan);
                } else {
                    self.single(plan, &parts, true);
                }
            }
            prefix_length(self.out, start, field.number);
        }
    }

    /// The value that a map's entry stands for without one.
    fn default(&mut self, field: &FieldPlan) {
        match field.kind {
            Kind::Enum(id) => {
                push_tag(self.out, field.number, 0);
                let first = self.schema.enum_plan(id).map_or(0, |p| p.first);
                push_varint(self.out, i64::from(first) as u64);
            }
            Kind::String | Kind::Bytes | Kind::Message(_) => {
                push_tag(self.out, field.number, 2);
                self.out.push(0);
            }
            kind => {
                push_tag(self.out, field.number, wire_type(kind));
                self.number(kind, 0);
            }
        }
    }

    /// A number at its shortest: 32-bit kinds keep the low bits of what was read.
    fn number(&mut self, kind: Kind, bits: u64) {
        match (element_wire(kind), kind) {
            (Wire::I64, _) => self.out.extend_from_slice(&bits.to_le_bytes()),
            (Wire::I32, _) => self.out.extend_from_slice(&(bits as u32).to_le_bytes()),
            (_, Kind::Bool) => self.out.push(u8::from(bits != 0)),
            (_, Kind::Int32 | Kind::Enum(_)) => push_varint(self.out, i64::from(bits as i32) as u64),
            (_, Kind::Uint32 | Kind::Sint32) => push_varint(self.out, u64::from(bits as u32)),
            _ => push_varint(self.out, bits),
        }
    }

    /// A field that the schema does not have, with its tag, as it came.
    fn raw(&mut self, at: u32) {
        let Some(node) = self.tree.node(at) else { return };
        let bytes = self.payload.get(node.tag as usize..whole_end(node, self.payload));
        self.out.extend_from_slice(bytes.unwrap_or_default());
    }
}

/// Where a field ends, the end tag of a group included.
fn whole_end(node: &Node, payload: &[u8]) -> usize {
    let end = node.end as usize;
    if node.kind != NodeKind::Message || node.wire != Wire::Group {
        return end;
    }
    match wire::tag(payload, end, payload.len()) {
        Ok((wire::Tag::End(number), next)) if number == node.number => next,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{base::Limits, message::decode};

    fn rewritten(schema: &Schema, ty: Option<TypeId>, payload: &[u8]) -> (Vec<u8>, bool) {
        let (mut tree, mut findings, mut out) = (Tree::new(), Vec::new(), Vec::new());
        decode(schema, ty, payload, &Limits::default(), &mut tree, &mut findings);
        write(schema, &tree, payload, &mut out);
        (out, findings.is_empty())
    }

    fn check(ty: &str, payload: &[u8], expect: &[u8]) {
        let schema = Schema::from_sets(&[]).unwrap();
        assert_eq!(rewritten(&schema, schema.type_by_name(ty), payload).0, expect, "{ty} {payload:?}");
    }

    #[test]
    fn canonical_form() {
        // The last counts, and comes in the order of numbers.
        check("google.protobuf.Duration", &[16, 2, 8, 1, 8, 3], &[8, 3, 16, 2]);
        // A default is not written where unset is the same.
        check("google.protobuf.Duration", &[8, 0, 16, 0], &[]);
        // A varint at its shortest.
        check("google.protobuf.BoolValue", &[8, 0x82, 0], &[8, 1]);
        // Unknown fields and a wire type that does not fit come last, as they are.
        check("google.protobuf.Duration", &[72, 0x81, 0, 10, 0, 8, 1], &[8, 1, 72, 0x81, 0, 10, 0]);
        check("google.protobuf.Duration", &[75, 8, 1, 76, 8, 1], &[8, 1, 75, 8, 1, 76]);
        // The last entry of a key; a value that is missing is the empty one.
        check(
            "google.protobuf.Struct",
            &[10, 5, 10, 1, b'a', 18, 0, 10, 3, 10, 1, b'a'],
            &[10, 5, 10, 1, b'a', 18, 0],
        );
        // What an Any holds stays as it is, and so does what breaks.
        check("google.protobuf.Any", &[18, 1, 255], &[18, 1, 255]);
        check("google.protobuf.Duration", &[8, 1, 16, 255], &[8, 1, 16, 255]);
        // Without a type nothing is known to be twice.
        check("no.such.Type", &[8, 1, 8, 2, 7], &[8, 1, 8, 2, 7]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_written_and_stay(payload in proptest::collection::vec(any::<u8>(), 0..60), at in 0usize..30) {
            let schema = Schema::from_sets(&[]).unwrap();
            let ty = schema.types().nth(at).map(|(ty, _)| ty);
            let (once, whole) = rewritten(&schema, ty, &payload);
            if whole {
                prop_assert_eq!(rewritten(&schema, ty, &once).0, once);
            }
        }
    }
}
