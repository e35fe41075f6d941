//! Planted secrets: each field that the schema calls one, whole and damaged, in each place that can carry it,
//! must not show in any view.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Write;

use rpcshark::base::text::hex;
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::schema::{self, Cardinality, FieldPlan, Kind, Schema, Sources, TypeId};
use serde_json::json;

use crate::run::{fixture, rpcshark};

/// Its hex and base64 have a period too, so that a look-out for one period finds them wherever they begin.
const SECRET: &str = "QZQZQZQZQZQZQZQZQZQZQZQZ";
const TRACES: [&str; 6] = ["QZQZ", "515a515a", "515A515A", "51 5a 51", "UVpRWlFa", "5a51 5a51"];

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn length(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, u64::from(number) << 3 | 2);
    varint(&mut out, content.len() as u64);
    out.extend_from_slice(content);
    out
}

fn group(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, u64::from(number) << 3 | 3);
    out.extend_from_slice(content);
    varint(&mut out, u64::from(number) << 3 | 4);
    out
}

/// The fields from a root down to each secret field, by the shortest way.
fn paths(schema: &Schema) -> Vec<(TypeId, Vec<FieldPlan>)> {
    let mut found = Vec::new();
    let mut todo: VecDeque<(TypeId, TypeId, Vec<FieldPlan>)> = VecDeque::new();
    let mut seen: HashMap<TypeId, ()> = HashMap::new();
    for method in schema.methods() {
        for root in [method.input, method.output] {
            if seen.insert(root, ()).is_none() {
                todo.push_back((root, root, Vec::new()));
            }
        }
    }
    while let Some((root, ty, path)) = todo.pop_front() {
        for field in &schema.ty(ty).fields {
            let mut path = path.clone();
            path.push(field.clone());
            match field.kind {
                _ if field.annotation.secret => found.push((root, path)),
                Kind::Message(inner) if seen.insert(inner, ()).is_none() => {
                    todo.push_back((root, inner, path));
                }
                _ => {}
            }
        }
    }
    found
}

/// The content of a secret field: of a map the value is secret, of a message a field that nobody knows.
fn content(field: &FieldPlan) -> Vec<u8> {
    match (field.cardinality, field.kind) {
        (Cardinality::Map, _) => [length(1, b"NAME"), length(2, SECRET.as_bytes())].concat(),
        (_, Kind::Message(_)) => length(1, SECRET.as_bytes()),
        _ => SECRET.into(),
    }
}

/// A message with the innermost fields in place, within those of the path.
fn within(path: &[FieldPlan], innermost: Vec<u8>) -> Vec<u8> {
    let outer = &path[..path.len() - 1];
    outer.iter().rev().fold(innermost, |content, field| match field.cardinality {
        Cardinality::Map => length(field.number, &[length(1, b"k"), length(2, &content)].concat()),
        _ => length(field.number, &content),
    })
}

