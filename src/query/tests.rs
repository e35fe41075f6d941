//! What filters say, and what is said of filters that say nothing.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::base::Timestamp;
use crate::schema::{Sources, load};

use super::*;

const PROTO: &str = r#"
syntax = "proto3";
package demo.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
message Chat {
  oneof body { Say say = 1; Ping ping = 2; }
  uint64 serial = 3;
  google.protobuf.Timestamp at = 4;
  google.protobuf.Duration took = 5;
  map<string, int32> counts = 6;
  Mood mood = 7;
  optional bool urgent = 8;
  bytes blob = 9;
  repeated Say all = 10;
  int64 wait_ms = 11;
  double ratio = 12;
  google.protobuf.Struct extra = 13;
}
message Say { string text = 1; string user_name = 2; Say reply = 3; }
message Ping {}
enum Mood { MOOD_UNSPECIFIED = 0; MOOD_HAPPY = 1; MOOD_SAD = 2; }
"#;

fn schema() -> Schema {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.proto"), PROTO).unwrap();
    load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema
}

fn names(schema: &Schema) -> Names<'_> {
    Names {
        schema,
        ids: &["request_id", "exec"],
        carrier: &["seqno"],
        pairs: &["exec", "blob"],
        tokens: &["input_tokens"],
        whole: false,
    }
}

fn filter(schema: &Schema, text: &str) -> Result<Filter, Error> {
    Filter::new(text, names(schema))
}

/// A record as `decode` prints it.
struct Printed {
    json: Json,
    ty: Option<TypeId>,
}

impl Record for Printed {
    fn values(&self, field: &Field, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let path = match field {
            Field::Meta(meta) => FIELDS.iter().find(|f| f.meta == *meta).unwrap().name.to_owned(),
            Field::Member(group, name) => {
                let prefix = Group::ALL.iter().find(|(g, _)| g == group).unwrap().1;
                format!("{prefix}.{}", name.as_deref().unwrap_or("*"))
            }
        };
        let mut found = vec![&self.json];
        for step in path.split('.') {
            let below: Vec<&Json> = found
                .into_iter()
                .flat_map(|v| v.as_array().map_or(vec![v], |items| items.iter().collect()))
                .flat_map(|v| match step {
                    "*" => v.as_object().map_or(vec![], |o| o.values().collect()),
                    step => v.get(step).into_iter().collect(),
                })
                .collect();
            found = below;
        }
        let flat =
            found.into_iter().flat_map(|v| v.as_array().map_or(vec![v], |items| items.iter().collect()));
        for value in flat {
            let go = match value {
                Json::Bool(b) => visit(Value::Bool(*b)),
                Json::Number(n) => visit(Value::Int(i128::from(n.as_u64().unwrap()))),
                Json::String(s) if path == "flags" => {
                    visit(Value::Int(i128::from_str_radix(&s[2..], 16).unwrap()))
                }
                Json::String(s) if path == "ts" => {
                    visit(Value::Nanos(i128::from(Timestamp::parse(s).unwrap().0)))
                }
                Json::String(s) => visit(Value::Text(s)),
                _ => true,
            };
            if !go {
                return;
            }
        }
    }

    fn message(&self) -> Option<(Option<TypeId>, &Json)> {
        self.json.get("message").filter(|m| !m.is_null()).map(|m| (self.ty, m))
    }
}

