//! Ends of streams back into bytes: Connect's EndStreamResponse and gRPC-Web's trailers.
//! Never writes what decoding added.

use serde_json::Value;

use crate::message::json_in::{self, push_tag, push_varint};
use crate::schema::Schema;

use super::{Error, syntax};

/// The JSON of an end of a stream or an error, without the `decoded` that details have gained.
pub fn end_stream(text: &str) -> Result<Vec<u8>, Error> {
    let mut value: Value = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
    if let Value::String(raw) = value {
        // It was no JSON: its text.
        return Ok(raw.into_bytes());
    }
    let error = match value.get_mut("error") {
        Some(error) => Some(error),
        None => Some(&mut value),
    };
    if let Some(Value::Array(details)) = error.and_then(|e| e.get_mut("details")) {
        for detail in details.iter_mut().filter_map(Value::as_object_mut) {
            if detail.contains_key("value") {
                detail.shift_remove("decoded");
            }
        }
    }
    serde_json::to_vec(&value).map_err(|e| syntax(text, &e))
}

/// The payload of gRPC-Web's trailer frame (PROTOCOL-WEB.md): `name: value` lines.
pub fn trailers(schema: &Schema, text: &str) -> Result<Vec<u8>, Error> {
    let value: Value = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
    let Value::Object(members) = value else { return Err(Error::new(0, "expected an object of trailers")) };
    let mut out = Vec::new();
    for (name, value) in &members {
        let one = [value.clone()];
        let values = match value {
            Value::Array(items) => items.as_slice(),
            _ => &one[..],
        };
        for value in values {
            let wrong = || Error::new(0, "expected text").path(name);
            let value = match (name.as_str(), value) {
                ("grpc-message", Value::String(text)) => percent_encode(text),
                ("grpc-status-details-bin", Value::Object(_)) => {
                    let bytes = status(schema, value).ok_or_else(|| {
                        Error::new(0, "expected code, message and details, each an Any of a loaded type")
                            .path(name)
                    })?;
                    base64_simd::STANDARD_NO_PAD.encode_to_string(bytes)
                }
                (_, Value::String(text)) => text.clone(),
                _ => return Err(wrong()),
            };
            if name.contains(['\r', '\n', ':']) || value.contains(['\r', '\n']) {
                return Err(wrong());
            }
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    Ok(out)
}

/// google.rpc.Status by number, as it is read.
fn status(schema: &Schema, value: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let code = value.get("code")?.as_i64()?;
    if code != 0 {
        push_tag(&mut out, 1, 0);
        push_varint(&mut out, code as u64);
    }
    let mut bytes = |number: u32, bytes: &[u8]| {
        push_tag(&mut out, number, 2);
        push_varint(&mut out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    };
    let message = value.get("message")?.as_str()?;
    if !message.is_empty() {
        bytes(2, message.as_bytes());
    }
    let any = schema.type_by_name("google.protobuf.Any")?;
    for detail in value.get("details")?.as_array()? {
        let mut wire = Vec::new();
        let errors = json_in::encode(schema, any, &detail.to_string(), Default::default(), &mut wire);
        if !errors.is_empty() {
            return None;
        }
        bytes(3, &wire);
    }
    Some(out)
}

/// Percent-Encoded of gRPC over HTTP/2: printable ASCII but `%` stands for itself.
fn percent_encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
