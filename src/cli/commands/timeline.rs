//! `timeline`: conversation, run, turn, step, call, with every request joined to its answer.
//! Never prints a line before what it says is known.

use std::io::{self, Write};

use anyhow::Result;

use rpcshark::base::{Finding, Severity};
use rpcshark::dialect::Plan;
use rpcshark::pipeline::{Correlated, Job, Sink};
use rpcshark::session::{Event, Model, Session};
use rpcshark::source;
use rpcshark::view::text::{
    self,
    label::{Label, label},
    timeline::{self, Entry},
};
use rpcshark::view::{Item, events};

use crate::cli::args::{Format, Timeline};
use crate::cli::commands::correlated;
use crate::cli::commands::state;
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::report;
use crate::cli::terminal;

/// Frames that are kept for the drawing.
const MAX_ENTRIES: usize = 1_000_000;
/// Longest line kept of a frame, in characters.
const LINE: usize = 240;
/// Bytes of message trees that are kept for the drawing (`-V`).
const MAX_TREES: usize = 256 << 20;
/// What stands for a tree that is not kept.
const TREE_LEFT_OUT: &str =
    "      … left out: the trees before take 256 MiB; `rpcshark decode -V` has no such limit\n";

/// Runs the command.
pub fn run(args: Timeline) -> Result<Exit> {
    let Timeline { at, common: args } = args;
    if let Some(at) = at {
        return state::run(at, &args);
    }
    let format = records::settle_format(&args.output)?;
    let text = format == Format::Text;
    let messages = args.output.tree;
    let mut config = correlated::with_messages(&args.schema, &args.input, &args.output)?;
    let records = Records::new(&args.output, format)?;
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| {
        if text {
            let label = label(&config.schema, item.decoded, LINE);
            out.extend_from_slice(label.name.as_bytes());
            out.push(b'\n');
            out.extend_from_slice(label.says.as_bytes());
            out.push(b'\n');
            if messages {
                let mut tree = String::new();
                text::outline(item, &config.schema, &mut tree);
                out.extend_from_slice(tree.as_bytes());
            }
        } else {
            events::frame(item, messages, out);
        }
    };
    let mut sink = Drawn {
        records,
        plan: &config.plan,
        text,
        width: terminal::width(),
        entries: Vec::new(),
        trees: 0,
        chosen: choice.is_filtered().then(Model::default),
        failed: false,
    };
    sink.records.begin()?;
    let (summary, failed) = correlated::run(&config, &choice, &args.files, &args.input, &render, &mut sink)?;
    sink.records.end()?;
    Ok(match failed || sink.failed || sink.records.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Drawn<'a> {
    records: Records,
    plan: &'a Plan,
    text: bool,
    width: usize,
    entries: Vec<Entry>,
    /// Bytes of trees in the entries.
    trees: usize,
    /// Where there is a display filter: what of the model is left to draw.
    chosen: Option<Model>,
    failed: bool,
}

impl Drawn<'_> {
    /// Prints events; of a filtered drawing they are what is drawn.
    fn tell(&mut self, events: &[Event]) -> io::Result<bool> {
        if self.text {
            let Some(model) = &mut self.chosen else { return Ok(true) };
            events.iter().for_each(|event| model.take(event.clone()));
            return Ok(true);
        }
        let mut lines = Vec::new();
        events.iter().for_each(|event| events::event(self.plan, event, &mut lines));
        self.records.records(&lines)
    }

    fn keep(&mut self, frame: &Correlated<'_>) {
        let job = &frame.job.frame;
        // The empty answer of a call that only carries is no event of its own.
        let is_receipt = frame.decoded.payload.is_empty()
            && job.flags.is_none()
            && frame.placed.stage.is_none()
            && frame.decoded.findings.is_empty();
        if is_receipt || self.entries.len() >= MAX_ENTRIES {
            return;
        }
        let rendered = String::from_utf8_lossy(frame.rendered);
        let (name, rest) = rendered.split_once('\n').unwrap_or((&rendered, ""));
        let (says, mut tree) = rest.split_once('\n').unwrap_or((rest, ""));
        match self.trees + tree.len() {
            kept @ ..=MAX_TREES => self.trees = kept,
            _ => tree = TREE_LEFT_OUT,
        }
        let piece: String = frame.digest.pieces.iter().map(|p| &*p.text).collect();
        self.entries.push(Entry {
            frame: frame.job.number,
            time: job.time,
            side: job.lane.side,
            stage: frame.placed.stage,
            label: Label { name: name.to_owned(), says: says.to_owned() },
            piece: (!frame.digest.pieces.is_empty()).then_some(piece),
            tree: tree.to_owned(),
            pulse: frame.digest.pulse,
            repeated: frame.placed.repeated,
            findings: frame
                .decoded
                .findings
                .iter()
                .filter(|f| f.severity > Severity::Note)
                .cloned()
                .collect(),
        });
    }
}

impl Sink for Drawn<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        if self.text {
            self.keep(frame);
            self.records.written += 1;
            self.tell(frame.events)?;
            return Ok(self.records.wants_more());
        }
        Ok(self.records.record(frame.rendered)? && self.tell(frame.events)?)
    }

    fn events(&mut self, events: &[Event]) -> io::Result<bool> {
        self.tell(events)
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        if self.records.wants_more() || self.text {
            self.tell(events)?;
        }
        if self.text && !self.records.is_silent() {
            let mut drawing = String::new();
            if let Some(chosen) = &mut self.chosen {
                chosen.adopt(session.model(), self.entries.iter_mut().map(|e| &mut e.stage));
            }
            let model = self.chosen.as_ref().unwrap_or(session.model());
            timeline::write(self.plan, model, &self.entries, self.width, &mut drawing);
            self.records.out.write_all(drawing.as_bytes())?;
        }
        Ok(())
    }

    fn idle(&mut self) -> io::Result<()> {
        self.records.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        if finding.severity > Severity::Note {
            report::finding(capture, finding);
        }
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
