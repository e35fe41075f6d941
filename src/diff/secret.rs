//! Hidden values told apart without being shown: a hash stands beside what is printed in their place.
//! Never keeps a secret.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::base::Limits;
use crate::base::secret::REDACTED;
use crate::message::json::Expand;
use crate::message::{self, JsonOptions, Tree};
use crate::schema::{Schema, TypeId};

/// What a marked text begins with.
const HIDDEN: &str = "\u{1}s";

/// Marks what is hidden in a message by what stands there in truth.
pub(super) fn mark(schema: &Schema, limits: &Limits, ty: TypeId, payload: &[u8], value: &mut Value) {
    if !holds_hidden(value) {
        return;
    }
    let mut tree = Tree::new();
    let mut plain = Vec::new();
    message::decode(schema, Some(ty), payload, limits, &mut tree, &mut Vec::new());
    let options = JsonOptions { redact: false, expand: Expand::All, ..JsonOptions::new(limits) };
    message::json::write(schema, &tree, payload, &options, &mut plain, &mut Vec::new());
    beside(value, &serde_json::from_slice(&plain).unwrap_or_default());
}

fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(elements) => elements.iter().any(holds_hidden),
        Value::Object(object) => object.iter().any(|(k, v)| k.contains(REDACTED) || holds_hidden(v)),
        _ => false,
    }
}

fn beside(shown: &mut Value, plain: &Value) {
    match (shown, plain) {
        (Value::Object(shown), Value::Object(plain)) if shown.keys().eq(plain.keys()) => {
            shown.iter_mut().for_each(|(key, value)| beside(value, plain.get(key).unwrap_or(&Value::Null)));
        }
        (Value::Array(shown), Value::Array(plain)) if shown.len() == plain.len() => {
            shown.iter_mut().zip(plain).for_each(|(shown, plain)| beside(shown, plain));
        }
        (shown, plain) => {
            let mut hasher = DefaultHasher::new();
            plain.to_string().hash(&mut hasher);
            fill(shown, hasher.finish());
        }
    }
}

fn fill(shown: &mut Value, hash: u64) {
    match shown {
        Value::String(text) if text.contains(REDACTED) => *text = format!("{HIDDEN}{hash:016x} {text}"),
        Value::Array(elements) => elements.iter_mut().for_each(|v| fill(v, hash)),
        Value::Object(object) => object.values_mut().for_each(|v| fill(v, hash)),
        _ => {}
    }
}

/// A text as it may be shown.
pub(super) fn shown(text: &str) -> &str {
    let marked = text.strip_prefix(HIDDEN).and_then(|t| t.split_once(' '));
    marked.map_or(text, |(_, text)| text)
}
