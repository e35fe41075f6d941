//! Paths into messages, followed through all types that are loaded.
//! Never accepts a step that no message has.

use std::collections::HashSet;
use std::ops::Range;

use crate::base::text::{clean, nearest};
use crate::schema::{Cardinality, FieldPlan, Kind, Schema, TypeId, WellKnown};

use super::super::steps::{self, Step};
use super::Error;

/// What lies at a place of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A scalar or an enum.
    Kind(Kind),
    /// A message.
    Message(TypeId),
    /// A map, by the type of its entry.
    Map(TypeId),
    /// A google.protobuf.Timestamp.
    Time,
    /// A google.protobuf.Duration.
    Duration,
    /// JSON without a type.
    Free,
    /// The end of a stream, trailers, a unary error.
    End,
    /// The error of an end.
    EndError,
}

/// Most `**` in one path: each multiplies the work.
pub const MAX_DEEP: usize = 3;

/// What a field holds, whether it is repeated or not.
pub fn node_of(schema: &Schema, field: &FieldPlan) -> Node {
    match (field.kind, field.cardinality) {
        (Kind::Message(entry), Cardinality::Map) => Node::Map(entry),
        (Kind::Message(ty), _) => message_node(schema, ty),
        (kind, _) => Node::Kind(kind),
    }
}

fn message_node(schema: &Schema, ty: TypeId) -> Node {
    let plan = schema.ty(ty);
    match plan.known {
        Some(WellKnown::Timestamp) => Node::Time,
        Some(WellKnown::Duration) => Node::Duration,
        Some(WellKnown::FieldMask) => Node::Kind(Kind::String),
        Some(WellKnown::Wrapper) => plan.field(0).map_or(Node::Free, |f| Node::Kind(f.kind)),
        Some(WellKnown::Any | WellKnown::Struct | WellKnown::Value | WellKnown::ListValue) => Node::Free,
        Some(WellKnown::Empty) | None => Node::Message(ty),
    }
}

/// What a map's values are.
pub fn map_value(schema: &Schema, entry: TypeId) -> Node {
    let plan = schema.ty(entry);
    plan.index_of(2).and_then(|i| plan.field(i)).map_or(Node::Free, |f| node_of(schema, f))
}

/// What a member of a place is, by its name in canonical JSON.
pub fn member(schema: &Schema, node: Node, name: &str) -> Option<Node> {
    if name.starts_with('$') {
        return Some(Node::Free);
    }
    match node {
        Node::Message(ty) => {
            let plan = schema.ty(ty);
            plan.field_by_name(name).and_then(|i| plan.field(i)).map(|f| node_of(schema, f))
        }
        Node::Map(entry) => Some(map_value(schema, entry)),
        Node::Free => Some(Node::Free),
        Node::End => match name {
            "error" => Some(Node::EndError),
            "metadata" | "details" => Some(Node::Free),
            "code" | "message" => Some(Node::Kind(Kind::String)),
            // Trailers have names like these, and no field of a message has; nor has it a number.
            _ if name.contains('-') || name.bytes().all(|b| b.is_ascii_digit()) => Some(Node::Free),
            _ => None,
        },
        Node::EndError => match name {
            "code" | "message" => Some(Node::Kind(Kind::String)),
            "details" => Some(Node::Free),
            _ => None,
        },
        Node::Kind(_) | Node::Time | Node::Duration => None,
    }
}

fn members(schema: &Schema, node: Node, out: &mut HashSet<Node>) {
    match node {
        Node::Message(ty) => out.extend(schema.ty(ty).fields.iter().map(|f| node_of(schema, f))),
        Node::Map(entry) => {
            out.insert(map_value(schema, entry));
        }
        Node::Free | Node::End | Node::EndError => {
            out.insert(Node::Free);
        }
        Node::Kind(_) | Node::Time | Node::Duration => {}
    }
}

