//! How calls end, as JSON: Connect's end of stream and errors, gRPC trailers and their status details.
//! Never drops what it cannot decode: details of unknown types keep their bytes.

use base64_simd as b64;
use serde_json::{Map, Value};

use crate::base::json::{push_fields, push_key, push_number, push_string};
use crate::base::secret::{REDACTED, Rules};
use crate::base::text::{clean, percent_decoded};
use crate::base::{Code, Finding, Limits, Space, Span};
use crate::schema::{Schema, is_secret_name};

use super::{JsonOptions, NodeKind, Tree, decode, json};

/// Appends Connect's EndStreamResponse or unary error as JSON (Connect protocol, Error Codes): `error.details[]`
/// (or `details[]`) gain `decoded`, the message of their `type`.
pub fn end_stream(
    schema: &Schema,
    payload: &[u8],
    options: &JsonOptions<'_>,
    limits: &Limits,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    let Some(mut value) = parsed(payload, findings) else {
        return raw(payload, secrets(schema, options), out);
    };
    let error = match value.get_mut("error") {
        Some(error) => Some(error),
        None => Some(&mut value),
    };
    if let Some(Value::Array(details)) = error.and_then(|e| e.get_mut("details")) {
        for detail in details.iter_mut().filter_map(Value::as_object_mut) {
            decode_detail(schema, detail, options, limits, findings);
        }
    }
    push_value(out, &value, secrets(schema, options));
}

/// What is to be hidden, where something is.
fn secrets<'s>(schema: &'s Schema, options: &JsonOptions<'_>) -> Option<&'s Rules> {
    options.redact.then(|| schema.secrets())
}

/// Decodes `value` of one error detail by its `type`. Bytes stay only where nothing in them can be a secret: those of
/// an unknown type are hidden.
fn decode_detail(
    schema: &Schema,
    detail: &mut Map<String, Value>,
    options: &JsonOptions<'_>,
    limits: &Limits,
    findings: &mut Vec<Finding>,
) {
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    let Some(encoded) = text("value").filter(|value| !value.is_empty()) else { return };
    let name = text("type").map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    let ty = schema.type_by_name(name);
    let bytes = b64::forgiving_decode_to_vec(encoded.as_bytes());
    if bytes.is_err() {
        findings.push(Finding::new(Code::CarrierBadEncoding, "expected base64").path("error.details.value"));
    }
    let mut is_plain = false;
    if let (Some(ty), Ok(bytes)) = (ty, &bytes) {
        let (mut tree, mut json, known) = (Tree::new(), Vec::new(), findings.len());
        decode(schema, Some(ty), bytes, limits, &mut tree, findings);
        json::write(schema, &tree, bytes, options, &mut json, findings);
        let doubtful = [Code::SecretRedacted, Code::ProtoUnknownField];
        let doubts = |f: &Finding| f.severity == crate::base::Severity::Error || doubtful.contains(&f.code);
        is_plain = !schema.reaches_secret(ty) && !findings.iter().skip(known).any(doubts);
        if let Ok(decoded) = serde_json::from_slice(&json) {
            detail.insert("decoded".to_owned(), decoded);
        }
    }
    if options.redact && !is_plain {
        detail.insert("value".to_owned(), Value::from(REDACTED));
        findings.push(Finding::new(Code::SecretRedacted, "1 value hidden: error.details.value"));
    }
}

/// Appends trailers as an object by name; a repeated one is an array. `grpc-message` is percent-decoded, and
/// `grpc-status-details-bin` decoded to google.rpc.Status (gRPC over HTTP/2, Responses).
pub fn trailers<'a>(
    schema: &Schema,
    fields: impl Iterator<Item = (&'a str, &'a str)>,
    options: &JsonOptions<'_>,
    limits: &Limits,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    push_fields(out, fields, |out, name, value| match name {
        "grpc-message" => {
            push_text(out, &String::from_utf8_lossy(&percent_decoded(value, false)), secrets(schema, options))
        }
        "grpc-status-details-bin" => details(schema, value, options, limits, out, findings),
        _ if options.redact && schema.secrets().is_header(name) => push_string(out, REDACTED),
        _ => push_text(out, value, secrets(schema, options)),
    });
}

/// google.rpc.Status: `int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3`. Read by number, so
/// that no schema has to be loaded for it.
fn details(
    schema: &Schema,
    value: &str,
    options: &JsonOptions<'_>,
    limits: &Limits,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    let Ok(bytes) = b64::forgiving_decode_to_vec(value.as_bytes()) else {
        findings
            .push(Finding::new(Code::CarrierBadEncoding, "expected base64").path("grpc-status-details-bin"));
        return push_string(out, if options.redact { REDACTED } else { value });
    };
    let mut tree = Tree::new();
    decode(schema, None, &bytes, limits, &mut tree, findings);
    let part = |number: u32| {
        tree.children(Tree::ROOT).filter(move |(_, n)| n.number == number && n.kind != NodeKind::Rest)
    };
    out.push(b'{');
    push_key(out, "code");
    push_number(out, part(1).last().map_or(0, |(_, n)| n.bits as i32));
    push_key(out, "message");
    let message = part(2).last().map(|(_, n)| String::from_utf8_lossy(n.bytes(&bytes)));
    push_text(out, &message.unwrap_or_default(), secrets(schema, options));
    push_key(out, "details");
    out.push(b'[');
    for (i, (_, node)) in part(3).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        any(schema, node.bytes(&bytes), options, limits, out, findings);
    }
    out.extend_from_slice(b"]}");
}

