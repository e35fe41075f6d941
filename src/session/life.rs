//! One life: its opening, its answers, its end, and whether they fit.
//! Never knows of another.

use smallvec::SmallVec;

use crate::base::Code;
use crate::dialect::{Lifeline, Part};
use crate::schema::{FieldId, Schema};

use super::digest::{Agree, Occurrence, name_of};
use super::lives::{From, Taken};
use super::{At, Id, IdValue, Link, LinkState, Notice};

/// Response frames that a life remembers.
const MAX_RESPONSES: usize = 64;
/// Messages before the opening that a life remembers.
const MAX_STRAYS: usize = 16;

/// Content that waits for its id.
pub(super) struct Held {
    pub content: u16,
    pub data: Box<[u8]>,
    pub from: Box<str>,
    pub frame: u64,
}

/// One life.
pub(super) struct Life {
    pub lifeline: u16,
    pub channel: u64,
    pub id: Option<IdValue>,
    pub run: Option<IdValue>,
    pub stage: Option<u32>,
    /// The content that its opening asks for: rule and id.
    pub wants: Option<(u16, Box<[u8]>)>,
    /// Content that came before what asks for it.
    pub holds: Option<Held>,
    pub opened: Option<At>,
    /// Only announced so far.
    pub early: bool,
    branch: Option<FieldId>,
    inside: Option<FieldId>,
    agree: SmallVec<[Option<Agree>; 2]>,
    responses: Vec<u64>,
    count: u32,
    pub answered: Option<At>,
    /// The last answer, or what closed it.
    pub done: Option<At>,
    pub abort: Option<At>,
    mismatch: bool,
    aborted: bool,
    pub linked: bool,
    pub strays: Vec<(At, Occurrence)>,
    /// Of each offer, whether it was made.
    offers: SmallVec<[u32; 1]>,
    /// Of each offer, how often it was taken up.
    brought: SmallVec<[u32; 1]>,
}

pub(super) struct Context<'a> {
    pub schema: &'a Schema,
    pub rule: &'a Lifeline,
    pub taken: &'a mut Taken,
}

impl Life {
    /// A life of which nothing has been taken in yet.
    pub(super) fn new(from: &From<'_>, seen: &Occurrence) -> Self {
        Self {
            lifeline: seen.lifeline,
            channel: from.channel,
            id: seen.id.clone(),
            run: from.run.cloned(),
            stage: from.stage,
            wants: None,
            holds: None,
            opened: None,
            early: false,
            branch: None,
            inside: None,
            agree: SmallVec::new(),
            responses: Vec::new(),
            count: 0,
            answered: None,
            done: None,
            abort: None,
            mismatch: false,
            aborted: false,
            linked: false,
            strays: Vec::new(),
            offers: SmallVec::new(),
            brought: SmallVec::new(),
        }
    }

    pub(super) fn take(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        match seen.part {
            Part::Early if self.opened.is_none() => {
                self.early = true;
                self.open(at, seen);
            }
            Part::Open if self.opened.is_none() => self.open(at, seen),
            Part::Open if self.early => {
                self.early = false;
                self.branch = Some(seen.branch);
                self.inside = seen.inside.or(self.inside);
                self.compare(cx, at, seen);
            }
            Part::Open => self.compare(cx, at, seen),
            Part::Early => {}
            _ if self.opened.is_none() => {
                if self.strays.len() < MAX_STRAYS {
                    self.strays.push((at, seen.clone()));
                }
            }
            Part::Heartbeat => {}
            Part::Abort => self.abort = self.abort.or(Some(at)),
            Part::Step => {
                self.after_abort(cx, at);
                self.compare(cx, at, seen);
                self.late(cx, at, seen);
            }
            Part::Answer => self.answer(cx, at, seen),
            Part::Close => {
                self.after_abort(cx, at);
                self.respond(at);
                if self.done.is_none() {
                    self.done = Some(at);
                    self.answered = self.answered.or(Some(at));
                }
                self.send(cx);
            }
        }
    }

    fn open(&mut self, at: At, seen: &Occurrence) {
        self.opened = Some(at);
        self.branch = Some(seen.branch);
        self.inside = seen.inside;
        self.agree = seen.agree.clone();
        self.offers = seen.offers.clone();
    }

