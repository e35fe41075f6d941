//! `schema`: what is loaded, how it differs from another, what a capture uses of it.
//! Never prints a message of a capture.

mod coverage;
mod diff;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use rpcshark::base::text::{clean, nearest};
use rpcshark::schema::{self, Cardinality, FieldPlan, Kind, Presence, Schema, TypePlan};

use crate::cli::args::{SchemaArgs, SchemaCommand, SchemaOptions};
use crate::cli::exit::Exit;
use crate::cli::{private, report, setup};

/// Runs the command.
pub fn run(args: SchemaArgs) -> Result<Exit> {
    let mut out = Vec::new();
    match args.command {
        SchemaCommand::List { schema } => list(&setup::schema(&schema)?.0, &mut out)?,
        SchemaCommand::Show { name, schema } => show(&setup::schema(&schema)?.0, &name, &mut out)?,
        SchemaCommand::Compile { output, force, schema } => return compile(&schema, &output, force),
        SchemaCommand::Diff { left, right, breaking } => return diff::run(&left, &right, breaking),
        SchemaCommand::Coverage(args) => return coverage::run(*args),
    }
    io::stdout().write_all(&out)?;
    Ok(Exit::Done)
}

/// Writes a descriptor set.
fn compile(options: &SchemaOptions, path: &Path, force: bool) -> Result<Exit> {
    let (set, warnings) = schema::descriptor_set(&setup::sources(options))?;
    for warning in &warnings {
        report::schema_error("warning", warning);
    }
    let mut file = private::create(path, force)?;
    file.write_all(&set).with_context(|| format!("cannot write {}", setup::shown(path)))?;
    Ok(Exit::Done)
}

/// One line each: `rpc`, `message` or `enum`, and the full name.
fn list(schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
    for method in schema.methods() {
        let stream = |on: bool| if on { "stream " } else { "" };
        writeln!(
            out,
            "rpc {} ({}{}) returns ({}{})",
            method.name,
            stream(method.client_streaming),
            schema.ty(method.input).name,
            stream(method.server_streaming),
            schema.ty(method.output).name
        )?;
    }
    for (_, plan) in schema.types().filter(|(_, t)| !t.map_entry) {
        writeln!(out, "message {}", plan.name)?;
    }
    for (_, plan) in schema.enums() {
        writeln!(out, "enum {}", plan.name)?;
    }
    Ok(())
}

fn show(schema: &Schema, name: &str, out: &mut Vec<u8>) -> Result<()> {
    if let Some(ty) = schema.type_by_name(name) {
        return message(schema, schema.ty(ty), out);
    }
    if let Some(plan) = schema.enum_by_name(name).and_then(|id| schema.enum_plan(id)) {
        writeln!(out, "enum {} {{", plan.name)?;
        for (number, value) in plan.values() {
            writeln!(out, "  {value} = {number};")?;
        }
        writeln!(out, "}}")?;
        return Ok(());
    }
    let methods: Vec<_> =
        schema.methods().iter().filter(|m| m.name.rsplit_once('/').is_some_and(|(s, _)| s == name)).collect();
    if methods.is_empty() {
        let services = schema.methods().iter().filter_map(|m| m.name.rsplit_once('/')).map(|(s, _)| s);
        let names = schema
            .types()
            .map(|(_, t)| &*t.name)
            .chain(schema.enums().map(|(_, e)| &*e.name))
            .chain(services);
        match nearest(name, names) {
            Some(near) => bail!("no message, enum or service '{}'; did you mean '{near}'?", clean(name)),
            None => bail!("no message, enum or service '{}'", clean(name)),
        }
    }
    writeln!(out, "service {name} {{")?;
    for method in methods {
        let short = method.name.rsplit('/').next().unwrap_or(&method.name);
        let stream = |on: bool| if on { "stream " } else { "" };
        writeln!(
            out,
            "  rpc {short}({}{}) returns ({}{});",
            stream(method.client_streaming),
            schema.ty(method.input).name,
            stream(method.server_streaming),
            schema.ty(method.output).name
        )?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn message(schema: &Schema, plan: &TypePlan, out: &mut Vec<u8>) -> Result<()> {
    writeln!(out, "message {} {{", plan.name)?;
    for (number, oneof) in plan.oneofs.iter().enumerate() {
        writeln!(out, "  oneof {} {{", oneof.name)?;
        for field in plan.fields.iter().filter(|f| f.oneof == Some(number as u16)) {
            writeln!(out, "    {};", declaration(schema, field))?;
        }
        writeln!(out, "  }}")?;
    }
    for field in plan.fields.iter().filter(|f| f.oneof.is_none()) {
        writeln!(out, "  {};", declaration(schema, field))?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn declaration(schema: &Schema, field: &FieldPlan) -> String {
    let kind = |kind: Kind| match kind {
        Kind::Message(ty) => schema.ty(ty).name.to_string(),
        Kind::Enum(id) => schema.enum_plan(id).map_or_else(String::new, |e| e.name.to_string()),
        scalar => scalar.name().to_owned(),
    };
    let (label, ty) = match (field.cardinality, field.presence) {
        (Cardinality::Map, _) => {
            let entry = field.kind.message().map(|ty| schema.ty(ty));
            let part = |n| {
                entry
                    .and_then(|e| e.index_of(n).and_then(|i| e.field(i)))
                    .map_or_else(String::new, |f| kind(f.kind))
            };
            ("", format!("map<{}, {}>", part(1), part(2)))
        }
        (Cardinality::Repeated, _) => ("repeated ", kind(field.kind)),
        (_, Presence::Required) => ("required ", kind(field.kind)),
        (_, Presence::Explicit) if field.oneof.is_none() && field.kind.message().is_none() => {
            ("optional ", kind(field.kind))
        }
        _ => ("", kind(field.kind)),
    };
    let secret = if field.annotation.secret { " [secret]" } else { "" };
    format!("{label}{ty} {} = {}{secret}", field.name, field.number)
}
