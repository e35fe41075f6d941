//! `blobs`: what ids stand for, found anywhere in a capture, checked against its id.
//! Never writes over a file, and only where it is told.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use rpcshark::base::Finding;
use rpcshark::base::text::push_clean;
use rpcshark::message::json::holds_secret;
use rpcshark::pipeline::{Config, Correlated, Frames, Sink};
use rpcshark::session::{Blob, Session, hex};
use rpcshark::source;
use rpcshark::view::events;

use crate::cli::args::{Blobs, Format};
use crate::cli::commands::correlated;
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::setup::shown;
use crate::cli::{private, report};

/// Runs the command.
pub fn run(args: Blobs) -> Result<Exit> {
    let Blobs { id, write_to, force, common: args } = args;
    let format = records::settle_format(&args.output)?;
    let mut config = correlated::config(&args.schema, &args.input, &args.output)?;
    let records = Records::new(&args.output, format)?;
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let mut sink = Found {
        records,
        config: &config,
        chosen: choice.is_filtered().then(Frames::default),
        folder: write_to,
        force,
        only: id,
        show_secrets: args.output.show_secrets,
        failed: false,
        trouble: None,
    };
    sink.records.begin()?;
    let (summary, failed) =
        correlated::run(&config, &choice, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.records.end()?;
    if let Some(error) = sink.trouble {
        return Err(error);
    }
    Ok(match failed || sink.failed || sink.records.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Found<'a> {
    records: Records,
    config: &'a Config,
    /// Where there is a display filter: the frames that pass.
    chosen: Option<Frames>,
    folder: Option<PathBuf>,
    force: bool,
    only: Vec<String>,
    show_secrets: bool,
    failed: bool,
    trouble: Option<anyhow::Error>,
}

impl Found<'_> {
    fn print(&mut self, session: &Session<'_>, blob: &Blob) -> io::Result<bool> {
        let content = session.blobs().content(&self.config.schema, &blob.id);
        if self.records.format() != Format::Text {
            let mut line = Vec::new();
            events::blob(&self.config.schema, session.blobs(), blob, &mut line);
            return self.records.record(&line);
        }
        let hash = match blob.sha256_ok {
            Some(true) => "ok",
            Some(false) => "WRONG HASH",
            None => "-",
        };
        let mut line = format!("{} {:>9} {hash:<10} ", hex(&blob.id), blob.length);
        push_clean(&mut line, content.as_deref().unwrap_or("-"));
        line.push_str("  from ");
        push_clean(&mut line, &blob.from);
        line.push('\n');
        self.records.rendered(line.as_bytes())
    }

    /// Writes a blob's bytes under its id.
    fn save(&self, blob: &Blob) -> Result<()> {
        let (Some(folder), Some(data)) = (&self.folder, &blob.data) else { return Ok(()) };
        let path = folder.join(hex(&blob.id));
        let secret = self.config.schema.secrets().mask(data).is_some()
            || holds_secret(&self.config.schema, &self.config.limits, data, None);
        if secret && !self.show_secrets {
            report::line(&format!(
                "note: {} holds a secret and is not written; --show-secrets does",
                hex(&blob.id)
            ));
            return Ok(());
        }
        let mut file = private::create(&path, self.force)?;
        file.write_all(data).with_context(|| format!("cannot write {}", shown(&path)))
    }
}

impl Sink for Found<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        if let Some(chosen) = &mut self.chosen {
            chosen.add(frame.job.number);
        }
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, _: &[rpcshark::session::Event]) -> io::Result<()> {
        for blob in session.blobs().all() {
            let id = hex(&blob.id);
            if !self.only.is_empty()
                && !self.only.iter().any(|wanted| id.starts_with(&wanted.to_ascii_lowercase()))
            {
                continue;
            }
            let passes = |chosen: &Frames| blob.frames.iter().any(|f| chosen.has(*f));
            if !self.chosen.as_ref().is_none_or(passes) || !self.records.wants_more() {
                continue;
            }
            self.print(session, blob)?;
            if let Err(error) = self.save(blob) {
                self.trouble.get_or_insert(error);
            }
        }
        Ok(())
    }

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
