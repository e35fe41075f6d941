//! How a stream ended, read from the frame that ends it.
//! Never decides what that means for a run.

use crate::base::text::percent_decoded;
use serde_json::Value;

/// How a stream's end frame or trailers say it ended.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Status {
    /// The Connect name of the status code; `None` where it ended well.
    pub code: Option<Box<str>>,
    /// The message beside it.
    pub message: Box<str>,
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
        Self { code: Some(code.into()), message: text("message").into() }
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
        Some(Self { code, message: String::from_utf8_lossy(&percent_decoded(message, false)).into() })
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
