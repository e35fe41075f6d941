//! `timeline --at`: what each run had come to with a frame.
//! Never reads on past it.

use std::io;

use anyhow::{Result, bail};

use rpcshark::base::Finding;
use rpcshark::pipeline::{Config, Correlated, Sink};
use rpcshark::session::state::State;
use rpcshark::session::{Event, Session};
use rpcshark::source;
use rpcshark::view::state::{Moment, Snapshots};
use rpcshark::view::{events, state, text};

use crate::cli::args::{Format, Reading};
use crate::cli::commands::correlated::{self, Choice};
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::report;
use crate::cli::terminal;

/// Runs the command.
pub fn run(at: u64, args: &Reading) -> Result<Exit> {
    if args.output.filter.is_some() {
        bail!("--filter: --at shows what all frames up to one came to");
    }
    let format = records::settle_format(&args.output)?;
    let config = correlated::config(&args.schema, &args.input, &args.output)?;
    let mut sink = At {
        records: Records::new(&args.output, format)?,
        config: &config,
        at,
        frames: 0,
        state: State::default(),
        snapshots: Snapshots::default(),
        moment: Moment::default(),
        failed: false,
    };
    sink.records.begin()?;
    let choice = Choice::default();
    let (_, failed) = correlated::run(&config, &choice, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.records.end()?;
    if sink.moment.frame != at {
        bail!("--at {at}: the captures have {} frames", sink.frames);
    }
    Ok(if failed || sink.failed || sink.records.failed { Exit::Unusable } else { Exit::Done })
}

struct At<'a> {
    records: Records,
    config: &'a Config,
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
        if self.moment.frame != self.at {
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
            runs.iter_mut().for_each(|run| run.hide(self.config.schema.secrets()));
        }
        let mut out = Vec::new();
        if self.records.format() == Format::Text {
            let mut drawing = String::new();
            text::state::write(
                &self.config.plan,
                session,
                &self.moment,
                &runs,
                terminal::width(),
                &mut drawing,
            );
            self.records.rendered(drawing.as_bytes())?;
        } else {
            runs.iter().for_each(|run| state::write(&self.config.plan, &self.moment, run, &mut out));
            let blobs = session.blobs();
            blobs.all().for_each(|blob| events::blob(&self.config.schema, blobs, blob, &mut out));
        }
        self.records.records(&out).map(drop)
    }

    fn finished(&mut self, _: &Session<'_>, _: &[Event]) -> io::Result<()> {
        Ok(())
    }

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
