//! A message as a tree: names, numbers, types, values, each field on a line.
//! Never shows a secret's bytes unless told, in the tree or in the dump beside it.

use std::fmt::Write;
use std::ops::Range;

use colored::Colorize;
use memchr::memmem;

use crate::base::text::{clean, push_clean_bytes};
use crate::base::{Limits, Timestamp};
use crate::message::json::holds_secret;
use crate::message::{self, Node, NodeKind, Tree};
use crate::schema::{FieldPlan, Kind, Schema, TypeId, TypePlan};

use super::super::Item;
use super::super::redact::REDACTED;

/// Longest text or bytes that a line shows, in bytes.
const LONGEST: usize = 400;

/// Appends the tree of a frame's message; a frame without one gets nothing.
pub fn write(item: &Item<'_>, schema: &Schema, out: &mut String) {
    let Some(tree) = decoded(item, schema) else { return };
    let payload = &item.decoded.payload;
    let mut hidden_to = 0;
    for (at, node, parent) in tree.walk() {
        let plan = tree.type_of(parent).map(|ty| schema.ty(ty));
        let hidden = !item.show_secrets && hidden(schema, plan, node, payload);
        if at < hidden_to {
            continue;
        }
        if hidden {
            hidden_to = node.next;
        }
        line(schema, node, plan.and_then(|plan| plan.field(node.field)), payload, hidden, out);
    }
}

/// The tree of an item's payload, decoded again: nothing keeps trees.
pub(crate) fn decoded(item: &Item<'_>, schema: &Schema) -> Option<Tree> {
    let ty: Option<TypeId> = item.decoded.ty;
    if ty.is_none() && item.decoded.kind.is_some() {
        return None;
    }
    let mut tree = Tree::new();
    message::decode(schema, ty, &item.decoded.payload, &Limits::default(), &mut tree, &mut Vec::new());
    Some(tree)
}

/// The bytes of an item's payload that hold secrets.
pub fn secret_spans(item: &Item<'_>, schema: &Schema) -> Vec<Range<usize>> {
    if item.show_secrets {
        return Vec::new();
    }
    let payload = &item.decoded.payload;
    if item.decoded.ty.is_none() && memmem::find(&item.decoded.message, REDACTED.as_bytes()).is_some() {
        // JSON and trailers have no tree that would say where the secret lies.
        return std::iter::once(0..payload.len()).collect();
    }
    let Some(tree) = decoded(item, schema) else { return Vec::new() };
    let secret = |(_, node, parent): &(u32, &Node, u32)| {
        hidden(schema, tree.type_of(*parent).map(|ty| schema.ty(ty)), node, payload)
    };
    tree.walk().filter(secret).map(|(_, node, _)| node.start as usize..node.end as usize).collect()
}

/// Whether a node of a message of type `plan` is not to be shown.
pub(crate) fn hidden(schema: &Schema, plan: Option<&TypePlan>, node: &Node, payload: &[u8]) -> bool {
    let field = plan.and_then(|plan| plan.field(node.field));
    if field.is_some_and(|f| f.annotation.secret || f.annotation.carrier.is_some()) {
        return true;
    }
    if plan.is_some_and(|plan| !node.is_known() && message::json::hides_unknown(schema, plan, node.number)) {
        return true;
    }
    let bytes = node.bytes(payload);
    // What breaks off may be a secret of which the end is missing.
    if node.kind == NodeKind::Rest && !schema.secret_roots().is_empty() {
        return true;
    }
    matches!(node.kind, NodeKind::Bytes | NodeKind::Text)
        && (schema.secrets().mask(bytes).is_some() || holds_secret(schema, &Limits::default(), bytes, None))
}

