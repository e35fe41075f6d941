//! Two sessions of a small chat, told in JSON, compared under rules of its own.

use serde_json::Value;

use crate::base::Limits;
use crate::dialect::{self, Mode, Plan};
use crate::schema::{self, Schema, Sources};
use crate::session::{Essence, IdValue, Model, Status};

use super::{Hunk, Input, Options, Pattern, Recorder, Recording, Side, compare};

const PROTO: &str = r#"
syntax = "proto3";
package demo.v1;
message Say {
  oneof what { Text text = 1; Call call = 2; View view = 3; Done done = 4; }
  int64 took_ms = 9;
}
message Text { string piece = 1; }
message Call { string id = 1; string name = 2; bytes body = 3; }
message View { string state = 1; }
message Done { string id = 1; int32 tokens = 2; }
service Chat { rpc Talk(Say) returns (stream Say); }
"#;

const DIALECT: &str = r#"
name: "demo"
level { name: "run" namespace: "run" method: "demo.v1.Chat/Talk" }
namespace { name: "run" whole_exchange: true header: "x-run" }
namespace { name: "call" field: "demo.v1.Call.id" field: "demo.v1.Done.id" }
measure { name: "took" unit: TIME volatile: true field: "demo.v1.Say.took_ms" }
fold { how: APPEND field: "demo.v1.Text.piece" }
fold { how: SUM field: "demo.v1.Done.tokens" }
fold { how: REPLACE field: "demo.v1.Say.view" }
"#;

fn rules() -> (Schema, Plan) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("demo.proto"), PROTO).expect("written");
    let sources = Sources { roots: vec![dir.path().to_owned()], ..Sources::default() };
    let mut schema = schema::load(&sources).expect("a schema").schema;
    let mut plan = Plan::default();
    let file = dialect::parse("demo", DIALECT).expect("a dialect");
    dialect::compile(&file, Mode::Strict { file: "demo", text: DIALECT }, &mut schema, &mut plan)
        .expect("names that resolve");
    (schema, plan)
}

/// What one run's server said, a message each; `end` is the end of the stream.
fn record(schema: &Schema, plan: &Plan, options: &Options, id: &str, messages: &[&str]) -> Recording {
    let (essence, limits) = (Essence::new(schema, plan), Limits::default());
    let mut recorder = Recorder::new(&essence, options, &limits);
    let ids = [(0, IdValue::Str(id.into()))];
    let ended = Status::default();
    for (at, message) in messages.iter().enumerate() {
        recorder.push(&Input {
            frame: at as u64 + 1,
            call: 1,
            side: Side::Server,
            rpc: Some("demo.v1.Chat/Talk"),
            ids: &ids,
            carried: None,
            stage: None,
            ty: schema.type_by_name("demo.v1.Say"),
            message: message.as_bytes(),
            payload: b"",
            kind: None,
            end: (*message == "end").then_some(&ended),
            whole: false,
            redundant: false,
        });
    }
    recorder.finish(&Model::default())
}

fn hunks(options: &Options, left: &[&str], right: &[&str]) -> Vec<Hunk> {
    let (schema, plan) = rules();
    let left = record(&schema, &plan, options, "run-a", left);
    let right = record(&schema, &plan, options, "run-b", right);
    compare(&left, &right, options).expect("runs")
}

/// Checks the changes: `type path left -> right`.
fn check(left: &[&str], right: &[&str], expect: &[&str]) {
    let mut found = Vec::new();
    for change in hunks(&Options::default(), left, right).iter().flat_map(|h| &h.changes) {
        let side = |v: &Option<Value>| v.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
        found.push(format!(
            "{} {} {} -> {}",
            change.kind.name(),
            change.path,
            side(&change.left),
            side(&change.right)
        ));
    }
    assert_eq!(found, expect);
}

