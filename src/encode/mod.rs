//! Records and messages in JSON back into bytes: the way out that `decode` is the way in of.
//! Never writes a byte of what it does not understand: that is an error with its place.

mod free;
mod split;
mod status;
#[cfg(test)]
mod tests;
mod wrap;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::base::text::clean;
use crate::message::json_in;
use crate::schema::{Schema, TypeId};

pub use split::{Piece, Pieces, SplitError};
pub use wrap::{PayloadForm, Wrap, id_path};

/// Why JSON cannot be encoded, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Offset in the text that was given, in bytes.
    pub at: usize,
    /// The path of the member (`message.a.b[3]`); empty for the whole.
    pub path: String,
    /// What was expected, what was found.
    pub text: String,
}

impl Error {
    fn new(at: usize, text: impl Into<String>) -> Self {
        Self { at, path: String::new(), text: text.into() }
    }

    fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }
}

/// What a record's payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A message.
    Message,
    /// The end of a stream, in an envelope of its own.
    End,
    /// Trailers or an error that no envelope held: no frame.
    Outside,
}

/// What a record says of what carried its message.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Carried {
    /// The outer message's type.
    pub message_type: String,
    /// The field that held the payload.
    pub field: String,
    /// The other members: order and ids, as text.
    pub members: Vec<(String, String)>,
}

/// A record, encoded.
#[derive(Clone, PartialEq, Debug)]
pub struct Encoded {
    /// The payload, not compressed.
    pub payload: Vec<u8>,
    /// The flags of its envelope as they were, 0 where it had none.
    pub flags: u8,
    /// Whether its payload was compressed.
    pub compressed: bool,
    /// What it is.
    pub role: Role,
    /// The message's type, where it has one.
    pub ty: Option<TypeId>,
    /// What carried it.
    pub carrier: Option<Carried>,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, rename = "messageType")]
    message_type: Option<&'a RawValue>,
    #[serde(borrow)]
    flags: Option<&'a RawValue>,
    #[serde(default)]
    compressed: bool,
    #[serde(default, rename = "endStream")]
    end_stream: bool,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    length: u64,
    #[serde(default)]
    findings: Vec<Found<'a>>,
    #[serde(default)]
    carrier: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Deserialize)]
struct Found<'a> {
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
}

/// Encodes a message of a known type; `text` is its ProtoJSON.
pub fn message(schema: &Schema, ty: TypeId, text: &str) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let errors = json_in::encode(schema, ty, text, Default::default(), &mut out);
    match errors.into_iter().next() {
        None => Ok(out),
        Some(error) => {
            let mut text_of = error.text;
            if text.contains("\"$encoding\"") {
                text_of
                    .push_str(" (what --expand all opened is not closed again: decode with --expand none)");
            }
            Err(Error { at: error.at, path: error.path, text: text_of })
        }
    }
}

/// Encodes a frame record as `decode` writes them.
pub fn record(schema: &Schema, text: &str) -> Result<Encoded, Error> {
    let record: Record<'_> = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
    if record.message.is_none() && record.message_type.is_none() && record.flags.is_none() {
        return Err(Error::new(
            0,
            "this is no frame record: it has no message, messageType or flags (a bare message is encoded with --as TYPE)",
        ));
    }
    if record.findings.iter().any(|f| f.code.as_deref() == Some("secret.redacted")) {
        return Err(
            Error::new(0, "the record's secrets are hidden: decode with --show-secrets").path("findings")
        );
    }
    if record
        .findings
        .iter()
        .any(|f| f.code.as_deref() == Some("limit.reached") && f.path.as_deref() == Some("$rest"))
    {
        return Err(Error::new(
            0,
            "the record does not hold all of its message: decode with a larger --limit max_rest",
        )
        .path("findings"));
    }
    let flags = record.flags.map(|raw| flags(text, raw)).transpose()?.flatten();
    let mut encoded = Encoded {
        payload: Vec::new(),
        flags: flags.unwrap_or(0),
        compressed: record.compressed,
        role: Role::Message,
        ty: None,
        carrier: record.carrier.map(carried),
    };
    let named: Option<(String, usize)> = record.message_type.and_then(|raw| {
        let name: Option<String> = serde_json::from_str(raw.get()).ok()?;
        Some((name?, offset(text, raw.get())))
    });
    let inside = |mut error: Error, at: usize| {
        error.at += at;
        error.path = match error.path.is_empty() {
            true => "message".to_owned(),
            false => format!("message.{}", error.path),
        };
        error
    };
    let Some(raw) = record.message else {
        if record.length == 0 && named.is_none() {
            return Ok(encoded);
        }
        return Err(Error::new(0, "the record does not hold its message").path("message"));
    };
    let at = offset(text, raw.get());
    let no_message = named.is_none();
    match (&record.kind, named) {
        (Some(kind), None) if kind == "end_stream" || record.end_stream => {
            encoded.role = Role::End;
            encoded.payload = status::end_stream(raw.get()).map_err(|e| inside(e, at))?;
        }
        (Some(kind), None) if kind == "trailers" && no_message => {
            encoded.role = if flags.is_some() { Role::End } else { Role::Outside };
            encoded.payload = status::trailers(schema, raw.get()).map_err(|e| inside(e, at))?;
        }
        (Some(kind), None) if kind == "error" => {
            encoded.role = Role::Outside;
            encoded.payload = status::end_stream(raw.get()).map_err(|e| inside(e, at))?;
        }
        (_, None) => encoded.payload = free::message(raw.get()).map_err(|e| inside(e, at))?,
        (_, Some((name, place))) => {
            let Some(ty) = schema.type_by_name(&name) else {
                let near =
                    schema.nearest_type(&name).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                let text = format!("no message type '{}' is loaded{near}", clean(&name));
                return Err(Error::new(place, text).path("messageType"));
            };
            encoded.ty = Some(ty);
            encoded.payload = message(schema, ty, raw.get()).map_err(|e| inside(e, at))?;
        }
    }
    Ok(encoded)
}

/// Appends an envelope and its payload (Connect: Enveloped-Message; gRPC: Length-Prefixed-Message); `None`
/// where the payload is longer than an envelope can say.
pub fn envelope(flags: u8, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(payload.len()).ok()?;
    out.push(flags);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(payload);
    Some(())
}

fn flags(text: &str, raw: &RawValue) -> Result<Option<u8>, Error> {
    let wrong = || {
        let error =
            Error::new(offset(text, raw.get()), "expected flags as \"0x00\", a number up to 255, or null");
        error.path("flags")
    };
    let value: serde_json::Value = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    let number = match &value {
        serde_json::Value::Null => return Ok(None),
        serde_json::Value::Number(n) => n.as_u64(),
        serde_json::Value::String(s) => match s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => s.parse().ok(),
        },
        _ => None,
    };
    number.and_then(|n| u8::try_from(n).ok()).map(Some).ok_or_else(wrong)
}

fn carried(members: serde_json::Map<String, serde_json::Value>) -> Carried {
    let mut carried = Carried::default();
    for (name, value) in members {
        let text = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => continue,
        };
        match name.as_str() {
            "messageType" => carried.message_type = text,
            "field" => carried.field = text,
            "encoding" => {}
            _ => carried.members.push((name, text)),
        }
    }
    carried
}

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize).min(whole.len())
}

/// An error of serde_json's, which counts lines and columns of bytes from 1.
fn syntax(text: &str, error: &serde_json::Error) -> Error {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default().to_owned();
    Error::new(at, said)
}
