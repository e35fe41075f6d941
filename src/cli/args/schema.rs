//! What `schema` and `dialect` take.
//! Never settles anything.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::{Reading, SchemaOptions, completion, examples};

/// `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// What to print.
    #[command(subcommand)]
    pub command: SchemaCommand,
}

/// The commands of `schema`.
#[derive(Subcommand, Debug)]
pub enum SchemaCommand {
    /// List the methods, messages and enums that are loaded
    #[command(after_help = examples::SCHEMA_LIST)]
    List {
        #[command(flatten)]
        schema: SchemaOptions,
    },
    /// Show a message, enum or service with its fields
    #[command(after_help = examples::SCHEMA_SHOW)]
    Show {
        /// Full name of a message, enum or service
        #[arg(add = ArgValueCompleter::new(completion::types))]
        name: String,
        #[command(flatten)]
        schema: SchemaOptions,
    },
    /// Write what is loaded as one descriptor set, imports included
    #[command(after_help = examples::SCHEMA_COMPILE)]
    Compile {
        /// The file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Write over a file that is there
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        schema: SchemaOptions,
    },
    /// Say what differs between two schemas, and what breaks the wire; exit 1 where something does
    #[command(after_help = examples::SCHEMA_DIFF)]
    Diff {
        /// The schema before: a folder of .proto files, a .proto file or a descriptor set
        #[arg(value_name = "A")]
        left: PathBuf,
        /// The schema after
        #[arg(value_name = "B")]
        right: PathBuf,
        /// Only what messages on the wire do not survive
        #[arg(long)]
        breaking: bool,
    },
    /// Say what a capture uses that the schema does not know
    #[command(after_help = examples::SCHEMA_COVERAGE)]
    Coverage(Box<Coverage>),
}

/// `schema coverage`.
#[derive(Args, Debug)]
pub struct Coverage {
    /// List what the schema does know, too
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub common: Reading,
}

/// `dialect`.
#[derive(Args, Debug)]
pub struct DialectArgs {
    /// What to print.
    #[command(subcommand)]
    pub command: DialectCommand,
}

/// The commands of `dialect`.
#[derive(Subcommand, Debug)]
pub enum DialectCommand {
    /// Say whether the names of a dialect exist, and what no rule covers
    ///
    /// Exit 1 where the built-in dialect has names that the schema lacks; a dialect that is given must
    /// resolve whole.
    #[command(after_help = examples::DIALECT_CHECK)]
    Check {
        /// A dialect, or a folder with .proto files and their dialect (.txtpb) [default: the built-in one]
        #[arg(value_name = "DIR|FILE")]
        path: Vec<PathBuf>,
        /// List every name, not the first ten of each kind
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        schema: SchemaOptions,
    },
    /// List the rules that hold for the schema
    #[command(after_help = examples::DIALECT_SHOW)]
    Show {
        /// A dialect, or a folder with .proto files and their dialect (.txtpb) [default: the built-in one]
        #[arg(value_name = "DIR|FILE")]
        path: Vec<PathBuf>,
        #[command(flatten)]
        schema: SchemaOptions,
    },
}
