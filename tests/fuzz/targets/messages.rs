//! Messages: wire format in, JSON out, and back.

use std::sync::LazyLock;

use rpcshark::base::{Limits, Severity};
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::encode;
use rpcshark::message::{self, Expand, JsonOptions, Tree, json_in, status, wire_out};
use rpcshark::schema::{self, Schema, Sources, TypeId};

/// The built-in schema with its dialect.
pub static BUILTIN: LazyLock<(Schema, Plan)> = LazyLock::new(|| {
    let sources = Sources { builtin: true, ..Sources::default() };
    let mut schema = schema::load(&sources).expect("the built-in schema").schema;
    let mut plan = Plan::default();
    dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan)
        .expect("the built-in dialect");
    (schema, plan)
});

/// Google's test messages: every kind of field in every syntax.
pub static TEST_MESSAGES: LazyLock<Schema> = LazyLock::new(|| {
    let bytes = include_bytes!("../../conformance/test_messages.binpb");
    Schema::from_sets(&[("test_messages.binpb", bytes)]).expect("the test messages")
});

const TYPES: &[&str] = &[
    "protobuf_test_messages.proto2.TestAllTypesProto2",
    "protobuf_test_messages.proto3.TestAllTypesProto3",
    "protobuf_test_messages.editions.TestAllTypesEdition2023",
];

/// Decodes and writes in every form; says whether the decoding was clean.
fn every_form(schema: &Schema, ty: Option<TypeId>, payload: &[u8]) -> bool {
    let limits = Limits::default();
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    message::decode(schema, ty, payload, &limits, &mut tree, &mut findings);
    for node in &tree.nodes {
        assert!(node.tag <= node.start && node.start <= node.end && node.end as usize <= payload.len());
    }
    let mut out = Vec::new();
    for (expand, redact, other) in
        [(Expand::None, true, false), (Expand::All, true, true), (Expand::All, false, false)]
    {
        let options = JsonOptions {
            json_names: other,
            emit_defaults: other,
            redact,
            expand,
            ..JsonOptions::new(&limits)
        };
        out.clear();
        message::json::write(schema, &tree, payload, &options, &mut out, &mut Vec::new());
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&out) {
            // Deeper than serde_json reads is still JSON.
            assert!(
                error.to_string().contains("recursion limit"),
                "{error}: {}",
                String::from_utf8_lossy(&out)
            );
        }
    }
    let clean = !findings.iter().any(|f| f.severity == Severity::Error);
    let mut wire = Vec::new();
    wire_out::write(schema, &tree, payload, &mut wire);
    if clean {
        let mut again = Vec::new();
        let (mut tree, mut findings) = (Tree::new(), Vec::new());
        message::decode(schema, ty, &wire, &limits, &mut tree, &mut findings);
        wire_out::write(schema, &tree, &wire, &mut again);
        assert_eq!(again, wire, "canonical bytes stay as they are");
    }
    clean
}

/// Wire format without a schema.
pub fn fuzz_wire(data: &[u8]) {
    every_form(&BUILTIN.0, None, data);
}

/// Wire format as a type, which the first byte chooses.
pub fn fuzz_wire_typed(data: &[u8]) {
    let [choice, payload @ ..] = data else { return };
    if let Some(name) = TYPES.get(usize::from(*choice)) {
        every_form(&TEST_MESSAGES, TEST_MESSAGES.type_by_name(name), payload);
        return;
    }
    let (schema, _) = &*BUILTIN;
    let roots: Vec<TypeId> = schema.methods().iter().flat_map(|m| [m.input, m.output]).collect();
    every_form(schema, roots.get(usize::from(*choice) % roots.len().max(1)).copied(), payload);
}

/// JSON that ends a stream, and trailers.
pub fn fuzz_end_stream(data: &[u8]) {
    let (schema, _) = &*BUILTIN;
    let limits = Limits::default();
    let (mut out, mut findings) = (Vec::new(), Vec::new());
    let options = JsonOptions::new(&limits);
    status::end_stream(schema, data, &options, &limits, &mut out, &mut findings);
    out.clear();
    let text = String::from_utf8_lossy(data);
    let fields = text.lines().filter_map(|line| line.split_once(": "));
    status::trailers(schema, fields, &options, &limits, &mut out, &mut findings);
    serde_json::from_slice::<serde::de::IgnoredAny>(&out).expect("trailers are JSON");
}

/// JSON into wire format: messages, and records as `encode` takes them.
pub fn fuzz_encode(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = encode::record(&BUILTIN.0, text);
    let mut pieces = encode::Pieces::new(data, 1 << 20);
    while let Ok(Some(piece)) = pieces.next_piece() {
        let _ = encode::record(&BUILTIN.0, &piece.text);
    }
    for name in TYPES {
        let Some(ty) = TEST_MESSAGES.type_by_name(name) else { continue };
        let mut wire = Vec::new();
        let errors = json_in::encode(&TEST_MESSAGES, ty, text, Default::default(), &mut wire);
        if errors.is_empty() {
            every_form(&TEST_MESSAGES, Some(ty), &wire);
        }
    }
}
