//! Runs for a person: conversation, run, turn, step, call, each frame in its place with its time.
//! Never shows what does not fit the width, never a raw control byte.

use std::collections::HashMap;
use std::fmt::Write;

use colored::Colorize;

use crate::base::text::{clean, push_clean};
use crate::base::{Severity, Timestamp};
use crate::dialect::{Plan, Unit};
use crate::pdu::Side;
use crate::session::{EndingKind, IdValue, Link, LinkState, Model, Notice, Outcome, Stage};

/// A frame as the timeline keeps it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number.
    pub frame: u64,
    /// When.
    pub time: Option<Timestamp>,
    /// Who sent it.
    pub side: Side,
    /// The stage it belongs to.
    pub stage: Option<u32>,
    /// What it is, in a line: the branch first, then its content.
    pub short: String,
    /// Text that it adds to a stream; entries of the same branch in a row are shown as one.
    pub piece: Option<String>,
    /// Whether it only keeps the connection alive.
    pub pulse: bool,
    /// Whether it repeats an earlier frame.
    pub repeated: bool,
}

/// Draws the timeline of a run of the program.
pub fn write(plan: &Plan, model: &Model, entries: &[Entry], width: usize, out: &mut String) {
    let mut by_stage: HashMap<Option<u32>, Vec<&Entry>> = HashMap::new();
    for entry in entries {
        by_stage.entry(entry.stage).or_default().push(entry);
    }
    let mut links: HashMap<u64, Vec<&Link>> = HashMap::new();
    for link in &model.links {
        if let Some(frame) = link.request {
            links.entry(frame).or_default().push(link);
        }
    }
    let mut answers: HashMap<u64, &Link> = HashMap::new();
    for link in &model.links {
        for frame in &link.responses {
            answers.entry(*frame).or_insert(link);
        }
    }
    let mut notices: HashMap<u64, Vec<&Notice>> = HashMap::new();
    for notice in &model.notices {
        notices.entry(notice.frames.first().copied().unwrap_or(0)).or_default().push(notice);
    }
    let outcomes = model.outcomes.iter().filter_map(|o| Some((o.stage?, o))).collect();
    let mut drawing = Drawing { plan, model, by_stage, links, answers, notices, outcomes, width, out };
    drawing.stage(None, 0, None);
    if let Some(rest) = drawing.notices.remove(&0) {
        rest.into_iter().for_each(|notice| drawing.notice(notice, 0));
    }
}

struct Drawing<'a, 'o> {
    plan: &'a Plan,
    model: &'a Model,
    by_stage: HashMap<Option<u32>, Vec<&'a Entry>>,
    links: HashMap<u64, Vec<&'a Link>>,
    answers: HashMap<u64, &'a Link>,
    notices: HashMap<u64, Vec<&'a Notice>>,
    outcomes: HashMap<u32, &'a Outcome>,
    width: usize,
    out: &'o mut String,
}

