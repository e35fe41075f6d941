//! What a message says apart from what no two sessions share: ids marked, times left out, pieces taken out to be joined.
//! Never compares two messages; which fields are meant comes from the dialects.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::dialect::{Place, Plan, Role};
use crate::message::{self, NodeKind};
use crate::schema::{Encoding, FieldId, Kind, Schema, TypeId, WellKnown};

pub use crate::dialect::How;

use super::Id;

/// What a marked text begins with. Text of a message that begins so is escaped by one more.
pub const MARK: char = '\u{1}';
/// The key of bytes, in base64, that are neither text nor JSON.
pub const BYTES: &str = "$bytes";
/// Messages inside messages that are looked into, at most.
const MAX_DEPTH: usize = 200;

/// Length of a SHA-256 in base64.
const BLOB_ID: usize = 44;

/// A value that is one of several to be put together.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// How they add up.
    pub how: How,
    /// Whether it is base64 of bytes, to be opened when it is whole.
    pub bytes: bool,
    /// The value.
    pub value: Value,
}

/// What marking found.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Marked {
    /// The branches set in oneofs from the root on: `update.text`.
    pub kind: String,
    /// Pieces, by the number in their place holder.
    pub pieces: Vec<Piece>,
    /// Whether a field holds an id of the exchange; all that is left may then be nothing.
    pub names_exchange: bool,
}

/// Path rules of a field: the root type and the places from there; `None` at any depth.
type Where = Option<(TypeId, Vec<u16>)>;

/// The rules that marking goes by.
pub struct Essence<'a> {
    schema: &'a Schema,
    plan: &'a Plan,
    volatile: HashMap<FieldId, Vec<Where>>,
    folds: HashMap<FieldId, Vec<(Where, How)>>,
}

impl<'a> Essence<'a> {
    /// The rules of the dialects.
    pub fn new(schema: &'a Schema, plan: &'a Plan) -> Self {
        let place = |p: &Place| p.root.map(|root| (root, p.path.clone()));
        let mut volatile: HashMap<FieldId, Vec<Where>> = HashMap::new();
        for found in plan.measures.iter().filter(|m| m.volatile).flat_map(|m| &m.places) {
            volatile.entry(found.field).or_default().push(place(found));
        }
        let mut folds: HashMap<FieldId, Vec<(Where, How)>> = HashMap::new();
        for (found, how) in plan.folds.iter().flat_map(|f| f.places.iter().map(|p| (p, f.how))) {
            folds.entry(found.field).or_default().push((place(found), how));
        }
        Self { schema, plan, volatile, folds }
    }

