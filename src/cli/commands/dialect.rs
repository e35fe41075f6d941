//! `dialect`: what the rules of a protocol hold for, and what they leave out.
//! Never reads a capture.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use rpcshark::base::text::clean;
use rpcshark::dialect::rules::Rules;
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::schema::Schema;

use crate::cli::args::{DialectArgs, DialectCommand, SchemaOptions};
use crate::cli::exit::Exit;
use crate::cli::setup::{self, shown};

/// Names listed of each kind.
const FEW: usize = 10;

/// Runs the command.
pub fn run(args: DialectArgs) -> Result<Exit> {
    let mut out = Vec::new();
    let exit = match args.command {
        DialectCommand::Check { path, all, schema } => check(path, all, schema, &mut out)?,
        DialectCommand::Show { path, schema } => {
            let loaded = Loaded::load(path, schema)?;
            loaded.rules.iter().try_for_each(|rules| rules_text(rules, &loaded.plan, &mut out))?;
            Exit::Done
        }
    };
    io::stdout().write_all(&out)?;
    Ok(exit)
}

/// Dialects resolved against a schema.
struct Loaded {
    rules: Vec<Rules>,
    schema: Schema,
    plan: Plan,
    /// Names of the built-in dialect that the schema does not have.
    unresolved: Vec<String>,
}

impl Loaded {
    fn load(paths: Vec<PathBuf>, mut options: SchemaOptions) -> Result<Self> {
        for path in paths {
            if !path.is_dir() {
                options.dialect.push(path);
                continue;
            }
            let mut found = Vec::new();
            for entry in fs::read_dir(&path).with_context(|| format!("cannot read {}", shown(&path)))? {
                let file = entry.with_context(|| format!("cannot read {}", shown(&path)))?.path();
                if file.extension().is_some_and(|e| e == "txtpb" || e == "textproto") {
                    found.push(file);
                }
            }
            if found.is_empty() {
                bail!("{} holds no dialect (.txtpb)", shown(&path));
            }
            found.sort();
            options.dialect.extend(found);
            options.proto_path.push(path);
        }
        let mut schema = setup::types(&options)?;
        let mut plan = Plan::default();
        let mut rules = Vec::new();
        let mut unresolved = Vec::new();
        if options.dialect.is_empty() {
            let builtin = dialect::builtin();
            unresolved = dialect::unresolved(&builtin, &schema).into_iter().map(str::to_owned).collect();
            dialect::compile(&builtin, Mode::Lenient, &mut schema, &mut plan)?;
            rules.push(builtin);
        }
        for path in &options.dialect {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read the dialect {}", shown(path)))?;
            let file = path.display().to_string();
            let given = dialect::parse(&file, &text)?;
            dialect::compile(&given, Mode::Strict { file: &file, text: &text }, &mut schema, &mut plan)?;
            rules.push(given);
        }
        Ok(Self { rules, schema, plan, unresolved })
    }
}

fn check(paths: Vec<PathBuf>, all: bool, options: SchemaOptions, out: &mut Vec<u8>) -> Result<Exit> {
    let loaded = Loaded::load(paths, options)?;
    for rules in &loaded.rules {
        writeln!(
            out,
            "dialect {}: {}",
            clean(&rules.name),
            match loaded.unresolved.len() {
                0 => "every name is in the schema".to_owned(),
                1 => "1 name is not in the schema".to_owned(),
                n => format!("{n} names are not in the schema"),
            }
        )?;
    }
    let found = dialect::coverage(&loaded.schema, &loaded.plan);
    list(out, "names that the schema lacks", &loaded.unresolved, all)?;
    list(out, "branches that no rule speaks of", &found.branches, all)?;
    list(out, "openings that no match fits: any answer is taken", &found.openings, all)?;
    list(out, "fields called like ids, in no namespace", &found.ids, all)?;
    list(out, "fields that may hold an encoding and are not opened", &found.encodings, all)?;
    list(out, "fields called like credentials that nothing hides", &found.secrets, all)?;
    Ok(if loaded.unresolved.is_empty() { Exit::Done } else { Exit::No })
}

fn list(out: &mut Vec<u8>, head: &str, names: &[String], all: bool) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} {head}", names.len())?;
    let shown = if all { names.len() } else { FEW };
    for name in names.iter().take(shown) {
        writeln!(out, "  {}", clean(name))?;
    }
    if names.len() > shown {
        writeln!(out, "  … and {} more (--all lists them)", names.len() - shown)?;
    }
    Ok(())
}

fn rules_text(rules: &Rules, plan: &Plan, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(out, "dialect {}", clean(&rules.name))?;
    for level in &rules.level {
        let within = if level.within.is_empty() { String::new() } else { format!(" in {}", level.within) };
        writeln!(out, "level      {}{within}", level.name)?;
    }
    for namespace in &plan.namespaces {
        let within = namespace.within.and_then(|n| plan.namespaces.get(usize::from(n)));
        let within = within.map(|n| format!(" per {}", n.name)).unwrap_or_default();
        let whole = if namespace.whole_exchange { ", names the call" } else { "" };
        writeln!(out, "namespace  {} as {}{within}{whole}", namespace.name, namespace.key)?;
    }
    for lifeline in &plan.lifelines {
        let id = lifeline.namespace.and_then(|n| plan.namespaces.get(usize::from(n)));
        let by = id.map(|n| format!(" by {}", n.name)).unwrap_or_default();
        let answers = if lifeline.answers { ", answered" } else { "" };
        writeln!(out, "lifeline   {}{by}{answers}", lifeline.name)?;
    }
    for stream in &plan.streams {
        writeln!(out, "stream     {}", stream.name)?;
    }
    for measure in plan.measures.iter().filter(|m| m.level.is_some()) {
        writeln!(out, "measure    {}", measure.name)?;
    }
    let counts = [
        ("tunnel", rules.tunnel.len()),
        ("nested", rules.nested.len()),
        ("ending", rules.ending.len()),
        ("fold", rules.fold.len()),
        ("secret", rules.secret.len()),
        ("pulse", rules.pulse.len()),
    ];
    for (name, count) in counts.into_iter().filter(|(_, n)| *n > 0) {
        writeln!(out, "{name:<10} {count} {}", if count == 1 { "rule" } else { "rules" })?;
    }
    Ok(())
}