impl<'a> Drawing<'a, '_> {
    /// A stage's frames and the stages in it, in the order of the capture.
    fn stage(&mut self, stage: Option<u32>, depth: usize, began: Option<Timestamp>) {
        let frames = self.by_stage.remove(&stage).unwrap_or_default();
        let below: Vec<(u32, &Stage)> = self.model.below(stage).collect();
        let mut below = below.into_iter().peekable();
        let mut frames = frames.into_iter().peekable();
        loop {
            let next = frames.peek().map(|e| e.frame);
            if let Some((number, inner)) = below.next_if(|(_, s)| next.is_none_or(|f| s.first.frame <= f)) {
                self.heading(number, inner, depth, began);
                // Times count from the beginning of the run.
                let is_outer = inner.parent.is_none() && self.model.below(Some(number)).next().is_some();
                let began = if began.is_none() && !is_outer { inner.first.time } else { began };
                self.stage(Some(number), depth + 1, began);
                if let Some(outcome) = self.outcomes.get(&number).copied() {
                    self.outcome(outcome, depth + 1);
                }
                continue;
            }
            let Some(entry) = frames.next() else { return };
            let mut run = vec![entry];
            while let Some(more) = frames.next_if(|e| continues(entry, e)) {
                run.push(more);
            }
            self.frames(&run, depth, began);
        }
    }

    fn heading(&mut self, _number: u32, stage: &Stage, depth: usize, began: Option<Timestamp>) {
        let level = self.plan.levels.get(usize::from(stage.level)).map_or("", |l| &l.name);
        let mut line = String::new();
        if let Some(time) = since(began, stage.first.time) {
            let _ = write!(line, "{time:>10} ");
        } else {
            let _ = write!(line, "{:11}", "");
        }
        let _ = write!(line, "{:indent$}", "", indent = depth * 2);
        let mut head = level.to_owned();
        if let Some(id) = &stage.id {
            let _ = write!(head, " {}", short_id(id));
        }
        if let Some(IdValue::Str(other)) = stage.points_to.first() {
            let _ = write!(head, " ← {}", short_text(other));
        }
        let ended = stage.closed.or(Some(stage.last)).and_then(|m| m.time);
        if let Some(lasted) = since(stage.first.time, ended).filter(|_| stage.first.frame != stage.last.frame)
        {
            let _ = write!(head, " · {lasted} s");
        }
        for (measure, value) in &stage.measures {
            if let Some(measure) =
                self.plan.measures.get(usize::from(*measure)).filter(|m| m.unit == Unit::Tokens)
            {
                let _ = write!(head, " · {} {}", value, measure.name.trim_end_matches("_tokens"));
            }
        }
        let used = line.chars().count() + head.chars().count();
        let _ = write!(self.out, "{}{}", line.dimmed(), head.bold());
        if let Some(title) = &stage.title {
            let room = self.width.saturating_sub(used + 3).max(8);
            let _ = write!(self.out, " {}", cut(&format!("“{}”", clean(title)), room));
        }
        self.out.push('\n');
    }

    /// A line for frames in a row that say one thing.
    fn frames(&mut self, run: &[&Entry], depth: usize, began: Option<Timestamp>) {
        let Some((first, last)) = run.first().zip(run.last()) else { return };
        let arrow = if first.side == Side::Request { "→" } else { "←" };
        let time = since(began, first.time).unwrap_or_default();
        let head = format!("{time:>10} {:indent$}{arrow} ", "", indent = depth * 2);
        let mut tail = String::new();
        for link in self.links.get(&first.frame).into_iter().flatten() {
            self.waited(link, &mut tail);
        }
        if let Some(link) = self.answers.get(&first.frame).filter(|l| l.request != Some(first.frame)) {
            if let Some(asked) = link.request {
                let _ = write!(tail, " ↩{asked}");
            }
        }
        if run.len() > 1 {
            let _ = write!(tail, " ×{}", run.len());
        }
        if first.repeated {
            tail.push_str(" (again)");
        }
        let number = format!(" #{}", first.frame);
        let room =
            self.width.saturating_sub(head.chars().count() + tail.chars().count() + number.len()).max(12);
        let text = match &first.piece {
            Some(_) => {
                let all: String = run.iter().filter_map(|e| e.piece.as_deref()).collect();
                format!("{} \"{}\"", branch(&first.short), clean(&all))
            }
            None => first.short.clone(),
        };
        let text = cut(&text, room);
        let text = match first.side {
            _ if first.pulse => text.dimmed(),
            Side::Request => text.cyan(),
            Side::Response => text.green(),
        };
        let _ = writeln!(self.out, "{}{text}{}{}", head.dimmed(), tail.yellow(), number.dimmed());
        for frame in first.frame..=last.frame {
            if let Some(notices) = self.notices.remove(&frame) {
                notices.into_iter().for_each(|notice| self.notice(notice, depth));
            }
        }
    }

    fn waited(&self, link: &Link, out: &mut String) {
        let lifeline = self.plan.lifelines.get(usize::from(link.lifeline));
        let name = lifeline.map_or("", |l| &l.name);
        // What may stay open says nothing by doing so.
        if link.state == LinkState::Unanswered && lifeline.is_some_and(|l| l.loose) {
            return;
        }
        let _ = match (link.state, link.latency_ms(), link.responses.first()) {
            (LinkState::Answered, Some(wait), Some(frame)) => write!(out, " ⇢{frame} {wait:.1} ms"),
            (LinkState::Answered, None, Some(frame)) => write!(out, " ⇢{frame}"),
            (LinkState::Answered, ..) => Ok(()),
            (state, _, Some(frame)) => write!(out, " ⇢{frame} {name} {}", state.name()),
            (state, ..) => write!(out, " {name} {}", state.name()),
        };
    }

    fn notice(&mut self, notice: &Notice, depth: usize) {
        let label = format!("{}[{}]", notice.finding.severity.name(), notice.finding.code.name());
        let label = match notice.finding.severity {
            Severity::Error => label.red().bold(),
            Severity::Warning => label.yellow(),
            Severity::Note => label.dimmed(),
        };
        let _ = write!(self.out, "{:indent$}{label} ", "", indent = 13 + depth * 2);
        push_clean(self.out, &notice.finding.text);
        self.out.push('\n');
    }

    fn outcome(&mut self, outcome: &Outcome, depth: usize) {
        let mut text = outcome.ending.name().to_owned();
        if let Some(reason) = &outcome.reason {
            let _ = write!(text, ": {}", clean(reason));
        }
        if let Some(first) = outcome.ttft_ms {
            let _ = write!(text, " · first token {:.3} s", first / 1e3);
        }
        for (measure, value) in &outcome.measures {
            let known = self
                .plan
                .measures
                .get(usize::from(*measure))
                .filter(|m| m.unit == Unit::Milliseconds && !m.between);
            if let Some(measure) = known {
                let _ = write!(text, " · {} {value} ms", measure.name);
            }
        }
        if let Some(lasted) = outcome.duration_ms {
            let _ = write!(text, " · {:.3} s", lasted / 1e3);
        }
        let text = cut(&text, self.width.saturating_sub(14 + depth * 2).max(20));
        let text = match outcome.ending {
            EndingKind::Completed => text.green().bold(),
            EndingKind::Canceled | EndingKind::Open => text.yellow().bold(),
            EndingKind::Error | EndingKind::CutOff | EndingKind::Unfinished => text.red().bold(),
        };
        let _ = writeln!(self.out, "{:indent$}■ {text}", "", indent = 11 + depth * 2);
    }
}

