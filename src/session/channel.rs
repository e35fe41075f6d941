//! One run: its calls, its open stages, its numbers, what it said and how it ended.
//! Never outlives its settling; what stays is in the model.

use smallvec::SmallVec;

use crate::base::Timestamp;
use crate::dialect::{Plan, Unit};

use super::digest::Digest;
use super::ending::Signs;
use super::model::{Model, PointsTo, merge};
use super::order::Sequence;
use super::replay::Replay;
use super::text::Texts;
use super::{At, Id, IdValue, Input, Mark, Outcome, Stage};

/// A level that is open.
struct Open {
    level: u16,
    id: Option<IdValue>,
    stage: u32,
}

/// The calls that share the id of a run.
pub(super) struct Channel {
    /// The level that it is one of.
    pub level: u16,
    pub id: Option<IdValue>,
    pub conversation: Option<IdValue>,
    /// Ids that hold for all of it, each of another namespace.
    ids: Vec<Id>,
    pub first: At,
    pub last: At,
    /// The call whose response is the run's stream, the latest.
    pub stream: Option<u64>,
    pub signs: Signs,
    pub replay: Replay,
    pub sequences: SmallVec<[(u16, Sequence); 1]>,
    pub texts: Texts,
    pub text_bytes: usize,
    pub stage: Option<u32>,
    pub outcome_sent: bool,
    /// Whether it is known to be a run: something of it was opened, or its stream was seen.
    pub begun: bool,
    /// Whether anything was captured that the client sent.
    pub heard: bool,
    /// Whether its stream was found by what is inside it, its head having been sent before the capture began.
    joined: bool,
    totals: Vec<(u16, f64)>,
    between: Vec<(u16, Option<At>, Option<At>)>,
    open: Vec<Open>,
}