/// Each message with a secret, as it should be and as it should not.
fn messages(schema: &Schema) -> Vec<(TypeId, String, Vec<u8>)> {
    let mut out = Vec::new();
    for (root, path) in paths(schema) {
        let field = path.last().expect("a field");
        let name = path.iter().map(|f| &*f.name).collect::<Vec<_>>().join(".");
        let planted = length(field.number, &content(field));
        let whole = within(&path, planted.clone());
        let broken = [planted.clone(), vec![0x0a, 0x7f]].concat();
        let unknown = [planted, length(18_000, SECRET.as_bytes())].concat();
        let forms = [
            ("cut", whole[..whole.len() - 2].to_vec()),
            ("overlong", within(&path, broken)),
            ("unknown beside it", within(&path, unknown)),
            ("a group", within(&path, group(field.number, &length(2, SECRET.as_bytes())))),
            ("in an unknown message", length(18_001, &whole)),
            ("hex in an unknown field", length(18_002, hex(&whole).as_bytes())),
            ("whole", whole),
        ];
        out.extend(forms.into_iter().map(|(form, wire)| (root, format!("{name}, {form}"), wire)));
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// The end of a stream with error details.
fn ends(messages: &[(TypeId, String, Vec<u8>)], schema: &Schema) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for (root, _, wire) in messages.iter().filter(|(_, name, _)| name.ends_with("whole")).take(12) {
        let known = &*schema.ty(*root).name;
        for name in [known, "nobody.Knows"] {
            let detail = json!({ "type": name, "value": base64(wire) });
            let end =
                json!({ "error": { "code": "internal", "message": "m", "details": [detail] } }).to_string();
            out.push(end.as_bytes()[..end.len() - 4].to_vec());
            out.push(end.into_bytes());
        }
    }
    for text in ["api_key", "Authorization", "sessionToken"] {
        let inside = json!({ text: SECRET }).to_string();
        out.push(
            json!({ "error": { "code": "internal", "message": inside }, "metadata": { text: [SECRET] } })
                .to_string()
                .into(),
        );
    }
    out.push(format!(r#"{{"error":{{"code":"internal","message":"key sk-{SECRET}""#).into());
    out
}

#[test]
fn no_view_shows_a_planted_secret() {
    let mut schema =
        schema::load(&Sources { builtin: true, ..Sources::default() }).expect("the schema").schema;
    let mut plan = Plan::default();
    dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan).expect("the dialect");
    let messages = messages(&schema);
    assert!(messages.len() > 150, "{} messages", messages.len());

    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a file");
    let mut put = |record: serde_json::Value| writeln!(file, "{record}").expect("is written");
    let mut names = Vec::new();
    for (root, name, wire) in &messages {
        let ty = &*schema.ty(*root).name;
        let method = schema.methods().iter().find(|m| m.input == *root || m.output == *root).expect("an RPC");
        let direction = if method.input == *root { "request" } else { "response" };
        put(
            json!({ "rpc": &*method.name, "messageType": ty, "direction": direction, "flags": 0, "payload_hex": hex(wire) }),
        );
        names.push(name.clone());
        for tunnel in plan.tunnels.iter().filter(|tunnel| tunnel.inner == *root) {
            let how = [" carried", " carried and cut", " carried in no hex"];
            names.extend(how.map(|how| format!("{name}{how}")));
            let carrier = &*schema.ty(tunnel.carrier).name;
            let inner = hex(wire);
            let field = tunnel
                .payloads
                .first()
                .and_then(|p| schema.ty(tunnel.carrier).field(p.field))
                .expect("a field");
            let id = length(2, &length(1, b"r1"));
            for carried in [inner.clone(), inner[..inner.len() - 3].to_owned(), format!("{inner}g")] {
                let outer = [length(field.number, carried.as_bytes()), id.clone()].concat();
                put(
                    json!({ "messageType": carrier, "direction": "request", "flags": 0, "payload_hex": hex(&outer) }),
                );
            }
        }
    }
    for end in ends(&messages, &schema) {
        put(json!({ "rpc": "pkg.S/M", "direction": "response", "flags": 2, "payload_hex": hex(&end) }));
    }
    let path = file.path().to_str().expect("a path");
    let mut other = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a file");
    let changed =
        std::fs::read_to_string(path).expect("the records").replace(&hex(&SECRET.as_bytes()[..2]), "515b");
    other.write_all(changed.as_bytes()).expect("is written");
    let other = other.path().to_str().expect("a path").to_owned();

    let mut shown = Vec::new();
    for view in [
        &["decode", "--format", "jsonl", path][..],
        &["decode", "--format", "jsonl", "--expand", "all", path],
        &["decode", "--format", "jsonl", "--expand", "none", "--json-names", path],
        &["decode", "--format", "text", "-V", "-x", path],
        &["decode", "--format", "text", "--expand", "none", "-V", "-x", path],
        &["decode", "-e", "message", "-e", "findings.text", path],
        &["decode", "--jq", ".", path],
        &["timeline", "--format", "text", path],
        &["timeline", "--format", "jsonl", path],
        &["follow", "--stream", "all", path],
        &["check", "--format", "text", path],
        &["check", "--format", "jsonl", path],
        &["stats", path],
        &["blobs", path],
        &["diff", path, &other],
        &["diff", "--raw", "--format", "jsonl", path, &other],
    ] {
        let output = rpcshark(view);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{view:?}: {said}");
        for line in said.lines() {
            let trace = TRACES.iter().find(|trace| line.contains(**trace));
            let record = serde_json::from_str::<serde_json::Value>(line).ok();
            let frame = record.and_then(|r| r["frame"].as_u64()).and_then(|n| usize::try_from(n).ok());
            let of = frame.and_then(|n| names.get(n.saturating_sub(1))).map_or("", |name| name);
            if let Some(trace) = trace {
                shown.push(format!("{view:?}, {of}: {trace:?} in {line}"));
            }
        }
    }
    assert!(shown.is_empty(), "{} lines show a secret:\n{}", shown.len(), shown.join("\n"));
}

/// A dialect's headers, parameters, keys and patterns count in every view.
#[test]
fn a_dialect_names_its_own_secrets() {
    let mut dialect = tempfile::Builder::new().suffix(".txtpb").tempfile().expect("a file");
    let rules = r#"
        secret { header: "x-chat-pass" query: "ticket" path: "/Poll" json_key: "chat word" }
        secret { pattern: "room-(?P<secret>[0-9]{6})" }
    "#;
    dialect.write_all(rules.as_bytes()).expect("is written");
    let json = r#"{"chat word":"SECRET1","says":"in room-123456","in":"{\"chat word\":\"SECRET1\"}"}"#;
    let header = |name: &str, value: &str| json!({ "name": name, "value": value });
    let har = json!({ "log": { "version": "1.2", "creator": { "name": "a", "version": "1" }, "entries": [{
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
        "request": { "method": "POST", "url": "https://a.example/pkg.S/Poll?ticket=SECRET2&n=1", "httpVersion": "HTTP/2",
            "headers": [header("content-type", "application/json"), header("connect-protocol-version", "1"), header("x-chat-pass", "SECRET3")],
            "postData": { "mimeType": "application/json", "text": json } },
        "response": { "status": 200, "statusText": "", "httpVersion": "HTTP/2", "headers": [header("content-type", "application/json")],
            "content": { "mimeType": "application/json", "text": json } } }] } });
    let mut file = tempfile::Builder::new().suffix(".har").tempfile().expect("a file");
    write!(file, "{har}").expect("is written");
    let (rules, path) = (dialect.path().to_str().expect("a path"), file.path().to_str().expect("a path"));
    for view in [
        &["decode", "--format", "jsonl"][..],
        &["decode", "--format", "text", "-V", "-x"],
        &["decode", "-Y", "http.headers.x-chat-pass != \"SECRET3\""],
        &["timeline", "--format", "jsonl"],
    ] {
        let output = rpcshark(&[view, &["--dialect", rules, path]].concat());
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("Poll"), "{view:?}: {said}");
        assert!(!said.contains("SECRET") && !said.contains("123456"), "{view:?}: {said}");
    }
    let shown = rpcshark(&["decode", "--show-secrets", "--dialect", rules, path]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("SECRET2"));
    fs::write(dialect.path(), "secret { pattern: \"(\" }").expect("is written");
    let refused = rpcshark(&["decode", "--dialect", rules, path]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no pattern"));
}

/// A credential that only a dialect knows, cut across two messages, is whole where they are put together.
#[test]
fn a_dialects_own_secret_cut_in_two_is_hidden_where_it_is_joined() {
    let folder = tempfile::tempdir().expect("a folder");
    let parcel = fixture("parcel");
    let read = |name: &str| fs::read_to_string(parcel.join(name)).expect("a fixture");
    let rules =
        "\nfold { field: \"parcel.v1.Note.text\" how: APPEND }\nsecret { pattern: \"pin-[0-9]{6}\" }\n";
    let (dialect, log) = (folder.path().join("d.txtpb"), folder.path().join("day.jsonl"));
    fs::write(&dialect, read("parcel.txtpb") + rules).expect("is written");
    fs::write(&log, read("day.jsonl").replace("On my ", "pin-12").replace("way.", "3456"))
        .expect("is written");
    let path = |path: &std::path::Path| path.to_str().expect("a path in UTF-8").to_owned();
    let given =
        ["--no-builtin", "-I", &path(&parcel), "--dialect", &path(&dialect), &path(&log)].map(str::to_owned);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let views: [&[&str]; 3] =
        [&["timeline", "--at", "8", "--format", "text"], &["timeline", "--at", "8"], &["follow"]];
    for view in views {
        let text = |more: &[&str]| {
            let output = rpcshark(&[view, more, &given].concat());
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(text(&["--show-secrets"]).contains("pin-123456"), "{view:?}");
        let hidden = text(&[]);
        assert!(hidden.contains("[redacted]") && !hidden.contains("123456"), "{view:?}: {hidden}");
    }
}
