//! `export`: a session as a report, a trace, a diagram, spans or tables.
//! Never writes over a file unless told, and lets nobody else read what it writes.

mod file;
mod packets;
mod tables;

use std::cell::Cell;
use std::io;
use std::path::Path;

use anyhow::{Result, bail};

use rpcshark::base::{Finding, Severity};
use rpcshark::pipeline::{Config, Correlated, Job, Sink};
use rpcshark::session::{Event, Model, Session};
use rpcshark::source;
use rpcshark::view::Item;
use rpcshark::view::export::html::{self, Detail, Left};
use rpcshark::view::export::{Frame, Story, mermaid, otlp, perfetto};
use rpcshark::view::text::label::{Label, label};

use crate::cli::args::{Export, ExportTo, OutputOptions};
use crate::cli::commands::correlated;
use crate::cli::exit::Exit;
use crate::cli::report;
use crate::cli::setup;

/// Longest line kept of a frame, in characters.
const LINE: usize = 400;

/// Runs the command.
pub fn run(args: Export) -> Result<Exit> {
    let Export { to, output_file, force, common: args } = args;
    let mut config = correlated::config(&args.schema, &args.input, &args.output)?;
    refuse(&args.output)?;
    let path = output_file.as_deref().filter(|p| *p != Path::new("-"));
    match to {
        ExportTo::Parquet => tables::refuse(path, force)?,
        ExportTo::Pcapng => packets::refuse(&args.files, args.output.show_secrets)?,
        _ => {}
    }
    if let Some(path) = path.filter(|_| to != ExportTo::Parquet) {
        file::refuse_existing(path, force)?;
    }
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| render(&config, to, item, out);
    let opened = Cell::new(false);
    let mut sink = Collected {
        opened: &opened,
        config: &config,
        to,
        path,
        force,
        trouble: None,
        frames: Vec::new(),
        details: Vec::new(),
        held: 0,
        left: 0,
        dropped: 0,
        loose: Vec::new(),
        captures: Vec::new(),
        chosen: choice.is_filtered().then(Model::default),
        comments: None,
        failed: false,
    };
    let source = setup::source(&args.input)?;
    let mut captures = choice.captures(&args.files, &source);
    let mut readers = captures.by_ref().inspect(|_| opened.set(true));
    let summary = correlated::pass(&config, &choice, &mut readers, &render, &mut sink)?;
    let mut failed = captures.failed;
    if let Some(error) = sink.trouble {
        return Err(error);
    }
    if let Some(comments) = sink.comments {
        failed |= packets::write(&args.files, &args.input, comments, path, force)?;
    }
    if choice.is_filtered() && sink.frames.is_empty() {
        report::line("warning: no frame passes the filter");
    }
    if sink.dropped > 0 {
        let (dropped, most) = (sink.dropped, config.limits.max_export_frames);
        report::line(&format!("warning: {dropped} frames were left out: an export holds {most}"));
    }
    Ok(match failed || sink.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

/// Options that shape records shape nothing here.
fn refuse(output: &OutputOptions) -> Result<()> {
    let given = [
        (output.jq.is_some(), "--jq"),
        (output.format.is_some(), "--format"),
        (!output.fields.is_empty(), "-e"),
        (output.limit.is_some(), "-c"),
        (output.count, "--count"),
        (output.quiet, "--quiet"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, name)) => bail!("{name}: export writes what --to names, whole"),
        None => Ok(()),
    }
}

/// What a frame says in a line; for the report, what it holds in full. Runs on any thread.
fn render(config: &Config, to: ExportTo, item: &Item<'_>, out: &mut Vec<u8>) {
    let label = label(&config.schema, item.decoded, LINE);
    out.extend_from_slice(label.name.as_bytes());
    out.push(b'\n');
    out.extend_from_slice(label.says.as_bytes());
    if to == ExportTo::Html {
        out.push(b'\n');
        html::record(item, out);
        out.push(b'\n');
        html::contents(item, &config.schema, &config.limits, out);
    }
}

struct Collected<'a> {
    config: &'a Config,
    to: ExportTo,
    /// Whether there was a capture that could be read at all.
    opened: &'a Cell<bool>,
    path: Option<&'a Path>,
    force: bool,
    trouble: Option<anyhow::Error>,
    frames: Vec<Frame>,
    details: Vec<Detail>,
    /// Bytes of details.
    held: usize,
    /// Frames whose contents were left out.
    left: u64,
    /// Frames that were left out.
    dropped: u64,
    loose: Vec<(String, Finding)>,
    captures: Vec<String>,
    /// Where there is a display filter: what of the model is left.
    chosen: Option<Model>,
    /// What is to be said of packets, which are read once more.
    comments: Option<packets::All>,
    failed: bool,
}

