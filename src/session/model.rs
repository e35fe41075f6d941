//! What a timeline is drawn from: levels within levels, each with its time, frames and numbers.
//! Never holds a message; bounded by its limit.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::Timestamp;
use crate::dialect::Plan;

use super::{At, Event, IdValue, Link, Notice, Outcome};

/// A frame and its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The frame's number.
    pub frame: u64,
    /// When.
    pub time: Option<Timestamp>,
}

impl From<&At> for Mark {
    fn from(at: &At) -> Self {
        Self { frame: at.frame, time: at.time }
    }
}

/// Another run that one points to.
#[derive(Clone, PartialEq, Debug)]
pub struct PointsTo {
    /// Its id.
    pub id: IdValue,
    /// What the one is to the other: a retry. Empty: not known.
    pub name: Arc<str>,
    /// Whether the one is a part of the other; `None`: not known.
    pub inside: Option<bool>,
}

/// One of a level: a conversation, a run, a turn, a step, a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// The level, a place in the plan.
    pub level: u16,
    /// Its id, where the level has ids.
    pub id: Option<IdValue>,
    /// What it is, by the name of a branch.
    pub kind: Option<String>,
    /// What heads it.
    pub title: Option<String>,
    /// The stage that it was found to be the same as; what belongs to it belongs there.
    pub merged: Option<u32>,
    /// The stage around it.
    pub parent: Option<u32>,
    /// Its first frame.
    pub first: Mark,
    /// Its last frame so far.
    pub last: Mark,
    /// The frame that closed it.
    pub closed: Option<Mark>,
    /// Frames that belong to it and to no stage in it.
    pub frames: u64,
    /// Its measures.
    pub measures: Vec<(u16, f64)>,
    /// Ids that its first call points to: the run it retries, or the one it is part of.
    pub points_to: Vec<PointsTo>,
    /// How preferred its title is; lower is better.
    pub(super) rank: u16,
}

/// The whole.
#[derive(Clone, Default, Debug)]
pub struct Model {
    /// Stages, in order of appearance; `parent` is a place in this list.
    pub stages: Vec<Stage>,
    /// Links, as they became final.
    pub links: Vec<Link>,
    /// Findings.
    pub notices: Vec<Notice>,
    /// Outcomes.
    pub outcomes: Vec<Outcome>,
    /// By level and id, stages around runs.
    outer: HashMap<(u16, IdValue), u32>,
}

impl Model {
    /// The stages right below one (`None`: the outermost), in order of appearance.
    pub fn below(&self, stage: Option<u32>) -> impl Iterator<Item = (u32, &Stage)> {
        self.stages.iter().enumerate().filter(move |(_, s)| s.parent == stage).map(|(i, s)| (i as u32, s))
    }

    /// The stage that a frame's stands for.
    pub fn resolved(&self, stage: Option<u32>) -> Option<u32> {
        let merged = self.stages.get(stage? as usize).and_then(|s| s.merged);
        merged.or(stage)
    }

