//! The whole program over any bytes, as the commands run it: decode, timeline, check, diff.

use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::sync::LazyLock;

use rpcshark::base::Finding;
use rpcshark::base::Limits;
use rpcshark::base::text::is_unsafe;
use rpcshark::dialect::Plan;
use rpcshark::diff::{self, Recorder, Recording};
use rpcshark::pdu::Protocol;
use rpcshark::pipeline::{self, Config, Correlated, Expand, Job, Sink};
use rpcshark::schema::Schema;
use rpcshark::session::{Essence, Event, Session};
use rpcshark::source::{self, Options, Reader};
use rpcshark::view::text::label::label;
use rpcshark::view::text::timeline::{self, Entry};
use rpcshark::view::text::{self, Clock, Layout, TimeStyle};
use rpcshark::view::{self, Item, diff_json, events};

use super::messages::BUILTIN;

/// The built-in schema and the limits as they come; one thread.
pub fn config(expand: Expand, correlate: bool) -> Config {
    let (schema, plan) = &*BUILTIN;
    config_of(schema.clone(), plan.clone(), expand, correlate)
}

/// The same with any schema and its dialect.
pub fn config_of(schema: Schema, plan: Plan, expand: Expand, correlate: bool) -> Config {
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
        expand,
        show_secrets: false,
        emit_defaults: false,
        json_names: false,
        filter: None,
        threads: 1,
        correlate,
    }
}

/// Bytes that a pipe gives in pieces of this length.
struct Pipe(Cursor<Vec<u8>>, usize);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

/// Opens an input that comes in pieces of `step` bytes, its format found.
pub fn open(data: &[u8], step: usize) -> Option<Reader> {
    let raw = Box::new(Pipe(Cursor::new(data.to_vec()), step));
    Reader::from_reader("fuzz", raw, &Options::default()).ok()
}

/// What a run gave.
#[derive(Default)]
pub struct Frames {
    /// The records, a line each.
    pub out: Vec<u8>,
    /// What belongs to no frame: findings and errors.
    pub loose: Vec<String>,
}

impl Sink for Frames {
    fn frames(&mut self, rendered: &pipeline::Rendered) -> io::Result<bool> {
        self.out.extend_from_slice(rendered.bytes());
        Ok(true)
    }

    fn finding(&mut self, _: &str, finding: &Finding) {
        self.loose.push(format!("{finding:?}"));
    }

    fn error(&mut self, error: &source::Error) {
        self.loose.push(error.to_string());
    }
}

/// Decodes an input that comes in pieces of `step` bytes.
pub fn decoded(data: &[u8], step: usize, config: &Config) -> Frames {
    let mut sink = Frames::default();
    let Some(reader) = open(data, step) else { return sink };
    let layout = Layout { width: 100, time: TimeStyle::Delta, tree: true, hex: true };
    let render = |item: &Item<'_>, job: &Job, out: &mut Vec<u8>| {
        let mut text = String::new();
        let clock = Clock { first: job.clock.0, before: job.clock.1 };
        text::write(item, &config.schema, &layout, clock, &mut text);
        fit_to_show(&text);
        view::jsonl::write(item, out);
    };
    pipeline::run(config, &mut std::iter::once(reader), &render, &mut sink).expect("the sink takes all");
    for line in sink.out.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            assert!(
                error.to_string().contains("recursion limit"),
                "{error}: {}",
                String::from_utf8_lossy(line)
            );
        }
    }
    sink
}

/// No character that a terminal obeys, but the end of a line.
fn fit_to_show(text: &str) {
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern");
    let plain = colours.replace_all(text, "");
    let bad = plain.chars().find(|c| *c != '\n' && is_unsafe(*c));
    assert!(bad.is_none(), "{bad:?} would reach a terminal");
}

/// `decode`, as JSON Lines and as text with tree and hex.
pub fn fuzz_program(data: &[u8]) {
    static CONFIG: LazyLock<Config> = LazyLock::new(|| config(Expand::All, false));
    decoded(data, usize::MAX, &CONFIG);
}

/// Any pieces of an input give what the whole gives.
pub fn fuzz_chunks(data: &[u8]) {
    static CONFIG: LazyLock<Config> = LazyLock::new(|| config(Expand::Carrier, false));
    let whole = decoded(data, usize::MAX, &CONFIG);
    for step in [1, 7] {
        let cut = decoded(data, step, &CONFIG);
        assert_eq!(
            String::from_utf8_lossy(&cut.out),
            String::from_utf8_lossy(&whole.out),
            "in pieces of {step}"
        );
        assert_eq!(cut.loose, whole.loose, "in pieces of {step}");
    }
}