    /// The schema that types are of.
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// The id of the run that a call belongs to, among the ids it is joined to.
    pub fn run_of<'i>(&self, ids: &'i [Id]) -> Option<&'i Id> {
        let mut runs = self.plan.levels.iter().filter(|l| !l.methods.is_empty()).filter_map(|l| l.namespace);
        runs.find_map(|namespace| ids.iter().find(|(n, _)| *n == namespace))
    }

    /// The name of the level that an exchange of an RPC makes up.
    pub fn level_of(&self, rpc: &str) -> Option<&'a str> {
        let level = self.plan.level_of(rpc)?;
        self.plan.levels.get(usize::from(level)).map(|l| &*l.name)
    }

    /// The name of a level that is part of a run; `None` for runs and what is around them.
    pub fn stage_name(&self, level: u16) -> Option<&'a str> {
        let levels = &self.plan.levels;
        let own = levels.get(usize::from(level))?;
        let mut around = own.within;
        for _ in 0..16 {
            let outer = levels.get(usize::from(around?))?;
            if !outer.methods.is_empty() {
                return Some(&own.name);
            }
            around = outer.within;
        }
        None
    }

    /// Whether an RPC only keeps a connection alive.
    pub fn is_pulse(&self, rpc: &str) -> bool {
        self.plan.is_pulse(rpc)
    }

    /// Whether messages of a type carry others.
    pub fn is_carrier(&self, ty: TypeId) -> bool {
        self.plan.tunnel(ty).is_some()
    }

    /// Whether the messages that an RPC takes or gives are those of a carrier's call.
    pub fn carries(&self, rpc: &str) -> bool {
        self.schema.method(rpc).is_some_and(|m| self.is_carrier(m.input))
    }

    /// The key of a namespace in records, and whether its ids count within those of another.
    pub fn namespace(&self, namespace: u16) -> (&'a str, bool) {
        self.plan
            .namespaces
            .get(usize::from(namespace))
            .map_or(("id", false), |n| (&*n.key, n.within.is_some()))
    }

    /// Marks a message of a type.
    pub fn mark(&self, ty: TypeId, message: &mut Value) -> Marked {
        let mut walk = Walk { rules: self, path: Vec::new(), root: ty, depth: 0, out: Marked::default() };
        self.kind(ty, message, &mut walk.out.kind);
        walk.message(ty, self.plan.matcher.root(ty), message);
        walk.out
    }

    /// The branches that are set, one inside the other.
    fn kind(&self, mut ty: TypeId, mut message: &Value, out: &mut String) {
        for _ in 0..8 {
            let plan = self.schema.ty(ty);
            let Some(object) = message.as_object() else { return };
            let set = object.iter().find_map(|(key, value)| {
                let field = plan.field(plan.field_by_name(key)?)?;
                field.oneof.map(|_| (field, value))
            });
            let Some((field, value)) = set else { return };
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&field.name);
            let Kind::Message(inner) = field.kind else { return };
            (ty, message) = (inner, value);
        }
    }
}

struct Walk<'r, 'a> {
    rules: &'r Essence<'a>,
    root: TypeId,
    path: Vec<u16>,
    depth: usize,
    out: Marked,
}

