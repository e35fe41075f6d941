//! What commands over runs share: captures through a session, frame by frame, behind the display filter.
//! Never prints a record itself.

use std::path::PathBuf;

use anyhow::{Result, bail};

use rpcshark::pipeline::{self, Chosen, Config, Expand, Frames, Job, Sink, Summary, Verdicts};
use rpcshark::query::{Filter, Stage};
use rpcshark::source::{Options, Reader};
use rpcshark::view::text::{Clock, Layout};
use rpcshark::view::{Item, events, text};

use crate::cli::args::{Format, InputOptions, OutputOptions, SchemaOptions};
use crate::cli::captures::{Captures, Kept};
use crate::cli::expression::{self, Moment};
use crate::cli::{setup, terminal};

/// The configuration of a command over runs that prints no messages.
pub fn config(schema: &SchemaOptions, input: &InputOptions, output: &OutputOptions) -> Result<Config> {
    if output.tree {
        bail!("-V shows single messages, which this command does not print: use `rpcshark timeline -V`");
    }
    with_messages(schema, input, output)
}

/// The configuration of a command over runs that prints messages where `-V` asks for them.
pub fn with_messages(schema: &SchemaOptions, input: &InputOptions, output: &OutputOptions) -> Result<Config> {
    if output.hex {
        bail!(
            "-x shows the bytes of single messages, which this command does not print: use `rpcshark decode -x`"
        );
    }
    terminal::settle_color(output.color);
    let mut config = setup::config(schema, input, output, Expand::Carrier)?;
    config.correlate = true;
    if config.expand == Expand::None {
        // Runs are about what is carried.
        config.expand = Expand::Carrier;
    }
    Ok(config)
}

/// Renders what `-V` asks to be printed of each frame before what a command says of all: its line, its headers and its
/// message tree, or its record with its message. Nothing without it.
pub fn frames<'a>(
    config: &'a Config,
    layout: &'a Layout,
    format: Format,
) -> impl Fn(&Item<'_>, &Job, &mut Vec<u8>) + Sync + 'a {
    move |item, job, out| match format {
        _ if !layout.tree => {}
        Format::Text => {
            let mut lines = String::new();
            let clock = Clock { first: job.clock.0, before: job.clock.1 };
            text::write(item, &config.schema, layout, clock, &mut lines);
            out.extend_from_slice(lines.as_bytes());
        }
        _ => events::frame(item, true, out),
    }
}

/// The display filter of a command over runs, and what it was found to let through.
#[derive(Default)]
pub struct Choice {
    filter: Option<Filter>,
    /// Where the filter asks for what only the whole capture tells: the frames that pass.
    known: Option<Frames>,
    kept: Option<Kept>,
}

impl Choice {
    /// Whether there is a filter.
    pub fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// The captures, those that were kept out of memory.
    pub fn captures<'a>(&'a self, files: &[PathBuf], options: &'a Options) -> Captures<'a> {
        Captures::find_kept(files, options, self.kept.as_ref(), false)
    }
}

/// Checks the display filter, and finds out which frames pass where that takes a reading of its own.
pub fn choose(
    config: &mut Config,
    files: &[PathBuf],
    input: &InputOptions,
    output: &OutputOptions,
) -> Result<Choice> {
    let Some(text) = &output.filter else { return Ok(Choice::default()) };
    let filter = expression::filter(text, &config.schema, &config.plan, Moment::Session)?;
    // Filters are about messages in one form, whatever form the command works with.
    let other_form = config.json_names || config.emit_defaults || config.expand == Expand::All;
    if filter.needs() < Stage::Later && !(other_form && filter.needs() == Stage::Record) {
        return Ok(Choice { filter: Some(filter), ..Choice::default() });
    }
    if input.follow {
        bail!("--filter: what it asks for is known at the end of a capture, and --follow never comes to it");
    }
    let kept = Kept::read(files, config.limits.max_kept)?;
    let form = (config.json_names, config.emit_defaults, config.expand);
    (config.json_names, config.emit_defaults, config.expand) = (false, false, Expand::Carrier);
    let mut verdicts = Verdicts::new(config, &filter);
    let options = setup::source(input)?;
    let mut captures = Captures::find_kept(files, &options, Some(&kept), true);
    pipeline::run(config, &mut captures, &|_, _, _| {}, &mut verdicts)?;
    let known = Some(verdicts.into_passed());
    (config.json_names, config.emit_defaults, config.expand) = form;
    Ok(Choice { filter: Some(filter), known, kept: Some(kept) })
}

/// Runs captures through a session; true where one of them could not be used.
pub fn run(
    config: &Config,
    choice: &Choice,
    files: &[PathBuf],
    input: &InputOptions,
    render: &(dyn Fn(&Item<'_>, &Job, &mut Vec<u8>) + Sync),
    sink: &mut dyn Sink,
) -> Result<(Summary, bool)> {
    let options = setup::source(input)?;
    let mut captures = choice.captures(files, &options);
    let summary = pass(config, choice, &mut captures, render, sink)?;
    Ok((summary, captures.failed))
}

/// Runs captures that are open through a session.
pub fn pass(
    config: &Config,
    choice: &Choice,
    captures: &mut dyn Iterator<Item = Reader>,
    render: &(dyn Fn(&Item<'_>, &Job, &mut Vec<u8>) + Sync),
    sink: &mut dyn Sink,
) -> Result<Summary> {
    Ok(match &choice.filter {
        None => pipeline::run(config, captures, render, sink)?,
        Some(filter) => {
            let mut chosen = Chosen::new(config, filter, choice.known.as_ref(), sink);
            pipeline::run(config, captures, render, &mut chosen)?
        }
    })
}
