//! A sink behind a display filter: it is given the frames that pass, and what is about them.
//! Never leaves a frame out of the correlation: that runs before.

use std::collections::HashSet;
use std::io;

use crate::base::{Code, Finding};
use crate::query::{Field, Filter, Looked, Meta, Record, Value};
use crate::schema::TypeId;
use crate::session::{Event, IdValue, Notice, Session};
use crate::source;

use super::verdicts::{Frames, Late};
use super::{Config, Correlated, Seen, Sink};

/// What passes on to another sink: the frames that a filter lets through, links and findings of such a frame, and
/// outcomes and texts of a run that holds one. A finding of no frame is judged by itself.
pub struct Chosen<'a> {
    config: &'a Config,
    filter: &'a Filter,
    inner: &'a mut dyn Sink,
    /// What passes, where that was found out before.
    known: Option<&'a Frames>,
    passed: Frames,
    runs: HashSet<IdValue>,
    /// Of runs that hold no frame that passed so far.
    waiting: Vec<Event>,
    /// Whether one of those may pass by now.
    news: bool,
    /// Whether a limit left no room for one that might have.
    full: bool,
}

impl<'a> Chosen<'a> {
    /// In front of `inner`. `known` are the frames that pass, where the filter needs the whole capture to tell.
    pub fn new(
        config: &'a Config,
        filter: &'a Filter,
        known: Option<&'a Frames>,
        inner: &'a mut dyn Sink,
    ) -> Self {
        Self {
            config,
            filter,
            inner,
            known,
            passed: Frames::default(),
            runs: HashSet::new(),
            waiting: Vec::new(),
            news: false,
            full: false,
        }
    }

    fn passes(&self, frame: &Correlated<'_>) -> bool {
        if let Some(known) = self.known {
            return known.has(frame.job.number);
        }
        let item = frame.job.item(self.config, frame.decoded);
        self.filter.matches(&self.config.schema, &Seen::new(&item, None))
    }

    /// Whether an event is about a frame that passed; `None`: not yet.
    fn concerns(&self, event: &Event) -> Option<bool> {
        let any = |frames: &[u64]| frames.iter().any(|f| self.passed.has(*f));
        let run =
            |run: &Option<IdValue>| run.as_ref().is_some_and(|run| self.runs.contains(run)).then_some(true);
        match event {
            Event::Link(link) => {
                Some(link.request.is_some_and(|f| self.passed.has(f)) || any(&link.responses))
            }
            Event::Finding(notice) if !notice.frames.is_empty() => Some(any(&notice.frames)),
            Event::Finding(notice) if notice.run.is_some() => run(&notice.run),
            Event::Finding(notice) => Some(self.judged("", &notice.finding)),
            Event::Outcome(outcome) if outcome.run.is_some() => run(&outcome.run),
            Event::Outcome(outcome) => {
                let (first, last) = outcome.frames;
                (first..=last).any(|f| self.passed.has(f)).then_some(true)
            }
            Event::Text(text) if text.run.is_some() => run(&text.run),
            // What nothing names belongs to whatever passed.
            Event::Text(_) => Some(true),
        }
    }

    /// The events that pass by now, those that waited first.
    fn sift(&mut self, events: &[Event]) -> Vec<Event> {
        let mut out = Vec::new();
        let waited =
            if std::mem::take(&mut self.news) { std::mem::take(&mut self.waiting) } else { Vec::new() };
        for event in waited.into_iter().chain(events.iter().cloned()) {
            match self.concerns(&event) {
                Some(true) => out.push(event),
                Some(false) => {}
                None if self.waiting.len() < self.config.limits.max_stages => self.waiting.push(event),
                None => self.full = true,
            }
        }
        out
    }

    /// Whether a finding of no frame passes.
    fn judged(&self, capture: &str, finding: &Finding) -> bool {
        let mut looked = Looked::default();
        let findings = std::slice::from_ref(finding);
        let late = Late { plan: &self.config.plan, links: Vec::new(), findings, outcome: None };
        self.filter.look(&self.config.schema, &late, &mut looked);
        self.filter.look(&self.config.schema, &Named(capture), &mut looked);
        self.filter.judge(&looked)
    }
}

impl Sink for Chosen<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        let passes = self.passes(frame);
        if passes {
            self.passed.add(frame.job.number);
            let ids = frame.job.joined.ids.iter().chain(&frame.digest.ids);
            let levels = &self.config.plan.levels;
            let names_a_run = |namespace: u16| levels.iter().any(|l| l.namespace == Some(namespace));
            for (_, value) in ids.filter(|(namespace, _)| names_a_run(*namespace)) {
                if self.runs.len() < self.config.limits.max_channels {
                    self.news |= self.runs.insert(value.clone());
                } else {
                    self.full |= !self.runs.contains(value);
                }
            }
        }
        let events = if passes || !frame.events.is_empty() { self.sift(frame.events) } else { Vec::new() };
        if passes {
            return self.inner.correlated(&Correlated { events: &events, ..*frame });
        }
        if events.is_empty() { Ok(true) } else { self.inner.events(&events) }
    }

    fn finished(&mut self, session: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.news = true;
        let mut events = self.sift(events);
        if self.full {
            let text = "more runs passed the filter than are followed: events of later ones are left out";
            events.push(Event::Finding(Notice::new(Code::LimitReached, text)));
        }
        self.inner.finished(session, &events)
    }

    fn stopped(&mut self, session: &Session<'_>) -> io::Result<()> {
        self.inner.stopped(session)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.inner.idle()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        if self.judged(capture, finding) {
            self.inner.finding(capture, finding);
        }
    }

    fn error(&mut self, error: &source::Error) {
        self.inner.error(error);
    }
}

/// What a finding of no frame has of a record: the name of its capture.
struct Named<'a>(&'a str);

impl Record for Named<'_> {
    fn values(&self, field: &Field, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        if *field == Field::Meta(Meta::Capture) && !self.0.is_empty() {
            visit(Value::Text(self.0));
        }
    }

    fn message(&self) -> Option<(Option<TypeId>, &serde_json::Value)> {
        None
    }
}
