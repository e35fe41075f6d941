//! What commands over runs take.
//! Never settles anything.

use std::path::PathBuf;

use clap::Args;

use super::{FailOn, Reading};

/// `timeline`.
#[derive(Args, Debug)]
pub struct Timeline {
    /// Instead of the timeline, what each run had come to with this frame: text so far, latest snapshots, what
    /// was open, blobs
    #[arg(long, value_name = "FRAME")]
    pub at: Option<u64>,
    #[command(flatten)]
    pub common: Reading,
}

/// `follow`.
#[derive(Args, Debug)]
pub struct Follow {
    /// What to print: text, thinking, shell, args, another of the dialect's, or all
    #[arg(long, value_name = "NAME", default_value = "text", value_delimiter = ',')]
    pub stream: Vec<String>,
    #[command(flatten)]
    pub common: Reading,
}

/// `check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Exit with 1 where a finding is at this level or above
    #[arg(long, value_enum, default_value = "error", value_name = "LEVEL")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub common: Reading,
}

/// `blobs`.
#[derive(Args, Debug)]
pub struct Blobs {
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
    pub common: Reading,
}
