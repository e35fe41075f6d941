//! Bytes that nothing names, opened as the message that they may be, so that two of them are compared by fields.
//! Never decides for one side alone: which form is compared is settled where both are there.

use serde_json::{Map, Value, json};

use crate::base::Limits;
use crate::message::{self, JsonOptions, NodeKind, Tree};
use crate::schema::Schema;
use crate::session::essence::{BYTES, escape};

/// What bytes read as, beside them: fields by number.
const FIELDS: &str = "$fields";
/// The encoding of a message without a type.
const UNTYPED: &str = "fields";

/// A value as it is compared.
pub(super) enum Form<'v> {
    /// Bytes in base64, and the fields that they read as.
    Bytes(&'v str, Option<&'v Value>),
    /// An encoding that was opened: how it was encoded is not content. Whether its fields are guessed.
    Opened(&'v Value, bool),
    /// Anything else.
    Plain,
}

/// The form of an object.
pub(super) fn form(object: &Map<String, Value>) -> Form<'_> {
    if let Some(bytes) = bytes(object) {
        return Form::Bytes(bytes, fields(object));
    }
    match (object.get("$encoding"), object.get("$value")) {
        (Some(encoding), Some(inner)) => Form::Opened(inner, encoding == UNTYPED),
        _ => Form::Plain,
    }
}

/// Whether what an object holds was opened without a type: JSON, or bytes that read as a message.
pub(super) fn is_free(object: &Map<String, Value>) -> bool {
    let encoding = object.get("$encoding").and_then(Value::as_str);
    matches!(encoding, Some("json" | UNTYPED)) || object.contains_key(FIELDS)
}

/// The base64 of bytes that nothing else is known of.
pub(super) fn bytes(object: &Map<String, Value>) -> Option<&str> {
    let alone = object.keys().all(|key| key == BYTES || key == FIELDS);
    object.get(BYTES).filter(|_| alone)?.as_str()
}

/// The message that bytes read as.
pub(super) fn fields(object: &Map<String, Value>) -> Option<&Value> {
    bytes(object).and_then(|_| object.get(FIELDS))
}

/// The message of a frame whose type is not known.
pub(super) fn untyped(message: Value) -> Value {
    json!({ "$encoding": UNTYPED, "$value": message })
}

/// Puts beside all bytes in a value the fields that they read as.
pub(super) fn open(schema: &Schema, limits: &Limits, redact: bool, value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|v| open(schema, limits, redact, v)),
        Value::Object(object) => match bytes(object) {
            Some(text) => {
                let bytes = base64_simd::STANDARD.decode_to_vec(text).unwrap_or_default();
                if let Some(fields) = guessed(schema, limits, redact, &bytes) {
                    object.insert(FIELDS.to_owned(), fields);
                }
            }
            None => object.values_mut().for_each(|v| open(schema, limits, redact, v)),
        },
        _ => {}
    }
}

/// Bytes as a message of fields by number, where that is likelier than anything else.
fn guessed(schema: &Schema, limits: &Limits, redact: bool, bytes: &[u8]) -> Option<Value> {
    let likely = message::guess(bytes, 0) == NodeKind::Message;
    likely.then(|| decoded(schema, limits, redact, bytes)).flatten()
}

/// A text that stands where the other side has a message, as a message too, where it reads as one. What is secret in
/// it is hidden by now.
pub(super) fn text_as_message(text: &str) -> Option<Value> {
    let reads = message::is_message(text.as_bytes());
    reads.then(|| decoded(&Schema::default(), &Limits::default(), false, text.as_bytes())).flatten()
}

fn decoded(schema: &Schema, limits: &Limits, redact: bool, bytes: &[u8]) -> Option<Value> {
    let (mut tree, mut out) = (Tree::new(), Vec::new());
    message::decode(schema, None, bytes, limits, &mut tree, &mut Vec::new());
    let options = JsonOptions { redact, ..JsonOptions::new(limits) };
    message::json::write(schema, &tree, bytes, &options, &mut out, &mut Vec::new());
    let mut fields = serde_json::from_slice(&out).ok()?;
    escape(&mut fields);
    Some(fields)
}

/// A value as it is shown: fields in place of the bytes that read as them, messages without what says that they are untyped.
pub(super) fn shown(value: &mut Value) {
    let Value::Object(object) = value else { return };
    let inner = match form(object) {
        Form::Bytes(_, Some(_)) => object.shift_remove(FIELDS),
        Form::Opened(_, true) => object.shift_remove("$value"),
        _ => None,
    };
    if let Some(inner) = inner {
        *value = inner;
    }
}
