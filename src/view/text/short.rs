//! A message in one line.
//! Never longer than its room; what does not fit is cut with an ellipsis.

use serde_json::Value;

use crate::base::text::{cut, push_clean};

use super::super::Decoded;

/// The message of a frame in at most `room` characters: the chain of only members as a path, then what it holds.
pub fn message(decoded: &Decoded, room: usize) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(&decoded.message) else { return String::new() };
    let mut out = String::new();
    let mut value = &value;
    let mut path = Vec::new();
    while let Value::Object(members) = value {
        let mut only = members.iter();
        let (Some((key, inner)), None) = (only.next(), only.next()) else { break };
        // The kind has its own column.
        if !(path.is_empty() && decoded.kind.as_deref() == Some(key)) {
            path.push(key.as_str());
        }
        value = inner;
    }
    push_clean(&mut out, &path.join("."));
    if !path.is_empty() && !is_empty(value) {
        out.push(' ');
    }
    match value {
        Value::Object(members) => {
            for (i, (key, value)) in members.iter().enumerate() {
                if out.len() > room * 4 {
                    break;
                }
                if i > 0 {
                    out.push(' ');
                }
                push_clean(&mut out, key);
                out.push('=');
                push(&mut out, value, room);
            }
        }
        value => push(&mut out, value, room),
    }
    cut(&out, room)
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Object(members) if members.is_empty())
}

fn push(out: &mut String, value: &Value, room: usize) {
    match value {
        Value::String(text) => {
            out.push('"');
            // A prefix is enough: no more than `room` characters can be shown.
            let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
            push_clean(out, &text[..end]);
            out.push('"');
        }
        Value::Object(members) if members.is_empty() => out.push_str("{}"),
        Value::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if out.len() > room * 4 {
                    break;
                }
                push_clean(out, key);
                out.push('=');
                push(out, value, room);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, value) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if out.len() > room * 4 {
                    break;
                }
                push(out, value, room);
            }
            out.push(']');
        }
        other => push_clean(out, &other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, kind: &str, room: usize, expect: &str) {
        let decoded =
            Decoded { kind: Some(kind.into()), message: json.as_bytes().to_vec(), ..Decoded::default() };
        assert_eq!(message(&decoded, room), expect);
    }

    #[test]
    fn shapes() {
        check(r#"{"update":{"heartbeat":{}}}"#, "update", 40, "heartbeat");
        check(r#"{"update":{"text":{"text":"hi\nyou"}}}"#, "update", 40, r#"text.text "hi\nyou""#);
        check(
            r#"{"ask":{"id":1,"args":{"path":"/a"},"list":[1,"x"]}}"#,
            "ask",
            60,
            r#"id=1 args={path="/a"} list=[1 "x"]"#,
        );
        check(r#"{"text":"abcdefghij"}"#, "x", 12, "text \"abcde…");
        check("", "x", 12, "");
    }
}
