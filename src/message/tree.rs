//! The decoded message: nodes in wire order, each with the bytes it came from.
//! Never holds a byte of the payload; reused from message to message.

use crate::schema::TypeId;

use super::wire::Wire;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A number, bool or enum: [`Node::bits`].
    Scalar,
    /// The bytes of a string or bytes field, or of an unknown one.
    Bytes,
    /// Unknown bytes that read as text (only without a schema).
    Text,
    /// A message or group; its fields follow as nodes below it.
    Message,
    /// A packed run of numbers: [`Node::wire`] is `Len`, the elements are read from the payload.
    Packed,
    /// Bytes of a message that could not be decoded: from the fault to the message's end.
    Rest,
}

/// One field of one message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its wire type.
    pub wire: Wire,
    /// Its place in the type's fields; [`Node::UNKNOWN`] where the schema has no such field or another wire type.
    pub field: u16,
    /// How many messages it lies in, the root not counted.
    pub depth: u16,
    /// The field number; 0 for [`NodeKind::Rest`].
    pub number: u32,
    /// The first node after this one's subtree.
    pub next: u32,
    /// Where the tag starts in the payload.
    pub tag: u32,
    /// Where the content starts: after the tag, and after the length where there is one.
    pub start: u32,
    /// Where the content ends; for a group, where its end tag starts.
    pub end: u32,
    /// Messages: the type, where it is known.
    pub ty: Option<TypeId>,
    /// The bits of a scalar as read: a varint's 64, four or eight bytes little-endian.
    pub bits: u64,
}

impl Node {
    /// [`Node::field`] of a field that the schema does not have.
    pub const UNKNOWN: u16 = u16::MAX;

    /// Whether the schema has the field and the wire type fits.
    pub fn is_known(&self) -> bool {
        self.field != Self::UNKNOWN
    }

    /// The content's bytes.
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        payload.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A decoded message.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The nodes, depth first, in wire order.
    pub nodes: Vec<Node>,
    /// The root message's type.
    pub root: Option<TypeId>,
}

impl Tree {
    /// Stands for the root message where a node is asked for.
    pub const ROOT: u32 = u32::MAX;

    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node by its number.
    pub fn node(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    /// The type of a message node, or of the root.
    pub fn type_of(&self, at: u32) -> Option<TypeId> {
        if at == Self::ROOT { self.root } else { self.node(at)?.ty }
    }

    /// The nodes right below a message ([`Tree::ROOT`] for the root), in wire order.
    pub fn children(&self, at: u32) -> Children<'_> {
        let len = self.nodes.len() as u32;
        match self.node(at) {
            None if at == Self::ROOT => Children { tree: self, at: 0, end: len },
            None => Children { tree: self, at: 0, end: 0 },
            Some(node) => Children { tree: self, at: at.saturating_add(1), end: node.next.min(len) },
        }
    }

    /// All nodes in wire order, each with the message that it lies in.
    pub fn walk(&self) -> impl Iterator<Item = (u32, &Node, u32)> {
        let mut open: Vec<(u32, u32)> = Vec::new();
        self.nodes.iter().enumerate().map(move |(at, node)| {
            let at = at as u32;
            while open.pop_if(|(_, end)| at >= *end).is_some() {}
            let parent = open.last().map_or(Self::ROOT, |(parent, _)| *parent);
            if node.next > at + 1 {
                open.push((at, node.next));
            }
            (at, node, parent)
        })
    }

    /// The message that a node lies in; [`Tree::ROOT`] for the root's own fields.
    pub fn parent(&self, at: u32) -> u32 {
        let mut parent = Self::ROOT;
        while let Some((child, _)) = self.children(parent).find(|(i, n)| *i <= at && at < n.next) {
            if child == at {
                break;
            }
            parent = child;
        }
        parent
    }
}

/// Nodes right below a message.
#[derive(Clone)]
pub struct Children<'a> {
    tree: &'a Tree,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Children<'a> {
    type Item = (u32, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let at = self.at;
        let node = self.tree.node(at)?;
        // `next` is past `at`, or the tree is still being built and this is an open node.
        self.at = node.next.max(at.saturating_add(1));
        Some((at, node))
    }
}
