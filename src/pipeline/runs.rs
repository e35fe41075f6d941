//! What correlation knows, in the form that the terminal interface shows: lanes and links.
//! Never longer than its limits: links and stages have theirs.

use std::collections::HashMap;

use crate::base::text::{clean, cut};
use crate::base::{Finding, Timestamp};
use crate::dialect::Plan;
use crate::session::{EndingKind, Event, IdValue, Link, LinkState, Outcome, RunText, Stage};
use crate::view::tui::{Lane, LaneTone, Moment};

/// Ids are shown up to this many characters.
const ID: usize = 13;

/// What is known of runs so far.
#[derive(Default)]
pub struct Runs {
    /// Stages, as of the last look.
    pub stages: Vec<Stage>,
    /// Links that are final.
    pub links: Vec<Link>,
    /// By frame: links that it is part of.
    by_frame: HashMap<u64, Vec<u32>>,
    /// By frame: findings of runs.
    pub notices: HashMap<u64, Vec<Finding>>,
    /// How runs ended, by their stage.
    outcomes: HashMap<u32, Outcome>,
    /// What runs said.
    pub texts: Vec<RunText>,
}

impl Runs {
    /// Takes in what is known since.
    pub fn take(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Link(link) => {
                    let number = self.links.len() as u32;
                    for frame in link.request.iter().chain(&link.responses) {
                        self.by_frame.entry(*frame).or_default().push(number);
                    }
                    self.links.push(link.clone());
                }
                Event::Finding(notice) => {
                    for frame in &notice.frames {
                        self.notices.entry(*frame).or_default().push(notice.finding.clone());
                    }
                }
                Event::Outcome(outcome) => {
                    if let Some(stage) = outcome.stage {
                        self.outcomes.insert(stage, outcome.clone());
                    }
                }
                Event::Text(text) => self.texts.push(text.clone()),
            }
        }
    }

    /// The links of a frame.
    pub fn links_of(&self, frame: u64) -> impl Iterator<Item = &Link> {
        let numbers = self.by_frame.get(&frame).into_iter().flatten();
        numbers.filter_map(|n| self.links.get(*n as usize))
    }

    /// The frame that a pair leads to from one, else the next that is part of a pair.
    pub fn partner(&self, frame: u64, back: bool) -> Option<u64> {
        for link in self.links_of(frame) {
            let mut chain: Vec<u64> = link.request.iter().chain(&link.responses).copied().collect();
            chain.sort_unstable();
            let found =
                if back { chain.iter().rfind(|f| **f < frame) } else { chain.iter().find(|f| **f > frame) };
            if let Some(found) = found {
                return Some(*found);
            }
        }
        let others = self.by_frame.keys().copied();
        if back { others.filter(|f| *f < frame).max() } else { others.filter(|f| *f > frame).min() }
    }

    /// The frames that one is joined to: what they are, their number, the wait.
    pub fn joined(&self, frame: u64) -> Vec<(String, u64, String)> {
        let mut out = Vec::new();
        for link in self.links_of(frame) {
            let wait = link
                .latency
                .map(|n| format!("{} after {}", seconds(n), clean(&link.what)))
                .unwrap_or_else(|| clean(&link.what));
            match link.request {
                Some(request) if request == frame => {
                    out.extend(link.responses.iter().map(|r| ("answer in".to_owned(), *r, wait.clone())));
                }
                Some(request) => out.push(("request in".to_owned(), request, wait.clone())),
                None => {}
            }
        }
        out
    }

    /// The levels around a stage, from the outside in.
    pub fn levels(&self, plan: &Plan, stage: Option<u32>) -> Vec<String> {
        let mut out: Vec<String> = self.path(stage).map(|(_, s)| named(plan, s, 40)).collect();
        out.reverse();
        out
    }

    /// A stage and those around it, from the inside out.
    pub fn path(&self, stage: Option<u32>) -> impl Iterator<Item = (u32, &Stage)> {
        let mut at = stage;
        std::iter::from_fn(move || {
            let number = at?;
            let found = self.stages.get(number as usize)?;
            at = found.parent;
            Some((number, found))
        })
        .take(32)
    }

    /// The outcome of the run that a stage belongs to.
    pub fn outcome(&self, stage: Option<u32>) -> Option<&Outcome> {
        self.path(stage).find_map(|(number, _)| self.outcomes.get(&number))
    }

    /// The timeline.
    pub fn lanes(&self, plan: &Plan) -> Vec<Lane> {
        let mut below: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        for (number, stage) in self.stages.iter().enumerate() {
            below.entry(stage.parent).or_default().push(number as u32);
        }
        let mut links: HashMap<Option<u32>, Vec<&Link>> = HashMap::new();
        for link in &self.links {
            links.entry(link.stage).or_default().push(link);
        }
        let mut out: Vec<Lane> = Vec::new();
        let first = |inside: &Inside<'_>| match inside {
            Inside::Stage(number) => self.stages.get(*number as usize).map_or(u64::MAX, |s| s.first.frame),
            Inside::Link(link) => link.request.or(link.responses.first().copied()).unwrap_or(u64::MAX),
            Inside::End(_) => u64::MAX,
        };
        // What is yet to be written, the next one last.
        let mut todo: Vec<(Inside<'_>, u16)> = Vec::new();
        let inside = |parent: Option<u32>, depth: u16| {
            let stages = below.get(&parent).into_iter().flatten().map(|n| Inside::Stage(*n));
            // What is as long as the level and has its id is the level itself.
            let level = parent.and_then(|n| self.stages.get(n as usize));
            let is_level = |l: &&&Link| {
                l.state == LinkState::Answered
                    && level
                        .is_some_and(|s| l.id.is_some() && l.id == s.id && l.request == Some(s.first.frame))
            };
            let own = links.get(&parent).into_iter().flatten().filter(|l| !is_level(l));
            let pairs = own.map(|l| Inside::Link(l));
            let mut inside: Vec<_> = pairs.chain(stages).map(|inside| (inside, depth)).collect();
            // At the same frame a pair stands before the level that it opens.
            inside.sort_by_key(|(inside, _)| (first(inside), matches!(inside, Inside::Stage(_))));
            inside.into_iter().rev()
        };
        todo.extend(inside(None, 0));
        while let Some((next, depth)) = todo.pop() {
            let number = match next {
                Inside::Stage(number) => number,
                Inside::Link(link) => {
                    out.extend(self.pair(plan, link, depth));
                    continue;
                }
                Inside::End(place) => {
                    let end = out.len() as u32;
                    if let Some(lane) = out.get_mut(place) {
                        lane.end = end;
                    }
                    continue;
                }
            };
            let Some(stage) = self.stages.get(number as usize) else { continue };
            todo.push((Inside::End(out.len()), depth));
            out.push(self.level(plan, number, stage, depth));
            if depth < 30 {
                todo.extend(inside(Some(number), depth + 1));
            }
        }
        for (at, lane) in out.iter_mut().enumerate() {
            lane.end = lane.end.max(at as u32 + 1);
        }
        out
    }

    fn level(&self, plan: &Plan, number: u32, stage: &Stage, depth: u16) -> Lane {
        let moment = |m: crate::session::Mark| Moment { frame: m.frame, time: m.time };
        let outcome = self.outcomes.get(&number);
        let tone = match outcome.map(|o| o.ending) {
            None | Some(EndingKind::Completed) => LaneTone::Level,
            Some(EndingKind::Canceled) => LaneTone::Stopped,
            Some(EndingKind::Error | EndingKind::CutOff | EndingKind::Unfinished) => LaneTone::Bad,
            Some(EndingKind::Open) => LaneTone::Open,
        };
        let mut title = named(plan, stage, ID);
        if let Some(said) = &stage.title {
            title.push(' ');
            title.push_str(&cut(&clean(said), 60));
        }
        let lasted = elapsed(stage.first.time, stage.last.time);
        let note = [outcome.map(|o| o.ending.name().to_owned()), lasted]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        Lane { depth, end: 0, title, note, tone, first: moment(stage.first), last: moment(stage.last) }
    }

    fn pair(&self, plan: &Plan, link: &Link, depth: u16) -> Option<Lane> {
        let first = link.request.or(link.responses.first().copied())?;
        let last = link.responses.first().copied().filter(|r| *r >= first).unwrap_or(first);
        let stage = link.stage.and_then(|s| self.stages.get(s as usize));
        let end = match (link.state, link.latency, link.time) {
            (_, Some(latency), Some(time)) => Some(Timestamp(time.0.saturating_add(latency))),
            // What was never answered is open until its run is over.
            (LinkState::Unanswered, ..) => stage.and_then(|s| s.last.time),
            (_, _, time) => time,
        };
        let tone = match link.state {
            LinkState::Answered => LaneTone::Good,
            LinkState::Aborted => LaneTone::Stopped,
            LinkState::Unanswered | LinkState::Orphan | LinkState::Mismatch => LaneTone::Bad,
        };
        let kind = plan.lifelines.get(usize::from(link.lifeline)).map_or("", |l| &*l.name);
        let id = link.id.as_ref().map(|id| format!(" {}", short(id, ID))).unwrap_or_default();
        let note = match link.state {
            LinkState::Answered => link.latency.map(seconds).unwrap_or_default(),
            state => state.name().to_owned(),
        };
        let last_frame = match link.state {
            LinkState::Unanswered => stage.map_or(last, |s| s.last.frame.max(last)),
            _ => last,
        };
        Some(Lane {
            depth,
            end: 0,
            title: format!("{}{id} {}", clean(kind), clean(&link.what)),
            note,
            tone,
            first: Moment { frame: first, time: link.time },
            last: Moment { frame: last_frame, time: end },
        })
    }
}

/// What stands within a level.
enum Inside<'a> {
    Stage(u32),
    Link(&'a Link),
    /// The lane of this place ends.
    End(usize),
}

fn named(plan: &Plan, stage: &Stage, room: usize) -> String {
    let level = plan.levels.get(usize::from(stage.level)).map_or("", |l| &*l.name);
    let id = stage.id.as_ref().map(|id| format!(" {}", short(id, room))).unwrap_or_default();
    format!("{}{id}", clean(level))
}

fn short(id: &IdValue, room: usize) -> String {
    cut(&clean(&id.to_string()), room)
}

/// Nanoseconds in the unit that reads best.
fn seconds(nanos: i64) -> String {
    match nanos {
        0..1_000_000 => format!("{} µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.2} s", nanos as f64 / 1e9),
    }
}

fn elapsed(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<String> {
    let nanos = to?.0.checked_sub(from?.0)?;
    (nanos > 0).then(|| seconds(nanos))
}
