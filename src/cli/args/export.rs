//! The arguments of `export`.
//! Never more than what is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Reading;

/// `export`.
#[derive(Args, Debug)]
pub struct Export {
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportTo,
    /// Write into this file [default: standard output]
    #[arg(short = 'o', long, value_name = "OUT")]
    pub output_file: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub common: Reading,
}

/// What `export` writes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportTo {
    /// A report for a browser, in one file
    Html,
    /// A trace for ui.perfetto.dev and Chrome (JSON)
    Perfetto,
    /// A sequence diagram for a README or an issue
    Mermaid,
    /// Spans for Jaeger, Tempo or a collector (OpenTelemetry's JSON)
    Otlp,
    /// Tables for DuckDB, pandas or Spark, a file each in the folder -o
    Parquet,
    /// The packets, with findings as comments that Wireshark shows; needs --show-secrets
    Pcapng,
}
