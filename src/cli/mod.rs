//! The only door: arguments, settings, commands, messages to the operator, exit codes.
//! Never decodes; the library does.

mod args;
mod captures;
mod commands;
mod completion;
mod config_file;
mod exit;
mod expression;
mod jq;
mod pager;
mod private;
mod progress;
mod records;
mod report;
mod screen;
mod setup;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use anyhow::Result;

use args::{Blobs, Check, Cli, Command, Follow, OutputOptions, Timeline};
use config_file::Settings;
use exit::Exit;

/// Runs the program.
pub fn run() -> ExitCode {
    // A shell's question is answered, and the program ends.
    clap_complete::CompleteEnv::with_factory(Cli::command).var(completion::VARIABLE).complete();
    let mut cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() {
                report::usage(&error);
                return Exit::Unusable.into();
            }
            // Help. Nothing can be done where it cannot be written.
            let _ = error.print();
            return Exit::Done.into();
        }
    };
    let result = settings(&mut cli).and_then(|settings| {
        let _pager = pages(&cli).then(|| pager::start(settings.pager.as_deref()));
        jq::with_room(wants_jq(&cli), move || command(cli.command))
    });
    match result {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            report::error(&error);
            Exit::Unusable.into()
        }
    }
}

/// The settings file, applied to what was typed.
fn settings(cli: &mut Cli) -> Result<Settings> {
    let settings = if cli.no_config { Settings::default() } else { config_file::load()? };
    settings.apply(cli);
    Ok(settings)
}

/// Whether what a command prints is text to page through: not what comes live, nor nothing.
fn pages(cli: &Cli) -> bool {
    let silent = |output: &OutputOptions| output.quiet || output.count;
    !cli.no_pager
        && match &cli.command {
            Command::Decode(c)
            | Command::Stats(c)
            | Command::Timeline(Timeline { common: c, .. })
            | Command::Follow(Follow { common: c, .. })
            | Command::Check(Check { common: c, .. })
            | Command::Blobs(Blobs { common: c, .. }) => !c.input.follow && !silent(&c.output),
            Command::Diff(c) => !silent(&c.output),
            Command::Schema(_) | Command::Dialect(_) | Command::Man(_) => true,
            Command::Export(_) | Command::Encode(_) | Command::Completions(_) | Command::View(_) => false,
        }
}

/// Whether records go through an expression of jq's language.
fn wants_jq(cli: &Cli) -> bool {
    match &cli.command {
        Command::Decode(c)
        | Command::Stats(c)
        | Command::Timeline(Timeline { common: c, .. })
        | Command::Follow(Follow { common: c, .. })
        | Command::Check(Check { common: c, .. })
        | Command::Blobs(Blobs { common: c, .. }) => c.output.jq.is_some(),
        Command::Diff(c) => c.output.jq.is_some(),
        _ => false,
    }
}

fn command(command: Command) -> Result<Exit> {
    match command {
        Command::Decode(args) => commands::decode::run(args),
        Command::Timeline(args) => commands::timeline::run(args),
        Command::Follow(args) => commands::follow::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Stats(args) => commands::stats::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Blobs(args) => commands::blobs::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Encode(args) => commands::encode::run(args),
        Command::Schema(args) => commands::schema::run(args),
        Command::Dialect(args) => commands::dialect::run(args),
        Command::View(args) => commands::view::run(args),
        Command::Completions(args) => commands::shell::completions(args),
        Command::Man(args) => commands::shell::man(args),
    }
}
