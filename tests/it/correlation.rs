//! What the reference says in passing, each on a few records written for it: links, findings, drawings.

use std::io::Write;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::run::{fixture, parse, rpcshark};

/// Records of two-way streams: milliseconds, the id of the run, who speaks, what. The first of a run may have headers.
struct Log(NamedTempFile);

impl Log {
    fn new(records: &[(i64, &str, &str, Value)]) -> Self {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a file");
        for (ms, run, side, message) in records {
            let (second, ms) = (ms / 1_000, ms % 1_000);
            let ts = format!("2026-12-02T10:{:02}:{:02}.{ms:03}Z", second / 60, second % 60);
            let mut record = json!({"ts": ts, "rpc": "agent.v1.AgentService/Run", "request_id": run,
                "direction": if *side == "c" { "request" } else { "response" }, "message": message});
            if message == "end" {
                record["message"] = json!({});
                record["endStream"] = true.into();
                record["flags"] = "0x02".into();
                record["kind"] = "end_stream".into();
            }
            writeln!(file, "{record}").expect("written");
        }
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.path().to_str().expect("a path")
    }

    fn events(&self) -> Vec<Value> {
        parse(&rpcshark(&["timeline", "--format", "jsonl", self.path()]))
    }

    fn drawn(&self, extra: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
            .args(["timeline", "--format", "text", "--color", "never", self.path()])
            .args(extra)
            .env("COLUMNS", "100")
            .output();
        text(&output.expect("the program runs"))
    }
}

/// The id of the two bytes that are sent as a blob.
const BLOB: &str = "ECtRuXZaVqPomffPDuOOUlH5xQOzV7MwpJGD63sVVgQ=";

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run_request(conversation: &str) -> Value {
    json!({"run_request": {"conversation_id": conversation, "action": {"user_message_action": {"user_message": {"text": "go"}}}}})
}

fn update(inner: Value) -> Value {
    json!({"interaction_update": inner})
}

fn ended() -> Value {
    update(json!({"turn_ended": {"output_tokens": "1"}}))
}

fn links<'e>(events: &'e [Value], pair: &str) -> Vec<&'e Value> {
    events.iter().filter(|e| e["type"] == "link" && e["pair"] == pair).collect()
}

fn findings(events: &[Value], code: &str) -> Vec<String> {
    let found = events.iter().filter(|e| e["type"] == "finding" && e["code"] == code);
    found.map(|e| format!("{} {}", e["severity"].as_str().unwrap(), e["text"].as_str().unwrap())).collect()
}