    fn answer(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        self.after_abort(cx, at);
        self.late(cx, at, seen);
        self.respond(at);
        self.answered = self.answered.or(Some(at));
        self.aborted |= seen.aborted;
        self.bring(cx, at, seen);
        self.compare(cx, at, seen);
        let last = self.matches(cx, at, seen);
        if let Some(path) = &seen.undecided {
            let text = format!("{}: the answer decides nothing", subject(cx.rule, self.id.as_ref()));
            self.find(cx, Code::PairEmptyResult, text, at, path);
            self.mismatch = true;
        }
        if last && self.done.is_none() {
            self.done = Some(at);
            self.send(cx);
        }
    }

    /// What comes along with an answer.
    fn bring(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        self.brought.resize(cx.rule.offers.len(), 0);
        for (place, offer) in cx.rule.offers.iter().enumerate() {
            let came = seen.offers.get(place).copied().unwrap_or(0);
            if let Some(sum) = self.brought.get_mut(place) {
                *sum = sum.saturating_add(came);
            }
            if came > 0 && self.offers.get(place).is_none_or(|offered| *offered == 0) {
                let text = format!(
                    "{}: {} in the answer, without {} in the request",
                    subject(cx.rule, self.id.as_ref()),
                    offer.answer,
                    offer.open
                );
                self.find(cx, Code::PairUnasked, text, at, &format!("{}.{}", seen.path, offer.answer));
            }
        }
    }

    /// Whether the answer fits the opening; true where it is the last.
    fn matches(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) -> bool {
        for rule in &cx.rule.matches {
            let (open, answer) = match rule.itself {
                true => (self.branch, Some(seen.branch)),
                false => (self.inside, seen.inside),
            };
            let Some(open) = open.map(|f| name_of(cx.schema, f)) else { continue };
            let Some(expected) = rule.expected(open) else { continue };
            // An answer with nothing set may hold a branch that the schema lacks.
            let Some(answer) = answer.map(|f| name_of(cx.schema, f)) else { return true };
            if expected != answer {
                let text = format!("{}: {open} asked, {answer} answered", subject(cx.rule, self.id.as_ref()));
                self.find(cx, Code::PairTypeMismatch, text, at, &seen.path);
                self.mismatch = true;
                return true;
            }
            let deeper = seen.deeper.map_or("", |f| name_of(cx.schema, f));
            return rule.last.is_empty() || rule.last.iter().any(|l| **l == *deeper);
        }
        true
    }

    /// Fields that must agree with the opening's.
    fn compare(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        for (place, name) in cx.rule.agree.iter().enumerate() {
            let new = seen.agree.get(place).cloned().flatten();
            let Some(new) = new else { continue };
            let Some(slot) = self.agree.get_mut(place) else { continue };
            let Some(old) = slot else {
                if matches!(seen.part, Part::Open | Part::Early) {
                    *slot = Some(new);
                }
                continue;
            };
            if *old == new {
                continue;
            }
            let subject = subject(cx.rule, self.id.as_ref());
            let (code, text) = match (&*old, &new) {
                (Agree::Branch(a), Agree::Branch(b)) => {
                    (Code::PairTypeMismatch, format!("{subject}: {name} was {a} and is now {b}"))
                }
                (Agree::Value(a), Agree::Value(b)) if cx.rule.bridge => {
                    (Code::PairIdMismatch, format!("{subject}: {name} {a} asked, {b} answered"))
                }
                (Agree::Value(a), Agree::Value(b)) => {
                    (Code::LifelineIdChanged, format!("{subject}: {name} changed from {a} to {b}"))
                }
                _ => continue,
            };
            self.mismatch |= code != Code::LifelineIdChanged;
            let path = format!("{}.{name}", seen.path);
            self.find(cx, code, text, at, &path);
        }
    }

    /// A message for what has ended.
    fn late(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        let Some(done) = self.done.filter(|_| !cx.rule.loose) else { return };
        if done.before(&at) != Some(true) {
            return;
        }
        let what = what(cx.schema, cx.rule, Some(seen.branch), seen.inside);
        let text = format!("{}: {what} after it had ended", subject(cx.rule, self.id.as_ref()));
        let mut notice = Notice::new(Code::PairAfterFinal, text);
        notice.finding.path = Some(seen.path.to_string());
        notice.frames = vec![done.frame, at.frame];
        notice.ids = ids(cx.rule, self.id.as_ref());
        cx.taken.notices.push(notice);
    }

