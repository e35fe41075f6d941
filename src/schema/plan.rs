//! The compiled tables: one plan a type, one a field; everything by number.
//! Never holds a descriptor: what is not needed to decode or print is gone.

use std::sync::Arc;

/// A message type of a [`Schema`](super::Schema).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// An enum of a [`Schema`](super::Schema).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EnumId(pub u32);

/// A field of a type; strings end here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId {
    /// The type that has the field.
    pub ty: TypeId,
    /// Its place in [`TypePlan::fields`].
    pub index: u16,
}

/// What a field holds. Groups are messages: [`FieldPlan::delimited`] tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `double`
    Double,
    /// `float`
    Float,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
    /// `sint32`
    Sint32,
    /// `sint64`
    Sint64,
    /// `fixed32`
    Fixed32,
    /// `fixed64`
    Fixed64,
    /// `sfixed32`
    Sfixed32,
    /// `sfixed64`
    Sfixed64,
    /// `bool`
    Bool,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// An enum.
    Enum(EnumId),
    /// A message, a group, or the entry of a map.
    Message(TypeId),
}

impl Kind {
    /// The name of a scalar in .proto text; `enum` and `message` for the rest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::Float => "float",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Sint32 => "sint32",
            Self::Sint64 => "sint64",
            Self::Fixed32 => "fixed32",
            Self::Fixed64 => "fixed64",
            Self::Sfixed32 => "sfixed32",
            Self::Sfixed64 => "sfixed64",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Enum(_) => "enum",
            Self::Message(_) => "message",
        }
    }

    /// The message type, where it is one.
    pub fn message(self) -> Option<TypeId> {
        match self {
            Self::Message(ty) => Some(ty),
            _ => None,
        }
    }
}

/// Whether unset and default are told apart (descriptor.proto: FeatureSet.FieldPresence).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// The default is not told from unset; repeated fields too.
    Implicit,
    /// Set and unset differ.
    Explicit,
    /// Explicit, and a message without it is faulty.
    Required,
}

/// How often a field may stand in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cardinality {
    /// Once; the last counts, messages merge.
    Singular,
    /// Any number of times.
    Repeated,
    /// A map; the kind is the entry's type.
    Map,
}

/// What else is known of a field, from options, its name or a dialect.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Annotation {
    /// Its value is a credential.
    pub secret: bool,
    /// Its value is an id; the number means what whoever annotated says (a namespace).
    pub id: Option<u16>,
    /// Its value holds another encoding: [`Schema::nested`](super::Schema::nested).
    pub nested: Option<u16>,
    /// Its value is the payload of another message of the call; the number is the annotator's.
    pub carrier: Option<u16>,
}

impl Annotation {
    /// This and another, which has the last word but cannot make a secret public.
    pub(super) fn with(self, new: Self) -> Self {
        Self {
            secret: self.secret || new.secret,
            id: new.id.or(self.id),
            nested: new.nested.or(self.nested),
            carrier: new.carrier.or(self.carrier),
        }
    }
}

/// How a field's value is encoded once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// JSON text.
    Json,
    /// A message in wire format.
    Protobuf,
    /// Hexadecimal text; of a message where [`Nested::ty`] is set.
    Hex,
    /// Base64 text; of a message where [`Nested::ty`] is set.
    Base64,
    /// UTF-8 text in a bytes field.
    Text,
    /// The SHA-256 of bytes that stand elsewhere, or those bytes themselves; they hold a message where [`Nested::ty`] is set.
    Blob,
}

impl Encoding {
    /// As records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Text => "text",
            Self::Blob => "blob",
        }
    }
}

/// An encoding inside a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nested {
    /// How the value is encoded.
    pub encoding: Encoding,
    /// The message that it holds, where it holds one.
    pub ty: Option<TypeId>,
    /// Blobs only: what the bytes hold where they are no message.
    pub inner: Option<Inner>,
}

/// What a blob without a message type holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inner {
    /// JSON text.
    Json,
    /// UTF-8 text.
    Text,
}

/// One field.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldPlan {
    /// The field number.
    pub number: u32,
    /// The name in the .proto; `[full.name]` for an extension. Records share it, as they do names of types and RPCs.
    pub name: Arc<str>,
    /// The ProtoJSON name; `[full.name]` for an extension.
    pub json_name: Box<str>,
    /// What it holds.
    pub kind: Kind,
    /// How often.
    pub cardinality: Cardinality,
    /// Presence.
    pub presence: Presence,
    /// Whether a writer packs it; a reader takes either.
    pub packed: bool,
    /// Whether a writer makes it a group (delimited); a reader takes either.
    pub delimited: bool,
    /// Whether a string must be UTF-8.
    pub utf8: bool,
    /// The oneof it is a branch of: a place in [`TypePlan::oneofs`]. Synthetic ones are left out.
    pub oneof: Option<u16>,
    /// What else is known.
    pub annotation: Annotation,
}

impl FieldPlan {
    /// Whether it is repeated or a map.
    pub fn is_many(&self) -> bool {
        self.cardinality != Cardinality::Singular
    }
}

/// A oneof that the .proto spells out.
#[derive(Clone, PartialEq, Debug)]
pub struct OneofPlan {
    /// Its name.
    pub name: Box<str>,
    /// Its branches: places in [`TypePlan::fields`].
    pub fields: Box<[u16]>,
}

