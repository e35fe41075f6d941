use crate::{
    base::Limits,
    message::{Id, IdValue, JsonOptions, NodeKind, Tree, decode, fast, ids, json, kind},
    schema::{Annotation, Encoding, Nested, Schema, Sources, TypeId, load},
};

const PROTO: &str = r#"syntax = "proto3"; package demo.v1;
    import "google/protobuf/duration.proto"; import "google/protobuf/empty.proto";
    import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto";
    enum Color { NONE = 0; RED = 1; BLUE = -5; }
    message Login { string user = 1; string password = 2; }
    message Root { All all = 1; Login login = 2; }
    message All {
      int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
      fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10; float flt = 11; double dbl = 12;
      bool yes = 13; string str = 14; bytes raw = 15; Color color = 16; All sub = 17; repeated All subs = 18;
      repeated sint32 packed = 19; repeated double loose = 20 [packed = false]; repeated string words = 21;
      repeated Color colors = 22; map<string, All> by_name = 23; map<bool, Color> by_bool = 24;
      map<sint64, bytes> by_num = 25; oneof pick { string a = 26; All b = 27; Color c = 28; bool d = 29; }
      optional int32 opt_int = 30; optional string opt_text = 31; google.protobuf.Timestamp when = 33;
      google.protobuf.Duration took = 34; google.protobuf.Struct doc = 36; google.protobuf.Empty empty = 43;
      Login login = 44; uint32 number = 45; string name_id = 46; bytes login_raw = 47;
      repeated bytes logins = 48; string login_hex = 49; int32 far = 100000;
    }"#;

fn schema() -> Schema {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), PROTO).unwrap();
    let mut schema = load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema;
    for (id, name) in ["demo.v1.All.number", "demo.v1.All.name_id", "demo.v1.All.raw"].iter().enumerate() {
        let field = schema.field(name).unwrap();
        schema.annotate(field, Annotation { id: Some(id as u16), ..Annotation::default() });
    }
    let ty = schema.type_by_name("demo.v1.Login");
    for (name, encoding) in
        [("login_raw", Encoding::Protobuf), ("logins", Encoding::Blob), ("login_hex", Encoding::Hex)]
    {
        let nested = Some(schema.add_nested(Nested { encoding, ty, inner: None }));
        let field = schema.field(&format!("demo.v1.All.{name}")).unwrap();
        schema.annotate(field, Annotation { nested, ..Annotation::default() });
    }
    let secrets = schema.secrets_mut();
    secrets.add(&[], &[], "", &["seat".to_owned()]).unwrap();
    secrets.add_pattern("zz[0-9]{4}").unwrap();
    schema
}

type Ids = Vec<(u16, String, bool)>;

/// What the tolerant lane makes of a payload: JSON, kind, ids, and whether it had anything to say.
fn tolerant(
    schema: &Schema,
    ty: TypeId,
    payload: &[u8],
    redact: bool,
) -> (String, Option<String>, Ids, bool) {
    let limits = Limits::default();
    let options = JsonOptions { redact, ..JsonOptions::new(&limits) };
    let (mut tree, mut findings, mut out) = (Tree::new(), Vec::new(), Vec::new());
    decode(schema, Some(ty), payload, &limits, &mut tree, &mut findings);
    json::write(schema, &tree, payload, &options, &mut out, &mut findings);
    let mut found: Vec<Id<'_>> = Vec::new();
    ids(schema, &tree, payload, &mut found);
    let found = found.iter().map(|i| (i.namespace, said(i.value), i.absent)).collect();
    let kind = kind(schema, &tree).map(|kind| kind.to_string());
    (String::from_utf8(out).unwrap(), kind, found, !findings.is_empty())
}

fn said(value: IdValue<'_>) -> String {
    format!("{value:?}")
}

