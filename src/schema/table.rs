//! What a schema defines and where it lies, as one flat piece of bytes that is written once and then looked up.
//! Never holds what only one type's plan needs: that stays in the descriptors, whose places it knows.
//!
//! ```text
//! magic | own | sections: where each begins, how long it is | names | rows of little-endian words ...
//! ```
//!
//! A start reads nothing of it but the head, so it is worth keeping: build.rs writes that of the built-in schema.

mod write;

use std::ops::Range;

use prost::bytes::Bytes;

use super::{
    features::Features,
    hash,
    plan::{EnumId, TypeId},
};

pub(super) use write::{bracketed, write};

/// What a table begins with; changes with what the rest means.
const MAGIC: &[u8; 8] = b"rpctabl\x01";

/// The parts of a table.
#[derive(Clone, Copy)]
enum Section {
    /// All names, one after the other.
    Names,
    /// Rows: name, set.
    Files,
    /// Rows: name, file, descriptor, features, flags, fields, extensions.
    Types,
    /// Rows: name, file, descriptor, features.
    Enums,
    /// Rows: name, file, descriptor.
    Services,
    /// Rows: name, with a flag; type of what it holds and one more. Those of a type by number.
    Fields,
    /// Rows: name of the scope, file, descriptor, features.
    Extensions,
    /// Symbols by the hash of their name, each in the first free place.
    Symbols,
    /// Fields by the hash of their name: the first of each remainder and one more.
    First,
    /// After each field the next of its remainder and one more.
    Next,
}

const SECTIONS: usize = 10;
/// Bytes before the first section.
const HEAD: usize = MAGIC.len() + 4 + SECTIONS * 8;

/// Words of a row.
const FILE: usize = 3;
const TYPE: usize = 11;
const ENUM: usize = 6;
const SERVICE: usize = 5;
const FIELD: usize = 3;
const EXTENSION: usize = 6;

/// Flags of a type.
const MAP_ENTRY: u32 = 1;
const MAKES_MAP: u32 = 2;
/// The flag of a field, beside the length of its name.
const SECRET: u32 = 1 << 31;

/// What a full name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Message(TypeId),
    Enum(EnumId),
    Service(u32),
}

impl Symbol {
    /// As a word that is never 0.
    fn word(self) -> u32 {
        match self {
            Self::Message(TypeId(n)) => n * 4 + 1,
            Self::Enum(EnumId(n)) => n * 4 + 2,
            Self::Service(n) => n * 4 + 3,
        }
    }

    fn of_word(word: u32) -> Option<Self> {
        match word % 4 {
            1 => Some(Self::Message(TypeId(word / 4))),
            2 => Some(Self::Enum(EnumId(word / 4))),
            3 => Some(Self::Service(word / 4)),
            _ => None,
        }
    }

    /// The row that has its name.
    fn row(self) -> (Section, usize, u32) {
        match self {
            Self::Message(TypeId(n)) => (Section::Types, TYPE, n),
            Self::Enum(EnumId(n)) => (Section::Enums, ENUM, n),
            Self::Service(n) => (Section::Services, SERVICE, n),
        }
    }
}

/// A message type.
pub(super) struct TypeRow<'a> {
    pub name: &'a str,
    /// The file it is defined in.
    pub file: u32,
    /// Its `DescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
    pub extensions: Range<u32>,
}

/// An enum.
pub(super) struct EnumRow<'a> {
    pub name: &'a str,
    /// Its `EnumDescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
}

/// A service.
pub(super) struct ServiceRow<'a> {
    pub name: &'a str,
    pub file: u32,
    /// Its `ServiceDescriptorProto`.
    pub raw: Bytes,
}

/// A field that a file adds to a message.
pub(super) struct ExtensionRow<'a> {
    /// The full name of what it is declared in.
    pub scope: &'a str,
    /// The file it is declared in.
    pub file: u32,
    /// Its `FieldDescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
}

/// What is asked of the fields of all types: a place among them.
#[derive(Clone, Copy)]
pub(super) struct Sketch<'a> {
    table: &'a Table,
    at: u32,
}

impl<'a> Sketch<'a> {
    #[cfg(test)]
    pub fn name(self) -> &'a str {
        self.table.name(Section::Fields, FIELD, self.at)
    }

    pub fn is_named(self, name: &str) -> bool {
        self.table.is_named(Section::Fields, FIELD, self.at, name)
    }

    /// The message that it holds.
    pub fn inner(self) -> Option<TypeId> {
        self.word(2).checked_sub(1).map(TypeId)
    }

    /// Whether it is a credential by itself.
    pub fn secret(self) -> bool {
        self.word(1) & SECRET != 0
    }

    fn word(self, place: usize) -> u32 {
        self.table.word(Section::Fields, FIELD, self.at, place)
    }
}

