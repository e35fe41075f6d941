//! Correlation over the shipped dialect: cases of the corpus, and recorded sessions.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rpcshark::base::{Finding, Limits, Severity};
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::message::{self, Tree};
use rpcshark::pdu::{End, Lane, Protocol, Role};
use rpcshark::pipeline::{self, Config, Expand, Job, Sink};
use rpcshark::schema::{self, Schema, Sources};
use rpcshark::session::digest::{self, Carried};
use rpcshark::session::{Digest, Event, Id, Input, Session, Status};
use rpcshark::source::{self, Reader};
use rpcshark::view::Item;

struct Nowhere;

impl Sink for Nowhere {
    fn frames(&mut self, _: &pipeline::Rendered) -> io::Result<bool> {
        Ok(true)
    }
    fn idle(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn finding(&mut self, _: &str, _: &Finding) {}
    fn error(&mut self, error: &source::Error) {
        panic!("{error}");
    }
}

struct Seen {
    number: u64,
    lane: std::sync::Arc<Lane>,
    time: Option<rpcshark::base::Timestamp>,
    ids: Vec<Id>,
    digest: Digest,
}

/// Everything that a run over a capture said.
struct Story {
    config: Config,
    events: Vec<Event>,
    blobs: Vec<String>,
    stages: Vec<String>,
}

fn config(protos: Option<&Path>) -> Config {
    let sources = Sources {
        roots: protos.map(Path::to_owned).into_iter().collect(),
        builtin: true,
        ..Sources::default()
    };
    let mut schema: Schema = schema::load(&sources).expect("a sound schema").schema;
    let mut plan = Plan::default();
    dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan).expect("a sound dialect");
    Config {
        schema,
        plan,
        limits: Limits::default(),
        as_type: None,
        map: HashMap::new(),
        encoding: None,
        raw: Protocol::ConnectStream,
        decode_as: Vec::new(),
        keylog: Vec::new(),
        expand: Expand::Carrier,
        show_secrets: true,
        emit_defaults: false,
        json_names: false,
        threads: 1,
        correlate: false,
        filter: None,
    }
}

fn digest_of(config: &Config, item: &Item<'_>, job: &Job) -> Digest {
    let decoded = item.decoded;
    let mut out = match &item.frame.role {
        Role::EndStream | Role::Error => Digest::end(Status::from_json(&decoded.payload)),
        Role::Trailers(headers) => {
            let fields = headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str()));
            Status::from_trailers(fields).map_or_else(Digest::default, Digest::end)
        }
        Role::Message | Role::Decoded => {
            let mut tree = Tree::default();
            message::decode(
                &config.schema,
                decoded.ty,
                &decoded.payload,
                &config.limits,
                &mut tree,
                &mut Vec::new(),
            );
            digest::make(&config.schema, &config.plan, &tree, &decoded.payload)
        }
    };
    if let (Some((tunnel, ..)), Some(carrier)) = (job.joined.inner, &decoded.carrier) {
        let order = carrier.order.as_ref().map(|(_, order)| *order);
        out.carried = Some(Carried { tunnel, order, last: false });
    }
    out
}

