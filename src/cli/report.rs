//! What the operator is told on standard error: errors with a caret, findings of no frame, the summary.
//! Never writes a byte of a capture or an argument that acts on a terminal.

use std::io::Write;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};

use rpcshark::base::Finding;
use rpcshark::base::text::clean;
use rpcshark::{dialect, schema, source};

use super::expression::ExpressionError;

/// Prints an error of the operator's.
pub fn error(error: &anyhow::Error) {
    if let Some(error) = error.downcast_ref::<schema::Error>() {
        return schema_error("error", error);
    }
    if let Some(error) = error.downcast_ref::<dialect::Error>() {
        return caret("error", &error.file, &error.text, error.span.clone(), &error.message, None);
    }
    if let Some(error) = error.downcast_ref::<ExpressionError>() {
        let help = error.help.as_deref();
        return caret("error", error.option, &error.code, error.span.clone(), &error.text, help);
    }
    line(&format!("error: {}", clean(&format!("{error:#}"))));
}

/// Prints a mistake in the command line, which quotes it.
pub fn usage(error: &clap::Error) {
    let text = error.render().to_string();
    text.trim_end().lines().for_each(|text| line(&clean(text)));
}

/// Prints a schema's error with a caret where it has a place.
pub fn schema_error(level: &str, error: &schema::Error) {
    match (&error.source_text, &error.span) {
        (Some(text), Some(span)) => {
            let file = match error.place {
                Some((line, column)) => format!("{}:{line}:{column}", error.file),
                None => error.file.clone(),
            };
            caret(level, &file, text, span.clone(), &error.message, error.help.as_deref());
        }
        _ => line(&format!("{level}: {}", clean(&error.to_string()))),
    }
}

fn caret(
    level: &str,
    file: &str,
    text: &str,
    span: std::ops::Range<usize>,
    message: &str,
    help: Option<&str>,
) {
    line(&format!("{level}: {}: {}", clean(file), clean(message)));
    let (text, span) = around(text, span);
    // Only tabs and newlines may stay as they are in the quoted source: everything else is cleaned, of the
    // same length in characters so that the caret stands where it should.
    let mut source: String = text
        .chars()
        .map(|c| if c != '\n' && c != '\t' && rpcshark::base::text::is_unsafe(c) { '?' } else { c })
        .collect();
    let (start, end) = (text[..span.start].chars().count(), text[..span.end].chars().count());
    if start >= source.chars().count() {
        // Something is missing at the end: the caret needs a place to stand.
        source.push(' ');
    }
    let byte = |n: usize| source.char_indices().nth(n).map_or(source.len(), |(at, _)| at);
    let (start, end) = (byte(start), byte(end));
    let mut diagnostic = MietteDiagnostic::new(clean(message))
        .with_label(LabeledSpan::at(start..end.max(start + usize::from(start < source.len())), "here"));
    if let Some(help) = help {
        diagnostic = diagnostic.with_help(clean(help));
    }
    // The drawing's head has line and column of its own.
    let name = file.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
    let report = Report::new(diagnostic).with_source_code(NamedSource::new(clean(name), source));
    let theme = if colored::control::SHOULD_COLORIZE.should_colorize() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut out = String::new();
    if GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .render_report(&mut out, report.as_ref())
        .is_ok()
    {
        let shown: Vec<&str> = out.lines().skip(1).collect();
        line(shown.join("\n").trim_end());
    }
}

/// The text that is quoted, and the place in it: all of it, or a part of one line where lines are so long that nobody
/// could read them, nor a caret be drawn.
fn around(text: &str, span: std::ops::Range<usize>) -> (&str, std::ops::Range<usize>) {
    const LONG: usize = 2_000;
    const SHOWN: usize = 100;
    let boundary =
        |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
    if text.lines().all(|line| line.len() <= LONG) {
        return (text, start..end);
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let from = boundary(start.saturating_sub(SHOWN)).max(line_start);
    let to = boundary(start + SHOWN).min(line_end);
    (&text[from..to], start - from..end.min(to) - from)
}

/// Prints a finding that belongs to no frame.
pub fn finding(capture: &str, finding: &Finding) {
    let place = finding.span.map(|s| format!(" at offset {}", s.start)).unwrap_or_default();
    let (level, code) = (finding.severity.name(), finding.code.name());
    line(&format!("{level}[{code}]: {}{place}: {}", clean(capture), clean(&finding.text)));
}

/// Prints that a capture, or a part of one, could not be read.
pub fn unread(error: &source::Error) {
    line(&format!("error: {}", clean(&error.to_string())));
}

/// Prints how many frames there were, and how many findings: notes, warnings, errors.
pub fn summary(frames: u64, [notes, warnings, errors]: [u64; 3]) {
    let plural = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    line(&format!(
        "{}, {}, {}, {}",
        plural(frames, "frame"),
        plural(errors, "error"),
        plural(warnings, "warning"),
        plural(notes, "note")
    ));
}

/// Prints a line on standard error; where that is closed, nobody wants to know.
pub fn line(text: &str) {
    super::progress::clear();
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_quoted_in_part() {
        assert_eq!(around("a b c", 2..3), ("a b c", 2..3));
        assert_eq!(around("é", 1..9), ("é", 0..2));
        let long = format!("first\n{}here{}\nlast", "é".repeat(40_000), "x".repeat(40_000));
        let at = long.find("here").unwrap_or(0);
        let (part, span) = around(&long, at..at + 4);
        assert!(part.len() < 300 && &part[span.clone()] == "here", "{part} {span:?}");
        let (part, span) = around(&long, 80_000..80_001);
        assert!(part.get(span).is_some());
    }
}
