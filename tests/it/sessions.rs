//! Commands over runs, as a user calls them: cases of the corpus, one session in many forms, golden timelines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::run::{fixture, parse, rpcshark, stderr};

/// The events that `timeline` prints.
fn events(args: &[&str]) -> Vec<Value> {
    parse(&rpcshark(&[&["timeline", "--format", "jsonl"], args].concat()))
}

fn of_type<'e>(events: &'e [Value], ty: &str) -> Vec<&'e Value> {
    events.iter().filter(|e| e["type"] == ty).collect()
}

/// What `check` prints above a note, as `code text`.
fn problems(args: &[&str]) -> Vec<String> {
    let found = parse(&rpcshark(&[&["check", "--format", "jsonl"], args].concat()));
    let worse = found.iter().filter(|f| f["severity"] != "note");
    worse.map(|f| format!("{} {}", f["code"].as_str().unwrap(), f["text"].as_str().unwrap())).collect()
}

/// A case in its three forms; `tell` gets the arguments that read one.
fn forms(case: &str, tell: &dyn Fn(&str, &[&str])) {
    let proto = format!("@cases/{case}/proto");
    for file in ["session.jsonl", "session.pcap", "session.har"] {
        let path = format!("@cases/{case}/{file}");
        tell(file, &["-I", &proto, &path]);
    }
}

/// Each of these problems once, and no other.
fn exactly(file: &str, found: Vec<String>, expect: &[(&str, &str)]) {
    for (code, words) in expect {
        let fits = |f: &&String| f.starts_with(&format!("{code} ")) && f.contains(words);
        assert_eq!(found.iter().filter(fits).count(), 1, "{file}: {code} {words}: {found:#?}");
    }
    assert_eq!(found.len(), expect.len(), "{file}: {found:#?}");
}

#[test]
fn numbers_of_appends() {
    forms("45-append-seqno", &|file, args| {
        exactly(
            file,
            problems(args),
            &[
                ("order.duplicate", "number 3 comes again with the same payload"),
                ("order.duplicate", "number 4 comes again with another payload"),
                ("order.gap", "5 and 6 missing"),
            ],
        );
        let found = events(args);
        let notes: Vec<_> =
            of_type(&found, "finding").into_iter().filter(|f| f["severity"] == "note").collect();
        let note = |code: &str| notes.iter().filter(|f| f["code"] == code).count();
        assert_eq!((note("order.reordered"), note("order.gap")), (1, 1), "{file}: {notes:#?}");
        let of = |id: &str| found.iter().filter(|f| f["type"] == "finding" && f["request_id"] == id).count();
        assert_eq!((of("req-B"), of("req-C")), (0, 1), "{file}");
    });
}

#[test]
fn equal_ids_of_other_kinds() {
    forms("46-id-namespaces", &|file, args| {
        exactly(file, problems(args), &[]);
        let found = events(args);
        let links = of_type(&found, "link");
        for run in ["req-1", "req-2"] {
            for pair in ["exec", "kv", "interaction", "tool_call"] {
                let fits =
                    |l: &&&Value| l["pair"] == pair && l["request_id"] == run && l["state"] == "answered";
                assert_eq!(links.iter().filter(fits).count(), 1, "{file}: {pair} of {run}");
            }
        }
        assert!(links.iter().all(|l| l["state"] == "answered"), "{file}: {links:#?}");
    });
}

