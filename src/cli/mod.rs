//! The only door: arguments, settings, commands, messages to the operator, exit codes.
//! Never decodes; the library does.

mod args;
mod captures;
mod commands;
mod exit;
mod expression;
mod jq;
mod records;
mod report;
mod setup;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;

/// Runs the program.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let failed = error.use_stderr();
            // Nothing can be done where the message itself cannot be written.
            let _ = error.print();
            return if failed { Exit::Unusable } else { Exit::Done }.into();
        }
    };
    let result = match cli.command {
        Command::Decode(args) => commands::decode::run(args),
        Command::Timeline(args) => commands::timeline::run(args),
        Command::Follow(args) => commands::follow::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Stats(args) => commands::stats::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Blobs(args) => commands::blobs::run(args),
        Command::Encode(args) => commands::encode::run(args),
        Command::Schema(args) => commands::schema::run(args),
        Command::Dialect(args) => commands::dialect::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            report::error(&error);
            Exit::Unusable.into()
        }
    }
}
