//! The command line as typed.
//! Never looks at the environment, a file or the terminal; `setup` settles all that.

mod diff;
mod encode;
mod examples;
mod export;
mod runs;
mod schema;
mod view;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use super::completion;

pub use diff::Diff;
pub use encode::{Encode, To};
pub use export::{Export, ExportTo};
pub use runs::{Blobs, Check, Follow, Timeline};
pub use schema::{Coverage, DialectArgs, DialectCommand, SchemaArgs, SchemaCommand};
pub use view::View;

/// Inspect captured Connect, gRPC and gRPC-Web traffic.
///
/// Reads packet captures, HAR files, mitmproxy flows, proxy logs, raw bodies and hex, cuts the streams into
/// frames, and decodes them by the .proto files given at run time. A schema for the Agent Bidi / RunSSE
/// protocol is built in.
#[derive(Parser, Debug)]
#[command(name = "rpcshark", version, max_term_width = 100, after_help = examples::RPCSHARK)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Go on without the settings file (see docs/SHELL.md)
    #[arg(long, global = true, help_heading = "Shell")]
    pub no_config: bool,
    /// Print to the terminal itself, not through a pager
    #[arg(long, global = true, help_heading = "Shell")]
    pub no_pager: bool,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Print one record per frame
    ///
    /// JSON Lines when piped, one coloured line per frame on a terminal.
    #[command(disable_version_flag = true, after_help = examples::DECODE)]
    Decode(Reading),
    /// Show conversations, runs, turns, steps and calls, every request with its answer
    ///
    /// A drawing on a terminal, one event a line (JSON) when piped.
    #[command(after_help = examples::TIMELINE)]
    Timeline(Timeline),
    /// Print what was said: text, thinking, shell output, tool arguments
    #[command(after_help = examples::FOLLOW)]
    Follow(Follow),
    /// Show what changed between two sessions; exit 0 where nothing did, 1 where something did
    ///
    /// Ids, times, chunks, compression and protocol are left out of account: two runs never share them. Read like `git diff`;
    /// one object per change with --format json or jsonl.
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Count calls, frames, bytes, kinds, waits and tokens
    #[command(after_help = examples::STATS)]
    Stats(Reading),
    /// Print the findings alone; exit 1 where one is at the level of --fail-on
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// List the blobs of a capture, check their hashes, write them out
    #[command(after_help = examples::BLOBS)]
    Blobs(Blobs),
    /// Write a session for other programs: a report, a trace, a diagram
    ///
    /// To standard output, or to a file with -o. See docs/EXPORT.md.
    #[command(after_help = examples::EXPORT)]
    Export(Export),
    /// Write records or messages in JSON back to bytes
    ///
    /// Reads what decode prints with --expand none (or carrier) and --show-secrets, a record a line, spread over
    /// lines or in an array; with --as TYPE, bare messages in ProtoJSON.
    #[command(after_help = examples::ENCODE)]
    Encode(Encode),
    /// Say what schema is loaded
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Say what is known of a protocol, and what is not
    #[command(after_help = examples::DIALECT)]
    Dialect(DialectArgs),
    /// Look at a capture: frame list, message tree, bytes, timeline (see docs/VIEW.md)
    ///
    /// Opens at once, however long the capture: frames are read in the background and decoded as they are
    /// shown. ? shows the keys.
    #[command(after_help = examples::VIEW)]
    View(View),
    /// Print what a shell needs to complete options, types, kinds and codes
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page, of one command or of the whole
    #[command(after_help = examples::MAN)]
    Man(Man),
}

/// `completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// bash, zsh, fish, powershell or elvish
    pub shell: String,
}

/// `man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The command whose page to print [default: rpcshark itself]
    pub command: Option<String>,
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub write_to: Option<PathBuf>,
    /// Write over files that are there
    #[arg(long)]
    pub force: bool,
}

/// What every command takes that reads captures; `decode` and `stats` take no more.
#[derive(Args, Debug)]
pub struct Reading {
    /// Capture files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub schema: SchemaOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `--fail-on`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Warnings and errors
    Warning,
    /// Errors
    Error,
}

/// Where schemas come from.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Schema")]
pub struct SchemaOptions {
    /// Root folder for imports; without --proto, every .proto below it is loaded
    #[arg(short = 'I', long = "proto-path", value_name = "DIR")]
    pub proto_path: Vec<PathBuf>,
    /// A .proto file to load
    #[arg(long, value_name = "FILE")]
    pub proto: Vec<PathBuf>,
    /// A compiled descriptor set (protoc --descriptor_set_out, buf build)
    #[arg(long, value_name = "FILE")]
    pub descriptor_set: Vec<PathBuf>,
    /// Leave out the built-in schema and dialect
    #[arg(long)]
    pub no_builtin: bool,
    /// Go on where a file that only options need (google/api, buf/validate) is not there
    #[arg(long)]
    pub allow_missing_imports: bool,
    /// Protocol knowledge for another protocol (see docs/DIALECTS.md)
    #[arg(long, value_name = "FILE")]
    pub dialect: Vec<PathBuf>,
}