fn record(schema: &Schema) -> Printed {
    let json = json!({
        "frame": 7, "capture": "a.pcap", "ts": "2026-11-30T10:00:00.5Z", "conn": "tcp:1", "stream": 3, "call": 2,
        "rpc": "demo.v1.Chats/Talk", "direction": "response", "protocol": "grpc", "offset": 20, "kind": "say",
        "messageType": "demo.v1.Chat", "flags": "0x03", "length": 11000, "compressed": true, "endStream": false,
        "ids": {"request_id": "r-1", "exec": [0, 5]}, "carrier": {"messageType": "demo.v1.Say", "seqno": 4},
        "http": {"status": 200, "version": "HTTP/2", "headers": {"content-type": "application/grpc"}},
        "message": {
            "say": {"text": "Hello, World", "reply": {"text": "deep", "reply": {"text": "deeper"}}},
            "serial": "18446744073709551615", "at": "2026-11-30T10:00:00.250Z", "took": "1.5s",
            "counts": {"a": 1, "b-c": 2}, "mood": "MOOD_SAD", "urgent": false, "blob": "CmoA",
            "all": [{"text": "one"}, {"text": "two", "user_name": "u"}], "wait_ms": "2500", "ratio": 0.5,
            "extra": {"x": [1, {"y": "z"}], "n": 5},
            "$unknown": [{"number": 33, "wire": "varint", "value": "4"}]
        },
        "findings": [{"code": "proto.utf8", "severity": "error", "path": "say.text", "offset": 24, "text": "odd"},
                     {"code": "proto.unknown-field", "severity": "note", "text": "33"}]
    });
    Printed { json, ty: schema.type_by_name("demo.v1.Chat") }
}

/// Filters that match the record, and filters that do not.
fn check(yes: &[&str], no: &[&str]) {
    let schema = schema();
    let record = record(&schema);
    for (texts, expect) in [(yes, true), (no, false)] {
        for text in texts {
            let filter = filter(&schema, text).unwrap_or_else(|e| panic!("{text}: {e} at {:?}", e.span));
            assert_eq!(filter.matches(&schema, &record), expect, "{text}");
            let open = filter.decide(&schema, &record, Stage::Frame);
            assert!(open.is_none_or(|early| early == expect), "{text}: an early answer is the late one");
        }
    }
}

#[test]
fn fields_of_the_record() {
    check(
        &[
            "frame == 7",
            "capture contains \"pcap\"",
            "ts > \"2026-11-30T10:00:00Z\"",
            "conn == 'tcp:1'",
            "stream in {1..3}",
            "call eq 2",
            "rpc matches \"/talk$\"",
            "direction == \"response\"",
            "protocol != \"connect\"",
            "offset >= 20",
            "kind == \"say\"",
            "messageType == \"demo.v1.Chat\"",
            "flags == 0x03",
            "flags == \"0x03\"",
            "flags == 3",
            "flags & 0x02",
            "flags bitand 1",
            "length > 10K",
            "length < 11K",
            "compressed",
            "compressed == true",
            "not endStream",
            "ids.request_id == \"r-1\"",
            "ids.exec == 5",
            "ids.exec == \"5\"",
            "ids.exec in {4..6}",
            "ids",
            "carrier",
            "carrier.seqno == 4",
            "carrier.messageType == \"demo.v1.Say\"",
            "http.status == 200",
            "http.headers.content-type contains \"grpc\"",
            "http.headers.Content-Type",
            "findings.code == \"proto.utf8\"",
            "findings.severity >= \"warning\"",
            "findings.path == \"say.text\"",
            "findings.offset == 24",
            "findings",
            "findings.text ~ \"^ODD\"",
        ],
        &[
            "frame == 8",
            "endStream",
            "flags & 4",
            "ids.exec == 6",
            "http.path",
            "http.host == \"x\"",
            "kind != \"say\"",
            "findings.code == \"codec.bomb\"",
            "findings.severity > \"error\"",
            "jsonLength",
            "carrier.assumed",
            "length in {1..10}",
            "http.headers.te",
        ],
    );
}

#[test]
fn paths_into_messages() {
    check(
        &[
            "message",
            "message.say",
            "message.say.text",
            "message.say.text == \"Hello, World\"",
            "message.say.text contains \"World\"",
            "message.say.text matches \"world\"",
            "message.**.text == \"deeper\"",
            "message.say.**.text == \"deep\"",
            "message.*.text == \"two\"",
            "message.all.text == \"one\"",
            "message.all[1].text == \"two\"",
            "message.all.userName == \"u\"",
            "message.counts.a == 1",
            "message.counts[\"b-c\"] == 2",
            "message.counts.* == 2",
            "message.** contains \"Wor\"",
            "message contains \"deeper\"",
            "message.say ~ \"h.llo\"",
            "message.$unknown.number == 33",
            "message.$unknown.value == 4",
            "message.extra.x.y == \"z\"",
            "message.extra.n > 4",
        ],
        &[
            "message.ping",
            "message.all[2]",
            "message.all[0].text == \"two\"",
            "message.*.text == \"deep\"",
            "message.say.user_name",
            "message.counts.zz",
            "message.say.text contains \"world\"",
            "message.error.code == \"canceled\"",
            "message.grpc-status == 0",
            "message.extra.q",
        ],
    );
}

