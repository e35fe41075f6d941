//! What the terminal can do, settled once: colour and width.
//! Never asked again after `setup`.

use std::env;
use std::io::IsTerminal;
use std::sync::OnceLock;

use super::args::Color;

/// Whether standard output is a terminal, or was one before a pager came between.
pub fn stdout_is_terminal() -> bool {
    static FIRST: OnceLock<bool> = OnceLock::new();
    *FIRST.get_or_init(|| std::io::stdout().is_terminal())
}

/// Settles colour for the whole run. `--color` wins; then NO_COLOR, CLICOLOR_FORCE and TERM=dumb as their
/// conventions say; then whether standard output is a terminal.
pub fn settle_color(choice: Option<Color>) {
    let set = |name: &str| env::var_os(name).is_some_and(|v| !v.is_empty());
    let forced = set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE").is_some_and(|v| v != "0");
    let dumb = env::var_os("TERM").is_some_and(|v| v == "dumb");
    let on = match choice.unwrap_or(Color::Auto) {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto => forced || stdout_is_terminal() && !dumb,
    };
    colored::control::set_override(on);
}

/// Columns of the terminal; 80 where there is none, or COLUMNS where it is set.
pub fn width() -> usize {
    let told = env::var("COLUMNS").ok().and_then(|v| v.parse().ok());
    told.or_else(|| terminal_size::terminal_size().map(|(w, _)| usize::from(w.0)))
        .unwrap_or(80)
        .clamp(40, 1_000)
}