#[test]
fn pieces_are_joined_whatever_their_bounds() {
    let view = r#"{"view":{"state":"x"}}"#;
    check(
        &[r#"{"text":{"piece":"one "}}"#, r#"{"text":{"piece":"two"}}"#, "end"],
        &[r#"{"text":{"piece":"o"}}"#, r#"{"text":{"piece":"ne t"}}"#, r#"{"text":{"piece":"wo"}}"#, "end"],
        &[],
    );
    // Another message between is content.
    check(
        &[r#"{"text":{"piece":"one "}}"#, r#"{"text":{"piece":"two"}}"#],
        &[r#"{"text":{"piece":"one "}}"#, view, r#"{"text":{"piece":"two"}}"#],
        &[
            r#"changed text.piece "one two" -> "one ""#,
            r#"added  - -> {"view":{"state":"x"}}"#,
            r#"added  - -> {"text":{"piece":"two"}}"#,
        ],
    );
}

#[test]
fn sums_add_up() {
    check(
        &[r#"{"done":{"id":"a","tokens":2}}"#, r#"{"done":{"id":"a","tokens":3}}"#],
        &[r#"{"done":{"id":"z","tokens":5}}"#],
        &[],
    );
}

#[test]
fn a_view_that_repeats_itself_is_one() {
    let (x, y) = (r#"{"view":{"state":"x"}}"#, r#"{"view":{"state":"y"}}"#);
    check(&[x, x, x, y], &[x, y, y], &[]);
    check(&[x, y, x], &[x, y], &[r#"removed  {"view":{"state":"x"}} -> -"#]);
}

#[test]
fn times_are_left_out() {
    check(&[r#"{"view":{},"took_ms":"12"}"#], &[r#"{"view":{},"took_ms":"9000"}"#], &[]);
    check(&[r#"{"took_ms":"12"}"#], &[r#"{}"#], &[]);
}

#[test]
fn ids_are_what_they_are_by_their_places() {
    let call = |id: &str, name: &str| format!(r#"{{"call":{{"id":"{id}","name":"{name}"}}}}"#);
    let done = |id: &str| format!(r#"{{"done":{{"id":"{id}"}}}}"#);
    let left = [call("a", "read"), call("b", "list"), done("a"), done("b")];
    let right = [call("x", "read"), call("y", "list"), done("x"), done("y")];
    let wrong = [call("x", "read"), call("y", "list"), done("y"), done("x")];
    fn texts(list: &[String]) -> Vec<&str> {
        list.iter().map(String::as_str).collect()
    }
    check(&texts(&left), &texts(&right), &[]);
    check(
        &texts(&left),
        &texts(&wrong),
        &[r#"changed done.id "call#1" -> "call#2""#, r#"changed done.id "call#2" -> "call#1""#],
    );
    // One call more changes nothing in those after it.
    let more = [call("n", "find"), call("x", "read"), call("y", "list"), done("x"), done("y")];
    check(&texts(&left), &texts(&more), &[r#"added  - -> {"call":{"id":"call#3","name":"find"}}"#]);
}

#[test]
fn an_id_inside_json_in_bytes_is_an_id() {
    use base64_simd::STANDARD;
    let call = |id: &str, text: &str| {
        let body = STANDARD.encode_to_string(format!(r#"{{"for":"{id}","say":"{text}"}}"#));
        format!(r#"{{"call":{{"id":"{id}","name":"read","body":"{body}"}}}}"#)
    };
    check(&[&call("call_one", "hi")], &[&call("call_two", "hi")], &[]);
    check(&[&call("call_one", "hi")], &[&call("call_two", "ho")], &[r#"changed call.body.say "hi" -> "ho""#]);
}

/// A call whose body is bytes.
fn call(id: &str, body: &[u8]) -> String {
    let body = base64_simd::STANDARD.encode_to_string(body);
    format!(r#"{{"call":{{"id":"{id}","name":"read","body":"{body}"}}}}"#)
}

#[test]
fn bytes_that_nothing_names_are_compared_by_what_they_hold() {
    // Fields by number, one inside the other; how they were encoded is not content.
    let message = |text: &str, number: u8| {
        let inner = [&[0x12, text.len() as u8], text.as_bytes(), &[0x18, number]].concat();
        [&[0x0a, inner.len() as u8][..], &inner].concat()
    };
    let (one, two) = (call("a", &message("hi", 1)), call("z", &message("ho", 1)));
    check(&[&one], &[&call("z", &message("hi", 1))], &[]);
    check(&[&one], &[&two], &[r#"changed call.body.1.2 "hi" -> "ho""#]);
    check(&[&call("a", &[0x08, 0x01])], &[&call("a", &[0x08, 0x81, 0x00])], &[]);
    // Text, JSON and a message are three things; so are bytes that are none of them.
    check(
        &[&call("a", b"some text")],
        &[&call("a", br#"{"k":1}"#)],
        &[r#"changed call.body "some text" -> {"k":1}"#],
    );
    check(
        &[&call("a", &[0xff, 0xfe, 0x01])],
        &[&call("a", &[0xff, 0xfe, 0x02])],
        &[r#"changed call.body {"$bytes":"//4B"} -> {"$bytes":"//4C"}"#],
    );
}

#[test]
fn an_id_inside_a_message_in_bytes_is_an_id() {
    let body = |id: &str, text: &str| {
        let all =
            [&[0x08, 0x07, 0x12, id.len() as u8], id.as_bytes(), &[0x1a, text.len() as u8], text.as_bytes()];
        call(id, &all.concat())
    };
    check(&[&body("call_one", "hi")], &[&body("call_two", "hi")], &[]);
    check(&[&body("call_one", "hi")], &[&body("call_two", "ho")], &[r#"changed call.body.3 "hi" -> "ho""#]);
    // And so two that differ in ids alone are the same in whatever place.
    let (a, b) = (body("call_one", "hello there, it is one"), body("call_two", "another one is two"));
    let (x, y) = (body("call_ten", "hello there, it is one"), body("call_six", "another one is two"));
    let found = hunks(&Options::default(), &[&a, &b, r#"{"view":{}}"#], &[&b, r#"{"view":{}}"#, &x]);
    assert_eq!(found.iter().map(|h| h.changes[0].kind.name()).collect::<Vec<_>>(), ["moved"]);
    check(&[&a, &b], &[&x, &y], &[]);
}

#[test]
fn what_stands_elsewhere_is_moved() {
    let view = |name: &str| format!(r#"{{"call":{{"id":"{name}","name":"{name} is a telling name"}}}}"#);
    let (a, b, c) = (view("a"), view("b"), view("c"));
    let found = hunks(&Options::default(), &[&a, &b, &c], &[&b, &c, &a]);
    let kinds: Vec<_> = found.iter().map(|h| (h.changes[0].kind.name(), h.frames)).collect();
    assert_eq!(kinds, [("moved", [Some(1), Some(3)])]);
}

#[test]
fn an_end_that_is_missing_is_a_difference() {
    let text = r#"{"text":{"piece":"one"}}"#;
    check(&[text, "end"], &[text], &[r#"removed  {"end":"ok"} -> -"#]);
}

#[test]
fn text_that_looks_like_a_mark_is_text() {
    let text = |mark: &str| format!(r#"{{"call":{{"id":"a","name":"{mark}"}}}}"#);
    check(&[&text("\\u0001i1 a")], &[&text("\\u0001i1 a")], &[]);
    check(
        &[&text("\\u0001i1 a")],
        &[&text("\\u0001i1 b")],
        &["changed call.name \"\\u0001i1 a\" -> \"\\u0001i1 b\""],
    );
    check(
        &[&text("\\u0001p0")],
        &[&text("\\u0001p1")],
        &["changed call.name \"\\u0001p0\" -> \"\\u0001p1\""],
    );
}

#[test]
fn raw_compares_what_is_there() {
    let options = Options { raw: true, ..Options::default() };
    let found =
        hunks(&options, &[r#"{"call":{"id":"a"},"took_ms":"1"}"#], &[r#"{"call":{"id":"b"},"took_ms":"2"}"#]);
    let paths: Vec<_> = found.iter().flat_map(|h| &h.changes).map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["call.id", "took_ms"]);
}

#[test]
fn what_is_ignored_does_not_align_either() {
    let options = Options { ignore: vec![Pattern::new(["call", "name"])], ..Options::default() };
    let message = |name: &str| format!(r#"{{"call":{{"id":"a","name":"{name}"}}}}"#);
    assert!(hunks(&options, &[&message("x")], &[&message("y")]).is_empty());
}

#[test]
fn hostile_json_does_no_harm() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for message in
        ["", "{", "null", "[1]", r#"{"text":1}"#, r#"{"text":{"piece":[1]}}"#, r#"{"done":7}"#, &deep]
    {
        check(&[message], &[message], &[]);
        check(&[message, r#"{"view":{}}"#], &[message, r#"{"view":{}}"#], &[]);
    }
}
