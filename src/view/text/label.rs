//! A message by its innermost branch: what it is, then what it says, ids and bytes in short form.
//! Never longer than its room by more than one value.

use serde_json::{Map, Value};

use crate::base::text::{cut, push_clean};
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
    Walk { schema, room, out: &mut out }.go(&root, decoded.ty);
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

type Members = Map<String, Value>;

impl Walk<'_> {
    /// Follows the branches that are set, then says what the last message holds: numbers of the
    /// messages around it first, its own members, and what else is around it.
    fn go(&mut self, root: &Members, ty: Option<TypeId>) {
        let (mut members, mut ty) = (root, ty);
        let mut wrapper = "";
        let mut around: Vec<(&String, &Value, Option<&FieldPlan>)> = Vec::new();
        for step in 0..STEPS {
            let plan = ty.map(|ty| self.schema.ty(ty));
            let Some((key, inside, is_branch)) = next(self.schema, members, plan) else { break };
            // What only wraps a further branch is not worth the room.
            if step == 0 {
                wrapper = key;
            } else if step == 1 && !is_branch {
                self.name_or(wrapper);
            } else if is_branch {
                if !self.out.name.is_empty() {
                    self.out.name.push(' ');
                }
                push_clean(&mut self.out.name, key);
            }
            let field = |key: &str| plan.and_then(|p| named(p, key));
            around.extend(members.iter().filter(|(k, _)| *k != key).map(|(k, v)| (k, v, field(k))));
            ty = field(key).and_then(|f| f.kind.message());
            members = inside;
        }
        self.name_or(wrapper);
        let is_number =
            |f: Option<&FieldPlan>| f.is_some_and(|f| f.kind != Kind::String && f.annotation.id.is_some());
        for (key, value, field) in around.iter().filter(|(_, _, f)| is_number(*f)) {
            self.pair(key, value, *field);
        }
        let plan = ty.map(|ty| self.schema.ty(ty));
        let field = |key: &str| plan.and_then(|p| named(p, key));
        let is_name =
            |key: &str| field(key).is_some_and(|f| f.kind == Kind::String && f.annotation.id.is_some());
        let order = |(key, value): &(&String, &Value)| (is_name(key), !is_plain(value));
        let mut own: Vec<(&String, &Value)> = members.iter().collect();
        own.sort_by_key(order);
        for (key, value) in own {
            self.pair(key, value, field(key));
        }
        for (key, value, field) in around.iter().filter(|(_, v, f)| is_plain(v) && !is_number(*f)) {
            self.pair(key, value, *field);
        }
    }

    fn name_or(&mut self, wrapper: &str) {
        if self.out.name.is_empty() {
            push_clean(&mut self.out.name, wrapper);
        }
    }

    fn pair(&mut self, key: &str, value: &Value, field: Option<&FieldPlan>) {
        if self.out.says.len() > self.room {
            return;
        }
        if !self.out.says.is_empty() {
            self.out.says.push(' ');
        }
        push_clean(&mut self.out.says, key);
        self.out.says.push('=');
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
                push_clean(&mut self.out.says, &cut(text, room));
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
                    self.value(value, plan.and_then(|p| named(p, key)));
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
    members: &'v Members,
    plan: Option<&TypePlan>,
) -> Option<(&'v String, &'v Members, bool)> {
    let mut inside = members.iter().filter_map(|(key, value)| Some((key, value.as_object()?)));
    let Some(plan) = plan else {
        return inside.next().filter(|_| members.len() == 1).map(|(key, value)| (key, value, true));
    };
    let field = |key: &str| named(plan, key);
    let inside: Vec<_> = inside.filter(|(key, _)| field(key).is_some_and(|f| !f.is_many())).collect();
    // A oneof among many other fields is one of the things that a message says, not what it is.
    let decides = |plan: &TypePlan, oneof: u16| {
        plan.oneofs.get(usize::from(oneof)).is_some_and(|o| o.fields.len() * 2 >= plan.fields.len())
    };
    let chosen =
        |(key, _): &&(&String, _)| field(key).and_then(|f| f.oneof).is_some_and(|o| decides(plan, o));
    if let Some((key, value)) = inside.iter().rfind(chosen) {
        return Some((key, value, true));
    }
    let chooses = |(key, _): &&(&String, _)| {
        let inner = field(key).and_then(|f| f.kind.message()).map(|ty| schema.ty(ty));
        inner.is_some_and(|p| (0..p.oneofs.len() as u16).any(|o| decides(p, o)))
    };
    let mut choosing = inside.iter().filter(chooses);
    let only = match (choosing.next(), choosing.next()) {
        (Some(one), None) => Some(one),
        _ => inside.first().filter(|_| members.len() == 1),
    };
    only.map(|(key, value)| (*key, *value, false))
}

/// A member's field, whichever of its names the record uses.
fn named<'p>(plan: &'p TypePlan, key: &str) -> Option<&'p FieldPlan> {
    plan.field(plan.field_by_name(key).or_else(|| plan.field_by_json_name(key))?)
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, name: &str, says: &str) {
        let decoded =
            Decoded { kind: Some("it".into()), message: json.as_bytes().to_vec(), ..Decoded::default() };
        let found = label(&Schema::default(), &decoded, 60);
        assert_eq!((&*found.name, &*found.says), (name, says));
    }

    #[test]
    fn without_a_schema_the_only_member_leads_on() {
        check(r#"{"outer":{"inner":{"text":"hi\nyou","n":1}}}"#, "inner", r#"text="hi\nyou" n=1"#);
        check(r#"{"outer":{}}"#, "outer", "");
        check(r#"{"id":7,"list":[1,{"a":"b"}]}"#, "it", r#"id=7 list=[1 {a="b"}]"#);
        check("", "it", "");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
