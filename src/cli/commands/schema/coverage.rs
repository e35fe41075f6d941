//! `schema coverage`: what a capture uses that the schema does not know.
//! Never prints a value.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;

use anyhow::{Result, bail};
use serde_json::json;

use rpcshark::base::Finding;
use rpcshark::base::json::text_of;
use rpcshark::base::text::clean;
use rpcshark::message::coverage::{Coverage, Seen};
use rpcshark::pdu::{Role, Side};
use rpcshark::pipeline::{self, Config, Expand, Job, Sink};
use rpcshark::source;
use rpcshark::view::Item;

use crate::cli::args::{self, Format};
use crate::cli::captures::Captures;
use crate::cli::exit::Exit;
use crate::cli::{report, setup, terminal};

/// Messages of which no type is known: RPC and direction.
type Untyped = BTreeMap<(String, &'static str), Seen>;

/// Runs the command; exit 1 where the schema lacks something.
pub fn run(args: args::Coverage) -> Result<Exit> {
    let args::Coverage { all, common: args } = args;
    terminal::settle_color(args.output.color);
    let text = match args.output.format {
        None => terminal::stdout_is_terminal(),
        Some(Format::Text) => true,
        Some(Format::Jsonl) => false,
        Some(_) => bail!("schema coverage prints --format text or jsonl"),
    };
    let config = setup::config(&args.schema, &args.input, &args.output, Expand::Carrier)?;
    // Frames are decoded on many threads; counts do not depend on their order.
    let found = Mutex::new((Coverage::default(), Untyped::new()));
    let render = |item: &Item<'_>, _: &Job, _: &mut Vec<u8>| {
        let Ok(mut found) = found.lock() else { return };
        let (coverage, untyped) = &mut *found;
        match item.decoded.ty {
            Some(ty) => {
                coverage.add(&config.schema, ty, &item.decoded.payload, &config.limits, item.number);
            }
            None if item.frame.role == Role::Message => {
                let rpc = item.frame.lane.rpc.as_deref().unwrap_or("(no path)").to_owned();
                let side = if item.frame.lane.side == Side::Request { "request" } else { "response" };
                let seen = untyped.entry((rpc, side)).or_insert(Seen { count: 0, first: item.number });
                *seen = Seen { count: seen.count + 1, first: seen.first.min(item.number) };
            }
            None => {}
        }
    };
    let options = setup::source(&args.input)?;
    let mut captures = Captures::find(&args.files, &options);
    let mut sink = Quiet { failed: false };
    pipeline::run(&config, &mut captures, &render, &mut sink)?;
    let (coverage, untyped) = found.into_inner().unwrap_or_default();
    let mut out = Vec::new();
    if text {
        people(&config, &coverage, &untyped, all, &mut out)?;
    } else {
        lines(&config, &coverage, &untyped, all, &mut out)?;
    }
    io::stdout().write_all(&out)?;
    let whole = coverage.unknown.is_empty() && coverage.numbers.is_empty() && untyped.is_empty();
    Ok(match (captures.failed || sink.failed, whole) {
        (true, _) => Exit::Unusable,
        (false, true) => Exit::Done,
        (false, false) => Exit::No,
    })
}

fn people(config: &Config, found: &Coverage, untyped: &Untyped, all: bool, out: &mut Vec<u8>) -> Result<()> {
    let schema = &config.schema;
    let times = |seen: &Seen| {
        format!(
            "{} time{}, first in frame {}",
            seen.count,
            if seen.count == 1 { "" } else { "s" },
            seen.first
        )
    };
    for ((rpc, side), seen) in untyped {
        writeln!(out, "no type     {} {side}: {}", clean(rpc), times(seen))?;
    }
    for ((ty, number, wire), seen) in &found.unknown {
        let plan = schema.ty(*ty);
        let known = plan.index_of(*number).and_then(|i| plan.field(i));
        let known =
            known.map(|f| format!(" (the schema has {} {})", f.kind.name(), f.name)).unwrap_or_default();
        writeln!(out, "no field    {} {number}, {wire}{known}: {}", plan.name, times(seen))?;
    }
    for ((id, number), seen) in &found.numbers {
        let name = schema.enum_plan(*id).map_or("", |e| &e.name);
        writeln!(out, "no name     {name} {number}: {}", times(seen))?;
    }
    if all {
        for (field, seen) in &found.known {
            let name = schema.field_plan(*field).map_or("", |f| &f.name);
            writeln!(out, "known       {}.{name}: {}", schema.ty(field.ty).name, times(seen))?;
        }
    }
    let mut types: Vec<_> = found.known.keys().map(|field| field.ty).collect();
    types.dedup();
    let fields: usize = types.iter().map(|ty| schema.ty(*ty).fields.len()).sum();
    writeln!(
        out,
        "{} of {fields} fields of {} message types are used; {} fields, {} enum numbers and {} message streams are not known",
        found.known.len(),
        types.len(),
        found.unknown.len(),
        found.numbers.len(),
        untyped.len()
    )?;
    Ok(())
}

fn lines(config: &Config, found: &Coverage, untyped: &Untyped, all: bool, out: &mut Vec<u8>) -> Result<()> {
    let schema = &config.schema;
    for ((rpc, side), seen) in untyped {
        let line = json!({"type": "untyped", "rpc": rpc, "direction": side, "count": seen.count, "frame": seen.first});
        writeln!(out, "{}", text_of(&line))?;
    }
    for ((ty, number, wire), seen) in &found.unknown {
        let line = json!({"type": "unknown-field", "messageType": *schema.ty(*ty).name, "number": number, "wire": wire,
                          "count": seen.count, "frame": seen.first});
        writeln!(out, "{}", text_of(&line))?;
    }
    for ((id, number), seen) in &found.numbers {
        let name = schema.enum_plan(*id).map_or("", |e| &e.name);
        let line = json!({"type": "unknown-enum", "enum": name, "number": number, "count": seen.count, "frame": seen.first});
        writeln!(out, "{}", text_of(&line))?;
    }
    for (field, seen) in found.known.iter().filter(|_| all) {
        let name = schema.field_plan(*field).map_or("", |f| &f.name);
        let line = json!({"type": "field", "messageType": *schema.ty(field.ty).name, "field": name,
                          "count": seen.count, "frame": seen.first});
        writeln!(out, "{}", text_of(&line))?;
    }
    Ok(())
}

/// Takes frames as they are; only what concerns the operator is told.
struct Quiet {
    failed: bool,
}

impl Sink for Quiet {
    fn finding(&mut self, capture: &str, finding: &Finding) {
        report::finding(capture, finding);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