#[test]
fn answers_that_do_not_fit() {
    forms("48-response-type-mismatch", &|file, args| {
        exactly(
            file,
            problems(args),
            &[
                ("pair.type-mismatch", "question 1: web_search_request_query asked, switch_mode"),
                ("pair.type-mismatch", "blob operation 2: get_blob_args asked, set_blob_result answered"),
                ("pair.type-mismatch", "execution 3: read_args asked, write_result answered"),
                ("pair.id-mismatch", "execution 4: exec_id e4 asked, OTHER answered"),
                ("pair.empty-result", "question 5"),
                ("pair.unanswered", "question 6"),
                ("pair.orphan", "blob operation 77"),
            ],
        );
        let found = events(args);
        let state = |pair: &str, id: u64| {
            let link = of_type(&found, "link").into_iter().find(|l| l["pair"] == pair && l["id"] == id);
            link.map(|l| l["state"].as_str().unwrap().to_owned())
        };
        for (pair, id, expect) in [
            ("exec", 8, "answered"),
            ("interaction", 1, "mismatch"),
            ("kv", 2, "mismatch"),
            ("exec", 3, "mismatch"),
            ("exec", 4, "mismatch"),
            ("interaction", 5, "mismatch"),
            ("interaction", 6, "unanswered"),
            ("kv", 77, "orphan"),
        ] {
            assert_eq!(state(pair, id).as_deref(), Some(expect), "{file}: {pair} {id}");
        }
    });
}

#[test]
fn results_after_an_abort() {
    forms("49-abort-late-result", &|file, args| {
        exactly(file, problems(args), &[("pair.orphan", "execution 99: abort without a request")]);
        let found = events(args);
        let links = of_type(&found, "link");
        let exec = |id: u64| *links.iter().find(|l| l["pair"] == "exec" && l["id"] == id).expect("a link");
        assert_eq!(
            (&exec(1)["state"], exec(1)["responses"].as_array().unwrap().len()),
            (&"aborted".into(), 4)
        );
        assert_eq!(exec(2)["state"], "answered", "{file}");
        assert_eq!((&exec(3)["state"], &exec(3)["responses"]), (&"aborted".into(), &Value::Array(vec![])));
        assert_eq!(of_type(&found, "outcome")[0]["ending"], "canceled", "{file}");
    });
}

#[test]
fn endings() {
    forms("50-stream-endings", &|file, args| {
        let found = events(args);
        let ending = |run: &str| {
            let outcome = of_type(&found, "outcome").into_iter().find(|o| o["request_id"] == run).expect(run);
            let text = |key: &str| outcome[key].as_str().unwrap_or_default().to_owned();
            (text("ending"), text("reason"))
        };
        // Messages in a log say nothing of the connection: what breaks off there is open.
        let cut = if file == "session.jsonl" { "open" } else { "cut-off" };
        for (run, expect, words) in [
            ("normal", "completed", ""),
            ("canceled", "canceled", "canceled"),
            ("failed", "error", "resource_exhausted: quota"),
            ("cutoff", cut, ""),
            ("no-turn", "unfinished", ""),
            ("error-after-turn", "error", "internal: late failure, after its turn had ended"),
            ("cut-after-turn", cut, "turn"),
        ] {
            let (found, reason) = ending(run);
            assert_eq!(found, expect, "{file}: {run}");
            assert!(reason.contains(words), "{file}: {run}: {reason}");
        }
    });
}

#[test]
fn no_command_shows_a_secret() {
    let expect = std::fs::read(fixture("cases/82-redaction/expect.json")).expect("the case");
    let expect: Value = serde_json::from_slice(&expect).expect("JSON");
    for file in ["session.jsonl", "session.pcap", "session.har", "headers.har"] {
        let path = format!("@cases/82-redaction/{file}");
        for command in [
            &["timeline", "--format", "jsonl"][..],
            &["timeline", "--format", "text"],
            &["follow", "--stream", "all"],
            &["stats"],
            &["check", "--format", "jsonl"],
            &["blobs"],
        ] {
            let output = rpcshark(&[command, &["-I", "@cases/82-redaction/proto", &path]].concat());
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            for secret in expect["must_not_contain"].as_array().expect("secrets") {
                let secret = secret.as_str().unwrap();
                assert!(!said.contains(secret), "{command:?} {file} shows {secret}: {said}");
            }
        }
    }
}

/// Links, outcomes and text of a session, without what depends on how it was recorded.
#[derive(PartialEq, Debug, Default)]
struct Story {
    links: Vec<String>,
    outcomes: Vec<String>,
    text: String,
}

