use super::super::{
    Cardinality, Kind, Presence,
    descriptor::{
        DescriptorProto, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto, FeatureSet,
        FieldDescriptorProto, FieldOptions, FileDescriptorProto, FileDescriptorSet, FileOptions,
        MessageOptions, OneofDescriptorProto,
    },
    features,
};
use prost::Message;

use super::*;

fn field(name: &str, number: i32, r#type: i32) -> FieldDescriptorProto {
    FieldDescriptorProto { name: name.into(), number, label: 1, r#type, ..Default::default() }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: name.into(), field, ..Default::default() }
}

fn file(name: &str, message_type: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: name.into(),
        package: "p".into(),
        syntax: "proto3".into(),
        message_type,
        ..Default::default()
    }
}

fn compiled(files: Vec<FileDescriptorProto>) -> Result<Schema, Error> {
    let bytes = FileDescriptorSet { file: files }.encode_to_vec();
    Schema::from_sets(&[("set.binpb", &bytes)])
}

fn check_error(files: Vec<FileDescriptorProto>, words: &[&str]) {
    let error = compiled(files).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} not in {error:?}");
    }
}

#[test]
fn editions_and_their_features() {
    let implicit = FeatureSet { field_presence: Some(features::IMPLICIT), ..Default::default() };
    let legacy = FeatureSet { field_presence: Some(features::LEGACY_REQUIRED), ..Default::default() };
    let delimited = FeatureSet { message_encoding: Some(features::DELIMITED), ..Default::default() };
    let with = |mut field: FieldDescriptorProto, features: FeatureSet| {
        field.options = Some(FieldOptions { features: Some(features), ..Default::default() });
        field
    };
    let mut list = field("list", 4, 5);
    list.label = 3;
    let mut sub = field("sub", 5, 11);
    sub.type_name = ".p.M".into();
    let m = message(
        "M",
        vec![
            field("plain", 1, 9),
            with(field("quiet", 2, 9), implicit.clone()),
            with(field("needed", 3, 5), legacy),
            list,
            with(sub, delimited),
        ],
    );
    let mut n = message("N", vec![field("quiet", 1, 5)]);
    n.options = Some(MessageOptions { features: Some(implicit), ..Default::default() });
    let closed = FeatureSet { enum_type: Some(features::CLOSED), ..Default::default() };
    let value = EnumValueDescriptorProto { name: "A".into(), number: 1 };
    let enum_type = EnumDescriptorProto {
        name: "E".into(),
        value: vec![value],
        options: Some(EnumOptions { features: Some(closed) }),
    };
    for edition in [1000, 1001] {
        let mut file = file("e.proto", vec![m.clone(), n.clone()]);
        (file.syntax, file.edition) = ("editions".into(), edition);
        file.enum_type.push(enum_type.clone());
        let schema = compiled(vec![file]).unwrap();
        let plan = |path: &str| schema.field_plan(schema.field(path).unwrap()).unwrap();
        assert_eq!(plan("p.M.plain").presence, Presence::Explicit);
        assert_eq!(plan("p.M.quiet").presence, Presence::Implicit);
        assert_eq!(plan("p.M.needed").presence, Presence::Required);
        assert!(plan("p.M.list").packed && plan("p.M.plain").utf8 && plan("p.M.sub").delimited);
        assert_eq!(plan("p.N.quiet").presence, Presence::Implicit);
        assert!(schema.enum_plan(schema.enum_by_name("p.E").unwrap()).unwrap().closed);
    }
    let mut unknown = file("e.proto", vec![]);
    (unknown.syntax, unknown.edition) = ("editions".into(), 1234);
    check_error(vec![unknown], &["e.proto", "edition number 1234", "2024"]);
    let mut file = file("e.proto", vec![]);
    file.options = Some(FileOptions::default());
    file.syntax = "proto4".into();
    check_error(vec![file], &["proto4"]);
}