impl Walk<'_, '_> {
    fn message(&mut self, ty: TypeId, step: Option<u32>, value: &mut Value) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let plan = self.rules.schema.ty(ty);
        match plan.known {
            Some(WellKnown::Any) => self.any(value),
            Some(_) => escape(value),
            None => {
                if let Value::Object(object) = value {
                    self.fields(ty, step, object);
                }
            }
        }
        self.depth -= 1;
    }

    /// A message of another root: inside an opened encoding, or an Any.
    fn rooted(&mut self, name: &str, value: &mut Value) {
        match self.rules.schema.type_by_name(name) {
            Some(ty) => {
                let (root, path) = (std::mem::replace(&mut self.root, ty), std::mem::take(&mut self.path));
                self.message(ty, self.rules.plan.matcher.root(ty), value);
                (self.root, self.path) = (root, path);
            }
            None => escape(value),
        }
    }

    fn any(&mut self, value: &mut Value) {
        let url = value.get("@type").and_then(Value::as_str).unwrap_or_default();
        let name = url.rsplit('/').next().unwrap_or_default().to_owned();
        match value.get_mut("value") {
            Some(Value::Object(_)) | None => self.rooted(&name, value),
            Some(_) => escape(value),
        }
    }

    fn fields(&mut self, ty: TypeId, step: Option<u32>, object: &mut Map<String, Value>) {
        let (schema, plan, rules) = (self.rules.schema, self.rules.plan, self.rules);
        let fields = schema.ty(ty);
        let mut dropped = Vec::new();
        for (key, value) in object.iter_mut() {
            let Some(index) = fields.field_by_name(key) else {
                escape(value);
                continue;
            };
            let field = FieldId { ty, index };
            self.path.push(index);
            if rules.volatile.get(&field).is_some_and(|at| at.iter().any(|w| self.is_at(w))) {
                dropped.push(key.clone());
                self.path.pop();
                continue;
            }
            let below = step.and_then(|s| plan.matcher.below(s, index));
            let by_path = below.map_or(&[][..], |s| plan.matcher.roles(s));
            let anywhere = plan.matcher.anywhere(field).iter();
            let roles = by_path.iter().chain(anywhere.filter(|r| !by_path.iter().any(|p| r.yields_to(*p))));
            let id = roles.into_iter().find_map(|role| match role {
                Role::Id(namespace) | Role::Mention(namespace) => Some(*namespace),
                _ => None,
            });
            let fold = rules.folds.get(&field).and_then(|f| f.iter().find(|(w, _)| self.is_at(w)));
            let had = has_members(value);
            match (id, fold) {
                (Some(namespace), _) => self.id(namespace, value),
                (None, Some((_, how))) => self.piece(field, *how, below, value),
                (None, None) => match self.blob(field) {
                    Some(namespace) => self.blob_ids(namespace, field, below, value),
                    None => self.value(field, below, value),
                },
            }
            // A message of times alone is a time; a branch that is set stays one.
            let branch = fields.field(index).is_some_and(|f| f.oneof.is_some());
            if had && !branch && !has_members(value) && value.is_object() {
                dropped.push(key.clone());
            }
            self.path.pop();
        }
        for key in dropped {
            object.shift_remove(&key);
        }
        for (index, namespace) in plan.matcher.zeros(step, Some(ty)) {
            let Some(name) = fields.field(index).map(|f| f.name.to_string()) else { continue };
            if !object.contains_key(&name) {
                let mut zero = Value::from(0);
                self.id(namespace, &mut zero);
                object.insert(name, zero);
            }
        }
    }

    /// The namespace of a field that refers to content by an id.
    fn blob(&self, field: FieldId) -> Option<u16> {
        let nested = self.rules.schema.field_plan(field)?.annotation.nested?;
        let blob = self.rules.schema.nested(nested).is_some_and(|n| n.encoding == Encoding::Blob);
        self.rules.plan.contents.first().filter(|_| blob).map(|c| c.namespace)
    }

    /// Ids of content; what is no id is the content itself.
    fn blob_ids(&mut self, namespace: u16, field: FieldId, step: Option<u32>, value: &mut Value) {
        match value {
            Value::Array(elements) => {
                elements.iter_mut().for_each(|v| self.blob_ids(namespace, field, step, v));
            }
            Value::String(text) if text.len() == BLOB_ID => self.id(namespace, value),
            value => self.value(field, step, value),
        }
    }

    fn is_at(&self, place: &Where) -> bool {
        place.as_ref().is_none_or(|(root, path)| *root == self.root && *path == self.path)
    }

    /// The value of a field, of all its elements where it is repeated.
    fn value(&mut self, field: FieldId, step: Option<u32>, value: &mut Value) {
        let Some(plan) = self.rules.schema.field_plan(field) else { return escape(value) };
        let Kind::Message(inner) = plan.kind else {
            if plan.kind == Kind::Bytes {
                open(value);
            }
            return self.scalar(value);
        };
        let entry = self.rules.schema.ty(inner);
        match value {
            Value::Array(elements) => elements.iter_mut().for_each(|v| self.single(inner, step, v)),
            Value::Object(object) if entry.map_entry => {
                self.keys(inner, step, object);
                let Some(index) = entry.index_of(2) else { return };
                let below = step.and_then(|s| self.rules.plan.matcher.below(s, index));
                self.path.push(index);
                for value in object.values_mut() {
                    self.value(FieldId { ty: inner, index }, below, value);
                }
                self.path.pop();
            }
            value => self.single(inner, step, value),
        }
    }

    fn single(&mut self, ty: TypeId, step: Option<u32>, value: &mut Value) {
        if is_opened(value) { self.scalar(value) } else { self.message(ty, step, value) }
    }

    /// Keys of a map that are ids.
    fn keys(&mut self, entry: TypeId, step: Option<u32>, object: &mut Map<String, Value>) {
        let plan = self.rules.plan;
        let Some(index) = self.rules.schema.ty(entry).index_of(1) else { return };
        let by_path =
            step.and_then(|s| plan.matcher.below(s, index)).map_or(&[][..], |s| plan.matcher.roles(s));
        let roles = by_path.iter().chain(plan.matcher.anywhere(FieldId { ty: entry, index }));
        let namespace = roles.into_iter().find_map(|role| match role {
            Role::Id(namespace) | Role::Mention(namespace) => Some(*namespace),
            _ => None,
        });
        let Some(namespace) = namespace else { return };
        *object = std::mem::take(object)
            .into_iter()
            .map(|(key, value)| {
                let mut key = Value::String(key);
                self.id(namespace, &mut key);
                (key.as_str().unwrap_or_default().to_owned(), value)
            })
            .collect();
    }

    /// A scalar, or an encoding that was opened in its place.
    fn scalar(&mut self, value: &mut Value) {
        if let Value::Array(elements) = value {
            return elements.iter_mut().for_each(|v| self.scalar(v));
        }
        if !is_opened(value) {
            return escape(value);
        }
        if self.depth >= MAX_DEPTH {
            return;
        }
        let name = value.get("$type").and_then(Value::as_str).unwrap_or_default().to_owned();
        // What an opened blob is found by says no more than the blob.
        if let Some(object) = value.as_object_mut() {
            object.shift_remove("$id");
        }
        if let Some(inner) = value.get_mut("$value") {
            self.rooted(&name, inner);
        }
    }

    fn id(&mut self, namespace: u16, value: &mut Value) {
        let rule = self.rules.plan.namespaces.get(usize::from(namespace));
        if rule.is_some_and(|n| n.lasting) {
            return escape(value);
        }
        match value {
            Value::Array(elements) => elements.iter_mut().for_each(|v| self.id(namespace, v)),
            Value::String(text) if !text.is_empty() => *text = format!("{MARK}i{namespace} {text}"),
            Value::Number(number) => *value = Value::String(format!("{MARK}i{namespace} {number}")),
            // Content in the place of its id.
            Value::Object(_) => return self.scalar(value),
            _ => return,
        }
        self.out.names_exchange |= rule.is_some_and(|n| n.whole_exchange);
    }

    fn piece(&mut self, field: FieldId, how: How, step: Option<u32>, value: &mut Value) {
        let kind = self.rules.schema.field_plan(field).map(|f| f.kind);
        let fits = match how {
            How::Append => value.is_string(),
            How::Sum => value.is_number() || value.is_string(),
            How::Replace => true,
        };
        // Bytes are opened when they are whole.
        let bytes = how == How::Append && kind == Some(Kind::Bytes);
        if !bytes {
            self.value(field, step, value);
        }
        if fits && self.depth < MAX_DEPTH {
            let place = Value::String(format!("{MARK}p{}", self.out.pieces.len()));
            let value = std::mem::replace(value, place);
            self.out.pieces.push(Piece { how, bytes, value });
        }
    }
}

