//! What to do for each tag of a type: made when a message of it is first met.
//! Never holds what only an irregular message needs.

use std::sync::OnceLock;

use crate::{
    base::json::push_string,
    message::IdValue,
    schema::{Cardinality, FieldPlan, Kind, Presence, Schema, TypeId, TypePlan, WellKnown},
};

use super::{FastId, first::First};

/// Tags below this are looked up by index.
const DENSE: u32 = 2_048;

/// Fields and oneofs of one message that are told apart; types with more are not for this lane.
const SLOTS: usize = 256;

/// A bit for each slot.
pub(super) type Seen = [u64; SLOTS / 64];

/// The tables of a schema's types.
pub struct Tables {
    json_names: bool,
    types: Box<[OnceLock<Option<Table>>]>,
    first: OnceLock<First>,
}

impl Tables {
    /// Tables for a schema whose annotations are complete; none is made yet.
    pub fn new(schema: &Schema, json_names: bool) -> Self {
        let types = (0..schema.types().len()).map(|_| OnceLock::new()).collect();
        Self { json_names, types, first: OnceLock::new() }
    }

    /// What messages with a secret in them consist of.
    pub(super) fn first(&self, schema: &Schema) -> &First {
        self.first.get_or_init(|| First::new(schema))
    }

    /// The table of a type; `None` where its messages are not for this lane.
    pub(super) fn table(&self, schema: &Schema, ty: TypeId) -> Option<&Table> {
        let slot = self.types.get(ty.0 as usize)?;
        slot.get_or_init(|| make(schema, schema.ty(ty), self.json_names)).as_ref()
    }
}

/// How a type's message is written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// As an object.
    Object,
    /// As the text of a time.
    Timestamp,
    /// As the text of a length of time.
    Duration,
}

/// How often a field stands, and how.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    One,
    /// A run of equal tags.
    Run,
    Packed,
    Map,
}

/// A member's key: `"name":`. Short ones are copied as a block of one length, which takes no call.
pub(super) struct Key {
    text: Box<[u8]>,
    block: [u8; Self::BLOCK],
}

impl Key {
    const BLOCK: usize = 32;

    fn new(text: &[u8]) -> Self {
        let mut block = [0; Self::BLOCK];
        block.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Self { text: text.into(), block }
    }

    /// Appends it.
    #[inline]
    pub fn push(&self, out: &mut Vec<u8>) {
        if self.text.len() > Self::BLOCK {
            return out.extend_from_slice(&self.text);
        }
        let end = out.len() + self.text.len();
        out.extend_from_slice(&self.block);
        out.truncate(end);
    }
}

/// What to do for a tag.
pub(super) struct Op {
    pub tag: u32,
    pub key: Key,
    pub kind: Kind,
    pub shape: Shape,
    /// The bit that is set when the field, or another of its oneof, has come.
    pub slot: u8,
    /// The field's place, and whether it is in the first oneof.
    pub index: u16,
    pub first_oneof: bool,
    /// Whether the default is not written.
    pub skips_zero: bool,
    /// Whether redaction hides any value but an empty one.
    pub hidden: bool,
    /// The type that bytes are said to hold, where a secret can lie in it.
    pub inner: Option<TypeId>,
    pub id: Option<u16>,
}

pub(super) struct Table {
    pub form: Form,
    ops: Vec<Op>,
    /// Tag → place in `ops` + 1.
    dense: Box<[u16]>,
    /// What must have come, where anything must.
    pub required: Option<Seen>,
    /// Numeric ids that are 0 where they are left out: slot, namespace.
    pub zeros: Box<[(u8, u16)]>,
}

impl Table {
    pub fn op(&self, tag: u32) -> Option<&Op> {
        if tag < DENSE {
            let place = self.dense.get(tag as usize)?.checked_sub(1)?;
            return self.ops.get(usize::from(place));
        }
        let at = self.ops.binary_search_by_key(&tag, |op| op.tag).ok()?;
        self.ops.get(at)
    }

    /// Takes a field in; `None` where it, or another of its oneof, has been there.
    #[inline]
    pub(super) fn see(&self, seen: &mut Seen, op: &Op) -> Option<()> {
        let (word, bit) = (seen.get_mut(usize::from(op.slot >> 6))?, 1 << (op.slot & 63));
        (*word & bit == 0).then_some(())?;
        *word |= bit;
        Some(())
    }

    /// Whether all that must be there is.
    #[inline]
    pub(super) fn is_complete(&self, seen: &Seen) -> bool {
        let lacks = |required: &Seen| required.iter().zip(seen).any(|(required, seen)| required & !seen != 0);
        !self.required.as_ref().is_some_and(lacks)
    }

