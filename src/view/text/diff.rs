//! Differences of two sessions as a patch for people: a heading for each message, `-` and `+` lines with frame numbers.
//! Never a raw control byte; colour is settled by the caller.

mod hex;

use std::fmt::Write;

use colored::Colorize;
use serde_json::Value;

use crate::base::json::text_of;
use crate::base::text::clean;
use crate::diff::{Change, Hunk, Kind, Side, words};

/// Longest text that is shown whole on a line of its own, in characters.
const MAX_TEXT: usize = 1_000;
/// Texts longer than this are marked word by word.
const SHORT: usize = 12;
/// Characters shown of what both sides have, on either side of a difference.
const AROUND: usize = 40;

/// Appends the two names that a patch begins with.
pub fn head(left: &str, right: &str, out: &mut String) {
    let _ = writeln!(out, "{}", format!("--- {}", clean(left)).bold());
    let _ = writeln!(out, "{}", format!("+++ {}", clean(right)).bold());
}

/// Appends the differences of one message.
pub fn hunk(hunk: &Hunk, out: &mut String) {
    let _ = writeln!(out, "{}", title(hunk).cyan());
    for change in &hunk.changes {
        self::change(hunk, change, out);
    }
}

/// Where a message is: `@@ run 1 · turn 1 › step 2 · response interaction.text @@`.
fn title(hunk: &Hunk) -> String {
    let mut parts = vec![match hunk.numbers {
        [Some(l), Some(r)] if l != r => format!("{} {l} → {r}", clean(&hunk.class)),
        [l, r] => format!("{} {}", clean(&hunk.class), l.or(r).unwrap_or(0)),
    }];
    if !hunk.stage.is_empty() {
        parts.push(clean(&hunk.stage));
    }
    let side = match hunk.side {
        Side::Client => "request",
        Side::Server => "response",
    };
    parts.extend(hunk.rpc.as_deref().map(clean));
    parts.push(if hunk.what.is_empty() { side.to_owned() } else { format!("{side} {}", clean(&hunk.what)) });
    format!("@@ {} @@", parts.join(" · "))
}

fn change(hunk: &Hunk, change: &Change, out: &mut String) {
    let [left, right] = hunk.frames;
    let path = clean(&change.path);
    match (change.kind, &change.left, &change.right) {
        (Kind::Moved, Some(value), _) => {
            let frame = |f: Option<u64>| f.map_or_else(|| "?".to_owned(), |f| f.to_string());
            let line = format!("~{}→{} moved: {}", frame(left), frame(right), cut(&text_of(value)));
            let _ = writeln!(out, "{}", line.yellow());
        }
        (_, Some(old), Some(new)) if hex::bytes(old).is_some() && hex::bytes(new).is_some() => {
            let pair = hex::pair(&hex::bytes(old).unwrap_or_default(), &hex::bytes(new).unwrap_or_default());
            for (sign, frame, shown) in [('-', left, &pair[0]), ('+', right, &pair[1])] {
                line(sign, frame, &path, shown, out);
            }
        }
        (_, Some(Value::String(old)), Some(Value::String(new)))
            if old.chars().nth(SHORT).is_some() || new.chars().nth(SHORT).is_some() =>
        {
            marked(&path, (left, old), (right, new), out);
        }
        (_, old, new) => {
            if let Some(value) = old {
                leaves('-', left, &path, value, out);
            }
            if let Some(value) = new {
                leaves('+', right, &path, value, out);
            }
        }
    }
}

/// A line for each value that is no object or list of objects.
fn leaves(sign: char, frame: Option<u64>, path: &str, value: &Value, out: &mut String) {
    match value {
        value if hex::bytes(value).is_some() => {
            line(sign, frame, path, &hex::whole(&hex::bytes(value).unwrap_or_default()), out);
        }
        // How it was encoded is no step of a path.
        Value::Object(object) if object.contains_key("$encoding") && object.contains_key("$value") => {
            leaves(sign, frame, path, object.get("$value").unwrap_or(&Value::Null), out);
        }
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                let key = clean(key);
                let below = if path.is_empty() { key } else { format!("{path}.{key}") };
                leaves(sign, frame, &below, value, out);
            }
        }
        Value::Array(list) if list.iter().any(|v| v.is_object() || v.is_array()) => {
            for (at, value) in list.iter().enumerate() {
                leaves(sign, frame, &format!("{path}[{at}]"), value, out);
            }
        }
        value => line(sign, frame, path, &cut(&text_of(value)), out),
    }
}