impl Collected<'_> {
    /// Keeps what a display filter lets through of the timeline; without one the session has all of it.
    fn take(&mut self, events: &[Event]) {
        if let Some(chosen) = &mut self.chosen {
            events.iter().for_each(|event| chosen.take(event.clone()));
        }
    }

    fn write(&self, story: &Story<'_>) -> Result<()> {
        if self.to == ExportTo::Parquet {
            return tables::write(story, self.path.unwrap_or(Path::new(".")), self.force);
        }
        let mut out = file::open(self.path, self.force)?;
        match self.to {
            ExportTo::Html => {
                let left = Left {
                    payload: self.config.limits.max_report_payload,
                    contents: self.left,
                    secrets: self.config.show_secrets,
                };
                html::write(story, &self.details, &left, &mut *out)?;
            }
            ExportTo::Perfetto => perfetto::write(story, &mut *out)?,
            ExportTo::Mermaid => mermaid::write(story, &mut *out)?,
            ExportTo::Parquet | ExportTo::Pcapng => {}
            ExportTo::Otlp => {
                if otlp::write(story, &mut *out)? == 0 {
                    report::line("warning: no span is written: the capture has no times");
                }
            }
        }
        Ok(out.flush()?)
    }
}

impl Sink for Collected<'_> {
    fn events(&mut self, events: &[Event]) -> io::Result<bool> {
        self.take(events);
        Ok(true)
    }

    fn correlated(&mut self, found: &Correlated<'_>) -> io::Result<bool> {
        self.take(found.events);
        if self.frames.len() >= self.config.limits.max_export_frames {
            self.dropped += 1;
            return Ok(true);
        }
        let mut parts = found.rendered.splitn(4, |b| *b == b'\n');
        let mut next = || parts.next().unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let label = Label { name: text(next()), says: text(next()) };
        let (record, contents) = (next(), next());
        if self.to == ExportTo::Html {
            self.held += record.len() + contents.len();
            let fits = self.held <= self.config.limits.max_report;
            self.left += u64::from(!fits);
            self.details.push(Detail { record: record.to_vec(), contents: fits.then(|| contents.to_vec()) });
        }
        let job = found.job;
        let item = job.item(self.config, found.decoded);
        if self.captures.last().is_none_or(|last| **last != *job.capture) {
            self.captures.push(job.capture.to_string());
        }
        self.frames.push(Frame {
            stage: found.placed.stage,
            pulse: found.digest.pulse.is_some(),
            repeated: found.placed.repeated,
            measures: found.digest.measures.clone(),
            ..Frame::of(&item, label)
        });
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        if !self.opened.get() {
            return Ok(());
        }
        self.take(events);
        if let Some(chosen) = &mut self.chosen {
            chosen.adopt(session.model(), self.frames.iter_mut().map(|f| &mut f.stage));
        }
        let story = Story {
            plan: &self.config.plan,
            model: self.chosen.as_ref().unwrap_or(session.model()),
            frames: &self.frames,
            loose: &self.loose,
            captures: &self.captures,
            dropped: self.dropped,
        };
        if self.to == ExportTo::Pcapng {
            self.comments = Some(packets::comments(&story));
        } else if let Err(error) = self.write(&story) {
            self.trouble = Some(error);
        }
        Ok(())
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        if finding.severity > Severity::Note {
            report::finding(capture, finding);
        }
        if self.loose.len() < self.config.limits.max_stages {
            self.loose.push((capture.to_owned(), finding.clone()));
        }
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
