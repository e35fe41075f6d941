use proptest::prelude::*;

use super::*;
use crate::{
    base::Severity,
    message::{IdValue, find, ids, path_of},
    schema::{Annotation, Sources, load},
};

/// A schema of proto2 and proto3 text that has every shape.
fn schema() -> Schema {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"syntax = "proto3"; package demo.v1;
        import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto";
        import "google/protobuf/struct.proto";
        message Node { string name = 1; Node child = 2; repeated Node nodes = 3; map<string, Node> by_name = 4;
            repeated int32 numbers = 5; oneof pick { int64 a = 6; Node b = 7; } google.protobuf.Any any = 8;
            google.protobuf.Timestamp time = 9; google.protobuf.Value value = 10; uint32 id = 11; bytes key = 12;
            fixed32 f = 13; double d = 14; map<int64, string> texts = 15; }"#;
    std::fs::write(dir.path().join("t.proto"), text).unwrap();
    load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema
}

fn decoded(schema: &Schema, payload: &[u8]) -> (Tree, Vec<Finding>) {
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    let ty = schema.type_by_name("demo.v1.Node");
    assert!(ty.is_some());
    decode(schema, ty, payload, &Limits::default(), &mut tree, &mut findings);
    (tree, findings)
}

/// Fields in a field, `depth` times.
fn nested(field: u8, depth: usize) -> Vec<u8> {
    let mut payload = Vec::new();
    for _ in 0..depth {
        let mut outer = vec![field << 3 | 2];
        prost::encoding::encode_varint(payload.len() as u64, &mut outer);
        outer.append(&mut payload);
        payload = outer;
    }
    payload
}

/// Every node's tag and content lie where it says, children inside their parents, in order.
fn check_spans(tree: &Tree, payload: &[u8]) {
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut before = 0;
    for (at, node) in tree.nodes.iter().enumerate() {
        let at = at as u32;
        while open.last().is_some_and(|(next, _)| at >= *next) {
            open.pop();
        }
        assert!(
            node.tag <= node.start && node.start <= node.end && node.end as usize <= payload.len(),
            "{node:?}"
        );
        assert!(node.tag >= before && node.next > at && node.next as usize <= tree.nodes.len(), "{node:?}");
        assert_eq!(usize::from(node.depth), open.len());
        if let Some((next, end)) = open.last() {
            assert!(node.next <= *next && node.end <= *end, "{node:?}");
        }
        if node.kind != NodeKind::Rest {
            let (tag, _) = wire::tag(payload, node.tag as usize, payload.len()).unwrap();
            assert_eq!(tag, Tag::Field(node.number, node.wire));
        }
        before = node.tag;
        if node.kind == NodeKind::Message {
            open.push((node.next, node.end));
        }
    }
}

/// The payload of the bytes at level 0: every byte belongs to a field or to the rest.
fn check_round_trip(tree: &Tree, payload: &[u8]) {
    let mut at = 0;
    for (_, node) in tree.children(Tree::ROOT) {
        assert_eq!(node.tag as usize, at, "nothing lies between fields");
        at = match node.wire {
            Wire::Group => {
                wire::tag(payload, node.end as usize, payload.len()).map_or(node.end as usize, |(_, n)| n)
            }
            _ => node.end as usize,
        };
    }
    assert_eq!(at, payload.len());
}

#[test]
fn deep_nesting_stops_at_the_limit_and_keeps_what_follows() {
    let schema = schema();
    for (field, depth) in [(2, 10_000), (3, 101), (7, 3_000)] {
        let mut payload = nested(field, depth);
        payload.extend_from_slice(b"\x0a\x05after");
        let (tree, findings) = decoded(&schema, &payload);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].code, Code::ProtoDepth);
        assert_eq!(tree.nodes.last().unwrap().bytes(&payload), b"after");
        check_round_trip(&tree, &payload);
    }
    assert!(decoded(&schema, &nested(2, 100)).1.is_empty());
    // Groups without end, and a limit that asks for too much.
    let payload = vec![0x13; 100_000];
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    let limits = Limits { max_depth: usize::MAX, ..Limits::default() };
    decode(&schema, schema.type_by_name("demo.v1.Node"), &payload, &limits, &mut tree, &mut findings);
    assert!(tree.nodes.iter().all(|n| usize::from(n.depth) <= MAX_DEPTH + 1));
    assert!(findings.iter().any(|f| f.severity == Severity::Error));
}

/// The writer recurses, so its deepest case must fit the stack of a thread of two megabytes.
#[test]
fn the_deepest_message_can_be_written() {
    let schema = schema();
    let limits = Limits { max_depth: usize::MAX, ..Limits::default() };
    let options = crate::message::JsonOptions::new(&limits);
    let ty = |name: &str| schema.type_by_name(name);
    // A list in a list in a list: `values` is field 1 of ListValue, `list_value` field 6 of Value.
    let lists = (0..2_000).fold(Vec::new(), |inner: Vec<u8>, i| {
        let mut outer = vec![if i % 2 == 0 { 0x32 } else { 0x0a }];
        prost::encoding::encode_varint(inner.len() as u64, &mut outer);
        outer.extend(inner);
        outer
    });
    for (ty, payload) in [
        (ty("demo.v1.Node"), nested(2, 2_000)),
        (ty("google.protobuf.ListValue"), lists),
        (None, nested(2, 2_000)),
    ] {
        let (mut tree, mut out) = (Tree::new(), Vec::new());
        decode(&schema, ty, &payload, &limits, &mut tree, &mut Vec::new());
        crate::message::json::write(&schema, &tree, &payload, &options, &mut out, &mut Vec::new());
        assert!(out.len() > 32);
    }
}

