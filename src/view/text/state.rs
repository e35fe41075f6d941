//! The state of runs as of a frame, for a person.
//! Never wider than told, but for the text that was said, whose lines are its own.

use std::fmt::Write;

use colored::Colorize;
use serde_json::Value;

use crate::base::text::{clean, cut};
use crate::dialect::{How, Plan};
use crate::session::{Session, hex};

use super::super::state::{Moment, Run, Shown, waiting_ms};

/// Lines shown of a snapshot.
const MAX_LINES: usize = 200;

/// Draws the state.
pub fn write(
    plan: &Plan,
    session: &Session<'_>,
    moment: &Moment,
    runs: &[Run],
    width: usize,
    out: &mut String,
) {
    let stages = &session.model().stages;
    let named = |number: u32| -> Option<String> {
        let stage = stages.get(number as usize)?;
        let mut name = plan.levels.get(usize::from(stage.level)).map_or("", |l| &l.name).to_owned();
        for part in stage.kind.iter().cloned().chain(stage.id.as_ref().map(|id| id.to_string())) {
            let _ = write!(name, " {}", clean(&part));
        }
        Some(name)
    };
    let first = stages.iter().filter_map(|s| s.first.time).min();
    let since = moment.time.zip(first).and_then(|(now, first)| now.0.checked_sub(first.0));
    let since = since.map(|n| format!(", {:.3} s after the first", n as f64 / 1e9)).unwrap_or_default();
    let _ = writeln!(out, "{}", format!("with frame {}{since}", moment.frame).dimmed());
    for run in runs {
        let _ = writeln!(out, "{}", cut(&named(run.stage).unwrap_or_default(), width).bold());
        let mut path = Vec::new();
        let mut at = moment.stage_of(run.stage).filter(|s| *s != run.stage);
        while let Some(stage) = at.filter(|s| *s != run.stage && path.len() < 16) {
            path.push(named(stage).unwrap_or_default());
            at = stages.get(stage as usize).and_then(|s| s.parent);
        }
        path.reverse();
        if !path.is_empty() {
            let _ = writeln!(out, "  {}", cut(&format!("in {}", path.join(" › ")), width.saturating_sub(2)));
        }
        for link in &run.open {
            let rule = plan.lifelines.get(usize::from(link.lifeline));
            let mut line = format!("open {}", rule.map_or("", |l| &l.name));
            for part in link.id.iter().filter(|id| Some(*id) != run.id.as_ref()) {
                let _ = write!(line, " {}", clean(&part.to_string()));
            }
            let _ = write!(line, " {}", clean(&link.what));
            if let Some(frame) = link.request {
                let _ = write!(line, " · since frame {frame}");
            }
            if let Some(ms) = waiting_ms(moment, link) {
                let _ = write!(line, ", {ms:.1} ms");
            }
            if link.count > 0 {
                let _ = write!(line, " · {} answers so far", link.count);
            }
            let _ = writeln!(out, "  {}", cut(&line, width.saturating_sub(2)).yellow());
        }
        run.values.iter().for_each(|shown| value(shown, width, out));
    }
    let blobs: Vec<_> = session.blobs().all().collect();
    if blobs.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", format!("blobs ({})", blobs.len()).bold());
    for blob in blobs {
        let id = hex(&blob.id);
        let line = format!(
            "{}… {:>9} bytes from {}, frame {}",
            id.get(..12).unwrap_or(&id),
            blob.length,
            clean(&blob.from),
            blob.frames.first().copied().unwrap_or(0)
        );
        let _ = writeln!(out, "  {}", cut(&line, width.saturating_sub(2)));
    }
}

fn value(shown: &Shown, width: usize, out: &mut String) {
    // The last two names tell the fields of a root apart.
    let end = shown.field.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    let mut head = clean(shown.field.get(end..).unwrap_or(&shown.field));
    if let Some((key, id)) = &shown.key {
        let _ = write!(head, " {}={}", clean(key), clean(&id.to_string()));
    }
    let frames = match shown.frames {
        (first, last) if first == last => format!("frame {first}"),
        (first, last) => format!("frames {first} to {last}, {} times", shown.count),
    };
    if shown.how == How::Sum {
        let _ = write!(head, " = {}", shown.value.as_f64().unwrap_or_default());
    }
    let room = width.saturating_sub(2);
    let head = cut(&head, room.saturating_sub(frames.chars().count() + 3).max(16));
    let _ = writeln!(out, "  {} {}", head.green(), format!("· {frames}").dimmed());
    match &shown.value {
        Value::String(text) => {
            for line in text.lines() {
                let _ = writeln!(out, "    {}", clean(line));
            }
        }
        Value::Object(_) | Value::Array(_) if shown.how == How::Replace => {
            let mut lines = Vec::new();
            tree(&shown.value, 0, &mut lines);
            for line in lines.iter().take(MAX_LINES) {
                let _ = writeln!(out, "    {}", cut(line, width.saturating_sub(4)));
            }
            if lines.len() > MAX_LINES {
                let _ = writeln!(out, "    {}", format!("… {} more lines", lines.len() - MAX_LINES).dimmed());
            }
        }
        _ => {}
    }
}

/// Members, one a line, those inside further in.
fn tree(value: &Value, depth: usize, out: &mut Vec<String>) {
    if out.len() > MAX_LINES * 4 || depth > 64 {
        return;
    }
    let mut member = |name: String, value: &Value| {
        let indent = " ".repeat(depth * 2);
        match value {
            Value::Object(members) if !members.is_empty() => {
                out.push(format!("{indent}{name}"));
                tree(value, depth + 1, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push(format!("{indent}{name}"));
                tree(value, depth + 1, out);
            }
            Value::String(text) => out.push(format!("{indent}{name} \"{}\"", clean(text))),
            other => out.push(format!("{indent}{name} {}", clean(&other.to_string()))),
        }
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| member(clean(key), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| member(format!("[{i}]"), value))
        }
        _ => {}
    }
}
