//! A checked filter over a record.
//! Never fails: a value of another type than was meant does not match.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::base::Timestamp;
use crate::schema::{Kind, Schema};

use super::check::{Check, Leaf, Node, Source, Test, Want, Wanted, member};
use super::parse::Op;
use super::steps::Step;
use super::{Record, Stage, Value};

/// A value as it is compared.
enum Atom<'a> {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a str),
    Bytes(Cow<'a, [u8]>),
    Nanos(i128),
    /// A number with the name of it, and whose names it is compared by.
    Enum(i128, Option<&'a str>, Kind),
    /// A value of no known type: text that may be a number.
    Free(&'a str),
    /// A message or a map: present, equal to nothing.
    Whole,
}

/// Whether a record passes; `None` where the stage does not tell.
pub fn decide(test: &Test, schema: &Schema, record: &dyn Record, stage: Stage) -> Option<bool> {
    match test {
        Test::Always(value) => Some(*value),
        Test::Not(inner) => decide(inner, schema, record, stage).map(|b| !b),
        Test::And(all) => join(all, schema, record, stage, false),
        Test::Or(all) => join(all, schema, record, stage, true),
        Test::Leaf(leaf) if leaf.stage > stage => None,
        Test::Leaf(leaf) => Some(holds(leaf, schema, record)),
    }
}

/// `and` ends at the first false, `or` at the first true; what is not known leaves it open.
fn join(all: &[Test], schema: &Schema, record: &dyn Record, stage: Stage, ends: bool) -> Option<bool> {
    let mut open = false;
    for test in all {
        match decide(test, schema, record, stage) {
            Some(value) if value == ends => return Some(ends),
            Some(_) => {}
            None => open = true,
        }
    }
    (!open).then_some(!ends)
}

fn holds(leaf: &Leaf, schema: &Schema, record: &dyn Record) -> bool {
    let (there, hit) = seen(leaf, schema, record);
    verdict(leaf, there, hit)
}

/// What is to be said of a leaf of which there are values, or one that fits.
pub fn verdict(leaf: &Leaf, there: bool, hit: bool) -> bool {
    match leaf.check {
        Check::Absent => !there,
        Check::None(_) => there && !hit,
        _ => hit,
    }
}

/// Whether a record has values of a leaf, and whether one of them fits.
pub fn seen(leaf: &Leaf, schema: &Schema, record: &dyn Record) -> (bool, bool) {
    let mut there = false;
    let mut hit = false;
    let mut see = |atom: Atom<'_>| {
        there = true;
        hit = hit || passes(&leaf.check, &atom, schema);
        !hit
    };
    match &leaf.source {
        Source::Field(field) => record.values(field, &mut |value| see(atom_of(value, leaf))),
        Source::Message(steps) => {
            if let Some((ty, json)) = record.message() {
                let whole = matches!(leaf.check, Check::Contains(_) | Check::Matches(_));
                let node = ty.map_or(Node::Free, Node::Message);
                Walk { schema, whole, see: &mut see }.go(json, node, steps);
            }
        }
    }
    (there, hit)
}

fn atom_of<'a>(value: Value<'a>, leaf: &Leaf) -> Atom<'a> {
    match value {
        Value::Bool(b) => Atom::Bool(b),
        Value::Int(n) => Atom::Int(n),
        Value::Nanos(n) => Atom::Nanos(n),
        Value::Text(text) => match leaf.ranks.and_then(|ranks| ranks.iter().position(|r| *r == text)) {
            Some(rank) => Atom::Enum(rank as i128, Some(text), Kind::Int32),
            None => Atom::Text(text),
        },
    }
}

struct Walk<'s, 'f> {
    schema: &'s Schema,
    /// Whether a message stands for all that is in it.
    whole: bool,
    see: &'f mut dyn FnMut(Atom<'_>) -> bool,
}