fn line(
    schema: &Schema,
    node: &Node,
    field: Option<&FieldPlan>,
    payload: &[u8],
    hidden: bool,
    out: &mut String,
) {
    let indent = 8 + 2 * usize::from(node.depth);
    let _ = write!(out, "{:indent$}", "");
    let name = match field {
        Some(field) => field.name.to_string(),
        None if node.kind == NodeKind::Rest => "(cannot be decoded)".to_owned(),
        None => node.number.to_string(),
    };
    let _ = write!(out, "{}", name.bold());
    if let Some(field) = field {
        let _ = write!(out, " {}", format!("{} {}", field.number, type_name(schema, field)).dimmed());
    }
    if hidden {
        let _ = writeln!(out, " {}", REDACTED.yellow());
        return;
    }
    out.push(' ');
    value(schema, node, field, payload, out);
    out.push('\n');
}

/// The short name of a field's type.
pub(crate) fn type_name(schema: &Schema, field: &FieldPlan) -> String {
    match field.kind {
        Kind::Message(ty) => schema.ty(ty).short_name().to_owned(),
        Kind::Enum(id) => schema
            .enum_plan(id)
            .map_or_else(String::new, |e| e.name.rsplit('.').next().unwrap_or("").to_owned()),
        scalar => scalar.name().to_owned(),
    }
}

fn value(schema: &Schema, node: &Node, field: Option<&FieldPlan>, payload: &[u8], out: &mut String) {
    let bytes = node.bytes(payload);
    match node.kind {
        NodeKind::Message => {
            let _ = write!(out, "{}", format!("({} bytes)", bytes.len()).dimmed());
        }
        NodeKind::Scalar => {
            let (text, remark) = scalar(schema, node.bits, field);
            out.push_str(&text);
            if let Some(remark) = remark {
                let _ = write!(out, " {}", remark.dimmed());
            }
        }
        NodeKind::Text => text(bytes, out),
        NodeKind::Bytes if field.is_some_and(|f| f.kind == Kind::String) => text(bytes, out),
        NodeKind::Bytes | NodeKind::Packed | NodeKind::Rest => {
            for byte in bytes.iter().take(LONGEST / 8) {
                let _ = write!(out, "{byte:02x}");
            }
            let more = if bytes.len() > LONGEST / 8 { "… " } else { " " };
            let _ = write!(out, "{more}{}", format!("({} bytes)", bytes.len()).dimmed());
        }
    }
}

fn text(bytes: &[u8], out: &mut String) {
    out.push('"');
    push_clean_bytes(out, bytes.get(..LONGEST).unwrap_or(bytes));
    out.push_str(if bytes.len() > LONGEST { "…\"" } else { "\"" });
}

/// A scalar as text, and what else it means: the number of an enum's name, the moment of a time.
pub(crate) fn scalar(schema: &Schema, bits: u64, field: Option<&FieldPlan>) -> (String, Option<String>) {
    let zigzag = |n: u64| (n >> 1) as i64 ^ -((n & 1) as i64);
    let text = match field.map(|f| f.kind) {
        Some(Kind::Int32 | Kind::Sfixed32) => (bits as i32).to_string(),
        Some(Kind::Int64 | Kind::Sfixed64) => {
            let name = field.map_or("", |f| &f.name);
            let moment = (name.ends_with("_ms")).then(|| Timestamp((bits as i64).saturating_mul(1_000_000)));
            let moment = moment.filter(|t| t.0 > 946_684_800_000_000_000);
            return ((bits as i64).to_string(), moment.map(|t| t.to_string()));
        }
        Some(Kind::Sint32 | Kind::Sint64) => zigzag(bits).to_string(),
        Some(Kind::Bool) => (bits != 0).to_string(),
        Some(Kind::Float) => f32::from_bits(bits as u32).to_string(),
        Some(Kind::Double) => f64::from_bits(bits).to_string(),
        Some(Kind::Uint32 | Kind::Fixed32) => (bits as u32).to_string(),
        Some(Kind::Enum(id)) => match schema.enum_plan(id).and_then(|e| e.name_of(bits as i32)) {
            Some(name) => return (clean(name), Some(format!("({})", bits as i32))),
            None => (bits as i32).to_string(),
        },
        _ => bits.to_string(),
    };
    (text, None)
}