/// Whether an entry goes on with what one before it says.
fn continues(first: &Entry, next: &Entry) -> bool {
    first.side == next.side
        && first.repeated == next.repeated
        && branch(&first.short) == branch(&next.short)
        && (first.piece.is_some() && next.piece.is_some() || first.pulse && next.pulse)
}

/// The branch that a short line begins with.
fn branch(short: &str) -> &str {
    short.split([' ', '=']).next().unwrap_or(short)
}

fn since(began: Option<Timestamp>, time: Option<Timestamp>) -> Option<String> {
    let nanos = time?.0.checked_sub(began?.0)?;
    Some(format!("{:.3}", nanos as f64 / 1e9))
}

fn short_id(id: &IdValue) -> String {
    match id {
        IdValue::Str(text) => short_text(text),
        IdValue::Uint(number) => number.to_string(),
    }
}

/// The beginning of a long id.
fn short_text(text: &str) -> String {
    let text = clean(text.lines().next().unwrap_or(text));
    if text.chars().count() <= 16 {
        text
    } else {
        format!("{}…", text.chars().take(13).collect::<String>())
    }
}

fn cut(text: &str, room: usize) -> String {
    match text.char_indices().nth(room.saturating_sub(1)) {
        Some((at, _)) if text[at..].chars().nth(1).is_some() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}