impl Walk<'_, '_> {
    /// Shows every value at the path; false once enough was seen.
    fn go(&mut self, value: &Json, node: Node, steps: &[Step]) -> bool {
        let first = steps.first();
        if let Json::Array(items) = value {
            if let Some(Step::Index(index)) = first {
                let rest = steps.get(1..).unwrap_or_default();
                return items.get(*index).is_none_or(|item| self.go(item, node, rest));
            }
            return items.iter().all(|item| self.go(item, node, steps));
        }
        let Some(step) = first else { return self.leaf(value, node) };
        let rest = steps.get(1..).unwrap_or_default();
        if *step == Step::Deep && rest.is_empty() && self.whole {
            return self.leaf(value, node);
        }
        if *step == Step::Deep && !self.go(value, node, rest) {
            return false;
        }
        let Json::Object(members) = value else { return true };
        match step {
            Step::Name(name) => match members.get(name.as_str()) {
                Some(value) => self.go(value, self.below(node, name), rest),
                None => true,
            },
            Step::Any => members.iter().all(|(name, value)| self.go(value, self.below(node, name), rest)),
            Step::Deep => members.iter().all(|(name, value)| self.go(value, self.below(node, name), steps)),
            Step::Index(_) => true,
        }
    }

    fn below(&self, node: Node, name: &str) -> Node {
        member(self.schema, node, name).unwrap_or(Node::Free)
    }

    fn leaf(&mut self, value: &Json, node: Node) -> bool {
        match value {
            Json::Null => true,
            Json::Object(members) => {
                // A string that is not UTF-8 is shown with its bytes.
                if let Some(Json::String(base64)) = members.get("$bytes") {
                    return (self.see)(Atom::Bytes(base64_bytes(base64)));
                }
                if self.whole {
                    return members.iter().all(|(name, value)| {
                        let below = self.below(node, name);
                        self.go(value, below, &[])
                    });
                }
                (self.see)(Atom::Whole)
            }
            Json::Array(items) => items.iter().all(|item| self.leaf(item, node)),
            Json::Bool(b) => (self.see)(Atom::Bool(*b)),
            Json::Number(number) => {
                let int = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
                (self.see)(match (node, int) {
                    (Node::Kind(kind @ Kind::Enum(_)), Some(n)) => Atom::Enum(n, None, kind),
                    (_, Some(n)) => Atom::Int(n),
                    (_, None) => Atom::Float(number.as_f64().unwrap_or(f64::NAN)),
                })
            }
            Json::String(text) => (self.see)(string(self.schema, text, node)),
        }
    }
}

fn string<'a>(schema: &Schema, text: &'a str, node: Node) -> Atom<'a> {
    match node {
        Node::Kind(Kind::String) => Atom::Text(text),
        Node::Kind(Kind::Bytes) => Atom::Bytes(base64_bytes(text)),
        Node::Kind(kind @ Kind::Enum(id)) => match schema.enum_plan(id).and_then(|e| e.number_of(text)) {
            Some(number) => Atom::Enum(i128::from(number), Some(text), kind),
            None => Atom::Text(text),
        },
        Node::Kind(Kind::Double | Kind::Float) => text.parse().map_or(Atom::Text(text), Atom::Float),
        Node::Kind(_) => text.parse().map_or(Atom::Text(text), Atom::Int),
        Node::Time => Timestamp::parse(text).map_or(Atom::Text(text), |t| Atom::Nanos(i128::from(t.0))),
        Node::Duration => duration(text).map_or(Atom::Text(text), Atom::Nanos),
        _ => Atom::Free(text),
    }
}

/// Nanoseconds of a duration as ProtoJSON writes it: `1.5s`.
fn duration(text: &str) -> Option<i128> {
    let number = text.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let seconds: i128 = whole.parse().ok()?;
    let padded = format!("{fraction:0<9}");
    let nanos: i128 = padded.get(..9)?.parse().ok()?;
    Some(seconds * 1_000_000_000 + if number.starts_with('-') { -nanos } else { nanos })
}

fn base64_bytes(text: &str) -> Cow<'_, [u8]> {
    match base64_simd::forgiving_decode_to_vec(text.as_bytes()) {
        Ok(bytes) => Cow::Owned(bytes),
        // What is hidden is no base64.
        Err(_) => Cow::Borrowed(text.as_bytes()),
    }
}

fn passes(check: &Check, atom: &Atom<'_>, schema: &Schema) -> bool {
    match check {
        Check::Present => true,
        Check::Absent => true,
        Check::True => matches!(atom, Atom::Bool(true)),
        Check::Any(wanted) | Check::None(wanted) => wanted.iter().any(|w| is_wanted(w, atom, schema)),
        Check::Order(op, wants) => wants.iter().any(|want| {
            compare(atom, want, schema).is_some_and(|order| match op {
                Op::Lt => order.is_lt(),
                Op::Le => order.is_le(),
                Op::Gt => order.is_gt(),
                _ => order.is_ge(),
            })
        }),
        Check::Contains(needle) => texts(atom, &mut |text| memchr::memmem::find(text, needle).is_some()),
        Check::Matches(pattern) => texts(atom, &mut |text| pattern.is_match(text)),
        Check::Mask(mask) => match atom {
            Atom::Int(n) | Atom::Enum(n, ..) => n & mask != 0,
            Atom::Free(text) => text.parse::<i128>().is_ok_and(|n| n & mask != 0),
            _ => false,
        },
    }
}