/// Whether a message could be outlined; where it could, its outline must be the tree's.
fn check_outline(schema: &Schema, tables: &fast::Tables, payload: &[u8]) -> bool {
    let ty = schema.type_by_name("demo.v1.All").unwrap();
    let limits = Limits::default();
    let (mut outline, mut found) = (fast::Outline::default(), fast::Ids::new());
    if fast::outline(schema, tables, ty, payload, &limits, &mut outline, &mut found).is_none() {
        return false;
    }
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    decode(schema, Some(ty), payload, &limits, &mut tree, &mut findings);
    assert!(findings.is_empty(), "{findings:?} of {payload:02x?}");
    for field in 0..schema.ty(ty).fields.len() as u16 {
        let mut nodes = tree.children(Tree::ROOT).map(|(_, n)| n).filter(|n| n.field == field);
        let (node, other) = (nodes.next(), nodes.next());
        let content = node.map(|n| match n.kind {
            NodeKind::Scalar => fast::Content::Bits(n.bits),
            _ => fast::Content::Bytes(n.start as usize, n.end as usize),
        });
        assert_eq!((outline.get(field), other), (content, None), "{field} of {payload:02x?}");
    }
    let mut ids_found: Vec<Id<'_>> = Vec::new();
    ids(schema, &tree, payload, &mut ids_found);
    let of_tree: Ids = ids_found.iter().map(|i| (i.namespace, said(i.value), i.absent)).collect();
    let found: Ids = found.iter().map(|i| (i.namespace, said(i.value), i.absent)).collect();
    assert_eq!(found, of_tree, "{payload:02x?}");
    true
}

/// Whether the fast lane took it; where it did, it must agree.
fn check(schema: &Schema, tables: &fast::Tables, payload: &[u8], redact: bool) -> bool {
    let ty = schema.type_by_name("demo.v1.All").unwrap();
    let (mut out, mut found) = (b"before".to_vec(), fast::Ids::new());
    let limits = Limits::default();
    let done = fast::write(schema, tables, ty, payload, redact, &limits, &mut out, &mut found);
    let Some(branch) = done else {
        assert_eq!((out.as_slice(), found.len()), (&b"before"[..], 0), "nothing is left behind");
        return false;
    };
    let (json, kind, ids, findings) = tolerant(schema, ty, payload, redact);
    assert_eq!(String::from_utf8_lossy(&out), format!("before{json}"), "{payload:02x?}");
    assert!(!findings, "a message with a finding is not regular: {json}");
    let name = branch.and_then(|b| schema.ty(ty).field(b)).map(|f| f.name.to_string());
    assert_eq!(name, kind);
    let found: Ids = found.iter().map(|i| (i.namespace, said(i.value), i.absent)).collect();
    assert_eq!(found, ids, "{json}");
    true
}

