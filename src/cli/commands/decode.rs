//! `decode`: one record per frame.
//! Never buffers more than a batch.

use std::io::{self, Write};

use anyhow::Result;

use rpcshark::base::Finding;
use rpcshark::pipeline::{self, Expand, Job, Sink};
use rpcshark::query;
use rpcshark::source;
use rpcshark::view::text::{Clock, Layout, TimeStyle};
use rpcshark::view::{self, Item};

use crate::cli::args::{Format, OutputOptions, Reading, Time};
use crate::cli::captures::Captures;
use crate::cli::exit::Exit;
use crate::cli::expression::{self, Moment};
use crate::cli::records::{self, Records};
use crate::cli::{report, setup, terminal};

/// Runs the command.
pub fn run(args: Reading) -> Result<Exit> {
    terminal::settle_color(args.output.color);
    let format = records::settle_format(&args.output)?;
    let expand = if format == Format::Text { Expand::All } else { Expand::Carrier };
    let mut config = setup::config(&args.schema, &args.input, &args.output, expand)?;
    if let Some(text) = &args.output.filter {
        config.filter = Some(expression::filter(text, &config.schema, &config.plan, Moment::Frame)?);
    }
    for path in &args.output.fields {
        query::places::column(path, &config.schema).map_err(|e| expression::of("-e", path, e))?;
    }
    let mut output = Output { records: Records::new(&args.output, format)?, failed: false };
    let options = setup::source(&args.input)?;
    let mut captures = Captures::find(&args.files, &options);
    let columns = records::columns(&args.output)?;
    let layout = layout(&args.output);
    let render = |item: &Item<'_>, job: &Job, out: &mut Vec<u8>| match format {
        Format::Jsonl | Format::Json => view::jsonl::write(item, out),
        Format::Text => {
            let mut text = String::new();
            let clock = Clock { first: job.clock.0, before: job.clock.1 };
            view::text::write(item, &config.schema, &layout, clock, &mut text);
            out.extend_from_slice(text.as_bytes());
        }
        Format::Fields => {
            let mut record = Vec::new();
            view::jsonl::write(item, &mut record);
            if let Ok(record) = serde_json::from_slice(&record) {
                out.extend_from_slice(columns.line(&record).as_bytes());
                out.push(b'\n');
            }
        }
    };
    output.records.begin()?;
    let summary = match output.records.wants_more() {
        true => pipeline::run(&config, &mut captures, &render, &mut output)?,
        false => pipeline::Summary::default(),
    };
    output.records.end()?;
    let failed = output.failed || output.records.failed || captures.failed;
    // The program ends here: its many small pieces need not be given back one by one.
    std::mem::forget(config);
    if !args.output.quiet {
        report::summary(summary.frames, summary.findings);
    }
    Ok(match failed {
        true => Exit::Unusable,
        false
            if args.output.filter.is_some()
                && output.records.written == 0
                && args.output.limit != Some(0) =>
        {
            Exit::No
        }
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

/// How a frame's line is laid out.
pub(super) fn layout(output: &OutputOptions) -> Layout {
    Layout {
        width: if terminal::stdout_is_terminal() { terminal::width() } else { 200 },
        time: match output.time {
            Time::Relative => TimeStyle::Relative,
            Time::Absolute => TimeStyle::Absolute,
            Time::Delta => TimeStyle::Delta,
            Time::Epoch => TimeStyle::Epoch,
        },
        tree: output.tree,
        hex: output.hex,
    }
}

struct Output {
    records: Records,
    failed: bool,
}

impl Sink for Output {
    fn frames(&mut self, rendered: &pipeline::Rendered) -> io::Result<bool> {
        if self.records.takes_all() {
            let count = rendered.iter().filter(|r| !r.is_empty()).count();
            self.records.all(rendered.bytes(), count as u64)?;
            return Ok(true);
        }
        for record in rendered.iter().filter(|r| !r.is_empty()) {
            if !self.records.rendered(record)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.records.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        report::finding(capture, finding);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
