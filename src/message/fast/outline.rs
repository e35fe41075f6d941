//! The outermost fields of a regular message and the ids in all of it, without its JSON.
//! Never looks into what carries no id: bytes, maps and packed numbers are not for it.

use crate::{
    base::Limits,
    message::MAX_DEPTH,
    schema::{Kind, Schema, TypeId},
};

use super::{
    Ids, Tables,
    read::{self, Raw},
    table::{Form, Op, Seen, Shape},
    walk::{DEEPEST, MAX_PAYLOAD},
};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Content {
    /// A number's bits, as they are on the wire.
    Bits(u64),
    /// Where text, bytes or a message begins and ends in the payload.
    Bytes(usize, usize),
}

/// The outermost fields that are set, each once, in wire order.
#[derive(Default, Debug)]
pub struct Outline {
    fields: Vec<(u16, Content)>,
}

impl Outline {
    /// What a field holds, by its place in the type.
    pub fn get(&self, field: u16) -> Option<Content> {
        self.fields.iter().find(|(index, _)| *index == field).map(|(_, content)| *content)
    }
}

/// The outermost fields of a message and all of its ids, as [`write`](super::write) finds them. `None` where it is not
/// regular, or holds what takes more than a look (lists, maps, enums, floats).
pub fn outline<'a>(
    schema: &Schema,
    tables: &Tables,
    ty: TypeId,
    payload: &'a [u8],
    limits: &Limits,
    outline: &mut Outline,
    ids: &mut Ids<'a>,
) -> Option<()> {
    let deepest = limits.max_depth.min(MAX_DEPTH).min(DEEPEST);
    outline.fields.clear();
    if payload.len() > MAX_PAYLOAD {
        return None;
    }
    Walk { schema, tables, payload, deepest, outline, ids }.message(ty, 0, payload.len(), 0)
}

struct Walk<'a, 'o> {
    schema: &'o Schema,
    tables: &'o Tables,
    payload: &'a [u8],
    deepest: usize,
    outline: &'o mut Outline,
    ids: &'o mut Ids<'a>,
}

impl<'a> Walk<'a, '_> {
    fn message(&mut self, ty: TypeId, from: usize, end: usize, depth: usize) -> Option<()> {
        let table = self.tables.table(self.schema, ty).filter(|_| depth <= self.deepest)?;
        if table.form != Form::Object {
            return None;
        }
        let mut seen: Seen = [0; 4];
        let ids_before = self.ids.len();
        let mut at = from;
        while at < end {
            let (tag, content) = read::varint(self.payload, at, end)?;
            let op = table.op(u32::try_from(tag).ok()?)?;
            table.see(&mut seen, op)?;
            at = match op.shape {
                Shape::One => self.one(op, content, end, depth)?,
                Shape::Run | Shape::Packed | Shape::Map => return None,
            };
        }
        if !table.is_complete(&seen) {
            return None;
        }
        table.absent(&seen, |place, id| self.ids.insert(ids_before + place, id));
        Some(())
    }

    fn one(&mut self, op: &Op, content: usize, end: usize, depth: usize) -> Option<usize> {
        let (raw, next) = read::value(self.payload, op.tag & 7, content, end)?;
        if let Some(namespace) = op.id {
            self.ids.extend(read::id(self.payload, namespace, op, raw));
        }
        if depth == 0 {
            let content = match raw {
                Raw::Bits(bits) => Content::Bits(bits),
                Raw::Range(from, to) => Content::Bytes(from, to),
            };
            self.outline.fields.push((op.index, content));
        }
        match (op.kind, raw) {
            (Kind::Message(ty), Raw::Range(from, to)) => self.message(ty, from, to, depth + 1)?,
            (Kind::String, Raw::Range(from, to)) => is_text(self.payload.get(from..to)?).then_some(())?,
            // Whether these are regular depends on the number.
            (Kind::Float | Kind::Double | Kind::Enum(_), _) => return None,
            _ => {}
        }
        Some(next)
    }
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || simdutf8::basic::from_utf8(bytes).is_ok()
}
