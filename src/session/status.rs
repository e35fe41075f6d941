//! How a stream ended, read from the frame that ends it.
//! Never decides what that means for a run.

use crate::base::text::percent_decoded;
use serde_json::Value;

use crate::dialect::Plan;
use crate::schema::{FieldId, Schema, TypeId};

/// How a stream's end frame or trailers say it ended.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Status {
    /// The Connect name of the status code; `None` where it ended well.
    pub code: Option<Box<str>>,
    /// The message beside it.
    pub message: Box<str>,
    /// What its details say, by the rules of the dialects.
    pub details: Vec<String>,
}

/// Names of gRPC status codes in Connect's spelling, by number.
const CODES: [&str; 17] = [
    "ok",
    "canceled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
];

impl Status {
    /// From the JSON of an EndStreamResponse, or of a unary call's error body (Connect: Error End-Stream).
    pub fn from_json(payload: &[u8]) -> Self {
        let Ok(Value::Object(root)) = serde_json::from_slice::<Value>(payload) else {
            return Self::default();
        };
        let error = match (root.get("error"), root.contains_key("code")) {
            (Some(Value::Object(error)), _) => error,
            (_, true) => &root,
            _ => return Self::default(),
        };
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let code = if text("code").is_empty() { "unknown" } else { text("code") };
        Self { code: Some(code.into()), message: text("message").into(), ..Self::default() }
    }

    /// From trailers (gRPC: Status, Status-Message); `None` where they hold no status.
    pub fn from_trailers<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut status, mut message) = (None, "");
        for (name, value) in fields {
            match name {
                "grpc-status" => status = Some(value.trim()),
                "grpc-message" => message = value,
                _ => {}
            }
        }
        let status = status?;
        let name = status.parse::<usize>().ok().and_then(|n| CODES.get(n)).copied().unwrap_or("unknown");
        let code = (name != "ok").then(|| name.into());
        Some(Self {
            code,
            message: String::from_utf8_lossy(&percent_decoded(message, false)).into(),
            ..Self::default()
        })
    }
}

/// What the details of a status say, in the order of the rules; `message` is the record's, so that a
/// detail stands beside its type (Connect: `decoded`; gRPC: an Any).
pub fn details(schema: &Schema, plan: &Plan, message: &[u8]) -> Vec<String> {
    if plan.details.is_empty() {
        return Vec::new();
    }
    let root: Value = serde_json::from_slice(message).unwrap_or_default();
    let lists = [root.get("error"), Some(&root), root.get("grpc-status-details-bin")];
    let lists = lists.into_iter().flatten().filter_map(|o| o.get("details")?.as_array());
    let mut found = Vec::new();
    for detail in lists.flatten().take(MAX_DETAILS) {
        let name =
            detail.get("type").or_else(|| detail.get("@type")).and_then(Value::as_str).unwrap_or_default();
        let ty = schema.type_by_name(name.rsplit('/').next().unwrap_or(name));
        let inside = if detail.get("@type").is_some() { Some(detail) } else { detail.get("decoded") };
        if let (Some(ty), Some(inside)) = (ty, inside) {
            look(schema, plan, ty, inside, 0, &mut found);
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, text)| text).collect()
}

/// Details of one status that are looked into.
const MAX_DETAILS: usize = 16;
/// Messages inside one another that are looked into.
const MAX_DEPTH: usize = 16;

fn look(
    schema: &Schema,
    plan: &Plan,
    ty: TypeId,
    value: &Value,
    depth: usize,
    out: &mut Vec<(usize, String)>,
) {
    let (Value::Object(members), true) = (value, depth < MAX_DEPTH) else { return };
    let own = schema.ty(ty);
    for (key, value) in members {
        let Some(index) = own.field_by_name(key).or_else(|| own.field_by_json_name(key)) else { continue };
        if let Some(inner) = own.field(index).and_then(|f| f.kind.message()) {
            look(schema, plan, inner, value, depth + 1, out);
        }
        let text = match value {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let rank = plan.details.iter().position(|f| *f == FieldId { ty, index });
        if let Some(rank) = rank.filter(|_| out.len() < MAX_DETAILS) {
            out.push((rank, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, code: Option<&str>, message: &str) {
        let status = Status::from_json(json.as_bytes());
        assert_eq!((status.code.as_deref(), &*status.message), (code, message));
    }

    #[test]
    fn end_frames() {
        check("{}", None, "");
        check("", None, "");
        check(r#"{"metadata":{"a":["b"]}}"#, None, "");
        check(r#"{"error":{"code":"canceled","message":"gone"}}"#, Some("canceled"), "gone");
        check(r#"{"error":{}}"#, Some("unknown"), "");
        check(r#"{"code":"internal"}"#, Some("internal"), "");
    }

    #[test]
    fn trailers() {
        let status = |fields: &[(&str, &str)]| Status::from_trailers(fields.iter().copied());
        assert_eq!(status(&[("x", "y")]), None);
        assert_eq!(status(&[("grpc-status", "0")]), Some(Status::default()));
        let canceled = status(&[("grpc-status", "1"), ("grpc-message", "a%20b%")]).unwrap_or_default();
        assert_eq!((canceled.code.as_deref(), &*canceled.message), (Some("canceled"), "a b%"));
        assert_eq!(status(&[("grpc-status", "99")]).and_then(|s| s.code).as_deref(), Some("unknown"));
    }
}
