//! Messages that were decoded without a schema, back into wire format: keys are field numbers.
//! Never guesses more than the way in did.

use base64_simd::STANDARD;
use serde_json::{Map, Value};

use crate::message::json_in::{prefix_length, push_tag, push_varint};

use super::{Error, syntax};

/// Largest integer that is written as a number; larger ones are strings of digits.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The wire format of a message whose members are named by number.
pub fn message(text: &str) -> Result<Vec<u8>, Error> {
    let value: Value = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
    let Value::Object(members) = value else {
        return Err(Error::new(
            0,
            "expected an object whose members are field numbers, as no messageType is given",
        ));
    };
    let mut out = Vec::new();
    fields(&members, &mut out, "")?;
    Ok(out)
}

fn fields(members: &Map<String, Value>, out: &mut Vec<u8>, path: &str) -> Result<(), Error> {
    for (name, value) in members {
        let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let wrong = |text: &str| Error::new(0, text).path(&here);
        if name == "$rest" {
            out.extend_from_slice(&base64(value).ok_or_else(|| wrong("expected base64"))?);
            continue;
        }
        let number: u32 = name
            .parse()
            .ok()
            .filter(|n| (1..1 << 29).contains(n))
            .ok_or_else(|| wrong("expected a field number, as no messageType is given"))?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| field(number, item, out, &here))?,
            one => field(number, one, out, &here)?,
        }
    }
    Ok(())
}

fn field(number: u32, value: &Value, out: &mut Vec<u8>, path: &str) -> Result<(), Error> {
    let wrong = |text: &str| Error::new(0, text).path(path);
    match value {
        Value::Number(n) => {
            push_tag(out, number, 0);
            push_varint(
                out,
                n.as_u64().ok_or_else(|| wrong("expected a whole number that is not negative"))?,
            );
        }
        Value::String(text) => {
            match text.parse::<u64>().ok().filter(|n| *n > MAX_EXACT && n.to_string() == *text) {
                Some(n) => {
                    push_tag(out, number, 0);
                    push_varint(out, n);
                }
                None => bytes(number, text.as_bytes(), out),
            }
        }
        Value::Object(members) => {
            let only = members.iter().next().filter(|_| members.len() == 1);
            match only.map(|(name, value)| (name.as_str(), value)) {
                Some(("$i32", Value::String(n))) => {
                    push_tag(out, number, 5);
                    let n: u32 = n.parse().map_err(|_| wrong("expected 32 bits as a decimal number"))?;
                    out.extend_from_slice(&n.to_le_bytes());
                }
                Some(("$i64", Value::String(n))) => {
                    push_tag(out, number, 1);
                    let n: u64 = n.parse().map_err(|_| wrong("expected 64 bits as a decimal number"))?;
                    out.extend_from_slice(&n.to_le_bytes());
                }
                Some(("$bytes", value)) => {
                    bytes(number, &base64(value).ok_or_else(|| wrong("expected base64"))?, out);
                }
                Some(("$group", Value::Object(inner))) => {
                    push_tag(out, number, 3);
                    fields(inner, out, path)?;
                    push_tag(out, number, 4);
                }
                _ => {
                    let start = out.len();
                    fields(members, out, path)?;
                    prefix_length(out, start, number);
                }
            }
        }
        _ => return Err(wrong("expected a number, text, or a message of numbered fields")),
    }
    Ok(())
}

fn bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    push_tag(out, number, 2);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn base64(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode_to_vec(value.as_str()?.as_bytes()).ok()
}
