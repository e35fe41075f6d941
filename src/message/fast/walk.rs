//! The walk: tag, operation, JSON.
//! Never goes on past the first thing that is not regular.

use std::collections::HashSet;

use smallvec::SmallVec;

use crate::{
    base::{Limits, secret::Sieve},
    message::{MAX_DEPTH, json, wkt},
    schema::{Kind, Schema, TypeId, is_secret_name},
};

use super::{
    Ids, Tables,
    read::{self, Raw, is_zero, varint},
    table::{self, Form, Op, Seen, Shape, Table},
    text,
};

/// Deepest nesting that is done here: each level is a call.
pub(super) const DEEPEST: usize = 64;

/// Fields of one payload that are done here.
const MAX_FIELDS: u32 = 2 << 20;

/// Longest payload that is done here.
pub(super) const MAX_PAYLOAD: usize = 1 << 30;

/// Map entries whose keys are compared one by one.
const FEW: usize = 16;

pub(super) struct Walk<'a, 'o> {
    schema: &'o Schema,
    tables: &'o Tables,
    payload: &'a [u8],
    redact: bool,
    /// Which strings may hold a credential.
    sieve: Sieve<'o, 'a>,
    limits: &'o Limits,
    deepest: usize,
    out: &'o mut Vec<u8>,
    ids: &'o mut Ids<'a>,
    branch: Option<u16>,
    fields: u32,
}

impl<'a, 'o> Walk<'a, 'o> {
    pub fn new(
        schema: &'o Schema,
        tables: &'o Tables,
        payload: &'a [u8],
        redact: bool,
        limits: &'o Limits,
        out: &'o mut Vec<u8>,
        ids: &'o mut Ids<'a>,
    ) -> Self {
        let deepest = limits.max_depth.min(MAX_DEPTH).min(DEEPEST);
        let sieve = schema.secrets().sieve(payload);
        let (branch, fields) = (None, 0);
        Self { schema, tables, payload, redact, sieve, limits, deepest, out, ids, branch, fields }
    }

    pub fn root(mut self, ty: TypeId) -> Option<Option<u16>> {
        if self.payload.len() > MAX_PAYLOAD {
            return None;
        }
        self.message(ty, 0, self.payload.len(), 0)?;
        Some(self.branch)
    }

    fn message(&mut self, ty: TypeId, from: usize, end: usize, depth: usize) -> Option<()> {
        if depth > self.deepest {
            return None;
        }
        let tables = self.tables;
        let table = tables.table(self.schema, ty)?;
        if table.form != Form::Object {
            return self.time(table.form, from, end);
        }
        let mut seen: Seen = [0; 4];
        let ids_before = self.ids.len();
        let mut at = from;
        self.out.push(b'{');
        let mut comma = false;
        while at < end {
            let (tag, content) = self.varint(at, end)?;
            let op = table.op(u32::try_from(tag).ok()?)?;
            table.see(&mut seen, op)?;
            if depth == 0 && op.first_oneof {
                self.branch = Some(op.index);
            }
            at = match op.shape {
                Shape::One => {
                    let (raw, next) = self.read(op.tag & 7, content, end)?;
                    self.count()?;
                    self.id(op, raw);
                    if !(op.skips_zero && is_zero(op.kind, raw)) {
                        self.key(op, &mut comma);
                        self.value(op, raw, depth)?;
                    }
                    next
                }
                Shape::Run => {
                    self.key(op, &mut comma);
                    self.run(op, content, end, depth)?
                }
                Shape::Packed => self.packed(op, content, end, &mut comma)?,
                Shape::Map => {
                    self.key(op, &mut comma);
                    self.map(op, content, end, depth)?
                }
            };
        }
        if !table.is_complete(&seen) {
            return None;
        }
        table.absent(&seen, |place, id| self.ids.insert(ids_before + place, id));
        self.out.push(b'}');
        Some(())
    }

    fn count(&mut self) -> Option<()> {
        self.fields += 1;
        (self.fields < MAX_FIELDS).then_some(())
    }

    fn key(&mut self, op: &Op, comma: &mut bool) {
        if std::mem::replace(comma, true) {
            self.out.push(b',');
        }
        op.key.push(self.out);
    }

    fn varint(&self, at: usize, end: usize) -> Option<(u64, usize)> {
        varint(self.payload, at, end)
    }

    #[inline]
    fn read(&self, wire: u32, at: usize, end: usize) -> Option<(Raw, usize)> {
        read::value(self.payload, wire, at, end)
    }

    #[inline]
    fn id(&mut self, op: &Op, raw: Raw) {
        if let Some(namespace) = op.id {
            self.ids.extend(read::id(self.payload, namespace, op, raw));
        }
    }

    fn value(&mut self, op: &Op, raw: Raw, depth: usize) -> Option<()> {
        let is_empty = matches!(raw, Raw::Range(from, to) if from == to);
        if op.hidden && self.redact && !is_empty {
            return None;
        }
        self.shown(op.kind, op.inner, raw, depth)
    }

