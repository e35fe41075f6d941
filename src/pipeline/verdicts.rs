//! Which frames of a capture pass a filter that asks for what is known only at its end.
//! Never keeps a frame: of each, what the filter saw of it.

use std::collections::HashMap;
use std::io;

use crate::base::{Finding, Space};
use crate::dialect::Plan;
use crate::query::{Field, Filter, Group, Looked, Meta, Record, Value};
use crate::schema::TypeId;
use crate::session::{Event, IdValue, Link, Model, Outcome, Session};
use crate::source;
use crate::view::jsonl::space_name;

use super::{Config, Correlated, Seen, Sink};

/// Deepest chain of stages that is followed.
const DEPTH: usize = 16;

/// Numbers of frames.
#[derive(Clone, Default, Debug)]
pub struct Frames(Vec<u64>);

impl Frames {
    /// Adds a frame.
    pub fn add(&mut self, frame: u64) {
        let (word, bit) = place(frame);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Whether a frame is among them.
    pub fn has(&self, frame: u64) -> bool {
        let (word, bit) = place(frame);
        self.0.get(word).is_some_and(|w| w & bit != 0)
    }
}

fn place(frame: u64) -> (usize, u64) {
    (usize::try_from(frame / 64).unwrap_or(usize::MAX - 1), 1 << (frame % 64))
}

/// Judges every frame once the captures are at their end.
pub struct Verdicts<'a> {
    config: &'a Config,
    filter: &'a Filter,
    /// By number, from 1: what was seen of each frame, and its stage.
    looked: Vec<(Looked, Option<u32>)>,
    links: Vec<Link>,
    /// By frame: links, findings.
    linked: HashMap<u64, Vec<usize>>,
    found: HashMap<u64, Vec<Finding>>,
    passed: Frames,
}

impl<'a> Verdicts<'a> {
    /// For a run under a configuration.
    pub fn new(config: &'a Config, filter: &'a Filter) -> Self {
        Self {
            config,
            filter,
            looked: Vec::new(),
            links: Vec::new(),
            linked: HashMap::new(),
            found: HashMap::new(),
            passed: Frames::default(),
        }
    }

    /// The frames that pass.
    pub fn into_passed(self) -> Frames {
        self.passed
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Link(link) => {
                    for frame in link.request.iter().chain(&link.responses) {
                        let linked = self.linked.entry(*frame).or_default();
                        if linked.last() != Some(&self.links.len()) {
                            linked.push(self.links.len());
                        }
                    }
                    self.links.push(link.clone());
                }
                Event::Finding(notice) => {
                    for frame in &notice.frames {
                        self.found.entry(*frame).or_default().push(notice.finding.clone());
                    }
                }
                Event::Outcome(_) | Event::Text(_) => {}
            }
        }
    }
}

impl Sink for Verdicts<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        let item = frame.job.item(self.config, frame.decoded);
        let mut looked = Looked::default();
        self.filter.look(&self.config.schema, &Seen::new(&item, None), &mut looked);
        self.looked.push((looked, frame.placed.stage));
        self.events(frame.events);
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.events(events);
        let model = session.model();
        let outcomes = model.outcomes.iter().filter_map(|o| Some((o.stage?, o))).collect();
        for (frame, (mut looked, stage)) in (1..).zip(std::mem::take(&mut self.looked)) {
            let linked = self.linked.get(&frame).map_or(&[][..], Vec::as_slice);
            let late = Late {
                plan: &self.config.plan,
                links: linked.iter().filter_map(|link| self.links.get(*link)).collect(),
                findings: self.found.get(&frame).map_or(&[][..], Vec::as_slice),
                outcome: stage.and_then(|stage| outcome_of(model, &outcomes, stage)),
            };
            self.filter.look(&self.config.schema, &late, &mut looked);
            if self.filter.judge(&looked) {
                self.passed.add(frame);
            }
        }
        Ok(())
    }

    fn finding(&mut self, _: &str, _: &Finding) {}

    fn error(&mut self, _: &source::Error) {}
}

/// The outcome of the run that a stage belongs to.
fn outcome_of<'m>(model: &Model, outcomes: &HashMap<u32, &'m Outcome>, stage: u32) -> Option<&'m Outcome> {
    let mut at = Some(stage);
    for _ in 0..DEPTH {
        let stage = at?;
        if let Some(outcome) = outcomes.get(&stage) {
            return Some(outcome);
        }
        at = model.stages.get(stage as usize)?.parent;
    }
    None
}

/// What is known of a frame, or of a finding, at the end.
pub(super) struct Late<'a> {
    pub plan: &'a Plan,
    pub links: Vec<&'a Link>,
    pub findings: &'a [Finding],
    pub outcome: Option<&'a Outcome>,
}

