//! What a descriptor set says at first sight: which names it defines, and what each field refers to.
//! Never reads what only one type's plan needs; that waits, as bytes, until somebody asks for the type.

use std::{ops::Range, sync::Arc};

use prost::{
    Message,
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};

use super::{
    Error,
    descriptor::{
        EnumOptions, FileOptions, LABEL_REPEATED, MessageOptions, TYPE_BYTES, TYPE_GROUP, TYPE_MESSAGE,
        TYPE_STRING,
    },
    features::Features,
};

/// One file. The bytes are as a mirror (`descriptor`) or protox writes them: whole, in the order of the tags.
pub(super) struct FileOutline<'a> {
    pub name: &'a str,
    pub package: &'a str,
    /// Messages, each before those that are nested in it.
    pub messages: Vec<MessageOutline<'a>>,
    pub enums: Vec<EnumOutline<'a>>,
    pub extensions: Vec<ExtensionOutline<'a>>,
    /// Full name and `ServiceDescriptorProto`.
    pub services: Vec<(Arc<str>, &'a [u8])>,
    /// Fields of all messages.
    pub fields: Vec<FieldOutline<'a>>,
    raw: &'a [u8],
}

/// One message.
pub(super) struct MessageOutline<'a> {
    pub name: Arc<str>,
    /// Its `DescriptorProto`.
    pub raw: &'a [u8],
    pub features: Features,
    pub map_entry: bool,
    /// Its fields: places in [`FileOutline::fields`].
    pub fields: Range<usize>,
}

/// One enum.
pub(super) struct EnumOutline<'a> {
    pub name: Arc<str>,
    /// Its `EnumDescriptorProto`.
    pub raw: &'a [u8],
    pub features: Features,
}

/// A field that a file adds to a message, perhaps another file's.
pub(super) struct ExtensionOutline<'a> {
    /// The full name of what it is declared in.
    pub scope: Arc<str>,
    pub extendee: &'a str,
    pub field: FieldOutline<'a>,
    /// Its `FieldDescriptorProto`.
    pub raw: &'a [u8],
    pub features: Features,
}

/// One field.
#[derive(Clone, Copy, Default)]
pub(super) struct FieldOutline<'a> {
    pub number: u32,
    pub name: &'a str,
    /// `FieldDescriptorProto.Type`; 0 where `type_name` alone says it.
    pub kind: i32,
    /// What it refers to, where it holds a message or an enum.
    pub type_name: &'a str,
    pub repeated: bool,
    /// `FieldOptions.debug_redact`
    pub redact: bool,
}

impl FieldOutline<'_> {
    /// Whether it holds a message, as far as its type says.
    pub fn may_be_message(&self) -> bool {
        matches!(self.kind, 0 | TYPE_GROUP | TYPE_MESSAGE)
    }

    /// Whether a credential can be its value.
    pub fn may_be_secret(&self) -> bool {
        matches!(self.kind, TYPE_STRING | TYPE_BYTES)
    }
}

/// The files of a descriptor set.
pub(super) fn outline(set: &[u8]) -> Result<Vec<FileOutline<'_>>, Error> {
    Parts(set).filter(|(tag, _)| *tag == 1).map(|(_, part)| file(part.bytes())).collect()
}

impl FileOutline<'_> {
    /// Full names of all that it defines.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let services = self.services.iter().map(|(name, _)| name);
        self.messages.iter().map(|m| &m.name).chain(self.enums.iter().map(|e| &e.name)).chain(services)
    }

    /// Whether two files say the same, whatever they are called.
    pub fn says_as(&self, other: &Self) -> bool {
        let said =
            |file: &Self| Parts(file.raw).filter(|(tag, _)| matches!(tag, 2 | 4..=7)).collect::<Vec<_>>();
        said(self) == said(other)
    }
}

fn file(raw: &[u8]) -> Result<FileOutline<'_>, Error> {
    let mut out = FileOutline {
        name: "",
        package: "",
        messages: Vec::new(),
        enums: Vec::new(),
        extensions: Vec::new(),
        services: Vec::new(),
        fields: Vec::new(),
        raw,
    };
    let (mut options, mut syntax, mut edition) = (None, "", 0);
    for (tag, part) in Parts(raw) {
        match tag {
            1 => out.name = part.text(),
            2 => out.package = part.text(),
            6 => out.services.push((join(out.package, name(part.bytes())).into(), part.bytes())),
            8 => options = FileOptions::decode(part.bytes()).ok(),
            12 => syntax = part.text(),
            14 => edition = part.number(),
            _ => {}
        }
    }
    let features = Features::of_file(syntax, edition).ok_or_else(|| {
        let said = match edition {
            0 => format!("syntax {syntax:?}"),
            n => format!("edition number {n}"),
        };
        Error::new(out.name, format!("{said} is not known"))
            .help("proto2, proto3 and the editions 2023 and 2024 are read")
    })?;
    let features = features.with(options.as_ref().and_then(|o| o.features.as_ref()));
    let package: Arc<str> = out.package.into();
    for (tag, part) in Parts(raw) {
        match tag {
            4 => out.message(&package, features, part.bytes()),
            7 => out.extension(&package, features, part.bytes()),
            _ => {}
        }
    }
    let enums = Parts(raw).filter(|(tag, _)| *tag == 5);
    enums.for_each(|(_, part)| out.enumeration(&package, features, part.bytes()));
    Ok(out)
}

