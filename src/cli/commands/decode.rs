//! `decode`: one record per frame.
//! Never buffers more than a batch.

use std::io::{self, BufWriter, Write};

use anyhow::{Result, bail};

use rpcshark::base::Finding;
use rpcshark::base::text::clean;
use rpcshark::pipeline::{self, Expand, Job, Sink};
use rpcshark::source;
use rpcshark::view::fields::{Columns, Occurrence};
use rpcshark::view::text::{Clock, Layout, TimeStyle};
use rpcshark::view::{self, Item};

use crate::cli::args::{Decode, Format, OutputOptions, Time};
use crate::cli::captures::Captures;
use crate::cli::exit::Exit;
use crate::cli::expression::{self, Moment};
use crate::cli::jq::{self, Jq, Outcome};
use crate::cli::{report, setup, terminal};

/// Runs the command.
pub fn run(args: Decode) -> Result<Exit> {
    terminal::settle_color(args.output.color);
    let format = settle_format(&args.output)?;
    let expand = if format == Format::Text { Expand::All } else { Expand::Carrier };
    let mut config = setup::config(&args.schema, &args.input, &args.output, expand)?;
    if let Some(text) = &args.output.filter {
        config.filter = Some(expression::filter(text, &config.schema, &config.plan, Moment::Frame)?);
    }
    let jq = args.output.jq.as_ref().map(|code| {
        let terminal = terminal::stdout_is_terminal();
        Jq::new(code, &args.output.arg, args.output.raw_output, terminal)
    });
    let jq = jq.transpose()?;
    let options = setup::source(&args.input)?;
    let mut captures = Captures::find(&args.files, &options);
    let columns = columns(&args.output)?;
    let layout = layout(&args.output);
    let render = |item: &Item<'_>, job: &Job, out: &mut Vec<u8>| match format {
        Format::Jsonl | Format::Json => view::jsonl::write(item, out),
        Format::Text => {
            let mut text = String::new();
            let clock = Clock { first: job.clock.0, before: job.clock.1 };
            view::text::write(item, &config.schema, &layout, clock, &mut text);
            out.extend_from_slice(text.as_bytes());
        }
        Format::Fields => {
            let mut record = Vec::new();
            view::jsonl::write(item, &mut record);
            if let Ok(record) = serde_json::from_slice(&record) {
                out.extend_from_slice(columns.line(&record).as_bytes());
                out.push(b'\n');
            }
        }
    };
    let mut output = Output {
        out: BufWriter::with_capacity(1 << 16, io::stdout()),
        format,
        silent: args.output.quiet || args.output.count,
        limit: args.output.limit.unwrap_or(u64::MAX),
        jq,
        jq_failed: false,
        jq_outputs: 0,
        written: 0,
        failed: false,
    };
    output.begin(&columns)?;
    let summary = if output.limit == 0 {
        pipeline::Summary::default()
    } else {
        pipeline::run(&config, &mut captures, &render, &mut output)?
    };
    output.end()?;
    if args.output.count {
        writeln!(output.out, "{}", output.written)?;
    }
    output.out.flush()?;
    let failed = output.failed || output.jq_failed || captures.failed;
    // The program ends here: its many small pieces need not be given back one by one.
    std::mem::forget(config);
    if !args.output.quiet {
        summarize(&summary);
    }
    Ok(match failed {
        true => Exit::Unusable,
        false if args.output.filter.is_some() && output.written == 0 && output.limit > 0 => Exit::No,
        false if args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

/// `text` on a terminal, `jsonl` in a pipe, unless said; `-V`, `-x` mean text, `-e` means fields.
fn settle_format(output: &OutputOptions) -> Result<Format> {
    let format = match output.format {
        Some(Format::Text | Format::Fields) if output.jq.is_some() => {
            bail!("--jq writes JSON: it goes with --format jsonl and json");
        }
        Some(format) => format,
        None if output.jq.is_some() => match output.fields.is_empty() && !output.tree && !output.hex {
            true => Format::Jsonl,
            false => bail!("--jq writes JSON: it does not go with -e, -V and -x"),
        },
        None if !output.fields.is_empty() => Format::Fields,
        None if output.tree || output.hex => Format::Text,
        None if terminal::stdout_is_terminal() => Format::Text,
        None => Format::Jsonl,
    };
    if format == Format::Fields && output.fields.is_empty() {
        bail!("--format fields: name at least one path with -e, as in -e kind -e message.**.text");
    }
    Ok(format)
}

fn layout(output: &OutputOptions) -> Layout {
    Layout {
        width: if terminal::stdout_is_terminal() { terminal::width() } else { 200 },
        time: match output.time {
            Time::Relative => TimeStyle::Relative,
            Time::Absolute => TimeStyle::Absolute,
            Time::Delta => TimeStyle::Delta,
            Time::Epoch => TimeStyle::Epoch,
        },
        tree: output.tree,
        hex: output.hex,
    }
}

fn columns(output: &OutputOptions) -> Result<Columns> {
    let mut columns = Columns {
        paths: output.fields.clone(),
        header: false,
        separator: '\t',
        occurrence: Occurrence::All,
        aggregator: ',',
        quote: None,
    };
    for setting in &output.field_settings {
        let (key, value) = setting.split_once('=').unwrap_or((setting, "y"));
        let character = || match value {
            "/t" => Ok('\t'),
            "/s" => Ok(' '),
            _ => match value.chars().collect::<Vec<_>>()[..] {
                [one] => Ok(one),
                _ => bail!("-E {key}: expected one character, /t or /s, found '{}'", clean(value)),
            },
        };
        match (key, value) {
            ("header", "y" | "n") => columns.header = value == "y",
            ("separator", _) => columns.separator = character()?,
            ("aggregator", _) => columns.aggregator = character()?,
            ("occurrence", "f") => columns.occurrence = Occurrence::First,
            ("occurrence", "l") => columns.occurrence = Occurrence::Last,
            ("occurrence", "a") => columns.occurrence = Occurrence::All,
            ("quote", "d") => columns.quote = Some('"'),
            ("quote", "s") => columns.quote = Some('\''),
            ("quote", "n") => columns.quote = None,
            _ => bail!(
                "-E: expected header=y|n, separator=C, aggregator=C, occurrence=f|l|a or quote=d|s|n, found '{}'",
                clean(setting)
            ),
        }
    }
    Ok(columns)
}

fn summarize(summary: &pipeline::Summary) {
    let [notes, warnings, errors] = summary.findings;
    let plural = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    report::line(&format!(
        "{}, {}, {}, {}",
        plural(summary.frames, "frame"),
        plural(errors, "error"),
        plural(warnings, "warning"),
        plural(notes, "note")
    ));
}

/// As much of a record as names it.
#[derive(serde::Deserialize)]
struct Numbered {
    frame: u64,
}

struct Output {
    out: BufWriter<io::Stdout>,
    format: Format,
    silent: bool,
    limit: u64,
    jq: Option<Jq>,
    /// Whether the expression failed on a record.
    jq_failed: bool,
    jq_outputs: u64,
    written: u64,
    failed: bool,
}

impl Output {
    fn begin(&mut self, columns: &Columns) -> io::Result<()> {
        if self.silent {
            return Ok(());
        }
        match self.format {
            Format::Json => self.out.write_all(b"["),
            Format::Fields if columns.header => writeln!(self.out, "{}", columns.header_line()),
            _ => Ok(()),
        }
    }

    /// Writes what the expression makes of a record; false where it halts.
    fn through_jq(&mut self, record: &[u8]) -> io::Result<bool> {
        let Some(jq) = &self.jq else { return Ok(true) };
        let (out, silent, array, outputs) =
            (&mut self.out, self.silent, self.format == Format::Json, &mut self.jq_outputs);
        let outcome = jq.run(record, &mut |text| {
            *outputs += 1;
            match (silent, array) {
                (true, _) => Ok(()),
                (_, true) => {
                    out.write_all(if *outputs > 1 { b",\n" } else { b"\n" })?;
                    out.write_all(text)
                }
                (_, false) => jq::line(out, text),
            }
        })?;
        if let Outcome::Failed(text) = &outcome {
            self.jq_failed = true;
            let frame = serde_json::from_slice::<Numbered>(record).map_or(0, |r| r.frame);
            report::line(&format!("error: --jq: frame {frame}: {}", clean(text)));
        }
        Ok(!matches!(outcome, Outcome::Halted))
    }

    fn end(&mut self) -> io::Result<()> {
        if self.format == Format::Json && !self.silent { self.out.write_all(b"]\n") } else { Ok(()) }
    }
}

impl Sink for Output {
    fn frames(&mut self, rendered: &pipeline::Rendered) -> io::Result<bool> {
        let wanted = rendered.iter().filter(|r| !r.is_empty());
        if self.limit == u64::MAX && self.format != Format::Json && !self.silent && self.jq.is_none() {
            self.written += wanted.count() as u64;
            self.out.write_all(rendered.bytes())?;
            return Ok(true);
        }
        for record in wanted {
            if self.written >= self.limit {
                return Ok(false);
            }
            self.written += 1;
            if self.jq.is_some() {
                if !self.through_jq(record)? {
                    return Ok(false);
                }
                continue;
            }
            if self.silent {
                continue;
            }
            if self.format == Format::Json {
                let record = record.strip_suffix(b"\n").unwrap_or(record);
                self.out.write_all(if self.written > 1 { b",\n" } else { b"\n" })?;
                self.out.write_all(record)?;
            } else {
                self.out.write_all(record)?;
            }
        }
        Ok(self.written < self.limit)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        report::finding(capture, finding);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::line(&format!("error: {}", clean(&error.to_string())));
    }
}
