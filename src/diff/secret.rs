//! Hidden values told apart without being shown: a hash stands beside what is printed in their place.
//! Never keeps a secret.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::base::Limits;
use crate::base::secret::REDACTED;
use crate::message::json::Expand;
use crate::message::{self, JsonOptions, Tree};
use crate::schema::{Schema, TypeId};

/// Encodings inside each other that are opened.
const MAX_LEVEL: usize = 8;
/// What a marked text begins with.
const HIDDEN: &str = "\u{1}s";

/// Marks what is hidden in a message by what stands there in truth.
pub(super) fn mark(schema: &Schema, limits: &Limits, ty: TypeId, payload: &[u8], value: &mut Value) {
    if !holds_hidden(value) {
        return;
    }
    let plain = Plain { schema, limits };
    plain.beside(value, &plain.of(ty, payload), MAX_LEVEL);
}

struct Plain<'a> {
    schema: &'a Schema,
    limits: &'a Limits,
}

impl Plain<'_> {
    /// A message as it is in truth.
    fn of(&self, ty: TypeId, payload: &[u8]) -> Value {
        let mut tree = Tree::new();
        let mut out = Vec::new();
        message::decode(self.schema, Some(ty), payload, self.limits, &mut tree, &mut Vec::new());
        let options = JsonOptions { redact: false, expand: Expand::All, ..JsonOptions::new(self.limits) };
        message::json::write(self.schema, &tree, payload, &options, &mut out, &mut Vec::new());
        serde_json::from_slice(&out).unwrap_or_default()
    }

    fn beside(&self, shown: &mut Value, plain: &Value, level: usize) {
        match (shown, plain) {
            (Value::Object(shown), Value::Object(plain)) if shown.keys().eq(plain.keys()) => {
                for (key, value) in shown.iter_mut() {
                    self.beside(value, plain.get(key).unwrap_or(&Value::Null), level);
                }
            }
            (Value::Array(shown), Value::Array(plain)) if shown.len() == plain.len() => {
                shown.iter_mut().zip(plain).for_each(|(shown, plain)| self.beside(shown, plain, level));
            }
            (shown, plain) => match self.opened(shown, plain).filter(|_| level > 0) {
                // Opened only to hide what is in it.
                Some(inner) => {
                    if let Some(value) = shown.get_mut("$value") {
                        self.beside(value, &inner, level - 1);
                    }
                }
                None => {
                    let mut hasher = DefaultHasher::new();
                    plain.to_string().hash(&mut hasher);
                    fill(shown, hasher.finish());
                }
            },
        }
    }

    /// The message in a text or bytes that is shown opened.
    fn opened(&self, shown: &Value, plain: &Value) -> Option<Value> {
        let ty = self.schema.type_by_name(shown.get("$type")?.as_str()?)?;
        let text = plain.as_str()?;
        let bytes = match shown.get("$encoding")?.as_str()? {
            "hex" => hex_simd::decode_to_vec(text).ok()?,
            _ => base64_simd::forgiving_decode_to_vec(text.as_bytes()).ok()?,
        };
        Some(self.of(ty, &bytes))
    }
}

fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(elements) => elements.iter().any(holds_hidden),
        Value::Object(object) => object.iter().any(|(k, v)| k.contains(REDACTED) || holds_hidden(v)),
        _ => false,
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