/// The tables over the descriptor sets that they were written for.
#[derive(Clone, Default, Debug)]
pub(super) struct Table {
    bytes: Bytes,
    /// Descriptor sets in wire format.
    sets: Vec<Bytes>,
    /// Where each section begins, and its length, in bytes.
    sections: [(usize, usize); SECTIONS],
    own: u32,
}

impl Table {
    /// Over bytes that [`write`] wrote for these sets. `None` where they are none; where they are for other sets, what is
    /// looked up is wrong or missing, and no worse.
    pub fn new(bytes: Bytes, sets: Vec<Bytes>) -> Option<Self> {
        let head = bytes.get(..HEAD)?.strip_prefix(MAGIC)?;
        let mut words = head.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        let own = words.next()?;
        let mut sections = [(0, 0); SECTIONS];
        for section in &mut sections {
            *section = (words.next()? as usize, words.next()? as usize);
            bytes.get(section.0..)?.get(..section.1)?;
        }
        Some(Self { bytes, sets, sections, own })
    }

    /// The bytes, to be kept.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// How many types there are.
    pub fn types(&self) -> u32 {
        self.count(Section::Types, TYPE)
    }

    /// How many of them, the first, are more than the well-known ones that are always there.
    pub fn own(&self) -> u32 {
        self.own
    }

    pub fn enums(&self) -> u32 {
        self.count(Section::Enums, ENUM)
    }