#[test]
fn broken_descriptors_are_errors() {
    let mut lost = field("f", 1, 11);
    lost.type_name = ".p.Gone".into();
    check_error(
        vec![file("a.proto", vec![message("M", vec![lost])])],
        &["a.proto", "p.M.f", "Gone", "include_imports"],
    );
    check_error(vec![file("a.proto", vec![message("M", vec![field("f", 0, 5)])])], &["p.M.f", "number 0"]);
    check_error(vec![file("a.proto", vec![message("M", vec![field("f", 1, 99)])])], &["type 99"]);
    let twice = message("M", vec![field("f", 1, 5), field("g", 1, 5)]);
    check_error(vec![file("a.proto", vec![twice])], &["share the number 1"]);
    let clash = file("b.proto", vec![message("M", vec![])]);
    check_error(
        vec![file("a.proto", vec![message("M", vec![field("f", 1, 5)])]), clash],
        &["p.M", "a.proto"],
    );
    let same = || vec![message("M", vec![field("f", 1, 5)])];
    assert!(compiled(vec![file("a.proto", same()), file("b.proto", same())]).is_ok());
    assert!(
        Schema::from_sets(&[("x", b"\xff\xff")]).is_err()
            && Schema::from_sets(&[("x", b"\x10\x01")]).is_err()
    );
}

#[test]
fn every_cut_of_a_set_is_taken_or_refused() {
    let sub = FieldDescriptorProto { type_name: ".p.M".into(), ..field("sub", 2, 11) };
    let mut message = message("M", vec![field("f", 1, 9), sub]);
    message.oneof_decl.push(OneofDescriptorProto { name: "pick".into(), options: None });
    message.field[0].oneof_index = Some(0);
    message.field[1].oneof_index = Some(7);
    let bytes = FileDescriptorSet { file: vec![file("a.proto", vec![message])] }.encode_to_vec();
    for end in 0..bytes.len() {
        let _ = Schema::from_sets(&[("cut", &bytes[..end])]);
        let mut odd = bytes.clone();
        odd[end] ^= 0x15;
        let _ = Schema::from_sets(&[("odd", &odd)]);
    }
}

#[test]
fn what_comes_first_wins_and_the_rest_must_resolve() {
    let own = file("own.proto", vec![message("Shared", vec![field("mine", 1, 9)])]);
    let shared =
        file("lib.proto", vec![message("Shared", vec![field("theirs", 1, 9)]), message("Lost", vec![])]);
    let uses = |name: &str, of: &str| {
        let field = FieldDescriptorProto { type_name: format!(".p.{of}"), ..field("f", 1, 11) };
        file(&format!("{name}.proto"), vec![message(name, vec![field])])
    };
    let strict = Layer::unchecked(vec![own]);
    let files = vec![shared, uses("UsesShared", "Shared"), uses("UsesLost", "Lost"), uses("Far", "UsesLost")];
    let schema = compile(vec![strict, Layer { strict: false, ..Layer::unchecked(files) }]).unwrap();
    assert!(schema.field("p.Shared.mine").is_some() && schema.field("p.Shared.theirs").is_none());
    assert!(schema.type_by_name("p.UsesShared").is_some());
    for gone in ["p.Lost", "p.UsesLost", "p.Far"] {
        assert_eq!(schema.type_by_name(gone), None);
    }
    assert_eq!(schema.type_by_snake_name("uses_shared"), schema.type_by_name("p.UsesShared"));
    assert_eq!(schema.nearest_type("p.UsesShard"), Some("p.UsesShared"));
    assert_eq!(schema.nearest_type("other.v1.UsesShared"), Some("p.UsesShared"));
}

