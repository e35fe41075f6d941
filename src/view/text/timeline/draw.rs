//! The lines of a timeline: headings, frames with their waits, gaps, findings, endings.
//! Never decides where a frame stands.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use colored::Colorize;

use crate::base::text::{clean, cut};
use crate::base::{Code, Finding, Severity, Timestamp};
use crate::dialect::{Plan, Take, Unit};
use crate::pdu::Side;
use crate::session::{EndingKind, IdValue, Link, LinkState, Model, Notice, Outcome, Stage};

use super::Entry;
use super::layout::Tree;

/// Nothing for this long is said, in nanoseconds.
const SILENCE: i64 = 5_000_000_000;
/// Room that a line needs for what it is and says; what came along is left out for it.
const NARROW: usize = 30;
/// A pulse that stays out for this many times its usual time is said.
const MISSED: i64 = 3;

pub(super) struct Drawing<'a, 'o> {
    pub plan: &'a Plan,
    pub model: &'a Model,
    pub links: HashMap<u64, Vec<&'a Link>>,
    pub answers: HashMap<u64, &'a Link>,
    pub notices: BTreeMap<u64, Vec<&'a Notice>>,
    pub outcomes: HashMap<u32, &'a Outcome>,
    /// How often each finding of a frame comes again; gone once it is said.
    pub repeats: HashMap<(Code, String), u64>,
    pub width: usize,
    pub digits: usize,
    pub out: &'o mut String,
}

/// Where the drawing of a run is.
#[derive(Default)]
struct State {
    began: Option<Timestamp>,
    /// Levels the run stands in.
    base: usize,
    /// The stage last drawn at each depth.
    shown: Vec<u32>,
    headed: Vec<u32>,
    last: Option<Timestamp>,
    /// The last of each pulse.
    pulses: HashMap<u16, Timestamp>,
}

