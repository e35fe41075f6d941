//! Schemas and messages drawn from bytes: every syntax, every kind of field, in any order and encoding.
//! Never draws a well-known type: those say in their own tests what they hold.

use std::fmt::Write;

use rpcshark::schema::{Cardinality, FieldPlan, Kind, Schema, Sources, TypeId, load};

/// Decisions, drawn from bytes; zeros when they are used up.
pub struct Draw<'a>(std::slice::Iter<'a, u8>);

impl<'a> Draw<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    pub fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    pub fn below(&mut self, most: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % most.max(1)
    }

    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    pub fn bits(&mut self) -> u64 {
        let width = self.byte() % 9;
        (0..width).fold(0, |bits, _| bits << 8 | u64::from(self.byte()))
    }
}

/// What a file begins with, and whether its fields are labelled as those of proto2.
const SYNTAXES: &[(&str, &str)] = &[
    ("proto3", "syntax = \"proto3\";"),
    ("proto2", "syntax = \"proto2\";"),
    ("edition", "edition = \"2023\";"),
    ("edition", "edition = \"2023\"; option features.field_presence = IMPLICIT;"),
    (
        "edition",
        "edition = \"2023\"; option features.enum_type = CLOSED; option features.repeated_field_encoding = EXPANDED;",
    ),
    ("edition", "edition = \"2023\"; option features.message_encoding = DELIMITED;"),
];

const SCALARS: &[&str] = &[
    "string", "int32", "int64", "bytes", "bool", "double", "float", "uint32", "uint64", "sint32", "sint64",
    "fixed32", "fixed64", "sfixed32", "sfixed64", "Color",
];
const KEYS: &[&str] = &["string", "int32", "bool", "uint64", "sint64", "fixed32", "sfixed64"];
const MESSAGES: usize = 3;

/// A .proto of three messages, `M0` the root of all.
pub fn proto(draw: &mut Draw<'_>) -> String {
    let (syntax, head) = *draw.pick(SYNTAXES);
    let mut text = format!("{head}\npackage gen.v1;\n");
    // Closed enums of proto2 may begin with any number, others have to begin with 0, implicit fields' too.
    text.push_str("enum Color { NONE = 0; RED = 1; BLUE = -5; }\n");
    for message in 0..MESSAGES {
        let _ = writeln!(text, "message M{message} {{");
        let mut number = 0;
        for place in 0..draw.byte() % 14 {
            number += 1 + u32::try_from(draw.bits() % 40).unwrap_or(0);
            let _ = writeln!(text, "  {}", declared(draw, syntax, number));
            if place == 5 && draw.byte() % 2 == 1 {
                number += 2;
                let (one, other) = (scalar_or_message(draw), scalar_or_message(draw));
                let (n, m) = (number - 1, number);
                let _ = writeln!(text, "  oneof pick {{ {one} p{n} = {n}; {other} p{m} = {m}; }}");
            }
        }
        if draw.byte() % 4 == 1 {
            let _ = writeln!(text, "  {}", declared(draw, syntax, 536_870_911));
        }
        if syntax == "proto2" && message == 0 {
            text.push_str("  extensions 100000 to 100010;\n");
        }
        text.push_str("}\n");
    }
    if syntax == "proto2" {
        text.push_str("extend M0 { optional string note = 100000; repeated M1 kids = 100001; }\n");
    }
    text
}

fn scalar_or_message(draw: &mut Draw<'_>) -> String {
    if draw.byte() % 3 == 1 { format!("M{}", draw.below(MESSAGES)) } else { (*draw.pick(SCALARS)).to_owned() }
}

/// One field, its name told apart by its number.
fn declared(draw: &mut Draw<'_>, syntax: &str, number: u32) -> String {
    let stem = *draw.pick(&["text", "value", "a_b", "Loud", "wait_ms"]);
    let name = format!("{stem}_{number}");
    let many = *draw.pick(&["", "", "repeated ", "map", "group"]);
    let kind = scalar_or_message(draw);
    let is_packable = !matches!(kind.as_str(), "string" | "bytes") && !kind.starts_with('M');
    let is_message = kind.starts_with('M');
    match (many, syntax) {
        ("map", _) => format!("map<{}, {kind}> {name} = {number};", draw.pick(KEYS)),
        ("group", "proto2") => {
            let label = draw.pick(&["optional", "repeated"]);
            format!("{label} group Group{number} = {number} {{ optional {kind} in = 1; }}")
        }
        ("group", "edition") if is_message => {
            format!("{kind} {name} = {number} [features.message_encoding = DELIMITED];")
        }
        ("repeated ", "proto2" | "proto3") if is_packable => {
            format!("repeated {kind} {name} = {number} [packed = {}];", draw.byte() % 2 == 1)
        }
        ("repeated ", "edition") if is_packable => {
            let encoding = draw.pick(&["PACKED", "EXPANDED"]);
            format!("repeated {kind} {name} = {number} [features.repeated_field_encoding = {encoding}];")
        }
        ("repeated ", _) => format!("repeated {kind} {name} = {number};"),
        (_, "proto2") => format!("optional {kind} {name} = {number};"),
        (_, "proto3") => {
            format!("{}{kind} {name} = {number};", if draw.byte() % 2 == 1 { "optional " } else { "" })
        }
        _ if is_message => format!("{kind} {name} = {number};"),
        _ => {
            let presence = draw.pick(&["EXPLICIT", "IMPLICIT"]);
            format!("{kind} {name} = {number} [features.field_presence = {presence}];")
        }
    }
}

