//! The arguments of `diff`.
//! Never more than what is typed.

use std::path::PathBuf;

use clap::Args;

use super::{InputOptions, OutputOptions, SchemaOptions};

/// `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// The session before: a capture or a folder; `-` is standard input
    #[arg(value_name = "A")]
    pub left: PathBuf,
    /// The session after
    #[arg(value_name = "B")]
    pub right: PathBuf,
    /// Count the changes by kind of message instead of showing them
    #[arg(long)]
    pub stat: bool,
    /// Compare only this field and what is below it (`*` is any one step, `**` any number)
    #[arg(long, value_name = "PATH")]
    pub only: Vec<String>,
    /// Leave this field and what is below it out
    #[arg(long, value_name = "PATH")]
    pub ignore: Vec<String>,
    /// Normalise nothing: ids, times, keep-alives, pieces and ends as they are
    #[arg(long)]
    pub raw: bool,
    /// Compare these two runs alone, by id, the beginning of an id, or number
    #[arg(long, value_name = "ID:ID")]
    pub run: Option<String>,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}