    /// A value that is not hidden as such.
    fn shown(&mut self, kind: Kind, inner: Option<TypeId>, raw: Raw, depth: usize) -> Option<()> {
        match (kind, raw) {
            (kind, Raw::Bits(bits)) => self.number(kind, bits),
            (Kind::Message(ty), Raw::Range(from, to)) => self.message(ty, from, to, depth + 1),
            (Kind::String, Raw::Range(from, to)) => self.text(from, to),
            (_, Raw::Range(from, to)) => self.bytes(from, to, inner),
        }
    }

    /// A run of equal tags; gives where it ends.
    fn run(&mut self, op: &Op, content: usize, end: usize, depth: usize) -> Option<usize> {
        self.out.push(b'[');
        let mut at = content;
        loop {
            let (raw, next) = self.read(op.tag & 7, at, end)?;
            self.count()?;
            self.id(op, raw);
            self.value(op, raw, depth)?;
            match self.again(op, next, end) {
                Some(content) => at = content,
                None => {
                    self.out.push(b']');
                    return Some(next);
                }
            }
            self.out.push(b',');
        }
    }

    /// Where the content of the next field starts, if it has the same tag.
    fn again(&self, op: &Op, at: usize, end: usize) -> Option<usize> {
        let (tag, content) = self.varint(at, end)?;
        (tag == u64::from(op.tag)).then_some(content)
    }

    fn packed(&mut self, op: &Op, content: usize, end: usize, comma: &mut bool) -> Option<usize> {
        let (length, from) = self.varint(content, end)?;
        let to = from.checked_add(usize::try_from(length).ok()?).filter(|to| *to <= end)?;
        self.count()?;
        if op.hidden && self.redact {
            return None;
        }
        // Another run, of either form, is left to the check of slots.
        if from == to {
            return self.again(op, to, end).is_none().then_some(to);
        }
        self.key(op, comma);
        let wire = table::wire(op.kind);
        let mut at = from;
        let mut before = b'[';
        while at < to {
            self.out.push(before);
            before = b',';
            let (raw, next) = self.read(wire, at, to)?;
            let Raw::Bits(bits) = raw else { return None };
            self.number(op.kind, bits)?;
            at = next;
        }
        self.out.push(b']');
        Some(to)
    }

    /// A map: entries of key and value, in this order, no key twice.
    fn map(&mut self, op: &Op, content: usize, end: usize, depth: usize) -> Option<usize> {
        let Kind::Message(entry) = op.kind else { return None };
        if depth + 1 > self.deepest || op.hidden && self.redact {
            return None;
        }
        let (key_kind, value_kind) = table::entry(self.schema, entry)?;
        let (key_wire, value_wire) = (table::wire(key_kind), table::wire(value_kind));
        let mut keys: SmallVec<[(usize, usize); FEW]> = SmallVec::new();
        let mut at = content;
        self.out.push(b'{');
        loop {
            let (Raw::Range(from, to), next) = self.read(op.tag & 7, at, end)? else { return None };
            self.fields += 2;
            self.count()?;
            let (tag, key_at) = self.varint(from, to)?;
            if tag != u64::from(1 << 3 | key_wire) {
                return None;
            }
            let (key, after) = self.read(key_wire, key_at, to)?;
            let (tag, value_at) = self.varint(after, to)?;
            if tag != u64::from(2 << 3 | value_wire) {
                return None;
            }
            let (value, after) = self.read(value_wire, value_at, to)?;
            if after != to {
                return None;
            }
            let begin = self.out.len();
            match key {
                Raw::Range(from, to) => {
                    let bytes = self.payload.get(from..to)?;
                    // What stands under the name of a credential is hidden.
                    let secrets = self.schema.secrets();
                    let is_secret = |key| is_secret_name(key) || secrets.is_key(key);
                    let hides = |key| std::str::from_utf8(key).map_or(true, is_secret);
                    if self.redact && (hides(bytes) || self.masks(from, to)) || !text::push(self.out, bytes) {
                        return None;
                    }
                }
                Raw::Bits(bits) => {
                    self.out.push(b'"');
                    let quoted = self.out.len();
                    self.number(key_kind, bits)?;
                    // 64-bit numbers bring their own quotes.
                    if self.out.get(quoted) == Some(&b'"') {
                        self.out.remove(quoted);
                    } else {
                        self.out.push(b'"');
                    }
                }
            }
            keys.push((begin, self.out.len()));
            self.out.push(b':');
            self.shown(value_kind, None, value, depth + 1)?;
            match self.again(op, next, end) {
                Some(content) => at = content,
                None => {
                    self.out.push(b'}');
                    return self.are_distinct(&keys).then_some(next);
                }
            }
            self.out.push(b',');
        }
    }

