//! Records on their way out: through `--jq` or into columns, counted, limited, one a line or in an array.
//! Never holds more than one.

use std::io::{self, BufWriter, Stdout, Write};

use anyhow::{Result, bail};

use rpcshark::base::text::{clean, nearest};
use rpcshark::view::fields::{Columns, Occurrence};

use super::args::{Format, OutputOptions};
use super::jq::{self, Jq, Outcome};
use super::{report, terminal};

/// A buffered standard output.
pub type Out = BufWriter<Stdout>;

/// Standard output, buffered. What frames rendered together come to is mostly longer, and goes out without a copy.
pub fn out() -> Out {
    BufWriter::with_capacity(1 << 15, io::stdout())
}

/// `text` on a terminal, `jsonl` in a pipe, unless said; `-V`, `-x` mean text, `-e` means fields, `--jq` JSON.
pub fn settle_format(output: &OutputOptions) -> Result<Format> {
    let unsaid = if terminal::stdout_is_terminal() { Format::Text } else { Format::Jsonl };
    settle(output, unsaid)
}

/// The same, with what it is where nothing says.
pub fn settle(output: &OutputOptions, unsaid: Format) -> Result<Format> {
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
        None => unsaid,
    };
    if format == Format::Fields && output.fields.is_empty() {
        bail!("--format fields: name at least one path with -e, as in -e kind -e message.**.text");
    }
    Ok(format)
}

/// The columns of `-e` and `-E`.
pub fn columns(output: &OutputOptions) -> Result<Columns> {
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

/// As much of a record as names it.
#[derive(serde::Deserialize)]
struct Numbered {
    frame: Option<u64>,
}

/// Where records go.
pub struct Records {
    /// Standard output.
    pub out: Out,
    format: Format,
    columns: Columns,
    /// Columns that no record had by now, and a record's names, to say so at the end.
    empty: Vec<String>,
    names: Vec<String>,
    silent: bool,
    count: bool,
    limit: u64,
    jq: Option<Jq>,
    jq_outputs: u64,
    /// Whether the expression failed on a record.
    pub failed: bool,
    /// Records that were taken.
    pub written: u64,
}

impl Records {
    /// For what the operator asked; a mistake in an expression is told before any input is read.
    pub fn new(output: &OutputOptions, format: Format) -> Result<Self> {
        let jq = output.jq.as_ref().map(|code| {
            let terminal = terminal::stdout_is_terminal();
            Jq::new(code, &output.arg, output.raw_output, terminal)
        });
        Ok(Self {
            out: out(),
            format,
            columns: columns(output)?,
            empty: output.fields.clone(),
            names: Vec::new(),
            silent: output.quiet || output.count,
            count: output.count,
            limit: output.limit.unwrap_or(u64::MAX),
            jq: jq.transpose()?,
            jq_outputs: 0,
            failed: false,
            written: 0,
        })
    }

    /// The form of the output.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether nothing but a count or an exit code is wanted.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether another record is wanted.
    pub fn wants_more(&self) -> bool {
        self.written < self.limit
    }

    /// Writes what comes before the first record.
    pub fn begin(&mut self) -> io::Result<()> {
        if self.silent {
            return Ok(());
        }
        match self.format {
            Format::Json => self.out.write_all(b"["),
            Format::Fields if self.columns.header => writeln!(self.out, "{}", self.columns.header_line()),
            _ => Ok(()),
        }
    }

    /// Takes a record, a line of JSON; false where no more is wanted.
    pub fn record(&mut self, line: &[u8]) -> io::Result<bool> {
        if self.format != Format::Fields || self.silent {
            return self.rendered(line);
        }
        match serde_json::from_slice(line) {
            Ok(record) => {
                self.note_empty(&record);
                let mut columns = self.columns.line(&record);
                columns.push('\n');
                self.rendered(columns.as_bytes())
            }
            Err(_) => Ok(true),
        }
    }

    fn note_empty(&mut self, record: &serde_json::Value) {
        if self.empty.is_empty() {
            return;
        }
        self.empty.retain(|path| !Columns::has(path, record));
        for name in record.as_object().into_iter().flat_map(|object| object.keys()) {
            if !self.names.contains(name) {
                self.names.push(name.clone());
            }
        }
    }

    /// Says which columns have stayed empty.
    fn tell_empty(&self) {
        if self.names.is_empty() {
            return;
        }
        for path in &self.empty {
            let near = nearest(path, self.names.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean '{}'?", clean(near))).unwrap_or_default();
            report::line(&format!("note: -e {}: no record has it{near}", clean(path)));
        }
    }

    /// Takes records, a line each.
    pub fn records(&mut self, lines: &[u8]) -> io::Result<bool> {
        for line in lines.split_inclusive(|b| *b == b'\n') {
            if !self.record(line)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all records are wanted, as they are.
    pub fn takes_all(&self) -> bool {
        self.limit == u64::MAX && self.format != Format::Json && !self.silent && self.jq.is_none()
    }

    /// Takes `count` records as they are to be written, where [`Records::takes_all`].
    pub fn all(&mut self, records: &[u8], count: u64) -> io::Result<()> {
        self.written += count;
        self.out.write_all(records)
    }

    /// Takes what is a text or a record, as the form of the output is; nothing where it is empty.
    pub fn either(&mut self, rendered: &[u8]) -> io::Result<bool> {
        match rendered {
            [] => Ok(true),
            _ if self.format == Format::Text => self.rendered(rendered),
            _ => self.record(rendered),
        }
    }

    /// Takes a record as it is to be written; false where no more is wanted.
    pub fn rendered(&mut self, record: &[u8]) -> io::Result<bool> {
        if !self.wants_more() {
            return Ok(false);
        }
        self.written += 1;
        if self.jq.is_some() {
            return Ok(self.through_jq(record)? && self.wants_more());
        }
        if self.silent {
            return Ok(self.wants_more());
        }
        if self.format == Format::Json {
            let record = record.strip_suffix(b"\n").unwrap_or(record);
            self.out.write_all(if self.written > 1 { b",\n" } else { b"\n" })?;
            self.out.write_all(record)?;
        } else {
            self.out.write_all(record)?;
        }
        Ok(self.wants_more())
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
            self.failed = true;
            let which = match serde_json::from_slice::<Numbered>(record) {
                Ok(Numbered { frame: Some(frame) }) => format!("frame {frame}"),
                _ => format!("record {}", self.written),
            };
            report::line(&format!("error: --jq: {which}: {}", clean(text)));
        }
        Ok(!matches!(outcome, Outcome::Halted))
    }

    /// Writes what comes after the last record.
    pub fn end(&mut self) -> io::Result<()> {
        if self.format == Format::Json && !self.silent {
            self.out.write_all(b"]\n")?;
        }
        if self.count {
            writeln!(self.out, "{}", self.written)?;
        }
        self.tell_empty();
        self.out.flush()
    }
}
