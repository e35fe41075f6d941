//! Lifelines: what opens, goes on, is answered and closes, each under its id.
//! Never compares ids of two namespaces but to say that one was mistaken for the other.

use std::collections::{BTreeMap, HashMap};

use crate::base::{Code, Severity};
use crate::dialect::{Lifeline, Part, Plan};
use crate::schema::Schema;

use super::digest::Occurrence;
use super::life::{Context, Life, ids, subject, unanswered, what};
use super::{At, IdValue, Link, LinkState, Notice};

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
    /// More of them, where several came to their end at once.
    pub links: Vec<Link>,
    pub after_abort: bool,
    pub life: Option<u64>,
}

/// How much of a run was captured.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    /// Nothing of what the peer sent was.
    pub one_way: bool,
    /// Its beginning was not.
    pub late: bool,
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

    /// Those that were opened and have not ended.
    pub(super) fn open(&self, schema: &Schema, plan: &Plan) -> Vec<Link> {
        let loose = |l: &Life| plan.lifelines.get(usize::from(l.lifeline)).is_none_or(|r| r.loose);
        let open = self.all.values().filter(|l| l.opened.is_some() && l.done.is_none());
        let open = open.filter(|l| !(l.early && loose(l)));
        let link =
            |life: &Life| Some(life.link(schema, plan.lifelines.get(usize::from(life.lifeline))?, None));
        open.filter_map(link).collect()
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
                // Of calls in no known order, the answer to a run may be read before its opening.
                let of_run = rule.namespace == from.scope && seen.part == Part::Answer;
                if rule.loose && !opens && !of_run {
                    return Taken::default();
                }
                self.begin(plan, rule, from, seen)
            }
        };
        let mut taken = Taken { life: Some(at), ..Taken::default() };
        let Some(life) = self.all.get_mut(&at) else { return taken };
        let mut context = Context { schema, rule, taken: &mut taken };
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
        self.all.insert(at, Life::new(from, seen));
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
    pub(super) fn finish(&mut self, schema: &Schema, plan: &Plan, at: u64, quiet: bool, told: Told) -> Taken {
        let mut taken = Taken::default();
        let Some(life) = self.all.remove(&at) else { return taken };
        self.forget(plan, &life, at);
        let Some(rule) = plan.lifelines.get(usize::from(life.lifeline)) else { return taken };
        if life.opened.is_none() {
            self.orphan(schema, plan, rule, &life, told, &mut taken);
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
        // What may go without an answer is not worth a word without one, unless it is the run itself.
        let idle = rule.loose && life.answered.is_none() && life.abort.is_none() && life.id != life.run;
        if !life.linked && !idle {
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
    fn orphan(
        &self,
        schema: &Schema,
        plan: &Plan,
        rule: &Lifeline,
        life: &Life,
        told: Told,
        taken: &mut Taken,
    ) {
        let Some((at, first)) = life.strays.first().filter(|_| !rule.loose) else { return };
        let what = what(schema, rule, Some(first.branch), first.inside);
        let subject = subject(rule, life.id.as_ref());
        let bridge = rule.bridge && !told.late;
        let other = life.id.as_ref().filter(|_| bridge).and_then(|id| self.elsewhere(plan, rule, life, id));
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
        // Whoever asks was not captured at all, or not from the beginning, or only the wish to break off was.
        let wish = life.strays.iter().all(|(_, s)| s.part == Part::Abort);
        let alone = || !self.all.values().any(|l| l.lifeline == life.lifeline && l.channel == life.channel);
        if told.one_way && rule.bridge || told.late || wish && alone() {
            notice = notice.severity(Severity::Note);
        }
        taken.notices.push(notice);
        let mut link = life.link(schema, rule, Some(LinkState::Orphan));
        link.what = what.to_owned();
        link.time = at.time;
        link.responses = life.strays.iter().map(|(at, _)| at.frame).collect();
        link.count = life.strays.len() as u32;
        taken.link = Some(link);
    }

    /// How many answers in one channel fit what is open in another.
    pub(super) fn fitting(&self, plan: &Plan, open: u64, answers: u64) -> usize {
        let strays = self.all.values().filter(|l| l.channel == answers && l.opened.is_none());
        let fits = |stray: &&Life| {
            let bridge = plan.lifelines.get(usize::from(stray.lifeline)).is_some_and(|r| r.bridge);
            let near = self.near.get(&(stray.lifeline, open, stray.id.clone())).and_then(|at| self.get(*at));
            bridge && near.is_some_and(|l| l.opened.is_some() && l.answered.is_none())
        };
        strays.filter(fits).count()
    }

    /// The lives of a channel go on in another.
    pub(super) fn adopt(
        &mut self,
        schema: &Schema,
        plan: &Plan,
        from: u64,
        into: u64,
        run: Option<&IdValue>,
    ) -> Taken {
        let mut taken = Taken::default();
        for at in self.by_channel.get(&into).into_iter().flatten() {
            if let Some(life) = self.all.get_mut(at) {
                life.run = life.run.take().or(run.cloned());
            }
        }
        for at in self.of(from) {
            let Some(mut life) = self.all.remove(&at) else { continue };
            self.forget(plan, &life, at);
            let key = (life.lifeline, into, life.id.clone());
            let known = self.near.get(&key).copied().and_then(|at| self.all.get_mut(&at));
            let rule = plan.lifelines.get(usize::from(life.lifeline));
            if let (Some(known), Some(rule), true) = (known, rule, life.opened.is_none()) {
                for (at, stray) in std::mem::take(&mut life.strays) {
                    let mut one = Taken::default();
                    known.take(&mut Context { schema, rule, taken: &mut one }, at, &stray);
                    taken.notices.append(&mut one.notices);
                    taken.links.extend(one.link);
                }
                continue;
            }
            life.channel = into;
            self.near.insert(key, at);
            self.all.insert(at, life);
            self.by_channel.entry(into).or_default().push(at);
        }
        taken
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

    /// Takes the lives of a channel: those never opened, then the others, each oldest first.
    pub(super) fn of(&mut self, channel: u64) -> Vec<u64> {
        let mut lives = self.by_channel.remove(&channel).unwrap_or_default();
        lives.retain(|at| self.all.contains_key(at));
        // What was never opened is told first, while it can still be said whose id it has.
        lives.sort_by_key(|at| self.get(*at).is_some_and(|l| l.opened.is_some()));
        lives
    }
}

/// What stands before the first separator, where the id has one.
fn first_part(plan: &Plan, rule: &Lifeline, id: Option<&IdValue>) -> Option<IdValue> {
    let namespace = plan.namespaces.get(usize::from(rule.namespace?))?;
    let (IdValue::Str(text), false) = (id?, namespace.separator.is_empty()) else { return None };
    let (first, _) = text.split_once(&*namespace.separator)?;
    (!first.is_empty()).then(|| IdValue::Str(first.into()))
}
