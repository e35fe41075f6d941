//! ProtoJSON into wire format, by schema: the way in for JSON codecs, logs and `encode`.
//! Never stops at the first mistake: a member that does not fit is left out and reported.

mod parse;
mod regular;
mod scalar;
mod wkt;

use std::borrow::Cow;

use base64_simd as b64;
use smallvec::SmallVec;

use crate::base::text::{nearest, place};
use crate::schema::{Cardinality, FieldPlan, Kind, Schema, TypeId};

use super::put::wire_type;
pub(crate) use super::put::{prefix_length, push_tag, push_varint};
use parse::{Json, Node};

/// Deepest nesting of JSON that is read.
const MAX_DEPTH: usize = 100;

/// A mistake in a JSON message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// The path of the member (`a.b[3]`), empty for the whole.
    pub path: String,
    /// What was expected, what was found.
    pub text: String,
}

impl JsonError {
    /// Line and column of the mistake, from 1, in the text it was found in.
    pub fn place(&self, text: &str) -> (usize, usize) {
        place(text, self.at)
    }
}

/// How unknown members are taken.
#[derive(Clone, Copy, Default, Debug)]
pub struct JsonInOptions {
    /// Unknown members and unknown enum names are passed over in silence.
    pub ignore_unknown: bool,
}

/// Appends the wire format of a ProtoJSON message. Accepts both spellings of member names, and what
/// [`write`](super::json::write) adds for what ProtoJSON cannot say: `$unknown` and `$bytes`.
/// Returns what did not fit; a strict caller refuses the message where that is not empty.
pub fn encode(
    schema: &Schema,
    ty: TypeId,
    text: &str,
    options: JsonInOptions,
    out: &mut Vec<u8>,
) -> Vec<JsonError> {
    let start = out.len();
    // Nothing of what options are about is regular.
    if regular::encode(schema, ty, text, out).is_some() {
        return Vec::new();
    }
    out.truncate(start);
    by_tree(schema, ty, text, options, out)
}

/// The same of any text: parsed as a whole, then walked.
fn by_tree(
    schema: &Schema,
    ty: TypeId,
    text: &str,
    options: JsonInOptions,
    out: &mut Vec<u8>,
) -> Vec<JsonError> {
    let node = match parse::parse(text, MAX_DEPTH) {
        Ok(node) => node,
        Err(e) => return vec![JsonError { at: e.at, path: String::new(), text: e.text }],
    };
    let mut encoder = Encoder { schema, options, path: SmallVec::new(), errors: Vec::new() };
    encoder.message(ty, &node, out);
    encoder.errors
}

/// The members of an object, in order.
type Members<'t> = [(Cow<'t, str>, Node<'t>)];