impl<'a> FileOutline<'a> {
    fn message(&mut self, scope: &str, features: Features, raw: &'a [u8]) {
        let from = self.fields.len();
        let (mut nested, mut options) = (Vec::new(), None);
        for (tag, part) in Parts(raw) {
            match tag {
                2 => self.fields.push(field(part.bytes())),
                3 | 4 | 6 => nested.push((tag, part.bytes())),
                7 => options = MessageOptions::decode(part.bytes()).ok(),
                _ => {}
            }
        }
        let features = features.with(options.as_ref().and_then(|o| o.features.as_ref()));
        let name: Arc<str> = join(scope, name(raw)).into();
        self.messages.push(MessageOutline {
            name: name.clone(),
            raw,
            features,
            map_entry: options.is_some_and(|o| o.map_entry),
            fields: from..self.fields.len(),
        });
        for (tag, raw) in nested {
            match tag {
                3 => self.message(&name, features, raw),
                4 => self.enumeration(&name, features, raw),
                _ => self.extension(&name, features, raw),
            }
        }
    }

    fn enumeration(&mut self, scope: &str, features: Features, raw: &'a [u8]) {
        let options = Parts(raw).find(|(tag, _)| *tag == 3);
        let options = options.and_then(|(_, part)| EnumOptions::decode(part.bytes()).ok());
        let features = features.with(options.as_ref().and_then(|o| o.features.as_ref()));
        self.enums.push(EnumOutline { name: join(scope, name(raw)).into(), raw, features });
    }

    fn extension(&mut self, scope: &Arc<str>, features: Features, raw: &'a [u8]) {
        let extendee = Parts(raw).find(|(tag, _)| *tag == 2).map_or("", |(_, part)| part.text());
        let scope = scope.clone();
        self.extensions.push(ExtensionOutline { scope, extendee, field: field(raw), raw, features });
    }
}

fn field(raw: &[u8]) -> FieldOutline<'_> {
    let mut out = FieldOutline::default();
    for (tag, part) in Parts(raw) {
        match tag {
            1 => out.name = part.text(),
            3 => out.number = part.number() as u32,
            4 => out.repeated = part.number() == LABEL_REPEATED,
            5 => out.kind = part.number(),
            6 => out.type_name = part.text(),
            8 => out.redact = Parts(part.bytes()).any(|(tag, part)| tag == 16 && part.number() != 0),
            _ => {}
        }
    }
    out
}

/// The full name of what is declared in a scope.
pub(super) fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { [scope, ".", name].concat() }
}

/// One RPC.
#[derive(Default)]
pub(super) struct MethodOutline<'a> {
    pub name: &'a str,
    pub input_type: &'a str,
    pub output_type: &'a str,
    pub client_streaming: bool,
    pub server_streaming: bool,
}

/// The RPCs of a `ServiceDescriptorProto`.
pub(super) fn methods(raw: &[u8]) -> impl Iterator<Item = MethodOutline<'_>> {
    Parts(raw).filter(|(tag, _)| *tag == 2).map(|(_, method)| {
        let mut out = MethodOutline::default();
        for (tag, part) in Parts(method.bytes()) {
            match tag {
                1 => out.name = part.text(),
                2 => out.input_type = part.text(),
                3 => out.output_type = part.text(),
                5 => out.client_streaming = part.number() != 0,
                6 => out.server_streaming = part.number() != 0,
                _ => {}
            }
        }
        out
    })
}

/// The name that any descriptor begins with.
fn name(raw: &[u8]) -> &str {
    Parts(raw).find(|(tag, _)| *tag == 1).map_or("", |(_, part)| part.text())
}

/// The fields of a message in wire format; ends at what is none.
struct Parts<'a>(&'a [u8]);

#[derive(Clone, Copy, PartialEq)]
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Part<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(_) => &[],
        }
    }

    fn text(self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    fn number(self) -> i32 {
        match self {
            Self::Number(number) => number as i32,
            Self::Bytes(_) => 0,
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = (u32, Part<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (tag, wire) = decode_key(&mut self.0).ok()?;
        let part = match wire {
            WireType::Varint => Part::Number(decode_varint(&mut self.0).ok()?),
            WireType::SixtyFourBit => Part::Number(self.0.try_get_u64_le().ok()?),
            WireType::ThirtyTwoBit => Part::Number(self.0.try_get_u32_le().ok()?.into()),
            WireType::LengthDelimited => {
                let len = usize::try_from(decode_varint(&mut self.0).ok()?).ok()?;
                let (part, rest) = self.0.split_at_checked(len)?;
                self.0 = rest;
                Part::Bytes(part)
            }
            _ => return None,
        };
        Some((tag, part))
    }
}