fn story(args: &[&str]) -> Story {
    let found = events(args);
    let mut story = Story::default();
    for link in of_type(&found, "link") {
        let count = link["responses"].as_array().map_or(0, Vec::len);
        let (pair, id, what) = (&link["pair"], &link["id"], &link["what"]);
        let (state, run) = (&link["state"], &link["request_id"]);
        story.links.push(format!("{run} {pair} {id} {what} {state} {count}"));
    }
    for outcome in of_type(&found, "outcome") {
        let (run, ending, tokens) = (&outcome["request_id"], &outcome["ending"], &outcome["tokens"]);
        story.outcomes.push(format!("{run} {ending} {} {tokens}", outcome["reason"]));
    }
    story.links.sort();
    story.outcomes.sort();
    let texts = parse(&rpcshark(&[&["follow", "--format", "jsonl", "--stream", "all"], args].concat()));
    let mut texts: Vec<String> =
        texts.iter().map(|t| format!("{} {} {}", t["request_id"], t["stream"], t["text"])).collect();
    texts.sort();
    story.text = texts.join("\n");
    story
}

/// Every form that holds both directions of the session `good`.
const FORMS: &[&[&str]] = &[
    &["@good-h2c.pcap"],
    &["@good-json.pcap.gz"],
    &["--keylog", "@good-tls12.keys", "@good-tls12.pcap"],
    &["--keylog", "@good-tls13.keys", "@good-tls13.pcap"],
    &["@good-tls13.dsb.pcapng"],
    &["@good-grpc.pcap.gz"],
    &["@good-grpcweb.pcap.gz"],
    &["@good-bidi.pcap"],
    &["@good-bidi-grpc.pcap.gz"],
    &["@good.flow"],
    &["@good.har"],
    &["@records/tap.jsonl.gz"],
    &["@records/debugger.json.gz"],
    &["@records/proxy"],
    // Nothing in a folder of bodies could say what compressed frames are.
    &["--encoding", "gzip", "@records/hex"],
];

#[test]
fn one_session_in_every_form() {
    let expect = story(&["@good.pcap"]);
    assert!(expect.links.iter().all(|l| l.contains("answered") && !l.contains("unanswered")), "{expect:#?}");
    assert_eq!(expect.outcomes.len(), 2);
    for args in FORMS {
        let found = story(args);
        assert_eq!(found.links, expect.links, "{args:?}");
        assert_eq!(found.outcomes, expect.outcomes, "{args:?}");
        assert_eq!(found.text, expect.text, "{args:?}");
    }
}

#[test]
fn a_backends_log_of_both_directions() {
    // Appends as objects one after another, the stream decoded only; the subagent is in neither.
    let found = events(&["@records/appends.bidi.jsonl", "@records/debug/runsse.jsonl"]);
    let links = of_type(&found, "link");
    let main = |l: &&&Value| l["request_id"] == "6e057a65-8abd-42ee-8177-652dabf577cf";
    let state = |l: &&Value| l["state"].as_str().unwrap().to_owned();
    let states: BTreeMap<String, usize> = links.iter().filter(main).fold(BTreeMap::new(), |mut all, link| {
        *all.entry(state(link)).or_default() += 1;
        all
    });
    assert!(states.get("answered").is_some_and(|n| *n >= 20) && states.len() == 1, "{states:?} {links:#?}");
}

#[test]
fn no_false_alarm() {
    for args in [&["@good.pcap"][..]].iter().chain(FORMS) {
        let output = rpcshark(&[&["check", "--fail-on", "warning"], *args].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said} {}", stderr(&output));
    }
}

#[test]
fn alarms() {
    for (file, level, expect) in [
        ("@wrong-answer.pcap", "error", 1),
        ("@unanswered.pcap", "error", 0),
        ("@unanswered.pcap", "warning", 1),
        ("@canceled.pcap", "warning", 0),
        ("@cut-off.pcap", "warning", 1),
        ("@provider-error.pcap", "warning", 1),
        ("@disorder.pcap.gz", "warning", 1),
    ] {
        let output = rpcshark(&["check", "-q", "--fail-on", level, file]);
        assert_eq!(output.status.code(), Some(expect), "{file} {level}");
    }
}