struct Runs<'a> {
    entries: Vec<Entry>,
    recorder: Option<Recorder<'a>>,
    recording: Option<Recording>,
    drawing: String,
    lines: Vec<u8>,
}

impl Runs<'_> {
    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| events::event(&BUILTIN.1, event, &mut self.lines));
    }
}

impl Sink for Runs<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        self.events(frame.events);
        let rendered = std::str::from_utf8(frame.rendered).expect("records and trees are UTF-8");
        let (line, tree) = rendered.split_once('\n').unwrap_or((rendered, ""));
        self.lines.extend_from_slice(line.as_bytes());
        self.lines.push(b'\n');
        let (job, decoded, said) = (frame.job, frame.decoded, frame.digest);
        self.entries.push(Entry {
            frame: job.number,
            time: job.frame.time,
            side: job.frame.lane.side,
            stage: frame.placed.stage,
            label: label(&BUILTIN.0, decoded, 240),
            piece: said.pieces.first().map(|p| p.text.to_string()),
            tree: tree.to_owned(),
            pulse: said.pulse,
            repeated: frame.placed.repeated,
            findings: decoded.findings.clone(),
        });
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&frame.compared());
        }
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.events(events);
        let (schema, plan) = &*BUILTIN;
        for blob in session.blobs().all() {
            events::blob(schema, session.blobs(), blob, &mut self.lines);
        }
        timeline::write(plan, session.model(), &self.entries, 100, &mut self.drawing);
        self.recording = self.recorder.take().map(|r| r.finish(session.model()));
        Ok(())
    }

    fn finding(&mut self, _: &str, finding: &Finding) {
        events::finding(&BUILTIN.1, finding, &[], None, &[], &mut self.lines);
    }

    fn error(&mut self, _: &source::Error) {}
}

/// `timeline`, `check` and `blobs`, and `diff` against a session that is another.
pub fn fuzz_session(data: &[u8]) {
    static CONFIG: LazyLock<Config> = LazyLock::new(|| config(Expand::All, true));
    static ESSENCE: LazyLock<Essence<'static>> = LazyLock::new(|| Essence::new(&BUILTIN.0, &BUILTIN.1));
    static OTHER: LazyLock<Option<Recording>> =
        LazyLock::new(|| recording(include_bytes!("../../../fixtures/good-bidi.pcap"), &CONFIG, &ESSENCE));
    let (Some(recording), Some(other)) = (recording(data, &CONFIG, &ESSENCE), &*OTHER) else { return };
    let options = diff::Options::default();
    if let Ok(hunks) = diff::compare(&recording, other, &options) {
        let (mut out, mut shown) = (Vec::new(), String::new());
        for hunk in &hunks {
            text::diff::hunk(hunk, &mut shown);
            hunk.changes.iter().for_each(|change| diff_json::change(hunk, change, &mut out));
        }
        fit_to_show(&shown);
    }
    let same = diff::compare(&recording, &recording, &options);
    assert!(same.is_err() || same.is_ok_and(|hunks| hunks.is_empty()), "a session is what it is");
}

fn recording(data: &[u8], config: &'static Config, essence: &'static Essence<'static>) -> Option<Recording> {
    static OPTIONS: LazyLock<diff::Options> = LazyLock::new(diff::Options::default);
    let reader = open(data, usize::MAX)?;
    let mut sink = Runs {
        entries: Vec::new(),
        recorder: Some(Recorder::new(essence, &OPTIONS, &config.limits)),
        recording: None,
        drawing: String::new(),
        lines: Vec::new(),
    };
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| {
        events::frame(item, true, out);
        let mut tree = String::new();
        text::outline(item, &config.schema, &mut tree);
        out.extend_from_slice(tree.as_bytes());
    };
    pipeline::run(config, &mut std::iter::once(reader), &render, &mut sink).expect("the sink takes all");
    fit_to_show(&sink.drawing);
    for line in sink.lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        serde_json::from_slice::<serde::de::IgnoredAny>(line).expect("an event is a line of JSON");
    }
    sink.recording
}
