//! Lifelines: what opens, goes on, is answered and closes, each under its id.
//! Never compares ids of two namespaces but to say that one was mistaken for the other.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use crate::base::{Code, Severity};
use crate::dialect::{Lifeline, Part, Plan};
use crate::schema::{FieldId, Schema};

use super::digest::{Agree, Occurrence, name_of};
use super::{At, Id, IdValue, Link, LinkState, Notice};

/// Response frames that a life remembers.
const MAX_RESPONSES: usize = 64;
/// Messages before the opening that a life remembers.
const MAX_STRAYS: usize = 16;

/// One life.
pub(super) struct Life {
    pub lifeline: u16,
    pub channel: u64,
    pub id: Option<IdValue>,
    pub run: Option<IdValue>,
    pub stage: Option<u32>,
    /// The content that its opening asks for: rule and id.
    pub wants: Option<(u16, Box<[u8]>)>,
    opened: Option<At>,
    /// Only announced so far.
    early: bool,
    branch: Option<FieldId>,
    inside: Option<FieldId>,
    agree: SmallVec<[Option<Agree>; 2]>,
    responses: Vec<u64>,
    count: u32,
    answered: Option<At>,
    /// The last answer, or what closed it.
    done: Option<At>,
    abort: Option<At>,
    mismatch: bool,
    aborted: bool,
    linked: bool,
    strays: Vec<(At, Occurrence)>,
}

type Key = (u16, u64, Option<IdValue>);

/// All lives.
#[derive(Default)]
pub(super) struct Lives {
    all: BTreeMap<u64, Life>,
    next: u64,
    /// Within a channel.
    near: HashMap<Key, u64>,
    /// Over all channels, for ids that are unique further than one: lifeline, id.
    far: HashMap<(u16, IdValue), u64>,
    by_channel: HashMap<u64, Vec<u64>>,
}

/// What a message of a life led to.
#[derive(Default)]
pub(super) struct Taken {
    pub notices: Vec<Notice>,
    pub link: Option<Link>,
    pub after_abort: bool,
    pub life: Option<u64>,
}

/// Where a message comes from.
pub(super) struct From<'a> {
    pub channel: u64,
    pub run: Option<&'a IdValue>,
    pub scope: Option<u16>,
    pub at: At,
    pub stage: Option<u32>,
}

impl Lives {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get_mut(&mut self, life: u64) -> Option<&mut Life> {
        self.all.get_mut(&life)
    }

    pub(super) fn get(&self, life: u64) -> Option<&Life> {
        self.all.get(&life)
    }

    /// Takes a message in.
    pub(super) fn push(&mut self, schema: &Schema, plan: &Plan, from: &From<'_>, seen: &Occurrence) -> Taken {
        let Some(rule) = plan.lifelines.get(usize::from(seen.lifeline)) else { return Taken::default() };
        if rule.namespace.is_some() && seen.id.is_none() {
            // A branch whose id is not there belongs to nothing that could be told.
            return Taken::default();
        }
        let opens = matches!(seen.part, Part::Open | Part::Early);
        let known = self.find(plan, rule, from, seen, !opens);
        let at = match known {
            Some(at) if !(seen.part == Part::Open && self.get(at).is_some_and(|l| l.done.is_some())) => at,
            _ => {
                if rule.loose && !opens {
                    return Taken::default();
                }
                self.begin(plan, rule, from, seen)
            }
        };
        let mut taken = Taken { life: Some(at), ..Taken::default() };
        let Some(life) = self.all.get_mut(&at) else { return taken };
        let mut context = Context { schema, plan, rule, taken: &mut taken };
        life.take(&mut context, from.at, seen);
        if matches!(seen.part, Part::Open) {
            for (at, stray) in std::mem::take(&mut life.strays) {
                life.take(&mut context, at, &stray);
            }
        }
        taken
    }

