//! The law of the round trip: wire format and JSON lead back to where they came from, for messages of every kind
//! of field that Google's test messages have, and of any schema. Never looks at one message in particular.

use std::io::Cursor;

use proptest::prelude::*;
use rpcshark::{
    base::{Limits, Severity},
    dialect::Plan,
    encode,
    message::{self, JsonOptions, Tree, json_in, wire_out},
    pipeline::{self, Config, Expand, Job},
    schema::{Schema, TypeId},
    source::{Format, Options, Reader},
    view::{self, Item},
};

use crate::fuzz::targets::program::{self, Frames};
use crate::generated::{self, Draw};

const TEST_MESSAGES: &[u8] = include_bytes!("../conformance/test_messages.binpb");

const TYPES: &[&str] = &[
    "protobuf_test_messages.proto2.TestAllTypesProto2",
    "protobuf_test_messages.proto3.TestAllTypesProto3",
    "protobuf_test_messages.editions.TestAllTypesEdition2023",
    "protobuf_test_messages.editions.proto2.TestAllTypesProto2",
    "protobuf_test_messages.editions.proto3.TestAllTypesProto3",
];

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
    assert_eq!(back, canonical, "and to the same bytes: {text}");
}

/// The records of an enveloped stream of messages of a type, as `decode --expand none --show-secrets` prints them.
fn records(schema: Schema, ty: TypeId, payloads: &[Vec<u8>]) -> (Config, Vec<String>) {
    let mut body = Vec::new();
    for payload in payloads {
        encode::envelope(0, payload, &mut body).expect("a short message");
    }
    let config = Config {
        as_type: Some(ty),
        show_secrets: true,
        ..program::config_of(schema, Plan::default(), Expand::None, false)
    };
    let options = Options { format: Some(Format::Raw), typed: true, ..Options::default() };
    let reader = Reader::from_reader("generated", Box::new(Cursor::new(body)), &options).expect("a body");
    let mut sink = Frames::default();
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| view::jsonl::write(item, out);
    pipeline::run(&config, &mut std::iter::once(reader), &render, &mut sink).expect("the sink takes all");
    let text = String::from_utf8(sink.out).expect("UTF-8");
    (config, text.lines().map(str::to_owned).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wire_and_json_lead_back(drawn in proptest::collection::vec(any::<u8>(), 0..200)) {
        static SCHEMA: std::sync::LazyLock<Schema> =
            std::sync::LazyLock::new(|| Schema::from_sets(&[("test_messages.binpb", TEST_MESSAGES)]).unwrap());
        for name in TYPES {
            let ty = SCHEMA.type_by_name(name).unwrap();
            check(&SCHEMA, ty, &generated::message(&SCHEMA, ty, &mut Draw::new(&drawn), 4));
        }
    }

    #[test]
    fn any_message_of_any_schema_leads_back(
        proto in proptest::collection::vec(any::<u8>(), 0..160),
        drawn in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let text = generated::proto(&mut Draw::new(&proto));
        let schema = generated::schema(&text);
        let ty = schema.type_by_name("gen.v1.M0").expect("the root");
        let mut draw = Draw::new(&drawn);
        let sent: Vec<Vec<u8>> = (0..4).map(|_| generated::message(&schema, ty, &mut draw, 3)).collect();
        sent.iter().for_each(|payload| check(&schema, ty, payload));
        let canonical: Vec<Vec<u8>> = sent.iter().map(|payload| wire(&schema, ty, payload)).collect();
        let (config, lines) = records(schema, ty, &[&sent[..], &canonical].concat());
        prop_assert_eq!(lines.len(), 8);
        let back = |line: &String| encode::record(&config.schema, line).expect("a record").payload;
        for (at, payload) in sent.iter().enumerate() {
            prop_assert_eq!(&back(&lines[at + 4]), &canonical[at], "{}", &lines[at + 4]);
            prop_assert_eq!(
                wire(&config.schema, ty, &back(&lines[at])), wire(&config.schema, ty, payload), "{}", &lines[at]
            );
        }
    }
}
