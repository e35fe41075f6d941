//! Regular ProtoJSON into wire format in one walk over its text, nothing built between.
//! Never finds fault: what is not regular in every way is given up, for the encoder of trees to do over.
//!
//! Regular is valid JSON without escapes and null, each member known and given once, each value in the plain form
//! of its kind.

use crate::base::json::plain_length;
use crate::schema::{Cardinality, FieldPlan, Kind, Schema, TypeId, TypePlan, WellKnown};

use super::super::put::{close, open};
use super::{MAX_DEPTH, b64, parse, push_tag, push_varint, scalar, wire_type, wkt};

/// Appends the wire format of a regular message; `None`, and some of it appended, where it is not regular.
pub(super) fn encode(schema: &Schema, ty: TypeId, text: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut walk = Walk { schema, text, at: 0, depth: 0, out };
    walk.blanks();
    walk.message(ty)?;
    walk.blanks();
    (walk.at == text.len()).then_some(())
}

/// What of a message is given: a bit for each field, and behind those one for each oneof.
#[derive(Default)]
struct Given([u64; 4]);

impl Given {
    /// Nothing where it was given before, or there are too many to tell.
    fn add(&mut self, place: usize) -> Option<()> {
        let (word, bit) = (self.0.get_mut(place / 64)?, 1 << (place % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new.then_some(())
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    text: &'a str,
    at: usize,
    depth: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Walk<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// Enters an object or array; whether anything is in it.
    fn enter(&mut self, begin: u8, end: u8) -> Option<bool> {
        self.take(begin)?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.blanks();
        let is_empty = self.takes(end);
        self.depth -= usize::from(is_empty);
        Some(!is_empty)
    }

    /// Passes over what follows a member or element; whether another is to come.
    fn more(&mut self, end: u8) -> Option<bool> {
        self.blanks();
        if self.takes(end) {
            self.depth -= 1;
            return Some(false);
        }
        self.take(b',')?;
        self.blanks();
        Some(true)
    }

    fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let end = self.at + plain_length(self.text.as_bytes().get(self.at..)?);
        let text = self.text.get(self.at..end)?;
        self.at = end;
        self.take(b'"')?;
        Some(text)
    }

    /// The name of a member, and all up to its value.
    fn name(&mut self) -> Option<&'a str> {
        let name = self.string()?;
        self.colon()?;
        Some(name)
    }

    /// The same where it is the name of a field that is about to come.
    fn field_ahead(&mut self, plan: &TypePlan, next: u16) -> Option<u16> {
        let text = self.text.as_bytes().get(self.at..)?.strip_prefix(b"\"")?;
        let (place, length) = plan.field_ahead(text, next)?;
        let before = self.at;
        self.at += length + 2;
        // Without a colon it is no member; what it is else is for others to tell.
        self.colon().map(|()| place).or_else(|| {
            self.at = before;
            None
        })
    }

    fn colon(&mut self) -> Option<()> {
        self.blanks();
        self.take(b':')?;
        self.blanks();
        Some(())
    }

    fn message(&mut self, ty: TypeId) -> Option<()> {
        let schema = self.schema;
        let plan = schema.ty(ty);
        match plan.known {
            None | Some(WellKnown::Empty) => {}
            Some(known) => return self.well_known(known),
        }
        let (mut given, mut next) = (Given::default(), 0);
        let mut more = self.enter(b'{', b'}')?;
        while more {
            let place = match self.field_ahead(plan, next) {
                Some(place) => place,
                None => {
                    let name = self.name()?;
                    // What the writer adds has its say before any field of that name.
                    if name.starts_with('$') {
                        return None;
                    }
                    plan.field_by_member(name)?
                }
            };
            next = place.saturating_add(1);
            let field = plan.field(place)?;
            given.add(usize::from(place))?;
            if let Some(oneof) = field.oneof {
                given.add(plan.fields.len() + usize::from(oneof))?;
            }
            match field.cardinality {
                Cardinality::Singular => self.single(field, field.number)?,
                Cardinality::Repeated => self.list(field)?,
                Cardinality::Map => self.map(field)?,
            }
            more = self.more(b'}')?;
        }
        Some(())
    }

    fn well_known(&mut self, known: WellKnown) -> Option<()> {
        let (seconds, nanos) = match known {
            WellKnown::Timestamp => wkt::timestamp(self.string()?)?,
            WellKnown::Duration => wkt::duration(self.string()?)?,
            _ => return None,
        };
        wkt::push_seconds(self.out, seconds, nanos);
        Some(())
    }

    fn list(&mut self, field: &FieldPlan) -> Option<()> {
        let packed = field.packed && !matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_));
        let mut more = self.enter(b'[', b']')?;
        if !packed {
            while more {
                self.single(field, field.number)?;
                more = self.more(b']')?;
            }
        } else if more {
            let start = open(self.out, field.number);
            while more {
                self.scalar(field.kind)?;
                more = self.more(b']')?;
            }
            close(self.out, start);
        }
        Some(())
    }

    fn map(&mut self, field: &FieldPlan) -> Option<()> {
        let schema = self.schema;
        let entry = schema.ty(field.kind.message()?);
        let key = entry.field(entry.index_of(1)?)?;
        let value = entry.field(entry.index_of(2)?)?;
        let mut more = self.enter(b'{', b'}')?;
        while more {
            let name = self.name()?;
            let start = open(self.out, field.number);
            push_tag(self.out, 1, wire_type(key.kind));
            match (key.kind, name) {
                (Kind::Bool, "false") => self.out.push(0),
                (Kind::Bool, "true") => self.out.push(1),
                (Kind::String, name) => scalar::push_bytes(self.out, name.as_bytes()),
                (kind, name) => scalar::push_whole(kind, plain_integer(name)?, self.out)?,
            }
            self.single(value, 2)?;
            close(self.out, start);
            more = self.more(b'}')?;
        }
        Some(())
    }

    /// Writes one value with its tag.
    fn single(&mut self, field: &FieldPlan, number: u32) -> Option<()> {
        match field.kind {
            Kind::Message(ty) if field.delimited => {
                push_tag(self.out, number, 3);
                self.message(ty)?;
                push_tag(self.out, number, 4);
            }
            Kind::Message(ty) => {
                let start = open(self.out, number);
                self.message(ty)?;
                close(self.out, start);
            }
            kind => {
                push_tag(self.out, number, wire_type(kind));
                self.scalar(kind)?;
            }
        }
        Some(())
    }

    /// Writes a scalar without its tag.
    fn scalar(&mut self, kind: Kind) -> Option<()> {
        match kind {
            Kind::String => {
                let text = self.string()?;
                scalar::push_bytes(self.out, text.as_bytes());
            }
            Kind::Bytes => {
                let text = self.string()?;
                self.bytes(text)?;
            }
            Kind::Bool => {
                let rest = self.text.as_bytes().get(self.at..)?;
                let value = rest.starts_with(b"true");
                if !value && !rest.starts_with(b"false") {
                    return None;
                }
                self.at += if value { 4 } else { 5 };
                self.out.push(u8::from(value));
            }
            Kind::Enum(id) => {
                let number = match self.peek()? {
                    b'"' => self.schema.enum_plan(id)?.number_of(self.string()?)?,
                    _ => i32::try_from(plain_integer(self.number()?)?).ok()?,
                };
                push_varint(self.out, i64::from(number) as u64);
            }
            Kind::Float | Kind::Double => {
                let text = if self.peek()? == b'"' { self.string()? } else { self.number()? };
                scalar::push_float(kind, text, self.out)?;
            }
            kind => {
                let text = if self.peek()? == b'"' { self.string()? } else { self.number()? };
                scalar::push_whole(kind, plain_integer(text)?, self.out)?;
            }
        }
        Some(())
    }

    fn number(&mut self) -> Option<&'a str> {
        let number = parse::number_at(self.text, self.at)?;
        self.at += number.len();
        Some(number)
    }

    fn bytes(&mut self, text: &str) -> Option<()> {
        // More than once for all, since the decoder asks for no more than it needs and many would ask one by one.
        self.out.reserve(text.len() + 10);
        let before = self.out.len();
        self.out.push(0);
        let start = self.out.len();
        if b64::STANDARD.decode_append(text.as_bytes(), self.out).is_ok() {
            close(self.out, start);
            return Some(());
        }
        self.out.truncate(before);
        scalar::push_bytes(self.out, &scalar::base64(text)?);
        Some(())
    }
}

/// A whole number in plain digits, as many as 64 bits have.
fn plain_integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for digit in digits.bytes() {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(if digits.len() < text.len() { -i128::from(value) } else { value.into() })
}

#[cfg(test)]
mod tests;
