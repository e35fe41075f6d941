//! What messages use: fields that the schema has, fields and enum numbers that it does not.
//! Never keeps a value.

use std::collections::BTreeMap;

use crate::base::Limits;
use crate::schema::{EnumId, FieldId, Kind, Schema, TypeId};

use super::tree::{NodeKind, Tree};

/// How often something was there, and the first frame that had it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Times.
    pub count: u64,
    /// Number of a frame.
    pub first: u64,
}

/// What the messages of a capture used.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    /// Fields that the schema has.
    pub known: BTreeMap<FieldId, Seen>,
    /// Fields that it lacks, or has with another wire type: type, number, wire type.
    pub unknown: BTreeMap<(TypeId, u32, &'static str), Seen>,
    /// Numbers that an enum has no name for.
    pub numbers: BTreeMap<(EnumId, i32), Seen>,
    scratch: Tree,
}

impl Coverage {
    /// Counts what one message uses.
    pub fn add(&mut self, schema: &Schema, ty: TypeId, payload: &[u8], limits: &Limits, frame: u64) {
        let mut tree = std::mem::take(&mut self.scratch);
        super::decode(schema, Some(ty), payload, limits, &mut tree, &mut Vec::new());
        self.level(schema, &tree, Tree::ROOT, ty, frame);
        for (at, node) in tree.nodes.iter().enumerate() {
            if let (NodeKind::Message, Some(ty), true) = (node.kind, node.ty, node.is_known()) {
                self.level(schema, &tree, at as u32, ty, frame);
            }
        }
        self.scratch = tree;
    }

    fn level(&mut self, schema: &Schema, tree: &Tree, parent: u32, ty: TypeId, frame: u64) {
        let plan = schema.ty(ty);
        for (_, node) in tree.children(parent) {
            if node.kind == NodeKind::Rest {
                continue;
            }
            if !node.is_known() {
                count(&mut self.unknown, (ty, node.number, node.wire.name()), frame);
                continue;
            }
            count(&mut self.known, FieldId { ty, index: node.field }, frame);
            let number = node.bits as i32;
            if let (NodeKind::Scalar, Some(Kind::Enum(id))) =
                (node.kind, plan.field(node.field).map(|f| f.kind))
                && schema.enum_plan(id).is_some_and(|e| e.name_of(number).is_none())
            {
                count(&mut self.numbers, (id, number), frame);
            }
        }
    }
}

fn count<K: Ord>(seen: &mut BTreeMap<K, Seen>, key: K, frame: u64) {
    let seen = seen.entry(key).or_insert(Seen { count: 0, first: frame });
    seen.count += 1;
    seen.first = seen.first.min(frame);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Sources, load};

    #[test]
    fn fields_known_and_unknown_and_numbers_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let text = "syntax = 'proto3'; package p; enum E { Z = 0; } message M { M m = 1; E e = 2; }";
        std::fs::write(folder.path().join("p.proto"), text).unwrap();
        let sources = Sources { roots: vec![folder.path().into()], ..Sources::default() };
        let schema = load(&sources).unwrap().schema;
        let ty = schema.type_by_name("p.M").unwrap();
        let mut coverage = Coverage::default();
        // m { e: 7, 9: 1 }, 1: 0 as a varint
        coverage.add(&schema, ty, &[0x0a, 4, 0x10, 7, 0x48, 1, 0x08, 0], &Limits::default(), 3);
        coverage.add(&schema, ty, &[0x0a, 0], &Limits::default(), 2);
        let known: Vec<_> = coverage.known.values().copied().collect();
        assert_eq!(known, [Seen { count: 2, first: 2 }, Seen { count: 1, first: 3 }]);
        let unknown: Vec<_> = coverage.unknown.keys().map(|(_, number, wire)| (*number, *wire)).collect();
        assert_eq!(unknown, [(1, "varint"), (9, "varint")]);
        assert_eq!(coverage.numbers.values().next(), Some(&Seen { count: 1, first: 3 }));
    }
}
