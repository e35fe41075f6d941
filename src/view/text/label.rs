//! A message by its innermost branch: what it is, then what it says, ids and bytes in short form.
//! Never longer than its room by more than one value.

use serde_json::{Map, Value};

use crate::base::text::push_clean;
use crate::schema::{FieldPlan, Kind, Schema, TypeId, TypePlan};

use super::super::Decoded;

/// What a frame is, in words for one line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The chain of branches below the root's, or the kind.
    pub name: String,
    /// `key=value` pairs, those of the outer messages first.
    pub says: String,
}

/// Longest text shown of an id, and of bytes, in characters.
const ID: usize = 16;
const BYTES: usize = 12;
/// Deepest chain followed.
const STEPS: usize = 8;

/// The label of a decoded frame; `says` is at most about `room` characters long.
pub fn label(schema: &Schema, decoded: &Decoded, room: usize) -> Label {
    let kind = decoded.kind.as_deref().unwrap_or("-");
    let mut out = Label::default();
    let Ok(Value::Object(root)) = serde_json::from_slice::<Value>(&decoded.message) else {
        push_clean(&mut out.name, kind);
        return out;
    };
    let mut walk = Walk { schema, room, out: &mut out };
    let end = walk.descend(&root, decoded.ty);
    if let Some((members, ty)) = end {
        walk.members(members, ty, false);
        walk.members(members, ty, true);
    }
    if out.name.is_empty() {
        push_clean(&mut out.name, kind);
    }
    out
}

struct Walk<'a> {
    schema: &'a Schema,
    room: usize,
    out: &'a mut Label,
}

type Members<'v> = (&'v Map<String, Value>, Option<TypeId>);

impl Walk<'_> {
    /// Follows the branches that are set; the members of the last message are left to say.
    fn descend<'v>(&mut self, root: &'v Map<String, Value>, ty: Option<TypeId>) -> Option<Members<'v>> {
        let (mut members, mut ty) = (root, ty);
        let mut wrapper = "";
        for step in 0..STEPS {
            let plan = ty.map(|ty| self.schema.ty(ty));
            let Some((key, value, by_oneof)) = next(self.schema, members, plan) else { break };
            // What only wraps a further branch is not worth the room.
            if step == 0 {
                wrapper = key;
            } else if by_oneof {
                if !self.out.name.is_empty() {
                    self.out.name.push(' ');
                }
                push_clean(&mut self.out.name, key);
            }
            self.scalars(members, plan, key);
            let inner = plan.and_then(|p| p.field(p.field_by_name(key)?)).and_then(|f| f.kind.message());
            match value {
                Value::Object(inside) if inner.is_some() || plan.is_none() => {
                    (members, ty) = (inside, inner);
                }
                value => {
                    self.name_or(wrapper);
                    let field = plan.and_then(|p| p.field(p.field_by_name(key)?));
                    self.pair(None, value, field);
                    return None;
                }
            }
        }
        self.name_or(wrapper);
        Some((members, ty))
    }

    fn name_or(&mut self, wrapper: &str) {
        if self.out.name.is_empty() {
            push_clean(&mut self.out.name, wrapper);
        }
    }

    /// The plain members beside a branch.
    fn scalars(&mut self, members: &Map<String, Value>, plan: Option<&TypePlan>, but: &str) {
        for (key, value) in members.iter().filter(|(k, v)| *k != but && is_plain(v)) {
            let field = plan.and_then(|p| p.field(p.field_by_name(key)?));
            self.pair(Some(key), value, field);
        }
    }

    fn members(&mut self, members: &Map<String, Value>, ty: Option<TypeId>, nested: bool) {
        let plan = ty.map(|ty| self.schema.ty(ty));
        for (key, value) in members.iter().filter(|(_, v)| is_plain(v) != nested) {
            let field = plan.and_then(|p| p.field(p.field_by_name(key)?));
            self.pair(Some(key), value, field);
        }
    }

    fn pair(&mut self, key: Option<&str>, value: &Value, field: Option<&FieldPlan>) {
        if self.out.says.len() > self.room {
            return;
        }
        if !self.out.says.is_empty() {
            self.out.says.push(' ');
        }
        if let Some(key) = key {
            push_clean(&mut self.out.says, key);
            self.out.says.push('=');
        }
        self.value(value, field);
    }

    fn value(&mut self, value: &Value, field: Option<&FieldPlan>) {
        match value {
            Value::String(text) => {
                let is_number =
                    field.is_some_and(|f| !matches!(f.kind, Kind::String | Kind::Bytes | Kind::Message(_)));
                let room = match field {
                    Some(f) if f.kind == Kind::Bytes => BYTES,
                    Some(f) if f.annotation.id.is_some() => ID,
                    _ => self.room,
                };
                if is_number {
                    return push_clean(&mut self.out.says, text);
                }
                self.out.says.push('"');
                push_clean(&mut self.out.says, &first(text, room));
                self.out.says.push('"');
            }
            Value::Object(members) => {
                let ty = field.and_then(|f| f.kind.message());
                self.out.says.push('{');
                let plan = ty.map(|ty| self.schema.ty(ty));
                for (i, (key, value)) in members.iter().enumerate() {
                    if self.out.says.len() > self.room {
                        break;
                    }
                    if i > 0 {
                        self.out.says.push(' ');
                    }
                    push_clean(&mut self.out.says, key);
                    self.out.says.push('=');
                    self.value(value, plan.and_then(|p| p.field(p.field_by_name(key)?)));
                }
                self.out.says.push('}');
            }
            Value::Array(items) => {
                self.out.says.push('[');
                for (i, value) in items.iter().enumerate() {
                    if self.out.says.len() > self.room {
                        break;
                    }
                    if i > 0 {
                        self.out.says.push(' ');
                    }
                    self.value(value, field);
                }
                self.out.says.push(']');
            }
            other => push_clean(&mut self.out.says, &other.to_string()),
        }
    }
}

/// The member that says what a message is, and whether it is the branch of a oneof: else the only
/// member, or the only one whose message has a branch to follow.
fn next<'v>(
    schema: &Schema,
    members: &'v Map<String, Value>,
    plan: Option<&TypePlan>,
) -> Option<(&'v String, &'v Value, bool)> {
    let Some(plan) = plan else {
        let (key, value) = members.iter().next().filter(|_| members.len() == 1)?;
        return value.is_object().then_some((key, value, true));
    };
    let field = |key: &str| plan.field(plan.field_by_name(key)?);
    let chosen = members.iter().rfind(|(key, _)| field(key).is_some_and(|f| f.oneof.is_some()));
    if let Some((key, value)) = chosen {
        return Some((key, value, true));
    }
    let chooses = |key: &str| {
        let inner = field(key).filter(|f| !f.is_many()).and_then(|f| f.kind.message());
        inner.is_some_and(|ty| !schema.ty(ty).oneofs.is_empty())
    };
    let mut choosing = members.iter().filter(|(key, value)| value.is_object() && chooses(key));
    match (choosing.next(), choosing.next()) {
        (Some((key, value)), None) => Some((key, value, false)),
        _ => None,
    }
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// The beginning of a text of at most `room` characters.
fn first(text: &str, room: usize) -> String {
    match text.char_indices().nth(room.saturating_sub(1)) {
        Some((at, _)) if text[at..].chars().nth(1).is_some() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}
