//! Paths: `a.b[3].c` from a node, and nodes from such a path without its places.
//! Never fails: a node that is not there has the path of the root.

use std::fmt::Write;

use crate::schema::{Cardinality, Schema};

use super::{Node, NodeKind, Tree};

/// Where a node lies: names from the root, places of repeated fields, keys of maps.
pub fn path_of(schema: &Schema, tree: &Tree, payload: &[u8], node: u32) -> String {
    let mut path = String::new();
    let mut at = Tree::ROOT;
    let mut in_entry = false;
    while at != node {
        let Some((child, found)) = tree.children(at).find(|(i, n)| *i <= node && node < n.next) else {
            break;
        };
        let ty = tree.type_of(at);
        let field = ty.and_then(|ty| schema.ty(ty).field(found.field));
        // `value` of a map's entry, and of an Any, is not a step that people write.
        let silent = in_entry
            || (found.kind == NodeKind::Message && field.is_some_and(|f| f.kind.message().is_none()));
        in_entry = false;
        if !silent && found.kind != NodeKind::Rest {
            step(schema, tree, payload, at, child, &mut path);
            in_entry = field.is_some_and(|f| f.cardinality == Cardinality::Map);
        }
        at = child;
    }
    path
}

/// Appends one step.
fn step(schema: &Schema, tree: &Tree, payload: &[u8], parent: u32, child: u32, path: &mut String) {
    let Some(node) = tree.node(child) else { return };
    let ty = tree.type_of(parent);
    let Some(field) = ty.and_then(|ty| schema.ty(ty).field(node.field)) else {
        push_name(path, &node.number.to_string());
        return;
    };
    push_name(path, &field.name);
    match field.cardinality {
        Cardinality::Singular => {}
        Cardinality::Repeated => {
            let before = tree.children(parent).take_while(|(i, _)| *i < child);
            let place = before.filter(|(_, n)| n.field == node.field).count();
            let _ = write!(path, "[{place}]");
        }
        Cardinality::Map => {
            let key = tree.children(child).find(|(_, n)| n.number == 1);
            let _ = match key {
                Some((_, n)) if n.kind == NodeKind::Bytes => {
                    write!(path, "[{:?}]", String::from_utf8_lossy(n.bytes(payload)))
                }
                Some((_, n)) => write!(path, "[{}]", n.bits as i64),
                None => write!(path, "[\"\"]"),
            };
        }
    }
}

/// Appends a name as one more step.
pub(super) fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// The nodes that a path of names reaches (`a.b.c`, repeated fields in every place), in wire order.
pub fn find(schema: &Schema, tree: &Tree, path: &str) -> Vec<u32> {
    let mut level = vec![Tree::ROOT];
    for name in path.split('.') {
        let mut below = Vec::new();
        for at in level {
            let plan = tree.type_of(at).map(|ty| schema.ty(ty));
            let field = plan.and_then(|p| p.field_by_name(name).or_else(|| p.field_by_json_name(name)));
            let number = name.parse::<u32>().ok();
            let fits = |n: &Node| match field {
                Some(field) => n.field == field,
                None => number.is_some() && number == Some(n.number) && !n.is_known(),
            };
            below.extend(tree.children(at).filter(|(_, n)| fits(n)).map(|(i, _)| i));
        }
        level = below;
    }
    level.retain(|at| *at != Tree::ROOT);
    level
}