fn is_opened(value: &Value) -> bool {
    value.as_object().is_some_and(|o| o.contains_key("$encoding") && o.contains_key("$value"))
}

fn has_members(value: &Value) -> bool {
    value.as_object().is_some_and(|o| !o.is_empty())
}

/// Bytes as what they are, so that this is compared: JSON and text are opened like a declared encoding, what else
/// they may be stands for itself.
pub fn open(value: &mut Value) {
    if let Value::Array(elements) = value {
        return elements.iter_mut().for_each(open);
    }
    let Some(bytes) = value.as_str().and_then(|t| base64_simd::STANDARD.decode_to_vec(t).ok()) else {
        return;
    };
    let is_json = matches!(bytes.first(), Some(b'{' | b'['));
    let json = Some(&bytes).filter(|_| is_json).and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    *value = match json {
        Some(json) => serde_json::json!({ "$encoding": "json", "$value": json }),
        None if message::guess(&bytes, 0) == NodeKind::Text => {
            let text = String::from_utf8(bytes).unwrap_or_default();
            serde_json::json!({ "$encoding": "text", "$value": text })
        }
        None => serde_json::json!({ BYTES: value.take() }),
    };
}

/// Texts that begin like a mark are told from one.
pub fn escape(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("\u{1}s") => {}
        Value::String(text) if text.starts_with(MARK) => text.insert(0, MARK),
        Value::Array(elements) => elements.iter_mut().for_each(escape),
        Value::Object(object) => object.values_mut().for_each(escape),
        _ => {}
    }
}
