//! `schema diff`: what differs between two schemas.
//! Never reads a capture.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use colored::Colorize;

use rpcshark::base::text::clean;
use rpcshark::schema::{self, Schema, Sort, Sources};

use crate::cli::exit::Exit;
use crate::cli::{report, terminal};

/// Prints a line a difference; those that break the wire say so.
pub fn run(left: &Path, right: &Path, breaking: bool) -> Result<Exit> {
    terminal::settle_color(None);
    let mut changes = schema::compare(&load(left)?, &load(right)?);
    changes.retain(|change| change.breaking || !breaking);
    let mut out = Vec::new();
    for change in &changes {
        let member = change.member.as_deref().map(|m| format!(" {}", clean(m))).unwrap_or_default();
        let text = if change.text.is_empty() { String::new() } else { format!(": {}", clean(&change.text)) };
        let line = format!("{}{member}{text}", clean(&change.name));
        let line = match change.sort {
            Sort::Removed => format!("- {line}").red(),
            Sort::Added => format!("+ {line}").green(),
            Sort::Changed => format!("~ {line}").normal(),
        };
        writeln!(out, "{line}{}", if change.breaking { " (breaks the wire)" } else { "" })?;
    }
    io::stdout().write_all(&out)?;
    Ok(if changes.is_empty() { Exit::Done } else { Exit::No })
}

/// A folder of .proto files, one .proto file, or a descriptor set.
fn load(path: &Path) -> Result<Schema> {
    let mut sources = Sources::default();
    let list = match path.extension() {
        _ if path.is_dir() => &mut sources.roots,
        Some(extension) if extension == "proto" => &mut sources.protos,
        _ => &mut sources.descriptor_sets,
    };
    list.push(path.to_owned());
    let loaded = schema::load(&sources)?;
    for warning in &loaded.warnings {
        report::schema_error("warning", warning);
    }
    Ok(loaded.schema)
}