    fn find(
        &self,
        plan: &Plan,
        rule: &Lifeline,
        from: &From<'_>,
        seen: &Occurrence,
        far: bool,
    ) -> Option<u64> {
        // Only what may outlive its run is looked for in others.
        let far = far
            && rule.loose
            && rule
                .namespace
                .and_then(|n| plan.namespaces.get(usize::from(n)))
                .is_some_and(|n| n.within.is_none() || n.within != from.scope);
        let at = |id: Option<&IdValue>| {
            let near = self.near.get(&(seen.lifeline, from.channel, id.cloned())).copied();
            near.or_else(|| self.far.get(&(seen.lifeline, id.filter(|_| far)?.clone())).copied())
        };
        at(seen.id.as_ref()).or_else(|| at(Some(&first_part(plan, rule, seen.id.as_ref())?)))
    }

    fn begin(&mut self, plan: &Plan, rule: &Lifeline, from: &From<'_>, seen: &Occurrence) -> u64 {
        let at = self.next;
        self.next += 1;
        let life = Life {
            lifeline: seen.lifeline,
            channel: from.channel,
            id: seen.id.clone(),
            run: from.run.cloned(),
            stage: from.stage,
            wants: None,
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
        };
        self.all.insert(at, life);
        self.by_channel.entry(from.channel).or_default().push(at);
        for id in [seen.id.clone(), first_part(plan, rule, seen.id.as_ref())] {
            self.near.insert((seen.lifeline, from.channel, id.clone()), at);
            if let Some(id) = id {
                self.far.insert((seen.lifeline, id), at);
            } else if rule.namespace.is_some() {
                self.near.remove(&(seen.lifeline, from.channel, None));
            }
        }
        at
    }

    /// Ends a life; what is still to say of it. `quiet`: its run was broken off or not seen to its end.
    pub(super) fn finish(&mut self, schema: &Schema, plan: &Plan, at: u64, quiet: bool) -> Taken {
        let mut taken = Taken::default();
        let Some(life) = self.all.remove(&at) else { return taken };
        self.forget(plan, &life, at);
        let Some(rule) = plan.lifelines.get(usize::from(life.lifeline)) else { return taken };
        if life.opened.is_none() {
            self.orphan(schema, plan, rule, &life, &mut taken);
            return taken;
        }
        let open = life.done.is_none() && life.abort.is_none() && !rule.loose;
        if open && life.answered.is_none() || open && rule.answers && !life.linked {
            let mut notice = unanswered(schema, rule, &life);
            if quiet {
                notice = notice.severity(Severity::Note);
            }
            taken.notices.push(notice);
        }
        if !life.linked {
            taken.link = Some(life.link(schema, rule, None));
        }
        taken
    }

    fn forget(&mut self, plan: &Plan, life: &Life, at: u64) {
        let rule = plan.lifelines.get(usize::from(life.lifeline));
        let part = rule.and_then(|rule| first_part(plan, rule, life.id.as_ref()));
        for id in [life.id.clone(), part] {
            let near = (life.lifeline, life.channel, id.clone());
            if self.near.get(&near) == Some(&at) {
                self.near.remove(&near);
            }
            let far = id.map(|id| (life.lifeline, id));
            if let Some(far) = far.filter(|far| self.far.get(far) == Some(&at)) {
                self.far.remove(&far);
            }
        }
    }

    /// Messages of something that was never opened.
    fn orphan(&self, schema: &Schema, plan: &Plan, rule: &Lifeline, life: &Life, taken: &mut Taken) {
        let Some((at, first)) = life.strays.first().filter(|_| !rule.loose) else { return };
        let what = first.inside.map_or("", |f| name_of(schema, f));
        let what = if what.is_empty() { name_of(schema, first.branch) } else { what };
        let subject = subject(rule, life.id.as_ref());
        let other = life.id.as_ref().and_then(|id| self.elsewhere(plan, rule, life, id));
        let mut notice = match other {
            Some(other) => Notice::new(
                Code::IdWrongNamespace,
                format!(
                    "{subject}: {what} without a request; the id is that of a {} of the same run",
                    other.label
                ),
            ),
            None if rule.bridge => {
                Notice::new(Code::PairOrphan, format!("{subject}: {what} without a request"))
            }
            None => Notice::new(
                Code::LifelineNotOpened,
                format!("{subject} was never opened, yet here is its {what}"),
            ),
        };
        notice.finding.path = Some(first.path.to_string());
        notice.frames = life.strays.iter().map(|(at, _)| at.frame).collect();
        notice.ids = ids(rule, life.id.as_ref());
        taken.notices.push(notice);
        let mut link = life.link(schema, rule, Some(LinkState::Orphan));
        link.what = what.to_owned();
        link.time = at.time;
        link.responses = life.strays.iter().map(|(at, _)| at.frame).collect();
        link.count = life.strays.len() as u32;
        taken.link = Some(link);
    }

