//! A decoded message as ProtoJSON, with what the schema does not know kept beside what it does.
//! Never fails: what has no ProtoJSON form gets one of its own, marked by a key that begins with `$`.
//!
//! - `$unknown`: fields that the schema lacks or has with another wire type, in wire order:
//!   `{"number":33,"wire":"len","value":"<base64>"}`; `varint`, `i32` and `i64` values are
//!   unsigned decimal strings, a `group`'s is a list of the same; `name` where the schema has the number.
//! - `$rest`: base64 of the bytes of a message from where it breaks.
//! - `{"$bytes":"<base64>","$text":"…"}`: a string that is not UTF-8, whole and as it reads.
//! - `{"$type":…,"$encoding":…,"$value":…}`: an encoding inside a field, opened.

mod nested;
mod redact;
mod scalar;
mod unknown;
mod wkt;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::{
    base::{Code, Finding, Limits},
    schema::{Cardinality, FieldPlan, Kind, Presence, Schema, TypeId, TypePlan},
};

use super::{
    Node, NodeKind, Tree,
    collect::{self, Found, Parts},
};

use crate::base::json::push_string;
pub use nested::open;
#[cfg(test)]
pub use redact::knows_first;
pub use redact::{hides_encoded, holds_secret, may_be_encoded};
pub(super) use scalar::{push_base64, whole};
pub use unknown::hides_unknown;

/// How far encodings inside fields are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expand {
    /// Not at all: canonical ProtoJSON.
    None,
    /// Every field that is annotated with an encoding, where its value is in it.
    All,
}

/// Finds a blob's bytes by its id.
pub type Blobs<'a> = &'a (dyn Fn(&[u8]) -> Option<Bytes> + Sync);

/// How JSON is written.
#[derive(Clone, Copy)]
pub struct JsonOptions<'a> {
    /// lowerCamelCase keys in place of the names in the .proto.
    pub json_names: bool,
    /// Print implicit fields that are unset.
    pub emit_defaults: bool,
    /// Keep what ProtoJSON has no place for (`$unknown`, `$rest`); else it is left out.
    pub keep_unknown: bool,
    /// Hide credentials.
    pub redact: bool,
    /// How far encodings inside fields are opened.
    pub expand: Expand,
    /// Where blobs are looked up.
    pub blobs: Option<Blobs<'a>>,
    /// Limits for messages inside fields.
    pub limits: &'a Limits,
}

impl<'a> JsonOptions<'a> {
    /// Canonical ProtoJSON with the names of the .proto, credentials hidden.
    pub fn new(limits: &'a Limits) -> Self {
        Self {
            json_names: false,
            emit_defaults: false,
            keep_unknown: true,
            redact: true,
            expand: Expand::None,
            blobs: None,
            limits,
        }
    }
}

/// Appends the tree of `payload` as one line of JSON. Findings are only about what is not shown:
/// what is wrong with the message was said when it was decoded.
pub fn write(
    schema: &Schema,
    tree: &Tree,
    payload: &[u8],
    options: &JsonOptions<'_>,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    let mut hidden = redact::Hidden::default();
    Writer { schema, tree, payload, options, out, hidden: &mut hidden, at: Tree::ROOT, level: 0 }.root();
    if let Some(text) = hidden.text() {
        findings.push(Finding::new(Code::SecretRedacted, text));
    }
    if let Some(text) = hidden.rest() {
        findings.push(Finding::new(Code::LimitReached, text).path("$rest"));
    }
}

struct Writer<'a, 'o> {
    schema: &'a Schema,
    tree: &'a Tree,
    payload: &'a [u8],
    options: &'a JsonOptions<'a>,
    out: &'o mut Vec<u8>,
    hidden: &'o mut redact::Hidden,
    /// The field that is being written.
    at: u32,
    /// How many encodings inside fields have been opened.
    level: usize,
}