/// A step of a path; it is written out only where something does not fit.
enum Step<'t> {
    Member(&'t str),
    Key(&'t str),
    Index(usize),
}

struct Encoder<'s, 't> {
    schema: &'s Schema,
    options: JsonInOptions,
    path: SmallVec<[Step<'t>; 8]>,
    errors: Vec<JsonError>,
}

impl<'t> Encoder<'_, 't> {
    fn fail(&mut self, at: usize, text: impl Into<String>) {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                Step::Key(key) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(&format!("{dot}[{key}]"));
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        self.errors.push(JsonError { at, path, text: text.into() });
    }

    fn inside(&mut self, step: Step<'t>, work: impl FnOnce(&mut Self)) {
        self.path.push(step);
        work(self);
        self.path.pop();
    }

    /// Writes the content of a message, without tag and length.
    fn message(&mut self, ty: TypeId, node: &'t Node<'t>, out: &mut Vec<u8>) {
        let schema = self.schema;
        if let Some(known) = schema.ty(ty).known {
            return self.well_known(known, ty, node, out);
        }
        match &node.value {
            Json::Object(members) => self.members(ty, members, &[], out),
            other => self.fail(
                node.at,
                format!("expected an object for {}, found {}", schema.ty(ty).name, other.name()),
            ),
        }
    }

    /// Writes the members of a message but those in `skip`.
    fn members(&mut self, ty: TypeId, members: &'t Members<'t>, skip: &[&str], out: &mut Vec<u8>) {
        let schema = self.schema;
        let plan = schema.ty(ty);
        let mut seen: SmallVec<[u16; 16]> = SmallVec::new();
        let mut branches: SmallVec<[u16; 4]> = SmallVec::new();
        for (name, node) in members {
            if skip.contains(&&**name) {
                continue;
            }
            if name == "$unknown" {
                self.inside(Step::Member(name), |e| e.unknown(node, out, 0));
                continue;
            }
            if name == "$rest" {
                self.inside(Step::Member(name), |e| e.rest(node, out));
                continue;
            }
            let Some(index) = plan.field_by_json_name(name).or_else(|| plan.field_by_name(name)) else {
                if !self.options.ignore_unknown {
                    let known = plan.fields.iter().map(|f| &*f.name);
                    let near =
                        nearest(name, known).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                    let text =
                        format!("{} has no field '{}'{near}", plan.name, crate::base::text::clean(name));
                    self.fail(node.at, text);
                }
                continue;
            };
            let Some(field) = plan.field(index) else { continue };
            self.inside(Step::Member(name), |e| {
                if seen.contains(&index) {
                    return e.fail(node.at, "the field is given twice");
                }
                seen.push(index);
                if matches!(node.value, Json::Null) && !e.takes_null(field) {
                    return;
                }
                if let Some(oneof) = field.oneof {
                    if branches.contains(&oneof) {
                        return e.fail(node.at, "another branch of the same oneof is set already");
                    }
                    branches.push(oneof);
                }
                e.field(field, node, out);
            });
        }
    }

    /// Whether `null` is a value of the field: google.protobuf.Value and NullValue.
    fn takes_null(&self, field: &FieldPlan) -> bool {
        match field.kind {
            _ if field.is_many() => false,
            Kind::Message(ty) => self.schema.ty(ty).known == Some(crate::schema::WellKnown::Value),
            Kind::Enum(id) => self.schema.enum_plan(id).is_some_and(|e| e.null),
            _ => false,
        }
    }

    fn field(&mut self, field: &FieldPlan, node: &'t Node<'t>, out: &mut Vec<u8>) {
        match field.cardinality {
            Cardinality::Singular => self.single(field, field.number, node, out),
            Cardinality::Repeated => {
                let Json::Array(items) = &node.value else {
                    return self.fail(node.at, format!("expected an array, found {}", node.value.name()));
                };
                let packed =
                    field.packed && !matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_));
                let start = out.len();
                for (i, item) in items.iter().enumerate() {
                    self.inside(Step::Index(i), |e| {
                        let is_value = matches!(field.kind, Kind::Message(ty) if e.schema.ty(ty).known == Some(crate::schema::WellKnown::Value));
                        let is_null = matches!(field.kind, Kind::Enum(id) if e.schema.enum_plan(id).is_some_and(|p| p.null));
                        if matches!(item.value, Json::Null) && !is_value && !is_null {
                            return e.fail(item.at, "null is no element of a repeated field");
                        }
                        if packed {
                            e.scalar(field.kind, item, out);
                        } else {
                            e.single(field, field.number, item, out);
                        }
                    });
                }
                if packed && out.len() > start {
                    prefix_length(out, start, field.number);
                }
            }
            Cardinality::Map => self.map(field, node, out),
        }
    }

    fn map(&mut self, field: &FieldPlan, node: &'t Node<'t>, out: &mut Vec<u8>) {
        let schema = self.schema;
        let Json::Object(members) = &node.value else {
            return self.fail(node.at, format!("expected an object for a map, found {}", node.value.name()));
        };
        let Some(entry) = field.kind.message().map(|ty| schema.ty(ty)) else { return };
        let part = |number| entry.index_of(number).and_then(|i| entry.field(i));
        let (Some(key), Some(value)) = (part(1), part(2)) else { return };
        for (name, item) in members {
            self.inside(Step::Key(name), |e| {
                let start = out.len();
                let ok = e.map_key(key.kind, name, item.at, out);
                if matches!(item.value, Json::Null) && !e.takes_null(value) {
                    e.fail(item.at, "null is no value of a map");
                } else if ok {
                    let before = out.len();
                    e.single(value, 2, item, out);
                    if out.len() > before || matches!(value.kind, Kind::Message(_)) {
                        return prefix_length(out, start, field.number);
                    }
                }
                out.truncate(start);
            });
        }
    }

    /// Writes one value with its tag; nothing where it does not fit.
    fn single(&mut self, field: &FieldPlan, number: u32, node: &'t Node<'t>, out: &mut Vec<u8>) {
        let start = out.len();
        match field.kind {
            Kind::Message(ty) if field.delimited => {
                push_tag(out, number, 3);
                self.message(ty, node, out);
                push_tag(out, number, 4);
            }
            Kind::Message(ty) => {
                self.message(ty, node, out);
                prefix_length(out, start, number);
            }
            kind => {
                push_tag(out, number, wire_type(kind));
                if !self.scalar(kind, node, out) {
                    out.truncate(start);
                }
            }
        }
    }

    /// Reads `$rest`: the bytes of a message from where it breaks.
    fn rest(&mut self, node: &'t Node<'t>, out: &mut Vec<u8>) {
        let bytes = |node: &'t Node<'t>| match &node.value {
            Json::String(text) => b64::STANDARD.decode_to_vec(text.as_bytes()).ok(),
            _ => None,
        };
        let found = match &node.value {
            Json::Array(items) => items.iter().map(bytes).collect::<Option<Vec<_>>>(),
            _ => bytes(node).map(|one| vec![one]),
        };
        match found {
            Some(parts) => out.extend(parts.into_iter().flatten()),
            None => self.fail(node.at, "expected base64 of the bytes that broke"),
        }
    }

    /// Reads `$unknown` as the JSON writer prints it.
    fn unknown(&mut self, node: &'t Node<'t>, out: &mut Vec<u8>, depth: usize) {
        let Json::Array(items) = &node.value else {
            return self.fail(node.at, "expected an array of unknown fields");
        };
        for (i, item) in items.iter().enumerate() {
            self.inside(Step::Index(i), |e| {
                if e.unknown_field(item, out, depth).is_none() {
                    e.fail(item.at, "expected an unknown field: {\"number\":…,\"wire\":…,\"value\":…}");
                }
            });
        }
    }

    fn unknown_field(&mut self, item: &'t Node<'t>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        let Json::Object(members) = &item.value else { return None };
        let member = |name: &str| members.iter().find(|(n, _)| n == name).map(|(_, node)| node);
        let Json::Number(number) = &member("number")?.value else { return None };
        let number: u32 = number.parse().ok().filter(|n| (1..1 << 29).contains(n))?;
        let value = member("value")?;
        let Json::String(wire) = &member("wire")?.value else { return None };
        match (&**wire, &value.value) {
            ("varint", Json::String(text)) => {
                push_tag(out, number, 0);
                push_varint(out, text.parse().ok()?);
            }
            ("i64", Json::String(text)) => {
                push_tag(out, number, 1);
                out.extend_from_slice(&text.parse::<u64>().ok()?.to_le_bytes());
            }
            ("i32", Json::String(text)) => {
                push_tag(out, number, 5);
                out.extend_from_slice(&text.parse::<u32>().ok()?.to_le_bytes());
            }
            ("len", Json::String(text)) => {
                let bytes = b64::STANDARD.decode_to_vec(text.as_bytes()).ok()?;
                push_tag(out, number, 2);
                push_varint(out, bytes.len() as u64);
                out.extend_from_slice(&bytes);
            }
            ("group", Json::Array(_)) if depth < MAX_DEPTH => {
                push_tag(out, number, 3);
                self.unknown(value, out, depth + 1);
                push_tag(out, number, 4);
            }
            _ => return None,
        }
        Some(())
    }
}
