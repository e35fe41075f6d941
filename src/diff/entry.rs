//! One message as it is compared: its JSON with ids marked, and what it is found by.
//! Never holds a tree of values.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use crate::session::essence::MARK;

use super::ids::{Table, marked};
use super::untyped::fields;

/// One entry.
pub(super) struct Entry {
    /// The first frame.
    pub frame: u64,
    /// Where it belongs in the timeline.
    pub stage: Option<u32>,
    /// The branches that are set.
    pub kind: Arc<str>,
    /// JSON with marked ids.
    pub json: Box<[u8]>,
    /// Equal for messages that are equal but for ids.
    pub hash: u64,
    /// Its ids, in an order that depends on the content alone.
    pub ids: Box<[u32]>,
}

impl Entry {
    pub(super) fn new(
        frame: u64,
        stage: Option<u32>,
        kind: Arc<str>,
        value: &Value,
        group: u32,
        ids: &mut Table,
    ) -> Self {
        let mut found = Vec::new();
        let hash = hash(value, &mut found);
        let ids = found.iter().filter_map(|t| marked(t)).map(|(ns, v)| ids.intern(ns, group, v)).collect();
        let json = serde_json::to_vec(value).unwrap_or_default().into();
        Self { frame, stage, kind, json, hash, ids }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

/// A hash of a value that ids and the order of members have no part in. `ids` gets the marks.
pub(super) fn hash<'v>(value: &'v Value, ids: &mut Vec<&'v str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0u8.hash(&mut hasher),
        Value::Bool(b) => (1u8, b).hash(&mut hasher),
        Value::Number(n) => (2u8, n).hash(&mut hasher),
        Value::String(text) => match marked(text) {
            Some((namespace, _)) => {
                ids.push(text);
                (3u8, namespace).hash(&mut hasher);
            }
            None => (4u8, text).hash(&mut hasher),
        },
        Value::Array(elements) => {
            (5u8, elements.len()).hash(&mut hasher);
            elements.iter().for_each(|v| hash(v, ids).hash(&mut hasher));
        }
        // Bytes that read as a message are that message, however it was encoded.
        Value::Object(object) if fields(object).is_some() => {
            (7u8, fields(object).map(|fields| hash(fields, ids))).hash(&mut hasher);
        }
        Value::Object(object) => {
            let mut members: Vec<(&str, u64, Vec<&str>)> = object
                .iter()
                .map(|(key, value)| {
                    let mut inside = Vec::new();
                    let name = match marked(key) {
                        Some(_) => {
                            inside.push(key.as_str());
                            ""
                        }
                        None => key.as_str(),
                    };
                    let hash = hash(value, &mut inside);
                    (name, hash, inside)
                })
                .collect();
            members.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
            (6u8, members.len()).hash(&mut hasher);
            for (name, hash, inside) in members {
                (name, hash).hash(&mut hasher);
                ids.extend(inside);
            }
        }
    }
    hasher.finish()
}

/// Whether nothing but ids stands in a value.
pub(super) fn is_ids_alone(value: &Value) -> bool {
    match value {
        Value::String(text) => marked(text).is_some(),
        Value::Array(elements) => elements.iter().all(is_ids_alone),
        Value::Object(object) => object.values().all(is_ids_alone),
        _ => false,
    }
}

/// Unknown fields by number: a list in wire order says nothing by the order of its numbers.
pub(super) fn unknown_by_number(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(unknown_by_number),
        Value::Object(object) => {
            object.values_mut().for_each(unknown_by_number);
            let Some(Value::Array(fields)) = object.get_mut("$unknown") else { return };
            let mut by_number = serde_json::Map::new();
            for mut field in std::mem::take(fields) {
                let number = field.get("number").map(Value::to_string).unwrap_or_default();
                let wire = field.get("wire").and_then(Value::as_str).unwrap_or_default().to_owned();
                field = serde_json::json!({ wire: field["value"].take() });
                if let Value::Array(list) =
                    by_number.entry(number).or_insert_with(|| Value::Array(Vec::new()))
                {
                    list.push(field)
                }
            }
            object.insert("$unknown".to_owned(), Value::Object(by_number));
        }
        _ => {}
    }
}

/// Undoes the escape of a text that is no mark.
pub(super) fn plain(text: &str) -> &str {
    match text.strip_prefix(MARK) {
        Some(rest) if rest.starts_with(MARK) => rest,
        _ => text,
    }
}
