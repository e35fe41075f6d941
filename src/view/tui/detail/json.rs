//! JSON as lines: what has no bytes of its own in the wire format.
//! Never recurses past its bound; the value has been read with one already.

use serde_json::Value;

use crate::base::text::{clean, cut};

use super::Tone;
use super::build::{Builder, line};

const LONGEST: usize = 2_000;
const MAX_LINES: usize = 100_000;
const DEEPEST: u16 = 200;

impl Builder<'_> {
    /// Appends the members of a value.
    pub(super) fn json(&mut self, value: &Value, depth: u16, tone: Tone) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.member(clean(key), value, depth, tone);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.member(format!("[{at}]"), value, depth, tone);
                }
            }
            scalar => self.member(String::new(), scalar, depth, tone),
        }
    }

    fn member(&mut self, name: String, value: &Value, depth: u16, tone: Tone) {
        if self.lines.len() >= MAX_LINES || depth > DEEPEST {
            return;
        }
        let here = self.lines.len();
        let mut row = line(depth, name.clone(), tone);
        row.step = name;
        match value {
            Value::Object(members) => row.note = format!("{} members", members.len()),
            Value::Array(items) => row.note = format!("{} elements", items.len()),
            Value::String(text) => row.value = format!("\"{}\"", cut(&clean(text), LONGEST)),
            other => row.value = clean(&other.to_string()),
        }
        self.lines.push(row);
        if value.is_object() || value.is_array() {
            self.json(value, depth + 1, tone);
        }
        let end = self.lines.len() as u32;
        if let Some(row) = self.lines.get_mut(here) {
            row.end = end;
        }
    }
}