    fn are_distinct(&self, keys: &[(usize, usize)]) -> bool {
        let key = |(from, to): &(usize, usize)| self.out.get(*from..*to);
        if keys.len() > FEW {
            let mut known = HashSet::new();
            return keys.iter().all(|k| known.insert(key(k)));
        }
        keys.iter().enumerate().all(|(i, k)| keys.iter().take(i).all(|other| key(other) != key(k)))
    }

    /// Whether a string holds a credential.
    fn masks(&mut self, from: usize, to: usize) -> bool {
        let secrets = self.schema.secrets();
        self.sieve.may_hold(from..to) && secrets.mask_part(self.payload, from..to).is_some()
    }

    /// Whether messages that are encoded once more are looked into for secrets.
    fn tries(&self) -> bool {
        !self.schema.secret_roots().is_empty()
    }

    fn text(&mut self, from: usize, to: usize) -> Option<()> {
        let bytes = self.payload.get(from..to)?;
        if self.redact {
            if self.masks(from, to) {
                return None;
            }
            if json::may_be_encoded(bytes) && self.tries() {
                // What digits stand for is looked into by the tolerant lane alone.
                if bytes.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                if json::hides_encoded(self.schema, self.limits, bytes) {
                    return None;
                }
            }
        }
        text::push(self.out, bytes).then_some(())
    }

    fn bytes(&mut self, from: usize, to: usize, inner: Option<TypeId>) -> Option<()> {
        let bytes = self.payload.get(from..to)?;
        if self.redact {
            if bytes.len() >= 4 && self.tries() {
                // Hex digits are looked into as such; that they are a message themselves too is rare.
                if bytes.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                let may_hold = inner.is_some()
                    || self.tables.first(self.schema).may_be(bytes)
                    || json::may_be_encoded(bytes);
                if may_hold && json::holds_secret(self.schema, self.limits, bytes, inner) {
                    return None;
                }
            }
            if self.masks(from, to) {
                return None;
            }
        }
        self.out.push(b'"');
        json::push_base64(self.out, bytes);
        self.out.push(b'"');
        Some(())
    }

    fn number(&mut self, kind: Kind, bits: u64) -> Option<()> {
        let mut buffer = itoa::Buffer::new();
        let (text, quoted) = match kind {
            Kind::Float => {
                let value = f32::from_bits(bits as u32);
                return self.float(ryu::Buffer::new().format(value), value.is_finite());
            }
            Kind::Double => {
                let value = f64::from_bits(bits);
                return self.float(ryu::Buffer::new().format(value), value.is_finite());
            }
            Kind::Enum(id) => {
                let plan = self.schema.enum_plan(id).filter(|p| !p.null)?;
                let name = plan.name_of(bits as i32)?;
                crate::base::json::push_string(self.out, name);
                return Some(());
            }
            _ => json::whole(kind, bits, &mut buffer)?,
        };
        if quoted {
            self.out.push(b'"');
        }
        self.out.extend_from_slice(text.as_bytes());
        if quoted {
            self.out.push(b'"');
        }
        Some(())
    }

    fn float(&mut self, text: &str, finite: bool) -> Option<()> {
        if !finite {
            return None;
        }
        self.out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        Some(())
    }

    /// A Timestamp or Duration in range.
    fn time(&mut self, form: Form, from: usize, end: usize) -> Option<()> {
        let (mut seconds, mut nanos) = (None, None);
        let mut at = from;
        while at < end {
            let (tag, content) = self.varint(at, end)?;
            let (bits, next) = self.varint(content, end)?;
            let slot = match tag {
                8 => &mut seconds,
                16 => &mut nanos,
                _ => return None,
            };
            if slot.replace(bits).is_some() {
                return None;
            }
            self.count()?;
            at = next;
        }
        let (seconds, nanos) = (seconds.unwrap_or(0) as i64, nanos.unwrap_or(0) as i32);
        let text = match form {
            Form::Timestamp => wkt::timestamp(seconds, nanos),
            _ => wkt::duration(seconds, nanos),
        }?;
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        Some(())
    }
}

/// The branch set in the first oneof of a message that is regular outside: known tags, each oneof once.
pub(super) fn branch(table: &Table, payload: &[u8]) -> Option<Option<u16>> {
    let (mut at, end) = (0, payload.len());
    let mut branch = None;
    while at < end {
        let (tag, content) = varint(payload, at, end)?;
        let op = table.op(u32::try_from(tag).ok()?)?;
        if op.first_oneof && branch.replace(op.index).is_some() {
            return None;
        }
        at = match tag & 7 {
            0 => varint(payload, content, end)?.1,
            1 => content + 8,
            5 => content + 4,
            _ => {
                let (length, from) = varint(payload, content, end)?;
                from.checked_add(usize::try_from(length).ok()?)?
            }
        };
    }
    (at == end && table.form == Form::Object).then_some(branch)
}