/// Types that ProtoJSON writes in a way of their own. A type counts only if its fields are
/// those of the public definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WellKnown {
    /// `google.protobuf.Any`
    Any,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.FieldMask`
    FieldMask,
    /// `google.protobuf.Struct`
    Struct,
    /// `google.protobuf.Value`
    Value,
    /// `google.protobuf.ListValue`
    ListValue,
    /// `google.protobuf.Int32Value` and the other wrappers
    Wrapper,
    /// `google.protobuf.Empty`
    Empty,
}

/// One message type.
#[derive(Clone, PartialEq, Debug)]
pub struct TypePlan {
    /// The full name, without a leading dot.
    pub name: Arc<str>,
    /// Its fields and known extensions, by number.
    pub fields: Vec<FieldPlan>,
    /// Its oneofs, in the order of the .proto.
    pub oneofs: Vec<OneofPlan>,
    /// Whether ProtoJSON has a form of its own for it.
    pub known: Option<WellKnown>,
    /// Whether it is the entry of a map.
    pub map_entry: bool,
    /// Whether some field is required.
    pub has_required: bool,
    /// Fields whose annotation has an id.
    pub ids: Vec<u16>,
    /// Number → place + 1, for numbers below 256.
    pub(super) dense: Box<[u16]>,
    /// Places sorted by `name`, and by `json_name`.
    pub(super) by_name: Box<[u16]>,
    pub(super) by_json_name: Box<[u16]>,
    /// Whether two fields share a ProtoJSON name, as descriptors of proto2 may have it, or one is no plain word.
    pub(super) has_odd_names: bool,
}

impl TypePlan {
    /// The part of the name after the last dot.
    pub fn short_name(&self) -> &str {
        short(&self.name)
    }

    /// The place of the field with a number.
    pub fn index_of(&self, number: u32) -> Option<u16> {
        if let Some(place) = self.dense.get(number as usize) {
            return place.checked_sub(1);
        }
        if number < 256 {
            return None;
        }
        self.fields.binary_search_by_key(&number, |f| f.number).ok().map(|i| i as u16)
    }

    /// The field at a place.
    pub fn field(&self, index: u16) -> Option<&FieldPlan> {
        self.fields.get(usize::from(index))
    }

    /// The place of a field by its name in the .proto, or `[full.name]`.
    pub fn field_by_name(&self, name: &str) -> Option<u16> {
        self.lookup(&self.by_name, name, |f| &f.name)
    }

    /// The place of a field by its ProtoJSON name.
    pub fn field_by_json_name(&self, name: &str) -> Option<u16> {
        self.lookup(&self.by_json_name, name, |f| &f.json_name)
    }

    /// The place of a field by either name, ProtoJSON's first.
    pub fn field_by_member(&self, name: &str) -> Option<u16> {
        self.field_by_json_name(name).or_else(|| self.field_by_name(name))
    }

    /// The field whose ProtoJSON name a text begins with, up to a quote: one of a few from `next` on, since members
    /// come in about the order of the fields. Gives its place and the length of the name.
    pub fn field_ahead(&self, text: &[u8], next: u16) -> Option<(u16, usize)> {
        const AHEAD: usize = 4;
        let ahead = self.fields.iter().zip(0..).skip(usize::from(next)).take(AHEAD);
        let names = ahead.map(|(field, place)| (field.json_name.as_bytes(), place));
        let is_next = |name: &[u8]| text.get(name.len()) == Some(&b'"') && text.starts_with(name);
        let (name, place) = names.filter(|_| !self.has_odd_names).find(|(name, _)| is_next(name))?;
        Some((place, name.len()))
    }

    fn lookup(&self, order: &[u16], name: &str, key: impl Fn(&FieldPlan) -> &str) -> Option<u16> {
        let at = order.binary_search_by(|i| self.field(*i).map_or("", &key).cmp(name)).ok()?;
        order.get(at).copied()
    }
}

/// One enum.
#[derive(Clone, PartialEq, Debug)]
pub struct EnumPlan {
    /// The full name.
    pub name: Box<str>,
    /// Whether numbers without a name are unknown fields.
    pub closed: bool,
    /// Whether it is `google.protobuf.NullValue`, which ProtoJSON writes as null.
    pub null: bool,
    /// The number of the first value, which is the default.
    pub first: i32,
    /// Names by number; the first in the .proto where several share one.
    pub(super) by_number: Box<[(i32, Box<str>)]>,
    /// Numbers by name, aliases too.
    pub(super) by_name: Box<[(Box<str>, i32)]>,
}

impl EnumPlan {
    /// The name of a number.
    pub fn name_of(&self, number: i32) -> Option<&str> {
        let at = self.by_number.binary_search_by_key(&number, |(n, _)| *n).ok()?;
        self.by_number.get(at).map(|(_, name)| &**name)
    }

    /// The number of a name.
    pub fn number_of(&self, name: &str) -> Option<i32> {
        let at = self.by_name.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        self.by_name.get(at).map(|(_, number)| *number)
    }

    /// Number and name of each value, by number; aliases left out.
    pub fn values(&self) -> impl Iterator<Item = (i32, &str)> {
        self.by_number.iter().map(|(n, name)| (*n, &**name))
    }
}

/// One RPC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// `package.Service/Method`.
    pub name: Arc<str>,
    /// What the client sends.
    pub input: TypeId,
    /// What the server sends.
    pub output: TypeId,
    /// Whether the client sends a stream.
    pub client_streaming: bool,
    /// Whether the server sends a stream.
    pub server_streaming: bool,
}

/// The part of a full name after the last dot.
pub(super) fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, short)| short)
}