fn line(sign: char, frame: Option<u64>, path: &str, value: &str, out: &mut String) {
    let place = frame.map(|f| f.to_string()).unwrap_or_default();
    let colon = if path.is_empty() { "" } else { ": " };
    let line = format!("{sign}{place} {path}{colon}");
    let paint = |text: &str| if sign == '-' { text.red() } else { text.green() };
    let _ = writeln!(out, "{}{}", paint(&line), paint(value));
}

/// Two texts, the words that differ marked: in colour by reversing them, else `[-…-]` and `{+…+}` as git does.
fn marked(path: &str, (left, old): (Option<u64>, &str), (right, new): (Option<u64>, &str), out: &mut String) {
    let words = words(old, new);
    let color = colored::control::SHOULD_COLORIZE.should_colorize();
    for (sign, own, frame) in [('-', Kind::Removed, left), ('+', Kind::Added, right)] {
        let paint = |text: &str| if sign == '-' { text.red() } else { text.green() };
        let mut text = String::new();
        for (at, (kind, piece)) in words.iter().enumerate() {
            match kind {
                None => {
                    let shown = around(piece, at == 0, at + 1 == words.len());
                    let _ = write!(text, "{}", paint(&shown));
                }
                Some(kind) if *kind == own => {
                    let piece = cut(&quoted(piece));
                    let _ = match (color, sign) {
                        (true, _) => write!(text, "{}", paint(&piece).reversed()),
                        (false, '-') => write!(text, "[-{piece}-]"),
                        (false, _) => write!(text, "{{+{piece}+}}"),
                    };
                }
                Some(_) => {}
            }
        }
        let place = frame.map(|f| f.to_string()).unwrap_or_default();
        let _ = writeln!(out, "{}{text}{}", paint(&format!("{sign}{place} {path}: \"")), paint("\""));
    }
}

/// A text that both sides have, its middle left out where it is long.
fn around(text: &str, first: bool, last: bool) -> String {
    let count = text.chars().count();
    let begin = if first { 0 } else { AROUND };
    let end = if last { 0 } else { AROUND };
    if count <= begin + end + 8 {
        return quoted(text);
    }
    let head: String = text.chars().take(begin).collect();
    let tail: String = text.chars().skip(count - end).collect();
    format!("{}…{}", quoted(&head), quoted(&tail))
}

/// Text as in a JSON string, without its quotes.
fn quoted(text: &str) -> String {
    let json = text_of(&Value::from(text));
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_TEXT {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MAX_TEXT).collect();
    format!("{kept}… ({} more)", count - MAX_TEXT)
}

/// Appends a table: how many changes of each sort each kind of message has.
pub fn stat(hunks: &[Hunk], out: &mut String) {
    let mut rows: Vec<(String, [usize; 4])> = Vec::new();
    for hunk in hunks {
        let what = match (&*hunk.what, &hunk.rpc) {
            ("", Some(rpc)) => clean(rpc),
            ("", None) => clean(&hunk.class),
            (what, _) => clean(what),
        };
        let name = format!("{} {what}", hunk.side.name());
        let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, [0; 4]));
            rows.len() - 1
        });
        let Some((_, counts)) = rows.get_mut(at) else { continue };
        for change in &hunk.changes {
            let place = match change.kind {
                Kind::Changed => 0,
                Kind::Removed => 1,
                Kind::Added => 2,
                Kind::Moved => 3,
            };
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut sum = [0; 4];
    for (name, counts) in &rows {
        let total: usize = counts.iter().sum();
        let [changed, removed, added, moved] = *counts;
        let bar = |sign: &str, count: usize| sign.repeat(count.min(20));
        let bars = [
            bar("!", changed).yellow(),
            bar("-", removed).red(),
            bar("+", added).green(),
            bar("~", moved).yellow(),
        ];
        let _ = writeln!(out, " {name:<width$} | {total:>4} {}{}{}{}", bars[0], bars[1], bars[2], bars[3]);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let [changed, removed, added, moved] = sum;
    let messages = match hunks.len() {
        1 => "1 message differs".to_owned(),
        n => format!("{n} messages differ"),
    };
    let _ = writeln!(
        out,
        " {messages}: {changed} changed (!), {removed} removed (-), {added} added (+), {moved} moved (~)"
    );
}
