//! A message's fields, brought together: wire order of first appearance, parts merged, one branch a oneof.
//! Never writes.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::schema::{Cardinality, FieldPlan, Kind, Schema, TypePlan};

use super::{Node, NodeKind, Tree, decode::element_wire, wire};

/// Nodes that make up one value: several where a message comes in parts.
pub(super) type Parts = SmallVec<[u32; 4]>;

/// Something that the schema has no name for.
#[derive(Clone, Copy)]
pub(super) enum Unknown {
    /// A node.
    Node(u32),
    /// A number that a closed enum lacks: field number and bits.
    Enum(u32, u64),
}

/// What a message holds.
#[derive(Default)]
pub(super) struct Found {
    /// (rank by first appearance, field, node), sorted by rank.
    entries: SmallVec<[(u32, u16, u32); 8]>,
    pub unknown: SmallVec<[Unknown; 2]>,
    pub rest: Parts,
}

impl Found {
    /// Each field with its nodes.
    pub fn runs(&self) -> impl Iterator<Item = (u16, Parts)> + '_ {
        let same = |a: &(u32, u16, u32), b: &(u32, u16, u32)| a.0 == b.0;
        self.entries.chunk_by(same).filter_map(|run| {
            let (_, field, _) = run.first()?;
            Some((*field, run.iter().map(|(_, _, node)| *node).collect()))
        })
    }

    /// The nodes of the field that stands last, for messages that are one oneof.
    pub fn last(&self) -> Option<(u16, Parts)> {
        self.runs().last()
    }
}

/// Brings together what all parts of a message hold.
pub(super) fn collect(schema: &Schema, plan: &TypePlan, tree: &Tree, payload: &[u8], parts: &[u32]) -> Found {
    let mut found = Found::default();
    let mut ranks: HashMap<u16, u32> = HashMap::new();
    let mut before: Option<(u16, u32)> = None;
    let mut sorted = true;
    // Oneof → branch seen last, and how many entries there were when it began.
    let mut branches: SmallVec<[(u16, u16, usize); 2]> = SmallVec::new();
    for (at, node) in parts.iter().flat_map(|part| tree.children(*part)) {
        if node.kind == NodeKind::Rest {
            found.rest.push(at);
            continue;
        }
        let Some(field) = plan.field(node.field) else {
            found.unknown.push(Unknown::Node(at));
            continue;
        };
        if let Kind::Enum(_) = field.kind
            && is_unknown_enum(schema, field, node, payload, &mut found.unknown)
        {
            continue;
        }
        if field.cardinality == Cardinality::Map && is_unknown_entry(schema, field, tree, at) {
            found.unknown.push(Unknown::Node(at));
            continue;
        }
        let rank = match before {
            Some((field, rank)) if field == node.field => rank,
            _ => {
                let next = ranks.len() as u32;
                let rank = *ranks.entry(node.field).or_insert(next);
                sorted &= rank == next;
                rank
            }
        };
        before = Some((node.field, rank));
        if let Some(oneof) = field.oneof {
            match branches.iter_mut().find(|(o, ..)| *o == oneof) {
                Some((_, branch, _)) if *branch == node.field => {}
                Some((_, branch, since)) => (*branch, *since) = (node.field, found.entries.len()),
                None => branches.push((oneof, node.field, found.entries.len())),
            }
        }
        found.entries.push((rank, node.field, at));
    }
    if branches.iter().any(|(_, _, since)| *since > 0) {
        let mut place = 0;
        found.entries.retain(|(_, index, _)| {
            let at = place;
            place += 1;
            let oneof = plan.field(*index).and_then(|f| f.oneof);
            let branch = branches.iter().find(|(o, ..)| Some(*o) == oneof);
            branch.is_none_or(|(_, last, since)| last == index && at >= *since)
        });
    }
    if !sorted {
        found.entries.sort_by_key(|(rank, ..)| *rank);
    }
    found
}

