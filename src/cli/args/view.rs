//! The arguments of `view`.
//! Never more than what is typed.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::{Color, InputOptions, SchemaOptions, Time};
use crate::cli::completion;

/// `view`.
#[derive(Args, Debug)]
pub struct View {
    /// Capture files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Columns of the list: frame, time, call, direction, kind, length, flags, rpc, conn, stream, type, protocol, capture,
    /// findings, info, or paths of the record (ids.call_id, message.**.path)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Only frames that pass a display filter (see docs/FILTERS.md)
    #[arg(short = 'Y', long, value_name = "EXPR", add = ArgValueCompleter::new(completion::filter))]
    pub filter: Option<String>,
    /// How times are shown
    #[arg(long, value_enum, default_value = "relative")]
    pub time: Time,
    /// Write what is copied into this new file, in place of the terminal's clipboard
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Colour
    #[arg(long, value_enum)]
    pub color: Option<Color>,
    /// Show credentials instead of [redacted]
    #[arg(long)]
    pub show_secrets: bool,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
}