fn tell(file: &Path, protos: Option<&Path>, end: End) -> Story {
    let mut config = config(protos);
    if protos.is_some() && file.extension().is_some_and(|e| e == "bin") {
        config.as_type = config.schema.type_by_name("agent.v1.AgentServerMessage");
    }
    let config = config;
    let seen: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
    let render = |item: &Item<'_>, job: &Job, _: &mut Vec<u8>| {
        let digest = digest_of(&config, item, job);
        let (lane, time) = (item.frame.lane.clone(), item.frame.time);
        let one = Seen { number: item.number, lane, time, ids: job.joined.ids.to_vec(), digest };
        seen.lock().expect("one thread").push(one);
    };
    let reader = Reader::open(file, &source::Options::default()).expect("a capture");
    pipeline::run(&config, &mut std::iter::once(reader), &render, &mut Nowhere).expect("a run");
    let seen = seen.into_inner().expect("one thread");
    let mut events = Vec::new();
    let (mut blobs, mut stages) = (Vec::new(), Vec::new());
    {
        let mut session = Session::new(&config.schema, &config.plan, &config.limits);
        for one in &seen {
            let timed = !one
                .lane
                .conn
                .as_ref()
                .is_some_and(|c| c.label.starts_with("har") || c.label.starts_with("flow"));
            let input = Input {
                frame: one.number,
                call: one.lane.call,
                side: one.lane.side,
                time: one.time,
                timed,
                rpc: one.lane.rpc.as_deref(),
                ids: &one.ids,
                head: one.lane.request.as_deref(),
            };
            session.push(&input, &one.digest, &mut events);
        }
        let calls: BTreeMap<u64, ()> = seen.iter().map(|s| (s.lane.call, ())).collect();
        for call in calls.keys() {
            session.call_end(*call, rpcshark::pdu::Side::Response, &end, &mut events);
        }
        session.finish(&mut events);
        for blob in session.blobs().all() {
            let content = session.blobs().content(&config.schema, &blob.id).unwrap_or_default();
            blobs.push(format!("{} {} {:?} {content}", blob.from, blob.length, blob.sha256_ok));
        }
        for stage in &session.model().stages {
            let level = &config.plan.levels[usize::from(stage.level)].name;
            let parent = stage.parent.map(|p| {
                config.plan.levels[usize::from(session.model().stages[p as usize].level)].name.to_string()
            });
            stages.push(format!(
                "{level} in {}: {}",
                parent.unwrap_or_default(),
                stage.title.as_deref().unwrap_or("-")
            ));
        }
    }
    Story { config, events, blobs, stages }
}

impl Story {
    /// `pair id state [request → responses]`
    fn links(&self, lifelines: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.events {
            let Event::Link(link) = event else { continue };
            let name = &*self.config.plan.lifelines[usize::from(link.lifeline)].name;
            if lifelines.contains(&name) {
                let id = link.id.as_ref().map(|i| format!("{:?}", i.to_string())).unwrap_or_default();
                let run = link.run.as_ref().map(|i| i.to_string()).unwrap_or_default();
                let run = run.get(..8).unwrap_or(&run);
                out.push(format!(
                    "{run} {name} {} {} {}",
                    id.trim_matches('"'),
                    link.what,
                    link.state.name()
                ));
            }
        }
        out
    }