    /// Another bridge of the same channel that was opened under this id.
    fn elsewhere<'p>(
        &self,
        plan: &'p Plan,
        rule: &Lifeline,
        life: &Life,
        id: &IdValue,
    ) -> Option<&'p Lifeline> {
        let others = plan.lifelines.iter().enumerate();
        let others =
            others.filter(|(_, l)| l.bridge && l.namespace.is_some() && l.namespace != rule.namespace);
        let opened = |number: usize| {
            let at = self.near.get(&(number as u16, life.channel, Some(id.clone())))?;
            self.get(*at).filter(|l| l.opened.is_some())
        };
        others.into_iter().find(|(number, _)| opened(*number).is_some()).map(|(_, l)| l)
    }

    /// The oldest life.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.all.keys().next().copied()
    }

    /// Takes the lives of a channel, oldest first.
    pub(super) fn of(&mut self, channel: u64) -> Vec<u64> {
        let mut lives = self.by_channel.remove(&channel).unwrap_or_default();
        lives.retain(|at| self.all.contains_key(at));
        lives
    }
}

struct Context<'a> {
    schema: &'a Schema,
    plan: &'a Plan,
    rule: &'a Lifeline,
    taken: &'a mut Taken,
}

impl Life {
    fn take(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
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
    }

    fn answer(&mut self, cx: &mut Context<'_>, at: At, seen: &Occurrence) {
        self.after_abort(cx, at);
        self.late(cx, at, seen);
        self.respond(at);
        self.answered = self.answered.or(Some(at));
        self.aborted |= seen.aborted;
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
        let what = seen.inside.map_or(name_of(cx.schema, seen.branch), |f| name_of(cx.schema, f));
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
        let _ = cx.plan;
    }

    fn link(&self, schema: &Schema, rule: &Lifeline, state: Option<LinkState>) -> Link {
        let answered = self.answered.is_some() || self.done.is_some();
        let state = state.unwrap_or(match (self.mismatch, self.abort.is_some() || self.aborted, answered) {
            (true, ..) => LinkState::Mismatch,
            (_, true, _) => LinkState::Aborted,
            // What need not be answered and has ended with its run is no worse for it.
            (.., true) => LinkState::Answered,
            _ if !rule.answers && rule.loose => LinkState::Answered,
            _ => LinkState::Unanswered,
        });
        let what = self.inside.or(self.branch).map_or("", |f| name_of(schema, f));
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
            time: self.opened.and_then(|o| o.time),
            stage: self.stage,
        }
    }
}

/// What stands before the first separator, where the id has one.
fn first_part(plan: &Plan, rule: &Lifeline, id: Option<&IdValue>) -> Option<IdValue> {
    let namespace = plan.namespaces.get(usize::from(rule.namespace?))?;
    let (IdValue::Str(text), false) = (id?, namespace.separator.is_empty()) else { return None };
    let (first, _) = text.split_once(&*namespace.separator)?;
    (!first.is_empty()).then(|| IdValue::Str(first.to_owned()))
}

fn subject(rule: &Lifeline, id: Option<&IdValue>) -> String {
    match id {
        Some(id) => format!("{} {id}", rule.label),
        None => rule.label.to_string(),
    }
}

fn ids(rule: &Lifeline, id: Option<&IdValue>) -> Vec<Id> {
    rule.namespace.zip(id.cloned()).into_iter().collect()
}

fn unanswered(schema: &Schema, rule: &Lifeline, life: &Life) -> Notice {
    let subject = subject(rule, life.id.as_ref());
    let what = life.inside.map(|f| format!(" ({})", name_of(schema, f))).unwrap_or_default();
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