    /// Takes an event over.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Link(link) => self.links.push(link),
            Event::Finding(notice) => self.notices.push(notice),
            Event::Outcome(outcome) => self.outcomes.push(outcome),
            Event::Text(_) => {}
        }
    }

    /// Takes over the stages of another timeline that are in use, and those around them. Numbers change with it: those
    /// in `used`, and those of what has been taken.
    pub fn adopt<'s>(&mut self, whole: &Model, used: impl IntoIterator<Item = &'s mut Option<u32>>) {
        let mut used: Vec<&mut Option<u32>> = used.into_iter().collect();
        used.extend(self.links.iter_mut().map(|l| &mut l.stage));
        let mut wanted = vec![false; whole.stages.len()];
        for stage in &used {
            let mut at = stage.map(|s| s as usize);
            while let Some(stage) = at {
                match wanted.get_mut(stage) {
                    Some(seen) if !*seen => *seen = true,
                    _ => break,
                }
                at = whole.stages.get(stage).and_then(|s| s.parent).map(|s| s as usize);
            }
        }
        let left = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        let numbers: HashMap<u32, u32> = left.zip(0..).map(|((old, _), new)| (old as u32, new)).collect();
        let renumbered = |stage: Option<u32>| stage.and_then(|s| numbers.get(&s).copied());
        used.into_iter()
            .chain(self.outcomes.iter_mut().map(|o| &mut o.stage))
            .for_each(|s| *s = renumbered(*s));
        for (stage, _) in whole.stages.iter().zip(&wanted).filter(|(_, wanted)| **wanted) {
            let (parent, merged) = (renumbered(stage.parent), renumbered(stage.merged));
            self.stages.push(Stage { parent, merged, ..stage.clone() });
        }
    }

    pub(super) fn add(
        &mut self,
        level: u16,
        id: Option<IdValue>,
        parent: Option<u32>,
        at: &At,
        max: usize,
    ) -> Option<u32> {
        if self.stages.len() >= max {
            return None;
        }
        let mark = Mark::from(at);
        self.stages.push(Stage {
            level,
            id,
            kind: None,
            title: None,
            merged: None,
            parent,
            first: mark,
            last: mark,
            closed: None,
            frames: 0,
            measures: Vec::new(),
            points_to: Vec::new(),
            rank: u16::MAX,
        });
        Some((self.stages.len() - 1) as u32)
    }

    /// The stage around a run, by its id.
    pub(super) fn outer(&mut self, level: u16, id: &IdValue, at: &At, max: usize) -> Option<u32> {
        let key = (level, id.clone());
        if let Some(stage) = self.outer.get(&key) {
            return Some(*stage);
        }
        let stage = self.add(level, Some(id.clone()), None, at, max)?;
        self.outer.insert(key, stage);
        Some(stage)
    }

    /// A stage was one with another all along.
    pub(super) fn merge(&mut self, from: u32, into: u32) {
        let Some(old) = self.stage(from) else { return };
        old.merged = Some(into);
        old.parent = Some(into);
        let (first, last, frames) = (old.first, old.last, old.frames);
        let (id, points_to) = (old.id.clone(), std::mem::take(&mut old.points_to));
        if let Some(new) = self.stage(into) {
            new.id = new.id.take().or(id);
            new.frames += frames;
            new.points_to.extend(points_to);
            new.first = if first.frame < new.first.frame { first } else { new.first };
            new.last = if last.frame > new.last.frame { last } else { new.last };
        }
        let inside = self.stages.iter_mut().filter(|s| s.parent == Some(from));
        inside.for_each(|s| s.parent = Some(into));
    }

    pub(super) fn stage(&mut self, stage: u32) -> Option<&mut Stage> {
        self.stages.get_mut(stage as usize)
    }

    /// A frame belongs to a stage: it and what is around it reach to it.
    pub(super) fn touch(&mut self, stage: u32, at: &At) {
        let mut next = Some(stage);
        if let Some(own) = self.stage(stage) {
            own.frames += 1;
        }
        for _ in 0..16 {
            let Some(found) = next.and_then(|n| self.stage(n)) else { return };
            found.last = Mark::from(at);
            next = found.parent;
        }
    }

    pub(super) fn measure(&mut self, plan: &Plan, stage: u32, measure: u16, value: f64) {
        let Some(found) = self.stage(stage) else { return };
        merge(plan, &mut found.measures, measure, value);
    }
}

/// Adds a value to a list of measures.
pub(super) fn merge(plan: &Plan, list: &mut Vec<(u16, f64)>, measure: u16, value: f64) {
    let take = plan.measures.get(usize::from(measure)).map(|m| m.take).unwrap_or_default();
    match list.iter_mut().find(|(m, _)| *m == measure) {
        Some((_, old)) => *old = take.merge(*old, value),
        None => list.push((measure, value)),
    }
}