impl Channel {
    pub(super) fn new(level: u16, id: Option<IdValue>, at: At) -> Self {
        Self {
            level,
            id,
            conversation: None,
            ids: Vec::new(),
            first: at,
            last: at,
            stream: None,
            signs: Signs::default(),
            replay: Replay::default(),
            sequences: SmallVec::new(),
            texts: Texts::default(),
            text_bytes: 0,
            stage: None,
            outcome_sent: false,
            begun: false,
            heard: false,
            joined: false,
            totals: Vec::new(),
            between: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Takes in the ids that hold for all of the run, those of the level around it among them.
    pub(super) fn name<'i>(&mut self, plan: &Plan, ids: impl Iterator<Item = &'i Id>) {
        let own = plan.levels.get(usize::from(self.level)).and_then(|l| l.namespace);
        let outer = self.outer(plan);
        for (namespace, value) in ids {
            if self.conversation.is_none() && outer == Some(*namespace) {
                self.conversation = Some(value.clone());
            }
            let rule = plan.namespaces.get(usize::from(*namespace));
            let spreads = rule.is_some_and(|n| n.spreads.is_some() && n.spreads == own);
            if spreads && !self.ids.iter().any(|(n, _)| n == namespace) {
                self.ids.push((*namespace, value.clone()));
            }
        }
    }

    /// The namespace of the level around it.
    fn outer(&self, plan: &Plan) -> Option<u16> {
        let around = plan.levels.get(usize::from(self.level))?.within?;
        plan.levels.get(usize::from(around))?.namespace
    }

    /// Whether the capture began in its midst, as far as can be told.
    pub(super) fn is_late(&self) -> bool {
        self.joined || self.id.is_none() || self.sequences.iter().any(|(_, s)| s.starts_late())
    }

    /// Whether it is known what the run is part of, where it can be.
    pub(super) fn is_named(&self, plan: &Plan) -> bool {
        self.conversation.is_some() || self.outer(plan).is_none()
    }

    pub(super) fn sequence(&mut self, tunnel: u16) -> &mut Sequence {
        let at = match self.sequences.iter().position(|(t, _)| *t == tunnel) {
            Some(at) => at,
            None => {
                self.sequences.push((tunnel, Sequence::default()));
                self.sequences.len() - 1
            }
        };
        &mut self.sequences[at].1
    }

    /// The stage around the run, where it is known what that is.
    pub(super) fn outer_stage(&self, plan: &Plan, model: &mut Model, max: usize) -> Option<u32> {
        let level = plan.levels.get(usize::from(self.level))?.within?;
        model.outer(level, self.conversation.as_ref()?, &self.first, max)
    }

    /// The run's own stage, made when the first frame comes.
    pub(super) fn own_stage(
        &mut self,
        plan: &Plan,
        model: &mut Model,
        input: &Input<'_>,
        at: &At,
        max: usize,
    ) -> Option<u32> {
        let level = plan.levels.get(usize::from(self.level));
        if self.stage.is_none() {
            self.stage = model.add(self.level, self.id.clone(), None, at, max);
        }
        let stage = self.stage?;
        if let (Some(outer), Some(id)) = (level.and_then(|l| l.within), &self.conversation)
            && model.stage(stage).is_some_and(|s| s.parent.is_none())
        {
            let first = self.first;
            let parent = model.outer(outer, id, &first, max);
            if let Some(own) = model.stage(stage) {
                own.parent = parent;
            }
        }
        let namespace = level.and_then(|l| l.namespace).and_then(|n| plan.namespaces.get(usize::from(n)));
        if let (Some(namespace), Some(head)) = (namespace, input.head) {
            for relation in &namespace.mention_headers {
                let Some(value) = head.headers.get(&relation.header) else { continue };
                let id = IdValue::Str(value.into());
                if let Some(own) = model.stage(stage).filter(|_| self.id.as_ref() != Some(&id))
                    && own.points_to.len() < 8
                    && !own.points_to.iter().any(|p| p.id == id)
                {
                    own.points_to.push(PointsTo { id, name: relation.name.clone(), inside: relation.inside });
                }
            }
        }
        Some(stage)
    }

    /// Opens what a frame opens, and says where the frame belongs.
    pub(super) fn place(
        &mut self,
        plan: &Plan,
        model: &mut Model,
        said: &Digest,
        at: &At,
        max: usize,
    ) -> Option<u32> {
        let own = self.level;
        for (level, id) in said.opens.iter().filter(|(level, _)| *level != own) {
            self.begin(plan, model, *level, id, at, max);
        }
        let by_id = |o: &&Open| {
            let namespace = plan.levels.get(usize::from(o.level)).and_then(|l| l.namespace);
            namespace
                .zip(o.id.as_ref())
                .is_some_and(|(n, id)| said.ids.iter().any(|(m, v)| *m == n && v == id))
        };
        let named = self.open.iter().rev().find(by_id).map(|o| o.stage);
        // What has no stage of its own belongs to the innermost level that holds others.
        let holds = |level: u16| plan.levels.iter().any(|l| l.within == Some(level));
        let stage =
            named.or_else(|| self.open.iter().rev().find(|o| holds(o.level)).map(|o| o.stage)).or(self.stage);
        for title in &said.titles {
            // A level with ids is headed by what is said of its own.
            let target = stage.filter(|s| model.stage(*s).is_some_and(|s| s.level == title.level));
            let target = target.or(self.stage_of(title.level)).or(stage);
            let better = |s: &&mut Stage| s.level == title.level && title.rank < s.rank;
            if let Some(found) = target.and_then(|s| model.stage(s)).filter(better) {
                found.rank = title.rank;
                match title.is_name {
                    true => found.kind = Some(title.text.to_string()),
                    false => found.title = Some(title.text.to_string()),
                }
            }
        }
        stage
    }

    fn stage_of(&self, level: u16) -> Option<u32> {
        if level == self.level {
            return self.stage;
        }
        self.open.iter().rev().find(|o| o.level == level).map(|o| o.stage)
    }

    fn begin(
        &mut self,
        plan: &Plan,
        model: &mut Model,
        level: u16,
        id: &Option<IdValue>,
        at: &At,
        max: usize,
    ) {
        if id.is_some() && self.open.iter().any(|o| o.level == level && o.id == *id) {
            return;
        }
        if id.is_none() {
            self.drop_level(plan, level);
        }
        let mut parent = None;
        let mut around = plan.levels.get(usize::from(level)).and_then(|l| l.within);
        for _ in 0..16 {
            let Some(outer) = around.filter(|_| parent.is_none()) else { break };
            parent = self.stage_of(outer);
            around = plan.levels.get(usize::from(outer)).and_then(|l| l.within);
        }
        if let Some(stage) = model.add(level, id.clone(), parent.or(self.stage), at, max) {
            self.open.push(Open { level, id: id.clone(), stage });
        }
    }

    /// Ends what a frame ends; after its frame has been placed.
    pub(super) fn close(&mut self, plan: &Plan, model: &mut Model, said: &Digest, at: &At) {
        for (level, id) in &said.closes {
            let found = self.open.iter().rposition(|o| o.level == *level && (id.is_none() || o.id == *id));
            let stage = match found {
                Some(found) => Some(self.open.remove(found).stage),
                None if *level == self.level => self.stage,
                None => None,
            };
            if let Some(stage) = stage.and_then(|s| model.stage(s)) {
                stage.closed = Some(Mark::from(at));
            }
            if found.is_some() {
                self.drop_inside(plan, *level);
            }
        }
    }

    fn drop_level(&mut self, plan: &Plan, level: u16) {
        self.open.retain(|o| o.level != level);
        self.drop_inside(plan, level);
    }

    /// What is open inside a level that has ended ends with it, unless another of the level is open.
    fn drop_inside(&mut self, plan: &Plan, level: u16) {
        if self.open.iter().any(|o| o.level == level) {
            return;
        }
        let inside = |mut at: u16| {
            for _ in 0..16 {
                match plan.levels.get(usize::from(at)).and_then(|l| l.within) {
                    Some(outer) if outer == level => return true,
                    Some(outer) => at = outer,
                    None => return false,
                }
            }
            false
        };
        // A call may go on after its step: only what follows one another in time ends so.
        let timely = |l: u16| plan.levels.get(usize::from(l)).is_some_and(|l| l.namespace.is_none());
        self.open.retain(|o| !(inside(o.level) && (timely(level) || timely(o.level))));
    }

    /// Takes in what is counted and timed.
    pub(super) fn count(
        &mut self,
        plan: &Plan,
        model: &mut Model,
        said: &Digest,
        at: &At,
        stage: Option<u32>,
    ) {
        for (measure, value) in &said.measures {
            merge(plan, &mut self.totals, *measure, *value);
            let level = plan.measures.get(usize::from(*measure)).and_then(|m| m.level);
            let own =
                stage.filter(|s| level.is_some() && model.stages.get(*s as usize).map(|s| s.level) == level);
            let target = own.or_else(|| self.stage_of(level?)).or(self.stage);
            if let Some(target) = target {
                model.measure(plan, target, *measure, *value);
            }
        }
        for measure in &said.since {
            let slot = self.slot(*measure);
            slot.1 = slot.1.or(Some(*at));
        }
        for measure in &said.until {
            let slot = self.slot(*measure);
            slot.2 = slot.2.or(Some(*at));
        }
    }

    fn slot(&mut self, measure: u16) -> &mut (u16, Option<At>, Option<At>) {
        let found = self.between.iter().position(|(m, ..)| *m == measure);
        let at = found.unwrap_or_else(|| {
            self.between.push((measure, None, None));
            self.between.len() - 1
        });
        &mut self.between[at]
    }

    /// Takes in the calls of a run that turned out to be this one.
    pub(super) fn merge(&mut self, plan: &Plan, other: Self) {
        self.id = self.id.take().or(other.id);
        self.name(plan, other.ids.iter());
        self.conversation = self.conversation.take().or(other.conversation);
        self.first = if other.first.frame < self.first.frame { other.first } else { self.first };
        self.last = if other.last.frame > self.last.frame { other.last } else { self.last };
        self.heard |= other.heard;
        self.begun |= other.begun;
        self.joined = true;
        self.signs.asked = self.signs.asked.take().or(other.signs.asked);
        self.sequences.extend(other.sequences);
        self.texts.merge(other.texts);
        self.text_bytes += other.text_bytes;
        for (measure, value) in other.totals {
            merge(plan, &mut self.totals, measure, value);
        }
        for (measure, since, until) in other.between {
            let slot = self.slot(measure);
            slot.1 = slot.1.or(since);
            slot.2 = slot.2.or(until);
        }
    }

    /// How the run ended.
    pub(super) fn outcome(&mut self, plan: &Plan) -> Outcome {
        let (ending, reason) = self.signs.judge(plan);
        let tokens = |m: u16| plan.measures.get(usize::from(m)).is_some_and(|m| m.unit == Unit::Tokens);
        let mut measures: Vec<(u16, f64)> = self.totals.clone();
        let mut ttft_ms = None;
        for (measure, since, until) in &self.between {
            let elapsed = since.as_ref().zip(until.as_ref()).and_then(|(since, until)| since.until(until));
            if let Some(elapsed) = elapsed.map(|n| n as f64 / 1e6) {
                measures.push((*measure, elapsed));
                ttft_ms = ttft_ms.or(Some(elapsed));
            }
        }
        measures.sort_by_key(|(m, _)| *m);
        let (tokens, measures) = measures.into_iter().partition(|(m, _)| tokens(*m));
        let ms =
            |from: Option<Timestamp>, to: Option<Timestamp>| Some(to?.0.checked_sub(from?.0)? as f64 / 1e6);
        Outcome {
            run: self.id.clone(),
            conversation: self.conversation.clone(),
            ids: self.ids.clone(),
            ending,
            reason,
            tokens,
            measures,
            ttft_ms,
            duration_ms: ms(self.first.time, self.last.time).filter(|_| self.first.timed),
            began: self.first.time,
            frames: (self.first.frame, self.last.frame),
            stage: self.stage,
        }
    }
}
