//! Parses the command line, runs the command, sets the exit code; nothing else.
//! Never holds logic of its own.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