/// Nothing above a note.
fn quiet(events: &[Value]) {
    let loud: Vec<_> = events.iter().filter(|e| e["type"] == "finding" && e["severity"] != "note").collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

#[test]
fn a_prewarming_is_joined_to_the_run_that_uses_it() {
    let prewarm = json!({"prewarm_request": {"conversation_id": "c1"}});
    // On another stream of the same conversation; the second run does without.
    let log = Log::new(&[
        (0, "p", "c", prewarm.clone()),
        (200, "r", "c", run_request("c1")),
        (300, "r", "s", ended()),
        (310, "r", "s", json!("end")),
        (400, "r2", "c", run_request("c2")),
        (500, "r2", "s", ended()),
        (510, "r2", "s", json!("end")),
    ]);
    let events = log.events();
    quiet(&events);
    let found = links(&events, "prewarm");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((&found[0]["request"], &found[0]["responses"]), (&json!(1), &json!([2])));
    assert_eq!((&found[0]["id"], &found[0]["latency_ms"]), (&json!("c1"), &json!(200)));
    // On the stream itself.
    let log = Log::new(&[
        (0, "r", "c", prewarm),
        (200, "r", "c", run_request("c1")),
        (300, "r", "s", ended()),
        (310, "r", "s", json!("end")),
    ]);
    assert_eq!(links(&log.events(), "prewarm").len(), 1);
}

#[test]
fn a_question_answered_later() {
    let query = json!({"interaction_query": {"id": 1, "ask_question_interaction_query": {"tool_call_id": "t1", "args": {"title": "Which?"}}}});
    let later = json!({"interaction_response": {"id": 1, "ask_question_interaction_response": {"result": {"async": {}}}}});
    let done = json!({"conversation_action": {"async_ask_question_completion_action": {"original_tool_call_id": "t1",
        "result": {"success": {}}}}});
    let log = Log::new(&[
        (0, "r", "c", run_request("c1")),
        (100, "r", "s", query),
        (150, "r", "c", later),
        (200, "r", "s", ended()),
        (900, "r", "c", done),
        (950, "r", "s", ended()),
        (960, "r", "s", json!("end")),
    ]);
    let events = log.events();
    quiet(&events);
    let found = links(&events, "question");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((&found[0]["id"], &found[0]["request"]), (&json!("t1"), &json!(2)));
    assert_eq!((&found[0]["responses"], &found[0]["latency_ms"]), (&json!([5]), &json!(800)));
}

#[test]
fn a_summary_that_was_asked_for() {
    let log = Log::new(&[
        (0, "r", "c", run_request("c1")),
        (100, "r", "c", json!({"conversation_action": {"summarize_action": {}}})),
        (200, "r", "s", update(json!({"summary_started": {}}))),
        (250, "r", "s", update(json!({"summary": {"summary": "all of it"}}))),
        (300, "r", "s", update(json!({"summary_completed": {}}))),
        (400, "r", "s", ended()),
        (410, "r", "s", json!("end")),
    ]);
    let events = log.events();
    quiet(&events);
    let found = links(&events, "summarize");
    assert_eq!((found.len(), &found[0]["request"], &found[0]["latency_ms"]), (1, &json!(2), &json!(200)));
    assert_eq!(links(&events, "summary").len(), 1);
}

#[test]
fn hook_contexts_that_came_back() {
    let ask = |id: u32, accept: bool| json!({"exec_server_message": {"id": id, "accept_hook_additional_contexts": accept, "read_args": {"path": "/a"}}});
    let answer = |id: u32| {
        json!({"exec_client_message": {"id": id, "read_result": {"success": {"path": "/a"}},
        "hook_additional_contexts": [{"content": "one"}, {"content": "two"}]}})
    };
    let log = Log::new(&[
        (0, "r", "c", run_request("c1")),
        (100, "r", "s", ask(1, true)),
        (150, "r", "c", answer(1)),
        (200, "r", "s", ask(2, false)),
        (250, "r", "c", answer(2)),
        (400, "r", "s", ended()),
        (410, "r", "s", json!("end")),
    ]);
    let events = log.events();
    quiet(&events);
    let found = links(&events, "exec");
    assert!(found.iter().all(|l| l["brought"] == json!({"hook_additional_contexts": 2})), "{found:#?}");
    let said = findings(&events, "pair.unasked");
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].starts_with("note execution 2: hook_additional_contexts"), "{said:?}");
    assert!(log.drawn(&[]).contains("+2 hook_additional_contexts"), "{}", log.drawn(&[]));
}

#[test]
fn parts_of_the_context_are_as_long_as_they_say() {
    let parts = |length: u32| {
        let mut run = run_request("c1");
        run["run_request"]["action"]["request_context_parts"] =
            json!({"rules_blob_id": BLOB, "rules_byte_length": length});
        run["run_request"]["pre_fetched_blobs"] = json!([{"id": BLOB, "value": "CgA="}]);
        run
    };
    for (length, expect) in [(2, 0), (7, 1)] {
        let log = Log::new(&[
            (0, "r", "c", parts(length)),
            (400, "r", "s", ended()),
            (410, "r", "s", json!("end")),
        ]);
        let events = log.events();
        let said = findings(&events, "blob.length-mismatch");
        assert_eq!(said.len(), expect, "{length}: {events:#?}");
        assert!(findings(&events, "blob.hash-mismatch").is_empty(), "{events:#?}");
    }
}

