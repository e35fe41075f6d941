//! `timeline --at`: what each run had come to with a frame.
//! Never reads on past it.

use std::io::{self, Write};

use anyhow::{Result, bail};

use rpcshark::base::Finding;
use rpcshark::pipeline::{Config, Correlated, Sink};
use rpcshark::session::state::State;
use rpcshark::session::{Event, Session};
use rpcshark::source;
use rpcshark::view::state::{Moment, Snapshots};
use rpcshark::view::{events, state, text};

use crate::cli::args::{Correlate, Format};
use crate::cli::commands::correlated::{self, Out};
use crate::cli::exit::Exit;
use crate::cli::terminal;

/// Runs the command.
pub fn run(at: u64, args: &Correlate) -> Result<Exit> {
    let config = correlated::config(&args.schema, &args.input, &args.output)?;
    let text = match args.output.format {
        None => terminal::stdout_is_terminal(),
        Some(Format::Text) => true,
        Some(Format::Jsonl) => false,
        Some(_) => bail!("timeline prints --format text or jsonl"),
    };
    let mut sink = At {
        out: correlated::out(),
        config: &config,
        text,
        quiet: args.output.quiet,
        at,
        frames: 0,
        state: State::default(),
        snapshots: Snapshots::default(),
        moment: Moment::default(),
        failed: false,
    };
    let (_, failed) = correlated::run(&config, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.out.flush()?;
    if sink.moment.frame != at {
        bail!("--at {at}: the captures have {} frames", sink.frames);
    }
    Ok(if failed || sink.failed { Exit::Unusable } else { Exit::Done })
}

struct At<'a> {
    out: Out,
    config: &'a Config,
    text: bool,
    quiet: bool,
    at: u64,
    frames: u64,
    state: State,
    snapshots: Snapshots,
    moment: Moment,
    failed: bool,
}

impl Sink for At<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        let number = frame.job.number;
        self.frames = number;
        self.state.push(number, &frame.placed, frame.digest, &self.config.limits);
        if !frame.placed.repeated {
            self.snapshots.push(
                &self.config.schema,
                &self.config.plan,
                &frame.placed,
                frame.digest,
                &frame.decoded.message,
            );
        }
        self.moment.push(number, frame.job.frame.time, &frame.placed);
        Ok(number < self.at)
    }

    fn stopped(&mut self, session: &Session<'_>) -> io::Result<()> {
        if self.quiet || self.moment.frame != self.at {
            return Ok(());
        }
        let mut runs = state::runs(
            &self.config.schema,
            &self.config.plan,
            session,
            &self.state,
            &self.snapshots,
            &self.moment,
        );
        if !self.config.show_secrets {
            runs.iter_mut().for_each(state::Run::hide);
        }
        let mut out = Vec::new();
        if self.text {
            let mut drawing = String::new();
            text::state::write(
                &self.config.plan,
                session,
                &self.moment,
                &runs,
                terminal::width(),
                &mut drawing,
            );
            out = drawing.into_bytes();
        } else {
            runs.iter().for_each(|run| state::write(&self.config.plan, &self.moment, run, &mut out));
            let blobs = session.blobs();
            blobs.all().for_each(|blob| events::blob(&self.config.schema, blobs, blob, &mut out));
        }
        self.out.write_all(&out)
    }

    fn finished(&mut self, _: &Session<'_>, _: &[Event]) -> io::Result<()> {
        Ok(())
    }

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        correlated::told(error);
    }
}
