//! What commands over runs share: captures through a session, frame by frame.
//! Never prints a record itself.

use std::io::{self, BufWriter, Stdout, Write};

use anyhow::{Result, bail};

use rpcshark::base::text::clean;
use rpcshark::pipeline::{self, Config, Expand, Job, Sink, Summary};
use rpcshark::source;
use rpcshark::view::Item;

use crate::cli::args::{InputOptions, OutputOptions, SchemaOptions};
use crate::cli::{captures, report, setup, terminal};

/// A buffered standard output.
pub type Out = BufWriter<Stdout>;

/// Standard output, buffered.
pub fn out() -> Out {
    BufWriter::with_capacity(1 << 16, io::stdout())
}

/// The configuration of a command over runs.
pub fn config(schema: &SchemaOptions, input: &InputOptions, output: &OutputOptions) -> Result<Config> {
    terminal::settle_color(output.color);
    refuse_expressions(output)?;
    let mut config = setup::config(schema, input, output, Expand::Carrier)?;
    config.correlate = true;
    if config.expand == Expand::None {
        // Runs are about what is carried.
        config.expand = Expand::Carrier;
    }
    Ok(config)
}

/// Only `decode` takes a filter or an expression so far: to pass over them in silence would be worse.
pub fn refuse_expressions(output: &OutputOptions) -> Result<()> {
    match (&output.filter, &output.jq) {
        (None, None) => Ok(()),
        _ => bail!("--filter and --jq: only decode takes them"),
    }
}

/// Runs captures through a session; true where one of them could not be used.
pub fn run(
    config: &Config,
    files: &[std::path::PathBuf],
    input: &InputOptions,
    render: &(dyn Fn(&Item<'_>, &Job, &mut Vec<u8>) + Sync),
    sink: &mut dyn Sink,
) -> Result<(Summary, bool)> {
    let options = setup::source(input)?;
    let mut captures = captures::Captures::find(files, &options);
    let summary = pipeline::run(config, &mut captures, render, sink)?;
    Ok((summary, captures.failed))
}

/// Tells the operator of a capture that could not be read on.
pub fn told(error: &source::Error) {
    report::line(&format!("error: {}", clean(&error.to_string())));
}

/// Writes what was rendered, unless nobody wants it.
pub fn write(out: &mut Out, bytes: &[u8], quiet: bool) -> io::Result<()> {
    if quiet { Ok(()) } else { out.write_all(bytes) }
}
