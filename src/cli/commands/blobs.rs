//! `blobs`: what ids stand for, found anywhere in a capture, checked against its id.
//! Never writes over a file, and only where it is told.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use rpcshark::base::Finding;
use rpcshark::base::text::push_clean;
use rpcshark::message::json::holds_secret;
use rpcshark::pipeline::{Config, Correlated, Sink};
use rpcshark::session::{Blob, Session, hex};
use rpcshark::source;
use rpcshark::view::events;

use crate::cli::args::{Blobs, Format};
use crate::cli::commands::correlated::{self, Out};
use crate::cli::exit::Exit;
use crate::cli::setup::shown;
use crate::cli::{private, report, terminal};

/// Runs the command.
pub fn run(args: Blobs) -> Result<Exit> {
    let config = correlated::config(&args.schema, &args.input, &args.output)?;
    let text = match args.output.format {
        None => terminal::stdout_is_terminal(),
        Some(format) => format == Format::Text,
    };
    let mut sink = Found {
        out: correlated::out(),
        config: &config,
        text,
        folder: args.write_to,
        force: args.force,
        only: args.id,
        show_secrets: args.output.show_secrets,
        failed: false,
        trouble: None,
    };
    let (summary, failed) = correlated::run(&config, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    sink.out.flush()?;
    if let Some(error) = sink.trouble {
        return Err(error);
    }
    Ok(match failed || sink.failed {
        true => Exit::Unusable,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Found<'a> {
    out: Out,
    config: &'a Config,
    text: bool,
    folder: Option<PathBuf>,
    force: bool,
    only: Vec<String>,
    show_secrets: bool,
    failed: bool,
    trouble: Option<anyhow::Error>,
}

impl Found<'_> {
    fn print(&mut self, session: &Session<'_>, blob: &Blob) -> io::Result<()> {
        let content = session.blobs().content(&self.config.schema, &blob.id);
        if !self.text {
            let mut line = Vec::new();
            events::blob(&self.config.schema, session.blobs(), blob, &mut line);
            return self.out.write_all(&line);
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
        self.out.write_all(line.as_bytes())
    }

    /// Writes a blob's bytes under its id.
    fn save(&self, blob: &Blob) -> Result<()> {
        let (Some(folder), Some(data)) = (&self.folder, &blob.data) else { return Ok(()) };
        let path = folder.join(hex(&blob.id));
        let secret = self.config.schema.secrets().mask(data).is_some()
            || holds_secret(&self.config.schema, &self.config.limits, data);
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
    fn correlated(&mut self, _: &Correlated<'_>) -> io::Result<bool> {
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
        correlated::told(error);
    }
}