impl<'a> Writer<'a, '_> {
    fn root(&mut self) {
        match self.tree.root {
            Some(ty) => self.message(ty, &[Tree::ROOT]),
            None => self.guessed(Tree::ROOT),
        }
    }

    /// A message of a known type, merged of its parts.
    fn message(&mut self, ty: TypeId, parts: &[u32]) {
        if let Some(known) = self.schema.ty(ty).known
            && self.well_known(known, ty, parts)
        {
            return;
        }
        self.out.push(b'{');
        self.fields(ty, parts, &mut true);
        self.out.push(b'}');
    }

    /// The members of a message's object.
    fn fields(&mut self, ty: TypeId, parts: &[u32], first: &mut bool) {
        let schema = self.schema;
        let plan = schema.ty(ty);
        let found = self.found(plan, parts);
        let mut written: SmallVec<[u16; 16]> = SmallVec::new();
        for (index, nodes) in found.runs() {
            let Some(field) = plan.field(index) else { continue };
            if self.options.emit_defaults {
                written.push(index);
            }
            self.member(field, &nodes, first);
        }
        if self.options.emit_defaults {
            for (index, field) in plan.fields.iter().enumerate() {
                let unset = field.presence == Presence::Implicit && field.oneof.is_none();
                if unset && !written.contains(&(index as u16)) {
                    self.key(self.name(field), first);
                    match field.cardinality {
                        Cardinality::Singular => self.default(field.kind),
                        Cardinality::Repeated => self.out.extend_from_slice(b"[]"),
                        Cardinality::Map => self.out.extend_from_slice(b"{}"),
                    }
                }
            }
        }
        if !found.unknown.is_empty() {
            self.key("$unknown", first);
            self.unknown(plan, &found.unknown);
        }
        if !found.rest.is_empty() {
            self.key("$rest", first);
            self.rest(schema.reaches_secret(ty), &found.rest);
        }
    }

    /// What a message holds, as far as it is written.
    fn found(&self, plan: &TypePlan, parts: &[u32]) -> Found {
        let mut found = collect::collect(self.schema, plan, self.tree, self.payload, parts);
        if !self.options.keep_unknown {
            found.unknown.clear();
            found.rest.clear();
        }
        found
    }

    fn name<'f>(&self, field: &'f FieldPlan) -> &'f str {
        if self.options.json_names { &field.json_name } else { &field.name }
    }

    /// `"key":`, after a comma where one is due.
    fn key(&mut self, key: &str, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
        push_string(self.out, key);
        self.out.push(b':');
    }

    /// One field with all its nodes.
    fn member(&mut self, field: &FieldPlan, nodes: &[u32], first: &mut bool) {
        let Some(last) = nodes.last().and_then(|n| self.tree.node(*n)) else { return };
        match field.cardinality {
            Cardinality::Singular => {
                let is_default = match last.kind {
                    NodeKind::Scalar => collect::is_zero(field.kind, last.bits),
                    _ => last.start == last.end,
                };
                if field.presence == Presence::Implicit && is_default && !self.options.emit_defaults {
                    return;
                }
                self.key(self.name(field), first);
                self.value(field, nodes);
            }
            Cardinality::Repeated => {
                let is_empty = |n: &&u32| {
                    self.tree.node(**n).is_some_and(|n| n.kind == NodeKind::Packed && n.start == n.end)
                };
                if nodes.iter().all(|n| is_empty(&n)) && !self.options.emit_defaults {
                    return;
                }
                self.key(self.name(field), first);
                self.list(field, nodes);
            }
            Cardinality::Map => {
                self.key(self.name(field), first);
                self.map(field, nodes);
            }
        }
    }

    fn list(&mut self, field: &FieldPlan, nodes: &[u32]) {
        self.out.push(b'[');
        let mut first = true;
        for at in nodes {
            let Some(node) = self.tree.node(*at) else { continue };
            if node.kind == NodeKind::Packed {
                self.packed(field, *at, node, &mut first);
            } else {
                self.comma(&mut first);
                self.value(field, &[*at]);
            }
        }
        self.out.push(b']');
    }

    fn packed(&mut self, field: &FieldPlan, at: u32, node: &Node, first: &mut bool) {
        if self.hides(field) {
            self.comma(first);
            return self.hide(at);
        }
        let payload = self.payload;
        for bits in collect::packed(field.kind, node, payload) {
            if !collect::is_closed_out(self.schema, field.kind, bits) {
                self.comma(first);
                self.number(field.kind, bits);
            }
        }
    }

    fn comma(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
    }

    /// A map: the last entry of a key counts.
    fn map(&mut self, field: &FieldPlan, nodes: &[u32]) {
        let Kind::Message(entry) = field.kind else { return };
        let plan = self.schema.ty(entry);
        let part = |number| plan.index_of(number).and_then(|i| Some((i, plan.field(i)?)));
        let (Some((key, key_plan)), Some((value, value_plan))) = (part(1), part(2)) else { return };
        let keys: Vec<String> =
            nodes.iter().map(|n| collect::map_key(self.tree, self.payload, *n, key, key_plan)).collect();
        let last = collect::last_of_each(&keys);
        self.out.push(b'{');
        let mut first = true;
        for (i, (at, key)) in nodes.iter().zip(&keys).enumerate() {
            if !last(i) {
                continue;
            }
            let shown = if self.options.redact { self.schema.secrets().mask_text(key) } else { None };
            if shown.is_some() {
                self.note(*at);
            }
            self.key(shown.as_deref().unwrap_or(key), &mut first);
            let values: Parts =
                self.tree.children(*at).filter(|(_, n)| n.field == value).map(|(i, _)| i).collect();
            if !values.is_empty() && (self.hides(field) || self.hides_entry(key, value_plan, &values)) {
                self.hide(*at);
            } else if values.is_empty() {
                self.default(value_plan.kind);
            } else {
                self.value(value_plan, &values);
            }
        }
        self.out.push(b'}');
    }

    /// One value: of a message all parts, of anything else the last.
    fn value(&mut self, field: &FieldPlan, nodes: &[u32]) {
        let Some(at) = nodes.last().copied() else { return };
        let Some(node) = self.tree.node(at).copied() else { return };
        self.at = at;
        if self.hides(field) && node.end > node.start {
            return self.hide(at);
        }
        if self.options.expand == Expand::All
            && let Some(nested) = field.annotation.nested.and_then(|n| self.schema.nested(n))
            && self.expand(nested, &node)
        {
            return;
        }
        match (field.kind, node.kind) {
            (Kind::Message(ty), NodeKind::Message) => self.message(ty, nodes),
            (Kind::String, _) => self.text(field, at, &node),
            (Kind::Bytes, _) => self.bytes(field, at, node.bytes(self.payload)),
            (kind, _) => self.number(kind, node.bits),
        }
    }
}

#[cfg(test)]
mod tests;