/// Moves numbers that a closed enum lacks to the unknown fields; true where the node is one.
fn is_unknown_enum(
    schema: &Schema,
    field: &FieldPlan,
    node: &Node,
    payload: &[u8],
    unknown: &mut SmallVec<[Unknown; 2]>,
) -> bool {
    let mut lacks = |bits| {
        let lacks = is_closed_out(schema, field.kind, bits);
        if lacks {
            unknown.push(Unknown::Enum(field.number, bits));
        }
        lacks
    };
    if node.kind == NodeKind::Packed {
        // A run of which nothing is left is no value of the field.
        let (all, lacking) = packed(field.kind, node, payload)
            .fold((0usize, 0usize), |(all, lacking), bits| (all + 1, lacking + usize::from(lacks(bits))));
        return all > 0 && all == lacking;
    }
    lacks(node.bits)
}

/// Whether a map's entry is an unknown field since its value is a number that a closed enum lacks.
fn is_unknown_entry(schema: &Schema, field: &FieldPlan, tree: &Tree, at: u32) -> bool {
    let Some(entry) = field.kind.message().map(|ty| schema.ty(ty)) else { return false };
    let Some(value) = entry.index_of(2).and_then(|i| entry.field(i)) else { return false };
    if !matches!(value.kind, Kind::Enum(_)) {
        return false;
    }
    let last = tree.children(at).filter(|(_, n)| n.is_known() && n.number == 2).last();
    last.is_some_and(|(_, node)| is_closed_out(schema, value.kind, node.bits))
}

/// Whether a number is an unknown field since its enum is closed.
pub(super) fn is_closed_out(schema: &Schema, kind: Kind, bits: u64) -> bool {
    let Kind::Enum(id) = kind else { return false };
    schema.enum_plan(id).is_some_and(|plan| plan.closed && plan.name_of(bits as i32).is_none())
}

/// The whole elements of a packed run.
pub(super) fn packed(kind: Kind, node: &Node, payload: &[u8]) -> impl Iterator<Item = u64> {
    let wire = element_wire(kind);
    let (mut at, end) = (node.start as usize, node.end as usize);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (bits, next) = wire::scalar(payload, wire, at, end).ok()?;
        at = next;
        Some(bits)
    })
}

/// The key of a map's entry as JSON has it.
pub(super) fn map_key(tree: &Tree, payload: &[u8], entry: u32, index: u16, field: &FieldPlan) -> String {
    let node = tree.children(entry).filter(|(_, n)| n.field == index).last().map(|(_, n)| n);
    let bits = node.map_or(0, |n| n.bits);
    match field.kind {
        Kind::String => {
            String::from_utf8_lossy(node.map(|n| n.bytes(payload)).unwrap_or_default()).into_owned()
        }
        Kind::Bool => (bits != 0).to_string(),
        Kind::Int32 | Kind::Sfixed32 | Kind::Enum(_) => (bits as i32).to_string(),
        Kind::Uint32 | Kind::Fixed32 => (bits as u32).to_string(),
        Kind::Sint32 | Kind::Sint64 => zigzag(field.kind, bits).to_string(),
        Kind::Int64 | Kind::Sfixed64 => (bits as i64).to_string(),
        _ => bits.to_string(),
    }
}

/// Whether a place holds the last of its key.
pub(super) fn last_of_each(keys: &[String]) -> impl Fn(usize) -> bool + use<> {
    let last: HashMap<&str, usize> = keys.iter().enumerate().map(|(i, k)| (k.as_str(), i)).collect();
    let places: std::collections::HashSet<usize> = last.into_values().collect();
    move |place| places.contains(&place)
}

/// Whether bits are the zero of a kind; -0.0 is not.
pub(super) fn is_zero(kind: Kind, bits: u64) -> bool {
    match kind {
        Kind::Int32 | Kind::Uint32 | Kind::Sint32 | Kind::Enum(_) => bits as u32 == 0,
        _ => bits == 0,
    }
}

/// The number that a zigzag varint stands for.
pub(super) fn zigzag(kind: Kind, bits: u64) -> i64 {
    if kind == Kind::Sint32 {
        let bits = bits as u32;
        return i64::from((bits >> 1) as i32 ^ -((bits & 1) as i32));
    }
    (bits >> 1) as i64 ^ -((bits & 1) as i64)
}
