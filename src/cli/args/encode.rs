//! What `encode` takes.
//! Never settles anything.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;

use super::{SchemaOptions, completion};

/// `encode`.
#[derive(Args, Debug)]
pub struct Encode {
    /// Files of JSON; `-`, or none, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub schema: SchemaOptions,
    /// The values are bare messages of this type, not records
    #[arg(long = "as", value_name = "TYPE", add = ArgValueCompleter::new(completion::types))]
    pub as_type: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value = "frames")]
    pub to: To,
    /// Write hex, a line a record
    #[arg(long)]
    pub hex: bool,
    /// Compress again what was compressed, and bare messages: gzip
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// With --to carrier: the id that joins the message to its stream [default: the record's]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// `--to`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Five bytes of envelope and the message, one after another
    Frames,
    /// One message alone
    Message,
    /// Frames in hex, a line each
    Hex,
    /// The message inside the message that the dialect has to carry it
    Carrier,
}
