//! What a message says of itself: the branch of its oneof, and the ids that it carries.
//! Never knows what an id's namespace means.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::schema::{Kind, Presence, Schema};

use super::{Node, NodeKind, Tree};

/// An id that a message carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Id<'a> {
    /// [`Annotation::id`](crate::schema::Annotation::id) of its field.
    pub namespace: u16,
    /// The value.
    pub value: IdValue<'a>,
    /// The node of the field; where the field is not on the wire, the message that lacks it.
    pub node: u32,
    /// Whether the field is not on the wire and its value is the default: 0.
    pub absent: bool,
}

/// The value of an id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdValue<'a> {
    /// A string.
    Text(&'a str),
    /// A number of any type, sign-extended.
    Number(u64),
    /// Bytes, or a string that is not UTF-8.
    Bytes(&'a [u8]),
}

/// Appends the ids of all messages in the tree, in wire order; a number that is left out as
/// its default is an id too, empty text is none.
pub fn ids<'a>(schema: &Schema, tree: &Tree, payload: &'a [u8], out: &mut impl Extend<Id<'a>>) {
    if !schema.has_ids() {
        return;
    }
    absent(schema, tree, Tree::ROOT, out);
    let mut parents: SmallVec<[(u32, u32); 8]> = SmallVec::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        let at = at as u32;
        while parents.last().is_some_and(|(_, end)| at >= *end) {
            parents.pop();
        }
        let parent = parents.last().map_or(Tree::ROOT, |(parent, _)| *parent);
        let field = tree.type_of(parent).and_then(|ty| schema.ty(ty).field(node.field));
        if let Some((field, namespace)) = field.and_then(|f| Some((f, f.annotation.id?)))
            && let Some(value) = value(field.kind, node, payload)
        {
            out.extend(Some(Id { namespace, value, node: at, absent: false }));
        }
        if node.kind == NodeKind::Message {
            parents.push((at, node.next));
            absent(schema, tree, at, out);
        }
    }
}

/// Numeric ids of implicit presence that a message leaves out.
fn absent<'a>(schema: &Schema, tree: &Tree, at: u32, out: &mut impl Extend<Id<'a>>) {
    let Some(ty) = tree.type_of(at) else { return };
    let plan = schema.ty(ty);
    for index in &plan.ids {
        let Some(field) = plan.field(*index) else { continue };
        let numeric = !matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_));
        let Some(namespace) = field.annotation.id.filter(|_| numeric && !field.is_many()) else { continue };
        if field.presence == Presence::Implicit && !tree.children(at).any(|(_, n)| n.field == *index) {
            out.extend(Some(Id { namespace, value: IdValue::Number(0), node: at, absent: true }));
        }
    }
}

fn value<'a>(kind: Kind, node: &Node, payload: &'a [u8]) -> Option<IdValue<'a>> {
    match (kind, node.kind) {
        (Kind::String, NodeKind::Bytes) => {
            let bytes = node.bytes(payload);
            Some(std::str::from_utf8(bytes).map_or(IdValue::Bytes(bytes), IdValue::Text))
                .filter(|_| !bytes.is_empty())
        }
        (Kind::Bytes, NodeKind::Bytes) => {
            Some(IdValue::Bytes(node.bytes(payload))).filter(|_| node.end > node.start)
        }
        (Kind::Message(_) | Kind::String | Kind::Bytes, _) => None,
        (kind, NodeKind::Scalar) => Some(IdValue::Number(widened(kind, node.bits))),
        _ => None,
    }
}

/// The number that bits stand for, in 64 bits, sign-extended.
pub(super) fn widened(kind: Kind, bits: u64) -> u64 {
    match kind {
        Kind::Int32 | Kind::Sfixed32 | Kind::Enum(_) => i64::from(bits as i32) as u64,
        Kind::Uint32 | Kind::Fixed32 => u64::from(bits as u32),
        Kind::Sint32 | Kind::Sint64 => ((bits >> 1) as i64 ^ -((bits & 1) as i64)) as u64,
        _ => bits,
    }
}

/// The branch of the root message's first oneof that is set, the last where several are; the
/// type's short name where it has no oneof; `None` where none is set or the type is not known.
pub fn kind(schema: &Schema, tree: &Tree) -> Option<Arc<str>> {
    let plan = schema.ty(tree.root?);
    let Some(oneof) = plan.oneofs.first() else { return Some(plan.short_name().into()) };
    let (_, node) = tree.children(Tree::ROOT).filter(|(_, n)| oneof.fields.contains(&n.field)).last()?;
    plan.field(node.field).map(|f| f.name.clone())
}
