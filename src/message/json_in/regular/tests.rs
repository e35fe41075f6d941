mod dice;

use crate::schema::{Schema, Sources, TypeId, load};

use super::super::{JsonInOptions, by_tree};
use super::encode;
use dice::Dice;

const PROTO: &str = r#"syntax = "proto3"; package demo.v1;
    import "google/protobuf/duration.proto"; import "google/protobuf/empty.proto";
    import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto"; import "google/protobuf/any.proto";
    enum Color { NONE = 0; RED = 1; BLUE = -5; }
    message Id { string request_id = 1; }
    message Append { string data = 1; Id request_id = 2; int64 append_seqno = 3; }
    message Swapped { string one = 1 [json_name = "two_words"]; string two_words = 2; string odd = 3 [json_name = "$odd"]; }
    message All {
      int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
      fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10; float flt = 11; double dbl = 12;
      bool yes = 13; string str = 14; bytes raw = 15; Color color = 16; All sub = 17; repeated All subs = 18;
      repeated sint32 packed = 19; repeated double loose = 20 [packed = false]; repeated string words = 21;
      repeated Color colors = 22; map<string, All> by_name = 23; map<bool, Color> by_bool = 24;
      map<sint64, bytes> by_num = 25; oneof pick { string a = 26; All b = 27; Color c = 28; bool d = 29; }
      optional int32 opt_int = 30; optional string opt_text = 31; google.protobuf.Timestamp when = 33;
      google.protobuf.Duration took = 34; google.protobuf.Struct doc = 36; google.protobuf.Empty empty = 43;
      google.protobuf.Int32Value boxed = 44; google.protobuf.Any any = 45; google.protobuf.Value value = 46;
      google.protobuf.NullValue null_value = 47; repeated bytes raws = 48; int32 far = 100000;
    }"#;

const PROTO2: &str = r#"syntax = "proto2"; package old.v1;
    message Old {
      optional group Inner = 1 { optional int32 in = 1; optional Old deeper = 2; }
      repeated group Many = 2 { required string text = 1; }
      repeated int64 numbers = 3; repeated bool packed = 4 [packed = true];
      extensions 100 to 110;
    }
    extend Old { optional string note = 100; }"#;

fn schema() -> Schema {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), PROTO).unwrap();
    std::fs::write(dir.path().join("old.proto"), PROTO2).unwrap();
    load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema
}

/// Whether it was taken; where it was, the tree has to agree.
fn taken(schema: &Schema, ty: TypeId, text: &str) -> bool {
    let mut out = b"before".to_vec();
    let is_taken = encode(schema, ty, text, &mut out).is_some();
    assert!(out.starts_with(b"before"));
    if is_taken {
        let mut expected = b"before".to_vec();
        let errors = by_tree(schema, ty, text, JsonInOptions::default(), &mut expected);
        assert!(errors.is_empty(), "{errors:?} in {text}");
        assert!(out == expected, "{text}\n{out:02x?}\n{expected:02x?}");
    }
    is_taken
}

fn ty(schema: &Schema, name: &str) -> TypeId {
    schema.type_by_name(name).unwrap()
}

