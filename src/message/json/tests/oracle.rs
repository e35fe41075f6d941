//! Where prost-reflect takes a payload and has JSON for it, ours is the same.

use proptest::prelude::*;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

use super::super::*;
use crate::message::{decode, fast};

const PROTO3: &str = r#"syntax = "proto3"; package demo.v1;
    import "google/protobuf/any.proto"; import "google/protobuf/duration.proto";
    import "google/protobuf/empty.proto"; import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Color { NONE = 0; RED = 1; BLUE = -5; }
    message All {
      int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
      fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10; float flt = 11; double dbl = 12;
      bool yes = 13; string str = 14; bytes raw = 15; Color color = 16; All sub = 17; repeated All subs = 18;
      repeated sint32 packed = 19; repeated double loose = 20 [packed = false]; repeated string words = 21;
      repeated Color colors = 22; map<string, All> by_name = 23; map<bool, Color> by_bool = 24;
      map<sint64, bytes> by_num = 25; oneof pick { string a = 26; All b = 27; Color c = 28; bool d = 29; }
      optional int32 opt_int = 30; optional string opt_text = 31; optional All opt_all = 32;
      google.protobuf.Timestamp when = 33; google.protobuf.Duration took = 34; google.protobuf.Any any = 35;
      google.protobuf.Struct doc = 36; google.protobuf.Value val = 37; google.protobuf.ListValue list = 38;
      google.protobuf.FieldMask mask = 39; google.protobuf.Int64Value boxed = 40;
      google.protobuf.StringValue text = 41; google.protobuf.DoubleValue float = 42;
      google.protobuf.Empty empty = 43; google.protobuf.NullValue null = 44;
      repeated google.protobuf.Any anys = 45; map<uint32, google.protobuf.Value> values = 46;
      google.protobuf.BoolValue flag = 47; google.protobuf.BytesValue bytes = 48; int32 far = 100000;
    }"#;

const PROTO2: &str = r#"syntax = "proto2"; package old.v1;
    enum Grade { LOW = 3; HIGH = 4; }
    message All {
      optional int32 n = 1 [default = 7]; optional Grade grade = 2; optional group Box = 3 { optional string s = 1; repeated All in = 2; }
      repeated group Item = 4 { optional bytes raw = 1; } repeated int64 packed = 5 [packed = true];
      map<string, Grade> grades = 6; optional All sub = 7; oneof pick { int32 a = 8; All b = 9; }
      extensions 100 to 200;
    }
    extend All { optional string note = 100; repeated All kids = 101; }"#;

struct Case {
    pool: DescriptorPool,
    schema: Schema,
}

fn case(text: &str) -> Case {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), text).unwrap();
    let mut compiler = protox::Compiler::new([dir.path()]).unwrap();
    compiler.include_imports(true).open_file("t.proto").unwrap();
    let pool = compiler.descriptor_pool();
    let schema = Schema::from_sets(&[("t", &pool.encode_to_vec())]).unwrap();
    Case { pool, schema }
}

/// A stream of choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides.max(1)
    }

    fn bits(&mut self) -> u64 {
        let odd = [0, 1, 2, u64::MAX, 1 << 31, 1 << 63, 0x7ff8_0000_0000_0000, 0xff80_0000, 0x3dcc_cccd];
        match self.roll(4) {
            0 => odd[self.roll(odd.len() as u64) as usize],
            1 => self.roll(300),
            2 => (self.roll(1 << 40) as f64 / 1e6).to_bits(),
            _ => self.roll(u64::MAX),
        }
    }

    fn text(&mut self) -> &'static str {
        let all = [
            "",
            "a",
            "snake_case",
            "a.b_c",
            "grüße",
            "\u{202e}\u{0}\"\\",
            "😀",
            "type.googleapis.com/demo.v1.All",
        ];
        all[self.roll(all.len() as u64) as usize]
    }
}

/// A field's value as some writer might put it.
fn value(schema: &Schema, field: &FieldPlan, dice: &mut Dice, depth: usize, out: &mut Vec<u8>) {
    use prost::encoding::encode_varint;
    let tag = |out: &mut Vec<u8>, wire: u64| encode_varint(u64::from(field.number) << 3 | wire, out);
    let long = |out: &mut Vec<u8>, bytes: &[u8]| {
        tag(out, 2);
        encode_varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    };
    // prost-reflect takes -0.0 for the default; the specification does not, nor does ours.
    let scalar = |dice: &mut Dice, out: &mut Vec<u8>| match field.kind {
        Kind::Double => out.extend_from_slice(&(f64::from_bits(dice.bits()) + 0.0).to_le_bytes()),
        Kind::Float => out.extend_from_slice(&(f32::from_bits(dice.bits() as u32) + 0.0).to_le_bytes()),
        Kind::Fixed64 | Kind::Sfixed64 => out.extend_from_slice(&dice.bits().to_le_bytes()),
        Kind::Fixed32 | Kind::Sfixed32 => out.extend_from_slice(&(dice.bits() as u32).to_le_bytes()),
        Kind::Enum(id) if schema.enum_plan(id).unwrap().closed => encode_varint(3 + dice.roll(2), out),
        Kind::Enum(_) => encode_varint((dice.roll(8) as i64 - 6) as u64, out),
        _ => encode_varint(dice.bits(), out),
    };
    match field.kind {
        Kind::String => long(out, dice.text().as_bytes()),
        Kind::Bytes => {
            let bytes: Vec<u8> = (0..dice.roll(6)).map(|_| dice.roll(256) as u8).collect();
            long(out, &bytes);
        }
        Kind::Message(ty) => {
            let inner = message(schema, ty, dice, depth + 1);
            if field.delimited {
                tag(out, 3);
                out.extend_from_slice(&inner);
                tag(out, 4);
            } else {
                long(out, &inner);
            }
        }
        _ if field.packed && dice.roll(2) == 0 => {
            let mut packed = Vec::new();
            (0..dice.roll(4)).for_each(|_| scalar(dice, &mut packed));
            long(out, &packed);
        }
        kind => {
            tag(out, [0, 1, 2, 3, 5][crate::message::decode::element_wire(kind) as usize]);
            scalar(dice, out);
        }
    }
}

