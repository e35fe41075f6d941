//! Which frame stands under which heading: runs within runs, answers beside what they answer.
//! Never writes a line.

use std::collections::HashMap;

use crate::dialect::Plan;
use crate::session::{Model, Stage};

use super::Entry;

/// Deepest chain of stages followed.
const DEPTH: usize = 16;

/// What stands below what.
pub(super) struct Tree<'a> {
    model: &'a Model,
    /// By run (`None`: no run): its frames, in the order of the capture, each with its stage.
    frames: HashMap<Option<u32>, Vec<(Option<u32>, &'a Entry)>>,
    /// By run: runs that began within it.
    nested: HashMap<u32, Vec<u32>>,
    /// Runs that stand within another.
    inner: HashMap<u32, u32>,
    /// Stages that are runs.
    runs: Vec<bool>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(plan: &Plan, model: &'a Model, entries: &'a [Entry]) -> Self {
        let is_run = |s: &Stage| {
            let level = plan.levels.get(usize::from(s.level));
            s.merged.is_none() && level.is_some_and(|l| !l.methods.is_empty())
        };
        let runs = model.stages.iter().map(is_run).collect();
        let mut tree =
            Self { model, frames: HashMap::new(), nested: HashMap::new(), inner: HashMap::new(), runs };
        tree.nest();
        let mut stages: HashMap<u64, Option<u32>> =
            entries.iter().map(|e| (e.frame, model.resolved(e.stage))).collect();
        for link in &model.links {
            // An answer stands where its question does, where that is further in.
            let Some(asked) = link.request.and_then(|r| stages.get(&r).copied().flatten()) else { continue };
            for answer in &link.responses {
                let Some(own) = stages.get_mut(answer) else { continue };
                if own.is_none_or(|own| tree.path(asked).contains(&own)) {
                    *own = Some(asked);
                }
            }
        }
        // Where a body is one item of the capture, answers can come before what they answer.
        let mut early: HashMap<u64, u64> = HashMap::new();
        for link in &model.links {
            let Some(asked) = link.request else { continue };
            early.extend(link.responses.iter().filter(|r| **r < asked).map(|r| (*r, asked)));
        }
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_by_key(|e| early.get(&e.frame).map_or((e.frame, 0), |asked| (*asked, e.frame)));
        for entry in entries {
            let stage = stages.get(&entry.frame).copied().flatten();
            let run = stage.and_then(|s| tree.run_of(s));
            tree.frames.entry(run).or_default().push((stage, entry));
        }
        tree
    }

    /// A run that another is pointed to by, while that lasts, stands within it.
    fn nest(&mut self) {
        let stages = &self.model.stages;
        let runs = self.runs.clone();
        let is_run = |i: usize| runs.get(i).copied().unwrap_or(false);
        for (number, stage) in stages.iter().enumerate().filter(|(i, _)| is_run(*i)) {
            let holds = |other: &Stage| {
                stage.points_to.iter().any(|p| p.inside != Some(false) && other.id.as_ref() == Some(&p.id))
                    && other.first.frame < stage.first.frame
                    && stage.first.frame <= other.last.frame
            };
            let around = stages.iter().enumerate().find(|(i, other)| is_run(*i) && holds(other));
            if let Some((around, _)) = around {
                self.nested.entry(around as u32).or_default().push(number as u32);
                self.inner.insert(number as u32, around as u32);
            }
        }
    }

    pub(super) fn is_run(&self, stage: u32) -> bool {
        self.runs.get(stage as usize).copied().unwrap_or(false)
    }

    /// The stages from the outermost to this one.
    pub(super) fn path(&self, stage: u32) -> Vec<u32> {
        let mut out = vec![stage];
        let mut at = self.model.stages.get(stage as usize).and_then(|s| s.parent);
        while let Some(stage) = at.filter(|_| out.len() < DEPTH) {
            out.push(stage);
            at = self.model.stages.get(stage as usize).and_then(|s| s.parent);
        }
        out.reverse();
        out
    }

    fn run_of(&self, stage: u32) -> Option<u32> {
        self.path(stage).into_iter().find(|s| self.is_run(*s))
    }

    /// The frames of a run.
    pub(super) fn frames(&self, run: Option<u32>) -> &[(Option<u32>, &'a Entry)] {
        self.frames.get(&run).map_or(&[], Vec::as_slice)
    }

    /// The runs that began within one.
    pub(super) fn nested(&self, run: u32) -> &[u32] {
        self.nested.get(&run).map_or(&[], Vec::as_slice)
    }

    /// The runs right below a stage (`None`: of no conversation) that stand within no other.
    pub(super) fn runs_below(&self, stage: Option<u32>) -> Vec<u32> {
        let below = self.model.below(stage).map(|(number, _)| number);
        below.filter(|n| self.is_run(*n) && !self.inner.contains_key(n)).collect()
    }

    /// Whether anything is left to show of an outermost stage.
    pub(super) fn shows(&self, stage: u32) -> bool {
        self.is_run(stage) && !self.inner.contains_key(&stage) || !self.runs_below(Some(stage)).is_empty()
    }
}
