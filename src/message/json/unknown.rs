//! What no schema names: unknown fields, bytes that broke, and whole messages without a schema.
//! Never drops a byte.

use crate::{
    message::{Node, NodeKind, Wire},
    schema::{Schema, TypePlan},
};

use super::{Parts, Writer, collect::Unknown, push_string, scalar::push_base64};

/// Largest integer that every JSON reader keeps exact.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Whether the value of a field that the type does not have, or not of this wire type, may be a secret:
/// where the schema says so of its number, and in any message that holds credentials.
pub fn hides_unknown(schema: &Schema, plan: &TypePlan, number: u32) -> bool {
    if plan.fields.iter().any(|f| f.annotation.secret) {
        return true;
    }
    let field = plan.index_of(number).and_then(|i| plan.field(i));
    field.and_then(|f| f.kind.message()).is_some_and(|ty| schema.reaches_secret(ty))
}

impl Writer<'_, '_> {
    /// `$unknown`'s list.
    pub(super) fn unknown(&mut self, plan: &TypePlan, items: &[Unknown]) {
        self.out.push(b'[');
        let mut first = true;
        for item in items {
            self.comma(&mut first);
            match *item {
                Unknown::Node(at) => self.unknown_node(Some(plan), at),
                Unknown::Enum(number, bits) => {
                    self.head(
                        number,
                        Wire::Varint,
                        plan.index_of(number).and_then(|i| plan.field(i)).map(|f| &*f.name),
                    );
                    self.quoted(bits);
                    self.out.push(b'}');
                }
            }
        }
        self.out.push(b']');
    }

    fn unknown_node(&mut self, plan: Option<&TypePlan>, at: u32) {
        let Some(node) = self.tree.node(at).copied() else { return };
        if node.kind == NodeKind::Rest {
            self.out.extend_from_slice(b"{\"$rest\":");
            self.broken(at, &node);
            return self.out.push(b'}');
        }
        // The number is known where only the wire type does not fit.
        let field = plan.and_then(|p| p.index_of(node.number).and_then(|i| p.field(i)));
        self.head(node.number, node.wire, field.map(|f| &*f.name));
        let secret = self.options.redact && plan.is_some_and(|p| hides_unknown(self.schema, p, node.number));
        match node.kind {
            _ if secret => self.hide(at),
            NodeKind::Scalar => self.quoted(node.bits),
            NodeKind::Message if node.wire == Wire::Group => {
                self.out.push(b'[');
                let mut first = true;
                let tree = self.tree;
                for (child, _) in tree.children(at) {
                    self.comma(&mut first);
                    self.unknown_node(None, child);
                }
                self.out.push(b']');
            }
            _ => self.base64(at, node.bytes(self.payload), None),
        }
        self.out.push(b'}');
    }

    fn head(&mut self, number: u32, wire: Wire, name: Option<&str>) {
        self.out.extend_from_slice(b"{\"number\":");
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        if let Some(name) = name {
            self.out.extend_from_slice(b",\"name\":");
            push_string(self.out, name);
        }
        self.out.extend_from_slice(b",\"wire\":\"");
        self.out.extend_from_slice(wire.name().as_bytes());
        self.out.extend_from_slice(b"\",\"value\":");
    }

    fn quoted(&mut self, bits: u64) {
        self.out.push(b'"');
        self.out.extend_from_slice(itoa::Buffer::new().format(bits).as_bytes());
        self.out.push(b'"');
    }

    /// `$rest`: one string, or a list where several parts of a message broke.
    pub(super) fn rest(&mut self, secret: bool, nodes: &Parts) {
        if nodes.len() > 1 {
            self.out.push(b'[');
        }
        let mut first = true;
        for at in nodes {
            self.comma(&mut first);
            let Some(node) = self.tree.node(*at).copied() else { continue };
            if self.options.redact && (secret || self.may_hold_secret(node.bytes(self.payload))) {
                self.hide(*at);
            } else {
                self.broken(*at, &node);
            }
        }
        if nodes.len() > 1 {
            self.out.push(b']');
        }
    }

    /// The bytes of a broken end, as many as are shown.
    fn broken(&mut self, at: u32, node: &Node) {
        let bytes = node.bytes(self.payload);
        let shown = bytes.get(..self.options.limits.max_rest).unwrap_or(bytes);
        if shown.len() < bytes.len() {
            self.hidden.cut(shown.len(), bytes.len());
        }
        self.base64(at, shown, None);
    }

    /// A message without a schema: field numbers as keys, a list where a number comes more than
    /// once. Numbers over 53 bits are strings; fixed ones say their width: `{"$i32":"7"}`.
    pub(super) fn guessed(&mut self, at: u32) {
        let tree = self.tree;
        let mut order: Vec<(u32, u32)> = tree.children(at).map(|(i, n)| (n.number, i)).collect();
        order.sort_by_key(|(number, _)| *number);
        self.out.push(b'{');
        let mut first = true;
        for run in order.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((number, _)) = run.first() else { continue };
            let mut buffer = itoa::Buffer::new();
            self.key(if *number == 0 { "$rest" } else { buffer.format(*number) }, &mut first);
            if run.len() > 1 {
                self.out.push(b'[');
            }
            let mut first = true;
            for (_, at) in run {
                self.comma(&mut first);
                self.guessed_value(*at);
            }
            if run.len() > 1 {
                self.out.push(b']');
            }
        }
        self.out.push(b'}');
    }

    fn guessed_value(&mut self, at: u32) {
        let Some(node) = self.tree.node(at).copied() else { return };
        let bytes = node.bytes(self.payload);
        match (node.kind, node.wire) {
            (NodeKind::Scalar, Wire::Varint) if node.bits <= MAX_EXACT => {
                self.out.extend_from_slice(itoa::Buffer::new().format(node.bits).as_bytes());
            }
            (NodeKind::Scalar, Wire::Varint) => self.quoted(node.bits),
            (NodeKind::Scalar, wire) => {
                self.out.extend_from_slice(format!("{{\"${}\":", wire.name()).as_bytes());
                self.quoted(node.bits);
                self.out.push(b'}');
            }
            (NodeKind::Message, Wire::Group) => {
                self.out.extend_from_slice(b"{\"$group\":");
                self.guessed(at);
                self.out.push(b'}');
            }
            (NodeKind::Message, _) => self.guessed(at),
            (NodeKind::Text, _) if self.hides_text(bytes) => self.hide(at),
            (NodeKind::Text, _) => {
                let masked = self.masked(at, bytes);
                push_string(self.out, &String::from_utf8_lossy(masked.as_deref().unwrap_or(bytes)));
            }
            (NodeKind::Rest, _) => self.broken(at, &node),
            _ => {
                self.out.extend_from_slice(b"{\"$bytes\":");
                self.base64(at, bytes, None);
                self.out.push(b'}');
            }
        }
    }

    /// Base64 of bytes that are shown whatever they are, masked.
    pub(super) fn plain_base64(&mut self, bytes: &[u8]) {
        let masked = self.masked(self.at, bytes);
        self.out.push(b'"');
        push_base64(self.out, masked.as_deref().unwrap_or(bytes));
        self.out.push(b'"');
    }
}