#[test]
fn paths() {
    let schema = schema();
    let payload = b"\x1a\x00\x1a\x07\x22\x05\x0a\x01k\x12\x00\x2a\x02\x01\x80";
    let (tree, findings) = decoded(&schema, payload);
    let paths: Vec<String> =
        (0..tree.nodes.len() as u32).map(|at| path_of(&schema, &tree, payload, at)).collect();
    assert_eq!(paths[..3], ["nodes[0]", "nodes[1]", "nodes[1].by_name[\"k\"]"]);
    assert_eq!(findings[0].path.as_deref(), Some("numbers[0]"));
    assert_eq!(find(&schema, &tree, "nodes.by_name").len(), 1);
    assert_eq!(find(&schema, &tree, "nodes"), [0, 1]);
    assert!(find(&schema, &tree, "nodes.name").is_empty());
}

#[test]
fn findings_are_capped() {
    let schema = schema();
    let payload: Vec<u8> = std::iter::repeat_n([0xa0, 0x06, 1], 10_000).flatten().collect();
    let (tree, findings) = decoded(&schema, &payload);
    assert_eq!(tree.nodes.len(), 10_000);
    assert_eq!(findings.len(), 65);
    assert!(findings[64].text.contains("9936 more"));
}

#[test]
fn a_payload_that_is_known_to_be_cut_is_not_blamed_for_it() {
    let schema = schema();
    let whole = b"\x12\x0c\x0a\x02hi\x12\x06\x0a\x04deep";
    for end in 0..whole.len() {
        let (mut tree, mut findings) = (Tree::new(), Vec::new());
        let ty = schema.type_by_name("demo.v1.Node");
        decode_start(&schema, ty, &whole[..end], &Limits::default(), &mut tree, &mut findings);
        assert!(findings.is_empty(), "{end}: {findings:?}");
        check_spans(&tree, &whole[..end]);
    }
}

#[test]
fn ids_with_absent_numbers() {
    let mut schema = schema();
    for (path, id) in [("demo.v1.Node.id", 1), ("demo.v1.Node.key", 2), ("demo.v1.Node.name", 3)] {
        let field = schema.field(path).unwrap();
        schema.annotate(field, Annotation { id: Some(id), ..Annotation::default() });
    }
    let payload = b"\x58\x07\x12\x06\x0a\x01n\x62\x01\xff";
    let (tree, _) = decoded(&schema, payload);
    let mut found = Vec::new();
    ids(&schema, &tree, payload, &mut found);
    let shown: Vec<_> = found.iter().map(|i| (i.namespace, i.value, i.absent)).collect();
    let expect = [
        (1, IdValue::Number(7), false),
        (1, IdValue::Number(0), true),
        (3, IdValue::Text("n"), false),
        (2, IdValue::Bytes(b"\xff"), false),
    ];
    assert_eq!(shown, expect);
}

#[test]
fn an_any_is_opened_wherever_its_type_stands() {
    let schema = schema();
    let url_first = b"\x42\x16\x0a\x0edemo.v1.Node\x00\x00\x12\x04\x0a\x02hi";
    assert_eq!(decoded(&schema, url_first).0.nodes.len(), 3, "no such type");
    let after = b"\x42\x14\x12\x04\x0a\x02hi\x0a\x0cdemo.v1.Node";
    let (tree, findings) = decoded(&schema, after);
    assert!(findings.is_empty());
    assert_eq!(tree.nodes[1].kind, NodeKind::Message);
    assert_eq!(path_of(&schema, &tree, after, 2), "any.name");
    let bad = b"\x42\x14\x12\x04\x0a\x09hi\x0a\x0cdemo.v1.Node";
    let (tree, findings) = decoded(&schema, bad);
    assert_eq!(tree.nodes[1].kind, NodeKind::Bytes);
    assert!(findings.len() == 1 && findings[0].code == Code::ProtoAny, "{findings:?}");
    check_spans(&tree, bad);
}

/// Bytes that are mostly fields: tags of the schema with short contents.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let field = (0u32..20, 0u32..6, proptest::collection::vec(any::<u8>(), 0..12)).prop_map(
        |(number, wire, body)| {
            let mut out = Vec::new();
            prost::encoding::encode_varint(u64::from(number << 3 | wire), &mut out);
            if wire == 2 {
                out.push(body.len() as u8);
            }
            out.extend(body);
            out
        },
    );
    proptest::collection::vec(field, 0..12).prop_map(|fields| fields.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_a_tree(payload in prop_oneof![proptest::collection::vec(any::<u8>(), 0..80), fields()], known: bool) {
        thread_local!(static SCHEMA: Schema = schema());
        SCHEMA.with(|schema| {
            let ty = schema.type_by_name("demo.v1.Node").filter(|_| known);
            let limits = Limits::default();
            let (mut tree, mut findings) = (Tree::new(), Vec::new());
            for end in 0..=payload.len() {
                let payload = &payload[..end];
                findings.clear();
                decode(schema, ty, payload, &limits, &mut tree, &mut findings);
                check_spans(&tree, payload);
                check_round_trip(&tree, payload);
                let mut out = Vec::new();
                let options = crate::message::JsonOptions::new(&limits);
                crate::message::json::write(schema, &tree, payload, &options, &mut out, &mut findings);
                serde_json::from_slice::<serde_json::Value>(&out).unwrap();
            }
        });
    }
}