/// Text of a branch of the truth's messages of the first call, pieces joined.
fn truth(branch: &[&str], call: u64) -> String {
    let lines = std::fs::read_to_string(fixture("good.truth.jsonl")).expect("the truth");
    let mut out = String::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let message = if line["inner"].is_object() { &line["inner"]["json"] } else { &line["json"] };
        let piece = branch.iter().fold(message, |at, key| &at[*key]);
        if let Some(piece) = piece.as_str().filter(|_| call == 0 || line["call"] == call) {
            out.push_str(piece);
        }
    }
    out
}

fn followed(stream: &str) -> BTreeMap<String, String> {
    let texts = parse(&rpcshark(&["follow", "--format", "jsonl", "--stream", stream, "@good.pcap"]));
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for text in &texts {
        assert_eq!(text["stream"], stream);
        out.entry(text["request_id"].as_str().unwrap().to_owned())
            .or_default()
            .push_str(text["text"].as_str().unwrap());
    }
    out
}

#[test]
fn what_was_said() {
    let main = "6e057a65-8abd-42ee-8177-652dabf577cf";
    // Paragraphs are set apart where a call came between them; nothing else is added.
    let bare = |text: &str| text.replace("\n\n", "");
    let text = followed("text");
    assert_eq!(bare(&text[main]), bare(&truth(&["interactionUpdate", "textDelta", "text"], 1)));
    assert_eq!(text.len(), 2);
    let thinking = followed("thinking");
    assert_eq!(bare(&thinking[main]), truth(&["interactionUpdate", "thinkingDelta", "text"], 1));
    let args = followed("args");
    assert_eq!(
        args[main].replace('\n', ""),
        truth(&["interactionUpdate", "partialToolCall", "argsTextDelta"], 1)
    );
    let shell = followed("shell");
    for kind in ["stdout", "stderr"] {
        let said = truth(&["execClientMessage", "shellStream", kind, "data"], 0);
        for line in said.lines() {
            assert!(shell[main].contains(line), "{line}: {shell:?}");
        }
    }
    let plain = rpcshark(&["follow", "@good.pcap"]);
    assert_eq!(String::from_utf8_lossy(&plain.stdout).matches("Found it.").count(), 1);
    let unknown = rpcshark(&["follow", "--stream", "txt", "@good.pcap"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn counts() {
    let found = parse(&rpcshark(&["stats", "@good.pcap"]));
    let stats = &found[0];
    assert_eq!((&stats["calls"], &stats["frames"]), (&30.into(), &138.into()));
    assert_eq!(stats["pairs"]["kv"]["answered"], 13);
    assert_eq!(stats["tokens"]["output_tokens"], 216.0);
    // Sizes of a context do not add up over runs.
    assert!(stats["tokens"]["context_tokens"].is_null());
    assert!(stats["ttft_ms"]["max"].as_f64().is_some_and(|ms| (180.0..200.0).contains(&ms)));
    assert_eq!(stats["statuses"][0]["code"], "ok");
}

/// However a session was saved, its streams ended with the same status codes and words.
#[test]
fn status_codes_are_counted() {
    for form in ["session.pcap", "session.har", "session.jsonl"] {
        let root = "cases/50-stream-endings";
        let schema = fixture(&format!("{root}/proto"));
        let schema = schema.to_str().expect("a path");
        let said = parse(&rpcshark(&["stats", "-I", schema, &format!("@{root}/{form}")]));
        let said: Vec<String> = said[0]["statuses"]
            .as_array()
            .expect("statuses")
            .iter()
            .map(|s| format!("{} {} {}", s["streams"], s["code"], s["message"]))
            .collect();
        assert!(said.iter().any(|s| s == "1 \"resource_exhausted\" \"quota\""), "{form}: {said:?}");
    }
}

#[test]
fn blobs() {
    let found = parse(&rpcshark(&["blobs", "--format", "jsonl", "@good.pcap"]));
    assert!(found.len() >= 14, "{found:#?}");
    assert!(found.iter().all(|b| b["sha256_ok"] == true), "{found:#?}");
    let content: Vec<&str> = found.iter().filter_map(|b| b["content"].as_str()).collect();
    assert!(content.iter().any(|c| c.ends_with("ConversationStep")), "{content:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    let output = rpcshark(&["blobs", "--write-to", path, "@good.pcap"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = std::fs::read_dir(folder.path()).expect("a folder").count();
    let kept_back = stderr(&output).matches("holds a secret").count();
    assert_eq!(written + kept_back, found.len());
    // What is there is not written over.
    assert_eq!(rpcshark(&["blobs", "--write-to", path, "@good.pcap"]).status.code(), Some(2));
    assert_eq!(rpcshark(&["blobs", "--force", "--write-to", path, "@good.pcap"]).status.code(), Some(0));
}

/// Recordings whose timeline is kept under tests/golden/. RENEW_GOLDEN=1 writes them anew.
const GOLDEN: &[&str] = &[
    "good.pcap",
    "good-bidi.pcap",
    "good.har",
    "canceled.pcap",
    "provider-error.pcap",
    "cut-off.pcap",
    "unanswered.pcap",
    "wrong-answer.pcap",
    "disorder.pcap.gz",
    "prewarm.pcap.gz",
];

fn drawn(name: &str, columns: &str) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(["timeline", "--format", "text", "--color", "never"])
        .arg(fixture(name))
        .env("COLUMNS", columns)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn timelines() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let renew = std::env::var_os("RENEW_GOLDEN").is_some();
    let mut differ = String::new();
    for name in GOLDEN {
        let found = drawn(name, "100");
        let path = folder.join(format!(
            "{}.txt",
            name.split('.').next().unwrap_or(name).to_owned()
                + if name.ends_with(".har") { "-har" } else { "" }
        ));
        if renew {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&path, &found).expect("a golden file");
            continue;
        }
        let expect = std::fs::read_to_string(&path).unwrap_or_default();
        if expect == found {
            continue;
        }
        let at = expect.lines().zip(found.lines()).position(|(a, b)| a != b);
        let at = at.unwrap_or_else(|| expect.lines().count().min(found.lines().count()));
        let line = |text: &str| text.lines().nth(at).unwrap_or("(ends)").to_owned();
        let _ = writeln!(differ, "{name}, line {}:\n- {}\n+ {}", at + 1, line(&expect), line(&found));
    }
    assert!(differ.is_empty(), "{differ}RENEW_GOLDEN=1 writes them anew; look at them first");
}

#[test]
fn a_timeline_fits_its_columns() {
    for columns in [60, 80, 132] {
        for name in GOLDEN {
            let found = drawn(name, &columns.to_string());
            let wide = found.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{name} at {columns}");
            assert!(!found.chars().any(|c| c != '\n' && c.is_control()), "{name}");
        }
    }
}

#[test]
fn a_timeline_with_messages() {
    let kept = |args: &[&str]| {
        let found = events(&[args, &["@heartbeat.har"]].concat());
        of_type(&found, "frame").into_iter().map(|f| f.get("message").cloned()).collect::<Vec<_>>()
    };
    assert!(kept(&[]).iter().all(Option::is_none));
    let messages = kept(&["-V"]);
    assert_eq!(messages[0].as_ref().unwrap()["request_id"], "01b571b9-a13a-4bac-adaa-75052636368a");
    assert_eq!(messages[1].as_ref().unwrap()["interaction_update"], serde_json::json!({"heartbeat": {}}));

    let output = rpcshark(&["timeline", "--format", "text", "-V", "@heartbeat.har"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("    request_id 1 string \"01b571b9-a13a-4bac-adaa-75052636368a\"\n"), "{text}");
    assert!(text.contains("      heartbeat 13 HeartbeatUpdate (0 bytes)\n"), "{text}");
    assert!(text.contains("    authorization: [redacted]\n"), "{text}");
}

#[test]
fn frames_beside_findings_and_figures() {
    let said = |args: &[&str]| {
        let output = rpcshark(&[args, &["@heartbeat.har"]].concat());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let figures = said(&["stats", "--format", "text"]);
    let with_frames = said(&["stats", "--format", "text", "-V"]);
    let frames = with_frames.strip_suffix(&figures).expect("the figures come last");
    let decoded = said(&["decode", "--format", "text", "-V", "--expand", "carrier"]);
    assert_eq!(frames, decoded);
    assert!(frames.contains("request_id 1 string \"01b571b9-a13a-4bac-adaa-75052636368a\""), "{frames}");

    let records = |more: &[&str]| -> Vec<serde_json::Value> {
        let text = said(&[&["check", "--format", "jsonl"], more].concat());
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let (findings, both) = (records(&[]), records(&["-V"]));
    assert!(findings.iter().all(|record| record["type"] == "finding") && !findings.is_empty());
    assert_eq!(
        both.iter().filter(|record| record["type"] == "finding").cloned().collect::<Vec<_>>(),
        findings
    );
    let messages: Vec<_> = both.iter().filter(|r| r["type"] == "frame").map(|r| &r["message"]).collect();
    assert_eq!(*messages[1], serde_json::json!({"interaction_update": {"heartbeat": {}}}));

    // As text, a frame's own findings stand under its line and are not said again.
    let lines = |more: &[&str]| {
        let output = rpcshark(&[&["check", "--format", "text", "@cut-off.pcap"], more].concat());
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut found: Vec<_> = text
            .lines()
            .filter(|l| l.contains("[frame.") || l.contains("[net."))
            .map(str::to_owned)
            .collect();
        found.sort();
        found
    };
    assert!(!lines(&[]).is_empty());
    assert_eq!(lines(&["-V"]), lines(&[]));
}

#[test]
fn every_code_has_its_page() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FINDINGS.md");
    let page = std::fs::read_to_string(path).expect("docs/FINDINGS.md");
    let heads: Vec<&str> = page.lines().filter(|l| l.starts_with("### ")).collect();
    let codes = rpcshark::base::Code::ALL;
    let expect: Vec<String> =
        codes.iter().map(|c| format!("### `{}` ({})", c.name(), c.severity().name())).collect();
    assert_eq!(heads, expect);
    for (code, section) in codes.iter().zip(page.split("\n### ").skip(1)) {
        assert!(section.contains(&format!("\n\n{}\n\n", code.summary())), "{}: its summary", code.name());
        assert!(section.contains("\n- Example: ") && section.contains("\n- What to do: "), "{}", code.name());
    }
}

#[test]
fn dialects_are_checked() {
    let chat = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("descriptors/chat");
    let chat = chat.to_str().expect("a path");
    let output = rpcshark(&["dialect", "check", "--no-builtin", chat]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said} {}", stderr(&output));
    assert!(said.contains("dialect chat: every name is in the schema"), "{said}");
    // A branch that no rule speaks of is listed, a covered one is not.
    assert!(
        said.contains("chat.v1.ClientEvent/file_put") != said.contains("chat.v1.ClientEvent/say\n"),
        "{said}"
    );
    let builtin = rpcshark(&["dialect", "check"]);
    assert!(builtin.status.code().is_some_and(|c| c < 2), "{}", stderr(&builtin));
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong.txtpb");
    std::fs::write(
        &wrong,
        "name: \"w\"\nnamespace {\n  name: \"room\"\n  field: \"chat.v1.ClientEvent.rom_id\"\n}\n",
    )
    .expect("a file");
    let output = rpcshark(&["dialect", "check", "--no-builtin", "-I", chat, wrong.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("wrong.txtpb:4:11") || told.contains("4:11"), "{told}");
    assert!(told.contains("room_id"), "{told}");
    let show = rpcshark(&["dialect", "show", "--no-builtin", chat]);
    let said = String::from_utf8_lossy(&show.stdout);
    assert!(said.contains("level      visit in room") && said.contains("lifeline   question"), "{said}");
}

/// A visit to a chat room, in JSON: the upward half through a relay, the downward half a stream.
const VISIT: &str = r#"
{"ts":"2026-01-01T00:00:00.000Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"request","message":{"session_id":"s1"}}
{"ts":"2026-01-01T00:00:00.010Z","conn":"a","stream":3,"rpc":"chat.v1.ChatService/Relay","direction":"request","message":{"session_id":"s1","payload":"CgJyMRIWCgJtMRIQRklYVFVSRS1USUNLRVQtMQ=="}}
{"ts":"2026-01-01T00:00:00.040Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","message":{"room_id":"r1","welcome":{"member_id":"m1"}}}
{"ts":"2026-01-01T00:00:00.050Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","message":{"room_id":"r1","sequence":"1","pick_ask":{"question_id":1,"prompt":"Tea?"}}}
{"ts":"2026-01-01T00:00:00.060Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","message":{"room_id":"r1","sequence":"2","posted":{"member_id":"m2","say":{"message_id":"x1","text":"hello"},"words":1}}}
{"ts":"2026-01-01T00:00:00.070Z","conn":"a","stream":5,"rpc":"chat.v1.ChatService/Relay","direction":"request","message":{"session_id":"s1","sequence":"1","payload":"CgJyMSoECAEQAA=="}}
{"ts":"2026-01-01T00:00:00.080Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","message":{"room_id":"r1","sequence":"3","rate_ask":{"question_id":2,"prompt":"How was it?"}}}
{"ts":"2026-01-01T00:00:00.090Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","message":{"room_id":"r1","sequence":"4","closed":{"reason":"late"}}}
{"ts":"2026-01-01T00:00:00.091Z","conn":"a","stream":1,"rpc":"chat.v1.ChatService/Listen","direction":"response","kind":"end_stream","endStream":true,"message":{}}
"#;

#[test]
fn another_protocol_through_the_same_commands() {
    let chat = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("descriptors/chat");
    let dialect = chat.join("dialect.txtpb");
    let (chat, dialect) = (chat.to_str().expect("a path"), dialect.to_str().expect("a path"));
    let run = |command: &[&str]| {
        let args = ["--no-builtin", "-I", chat, "--dialect", dialect, "--from", "jsonl", "-"];
        crate::run::rpcshark_fed(&[command, &args].concat(), VISIT.trim_start().as_bytes())
    };
    let output = run(&["timeline", "--format", "jsonl"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("FIXTURE-TICKET"), "a ticket is shown");
    let found = parse(&output);
    let frames = of_type(&found, "frame");
    // What the relay carried is the message, under the ids of the session.
    let join = frames.iter().find(|f| f["kind"] == "join").unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(join["messageType"], "chat.v1.ClientEvent");
    assert_eq!(join["ids"]["session_id"], "s1");
    let links = of_type(&found, "link");
    let question = |id: u64| links.iter().find(|l| l["pair"] == "question" && l["id"] == id).expect("a link");
    assert_eq!((&question(1)["state"], &question(1)["latency_ms"]), (&"answered".into(), &20.into()));
    assert_eq!(question(2)["state"], "unanswered");
    let outcome = of_type(&found, "outcome")[0];
    assert_eq!(
        (&outcome["request_id"], &outcome["ending"]),
        (&"s1".into(), &"completed".into()),
        "{outcome}"
    );
    assert_eq!(outcome["ttft_ms"], 30);
    let said = run(&["follow"]);
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "hello");
    let drawn = run(&["timeline", "--format", "text", "--color", "never"]);
    let drawn = String::from_utf8_lossy(&drawn.stdout);
    assert!(
        drawn.contains("room r1") && drawn.contains("visit s1") && drawn.contains("■ completed"),
        "{drawn}"
    );
}