#[test]
fn an_id_of_another_namespace() {
    let read = |id: u32| json!({"exec_server_message": {"id": id, "read_args": {"path": "/a"}}});
    let result =
        |id: u32| json!({"exec_client_message": {"id": id, "read_result": {"success": {"path": "/a"}}}});
    let get = |id: u32| json!({"kv_server_message": {"id": id, "get_blob_args": {"blob_id": BLOB}}});
    let got = |id: u32| json!({"kv_client_message": {"id": id, "get_blob_result": {"blob_data": "CgA="}}});
    let end = [(900, "r", "s", ended()), (910, "r", "s", json!("end"))];
    let start = [(0, "r", "c", run_request("c1"))];
    // The answer to the blob operation has the execution's number.
    let wrong = [
        (100, "r", "s", read(5)),
        (110, "r", "s", get(1)),
        (120, "r", "c", got(5)),
        (130, "r", "c", result(5)),
    ];
    let log = Log::new(&[&start[..], &wrong[..], &end[..]].concat());
    let said = findings(&log.events(), "id.wrong-namespace");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("error blob operation 5") && said[0].contains("execution"), "{said:?}");
    // The same numbers on both bridges, each answered on its own.
    let right = [
        (100, "r", "s", read(5)),
        (110, "r", "s", get(5)),
        (120, "r", "c", got(5)),
        (130, "r", "c", result(5)),
    ];
    let log = Log::new(&[&start[..], &right[..], &end[..]].concat());
    quiet(&log.events());
    // A number that is nobody's is an orphan.
    let nobody = [(100, "r", "s", read(5)), (120, "r", "c", got(9)), (130, "r", "c", result(5))];
    let log = Log::new(&[&start[..], &nobody[..], &end[..]].concat());
    let events = log.events();
    assert_eq!(findings(&events, "id.wrong-namespace").len(), 0);
    assert_eq!(findings(&events, "pair.orphan").len(), 1);
}

#[test]
fn heartbeats_that_stay_out() {
    let beat = || update(json!({"heartbeat": {}}));
    let log = Log::new(&[
        (0, "r", "c", run_request("c1")),
        (1_000, "r", "s", beat()),
        (11_000, "r", "s", beat()),
        (20_000, "r", "s", update(json!({"text_delta": {"text": "a"}}))),
        (29_000, "r", "s", update(json!({"text_delta": {"text": "b"}}))),
        (52_000, "r", "s", beat()),
        (53_000, "r", "s", ended()),
        (53_010, "r", "s", json!("end")),
    ]);
    let drawn = log.drawn(&[]);
    assert!(drawn.contains("⋮ no heartbeat for 41.0 s"), "{drawn}");
    assert_eq!(drawn.matches("no heartbeat").count(), 1, "{drawn}");
    assert!(drawn.contains("⋮ nothing for 9.0 s"), "{drawn}");
    // The client's own and an execution's are other pulses.
    let log = Log::new(&[
        (0, "r", "c", run_request("c1")),
        (1_000, "r", "s", beat()),
        (40_000, "r", "c", json!({"client_heartbeat": {}})),
        (41_000, "r", "c", json!({"exec_client_control_message": {"heartbeat": {"id": 1}}})),
        (45_000, "r", "s", beat()),
        (46_000, "r", "s", ended()),
        (46_010, "r", "s", json!("end")),
    ]);
    let drawn = log.drawn(&[]);
    assert!(drawn.contains("⋮ no heartbeat for 44.0 s"), "{drawn}");
}

