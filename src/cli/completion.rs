//! What a shell completes: message types, kinds, filter fields, finding codes, beside clap's own options.
//! Never decodes, and never speaks: an expression or a schema that cannot be read completes to nothing.

use std::ffi::OsStr;

use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompletionCandidate;

use rpcshark::base::Code;
use rpcshark::query::FIELDS;
use rpcshark::schema::{self, Schema, Sources};
use rpcshark::source::Format;

use super::args::{Cli, SchemaOptions};
use super::{config_file, setup};

/// The variable by which a shell's function asks for completions.
pub const VARIABLE: &str = "RPCSHARK_COMPLETE";

/// Message types of the schema that the command line loads.
pub fn types(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let schema = schema();
    let types = schema.types().filter(|(_, t)| !t.map_entry && t.name.starts_with(current));
    types.map(|(_, t)| CompletionCandidate::new(&*t.name)).collect()
}

/// Formats of `--from`.
pub fn formats(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = Format::ALL.iter().map(|f| f.name());
    names
        .filter(|n| current.to_str().is_some_and(|c| n.starts_with(c)))
        .map(CompletionCandidate::new)
        .collect()
}

/// The last word of a display filter: a field; after `kind ==` a kind, after `code ==` a finding code.
pub fn filter(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let word_at = current.char_indices().rev().take_while(|(_, c)| is_word(*c)).last();
    let (head, word) = current.split_at(word_at.map_or(current.len(), |(at, _)| at));
    let words: Vec<String> = match compared(head) {
        Some("kind") => kinds(&schema()),
        Some("findings.code") => Code::ALL.iter().map(|c| c.name().to_owned()).collect(),
        Some(_) => Vec::new(),
        None => FIELDS.iter().map(|f| f.name.to_owned()).collect(),
    };
    let begins = words.into_iter().filter(|w| w.starts_with(word));
    begins.map(|w| CompletionCandidate::new(format!("{head}{w}"))).collect()
}

/// The field whose value is being typed, if one is: the clause so far is a field, an operator, and a quote or brace.
fn compared(head: &str) -> Option<&str> {
    let clause = [" and ", " or ", " not ", "(", "&&", "||", "!"].iter().filter_map(|word| {
        let at = head.rfind(word)?;
        Some(at + word.len())
    });
    let clause = head.get(clause.max().unwrap_or(0)..)?.trim_start();
    let field = &clause[..clause.find(|c: char| !is_word(c)).unwrap_or(clause.len())];
    let rest = clause[field.len()..].trim();
    (!field.is_empty() && !rest.is_empty()).then_some(field)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '*')
}

/// The branches of the messages that methods take and give, and what needs no schema.
fn kinds(schema: &Schema) -> Vec<String> {
    let mut kinds: Vec<String> = ["end_stream", "error", "trailers"].map(str::to_owned).into();
    for root in schema.methods().iter().flat_map(|m| [m.input, m.output]) {
        let fields = schema.ty(root).fields.iter();
        kinds.extend(fields.filter(|f| f.oneof.is_some()).map(|f| f.name.to_string()));
    }
    kinds.sort();
    kinds.dedup();
    kinds
}

/// The schema of the command line so far; the built-in one where that cannot be read.
fn schema() -> Schema {
    // The shell hands the words of the line over after a `--`.
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let typed = Cli::command().ignore_errors(true).try_get_matches_from(words).ok().and_then(|matches| {
        let mut matches = &matches;
        while let Some((_, below)) = matches.subcommand() {
            matches = below;
        }
        // Commands that take no schema know nothing of its options.
        matches.try_contains_id("proto_path").ok()?;
        let mut options = SchemaOptions::from_arg_matches(matches).ok()?;
        config_file::load().unwrap_or_default().fill(&mut options);
        schema::load(&setup::sources(&options)).ok()
    });
    let builtin = || schema::load(&Sources { builtin: true, ..Sources::default() }).ok();
    typed.or_else(builtin).map(|loaded| loaded.schema).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(current: &str) -> Vec<String> {
        let found = filter(OsStr::new(current));
        found.iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn fields_at_the_start_and_after_a_word() {
        assert!(check("le").contains(&"length".to_owned()));
        assert!(check("length > 3 and ki").contains(&"length > 3 and kind".to_owned()));
    }

    #[test]
    fn kinds_and_codes_where_they_are_compared() {
        assert_eq!(check("kind == \"end_"), ["kind == \"end_stream"]);
        assert_eq!(check("findings.code in {\"frame.too"), ["findings.code in {\"frame.too-large"]);
    }

    #[test]
    fn nothing_in_another_text() {
        assert!(check("rpc == \"le").is_empty());
    }
}