/// A schema of a .proto's text.
pub fn schema(text: &str) -> Schema {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("gen.proto"), text).expect("a file");
    let sources = Sources { protos: vec![dir.path().join("gen.proto")], ..Sources::default() };
    load(&sources).unwrap_or_else(|e| panic!("{e}\n{text}")).schema
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn length(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// A message in no canonical order: fields twice, packed or not, groups or not, unknown ones between them.
pub fn message(schema: &Schema, ty: TypeId, draw: &mut Draw<'_>, depth: usize) -> Vec<u8> {
    let plan = schema.ty(ty);
    let mut out = Vec::new();
    for _ in 0..draw.byte() % 6 {
        match plan.fields.get(draw.below(plan.fields.len() + 1)) {
            Some(field) => self::field(schema, field, draw, depth, &mut out),
            None => unknown(draw, &mut out),
        }
    }
    out
}

/// A field of a number that no message has.
fn unknown(draw: &mut Draw<'_>, out: &mut Vec<u8>) {
    let number = 900_000 + u32::from(draw.byte() % 2);
    match draw.byte() % 5 {
        1 => {
            varint(out, u64::from(number) << 3 | 1);
            out.extend_from_slice(&draw.bits().to_le_bytes());
        }
        2 => length(out, number, &draw.bits().to_be_bytes()[..usize::from(draw.byte() % 8)]),
        3 => {
            varint(out, u64::from(number) << 3 | 3);
            varint(out, 7 << 3);
            varint(out, draw.bits());
            varint(out, u64::from(number) << 3 | 4);
        }
        4 => {
            varint(out, u64::from(number) << 3 | 5);
            out.extend_from_slice(&(draw.bits() as u32).to_le_bytes());
        }
        _ => {
            varint(out, u64::from(number) << 3);
            varint(out, draw.bits());
        }
    }
}

fn field(schema: &Schema, field: &FieldPlan, draw: &mut Draw<'_>, depth: usize, out: &mut Vec<u8>) {
    let (number, many) = (field.number, field.cardinality == Cardinality::Repeated);
    match field.kind {
        // Most well-known types have no place for unknown fields.
        Kind::Message(ty) if depth == 0 || schema.ty(ty).name.starts_with("google.protobuf.") => {}
        Kind::Message(ty) => {
            let map = field.cardinality == Cardinality::Map;
            let content =
                if map { entry(schema, ty, draw, depth) } else { message(schema, ty, draw, depth - 1) };
            if !map && draw.byte() % 2 == 1 {
                varint(out, u64::from(number) << 3 | 3);
                out.extend_from_slice(&content);
                varint(out, u64::from(number) << 3 | 4);
            } else {
                length(out, number, &content);
            }
        }
        Kind::String => {
            let text = *draw.pick(&["", "plain words", "é\u{7}\u{1F600}", "a\"b\\c\n", "12", "\u{202e}x"]);
            length(out, number, format!("{text}{}", draw.byte()).as_bytes());
        }
        Kind::Bytes => length(out, number, &draw.bits().to_be_bytes()[..usize::from(draw.byte() % 8)]),
        kind if many && draw.byte() % 2 == 1 => {
            let mut content = Vec::new();
            for _ in 0..draw.byte() % 4 {
                scalar(schema, kind, draw, &mut content);
            }
            length(out, number, &content);
        }
        kind => {
            let wire = match kind {
                Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => 1,
                Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => 5,
                _ => 0,
            };
            varint(out, u64::from(number) << 3 | wire);
            scalar(schema, kind, draw, out);
        }
    }
}

/// An entry of a map: key and value, either of which may be missing, and nothing else.
fn entry(schema: &Schema, ty: TypeId, draw: &mut Draw<'_>, depth: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in &schema.ty(ty).fields {
        if !draw.byte().is_multiple_of(4) {
            field(schema, part, draw, depth, &mut out);
        }
    }
    out
}

fn scalar(schema: &Schema, kind: Kind, draw: &mut Draw<'_>, out: &mut Vec<u8>) {
    let bits = draw.bits();
    // JSON has one NaN: the one that a conversion gives.
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1, 1e-40, 1.5e300];
    let float = |draw: &mut Draw<'_>| match draw.byte() % 3 {
        1 => *draw.pick(&odd),
        _ => bits as i32 as f64 / 8.0,
    };
    match kind {
        Kind::Double => out.extend_from_slice(&float(draw).to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(float(draw) as f32).to_le_bytes()),
        Kind::Fixed64 | Kind::Sfixed64 => out.extend_from_slice(&bits.to_le_bytes()),
        Kind::Fixed32 | Kind::Sfixed32 => out.extend_from_slice(&(bits as u32).to_le_bytes()),
        // ProtoJSON has one form for all numbers of NullValue.
        Kind::Enum(id) if schema.enum_plan(id).is_some_and(|e| e.null) => varint(out, 0),
        Kind::Enum(_) => varint(out, *draw.pick(&[0, 1, -5i64 as u64, 2, 4])),
        _ => varint(out, bits),
    }
}