/// Follows the steps after `message`; gives them in the spelling of the .proto, and what they lead to. Where encodings are
/// `opened`, anything may lie below text and bytes.
pub fn resolve(
    schema: &Schema,
    path: &[(Step, Range<usize>)],
    opened: bool,
) -> Result<(Vec<Step>, Vec<Node>), Error> {
    let holds = |node: Node| opened && matches!(node, Node::Kind(Kind::String | Kind::Bytes));
    let member = |schema: &Schema, node: Node, name: &str| match holds(node) {
        true => Some(Node::Free),
        false => member(schema, node, name),
    };
    let members = |schema: &Schema, node: Node, out: &mut HashSet<Node>| match holds(node) {
        true => drop(out.insert(Node::Free)),
        false => members(schema, node, out),
    };
    let mut nodes: HashSet<Node> = HashSet::new();
    if schema.is_empty() {
        nodes.insert(Node::Free);
    } else {
        nodes.extend(
            schema
                .types()
                .filter(|(_, t)| !t.map_entry && t.known.is_none())
                .map(|(ty, _)| Node::Message(ty)),
        );
        nodes.insert(Node::End);
    }
    let mut steps: Vec<Step> = Vec::new();
    for (step, span) in path {
        let mut next = HashSet::new();
        let mut step = step.clone();
        match step.clone() {
            // A place in a list, in the spelling that has no brackets.
            Step::Name(name) if opened && name.bytes().all(|b| b.is_ascii_digit()) => {
                next.extend(nodes.iter().copied());
            }
            Step::Name(name) => {
                next.extend(nodes.iter().filter_map(|n| member(schema, *n, &name)));
                if next.is_empty()
                    && let Some(proto) = by_json_name(schema, &nodes, &name)
                {
                    next.extend(nodes.iter().filter_map(|n| member(schema, *n, &proto)));
                    step = Step::Name(proto);
                }
                if next.is_empty() {
                    return Err(unknown(schema, &nodes, &steps, &name, span));
                }
            }
            Step::Any => nodes.iter().for_each(|n| members(schema, *n, &mut next)),
            Step::Deep => {
                if steps.last() == Some(&Step::Deep) {
                    continue;
                }
                if steps.iter().filter(|s| **s == Step::Deep).count() >= MAX_DEEP {
                    return Err(Error::new(span.clone(), format!("a path has at most {MAX_DEEP} **")));
                }
                let mut open: Vec<Node> = nodes.iter().copied().collect();
                next.extend(nodes.iter().copied());
                while let Some(node) = open.pop() {
                    let mut below = HashSet::new();
                    members(schema, node, &mut below);
                    // Below JSON without a type, and in a map, lies anything: a name is looked for only
                    // where types have names.
                    let maps: Vec<Node> =
                        below.iter().filter(|n| matches!(n, Node::Map(_))).copied().collect();
                    maps.iter().for_each(|map| members(schema, *map, &mut below));
                    below.retain(|n| !matches!(n, Node::Free | Node::Map(_)));
                    open.extend(below.into_iter().filter(|n| next.insert(*n)));
                }
            }
            Step::Index(_) => next.extend(nodes.iter().copied()),
        }
        if next.is_empty() {
            return Err(Error::new(
                span.clone(),
                format!("nothing lies below message.{}", steps::show(&steps)),
            ));
        }
        nodes = next;
        steps.push(step);
    }
    Ok((steps, nodes.into_iter().collect()))
}

/// The .proto name of a field that is given by its ProtoJSON name.
fn by_json_name(schema: &Schema, nodes: &HashSet<Node>, name: &str) -> Option<String> {
    nodes.iter().find_map(|node| {
        let Node::Message(ty) = node else { return None };
        let plan = schema.ty(*ty);
        plan.field_by_json_name(name).and_then(|i| plan.field(i)).map(|f| f.name.to_string())
    })
}

fn unknown(
    schema: &Schema,
    nodes: &HashSet<Node>,
    before: &[Step],
    name: &str,
    span: &Range<usize>,
) -> Error {
    let known = || {
        nodes.iter().flat_map(|n| match n {
            Node::Message(ty) => schema.ty(*ty).fields.as_slice(),
            _ => &[],
        })
    };
    let mut fields: Vec<&str> = known().map(|f| &*f.name).collect();
    fields.sort_unstable();
    let near = nearest(name, fields.iter().copied());
    let mut types = nodes.iter().filter_map(|n| match n {
        Node::Message(ty) => Some(&*schema.ty(*ty).name),
        _ => None,
    });
    let shown = clean(name);
    let text = match (types.next(), types.next()) {
        (Some(ty), None) => format!("{ty} has no field '{shown}'"),
        (None, _) if !before.is_empty() => format!("message.{} has no fields", steps::show(before)),
        _ => format!("no message has a field '{shown}' here"),
    };
    let anywhere = || schema.types().any(|(_, t)| t.field_by_name(name).is_some());
    let error = Error::new(span.clone(), text);
    match near {
        None if !before.is_empty() && anywhere() => {
            error.help(format!("message.**.{shown} finds it at any depth"))
        }
        near => error.near(near),
    }
}