#[test]
fn names_in_json_do_not_change_a_timeline() {
    let draw = |extra: &[&str]| {
        text(&rpcshark(
            &[&["timeline", "--format", "text", "--color", "never", "@good.pcap"], extra].concat(),
        ))
    };
    let (plain, camel) = (draw(&[]), draw(&["--json-names"]));
    let first = |text: &str| -> Vec<String> {
        text.lines()
            .map(|l| {
                l.split_whitespace()
                    .filter(|w| !w.contains('='))
                    .take(4)
                    .collect::<Vec<_>>()
                    .join(" ")
                    .replace('_', "")
                    .to_lowercase()
            })
            .collect()
    };
    let (plain, camel) = (first(&plain), first(&camel));
    let branch = |lines: &[String]| {
        lines.iter().filter(|l| l.contains("readargs") || l.contains("setblobargs")).count()
    };
    assert_eq!(branch(&plain), branch(&camel));
    assert_eq!(plain.len(), camel.len());
}

#[test]
fn every_outcome_names_its_conversation() {
    for capture in ["@good.pcap", "@good.har", "@records/debugger.json.gz", "@records/proxy"] {
        let events = parse(&rpcshark(&["timeline", "--format", "jsonl", capture]));
        let outcomes: Vec<_> = events.iter().filter(|e| e["type"] == "outcome").collect();
        assert_eq!(outcomes.len(), 2, "{capture}");
        for outcome in outcomes {
            assert!(outcome["conversation_id"].is_string(), "{capture}: {outcome}");
            assert!(outcome["ids"]["run_id"].is_string(), "{capture}: {outcome}");
            assert_eq!(outcome["ending"], "completed", "{capture}");
        }
    }
}

#[test]
fn the_state_at_a_frame() {
    let at = |frame: &str| parse(&rpcshark(&["timeline", "--format", "jsonl", "--at", frame, "@good.pcap"]));
    let state = at("46");
    let run = &state[0];
    assert_eq!((&run["type"], &run["frame"]), (&json!("state"), &json!(46)));
    let value = |field: &str| {
        let found =
            run["values"].as_array().unwrap().iter().find(|v| v["field"].as_str().unwrap().ends_with(field));
        found.unwrap_or_else(|| panic!("{field}: {run:#}"))
    };
    assert_eq!(value("text_delta.text")["value"], "I'll read tides.py first, then run the tests. ");
    assert_eq!(value("token_delta.tokens")["value"], 38);
    let checkpoint = value("conversation_checkpoint_update");
    assert_eq!(
        (&checkpoint["frames"], &checkpoint["value"]["token_details"]["used_tokens"]),
        (&json!([34, 34]), &json!(812))
    );
    let open: Vec<&str> =
        run["open"].as_array().unwrap().iter().map(|o| o["pair"].as_str().unwrap()).collect();
    assert_eq!(open, ["run", "step", "tool_call", "exec"]);
    assert_eq!(state.iter().filter(|e| e["type"] == "blob").count(), 4);
    // The last checkpoint stands in the place of those before.
    let last = at("138");
    let checkpoint = last[0]["values"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["field"] == "conversation_checkpoint_update")
        .unwrap();
    assert_eq!(checkpoint["frames"], json!([34, 137]));
    assert_eq!(last[0]["open"], json!([]));
    let none = rpcshark(&["timeline", "--at", "139", "@good.pcap"]);
    assert_eq!(none.status.code(), Some(2));
    let drawn = text(&rpcshark(&["timeline", "--format", "text", "--at", "46", "@good.pcap"]));
    assert!(drawn.contains("open exec 2 shell_stream_args · since frame 41"), "{drawn}");
    assert!(drawn.contains("text_delta.text · frames 16 to 18, 3 times"), "{drawn}");
}