#[test]
fn types_of_values() {
    check(
        &[
            "message.serial == 18446744073709551615",
            "message.serial > 18446744073709551614",
            "message.serial == 0xffffffffffffffff",
            "message.at < \"2026-11-30T10:00:00.3Z\"",
            "message.took > 1s",
            "message.took == 1500ms",
            "message.took in {1s..2s}",
            "message.mood == \"MOOD_SAD\"",
            "message.mood == MOOD_SAD",
            "message.mood == 2",
            "message.mood in {MOOD_HAPPY, MOOD_SAD}",
            "message.urgent",
            "message.urgent == false",
            "message.blob == 0a:6a:00",
            "message.blob == 0x0a6a00",
            "message.blob == b\"\\x0aj\\x00\"",
            "message.blob contains \"j\"",
            "message.blob contains 6a:00",
            "message.blob matches \"J\"",
            "message.wait_ms > 2s",
            "message.wait_ms in {2s..3s}",
            "message.ratio < 1",
            "message.ratio == 0.5",
            "message.ratio < 6e-1",
            "message.say.text < \"I\"",
            "message.serial & 1",
        ],
        &[
            "message.serial == 18446744073709551614",
            "message.took == 1s",
            "message.mood == 1",
            "message.urgent == true",
            "message.blob == 0a:6a",
            "message.wait_ms > 3s",
            "message.mood != \"MOOD_SAD\"",
        ],
    );
}

#[test]
fn logic() {
    check(
        &[
            "frame == 1 or frame == 7",
            "frame == 7 and not frame == 1",
            "!(frame == 1) && compressed",
            "frame == 7 || frame == 1 && frame == 2",
            "not (frame == 1 and frame == 2)",
            "true",
            "not not frame == 7",
            "kind == null or kind != null",
            "http.path == null",
            "kind != null",
            "kind in {\"say\" \"ping\"}",
            "not kind in {\"ping\"}",
            "message.all.text != \"three\"",
        ],
        &[
            "frame == 1 and frame == 7 or frame == 2",
            "(frame == 7 or frame == 1) and frame == 2",
            "false",
            "kind == null",
            // All values of a path have to differ, and there has to be one.
            "message.all.text != \"two\"",
            "http.path != \"x\"",
        ],
    );
}

/// The filter is refused; `caret` has a `^` under each byte that is meant.
fn refused(text: &str, caret: &str, said: &str, help: &str) {
    let schema = schema();
    let error = filter(&schema, text).map(|_| ()).expect_err(text);
    let start = caret.find('^').unwrap_or(caret.len());
    let end = if caret.contains('^') { caret.len() } else { start };
    assert_eq!(error.span, start..end, "{text}: {error}");
    assert!(error.text.contains(said), "{text}: {}", error.text);
    assert!(error.help.clone().unwrap_or_default().contains(help), "{text}: {:?}", error.help);
}