/// A stream of choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn varint(&mut self, out: &mut Vec<u8>) {
        let bits = self.roll(64);
        push_varint(out, if self.roll(4) == 0 { u64::MAX >> bits } else { self.roll(300) });
    }

    fn text(&mut self, out: &mut Vec<u8>) {
        const TEXTS: &[&str] = &[
            "",
            "plain words here",
            "seat",
            "api_key",
            "a zz1234 b",
            "{\"seat\":\"x\"}",
            "deadbeef",
            "a\"b\\c\nd",
            "é\u{202e}ü",
            "sk-0123456789abcdefghij",
            "task-list-of-things",
            "https://u:p@host/x",
            "0a0375736512026869",
            "AKIAIOSFODNN7EXAMPLE",
            "key_value: 12",
            "I said: J.",
            "Bearer abcdefghijklmnop1234",
            "\u{7f}",
            "toolu_01ABCDEF",
            "d2hhdGV2ZXI=",
            "CgF1EgFw",
        ];
        let text = TEXTS.get(self.roll(TEXTS.len() as u64) as usize).copied().unwrap_or_default();
        out.extend_from_slice(text.as_bytes());
        if self.roll(40) == 0 {
            out.push(0xff);
        }
    }

    /// A message, mostly regular: fields go up, now and then one goes back.
    fn message(&mut self, depth: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let mut number = 0;
        while self.roll(8) > 0 {
            number = if self.roll(30) == 0 { 1 + self.roll(50) } else { number + 1 + self.roll(9) };
            self.field(number, depth, &mut out);
            if matches!(number, 18 | 20 | 21 | 23..=25 | 48) && self.roll(2) == 0 {
                self.field(number, depth, &mut out);
            }
        }
        if self.roll(60) == 0 {
            let cut = self.roll(out.len() as u64 + 1) as usize;
            out.truncate(cut);
        }
        out
    }

    fn field(&mut self, number: u64, depth: u32, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        let wire = match number {
            7 | 9 | 11 => 5,
            8 | 10 | 12 | 20 => 1,
            1..=6 | 13 | 16 | 28..=30 | 45 => 0,
            _ => 2,
        };
        match (number, wire) {
            (_, 5) => content.extend_from_slice(&(self.roll(u64::MAX) as u32).to_le_bytes()),
            (_, 1) => content.extend_from_slice(&f64::from(self.roll(1 << 20) as u32).to_le_bytes()),
            (16 | 28, _) => push_varint(&mut content, self.roll(2)),
            (_, 0) => self.varint(&mut content),
            (17 | 18 | 27, _) if depth < 4 => content = self.message(depth + 1),
            (19, _) => (0..self.roll(5)).for_each(|_| self.varint(&mut content)),
            (22, _) => (0..self.roll(3)).for_each(|_| push_varint(&mut content, self.roll(2))),
            (23, _) => {
                let mut key = Vec::new();
                self.text(&mut key);
                push_len(&mut content, 1, &key);
                let value = if depth < 4 { self.message(depth + 1) } else { Vec::new() };
                push_len(&mut content, 2, &value);
            }
            (24, _) => content.extend_from_slice(&[8, self.roll(2) as u8, 16, 1]),
            (25, _) => {
                content.extend_from_slice(&[8, self.roll(9) as u8]);
                push_len(&mut content, 2, &[self.roll(256) as u8]);
            }
            (33 | 34, _) => {
                content.push(8);
                self.varint(&mut content);
                content.extend_from_slice(&[16, 7]);
            }
            (44, _) => {
                push_len(&mut content, 1, b"me");
                if self.roll(2) == 0 {
                    push_len(&mut content, 2, b"hunter2");
                }
            }
            (47..=49, _) => match self.roll(4) {
                0 => push_len(&mut content, 2, b"hunter2"),
                1 => push_len(&mut content, 1, b"somebody"),
                2 => (0..32).for_each(|_| content.push(self.roll(256) as u8)),
                _ => self.text(&mut content),
            },
            (14 | 15 | 21 | 26 | 31 | 46, _) => self.text(&mut content),
            _ => {}
        }
        push_varint(out, number << 3 | wire);
        if wire == 2 {
            push_varint(out, content.len() as u64);
        }
        out.extend_from_slice(&content);
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_len(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    push_varint(out, number << 3 | 2);
    push_varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

#[test]
fn what_it_takes_is_what_the_tolerant_lane_writes() {
    let schema = schema();
    let tables = fast::Tables::new(&schema, false);
    let mut dice = Dice(7);
    let (mut taken, mut outlined, rounds) = (0, 0, 6_000);
    for round in 0..rounds {
        let payload = dice.message(0);
        outlined += usize::from(check_outline(&schema, &tables, &payload));
        taken += usize::from(check(&schema, &tables, &payload, round % 2 == 0));
        // One byte changed: irregular in every way there is.
        let mut odd = payload.clone();
        let at = dice.roll(odd.len() as u64 + 1) as usize;
        if let Some(byte) = odd.get_mut(at) {
            *byte ^= 1 << dice.roll(8);
            check_outline(&schema, &tables, &odd);
            check(&schema, &tables, &odd, round % 2 == 0);
        }
    }
    assert!(taken > rounds / 3, "only {taken} of {rounds} were taken");
    assert!(outlined > rounds / 4, "only {outlined} of {rounds} were outlined");
}

#[test]
fn what_is_not_regular_is_left() {
    let schema = schema();
    let tables = fast::Tables::new(&schema, false);
    let taken = |payload: &[u8]| check(&schema, &tables, payload, true);
    assert!(taken(b"") && taken(b"\x08\x01") && taken(b"\x72\x02hi") && taken(b"\xfa\x02\x04\x0a\x02ab"));
    // Twice, out of its run, both branches, unknown, another wire type, cut, not UTF-8, a secret.
    for payload in [
        &b"\x08\x01\x08\x02"[..],
        b"\xaa\x01\x01a\x08\x01\xaa\x01\x01b",
        b"\xd2\x01\x01a\xe0\x01\x01",
        b"\xf8\x3f\x01",
        b"\x0a\x01a",
        b"\x72\x05hi",
        b"\x72\x01\xff",
        b"\xe2\x02\x03\x12\x01p",
        b"\xfa\x02\x04\x12\x02ab",
    ] {
        assert!(!taken(payload), "{payload:02x?}");
    }
}
