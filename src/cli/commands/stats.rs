//! `stats`: calls, frames, bytes, kinds, waits, status codes, first tokens, tokens.
//! Never keeps more than counts, waits and what errors say.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use anyhow::Result;
use serde_json::{Value, json};

use rpcshark::base::Finding;
use rpcshark::base::json::text_of;
use rpcshark::base::text::clean;
use rpcshark::dialect::{Plan, Take};
use rpcshark::pipeline::{Correlated, Sink};
use rpcshark::session::{Event, LinkState, Session, Status};
use rpcshark::source;

use crate::cli::args::{Format, Reading};
use crate::cli::commands::{correlated, decode};
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::report;

/// Waits kept for percentiles, of each kind.
const MAX_WAITS: usize = 1_000_000;

/// Different errors told apart, by code and by what they say; those beyond are counted together.
const MAX_ERRORS: usize = 1_000;

/// Runs the command.
pub fn run(args: Reading) -> Result<Exit> {
    let format = records::settle_format(&args.output)?;
    let mut config = correlated::with_messages(&args.schema, &args.input, &args.output)?;
    let records = Records::new(&args.output, format)?;
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let layout = decode::layout(&args.output);
    let render = correlated::frames(&config, &layout, format);
    let mut sink = Counts::new(&config.plan, records);
    sink.records.begin()?;
    let (summary, failed) = correlated::run(&config, &choice, &args.files, &args.input, &render, &mut sink)?;
    let figures = match format {
        Format::Text => sink.text(),
        _ => format!("{}\n", text_of(&sink.json())),
    };
    let records = &mut sink.records;
    records.either(figures.as_bytes())?;
    records.end()?;
    Ok(match failed || sink.failed || records.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

#[derive(Default, Clone)]
struct Kind {
    frames: u64,
    bytes: u64,
}

struct Counts<'a> {
    plan: &'a Plan,
    /// Where frames go that `-V` asks for.
    records: Records,
    calls: BTreeMap<u64, ()>,
    frames: u64,
    repeated: u64,
    wire: u64,
    inflated: u64,
    compressed_wire: u64,
    compressed_inflated: u64,
    kinds: BTreeMap<(String, String), Kind>,
    waits: BTreeMap<String, Vec<f64>>,
    states: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// How streams ended, by status code and message.
    statuses: BTreeMap<(Box<str>, Box<str>), u64>,
    endings: BTreeMap<&'static str, u64>,
    first_tokens: Vec<f64>,
    tokens: BTreeMap<String, f64>,
    findings: BTreeMap<&'static str, u64>,
    failed: bool,
}

impl<'a> Counts<'a> {
    fn new(plan: &'a Plan, records: Records) -> Self {
        Self {
            plan,
            records,
            calls: BTreeMap::new(),
            frames: 0,
            repeated: 0,
            wire: 0,
            inflated: 0,
            compressed_wire: 0,
            compressed_inflated: 0,
            kinds: BTreeMap::new(),
            waits: BTreeMap::new(),
            states: BTreeMap::new(),
            statuses: BTreeMap::new(),
            endings: BTreeMap::new(),
            first_tokens: Vec::new(),
            tokens: BTreeMap::new(),
            findings: BTreeMap::new(),
            failed: false,
        }
    }

    fn take(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Link(link) => {
                    let name = self.plan.lifelines.get(usize::from(link.lifeline)).map_or("", |l| &l.name);
                    *self.states.entry(name.to_owned()).or_default().entry(link.state.name()).or_default() +=
                        1;
                    let waits = self.waits.entry(name.to_owned()).or_default();
                    if let (LinkState::Answered, Some(wait), true) =
                        (link.state, link.latency_ms(), waits.len() < MAX_WAITS)
                    {
                        waits.push(wait);
                    }
                }
                Event::Outcome(outcome) => {
                    *self.endings.entry(outcome.ending.name()).or_default() += 1;
                    self.first_tokens.extend(outcome.ttft_ms);
                    for (measure, value) in &outcome.tokens {
                        let measure = self.plan.measures.get(usize::from(*measure));
                        // Only what adds up within a run adds up over runs.
                        if let Some(measure) = measure.filter(|m| m.take == Take::Sum) {
                            *self.tokens.entry(measure.name.to_string()).or_default() += value;
                        }
                    }
                }
                Event::Finding(notice) => *self.findings.entry(notice.finding.code.name()).or_default() += 1,
                Event::Text(_) => {}
            }
        }
    }

    fn ended(&mut self, status: &Status) {
        let code: Box<str> = status.code.clone().unwrap_or_else(|| "ok".into());
        let mut key = (code, status.message.clone());
        if self.statuses.len() >= MAX_ERRORS && !self.statuses.contains_key(&key) {
            // The peer chooses the code as well as the words: neither may be what bounds the memory.
            key = ("(others)".into(), "".into());
        }
        *self.statuses.entry(key).or_default() += 1;
    }

    fn ratio(&self) -> Option<f64> {
        (self.compressed_wire > 0).then(|| self.compressed_inflated as f64 / self.compressed_wire as f64)
    }

    fn json(&self) -> Value {
        let kinds: Vec<Value> = self
            .kinds
            .iter()
            .map(|((side, kind), n)| json!({"direction": side, "kind": kind, "frames": n.frames, "bytes": n.bytes}))
            .collect();
        let waits: serde_json::Map<String, Value> = self
            .waits
            .iter()
            .filter(|(_, w)| !w.is_empty())
            .map(|(name, w)| (name.clone(), percentiles(w)))
            .collect();
        let statuses: Vec<Value> = self
            .statuses
            .iter()
            .map(|((code, message), n)| json!({"code": code, "message": message, "streams": n}))
            .collect();
        json!({
            "type": "stats",
            "calls": self.calls.len(),
            "frames": self.frames,
            "repeated": self.repeated,
            "bytes": {"wire": self.wire, "decoded": self.inflated},
            "compression_ratio": self.ratio(),
            "kinds": kinds,
            "pairs": self.states,
            "latency_ms": waits,
            "statuses": statuses,
            "endings": self.endings,
            "ttft_ms": percentiles(&self.first_tokens),
            "tokens": self.tokens,
            "findings": self.findings,
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "calls      {:>10}\nframes     {:>10}", self.calls.len(), self.frames);
        if self.repeated > 0 {
            let _ = writeln!(out, "repeated   {:>10}", self.repeated);
        }
        let _ = writeln!(out, "bytes      {:>10} on the wire, {} decoded", self.wire, self.inflated);
        if let Some(ratio) = self.ratio() {
            let _ = writeln!(out, "compressed {ratio:>10.2} : 1 where frames are");
        }
        let _ = writeln!(out, "\n{:<9} {:<34} {:>8} {:>12}", "direction", "kind", "frames", "bytes");
        for ((side, kind), n) in &self.kinds {
            let _ = writeln!(out, "{side:<9} {:<34} {:>8} {:>12}", clean(kind), n.frames, n.bytes);
        }
        if !self.states.is_empty() {
            let _ = writeln!(
                out,
                "\n{:<18} {:>8} {:>10} {:>10} {:>10} {:>10}",
                "pair", "count", "p50 ms", "p90 ms", "p99 ms", "max ms"
            );
        }
        for (name, states) in &self.states {
            let count: u64 = states.values().sum();
            let mut waits = self.waits.get(name).cloned().unwrap_or_default();
            waits.sort_by(f64::total_cmp);
            let shown = |p: f64| at(&waits, p).map_or_else(|| "-".to_owned(), |w| format!("{w:.1}"));
            let _ = write!(
                out,
                "{:<18} {count:>8} {:>10} {:>10} {:>10} {:>10}",
                clean(name),
                shown(0.5),
                shown(0.9),
                shown(0.99),
                shown(1.0)
            );
            for (state, n) in states.iter().filter(|(s, _)| **s != "answered") {
                let _ = write!(out, "  {n} {state}");
            }
            out.push('\n');
        }
        if !self.statuses.is_empty() {
            let _ = writeln!(out, "\n{:<18} {:>8}  message", "status", "streams");
        }
        for ((code, message), n) in &self.statuses {
            let _ = writeln!(out, "{}", format!("{:<18} {n:>8}  {}", clean(code), clean(message)).trim_end());
        }
        if !self.endings.is_empty() {
            let all: Vec<String> = self.endings.iter().map(|(name, n)| format!("{n} {name}")).collect();
            let _ = writeln!(out, "\nruns       {}", all.join(", "));
        }
        let mut first = self.first_tokens.clone();
        first.sort_by(f64::total_cmp);
        if let (Some(half), Some(most)) = (at(&first, 0.5), at(&first, 1.0)) {
            let _ = writeln!(out, "first token {half:.1} ms (median), {most:.1} ms (most)");
        }
        for (name, n) in &self.tokens {
            let _ = writeln!(out, "{:<20} {n:>10}", clean(name));
        }
        if !self.findings.is_empty() {
            let all: Vec<String> = self.findings.iter().map(|(name, n)| format!("{n} {name}")).collect();
            let _ = writeln!(out, "findings   {}", all.join(", "));
        }
        out
    }
}