#[test]
#[rustfmt::skip]
fn mistakes_of_form() {
    refused("", "", "empty", "");
    refused("kind = \"a\"", "     ^", "no part", "==");
    refused("kind == ", "       ", "expected a value", "");
    refused("kind ==", "       ", "expected a value", "");
    refused("kind == \"say", "        ^^^^", "closing quote", "");
    refused("kind == \"a\\d\"", "          ^^", "unknown escape", "r\"");
    refused("(kind", "^", "without ')'", "");
    refused("kind)", "    ^", "without '('", "");
    refused("kind kind", "     ^^^^", "expected 'and'", "");
    refused("and kind", "^^^", "expected a field", "");
    refused("kind and", "        ", "expected a field", "");
    refused("1 < frame", "^", "expected a field", "left");
    refused("1 < frame < 3", "^", "expected a field", "left");
    refused("frame > 1 < 3", "          ^", "expected 'and'", "chain");
    refused("frame in 1", "         ^", "'{'", "");
    refused("frame in {}", "          ^", "expected a value", "");
    refused("frame in {1", "           ", "expected a value", "");
    refused("length > 10Q", "           ^", "unknown unit", "sizes");
    refused("flags == 0xzz", "         ^^^^", "hex digits", "");
    refused("message..say", "       ^^", "expected", "");
    refused("message.", "        ", "goes on", "");
    refused("message.all[x]", "           ^^^", "brackets", "");
    refused(".kind == 1", "^", "no part", "begins with a name");
    refused("kind | x", "     ^", "no part", "||");
    refused("b'\\q' == 1", "  ^", "unknown escape", "");
    refused("frame == 99999999999999999999999999999999999999999", "         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^", "too large", "");
    refused(&"(".repeat(200), &format!("{}^", " ".repeat(100)), "too deep", "");
}

#[test]
#[rustfmt::skip]
fn mistakes_of_meaning() {
    refused("knid == \"say\"", "^^^^", "no field 'knid'", "'kind'");
    refused("http.hots", "     ^^^^", "http.hots", "http.host");
    refused("findings.cod == \"x\"", "         ^^^", "findings.cod", "findings.code");
    refused("ids.requestid", "    ^^^^^^^^^", "ids has no member", "request_id");
    refused("text == \"x\"", "^^^^", "no field 'text'", "message.**.text");
    refused("** == 1", "^^", "begins with the name", "message.**");
    refused("message.sya.text", "        ^^^", "'sya'", "'say'");
    refused("message.say.txt", "            ^^^", "demo.v1.Say has no field 'txt'", "'text'");
    refused("message.say.serial", "            ^^^^^^", "no field 'serial'", "message.**.serial");
    refused("message.**.nothing_like_it", "           ^^^^^^^^^^^^^^^", "no message has a field", "");
    refused("message.say.text.x", "                 ^", "has no fields", "");
    refused("message.**.a.**.b.**.c.**.d", "           ^", "no message", "");
    refused("message.say.text == 7", "                    ^", "is string, not a number", "");
    refused("message.serial == \"7\"", "                  ^^^", "is uint64, not text", "without quotes: 7");
    refused("message.serial == seven", "                  ^^^^^", "bare word", "quotes");
    refused("message.blob == \"CmoA\"", "                ^^^^^^", "is bytes", "0a:6a:00");
    refused("message.mood == \"HAPPY\"", "                ^^^^^^^", "no value 'HAPPY'", "MOOD_HAPPY");
    refused("message.urgent == 1", "                  ^", "is bool", "");
    refused("message.say == \"x\"", "               ^^^", "cannot be compared as a whole", "message.say.**");
    refused("message.say > 1", "            ^", "does not go with", "");
    refused("message.serial contains \"1\"", "               ^^^^^^^^", "does not go with", "");
    refused("message.at > \"yesterday\"", "             ^^^^^^^^^^^", "is no time", "2026");
    refused("message.serial > 5s", "                 ^^", "unit is not known", "");
    refused("message.took > 5", "               ^", "not a number", "");
    refused("frame == \"7\"", "         ^^^", "is a number, not text", "7");
    refused("frame contains \"7\"", "      ^^^^^^^^", "does not go with", "");
    refused("kind == 7", "        ^", "text", "");
    refused("kind == \"sya\"", "        ^^^^^", "no message has the kind", "'say'");
    refused("kind == say", "        ^^^", "bare word", "\"say\"");
    refused("kind < \"say\"", "     ^", "does not go with", "");
    refused("direction == \"up\"", "             ^^^^", "none of request, response", "");
    refused("direction == \"reponse\"", "             ^^^^^^^^^", "none of", "'response'");
    refused("findings.code == \"proto.utf9\"", "                 ^^^^^^^^^^^^", "no finding", "proto.utf8");
    refused("findings.severity > \"bad\"", "                    ^^^^^", "none of note", "");
    refused("messageType == \"demo.v1.Caht\"", "               ^^^^^^^^^^^^^^", "no message type", "demo.v1.Chat");
    refused("flags == \"three\"", "         ^^^^^^^", "flags are a number", "");
    refused("kind ~ \"(\"", "       ^^^", "not a regular expression", "");
    refused("kind ~ \"(?:a{1000}){1000}\"", "       ^^^^^^^^^^^^^^^^^^^", "too large", "");
    refused("frame in {5..1}", "          ^^^^", "the range is empty", "");
    refused("frame > null", "        ^^^^", "== and != only", "");
    refused("kind & 1", "     ^", "does not go with", "");
    refused("flags & \"1\"", "        ^^^", "takes a number", "");
    refused("kind contains 1", "              ^", "contains takes text", "");
}

