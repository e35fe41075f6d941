//! What commands over runs take.
//! Never settles anything.

use std::path::PathBuf;

use clap::Args;

use super::{Correlate, FailOn, InputOptions, OutputOptions, SchemaOptions};

/// `timeline`.
#[derive(Args, Debug)]
pub struct Timeline {
    /// Instead of the timeline, what each run had come to with this frame: text so far, latest snapshots, what
    /// was open, blobs
    #[arg(long, value_name = "FRAME")]
    pub at: Option<u64>,
    #[command(flatten)]
    pub common: Correlate,
}

/// `follow`.
#[derive(Args, Debug)]
pub struct Follow {
    /// Capture files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to print: text, thinking, shell, args, another of the dialect's, or all
    #[arg(long, value_name = "NAME", default_value = "text", value_delimiter = ',')]
    pub stream: Vec<String>,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Capture files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Exit with 1 where a finding is at this level or above
    #[arg(long, value_enum, default_value = "error", value_name = "LEVEL")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `blobs`.
#[derive(Args, Debug)]
pub struct Blobs {
    /// Capture files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only blobs whose id begins so (hex)
    #[arg(long, value_name = "ID")]
    pub id: Vec<String>,
    /// Write each blob into this folder, under its id
    #[arg(long, value_name = "DIR")]
    pub write_to: Option<PathBuf>,
    /// Write over files that are there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}