#[test]
fn what_is_regular_is_taken() {
    let schema = schema();
    let all = ty(&schema, "demo.v1.All");
    for text in [
        "{}",
        " \t\r\n{ } \n",
        r#"{"i32":-1,"i64":"-9223372036854775808","u32":4294967295,"u64":"18446744073709551615"}"#,
        r#"{"s32":"-2147483648","s64":9223372036854775807,"f32":"4294967295","f64":18446744073709551615}"#,
        r#"{"sf32":-2147483648,"sf64":"-1","flt":1.5e3,"dbl":"-Infinity"}"#,
        r#"{"i32":0,"str":"","raw":"","yes":false,"color":"NONE","dbl":-0}"#,
        r#"{"u32":"-0","i64":-0,"i32":"007"}"#,
        r#"{ "yes" : true , "str" : "é plain \u007e" }"#.replace("\\u007e", "~").as_str(),
        r#"{"raw":"+/+/","raws":["-_-_","+_+=","QQ","QQ==","QR=="]}"#,
        r#"{"color":"BLUE","colors":["RED",0,-5,7],"c":2}"#,
        r#"{"sub":{"sub":{"sub":{}}},"subs":[{},{"i32":1},{"subs":[{}]}]}"#,
        r#"{"packed":[1,"-2",3],"loose":[1,"NaN",2.5],"words":["","a"],"colors":[]}"#,
        r#"{"packed":[ ],"words":[ ],"byName":{ },"subs":[]}"#,
        r#"{"byName":{"":{},"a":{"i32":1},"a":{}},"byBool":{"true":"RED","false":0},"byNum":{"-3":"QQ=="}}"#,
        r#"{"a":"x","optInt":0,"opt_text":""}"#,
        r#"{"far":1,"opt_int":2,"by_name":{},"i32":3,"sub":{"far":4}}"#,
        r#"{"when":"2024-01-02T03:04:05.678Z","took":"-1.5s","empty":{},"nullValue":"NULL_VALUE"}"#,
    ] {
        assert!(taken(&schema, all, text), "{text}");
    }
    let append = ty(&schema, "demo.v1.Append");
    let digits = "0a1b".repeat(5_000);
    let text = format!(r#"{{"data":"{digits}","requestId":{{"requestId":"1111-2222"}},"appendSeqno":"12"}}"#);
    assert!(taken(&schema, append, &text));
    let old = ty(&schema, "old.v1.Old");
    let text = r#"{"inner":{"in":1,"deeper":{}},"many":[{"text":"a"},{}],"numbers":[1,2],"packed":[true,false],"[old.v1.note]":"n"}"#;
    assert!(taken(&schema, old, text));
    // A ProtoJSON name goes before the name in the .proto that is the same.
    let swapped = ty(&schema, "demo.v1.Swapped");
    assert!(taken(&schema, swapped, r#"{"twoWords":"2","two_words":"1"}"#));
    assert!(taken(&schema, swapped, r#"{"two_words":"1"}"#) && taken(&schema, swapped, r#"{"one":"1"}"#));
    assert!(!taken(&schema, swapped, r#"{"$odd":"1"}"#) && taken(&schema, swapped, r#"{"odd":"1"}"#));
}

#[test]
fn what_is_not_regular_is_left() {
    let schema = schema();
    let all = ty(&schema, "demo.v1.All");
    for text in [
        // Not JSON, or not an object.
        "",
        " ",
        "{",
        "[]",
        "\"\"",
        "null",
        "{}x",
        "{}{}",
        "{]",
        "\u{feff}{}",
        "{\u{a0}}",
        r#"{,}"#,
        r#"{"i32"}"#,
        r#"{"i32":}"#,
        r#"{"i32":1,}"#,
        r#"{"i32":1 "u32":1}"#,
        r#"{"i32" 1}"#,
        r#"{i32:1}"#,
        r#"{'i32':1}"#,
        r#"{"i32":1"#,
        r#"{"str":"a}"#,
        "{\"str\":\"a\nb\"}",
        "{\"str\":\"a\u{0}b\"}",
        r#"{"packed":[1,]}"#,
        r#"{"packed":[,1]}"#,
        r#"{"packed":[1 2]}"#,
        r#"{"packed":[1}"#,
        r#"{"i32":01}"#,
        r#"{"i32":-}"#,
        r#"{"i32":+1}"#,
        r#"{"i32":.5}"#,
        r#"{"dbl":1.}"#,
        r#"{"dbl":01}"#,
        r#"{"dbl":NaN}"#,
        r#"{"yes":truE}"#,
        r#"{"yes":truefalse}"#,
        // Unknown, twice, two branches, what the writer adds.
        r#"{"nope":1}"#,
        r#"{"":1}"#,
        r#"{"I32":1}"#,
        r#"{"i32":1,"i32":1}"#,
        r#"{"optInt":1,"opt_int":1}"#,
        r#"{"a":"","b":{}}"#,
        r#"{"sub":{"c":0,"i32":1,"d":false}}"#,
        r#"{"$unknown":[]}"#,
        r#"{"$rest":""}"#,
        r#"{"str":{"$bytes":"/w=="}}"#,
        // Escapes and null.
        r#"{"str":"a\n"}"#,
        r#"{"i\u0033\u0032":1}"#,
        r#"{"str":null}"#,
        r#"{"packed":[null]}"#,
        r#"{"byName":{"a":null}}"#,
        r#"{"nullValue":null}"#,
        r#"{"value":null}"#,
        // Values that do not fit, and such as are written another way.
        r#"{"i32":2147483648}"#,
        r#"{"i32":-2147483649}"#,
        r#"{"i32":1e3}"#,
        r#"{"i32":1.0}"#,
        r#"{"i32":"1e3"}"#,
        r#"{"i32":""}"#,
        r#"{"i32":"-"}"#,
        r#"{"i32":"+1"}"#,
        r#"{"i32":" 1"}"#,
        r#"{"i32":"--1"}"#,
        r#"{"i32":true}"#,
        r#"{"i32":{}}"#,
        r#"{"i32":[1]}"#,
        r#"{"i64":9223372036854775808}"#,
        r#"{"u32":-1}"#,
        r#"{"u32":4294967296}"#,
        r#"{"u64":"18446744073709551616"}"#,
        r#"{"u64":"99999999999999999999"}"#,
        r#"{"u64":"000000000000000000001"}"#,
        r#"{"f32":-1}"#,
        r#"{"sf32":2147483648}"#,
        r#"{"flt":1e39}"#,
        r#"{"dbl":1e400}"#,
        r#"{"dbl":"inf"}"#,
        r#"{"dbl":""}"#,
        r#"{"yes":"true"}"#,
        r#"{"yes":1}"#,
        r#"{"str":1}"#,
        r#"{"raw":"*"}"#,
        r#"{"raw":"A"}"#,
        r#"{"raw":1}"#,
        r#"{"color":"PINK"}"#,
        r#"{"color":"1"}"#,
        r#"{"color":2147483648}"#,
        r#"{"color":1.0}"#,
        r#"{"sub":[]}"#,
        r#"{"sub":"x"}"#,
        r#"{"subs":{}}"#,
        r#"{"packed":1}"#,
        r#"{"byName":[]}"#,
        r#"{"byBool":{"1":0}}"#,
        r#"{"byBool":{"":0}}"#,
        r#"{"byNum":{"x":""}}"#,
        r#"{"byNum":{"1.0":""}}"#,
        r#"{"empty":{"a":1}}"#,
        r#"{"empty":[]}"#,
        r#"{"when":"yesterday"}"#,
        r#"{"when":{"seconds":1}}"#,
        r#"{"took":"1"}"#,
        // Well-known types that it does not know.
        r#"{"doc":{}}"#,
        r#"{"boxed":1}"#,
        r#"{"any":{}}"#,
        r#"{"value":1}"#,
    ] {
        assert!(!taken(&schema, all, text), "{text}");
    }
    let root = ty(&schema, "google.protobuf.Struct");
    assert!(!taken(&schema, root, "{}"));
    assert!(taken(&schema, ty(&schema, "google.protobuf.Timestamp"), "\"2024-01-02T03:04:05Z\""));
}

#[test]
fn as_deep_as_the_tree_and_no_deeper() {
    let schema = schema();
    let all = ty(&schema, "demo.v1.All");
    let nested = |depth: usize| format!("{}{{}}{}", "{\"sub\":".repeat(depth), "}".repeat(depth));
    assert!(taken(&schema, all, &nested(99)));
    assert!(!taken(&schema, all, &nested(100)) && !taken(&schema, all, &nested(1_000_000)));
    let lists = |depth: usize| {
        let inner = format!("{}{{}}{}", "{\"subs\":[".repeat(depth), "]}".repeat(depth));
        format!("{{\"sub\":{inner}}}")
    };
    assert!(taken(&schema, all, &lists(49)) && !taken(&schema, all, &lists(50)));
    assert!(!taken(&schema, all, &"[".repeat(1_000_000)));
}

#[test]
fn many_fields_or_too_many() {
    let fields: String = (1..=600).map(|i| format!("int32 field_{i} = {i}; ")).collect();
    let dir = tempfile::tempdir().unwrap();
    let proto =
        format!("syntax = \"proto3\"; message Wide {{ {fields} oneof o {{ bool x = 601; bool y = 602; }} }}");
    std::fs::write(dir.path().join("t.proto"), proto).unwrap();
    let schema = load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema;
    let wide = ty(&schema, "Wide");
    let text = |numbers: &mut dyn Iterator<Item = u32>| {
        let members: Vec<_> = numbers.map(|i| format!("\"field{i}\":{i}")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(taken(&schema, wide, &text(&mut (1..=256))));
    assert!(taken(&schema, wide, &text(&mut (1..=256).rev())));
    assert!(taken(&schema, wide, &text(&mut (1..=256).step_by(7))));
    assert!(!taken(&schema, wide, &text(&mut (1..=257))));
    assert!(!taken(&schema, wide, "{\"x\":true}"));
}

#[test]
fn megabytes_are_walked_once() {
    let schema = schema();
    let all = ty(&schema, "demo.v1.All");
    let element = format!("{{\"str\":\"{}\"}}", "x".repeat(130));
    let text = format!("{{\"subs\":[{}]}}", vec![element; 50_000].join(","));
    let deep = format!("{}{text}{}", "{\"sub\":".repeat(60), "}".repeat(60));
    // Were each element moved once for each that stands before it, this would not end.
    for text in [&text, &deep, &format!("{{\"raws\":[{}\"\"]}}", "\"QQ==\",".repeat(300_000))] {
        assert!(encode(&schema, all, text, &mut Vec::new()).is_some());
    }
}

#[test]
fn what_it_takes_is_what_the_tree_gives() {
    let schema = schema();
    let mut dice = Dice(11);
    let (mut regular, mut mutants, rounds) = (0, 0, 4_000);
    for round in 0..rounds {
        let name = ["demo.v1.All", "demo.v1.All", "old.v1.Old", "demo.v1.Append"][round % 4];
        let (ty, mut text) = (ty(&schema, name), String::new());
        dice.message(&schema, ty, 0, &mut text);
        regular += usize::from(taken(&schema, ty, &text));
        for _ in 0..4 {
            if let Some(text) = dice.mutated(&text) {
                mutants += usize::from(taken(&schema, ty, &text));
            }
        }
    }
    assert!(regular > rounds / 3, "only {regular} of {rounds} were taken");
    assert!(mutants > rounds / 20, "only {mutants} mutants were taken");
}