    /// Numeric ids that are 0 since they are left out, each with its place among them.
    #[inline]
    pub(super) fn absent(&self, seen: &Seen, mut found: impl FnMut(usize, FastId<'static>)) {
        let is_seen = |slot: &u8| seen.get(usize::from(slot >> 6)).is_some_and(|w| w & 1 << (slot & 63) != 0);
        let absent = self.zeros.iter().filter(|(slot, _)| !is_seen(slot));
        for (place, (_, namespace)) in absent.enumerate() {
            let value = IdValue::Number(0);
            found(place, FastId { namespace: *namespace, value, absent: true });
        }
    }
}

/// The wire type of a kind that is not packed.
pub(super) fn wire(kind: Kind) -> u32 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => 1,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => 5,
        Kind::String | Kind::Bytes | Kind::Message(_) => 2,
        _ => 0,
    }
}

fn make(schema: &Schema, plan: &TypePlan, json_names: bool) -> Option<Table> {
    let form = match plan.known {
        None | Some(WellKnown::Empty) => Form::Object,
        Some(WellKnown::Timestamp) => Form::Timestamp,
        Some(WellKnown::Duration) => Form::Duration,
        Some(_) => return None,
    };
    if plan.map_entry || plan.fields.len() + plan.oneofs.len() > SLOTS {
        return None;
    }
    let mut table =
        Table { form, ops: Vec::new(), dense: Box::default(), required: None, zeros: Box::default() };
    let slot = |index: usize, field: &FieldPlan| match field.oneof {
        Some(oneof) => plan.fields.len() + usize::from(oneof),
        None => index,
    };
    for (index, field) in plan.fields.iter().enumerate() {
        let slot = slot(index, field);
        if field.presence == Presence::Required
            && let Some(word) = table.required.get_or_insert_default().get_mut(slot / 64)
        {
            *word |= 1 << (slot % 64);
        }
        let mut key = Vec::new();
        push_string(&mut key, if json_names { &field.json_name } else { &field.name });
        key.push(b':');
        let inner = field.annotation.nested.and_then(|n| schema.nested(n)).and_then(|n| n.ty);
        let inner = inner.filter(|ty| schema.reaches_secret(*ty));
        let op = |shape, wire| Op {
            tag: field.number << 3 | wire,
            key: Key::new(&key),
            kind: field.kind,
            shape,
            slot: slot as u8,
            index: index as u16,
            first_oneof: field.oneof == Some(0),
            skips_zero: field.presence == Presence::Implicit && field.cardinality == Cardinality::Singular,
            hidden: field.annotation.secret
                || field.annotation.carrier.is_some()
                || inner.is_some() && field.kind != Kind::Bytes,
            inner,
            id: field.annotation.id,
        };
        let own = wire(field.kind);
        match field.cardinality {
            Cardinality::Singular => table.ops.push(op(Shape::One, own)),
            Cardinality::Map => table.ops.push(op(Shape::Map, 2)),
            Cardinality::Repeated => {
                table.ops.push(op(Shape::Run, own));
                if own != 2 {
                    table.ops.push(op(Shape::Packed, 2));
                }
            }
        }
    }
    table.ops.sort_by_key(|op| op.tag);
    let most = table.ops.iter().map(|op| op.tag + 1).filter(|end| *end <= DENSE).max().unwrap_or(0);
    let mut dense = vec![0; most as usize];
    for (at, op) in table.ops.iter().enumerate() {
        if let Some(place) = dense.get_mut(op.tag as usize) {
            *place = at as u16 + 1;
        }
    }
    table.dense = dense.into();
    let zero = |index: &u16| {
        let field = plan.field(*index)?;
        let numeric = !matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_));
        let left_out = numeric && !field.is_many() && field.presence == Presence::Implicit;
        Some((slot(usize::from(*index), field) as u8, field.annotation.id.filter(|_| left_out)?))
    };
    table.zeros = plan.ids.iter().filter_map(zero).collect();
    Some(table)
}

/// Key and value of a map's entry: kind of the key, and an operation for the value; `None` where
/// entries are not for this lane.
pub(super) fn entry(schema: &Schema, entry: TypeId) -> Option<(Kind, Kind)> {
    let plan = schema.ty(entry);
    let part = |number| plan.index_of(number).and_then(|i| plan.field(i));
    let (key, value) = (part(1)?, part(2)?);
    let plain = |f: &FieldPlan| {
        f.annotation.nested.is_none() && f.annotation.id.is_none() && !f.annotation.secret && !f.is_many()
    };
    (plain(key) && plain(value)).then_some((key.kind, value.kind))
}
