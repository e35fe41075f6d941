//! `follow`: what was said, put together from its pieces.
//! Never prints a piece twice.

use std::io;

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
        texts: Vec::new(),
        failed: false,
    };
    sink.records.begin()?;
    let (_, failed) = correlated::run(&config, &choice, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.print()?;
    sink.records.end()?;
    Ok(if failed || sink.failed || sink.records.failed { Exit::Unusable } else { Exit::Done })
}

struct Texts<'a> {
    records: Records,
    streams: Vec<String>,
    hides: Option<&'a Rules>,
    texts: Vec<RunText>,
    failed: bool,
}

impl Texts<'_> {
    fn take(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Text(text) = event {
                self.texts.push(text.clone());
            }
        }
    }

    fn print(&mut self) -> io::Result<()> {
        for said in &self.texts {
            let wanted = |s: &String| s == "all" || *s == said.stream;
            if !self.streams.iter().any(wanted) {
                continue;
            }
            let whole = said.text();
            // A secret cut across two pieces is whole here.
            let hidden = self.hides.and_then(|secrets| secrets.mask_text(&whole));
            let text = hidden.as_deref().unwrap_or(&whole);
            let more = if self.records.format() == Format::Text {
                let mut text = lines(text);
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                self.records.rendered(text.as_bytes())?
            } else {
                let mut line = Vec::new();
                events::text(said, text, &mut line);
                self.records.record(&line)?
            };
            if !more {
                break;
            }
        }
        Ok(())
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
        self.take(frame.events);
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

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