impl<'a> Drawing<'a, '_> {
    pub(super) fn all(&mut self, tree: &Tree<'a>) {
        let model = self.model;
        for (number, stage) in model.below(None).filter(|(n, _)| tree.shows(*n)) {
            if tree.is_run(number) {
                self.run(tree, number, 0);
                continue;
            }
            let title = self.named(stage);
            let _ = writeln!(self.out, "{}", cut(&title, self.width).bold());
            for run in tree.runs_below(Some(number)) {
                self.run(tree, run, 0);
            }
        }
        let mut state = State::default();
        let rest = tree.frames(None);
        if let Some((_, first)) = rest.first() {
            state.began = first.time;
            if !self.out.is_empty() {
                let _ = writeln!(self.out, "{}", "outside of runs".bold());
            }
            self.frames(tree, rest, &[], &mut state);
        }
        for notice in std::mem::take(&mut self.notices).into_values().flatten() {
            self.finding(&notice.finding, 0);
        }
    }

    fn run(&mut self, tree: &Tree<'a>, run: u32, base: usize) {
        let Some(stage) = self.model.stages.get(run as usize) else { return };
        let mut state = State { began: stage.first.time, base, ..State::default() };
        let mut title = self.named(stage);
        for (at, other) in stage.points_to.iter().take(2).enumerate() {
            let id = short_id(&other.id);
            let level = self.plan.levels.get(usize::from(stage.level)).map_or("", |l| &l.name);
            match title.strip_prefix(level).filter(|_| at == 0 && !other.name.is_empty()) {
                // What it is to the other says more than that it is a run.
                Some(rest) => title = format!("{}{rest} of {id}", other.name),
                None if at == 0 => title = format!("{title} of {id}"),
                None => title = format!("{title}, {} of {id}", other.name),
            }
        }
        if let Some(around) =
            stage.parent.and_then(|p| self.model.stages.get(p as usize)).filter(|_| base > 0)
        {
            let _ = write!(title, ", {}", self.named(around));
        }
        self.heading(&title, stage, base, None);
        state.headed.push(run);
        state.shown.push(run);
        self.frames(tree, tree.frames(Some(run)), tree.nested(run), &mut state);
        let own = self.notices.iter().flat_map(|(frame, list)| list.iter().map(move |n| (*frame, n)));
        let own: Vec<u64> =
            own.filter(|(_, n)| n.run.is_some() && n.run == stage.id).map(|(frame, _)| frame).collect();
        self.told(&own, base + 1);
        if let Some(outcome) = self.outcomes.get(&run).copied() {
            self.outcome(outcome, stage, base);
        }
    }

    fn frames(
        &mut self,
        tree: &Tree<'a>,
        frames: &[(Option<u32>, &Entry)],
        nested: &[u32],
        state: &mut State,
    ) {
        let mut nested = nested.iter().copied().peekable();
        let first = |run: u32| self.model.stages.get(run as usize).map_or(u64::MAX, |s| s.first.frame);
        let mut firsts: Vec<u64> = nested.clone().map(first).collect();
        firsts.reverse();
        let mut at = 0;
        while let Some((stage, entry)) = frames.get(at).copied() {
            while firsts.last().is_some_and(|f| *f < entry.frame) {
                firsts.pop();
                if let Some(run) = nested.next() {
                    self.run(tree, run, state.base + state.shown.len());
                }
            }
            let depth = self.place(tree, stage, state);
            self.gaps(entry, depth, state);
            let until = firsts.last().copied().unwrap_or(u64::MAX);
            if !may_join(entry) {
                at += 1;
                let answer = frames.get(at).map(|(_, e)| *e).filter(|next| self.says_nothing(entry, next));
                self.line(&[entry], depth, state, answer);
                at += usize::from(answer.is_some());
                continue;
            }
            // Pieces that come one among another are one line for each of their kinds.
            let near = frames[at..].iter().take_while(|(s, e)| {
                may_join(e) && e.frame < until && s.is_none_or(|s| state.headed.contains(&s))
            });
            let near: Vec<(Option<u32>, &Entry)> = near.copied().collect();
            at += near.len().max(1);
            let mut groups: Vec<(Option<u32>, Vec<&Entry>)> = Vec::new();
            for (stage, entry) in near {
                match groups
                    .iter_mut()
                    .find(|(s, g)| *s == stage && g.first().is_some_and(|f| joins(f, entry)))
                {
                    Some((_, group)) => group.push(entry),
                    None => groups.push((stage, vec![entry])),
                }
            }
            for (stage, group) in groups {
                let depth = self.place(tree, stage, state);
                for entry in &group {
                    self.gaps(entry, depth, state);
                }
                self.line(&group, depth, state, None);
            }
        }
        for run in nested {
            self.run(tree, run, state.base + state.shown.len());
        }
    }

    /// Heads the stages that a frame stands in, where they are not; returns its depth.
    fn place(&mut self, tree: &Tree<'a>, stage: Option<u32>, state: &mut State) -> usize {
        let Some(stage) = stage else { return state.base + state.shown.len().min(1) };
        let path: Vec<u32> = tree.path(stage).into_iter().skip_while(|s| !tree.is_run(*s)).collect();
        let depth = state.base + path.len();
        for (level, number) in path.iter().enumerate() {
            let Some(found) = self.model.stages.get(*number as usize) else { continue };
            if !state.headed.contains(number) {
                state.headed.push(*number);
                let title = self.named(found);
                self.heading(&title, found, state.base + level, state.began);
            } else if state.shown.get(level).is_some_and(|s| s != number) {
                let title = format!("… {}", self.named(found));
                self.indent(state.base + level, None);
                let _ = writeln!(self.out, "{}", title.dimmed());
            }
            state.shown.truncate(level);
            state.shown.push(*number);
        }
        depth
    }

    fn named(&self, stage: &Stage) -> String {
        let mut title = self.plan.levels.get(usize::from(stage.level)).map_or("", |l| &l.name).to_owned();
        if let Some(kind) = &stage.kind {
            let _ = write!(title, " {}", clean(kind));
        }
        if let Some(id) = &stage.id {
            let _ = write!(title, " {}", short_id(id));
        }
        title
    }

    /// What stands left of the arrow: number and time, or as much room.
    fn indent(&mut self, depth: usize, told: Option<(u64, &str)>) {
        let digits = self.digits;
        let left = match told {
            Some((0, time)) => format!("{:digits$} {time:>8} ", ""),
            Some((frame, time)) => format!("{frame:>digits$} {time:>8} "),
            None => format!("{:digits$} {:8} ", "", ""),
        };
        let _ = write!(self.out, "{}{:indent$}", left.dimmed(), "", indent = depth * 2);
    }

    fn room(&self, depth: usize) -> usize {
        self.width.saturating_sub(self.digits + 10 + depth * 2).max(20)
    }

    fn heading(&mut self, title: &str, stage: &Stage, depth: usize, began: Option<Timestamp>) {
        let time = since(began, stage.first.time).unwrap_or_default();
        let mut head = title.to_owned();
        let ended = stage.closed.or(Some(stage.last)).and_then(|m| m.time);
        if let Some(lasted) = since(stage.first.time, ended).filter(|_| stage.first.frame != stage.last.frame)
            && lasted != "0.000"
            && !lasted.starts_with('-')
        {
            let _ = write!(head, " · {lasted} s");
        }
        self.indent(depth, Some((0, &time)));
        let room = self.room(depth);
        let head = cut(&head, room);
        let left = room.saturating_sub(head.chars().count() + 1);
        let _ = write!(self.out, "{}", head.bold());
        if let Some(title) = stage.title.as_ref().filter(|_| left > 8) {
            let _ = write!(self.out, " {}", cut(&format!("“{}”", clean(title)), left));
        }
        self.out.push('\n');
    }

    /// Says where nothing came for long, and where a pulse stayed out.
    fn gaps(&mut self, entry: &Entry, depth: usize, state: &mut State) {
        let Some(time) = entry.time else { return };
        let silent = state.last.and_then(|last| time.0.checked_sub(last.0)).filter(|n| *n > SILENCE);
        state.last = Some(time);
        let mut missed = None;
        if let Some(pulse) = entry.pulse {
            let every = self.plan.pulses.get(usize::from(pulse)).map_or(0, |p| i64::from(p.every_ms));
            let before = state.pulses.insert(pulse, time);
            let apart = before.and_then(|before| time.0.checked_sub(before.0));
            missed = apart.filter(|n| every > 0 && *n > every.saturating_mul(MISSED * 1_000_000));
        }
        let text = match (missed, silent) {
            (Some(apart), _) => format!("no {} for {:.1} s", entry.label.name, apart as f64 / 1e9),
            (None, Some(silent)) => format!("nothing for {:.1} s", silent as f64 / 1e9),
            _ => return,
        };
        self.indent(depth, None);
        let _ = writeln!(self.out, "{}", format!("⋮ {text}").dimmed());
    }

    /// Whether the next frame answers this one, at once and without a word.
    fn says_nothing(&self, entry: &Entry, next: &Entry) -> bool {
        let answers = self.answers.get(&next.frame).is_some_and(|l| l.request == Some(entry.frame));
        answers
            && next.side != entry.side
            && !next.repeated
            && next.findings.is_empty()
            && next.tree.is_empty()
            && !self.notices.contains_key(&next.frame)
            && !next.label.says.contains(' ')
            && !self.links.contains_key(&next.frame)
    }

    /// A line for frames that say one thing.
    fn line(&mut self, group: &[&Entry], depth: usize, state: &State, answer: Option<&Entry>) {
        let Some((first, last)) = group.first().zip(group.last()) else { return };
        let arrow = if first.side == Side::Request { "→" } else { "←" };
        let time = since(state.began, first.time).unwrap_or_default();
        self.indent(depth, Some((first.frame, &time)));
        let mut tail = String::new();
        if group.len() > 1 {
            let _ = write!(tail, " ×{}", group.len());
        }
        for link in self.links.get(&first.frame).into_iter().flatten() {
            self.waited(link, &mut tail);
        }
        if let Some(asked) = self.answers.get(&first.frame).and_then(|l| l.request)
            && asked != first.frame
        {
            let _ = write!(tail, " ↩#{asked}");
        }
        let came = self.answers.get(&first.frame).filter(|l| l.responses.first() == Some(&first.frame));
        let brought = came.into_iter().flat_map(|l| &l.brought);
        let brought: String = brought.map(|(field, count)| format!(" +{count} {}", clean(field))).collect();
        if tail.chars().count() + brought.chars().count() + NARROW <= self.room(depth) {
            tail.push_str(&brought);
        }
        if answer.is_some() {
            tail.push_str(" ✓");
        }
        if first.repeated {
            tail.push_str(" (again)");
        }
        let room = self.room(depth).saturating_sub(2 + tail.chars().count()).max(12);
        let name = cut(&first.label.name, room);
        let left = room.saturating_sub(name.chars().count() + 1);
        let pieces: String = group.iter().filter_map(|e| e.piece.as_deref()).collect();
        let says = match first.piece {
            Some(_) => format!("\"{}\"", clean(&pieces)),
            None => first.label.says.clone(),
        };
        let name = match first.side {
            _ if first.pulse.is_some() => name.dimmed(),
            Side::Request => name.cyan(),
            Side::Response => name.green(),
        };
        let _ = write!(self.out, "{} {name}", arrow.dimmed());
        if left > 3 && !says.is_empty() {
            let _ = write!(self.out, " {}", cut(&says, left));
        }
        let _ = writeln!(self.out, "{}", tail.yellow());
        for line in first.tree.lines() {
            // The lines of a tree begin with six blanks of their own.
            self.indent(depth, None);
            let _ = writeln!(self.out, "{}", line.strip_prefix("    ").unwrap_or(line));
        }
        let last = answer.map_or(last.frame, |a| a.frame);
        let mine: Vec<u64> = group
            .iter()
            .map(|e| e.frame)
            .chain([last])
            .filter(|frame| self.notices.contains_key(frame))
            .collect();
        self.told(&mine, depth + 1);
        for finding in group.iter().flat_map(|entry| &entry.findings) {
            // What is wrong with a stream shows in many of its frames: said in full once.
            let key = (finding.code, finding.text.clone());
            let more = self.repeats.remove(&key);
            match more {
                Some(0) => self.finding(finding, depth + 1),
                Some(more) => {
                    let text = format!("{} (and in {more} more frames)", finding.text);
                    self.finding(&Finding { text, ..finding.clone() }, depth + 1);
                }
                None => {}
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
            (LinkState::Answered, Some(wait), Some(frame)) => write!(out, " ⇢#{frame} {}", ms(wait)),
            (LinkState::Answered, None, Some(frame)) => write!(out, " ⇢#{frame}"),
            (LinkState::Answered, ..) => Ok(()),
            (state, _, Some(frame)) => write!(out, " ⇢#{frame} {name} {}", state.name()),
            (state, ..) => write!(out, " {name} {}", state.name()),
        };
    }

    /// The findings of frames, each once.
    fn told(&mut self, frames: &[u64], depth: usize) {
        for frame in frames {
            let notices = self.notices.remove(frame).unwrap_or_default();
            notices.into_iter().for_each(|notice| self.finding(&notice.finding, depth));
        }
    }

    fn finding(&mut self, finding: &Finding, depth: usize) {
        let label = format!("{}[{}]", finding.severity.name(), finding.code.name());
        let lines = wrap(&format!("{label} {}", clean(&finding.text)), self.room(depth));
        for (i, text) in lines.iter().enumerate() {
            self.indent(depth, None);
            let (marked, rest) = match i {
                0 => text.split_at(label.len().min(text.len())),
                _ => ("  ", text.as_str()),
            };
            let marked = match finding.severity {
                Severity::Error => marked.red().bold(),
                Severity::Warning => marked.yellow(),
                Severity::Note => marked.dimmed(),
            };
            let _ = writeln!(self.out, "{marked}{rest}");
        }
    }

    fn outcome(&mut self, outcome: &Outcome, stage: &Stage, depth: usize) {
        let mut verdict = format!("■ {}", outcome.ending.name());
        if let Some(reason) = &outcome.reason {
            // A status that is named after the ending need not be said twice.
            let name = outcome.ending.name();
            let reason = reason.strip_prefix(name).map_or(&**reason, |rest| rest.trim_start_matches(": "));
            if !reason.is_empty() {
                let _ = write!(verdict, ": {}", clean(reason));
            }
        }
        let room = self.room(depth);
        for (i, text) in wrap(&verdict, room).iter().enumerate() {
            self.indent(depth, None);
            let text = if i == 0 { text.clone() } else { format!("  {text}") };
            let text = match outcome.ending {
                EndingKind::Completed => text.green().bold(),
                EndingKind::Canceled | EndingKind::Open => text.yellow().bold(),
                EndingKind::Error | EndingKind::CutOff | EndingKind::Unfinished => text.red().bold(),
            };
            let _ = writeln!(self.out, "{text}");
        }
        let mut times = Vec::new();
        if let Some(lasted) = outcome.duration_ms {
            times.push(format!("lasted {:.3} s", lasted / 1e3));
        }
        if let Some(first) = outcome.ttft_ms {
            times.push(format!("first token after {}", ms(first)));
        }
        let known = |list: &[(u16, f64)]| -> Vec<(&'a crate::dialect::Measure, f64)> {
            let plan = self.plan;
            let found = list.iter().filter(|(_, value)| *value > 0.0);
            found.filter_map(|(m, value)| Some((plan.measures.get(usize::from(*m))?, *value))).collect()
        };
        let own = known(&outcome.measures).into_iter();
        let told =
            own.filter(|(m, _)| m.unit == Unit::Milliseconds && !m.between && m.level == Some(stage.level));
        times.extend(told.map(|(m, value)| format!("{} {}", m.name, ms(value))));
        let counted = known(&outcome.tokens).into_iter().filter(|(m, _)| m.take == Take::Sum);
        let counted: Vec<String> =
            counted.map(|(m, value)| format!("{} {value}", m.name.trim_end_matches("_tokens"))).collect();
        if let Some((first, rest)) = counted.split_first() {
            times.push(format!("tokens: {first}"));
            times.extend(rest.iter().cloned());
        }
        for text in listed(&times, room.saturating_sub(2)) {
            self.indent(depth, None);
            let _ = writeln!(self.out, "  {text}");
        }
    }
}

