//! ProtoJSON drawn at random, mostly regular, and text that was changed.
//! Never knows what is taken.

use crate::schema::{Cardinality, FieldPlan, Kind, Schema, TypeId};

/// A stream of choices.
pub struct Dice(pub u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of.get(self.roll(of.len())).copied().unwrap_or_default()
    }

    fn blanks(&mut self, out: &mut String) {
        if self.roll(12) == 0 {
            out.push_str(self.pick(&[" ", "\n", "\t\r ", "  "]));
        }
    }

    /// Values in brackets, each by `write`.
    fn many(
        &mut self,
        ends: [char; 2],
        most: usize,
        out: &mut String,
        mut write: impl FnMut(&mut Self, &mut String),
    ) {
        out.push(ends[0]);
        for i in 0..self.roll(most) {
            if i > 0 {
                out.push(',');
            }
            self.blanks(out);
            write(self, out);
            self.blanks(out);
        }
        out.push(ends[1]);
    }

    pub fn message(&mut self, schema: &Schema, ty: TypeId, depth: usize, out: &mut String) {
        let plan = schema.ty(ty);
        if plan.known.is_some() {
            out.push_str(self.pick(&[
                "{}",
                "\"1.5s\"",
                "\"2024-01-02T03:04:05Z\"",
                "{\"seconds\":\"1\"}",
                "1",
                "null",
            ]));
            return;
        }
        let mut next = 0;
        self.many(['{', '}'], if depth > 3 { 2 } else { 9 }, out, |dice, out| {
            next = if dice.roll(20) == 0 { dice.roll(plan.fields.len()) } else { next + dice.roll(5) };
            let Some(field) = plan.fields.get(next).or(plan.fields.first()) else { return };
            next += 1;
            out.push('"');
            out.push_str(if dice.roll(4) == 0 { &field.name } else { &field.json_name });
            out.push_str(if dice.roll(60) == 0 { "$\":" } else { "\":" });
            dice.blanks(out);
            dice.field(schema, field, depth, out);
        });
    }

    fn field(&mut self, schema: &Schema, field: &FieldPlan, depth: usize, out: &mut String) {
        match field.cardinality {
            Cardinality::Singular => self.value(schema, field.kind, depth, out),
            Cardinality::Repeated => {
                self.many(['[', ']'], 4, out, |dice, out| dice.value(schema, field.kind, depth, out));
            }
            Cardinality::Map => {
                let entry = schema.ty(field.kind.message().unwrap());
                let part = |number| entry.field(entry.index_of(number).unwrap()).unwrap().kind;
                let (key, value) = (part(1), part(2));
                self.many(['{', '}'], 4, out, |dice, out| {
                    out.push('"');
                    out.push_str(match key {
                        Kind::Bool => dice.pick(&["true", "false", "true", "false", "1"]),
                        Kind::String => dice.pick(&["", "a", "$bytes", "é", "a b"]),
                        _ => dice.pick(&["0", "-1", "12", "9223372036854775807", "1.0", "x"]),
                    });
                    out.push_str("\":");
                    dice.value(schema, value, depth, out);
                });
            }
        }
    }

    fn value(&mut self, schema: &Schema, kind: Kind, depth: usize, out: &mut String) {
        if self.roll(150) == 0 {
            out.push_str(self.pick(&["null", "{}", "[]", "\"\"", "true", "-1", "{\"$bytes\":\"QQ==\"}"]));
            return;
        }
        match kind {
            Kind::Message(ty) => self.message(schema, ty, depth + 1, out),
            Kind::Bool => out.push_str(self.pick(&["true", "false"])),
            Kind::String => {
                out.push('"');
                let text = self.pick(&["", "plain words", "é\u{202e}😀", "\u{7f}", "a longer text", "1"]);
                let times = if self.roll(20) == 0 { self.roll(400) } else { 1 };
                out.push_str(&text.repeat(times));
                out.push_str(if self.roll(100) == 0 { "\\n\"" } else { "\"" });
            }
            Kind::Bytes => {
                out.push_str(self.pick(&[
                    "\"\"",
                    "\"QQ==\"",
                    "\"-_-_\"",
                    "\"+/+/QUI=\"",
                    "\"QQ\"",
                    "\"QR\"",
                ]));
            }
            Kind::Enum(_) => {
                out.push_str(self.pick(&["\"RED\"", "\"BLUE\"", "0", "1", "-5", "9", "\"NONE\""]))
            }
            Kind::Float | Kind::Double => {
                out.push_str(self.pick(&[
                    "0",
                    "-0.0",
                    "1e3",
                    "\"NaN\"",
                    "\"-Infinity\"",
                    "0.1",
                    "\"1.5\"",
                    "3e38",
                ]));
            }
            _ => {
                let most = if self.roll(9) == 0 { 70 } else { 31 };
                let bits = self.roll(most);
                let number = 1u128 << bits >> self.roll(2);
                let sign = if self.roll(9) == 0 { "-" } else { "" };
                let quote = if self.roll(2) == 0 { "\"" } else { "" };
                let tail = if self.roll(90) == 0 { self.pick(&[".0", "e0", "E+1", "."]) } else { "" };
                out.push_str(&format!("{quote}{sign}{number}{tail}{quote}"));
            }
        }
    }

    /// A few bytes replaced, left out or doubled; `None` where that is no text any more.
    pub fn mutated(&mut self, text: &str) -> Option<String> {
        let mut bytes = text.as_bytes().to_vec();
        let edits = if self.roll(6) == 0 { 2 } else { 1 };
        for _ in 0..edits {
            let at = self.roll(bytes.len());
            let until = (at + 1 + self.roll(12)).min(bytes.len());
            match self.roll(4) {
                0 => *bytes.get_mut(at)? = *b"\"\\{}[],:0-.eE \n$nt".get(self.roll(18))?,
                1 => drop(bytes.drain(at..until)),
                2 => {
                    let part = bytes.get(at..until)?.to_vec();
                    bytes.splice(at..at, part);
                }
                _ => *bytes.get_mut(at)? ^= 1 << self.roll(7),
            }
        }
        String::from_utf8(bytes).ok()
    }
}