#[test]
fn a_state_shows_no_secret() {
    let expect: Value =
        serde_json::from_slice(&std::fs::read(fixture("cases/82-redaction/expect.json")).expect("the case"))
            .expect("JSON");
    for form in ["text", "jsonl"] {
        let args = ["-I", "@cases/82-redaction/proto", "@cases/82-redaction/session.jsonl", "--format", form];
        let all = parse(&rpcshark(&[
            "decode",
            "--format",
            "jsonl",
            "-I",
            "@cases/82-redaction/proto",
            "@cases/82-redaction/session.jsonl",
        ]));
        let at = all.len().to_string();
        let output = rpcshark(&[&["timeline", "--at", &at], &args[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        for secret in expect["must_not_contain"].as_array().expect("secrets") {
            assert!(!text(&output).contains(secret.as_str().unwrap()), "{form} shows {secret}");
        }
    }
}

/// Its schema is not given: by the built-in one the carried messages are damaged, yet not of a type with a text that holds all.
#[test]
fn what_is_carried_is_not_taken_for_a_text() {
    let expect: Value =
        serde_json::from_slice(&std::fs::read(fixture("cases/82-redaction/expect.json")).expect("the case"))
            .expect("JSON");
    let file = "@cases/82-redaction/session.har";
    let records = parse(&rpcshark(&["decode", "--format", "jsonl", file]));
    assert_eq!(records[0]["messageType"], "agent.v1.AgentClientMessage");
    for command in ["timeline", "stats", "check"] {
        for form in ["text", "jsonl"] {
            let output = rpcshark(&[command, "--format", form, file]);
            assert!(!output.stdout.is_empty(), "{command} {form}");
            for secret in expect["must_not_contain"].as_array().expect("secrets") {
                assert!(!text(&output).contains(secret.as_str().unwrap()), "{command} {form} shows {secret}");
            }
        }
    }
}

#[test]
fn an_error_says_what_its_details_say() {
    for capture in ["@provider-error.pcap", "@provider-error-grpc.pcap", "@provider-error-grpcweb.pcap"] {
        let events = parse(&rpcshark(&["timeline", "--format", "jsonl", capture]));
        let outcome = events.iter().find(|e| e["type"] == "outcome").expect("an outcome");
        let expect = "resource_exhausted: Error (ERROR_PROVIDER_ERROR: The model's provider refused: Too many requests for fixture-large-1; try again in a minute.)";
        assert_eq!(outcome["reason"], expect, "{capture}");
    }
}

#[test]
fn a_stream_that_nothing_names() {
    for capture in ["@midstream-h1.pcap.gz", "@midstream-h2c.pcap.gz"] {
        let events = parse(&rpcshark(&["timeline", "--format", "jsonl", capture]));
        assert_eq!(findings(&events, "run.joined").len(), 1, "{capture}");
        let outcomes: Vec<_> = events.iter().filter(|e| e["type"] == "outcome").collect();
        assert_eq!(outcomes.len(), 2, "{capture}: {outcomes:#?}");
        let main = "6e057a65-8abd-42ee-8177-652dabf577cf";
        assert!(outcomes.iter().any(|o| o["request_id"] == main && o["ending"] == "completed"), "{capture}");
        let kv = links(&events, "kv");
        assert!(kv.iter().filter(|l| l["state"] == "answered").count() >= 12, "{capture}: {kv:#?}");
        // What began before the capture did is no fault of anybody's.
        for code in ["pair.orphan", "lifeline.not-opened", "id.wrong-namespace"] {
            let said = findings(&events, code);
            assert!(said.iter().all(|f| f.starts_with("note")), "{capture}: {said:#?}");
        }
    }
}

#[test]
fn an_abort_of_what_was_never_asked() {
    let abort = json!({"exec_server_control_message": {"abort": {"id": 1}}});
    let ask = json!({"exec_server_message": {"id": 3, "read_args": {"path": "/a"}}});
    for (more, severity) in [(vec![], "note"), (vec![(50, "r", "s", ask)], "warning")] {
        let mut records = vec![(0, "r", "c", run_request("c1")), (100, "r", "s", abort.clone())];
        records.extend(more);
        records.extend([(900, "r", "s", ended()), (910, "r", "s", json!("end"))]);
        let said = findings(&Log::new(&records).events(), "pair.orphan");
        assert_eq!(said, [format!("{severity} execution 1: abort without a request")]);
    }
}