#[test]
fn snake_names_are_of_one_type() {
    let package = |name: &str, messages| FileDescriptorProto {
        package: name.into(),
        ..file(&format!("{name}.proto"), messages)
    };
    let outer = DescriptorProto {
        nested_type: vec![message("AbC", vec![]), message("OnlyInner", vec![])],
        ..message("Outer", vec![])
    };
    let files = vec![
        package(
            "p",
            vec![outer, message("AbC", vec![]), message("Twice", vec![]), message("HTTPName2Of", vec![])],
        ),
        package("q", vec![message("Twice", vec![]), message("Ab_c", vec![]), message("ABc", vec![])]),
    ];
    let schema = compile(vec![Layer::unchecked(files)]).unwrap();
    for (name, full) in [
        ("outer", Some("p.Outer")),
        ("only_inner", Some("p.Outer.OnlyInner")),
        ("http_name2_of", Some("p.HTTPName2Of")),
        ("twice", None),
        ("abc", None),
        ("AbC", None),
        ("", None),
    ] {
        assert_eq!(
            schema.type_by_snake_name(name),
            full.and_then(|full| schema.type_by_name(full)),
            "{name}"
        );
    }
    // p.AbC stands before p.Outer.AbC; q.Ab_c and q.ABc are the same two words.
    assert_eq!(schema.type_by_snake_name("ab_c"), None);
}

#[test]
fn a_field_ahead_is_told_by_its_name() {
    let named = |json_name: &str, number| FieldDescriptorProto {
        json_name: Some(json_name.to_owned()),
        ..field(&format!("f{number}"), number, 9)
    };
    let files = vec![file(
        "t.proto",
        vec![
            message("Plain", vec![named("one", 1), named("oneTwo", 2), named("three", 3)]),
            message("Twins", vec![named("same", 1), named("same", 2)]),
            message("Odd", vec![named("a\"b", 1), named("c", 2)]),
        ],
    )];
    let schema = compile(vec![Layer::unchecked(files)]).unwrap();
    let ahead = |ty: &str, text: &str, next| {
        schema.type_by_name(ty).and_then(|ty| schema.ty(ty).field_ahead(text.as_bytes(), next))
    };
    assert_eq!(ahead("p.Plain", "one\":1", 0), Some((0, 3)));
    assert_eq!(ahead("p.Plain", "oneTwo\":1", 0), Some((1, 6)));
    for (text, next) in [("one\":1", 1), ("one", 0), ("onet\"", 0), ("f1\"", 0), ("", 0), ("three\"", 9)] {
        assert_eq!(ahead("p.Plain", text, next), None, "{text} from {next}");
    }
    assert_eq!(
        (ahead("p.Twins", "same\":", 0), ahead("p.Odd", "a\"b\":", 0), ahead("p.Odd", "c\"", 0)),
        (None, None, None)
    );
}

#[test]
fn roots_maps_and_secrets() {
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: true, ..Default::default() }),
        ..message("TagsEntry", vec![field("key", 1, 9), field("value", 2, 9)])
    };
    let tags =
        FieldDescriptorProto { label: 3, type_name: ".p.M.TagsEntry".into(), ..field("tags", 200_000, 11) };
    let login = FieldDescriptorProto { type_name: ".p.Login".into(), ..field("login", 3, 11) };
    let mut m = message("M", vec![tags, login, field("n", 1, 5)]);
    m.nested_type.push(entry);
    let counted = message("Count", vec![field("password", 1, 5)]);
    let files = vec![file("a.proto", vec![m, message("Login", vec![field("api_key", 1, 9)]), counted])];
    let schema = compiled(files).unwrap();
    let plan = |name: &str| schema.ty(schema.type_by_name(name).unwrap());
    let ty = |name: &str| schema.type_by_name(name).unwrap();
    assert_eq!(schema.roots().collect::<Vec<_>>(), [ty("p.M"), ty("p.Count")]);
    let reaches = |name: &str| schema.reaches_secret(ty(name));
    assert!(reaches("p.M") && reaches("p.Login") && !reaches("p.Count"));
    assert_eq!(schema.secret_roots(), [schema.type_by_name("p.M").unwrap()]);
    let m = plan("p.M");
    assert_eq!(m.fields.iter().map(|f| f.number).collect::<Vec<_>>(), [1, 3, 200_000]);
    assert_eq!((m.index_of(200_000), m.index_of(2), m.index_of(300)), (Some(2), None, None));
    assert_eq!(m.fields[2].cardinality, Cardinality::Map);
    assert_eq!(m.fields[0].kind, Kind::Int32);
    assert!(schema.ty(TypeId(u32::MAX)).fields.is_empty());
}