/// How the input is read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Input")]
pub struct InputOptions {
    /// Skip detection: pcap, pcapng, har, flow, saz, raw, message, hex, base64, jsonl, sqlite
    #[arg(long, value_name = "FORMAT", add = ArgValueCompleter::new(completion::formats))]
    pub from: Option<String>,
    /// Message type of a body that does not say (raw bodies, hex)
    #[arg(long = "as", value_name = "TYPE", add = ArgValueCompleter::new(completion::types))]
    pub as_type: Option<String>,
    /// Encoding of compressed frames that nothing declares: gzip, deflate, br, zstd, snappy
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// Types of an RPC that no schema lists
    #[arg(long, value_name = "PATH=REQ,RES")]
    pub map: Vec<String>,
    /// TLS secrets, as browsers and curl write with SSLKEYLOGFILE
    #[arg(long, value_name = "FILE")]
    pub keylog: Vec<PathBuf>,
    /// What a raw body is, where nothing says
    #[arg(long, value_enum, default_value = "connect")]
    pub protocol: RawProtocol,
    /// What a port speaks, when detection is wrong
    #[arg(long, value_name = "PORT=http|h2|tls")]
    pub decode_as: Vec<String>,
    /// Keep reading a growing file
    #[arg(long)]
    pub follow: bool,
    /// Longest frame that is kept (K, M and G are binary)
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub max_frame: Option<u64>,
    /// Longest result of undoing one encoding
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub max_inflate: Option<u64>,
    /// Deepest nesting of messages
    #[arg(long, value_name = "N")]
    pub max_depth: Option<usize>,
    /// Any other limit by its name in docs/LIMITS.md, as max_connections=100
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub limits: Vec<String>,
    /// Threads that read, decode and render; 1 does all of it on one, but for waiting at a pipe [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// What is printed.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Only frames that pass a display filter (see docs/FILTERS.md)
    ///
    /// As in Wireshark: kind == "x", message.**.text contains "foo", length > 10K and direction == "response",
    /// findings.severity >= "warning", frame in {1..5, 9}; a field alone asks whether it is there.
    #[arg(short = 'Y', long, value_name = "EXPR", add = ArgValueCompleter::new(completion::filter))]
    pub filter: Option<String>,
    /// Run an expression of jq's over each record and print what it gives, a value a line
    #[arg(long, value_name = "EXPR")]
    pub jq: Option<String>,
    /// With --jq: print text as it is, without quotes
    #[arg(short = 'r', long, requires = "jq")]
    pub raw_output: bool,
    /// With --jq: define $N as the text V
    #[arg(long, num_args = 2, value_names = ["N", "V"], requires = "jq")]
    pub arg: Vec<String>,
    /// Output form [default: text on a terminal, else jsonl]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// A path to print with --format fields; several are several columns
    #[arg(short = 'e', value_name = "PATH")]
    pub fields: Vec<String>,
    /// Settings of --format fields: header=y|n, separator=CHAR (/t, /s), occurrence=a|f|l, aggregator=CHAR, quote=n|d|s
    #[arg(short = 'E', value_name = "KEY=VALUE", value_delimiter = ',')]
    pub field_settings: Vec<String>,
    /// Stop after N records
    #[arg(short = 'c', value_name = "N")]
    pub limit: Option<u64>,
    /// Print nothing: the exit code tells
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Print the number of records alone
    #[arg(long)]
    pub count: bool,
    /// How times are shown in text
    #[arg(long, value_enum, default_value = "relative")]
    pub time: Time,
    /// Add a hex dump of each payload (decode)
    #[arg(short = 'x')]
    pub hex: bool,
    /// Add the message tree with field numbers and types (decode, timeline; check and stats print each frame with it;
    /// in JSON, frames with their `message`)
    #[arg(short = 'V')]
    pub tree: bool,
    /// Colour [default: auto]
    #[arg(long, value_enum)]
    pub color: Option<Color>,
    /// Show credentials instead of [redacted]
    #[arg(long)]
    pub show_secrets: bool,
    /// How far encodings inside fields are opened [default: carrier for jsonl, all elsewhere]
    #[arg(long, value_enum)]
    pub expand: Option<Expand>,
    /// Print unset fields that have no presence
    #[arg(long)]
    pub emit_defaults: bool,
    /// lowerCamelCase keys in messages
    #[arg(long)]
    pub json_names: bool,
    /// Exit with 1 when any part of the capture was damaged
    #[arg(long)]
    pub strict: bool,
}

/// `--protocol`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawProtocol {
    /// 0x02 ends the stream
    Connect,
    /// Only 0x01 is defined
    Grpc,
    /// 0x80 holds trailers
    GrpcWeb,
}

/// `--format`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people
    Text,
    /// One array
    Json,
    /// One object a line
    Jsonl,
    /// The paths given with -e, tab-separated
    Fields,
}

/// `--time`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Seconds since the first frame
    Relative,
    /// Date and time, UTC
    Absolute,
    /// Seconds since the frame before
    Delta,
    /// Seconds since 1970
    Epoch,
}

/// `--color`.
#[derive(ValueEnum, serde::Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `--expand`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expand {
    /// Canonical ProtoJSON throughout
    None,
    /// A carried message becomes the record's message
    Carrier,
    /// Encodings inside fields are opened too
    All,
}

/// Reads `4096`, `64K`, `16M`, `1GiB`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("expected a number of bytes like 65536 or 64M, found '{text}'"))?;
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        unit => return Err(format!("unknown unit '{unit}': use K, M or G")),
    };
    number.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("12"), Ok(12));
        assert!(size("x").is_err() && size("1T").is_err() && size("99999999999G").is_err());
    }
}