/// Whether an entry may be drawn as one with others.
fn may_join(entry: &Entry) -> bool {
    (entry.piece.is_some() || entry.pulse.is_some()) && entry.tree.is_empty()
}

/// Whether an entry goes on with what another says.
fn joins(first: &Entry, next: &Entry) -> bool {
    first.side == next.side
        && first.repeated == next.repeated
        && first.label.name == next.label.name
        && first.piece.is_some() == next.piece.is_some()
        && first.pulse == next.pulse
}

fn since(began: Option<Timestamp>, time: Option<Timestamp>) -> Option<String> {
    let nanos = time?.0.checked_sub(began?.0)?;
    Some(format!("{:.3}", nanos as f64 / 1e9))
}

fn ms(wait: f64) -> String {
    if wait < 1_000.0 { format!("{wait:.1} ms") } else { format!("{:.3} s", wait / 1e3) }
}

fn short_id(id: &IdValue) -> String {
    let IdValue::Str(text) = id else { return id.to_string() };
    let text = clean(text.lines().next().unwrap_or(text));
    if text.chars().count() <= 16 {
        text
    } else {
        format!("{}…", text.chars().take(13).collect::<String>())
    }
}

/// Items in a row, as many to a line as it has room for.
fn listed(items: &[String], room: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for item in items {
        match out.last_mut().filter(|l| l.chars().count() + 3 + item.chars().count() <= room) {
            Some(line) => {
                let _ = write!(line, " · {item}");
            }
            None => out.push(cut(item, room)),
        }
    }
    out
}

/// Words in lines of at most `room` characters, those after the first two shorter.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let room = if out.len() > 1 { room.saturating_sub(2) } else { room };
        let Some(line) = out.last_mut() else { break };
        if line.is_empty() {
            line.push_str(&cut(word, room));
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            out.push(cut(word, room.saturating_sub(2)));
        }
    }
    out
}
