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
    fn frames(&mut self, _: &[Vec<u8>]) -> io::Result<bool> {
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
    let sources = Sources { roots: protos.map(Path::to_owned).into_iter().collect(), builtin: true, ..Sources::default() };
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
            message::decode(&config.schema, decoded.ty, &decoded.payload, &config.limits, &mut tree, &mut Vec::new());
            digest::make(&config.schema, &config.plan, &tree, &decoded.payload)
        }
    };
    if let (Some((tunnel, ..)), Some(carrier)) = (job.joined.inner, &decoded.carrier) {
        let order = carrier.members.first().and_then(|(_, v)| std::str::from_utf8(v).ok()?.parse().ok());
        out.carried = Some(Carried { tunnel, order, last: false });
    }
    out
}

fn tell(file: &Path, protos: Option<&Path>, end: End) -> Story {
    let config = config(protos);
    let seen: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
    let render = |item: &Item<'_>, job: &Job, _: &mut Vec<u8>| {
        let digest = digest_of(&config, item, job);
        let (lane, time) = (item.frame.lane.clone(), item.frame.time);
        let one = Seen { number: item.number, lane, time, ids: job.joined.ids.clone(), digest };
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
            let timed = !one.lane.conn.as_ref().is_some_and(|c| c.label.starts_with("har") || c.label.starts_with("flow"));
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
            let parent = stage.parent.map(|p| config.plan.levels[usize::from(session.model().stages[p as usize].level)].name.to_string());
            stages.push(format!("{level} in {}: {}", parent.unwrap_or_default(), stage.title.as_deref().unwrap_or("-")));
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
                out.push(format!("{run} {name} {} {} {}", id.trim_matches('"'), link.what, link.state.name()));
            }
        }
        out
    }

    /// `severity code: text`
    fn findings(&self) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.events {
            let Event::Finding(notice) = event else { continue };
            let mut line = format!("{} {}: {}", notice.finding.severity.name(), notice.finding.code.name(), notice.finding.text);
            if !notice.frames.is_empty() {
                write!(line, " {:?}", notice.frames).expect("text");
            }
            out.push(line);
        }
        out
    }

    fn worst(&self) -> Option<Severity> {
        self.events.iter().filter_map(|e| match e {
            Event::Finding(n) => Some(n.finding.severity),
            _ => None,
        }).max()
    }

    fn outcomes(&self) -> Vec<String> {
        let mut out = Vec::new();
        for event in &self.events {
            let Event::Outcome(outcome) = event else { continue };
            let run = outcome.run.as_ref().map(|r| r.to_string()).unwrap_or_default();
            out.push(format!("{run} {}: {}", outcome.ending.name(), outcome.reason.as_deref().unwrap_or("-")));
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

#[test]
fn probe() {
    if let Ok(what) = std::env::var("PROBE") {
        let story = match what.split_once(' ') {
            Some((name, file)) => case(name, file),
            None => play(&what),
        };
        println!("{:#?}", story.links(&["exec", "interaction", "kv", "tool_call", "run", "step", "summary", "subagent", "question", "injection"]));
        println!("{:#?}", story.findings());
        println!("{:#?}", story.outcomes());
        println!("{:#?} {:#?}", story.blobs, story.stages);
        for name in ["text", "thinking", "shell", "args"] {
            println!("== {name}: {}", story.text(name));
        }
        for e in &story.events {
            if let Event::Outcome(o) = e {
                println!("{o:?}");
            }
        }
        let _ = story.worst();
    }
}