/// An Any in wire format, as ProtoJSON writes one.
fn any(
    schema: &Schema,
    wire: &[u8],
    options: &JsonOptions<'_>,
    limits: &Limits,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    let mut tree = Tree::new();
    let known = schema.type_by_name("google.protobuf.Any");
    decode(schema, known, wire, limits, &mut tree, findings);
    json::write(schema, &tree, wire, options, out, findings);
}

/// Appends JSON of no schema: cleaned, and secrets replaced by the names of their members.
pub fn free_json(
    schema: &Schema,
    payload: &[u8],
    options: &JsonOptions<'_>,
    out: &mut Vec<u8>,
    findings: &mut Vec<Finding>,
) {
    match parsed(payload, findings) {
        Some(value) => push_value(out, &value, secrets(schema, options)),
        None => raw(payload, secrets(schema, options), out),
    }
}

fn parsed(payload: &[u8], findings: &mut Vec<Finding>) -> Option<Value> {
    match serde_json::from_slice(payload) {
        Ok(value) => Some(value),
        Err(error) => {
            let at = byte_offset(payload, error.line(), error.column()) as u64;
            let text = format!("expected JSON: {}", clean(&error.to_string()));
            findings.push(Finding::new(Code::JsonMalformed, text).at(Span::new(Space::Payload, at, at)));
            None
        }
    }
}

/// The offset of a line and column, both from 1.
fn byte_offset(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        text.split_inclusive(|b| *b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// What is no JSON: its text, cut to what a person reads.
fn raw(payload: &[u8], secrets: Option<&Rules>, out: &mut Vec<u8>) {
    const MOST: usize = 1 << 16;
    let mut text = String::from_utf8_lossy(payload.get(..MOST).unwrap_or(payload)).into_owned();
    // An error detail cannot be told from its bytes here: nothing from the first one on is shown.
    if secrets.is_some()
        && let Some((before, _)) = text.split_once("\"value\"")
    {
        text = format!("{before}{REDACTED}");
    }
    push_text(out, &text, secrets);
}

/// Appends text as a JSON string, credentials in it masked.
fn push_text(out: &mut Vec<u8>, text: &str, secrets: Option<&Rules>) {
    let masked = secrets.and_then(|secrets| secrets.mask_text(text));
    push_string(out, masked.as_deref().unwrap_or(text));
}

/// Appends a JSON value; serde_json has bounded its depth.
fn push_value(out: &mut Vec<u8>, value: &Value, secrets: Option<&Rules>) {
    match value {
        Value::String(text) => push_text(out, text, secrets),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                push_value(out, item, secrets);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (i, (name, value)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                push_text(out, name, secrets);
                out.push(b':');
                let by_name = |secrets: &Rules| is_secret_name(name) || secrets.is_key(name);
                if secrets.is_some_and(by_name) && !matches!(value, Value::Null | Value::Bool(_)) {
                    push_string(out, REDACTED);
                } else {
                    push_value(out, value, secrets);
                }
            }
            out.push(b'}');
        }
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent() {
        assert_eq!(
            percent_decoded("not%20found%3A %C3%A9 100% %zz", false),
            "not found: é 100% %zz".as_bytes()
        );
    }

    #[test]
    fn secrets_by_member_name() {
        let mut out = Vec::new();
        let limits = Limits::default();
        let options = JsonOptions::new(&limits);
        free_json(
            &Schema::default(),
            br#"{"apiKey":"x","page_token":3,"n":1.50,"s":"\u001b"}"#,
            &options,
            &mut out,
            &mut Vec::new(),
        );
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"apiKey":"[redacted]","page_token":3,"n":1.5,"s":"\u001b"}"#
        );
    }

    #[test]
    fn trailers_of_a_failed_call() {
        let mut out = Vec::new();
        let fields = [
            ("grpc-status", "5"),
            ("grpc-message", "a%0Ab"),
            ("x", "1"),
            ("x", "2"),
            ("grpc-status-details-bin", "CAUSAW0"),
        ];
        let limits = Limits::default();
        trailers(
            &Schema::default(),
            fields.into_iter(),
            &JsonOptions::new(&limits),
            &limits,
            &mut out,
            &mut Vec::new(),
        );
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"grpc-status":"5","grpc-message":"a\nb","x":["1","2"],"grpc-status-details-bin":{"code":5,"message":"m","details":[]}}"#
        );
    }
}
