//! Decodes header blocks (RFC 7541).
//! Never throws a block away: what cannot be resolved is counted, and the rest is given.

use super::huffman;
use super::table::{Entry, Lookup, Table};

/// One field, pseudo-headers included.
pub(super) type Field = (String, String);

/// What is wrong with a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// An index that no table can have.
    Index(u64),
    /// A string that breaks the Huffman code.
    Huffman,
    /// An integer that does not fit.
    Integer,
    /// The block ends inside a field.
    Truncated,
    /// A table size above what the peer allows.
    TableSize(u64),
    /// The decoded list passes the limit.
    TooLarge,
}

/// A decoded block.
#[derive(Default, Debug)]
pub(super) struct Block {
    /// The fields in order.
    pub fields: Vec<Field>,
    /// How many could not be read.
    pub lost: u32,
    /// Of these, how many because their entry was sent before the capture can tell.
    pub unseen: u32,
    /// What is wrong, each kind once.
    pub faults: Vec<Fault>,
}

impl Block {
    fn fault(&mut self, fault: Fault) {
        if !self.faults.iter().any(|f| std::mem::discriminant(f) == std::mem::discriminant(&fault)) {
            self.faults.push(fault);
        }
    }
}

/// The decoder of one direction.
pub(super) struct Decoder {
    table: Table,
    /// The largest SETTINGS_HEADER_TABLE_SIZE that the peer has announced; `None` where
    /// announcements may have been missed.
    allowed: Option<u64>,
}

/// Text of a field: UTF-8 where it is, else Latin-1.
fn text(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().map(|b| char::from(*b)).collect(),
    }
}

impl Decoder {
    /// For a connection seen from its beginning.
    pub fn new() -> Self {
        Self { table: Table::new(), allowed: Some(4_096) }
    }

    /// For a connection that began before the capture.
    pub fn unknown() -> Self {
        Self { table: Table::unknown(), allowed: None }
    }

    /// A block was lost, in whole or in part.
    pub fn lose(&mut self) {
        self.table.lose();
        self.allowed = None;
    }

    /// The other side's SETTINGS_HEADER_TABLE_SIZE. When it was acknowledged is not
    /// followed, so the largest so far holds.
    pub fn allow(&mut self, size: u32) {
        self.allowed = self.allowed.map(|allowed| allowed.max(u64::from(size)));
    }

    /// Decodes a block; at most `limit` octets of fields are kept.
    pub fn decode(&mut self, block: &[u8], limit: usize) -> Block {
        let mut out = Block::default();
        let mut room = limit;
        let mut input = Input { bytes: block };
        while let Some(first) = input.bytes.first().copied() {
            if self.field(first, &mut input, limit, &mut room, &mut out).is_none() {
                break;
            }
        }
        out
    }

    /// One representation (RFC 7541, section 6); `None` where the block cannot go on.
    fn field(
        &mut self,
        first: u8,
        input: &mut Input<'_>,
        limit: usize,
        room: &mut usize,
        out: &mut Block,
    ) -> Option<()> {
        let (prefix, indexing) = match first {
            0x80.. => {
                let index = input.integer(7, out)?;
                self.indexed(index, room, out);
                return Some(());
            }
            0x20..=0x3f => {
                let size = input.integer(5, out)?;
                if self.allowed.is_some_and(|allowed| size > allowed) {
                    out.fault(Fault::TableSize(size));
                }
                self.table.resize(size, limit);
                return Some(());
            }
            0x40..=0x7f => (6, true),
            _ => (4, false),
        };
        let index = input.integer(prefix, out)?;
        let name = if index == 0 {
            input.string(out)?.map(|octets| (text(&octets), octets.len()))
        } else {
            match self.table.get(index) {
                Lookup::Static(name, _) => Some((name.to_owned(), name.len())),
                Lookup::Dynamic(entry) => entry.name.clone().map(|name| {
                    let octets = name.len();
                    (name, octets)
                }),
                Lookup::Unknown => {
                    out.unseen += 1;
                    None
                }
                Lookup::Invalid => {
                    out.fault(Fault::Index(index));
                    None
                }
            }
        };
        let value = input.string(out)?.map(|octets| (text(&octets), octets.len()));
        if indexing {
            if name.is_none() || value.is_none() {
                self.table.doubt();
            }
            let octets = name.as_ref().map_or(0, |n| n.1) + value.as_ref().map_or(0, |v| v.1);
            self.table.insert(Entry {
                name: name.as_ref().map(|n| n.0.clone()),
                value: value.as_ref().map(|v| v.0.clone()),
                octets,
            });
        }
        match (name, value) {
            (Some((name, _)), Some((value, _))) => keep(name, value, room, out),
            _ => out.lost += 1,
        }
        Some(())
    }

    fn indexed(&self, index: u64, room: &mut usize, out: &mut Block) {
        match self.table.get(index) {
            Lookup::Static(name, value) => keep(name.to_owned(), value.to_owned(), room, out),
            Lookup::Dynamic(Entry { name: Some(name), value: Some(value), .. }) => {
                keep(name.clone(), value.clone(), room, out);
            }
            Lookup::Dynamic(_) | Lookup::Unknown => {
                out.lost += 1;
                out.unseen += 1;
            }
            Lookup::Invalid => {
                out.lost += 1;
                out.fault(Fault::Index(index));
            }
        }
    }
}

/// Adds a field unless the list is full: one octet can stand for a long entry.
fn keep(name: String, value: String, room: &mut usize, out: &mut Block) {
    let cost = name.len() + value.len() + 32;
    if cost > *room {
        *room = 0;
        out.lost += 1;
        out.fault(Fault::TooLarge);
        return;
    }
    *room -= cost;
    out.fields.push((name, value));
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn byte(&mut self, out: &mut Block) -> Option<u8> {
        let Some((first, rest)) = self.bytes.split_first() else {
            out.fault(Fault::Truncated);
            out.lost += 1;
            return None;
        };
        self.bytes = rest;
        Some(*first)
    }

    /// RFC 7541, section 5.1.
    fn integer(&mut self, prefix: u32, out: &mut Block) -> Option<u64> {
        let mask = (1u8 << prefix) - 1;
        let mut value = u64::from(self.byte(out)? & mask);
        if value < u64::from(mask) {
            return Some(value);
        }
        for shift in (0..35).step_by(7) {
            let byte = self.byte(out)?;
            value += u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        out.fault(Fault::Integer);
        out.lost += 1;
        None
    }

    /// RFC 7541, section 5.2. The outer `None` ends the block; the inner one is a string
    /// whose length is known but whose code is broken.
    fn string(&mut self, out: &mut Block) -> Option<Option<Vec<u8>>> {
        let coded = self.bytes.first().is_some_and(|b| b & 0x80 != 0);
        let length = self.integer(7, out)?;
        let split = usize::try_from(length).ok().and_then(|n| self.bytes.split_at_checked(n));
        let Some((octets, rest)) = split else {
            self.bytes = &[];
            out.fault(Fault::Truncated);
            out.lost += 1;
            return None;
        };
        self.bytes = rest;
        if !coded {
            return Some(Some(octets.to_vec()));
        }
        let mut plain = Vec::new();
        if huffman::decode(octets, &mut plain).is_none() {
            out.fault(Fault::Huffman);
            return Some(None);
        }
        Some(Some(plain))
    }
}

#[cfg(test)]
mod tests;
