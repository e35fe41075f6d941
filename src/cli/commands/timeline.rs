//! `timeline`: conversation, run, turn, step, call, with every request joined to its answer.
//! Never prints a line before what it says is known.

use std::io::{self, Write};

use anyhow::{Result, bail};

use rpcshark::base::{Finding, Severity};
use rpcshark::dialect::Plan;
use rpcshark::pipeline::{Correlated, Job, Sink};
use rpcshark::session::{Event, Session};
use rpcshark::source;
use rpcshark::view::text::label::{Label, label};
use rpcshark::view::text::timeline::{self, Entry};
use rpcshark::view::{Item, events};

use crate::cli::args::{Format, Timeline};
use crate::cli::commands::correlated::{self, Out};
use crate::cli::commands::state;
use crate::cli::exit::Exit;
use crate::cli::terminal;

/// Frames that are kept for the drawing.
const MAX_ENTRIES: usize = 1_000_000;
/// Longest line kept of a frame, in characters.
const LINE: usize = 240;

/// Runs the command.
pub fn run(args: Timeline) -> Result<Exit> {
    let Timeline { at, common: args } = args;
    if let Some(at) = at {
        return state::run(at, &args);
    }
    let config = correlated::config(&args.schema, &args.input, &args.output)?;
    let text = match args.output.format {
        None => terminal::stdout_is_terminal(),
        Some(Format::Text) => true,
        Some(Format::Jsonl) => false,
        Some(_) => bail!("timeline prints --format text or jsonl"),
    };
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| {
        if text {
            let label = label(&config.schema, item.decoded, LINE);
            out.extend_from_slice(label.name.as_bytes());
            out.push(b'\n');
            out.extend_from_slice(label.says.as_bytes());
        } else {
            events::frame(item, out);
        }
    };
    let mut sink = Drawn {
        out: correlated::out(),
        plan: &config.plan,
        text,
        width: terminal::width(),
        quiet: args.output.quiet,
        entries: Vec::new(),
        failed: false,
    };
    let (summary, failed) = correlated::run(&config, &args.files, &args.input, &render, &mut sink)?;
    sink.out.flush()?;
    Ok(match failed || sink.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Drawn<'a> {
    out: Out,
    plan: &'a Plan,
    text: bool,
    width: usize,
    quiet: bool,
    entries: Vec<Entry>,
    failed: bool,
}

impl Drawn<'_> {
    fn events(&mut self, events: &[Event]) -> io::Result<()> {
        if self.text || self.quiet {
            return Ok(());
        }
        let mut line = Vec::new();
        events.iter().for_each(|event| events::event(self.plan, event, &mut line));
        self.out.write_all(&line)
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
        let (name, says) = rendered.split_once('\n').unwrap_or((&rendered, ""));
        let piece: String = frame.digest.pieces.iter().map(|p| &*p.text).collect();
        self.entries.push(Entry {
            frame: frame.job.number,
            time: job.time,
            side: job.lane.side,
            stage: frame.placed.stage,
            label: Label { name: name.to_owned(), says: says.to_owned() },
            piece: (!frame.digest.pieces.is_empty()).then_some(piece),
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
        } else {
            correlated::write(&mut self.out, frame.rendered, self.quiet)?;
            self.events(frame.events)?;
        }
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.events(events)?;
        if self.text && !self.quiet {
            let mut drawing = String::new();
            timeline::write(self.plan, session.model(), &self.entries, self.width, &mut drawing);
            self.out.write_all(drawing.as_bytes())?;
        }
        Ok(())
    }

    fn idle(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        if finding.severity > Severity::Note {
            crate::cli::report::finding(capture, finding);
        }
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        correlated::told(error);
    }
}