    pub fn services(&self) -> impl Iterator<Item = ServiceRow<'_>> {
        let row = |n| ServiceRow {
            name: self.name(Section::Services, SERVICE, n),
            file: self.word(Section::Services, SERVICE, n, 2),
            raw: self.raw(Section::Services, SERVICE, n, 2),
        };
        (0..self.count(Section::Services, SERVICE)).map(row)
    }

    /// What a name stands for.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        let places = self.count(Section::Symbols, 1);
        let first = hash::place(name, places)?;
        for at in (first..places).chain(0..first) {
            let symbol = Symbol::of_word(self.word(Section::Symbols, 1, at, 0))?;
            let (section, words, row) = symbol.row();
            if self.is_named(section, words, row, name) {
                return Some(symbol);
            }
        }
        None
    }

    pub fn ty(&self, TypeId(n): TypeId) -> Option<TypeRow<'_>> {
        let word = |place| self.word(Section::Types, TYPE, n, place);
        (n < self.types()).then(|| TypeRow {
            name: self.name(Section::Types, TYPE, n),
            file: word(2),
            raw: self.raw(Section::Types, TYPE, n, 2),
            features: unpacked(word(5)),
            extensions: word(9)..word(10),
        })
    }

    /// The name of a type; none for one of another schema.
    pub fn type_name(&self, TypeId(n): TypeId) -> &str {
        self.name(Section::Types, TYPE, n)
    }

    /// Whether a type says that it is the entry of a map.
    pub fn is_map_entry(&self, TypeId(n): TypeId) -> bool {
        self.word(Section::Types, TYPE, n, 6) & MAP_ENTRY != 0
    }

    /// Whether a repeated field of a type is a map: it also has a key and a value.
    pub fn makes_map(&self, TypeId(n): TypeId) -> bool {
        self.word(Section::Types, TYPE, n, 6) & MAKES_MAP != 0
    }

    pub fn enumeration(&self, EnumId(n): EnumId) -> Option<EnumRow<'_>> {
        (n < self.enums()).then(|| EnumRow {
            name: self.name(Section::Enums, ENUM, n),
            raw: self.raw(Section::Enums, ENUM, n, 2),
            features: unpacked(self.word(Section::Enums, ENUM, n, 5)),
        })
    }

    pub fn extensions(&self, of: Range<u32>) -> impl Iterator<Item = ExtensionRow<'_>> {
        let row = |n| ExtensionRow {
            scope: self.name(Section::Extensions, EXTENSION, n),
            file: self.word(Section::Extensions, EXTENSION, n, 2),
            raw: self.raw(Section::Extensions, EXTENSION, n, 2),
            features: unpacked(self.word(Section::Extensions, EXTENSION, n, 5)),
        };
        let all = self.count(Section::Extensions, EXTENSION);
        (of.start.min(all)..of.end.min(all)).map(row)
    }

    /// The fields of a type by number, its extensions too.
    pub fn fields(&self, TypeId(n): TypeId) -> impl Iterator<Item = Sketch<'_>> {
        let Range { start, end } = self.fields_of(n);
        (start..end).map(|at| Sketch { table: self, at })
    }

    /// The fields of a name in all types, in the order of the types: type, and place in it.
    pub fn fields_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (TypeId, u16)> + 'a {
        let after = |section, at| self.word(section, 1, at, 0).checked_sub(1);
        let first = hash::place(name, self.count(Section::First, 1)).and_then(|at| after(Section::First, at));
        // No chain is longer than there are fields, whatever the bytes say.
        let most = self.count(Section::Fields, FIELD) as usize;
        let all = std::iter::successors(first, move |at| after(Section::Next, *at)).take(most);
        let named = move |at: &u32| self.is_named(Section::Fields, FIELD, *at, name);
        all.filter(named).map(|at| {
            let ty = self.holder(at);
            (TypeId(ty), (at.saturating_sub(self.fields_of(ty).start)) as u16)
        })
    }

    /// The type that a field is of: the first whose fields end after it.
    fn holder(&self, field: u32) -> u32 {
        let (mut low, mut high) = (0, self.types());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.fields_of(middle).end <= field { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn fields_of(&self, ty: u32) -> Range<u32> {
        let all = self.count(Section::Fields, FIELD);
        let word = |place| self.word(Section::Types, TYPE, ty, place).min(all);
        word(7)..word(8)
    }

    /// The name of a file, for errors.
    pub fn file(&self, n: u32) -> &str {
        match self.name(Section::Files, FILE, n) {
            "" => "schema",
            name => name,
        }
    }

    /// Names that begin with their place and length.
    fn name(&self, section: Section, words: usize, row: u32) -> &str {
        std::str::from_utf8(self.name_bytes(section, words, row)).unwrap_or_default()
    }

    /// Whether a row has a name; most have another length.
    fn is_named(&self, section: Section, words: usize, row: u32, name: &str) -> bool {
        (self.word(section, words, row, 1) & !SECRET) as usize == name.len()
            && self.name_bytes(section, words, row) == name.as_bytes()
    }

    fn name_bytes(&self, section: Section, words: usize, row: u32) -> &[u8] {
        let (from, length) = (self.word(section, words, row, 0), self.word(section, words, row, 1) & !SECRET);
        let names = self.section(Section::Names);
        names.get(from as usize..).and_then(|rest| rest.get(..length as usize)).unwrap_or_default()
    }

    /// A descriptor: file, place in the set of the file, length.
    fn raw(&self, section: Section, words: usize, row: u32, place: usize) -> Bytes {
        let word = |n| self.word(section, words, row, place + n) as usize;
        let set = self.word(Section::Files, FILE, word(0) as u32, 2);
        let Some(set) = self.sets.get(set as usize) else { return Bytes::new() };
        let part = set.get(word(1)..).and_then(|rest| rest.get(..word(2)));
        part.map_or_else(Bytes::new, |part| set.slice_ref(part))
    }

    fn count(&self, section: Section, words: usize) -> u32 {
        (self.section(section).len() / (words * 4)) as u32
    }

    fn section(&self, section: Section) -> &[u8] {
        let (from, length) = self.sections[section as usize];
        self.bytes.get(from..).and_then(|rest| rest.get(..length)).unwrap_or_default()
    }

    /// A word of a row; 0 where there is none.
    fn word(&self, section: Section, words: usize, row: u32, place: usize) -> u32 {
        let at = (row as usize).saturating_mul(words).saturating_add(place).saturating_mul(4);
        let word = self.section(section).get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u32::from_le_bytes(*word))
    }
}

/// Features in a word: what a value is matters only as far as it is known.
fn packed(features: Features) -> u32 {
    let Features { presence, enum_type, repeated, utf8, message } = features;
    let small = |value: i32| u32::try_from(value).map_or(OTHER, |value| value.min(OTHER));
    let fold = |word: u32, value| word << 4 | small(value);
    [presence, enum_type, repeated, utf8, message].into_iter().fold(0, fold)
}

/// Any value that is not known.
const OTHER: u32 = 15;

fn unpacked(word: u32) -> Features {
    let value = |place: u32| (word >> (place * 4) & OTHER) as i32;
    Features {
        presence: value(4),
        enum_type: value(3),
        repeated: value(2),
        utf8: value(1),
        message: value(0),
    }
}

#[cfg(test)]
mod tests;