#[test]
fn what_is_known_only_later_is_told_apart() {
    let schema = schema();
    let later = |text: &str| filter(&schema, text).unwrap().later().map(|e| e.span);
    assert_eq!(later("frame == 1 and pair.latency > 10ms"), Some(15..27));
    assert_eq!(later("findings.code == \"pair.unanswered\""), Some(17..34));
    assert_eq!(later("findings.code == \"proto.utf8\""), None);
    let needs = |text: &str| filter(&schema, text).unwrap().needs();
    assert_eq!(needs("direction == \"request\" and flags & 1"), Stage::Frame);
    assert_eq!(needs("kind == \"say\" or length > 5"), Stage::Kind);
    assert_eq!(needs("message.say"), Stage::Record);
    assert_eq!(needs("pair.state == \"orphan\""), Stage::Later);
    let by_kind = |text: &str| filter(&schema, text).unwrap().is_by_kind();
    assert!(by_kind("kind == \"say\"") && by_kind("not kind and message.say"));
    assert!(!by_kind("kind == \"say\" or length > 5") && !by_kind("kind == \"say\" and frame < 9"));
}

#[test]
fn a_part_decides_where_the_rest_cannot_matter() {
    let schema = schema();
    let record = record(&schema);
    let decide = |text: &str, stage| filter(&schema, text).unwrap().decide(&schema, &record, stage);
    assert_eq!(decide("frame == 1 and message.say", Stage::Frame), Some(false));
    assert_eq!(decide("frame == 7 and message.say", Stage::Frame), None);
    assert_eq!(decide("kind == \"ping\" and message.say", Stage::Kind), Some(false));
    assert_eq!(decide("message.ping or frame == 7", Stage::Frame), Some(true));
}

#[test]
fn without_a_schema_any_path_may_be_meant() {
    let schema = Schema::default();
    let filter =
        Filter::new("message.1.2 == 5 and kind == null", Names { ids: &[], carrier: &[], ..names(&schema) });
    let record = Printed { json: json!({"message": {"1": {"2": 5}}}), ty: None };
    assert!(filter.unwrap().matches(&schema, &record));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        let schema = Schema::default();
        let _ = Filter::new(&text, Names { ids: &[], carrier: &[], ..names(&schema) });
    }

    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec(prop::sample::select(vec![
        "kind", "message.say", "message.**.text", "message.**", "ids.*", "flags", "ts", "findings.severity", "==", "!=",
        "<", ">=", "contains", "matches", "in", "{", "}", "..", ",", "(", ")", "and", "or", "not", "&", "\"say\"", "r\"[\"",
        "b\"\\x00\"", "0a:6a:00", "0xff", "-5", "1.5", "10ms", "5K", "true", "null", "message.all[0]", "\"", "'é", "\\",
    ]), 0..12)) {
        thread_local!(static SCHEMA: Schema = schema());
        let text = words.join(" ");
        SCHEMA.with(|schema| {
            match filter(schema, &text) {
                Ok(filter) => {
                    filter.matches(schema, &record(schema));
                }
                Err(error) => {
                    assert!(text.get(error.span.clone()).is_some(), "{text}: {error:?}");
                }
            }
        });
    }
}