/// Shows values until one is enough.
fn each<'v>(values: impl Iterator<Item = Value<'v>>, visit: &mut dyn FnMut(Value<'_>) -> bool) {
    let mut values = values;
    let _ = values.all(visit);
}

fn id(value: &IdValue) -> Value<'_> {
    match value {
        IdValue::Str(text) => Value::Text(text),
        IdValue::Uint(number) => Value::Int(i128::from(*number)),
    }
}

fn millis(value: Option<f64>) -> Option<Value<'static>> {
    value.map(|ms| Value::Nanos((ms * 1e6).round() as i128))
}

impl Late<'_> {
    fn pair(&self, meta: Meta, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let number = |frame: &u64| Value::Int(i128::from(*frame));
        let links = self.links.iter();
        match meta {
            Meta::PairKind => {
                let rules = links.filter_map(|l| self.plan.lifelines.get(usize::from(l.lifeline)));
                each(rules.map(|rule| Value::Text(&rule.name)), visit);
            }
            Meta::PairId => each(links.filter_map(|l| l.id.as_ref()).map(id), visit),
            Meta::PairWhat => each(links.map(|l| Value::Text(&l.what)), visit),
            Meta::PairState => each(links.map(|l| Value::Text(l.state.name())), visit),
            Meta::PairLatency => {
                each(links.filter_map(|l| l.latency).map(|n| Value::Nanos(i128::from(n))), visit);
            }
            Meta::PairRequest => each(links.filter_map(|l| l.request.as_ref()).map(number), visit),
            _ => each(links.flat_map(|l| &l.responses).map(number), visit),
        }
    }

    fn run(&self, meta: Meta, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let Some(outcome) = self.outcome else { return };
        let value = match meta {
            Meta::RunRequestId => outcome.run.as_ref().map(id),
            Meta::RunConversationId => outcome.conversation.as_ref().map(id),
            Meta::RunEnding => Some(Value::Text(outcome.ending.name())),
            Meta::RunReason => outcome.reason.as_deref().map(Value::Text),
            Meta::RunTtft => millis(outcome.ttft_ms),
            _ => millis(outcome.duration_ms),
        };
        each(value.into_iter(), visit);
    }

    fn finding(&self, meta: Meta, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let found = self.findings.iter();
        let space = |space: Space| space_name(space).map(Value::Text);
        match meta {
            Meta::FindingCode => each(found.map(|f| Value::Text(f.code.name())), visit),
            Meta::FindingSeverity => each(found.map(|f| Value::Text(f.severity.name())), visit),
            Meta::FindingPath => each(found.filter_map(|f| f.path.as_deref()).map(Value::Text), visit),
            Meta::FindingOffset => {
                each(found.filter_map(|f| f.span).map(|s| Value::Int(i128::from(s.start))), visit);
            }
            Meta::FindingIn => each(found.filter_map(|f| f.span).filter_map(|s| space(s.space)), visit),
            _ => each(found.map(|f| Value::Text(&f.text)), visit),
        }
    }

    fn tokens(&self, name: Option<&str>, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let tokens = self.outcome.map_or(&[][..], |o| &o.tokens).iter();
        let named = tokens.filter(|(measure, _)| {
            let measure = self.plan.measures.get(usize::from(*measure));
            name.is_none_or(|name| measure.is_some_and(|m| *m.name == *name))
        });
        each(named.map(|(_, count)| Value::Int(count.round() as i128)), visit);
    }
}

impl Record for Late<'_> {
    fn values(&self, field: &Field, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        match field {
            Field::Member(Group::Tokens, name) => self.tokens(name.as_deref(), visit),
            Field::Meta(meta) => match meta {
                Meta::PairKind
                | Meta::PairId
                | Meta::PairWhat
                | Meta::PairState
                | Meta::PairLatency
                | Meta::PairRequest
                | Meta::PairResponses => self.pair(*meta, visit),
                Meta::RunRequestId
                | Meta::RunConversationId
                | Meta::RunEnding
                | Meta::RunReason
                | Meta::RunTtft
                | Meta::RunDuration => self.run(*meta, visit),
                Meta::FindingCode
                | Meta::FindingSeverity
                | Meta::FindingPath
                | Meta::FindingOffset
                | Meta::FindingIn
                | Meta::FindingText => self.finding(*meta, visit),
                _ => {}
            },
            Field::Member(..) => {}
        }
    }

    fn message(&self) -> Option<(Option<TypeId>, &serde_json::Value)> {
        None
    }
}