    fn after_abort(&self, cx: &mut Context<'_>, at: At) {
        cx.taken.after_abort |= self.abort.is_some_and(|abort| abort.before(&at) == Some(true));
    }

    fn respond(&mut self, at: At) {
        self.count = self.count.saturating_add(1);
        if self.responses.len() < MAX_RESPONSES {
            self.responses.push(at.frame);
        }
    }

    fn find(&self, cx: &mut Context<'_>, code: Code, text: String, at: At, path: &str) {
        let mut notice = Notice::new(code, text);
        notice.finding.path = Some(path.to_owned());
        notice.frames = self.opened.map(|o| o.frame).into_iter().chain([at.frame]).collect();
        notice.ids = ids(cx.rule, self.id.as_ref());
        cx.taken.notices.push(notice);
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        if !self.linked {
            self.linked = true;
            cx.taken.link = Some(self.link(cx.schema, cx.rule, None));
        }
    }

    pub(super) fn link(&self, schema: &Schema, rule: &Lifeline, state: Option<LinkState>) -> Link {
        let answered = self.answered.is_some() || self.done.is_some();
        let state = state.unwrap_or(match (self.mismatch, self.abort.is_some() || self.aborted, answered) {
            (true, ..) => LinkState::Mismatch,
            (_, true, _) => LinkState::Aborted,
            (.., true) => LinkState::Answered,
            _ => LinkState::Unanswered,
        });
        let what = what(schema, rule, self.branch, self.inside);
        Link {
            lifeline: self.lifeline,
            id: self.id.clone(),
            run: self.run.clone(),
            what: what.to_owned(),
            request: self.opened.map(|o| o.frame),
            responses: self.responses.clone(),
            count: self.count,
            latency: self.opened.zip(self.answered).and_then(|(o, a)| o.until(&a)),
            state,
            brought: rule
                .offers
                .iter()
                .zip(&self.brought)
                .filter(|(_, n)| **n > 0)
                .map(|(o, n)| (o.answer.clone(), *n))
                .collect(),
            time: self.opened.and_then(|o| o.time),
            stage: self.stage,
        }
    }
}

/// What was asked or answered, by name: what is set inside the branch, or the branch where the
/// rules go by that or nothing is set.
pub(super) fn what<'s>(
    schema: &'s Schema,
    rule: &Lifeline,
    branch: Option<FieldId>,
    inside: Option<FieldId>,
) -> &'s str {
    let itself = rule.matches.iter().any(|m| m.itself);
    let field = inside.filter(|_| !itself).or(branch);
    field.map_or("", |f| name_of(schema, f))
}

pub(super) fn subject(rule: &Lifeline, id: Option<&IdValue>) -> String {
    match id {
        Some(id) => format!("{} {id}", rule.label),
        None => rule.label.to_string(),
    }
}

pub(super) fn ids(rule: &Lifeline, id: Option<&IdValue>) -> Vec<Id> {
    rule.namespace.zip(id.cloned()).into_iter().collect()
}

pub(super) fn unanswered(schema: &Schema, rule: &Lifeline, life: &Life) -> Notice {
    let subject = subject(rule, life.id.as_ref());
    let what = format!(" ({})", what(schema, rule, life.branch, life.inside));
    let mut notice = match (rule.bridge, life.answered.is_some(), life.early) {
        (true, true, _) => Notice::new(
            Code::LifelineNeverClosed,
            format!("{subject}{what} was answered in part and never ended"),
        ),
        (true, false, _) => Notice::new(Code::PairUnanswered, format!("{subject}{what} was never answered")),
        (false, _, true) => {
            Notice::new(Code::LifelineNeverClosed, format!("{subject} was announced and never started"))
        }
        (false, ..) => Notice::new(Code::LifelineNeverClosed, format!("{subject} never completed")),
    };
    notice.frames = life.opened.map(|o| o.frame).into_iter().collect();
    notice.ids = ids(rule, life.id.as_ref());
    notice
}
