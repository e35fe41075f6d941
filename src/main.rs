//! Parses the command line, runs the command, sets the exit code; nothing else.
fn main() {}
