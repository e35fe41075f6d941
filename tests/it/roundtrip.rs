//! The law of the round trip: wire format and JSON lead back to where they came from, for messages of every kind
//! of field that Google's test messages have. Never looks at one message in particular.

use proptest::prelude::*;
use rpcshark::{
    base::{Limits, Severity},
    message::{self, JsonOptions, Tree, json_in, wire_out},
    schema::{Cardinality, FieldPlan, Kind, Schema, TypeId},
};

const TEST_MESSAGES: &[u8] = include_bytes!("../conformance/test_messages.binpb");

const TYPES: &[&str] = &[
    "protobuf_test_messages.proto2.TestAllTypesProto2",
    "protobuf_test_messages.proto3.TestAllTypesProto3",
    "protobuf_test_messages.editions.TestAllTypesEdition2023",
    "protobuf_test_messages.editions.proto2.TestAllTypesProto2",
    "protobuf_test_messages.editions.proto3.TestAllTypesProto3",
];

/// Decisions, drawn from bytes; zeros when they are used up.
struct Draw<'a>(std::slice::Iter<'a, u8>);

impl Draw<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn bits(&mut self) -> u64 {
        let width = self.byte() % 9;
        (0..width).fold(0, |bits, _| bits << 8 | u64::from(self.byte()))
    }
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
fn message(schema: &Schema, ty: TypeId, draw: &mut Draw<'_>, depth: usize) -> Vec<u8> {
    let plan = schema.ty(ty);
    let mut out = Vec::new();
    for _ in 0..draw.byte() % 6 {
        let place = usize::from(draw.byte()) << 8 | usize::from(draw.byte());
        match plan.fields.get(place % (plan.fields.len() + 1)) {
            Some(field) => self::field(schema, field, draw, depth, &mut out),
            None => {
                // A number that no test message has.
                varint(&mut out, 900_000 << 3);
                varint(&mut out, draw.bits());
            }
        }
    }
    out
}

fn field(schema: &Schema, field: &FieldPlan, draw: &mut Draw<'_>, depth: usize, out: &mut Vec<u8>) {
    let (number, many) = (field.number, field.cardinality == Cardinality::Repeated);
    match field.kind {
        // Well-known types say in their own tests what they hold; most have no place for unknown fields.
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
        Kind::String => length(out, number, format!("é\u{7}{}", draw.bits()).as_bytes()),
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
    match kind {
        // Small whole numbers: JSON does not keep the bits of a NaN.
        Kind::Double => out.extend_from_slice(&(bits as i32 as f64 / 8.0).to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(bits as i16 as f32 / 8.0).to_le_bytes()),
        Kind::Fixed64 | Kind::Sfixed64 => out.extend_from_slice(&bits.to_le_bytes()),
        Kind::Fixed32 | Kind::Sfixed32 => out.extend_from_slice(&(bits as u32).to_le_bytes()),
        // ProtoJSON has one form for all numbers of NullValue.
        Kind::Enum(id) if schema.enum_plan(id).is_some_and(|e| e.null) => varint(out, 0),
        Kind::Enum(_) => varint(out, bits % 5),
        _ => varint(out, bits),
    }
}

fn decode(schema: &Schema, ty: TypeId, payload: &[u8]) -> Tree {
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    message::decode(schema, Some(ty), payload, &Limits::default(), &mut tree, &mut findings);
    let error = findings.iter().find(|f| f.severity == Severity::Error);
    assert!(error.is_none(), "{error:?}");
    tree
}

fn wire(schema: &Schema, ty: TypeId, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    wire_out::write(schema, &decode(schema, ty, payload), payload, &mut out);
    out
}

fn json(schema: &Schema, ty: TypeId, payload: &[u8]) -> String {
    let limits = Limits::default();
    let options = JsonOptions { redact: false, ..JsonOptions::new(&limits) };
    let mut out = Vec::new();
    message::json::write(schema, &decode(schema, ty, payload), payload, &options, &mut out, &mut Vec::new());
    String::from_utf8(out).unwrap()
}

fn check(schema: &Schema, ty: TypeId, payload: &[u8]) {
    let canonical = wire(schema, ty, payload);
    assert_eq!(wire(schema, ty, &canonical), canonical, "canonical bytes stay as they are");
    // Members come in the order of the wire: what is compared is what they say.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&json(schema, ty, &canonical)), value(&json(schema, ty, payload)), "the same message");
    let text = json(schema, ty, &canonical);
    let mut back = Vec::new();
    let errors = json_in::encode(schema, ty, &text, Default::default(), &mut back);
    assert_eq!(errors, [], "{text}");
    assert_eq!(json(schema, ty, &back), text, "JSON leads back to itself");
    assert_eq!(wire(schema, ty, &back), canonical, "and to the same bytes: {text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wire_and_json_lead_back(drawn in proptest::collection::vec(any::<u8>(), 0..200)) {
        static SCHEMA: std::sync::LazyLock<Schema> =
            std::sync::LazyLock::new(|| Schema::from_sets(&[("test_messages.binpb", TEST_MESSAGES)]).unwrap());
        for name in TYPES {
            let ty = SCHEMA.type_by_name(name).unwrap();
            check(&SCHEMA, ty, &message(&SCHEMA, ty, &mut Draw(drawn.iter()), 4));
        }
    }
}
