//! `follow`: what was said, put together from its pieces.
//! Never prints a piece twice.

use std::io::{self, Write};

use anyhow::Result;

use rpcshark::base::Finding;
use rpcshark::base::secret::Rules;
use rpcshark::pipeline::{Correlated, Sink};
use rpcshark::session::{Event, RunText, Session};
use rpcshark::source;
use rpcshark::view::events;

use crate::cli::args::{Follow, Format};
use crate::cli::commands::correlated;
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::report;

/// Runs the command.
pub fn run(args: Follow) -> Result<Exit> {
    let Follow { stream, common: args } = args;
    let format = records::settle(&args.output, Format::Text)?;
    let mut config = correlated::config(&args.schema, &args.input, &args.output)?;
    let known: Vec<&str> = config.plan.streams.iter().map(|s| &*s.name).collect();
    for name in stream.iter().filter(|s| s.as_str() != "all") {
        if !known.contains(&name.as_str()) {
            let mut names = known.clone();
            names.sort_unstable();
            names.dedup();
            let shown = rpcshark::base::text::clean(name);
            anyhow::bail!("--stream: no stream '{shown}' (known: all {})", names.join(" "));
        }
    }
    let records = Records::new(&args.output, format)?;
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let mut sink = Texts {
        records,
        streams: stream,
        hides: (!args.output.show_secrets).then(|| config.schema.secrets()),
        failed: false,
    };
    sink.records.begin()?;
    let (_, failed) = correlated::run(&config, &choice, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.records.end()?;
    Ok(if failed || sink.failed || sink.records.failed { Exit::Unusable } else { Exit::Done })
}

struct Texts<'a> {
    records: Records,
    streams: Vec<String>,
    hides: Option<&'a Rules>,
    failed: bool,
}

impl Texts<'_> {
    /// Prints what runs said as each of them ends; `false` when nobody reads any more.
    fn take(&mut self, events: &[Event]) -> io::Result<bool> {
        for event in events {
            if let Event::Text(said) = event
                && self.streams.iter().any(|s| s == "all" || *s == said.stream)
                && !self.print(said)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn print(&mut self, said: &RunText) -> io::Result<bool> {
        let whole = said.text();
        // A secret cut across two pieces is whole here.
        let hidden = self.hides.and_then(|secrets| secrets.mask_text(&whole));
        let text = hidden.as_deref().unwrap_or(&whole);
        if self.records.format() == Format::Text {
            let mut text = lines(text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
            self.records.rendered(text.as_bytes())
        } else {
            let mut line = Vec::new();
            events::text(said, text, &mut line);
            self.records.record(&line)
        }
    }
}

/// Text with its line breaks and tabs, every other unsafe character escaped.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let (body, end) = match part.strip_suffix(['\n', '\t']) {
            Some(body) => (body, &part[body.len()..]),
            None => (part, ""),
        };
        rpcshark::base::text::push_clean(&mut out, body.strip_suffix('\r').unwrap_or(body));
        out.push_str(end);
    }
    out
}

impl Sink for Texts<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        self.take(frame.events)
    }

    fn events(&mut self, events: &[Event]) -> io::Result<bool> {
        self.take(events)
    }

    fn finished(&mut self, _: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.take(events).map(drop)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.records.out.flush()
    }

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