    /// `severity code: text`
    fn findings(&self) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.events {
            let Event::Finding(notice) = event else { continue };
            let mut line = format!(
                "{} {}: {}",
                notice.finding.severity.name(),
                notice.finding.code.name(),
                notice.finding.text
            );
            if !notice.frames.is_empty() {
                write!(line, " {:?}", notice.frames).expect("text");
            }
            out.push(line);
        }
        out
    }

    fn worst(&self) -> Option<Severity> {
        self.events
            .iter()
            .filter_map(|e| match e {
                Event::Finding(n) => Some(n.finding.severity),
                _ => None,
            })
            .max()
    }

    fn outcomes(&self) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.events {
            let Event::Outcome(outcome) = event else { continue };
            let run = outcome.run.as_ref().map(|r| r.to_string()).unwrap_or_default();
            out.push(format!(
                "{run} {}: {}",
                outcome.ending.name(),
                outcome.reason.as_deref().unwrap_or("-")
            ));
        }
        out
    }

    fn text(&self, stream: &str) -> String {
        let texts = self.events.iter().filter_map(|e| match e {
            Event::Text(t) if t.stream == stream => Some(t.text()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n--\n")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn case(name: &str, file: &str) -> Story {
    let dir = root().join("cases").join(name);
    tell(&dir.join(file), Some(&dir.join("proto")), End::Closed)
}

fn play(file: &str) -> Story {
    tell(&root().join(file), None, End::Closed)
}

/// `NAME, NAME`: what a list holds of what is expected, in any order.
fn has(found: &[String], expect: &[&str]) {
    for line in expect {
        assert!(found.iter().any(|f| f.starts_with(line)), "'{line}' is not among {found:#?}");
    }
}

const FORMS: [&str; 3] = ["session.jsonl", "session.pcap", "session.har"];
const PAIRS: [&str; 4] = ["exec", "kv", "interaction", "tool_call"];

#[test]
fn appends_are_numbered_within_their_request() {
    for form in FORMS {
        let story = case("45-append-seqno", form);
        let findings = story.findings();
        has(
            &findings,
            &[
                "note order.reordered: 3 came before 2",
                "warning order.duplicate: number 3 comes again with the same payload: resent",
                "warning order.duplicate: number 4 comes again with another payload: a conflict",
                "warning order.gap: 5 and 6 missing before 7",
                "note order.gap: starts at 5: 0 to 4 not in the capture",
            ],
        );
        let order = findings.iter().filter(|f| f.contains(" order.")).count();
        assert_eq!(order, 5, "{form}: {findings:#?}");
    }
}

#[test]
fn equal_numbers_in_two_namespaces_never_meet() {
    for form in FORMS {
        let story = case("46-id-namespaces", form);
        let mut links = story.links(&PAIRS);
        links.sort();
        let expect = |run: &str| {
            [
                format!("{run} exec 1 read_args answered"),
                format!("{run} interaction 1 web_search_request_query answered"),
                format!("{run} kv 1 get_blob_args answered"),
                format!("{run} tool_call 1 tool_call_started answered"),
            ]
        };
        assert_eq!(links, [expect("req-1"), expect("req-2")].concat(), "{form}");
        assert!(story.worst() < Some(Severity::Warning), "{form}: {:#?}", story.findings());
    }
}

#[test]
fn an_answer_must_fit_its_question() {
    for form in FORMS {
        let story = case("48-response-type-mismatch", form);
        has(
            &story.links(&PAIRS),
            &[
                "r interaction 1 web_search_request_query mismatch",
                "r kv 2 get_blob_args mismatch",
                "r exec 3 read_args mismatch",
                "r exec 4 read_args mismatch",
                "r interaction 5 web_fetch_request_query mismatch",
                "r interaction 6 ask_question_interaction_query unanswered",
                "r kv 77 get_blob_result orphan",
                "r exec 8 read_args answered",
            ],
        );
        let findings = story.findings();
        has(
            &findings,
            &[
                "error pair.type-mismatch: question 1: web_search_request_query asked, switch_mode_request_response answered",
                "error pair.type-mismatch: blob operation 2: get_blob_args asked, set_blob_result answered",
                "error pair.type-mismatch: execution 3: read_args asked, write_result answered",
                "error pair.id-mismatch: execution 4: exec_id e4 asked, OTHER answered",
                "error pair.empty-result: question 5",
                "warning pair.unanswered: question 6",
                "warning pair.orphan: blob operation 77",
            ],
        );
        assert_eq!(findings.len(), 7, "{form}: {findings:#?}");
    }
}

#[test]
fn what_comes_after_an_abort_still_belongs_to_it() {
    for form in FORMS {
        let story = case("49-abort-late-result", form);
        has(
            &story.links(&["exec"]),
            &[
                "r exec 1 shell_stream_args aborted",
                "r exec 2 read_args answered",
                "r exec 3 read_args aborted",
                "r exec 99 abort orphan",
            ],
        );
        let findings = story.findings();
        has(&findings, &["note run.canceled", "warning pair.orphan: execution 99: abort without a request"]);
        assert_eq!(findings.len(), 2, "{form}: {findings:#?}");
        assert_eq!(story.outcomes(), ["r canceled: canceled"], "{form}");
        assert_eq!(story.text("shell"), "part 1\nlate\n", "{form}");
    }
}

#[test]
fn endings_are_told_apart() {
    for form in FORMS {
        let mut outcomes = case("50-stream-endings", form).outcomes();
        outcomes.sort();
        assert_eq!(
            outcomes,
            [
                "canceled canceled: canceled: operation was canceled",
                "cut-after-turn cut-off: the connection was closed without an end frame, after its turn had ended",
                "cutoff cut-off: the connection was closed without an end frame",
                "error-after-turn error: internal: late failure, after its turn had ended",
                "failed error: resource_exhausted: quota",
                "no-turn unfinished: the stream ended before the turn did",
                "normal completed: -",
            ],
            "{form}"
        );
    }
}

#[test]
fn a_request_of_an_unknown_kind_is_still_open() {
    let dir = root().join("cases/31-unknown-fields");
    let story = tell(&dir.join("stream.bin"), Some(&dir.join("proto")), End::Complete);
    let as_named = story.links(&["exec"]);
    assert_eq!(as_named, [" exec 9 exec_server_message unanswered"]);
}

/// What the forms of the good session have in common.
fn good(story: &Story, name: &str) {
    let mut links = story.links(&PAIRS);
    links.retain(|l| !l.ends_with("answered") || l.ends_with("unanswered"));
    assert!(links.is_empty(), "{name}: {links:#?}");
    assert_eq!(story.links(&PAIRS).len(), 21, "{name}");
    assert!(story.worst().is_none(), "{name}: {:#?}", story.findings());
    let outcomes = story.outcomes();
    assert_eq!(outcomes.len(), 2, "{name}");
    assert!(outcomes.iter().all(|o| o.ends_with("completed: -")), "{name}: {outcomes:#?}");
    assert_eq!(story.blobs.len(), 14, "{name}");
    assert!(
        story.blobs.iter().all(|b| b.contains("Some(true) ") && !b.ends_with(' ')),
        "{name}: {:#?}",
        story.blobs
    );
}

#[test]
fn a_good_session_is_good_in_every_form() {
    let first = play("good.pcap");
    good(&first, "good.pcap");
    let texts = |story: &Story| {
        let mut all: Vec<String> =
            ["text", "thinking", "shell", "args"].iter().map(|s| story.text(s)).collect();
        all.iter_mut().for_each(|t| {
            let mut parts: Vec<&str> = t.split("\n--\n").collect();
            parts.sort_unstable();
            *t = parts.join("\n--\n");
        });
        all
    };
    assert!(first.text("text").contains("Found it."));
    let forms = [
        "good.har",
        "good.flow",
        "good-h2c.pcap",
        "good-grpc.pcap.gz",
        "good-grpcweb.pcap.gz",
        "good-bidi.pcap",
        "good-json.pcap.gz",
        "records/tap.jsonl.gz",
        "records/debugger.json.gz",
    ];
    for form in forms {
        let story = play(form);
        if form.starts_with("records") {
            assert!(story.worst() < Some(Severity::Warning), "{form}: {:#?}", story.findings());
        } else {
            good(&story, form);
        }
        assert_eq!(texts(&story), texts(&first), "{form}");
    }
}

#[test]
fn a_timeline_nests() {
    let story = play("good.pcap");
    has(
        &story.stages,
        &[
            "run in conversation",
            "turn in run: Why does tides.py",
            "step in turn",
            "call in step",
            "turn in run: List each place",
        ],
    );
}

fn damaged(file: &str, findings: &[&str], outcome: &str) {
    let story = play(file);
    let found = story.findings();
    has(&found, findings);
    assert_eq!(found.len(), findings.len(), "{file}: {found:#?}");
    assert!(story.outcomes().iter().any(|o| o.contains(outcome)), "{file}: {:#?}", story.outcomes());
}

#[test]
fn damaged_sessions() {
    damaged(
        "wrong-answer.pcap",
        &["error pair.type-mismatch: execution 1: read_args asked, ls_result answered"],
        "completed",
    );
    damaged(
        "unanswered.pcap",
        &["warning pair.unanswered: execution 1", "warning lifeline.never-closed: tool call"],
        "completed",
    );
    damaged("cut-off.pcap", &["warning run.cut-off"], "cut-off");
    damaged(
        "disorder.pcap.gz",
        &[
            "note order.reordered: 2 came before 1",
            "warning order.duplicate: number 4",
            "warning order.gap: 5 missing before 6",
        ],
        "completed",
    );
    damaged(
        "canceled.pcap",
        &["note run.canceled", "note lifeline.never-closed: step 2", "note lifeline.never-closed: tool call"],
        "canceled: canceled: the user canceled the run (the user pressed Escape)",
    );
    damaged(
        "provider-error.pcap",
        &["warning run.error", "note lifeline.never-closed: step 1"],
        "error: resource_exhausted",
    );
    damaged(
        "provider-error-grpc.pcap",
        &["warning run.error", "note lifeline.never-closed: step 1"],
        "error: resource_exhausted",
    );
    damaged("prewarm.pcap.gz", &[], "completed");
}

#[test]
fn one_direction_alone_makes_no_alarm() {
    let story = play("good.bin");
    assert!(story.worst() < Some(Severity::Warning), "{:#?}", story.findings());
}

/// The chat example under its own dialect, with messages written as JSON.
struct Chat {
    config: Config,
    pool: prost_reflect::DescriptorPool,
}

impl Chat {
    fn new() -> Self {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("descriptors/chat");
        let mut config = config(Some(&dir));
        let text = std::fs::read_to_string(dir.join("dialect.txtpb")).expect("the dialect");
        let rules = dialect::parse("dialect.txtpb", &text).expect("a dialect");
        let mode = Mode::Strict { file: "dialect.txtpb", text: &text };
        dialect::compile(&rules, mode, &mut config.schema, &mut config.plan).expect("every name resolves");
        let set = protox::compile(["chat/v1/chat.proto"], [&dir]).expect("the schema");
        let pool = prost_reflect::DescriptorPool::from_file_descriptor_set(set).expect("a pool");
        Self { config, pool }
    }

    /// Plays lines of `call side type json`; `end CALL` ends a call's response.
    fn play(&self, lines: &[&str], limits: &Limits) -> Vec<Event> {
        use prost_reflect::prost::Message;
        use rpcshark::pdu::Side;
        let (schema, plan) = (&self.config.schema, &self.config.plan);
        let mut session = Session::new(schema, plan, limits);
        let mut events = Vec::new();
        let namespace =
            plan.namespaces.iter().position(|n| &*n.key == "session_id" && n.headers[0] == "x-chat-session");
        let namespace = namespace.expect("the namespace") as u16;
        let id = vec![(namespace, rpcshark::session::IdValue::Str("s1".into()))];
        for (at, line) in lines.iter().enumerate() {
            let mut words = line.splitn(4, ' ');
            let call: u64 = words.next().and_then(|w| w.parse().ok()).expect("a call");
            let side = if words.next() == Some("up") { Side::Request } else { Side::Response };
            let kind = words.next().expect("a type");
            let rest = words.next().unwrap_or("{}");
            if kind == "closed" {
                session.call_end(call, Side::Response, &End::Closed, &mut events);
                continue;
            }
            let digest = if kind == "end" {
                Digest::end(Status::from_json(rest.as_bytes()))
            } else {
                let ty = self.pool.get_message_by_name(&format!("chat.v1.{kind}")).expect("a type");
                let mut json = serde_json::Deserializer::from_str(rest);
                let message = prost_reflect::DynamicMessage::deserialize(ty, &mut json).expect(line);
                let bytes = message.encode_to_vec();
                let (mut tree, ty) = (Tree::default(), schema.type_by_name(&format!("chat.v1.{kind}")));
                message::decode(schema, ty, &bytes, limits, &mut tree, &mut Vec::new());
                digest::make(schema, plan, &tree, &bytes)
            };
            let input = Input {
                frame: at as u64 + 1,
                call,
                side,
                time: Some(rpcshark::base::Timestamp(at as i64 * 1_000_000)),
                timed: true,
                rpc: Some("chat.v1.ChatService/Talk"),
                ids: &id,
                head: None,
            };
            session.push(&input, &digest, &mut events);
        }
        session.finish(&mut events);
        events
    }

    fn story(&self, lines: &[&str]) -> Story {
        let events = self.play(lines, &Limits::default());
        let config = Chat::new().config;
        Story { config, events, blobs: Vec::new(), stages: Vec::new() }
    }
}

const VISIT: [&str; 12] = [
    r#"1 up ClientEvent {"roomId":"r","join":{"memberId":"m"}}"#,
    r#"1 down ServerEvent {"roomId":"r","welcome":{"memberId":"m"}}"#,
    r#"1 up ClientEvent {"roomId":"r","draft":{"messageId":"a","textDelta":"He"}}"#,
    r#"1 up ClientEvent {"roomId":"r","say":{"messageId":"a","text":"Hello"}}"#,
    r#"1 down ServerEvent {"roomId":"r","sequence":"1","ack":{"messageId":"a"}}"#,
    r#"1 down ServerEvent {"roomId":"r","sequence":"2","posted":{"memberId":"m","say":{"messageId":"a","text":"Hello"},"words":1}}"#,
    r#"1 down ServerEvent {"roomId":"r","sequence":"3","pick_ask":{"prompt":"which?"}}"#,
    r#"1 up ClientEvent {"roomId":"r","pick_reply":{"option":2}}"#,
    r#"1 down ServerEvent {"roomId":"r","sequence":"4","rate_ask":{"questionId":1}}"#,
    r#"1 up ClientEvent {"roomId":"r","rate_reply":{"questionId":1,"declined":{}}}"#,
    r#"1 down ServerEvent {"roomId":"r","sequence":"5","closed":{"reason":"night"}}"#,
    "1 down end {}",
];

#[test]
fn another_protocol_is_read_by_its_dialect_alone() {
    let chat = Chat::new();
    let story = chat.story(&VISIT);
    assert!(story.worst().is_none(), "{:#?}", story.findings());
    assert_eq!(
        story.links(&["visit", "message", "question"]),
        [
            "s1 visit s1 join answered",
            "s1 message a say answered",
            "s1 question 0 pick_ask answered",
            "s1 question 1 rate_ask answered",
        ]
    );
    assert_eq!(story.outcomes(), ["s1 completed: night"]);
    assert_eq!(story.text("text"), "Hello");
}

#[test]
fn another_protocol_goes_wrong_in_its_own_words() {
    let chat = Chat::new();
    let story = chat.story(&[
        VISIT[0],
        r#"1 down ServerEvent {"pick_ask":{"prompt":"which?"}}"#,
        r#"1 up ClientEvent {"rate_reply":{"marks":2}}"#,
        r#"1 down ServerEvent {"pick_ask":{"questionId":5}}"#,
        r#"1 up ClientEvent {"pick_reply":{"questionId":5}}"#,
        r#"1 up ClientEvent {"pick_reply":{"questionId":5,"option":1}}"#,
        r#"1 up ClientEvent {"pick_reply":{"questionId":9,"option":1}}"#,
        r#"1 down ServerEvent {"rate_ask":{"questionId":6}}"#,
        r#"1 down ServerEvent {"withdraw":{"questionId":6}}"#,
        r#"1 up ClientEvent {"roomId":"r","say":{"messageId":"b","text":"?"}}"#,
        r#"1 up ClientEvent {"leave":{"farewell":"bye"}}"#,
        "1 down end {}",
    ]);
    has(
        &story.findings(),
        &[
            "error pair.type-mismatch: question 0: pick_ask asked, rate_reply answered",
            "error pair.empty-result: question 5: the answer decides nothing",
            "warning pair.after-final: question 5: pick_reply after it had ended",
            "warning pair.orphan: question 9: pick_reply without a request",
            "note pair.unanswered: message b (say) was never answered",
            "note run.canceled: the run was canceled: bye",
        ],
    );
    assert_eq!(story.outcomes(), ["s1 canceled: bye"]);
    has(&story.links(&["question"]), &["s1 question 6 rate_ask aborted"]);
}

#[test]
fn a_replayed_backlog_counts_once() {
    let chat = Chat::new();
    let mut lines: Vec<String> = VISIT[..9].iter().map(|l| (*l).to_owned()).collect();
    lines.push("1 down closed".to_owned());
    let down = VISIT[..9].iter().filter(|l| l.starts_with("1 down")).map(|l| l.replacen('1', "2", 1));
    lines.extend(down);
    lines.extend(VISIT[9..].iter().map(|l| l.replacen('1', "2", 1)));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let story = chat.story(&lines);
    assert!(story.worst().is_none(), "{:#?}", story.findings());
    assert_eq!(story.outcomes(), ["s1 completed: night"]);
    assert_eq!(story.text("text"), "Hello");
    assert_eq!(story.links(&["visit", "message", "question"]).len(), 4);
}

#[test]
fn any_beginning_and_any_limit_will_do() {
    let chat = Chat::new();
    for cut in 0..VISIT.len() {
        chat.play(&VISIT[..cut], &Limits::default());
        chat.play(&VISIT[cut..], &Limits::default());
        let limits = Limits {
            max_lives: cut % 3,
            max_stages: cut,
            max_text: cut,
            max_channels: cut % 2,
            max_calls: cut % 2,
            max_blobs: 0,
            max_ended: 0,
            ..Limits::default()
        };
        chat.play(&VISIT, &limits);
    }
}