fn texts(atom: &Atom<'_>, look: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    match atom {
        Atom::Text(text) | Atom::Free(text) | Atom::Enum(_, Some(text), _) => look(text.as_bytes()),
        Atom::Bytes(bytes) => look(bytes),
        _ => false,
    }
}

fn is_wanted(wanted: &Wanted, atom: &Atom<'_>, schema: &Schema) -> bool {
    match &wanted.high {
        None => wanted.low.iter().any(|want| compare(atom, want, schema).is_some_and(Ordering::is_eq)),
        Some(high) => {
            wanted.low.iter().any(|want| compare(atom, want, schema).is_some_and(Ordering::is_ge))
                && high.iter().any(|want| compare(atom, want, schema).is_some_and(Ordering::is_le))
        }
    }
}

/// How a value stands to a wanted one; `None` where they are of different kinds.
fn compare(atom: &Atom<'_>, want: &Want, schema: &Schema) -> Option<Ordering> {
    match (atom, want) {
        (Atom::Bool(a), Want::Bool(b)) => Some(a.cmp(b)),
        (Atom::Int(a) | Atom::Enum(a, ..), Want::Int(b)) => Some(a.cmp(b)),
        (Atom::Int(a) | Atom::Enum(a, ..), Want::Float(b)) => int_float(*a, *b),
        (Atom::Float(a), Want::Int(b)) => int_float(*b, *a).map(Ordering::reverse),
        (Atom::Float(a), Want::Float(b)) => a.partial_cmp(b),
        (Atom::Nanos(a), Want::Nanos(b)) => Some(a.cmp(b)),
        (Atom::Text(a) | Atom::Free(a), Want::Text(b)) => Some((*a).cmp(b.as_str())),
        (Atom::Text(a) | Atom::Free(a), Want::Bytes(b)) => Some(a.as_bytes().cmp(b)),
        (Atom::Bytes(a), Want::Bytes(b)) => Some((**a).cmp(b)),
        (Atom::Enum(a, name, Kind::Enum(id)), Want::Text(b)) => {
            match schema.enum_plan(*id).and_then(|e| e.number_of(b)) {
                Some(number) => Some(a.cmp(&i128::from(number))),
                // A name of another enum that the path may mean.
                None => name.map(|name| name.cmp(b.as_str())),
            }
        }
        (Atom::Text(a), Want::Id(b)) => Some((*a).cmp(b.as_str())),
        (Atom::Int(a), Want::Id(b)) => b.parse().ok().map(|b| a.cmp(&b)),
        (Atom::Free(a), Want::Int(b)) => match a.parse::<i128>() {
            Ok(a) => Some(a.cmp(b)),
            Err(_) => a.parse::<f64>().ok().and_then(|a| int_float(*b, a)).map(Ordering::reverse),
        },
        (Atom::Free(a), Want::Float(b)) => a.parse::<f64>().ok()?.partial_cmp(b),
        _ => None,
    }
}

/// A whole number against one with a point, exact where the latter is whole too.
fn int_float(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.fract() == 0.0 && b.abs() < 1e30 { Some(a.cmp(&(b as i128))) } else { (a as f64).partial_cmp(&b) }
}

/// How two wanted values stand to each other.
pub fn order(a: &Want, b: &Want) -> Option<Ordering> {
    match (a, b) {
        (Want::Int(a), Want::Int(b)) | (Want::Nanos(a), Want::Nanos(b)) => Some(a.cmp(b)),
        (Want::Float(a), Want::Float(b)) => a.partial_cmp(b),
        (Want::Int(a), Want::Float(b)) => int_float(*a, *b),
        (Want::Float(a), Want::Int(b)) => int_float(*b, *a).map(Ordering::reverse),
        (Want::Text(a), Want::Text(b)) => Some(a.cmp(b)),
        (Want::Bytes(a), Want::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
