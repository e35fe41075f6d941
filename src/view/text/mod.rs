//! Frames for a person: one line each, with tree and hex on demand.
//! Never wider than it is told, never a raw control byte; colour is settled by the caller.

pub mod diff;
mod head;
mod hex;
pub mod label;
mod short;
pub mod state;
pub mod timeline;
pub(crate) mod tree;

use std::fmt::Write;

use colored::Colorize;

use crate::base::text::{clean, push_clean};
use crate::base::{Finding, Severity, Timestamp};
use crate::pdu::{Role, Side};
use crate::schema::Schema;

use super::Item;

pub use hex::dump;
pub use short::message as short;

/// Bytes of one payload that a dump shows, at most: nobody reads more, and a dump is five times as long.
const MAX_DUMP: usize = 1 << 20;

/// How times are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeStyle {
    /// Seconds since the first frame.
    Relative,
    /// RFC 3339.
    Absolute,
    /// Seconds since the frame before.
    Delta,
    /// Seconds since 1970.
    Epoch,
}

/// How text is laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Columns of a line; longer messages are cut with `…`.
    pub width: usize,
    /// How times are shown.
    pub time: TimeStyle,
    /// Whether the tree follows each line.
    pub tree: bool,
    /// Whether a hex dump follows each line.
    pub hex: bool,
}

/// The times that relative and delta times count from.
#[derive(Clone, Copy, Default, Debug)]
pub struct Clock {
    /// The first frame's.
    pub first: Option<Timestamp>,
    /// The frame before's.
    pub before: Option<Timestamp>,
}

/// Appends a frame's line, its findings, and what the layout adds.
pub fn write(item: &Item<'_>, schema: &Schema, layout: &Layout, clock: Clock, out: &mut String) {
    let (frame, lane) = (item.frame, &item.frame.lane);
    let arrow = if lane.side == Side::Request { "→" } else { "←" };
    let kind = clean(item.decoded.kind.as_deref().unwrap_or("-"));
    let flags = frame.flags.map_or_else(|| "  - ".to_owned(), |f| format!("0x{f:02x}"));
    let head = format!(
        "{:>5} {:>11} {:>4} {arrow} {:<27} {:>8} {flags} ",
        item.number,
        shown_time(frame.time, layout.time, clock),
        format!("#{}", lane.call),
        kind,
        frame.length,
    );
    let room = layout.width.saturating_sub(head.chars().count()).max(16);
    let (left, right) = head.split_at(head.find(arrow).unwrap_or(0));
    let _ = write!(out, "{}", left.dimmed());
    let painted = match (&frame.role, lane.side) {
        (Role::Error, _) => right.red(),
        (Role::EndStream | Role::Trailers(_), _) => right.magenta(),
        (_, Side::Request) => right.cyan(),
        (_, Side::Response) => right.green(),
    };
    let _ = writeln!(out, "{painted}{}", short::message(item.decoded, room));
    for finding in &item.decoded.findings {
        finding_line(finding, out);
    }
    if layout.tree {
        outline(item, schema, out);
    }
    if layout.hex {
        let payload = &item.decoded.payload;
        let shown = payload.get(..MAX_DUMP).unwrap_or(payload);
        dump(shown, &tree::secret_spans(item, schema), 8, out);
        if shown.len() < payload.len() {
            let _ = writeln!(out, "{:8}… {} more bytes", "", payload.len() - shown.len());
        }
    }
}

/// Appends the headers of the call where a frame is its first, and the tree of the frame's message.
pub fn outline(item: &Item<'_>, schema: &Schema, out: &mut String) {
    head::write(item, out);
    tree::write(item, schema, out);
}

/// Appends a finding as a line of its own, indented under its frame.
pub fn finding_line(finding: &Finding, out: &mut String) {
    let label = format!("{}[{}]", finding.severity.name(), finding.code.name());
    let label = match finding.severity {
        Severity::Error => label.red().bold(),
        Severity::Warning => label.yellow(),
        Severity::Note => label.dimmed(),
    };
    let _ = write!(out, "      {label} ");
    if let Some(path) = &finding.path {
        push_clean(out, path);
        out.push_str(": ");
    }
    push_clean(out, &finding.text);
    if let Some(span) = finding.span {
        let _ = write!(out, " {}", format!("(offset {})", span.start).dimmed());
    }
    out.push('\n');
}

/// A time as it is shown; `-` where there is none.
pub fn shown_time(time: Option<Timestamp>, style: TimeStyle, clock: Clock) -> String {
    let Some(time) = time else { return "-".to_owned() };
    let since = |from: Option<Timestamp>| seconds(time.0.saturating_sub(from.unwrap_or(time).0));
    match style {
        TimeStyle::Relative => since(clock.first),
        TimeStyle::Delta => since(clock.before),
        TimeStyle::Epoch => seconds(time.0),
        TimeStyle::Absolute => time.to_string(),
    }
}

/// Nanoseconds as seconds with six digits of fraction.
fn seconds(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let micros = nanos.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let t = |n| Some(Timestamp(n));
        let clock = Clock { first: t(1_000_000_000), before: t(1_500_000_000) };
        let shown = |style| shown_time(t(2_250_000_000), style, clock);
        assert_eq!(shown(TimeStyle::Relative), "1.250000");
        assert_eq!(shown(TimeStyle::Delta), "0.750000");
        assert_eq!(shown(TimeStyle::Epoch), "2.250000");
        assert_eq!(shown(TimeStyle::Absolute), "1970-01-01T00:00:02.250000Z");
        assert_eq!(shown_time(None, TimeStyle::Epoch, clock), "-");
    }
}