/// The value at a share of a sorted list.
fn at(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * share).round() as usize).copied()
}

fn percentiles(values: &[f64]) -> Value {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    json!({"count": sorted.len(), "p50": at(&sorted, 0.5), "p90": at(&sorted, 0.9), "p99": at(&sorted, 0.99), "max": at(&sorted, 1.0)})
}

impl Sink for Counts<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        self.records.either(frame.rendered)?;
        let job = &frame.job.frame;
        self.calls.insert(job.lane.call, ());
        self.frames += 1;
        self.take(frame.events);
        for finding in &frame.decoded.findings {
            *self.findings.entry(finding.code.name()).or_default() += 1;
        }
        if frame.placed.repeated {
            self.repeated += 1;
            return Ok(true);
        }
        if let Some(status) = &frame.digest.status {
            self.ended(status);
        }
        let decoded = frame.decoded.payload.len() as u64;
        self.wire += job.length;
        self.inflated += decoded;
        if job.compressed {
            self.compressed_wire += job.length;
            self.compressed_inflated += decoded;
        }
        let kind = frame.decoded.kind.as_deref().unwrap_or("-").to_owned();
        let entry = self.kinds.entry((job.lane.side.name().to_owned(), kind)).or_default();
        entry.frames += 1;
        entry.bytes += job.length;
        Ok(true)
    }

    fn events(&mut self, events: &[Event]) -> io::Result<bool> {
        self.take(events);
        Ok(true)
    }

    fn finished(&mut self, _: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.take(events);
        Ok(())
    }

    fn finding(&mut self, _: &str, finding: &Finding) {
        *self.findings.entry(finding.code.name()).or_default() += 1;
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