fn message(schema: &Schema, ty: TypeId, dice: &mut Dice, depth: usize) -> Vec<u8> {
    use crate::schema::WellKnown;
    let plan = schema.ty(ty);
    let mut out = Vec::new();
    match plan.known {
        Some(WellKnown::Any) => {
            let types =
                ["demo.v1.All", "google.protobuf.Duration", "google.protobuf.Value", "google.protobuf.Empty"];
            let name = types[dice.roll(4) as usize];
            prost::encoding::string::encode(1, &format!("type.googleapis.com/{name}"), &mut out);
            let inner = message(schema, schema.type_by_name(name).unwrap(), dice, depth + 1);
            prost::encoding::bytes::encode(2, &inner, &mut out);
            return out;
        }
        Some(WellKnown::Timestamp | WellKnown::Duration) => {
            prost::encoding::int64::encode(1, &(dice.roll(1 << 38) as i64), &mut out);
            let nanos = [0, 1, 1_000, 21_000_000, 999_999_999][dice.roll(5) as usize];
            prost::encoding::int32::encode(2, &nanos, &mut out);
            return out;
        }
        // prost-reflect drops an empty path.
        Some(WellKnown::FieldMask) => {
            let path = ["a", "a.b_c", "snake_case", "Odd"][dice.roll(4) as usize];
            prost::encoding::string::encode(1, &path.to_owned(), &mut out);
            return out;
        }
        _ if plan.fields.is_empty() => return out,
        _ => {}
    }
    let fields = if depth > 3 { 0 } else { dice.roll(if depth == 0 { 12 } else { 4 }) };
    for _ in 0..fields {
        let field = &plan.fields[dice.roll(plan.fields.len() as u64) as usize];
        value(schema, field, dice, depth, &mut out);
    }
    out
}

/// Numbers by value: 1 and 1.0 are one number. prost-reflect writes a wrapper's NaN as null.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Value::String(a), Value::Null) => matches!(a.as_str(), "NaN" | "Infinity" | "-Infinity"),
        (a, b) => a == b,
    }
}

fn check(case: &Case, ty: &str, seed: u64, json_names: bool) -> bool {
    let id = case.schema.type_by_name(ty).unwrap();
    let payload = message(&case.schema, id, &mut Dice(seed | 1), 0);
    let limits = Limits::default();
    let (mut tree, mut out) = (Tree::new(), Vec::new());
    let mut findings = Vec::new();
    decode(&case.schema, Some(id), &payload, &limits, &mut tree, &mut findings);
    let options = JsonOptions { json_names, redact: false, ..JsonOptions::new(&limits) };
    write(&case.schema, &tree, &payload, &options, &mut out, &mut Vec::new());
    let tables = fast::Tables::new(&case.schema, json_names);
    let mut quick = Vec::new();
    if fast::write(&case.schema, &tables, id, &payload, false, &limits, &mut quick, &mut fast::Ids::new())
        .is_some()
    {
        assert_eq!(String::from_utf8_lossy(&quick), String::from_utf8_lossy(&out), "{payload:02x?}");
    }
    let ours: Value = serde_json::from_slice(&out).unwrap();
    let descriptor = case.pool.get_message_by_name(ty).unwrap();
    let Ok(theirs) = DynamicMessage::decode(descriptor, &*payload) else {
        panic!("the writer of this test writes what any reader takes: {payload:02x?}");
    };
    let options = SerializeOptions::new().use_proto_field_name(!json_names);
    // As text, so that a float's shortest form is what is compared.
    let mut text = Vec::new();
    if theirs.serialize_with_options(&mut serde_json::Serializer::new(&mut text), &options).is_err() {
        return false;
    }
    let theirs: Value = serde_json::from_slice(&text).unwrap();
    assert!(same(&ours, &theirs), "\nours   {ours}\ntheirs {theirs}\n{payload:02x?}");
    assert!(
        findings.iter().all(|f| f.code != Code::ProtoMalformed && f.code != Code::ProtoUnknownField),
        "{findings:?}"
    );
    true
}

#[test]
fn json_equals_prost_reflect() {
    let cases = [(case(PROTO3), "demo.v1.All"), (case(PROTO2), "old.v1.All")];
    let compared = std::cell::Cell::new(0);
    proptest!(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() }, |(seed: u64, json_names: bool)| {
        for (case, ty) in &cases {
            compared.set(compared.get() + usize::from(check(case, ty, seed, json_names)));
        }
    });
    assert!(compared.get() > 4_000, "{} of 6000 could be compared", compared.get());
}
