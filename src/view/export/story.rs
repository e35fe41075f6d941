//! Runs with what stands in them: stages, and waits for answers that are no stage of their own.
//! Never draws; exporters share it so that they tell one story.

use std::collections::{HashMap, HashSet};

use crate::base::Timestamp;
use crate::session::{Link, Notice, Outcome, Stage};

use super::{Frame, Story};

/// Deepest chain of stages followed.
const DEPTH: usize = 16;

/// A run.
pub struct Run<'a> {
    /// Its stage's number in the model.
    pub stage: u32,
    /// Its stage.
    pub is: &'a Stage,
    /// The stage around it, where there is one: its conversation.
    pub around: Option<&'a Stage>,
    /// How it ended.
    pub outcome: Option<&'a Outcome>,
    /// What stands in it, outer stages before inner ones: number, depth below the run from 1, stage.
    pub stages: Vec<(u32, usize, &'a Stage)>,
    /// Requests and their answers that are no stage.
    pub waits: Vec<Wait<'a>>,
}

/// A request and its answers.
pub struct Wait<'a> {
    /// The link.
    pub link: &'a Link,
    /// The frame that asked.
    pub asked: Option<&'a Frame>,
    /// The first frame that answered.
    pub answered: Option<&'a Frame>,
    /// The last frame that answered, of those that a link keeps.
    pub over: Option<&'a Frame>,
}

impl Wait<'_> {
    /// When it was asked and when first answered, where both are known.
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        let from = self.link.time.or(self.asked?.time)?;
        let until = self.answered?.time?;
        (until >= from).then_some((from, until))
    }
}

impl<'a> Story<'a> {
    /// A frame by its number.
    pub fn frame(&self, number: u64) -> Option<&'a Frame> {
        let at = self.frames.binary_search_by_key(&number, |f| f.number).ok()?;
        self.frames.get(at)
    }

    /// The frame that a finding of a run is shown at: the first that the story has.
    pub fn about(&self, notice: &Notice) -> Option<&'a Frame> {
        notice.frames.iter().find_map(|frame| self.frame(*frame))
    }

    /// What heads a stage: its title, else the branch that the message which opened it is about.
    pub fn title(&self, stage: &'a Stage) -> Option<&'a str> {
        let opened = || self.frame(stage.first.frame)?.label.name.split(' ').nth(1);
        stage.title.as_deref().or_else(opened)
    }

    /// The run that a run is part of, or retries.
    pub fn run_around(&self, run: &Stage) -> Option<u32> {
        if run.points_to.is_empty() {
            return None;
        }
        let is_it = |s: &Stage| {
            self.is_run(s) && s.id.as_ref().is_some_and(|id| run.points_to.iter().any(|to| to.id == *id))
        };
        self.model.stages.iter().position(is_it).map(|at| at as u32)
    }

    /// The run that a stage stands in.
    pub fn run_of(&self, stage: u32) -> Option<u32> {
        let mut at = Some(stage);
        for _ in 0..DEPTH {
            let number = at?;
            let stage = self.model.stages.get(number as usize)?;
            if self.is_run(stage) {
                return Some(number);
            }
            at = stage.parent;
        }
        None
    }

    /// All runs, in order of appearance.
    pub fn runs(&self) -> Vec<Run<'a>> {
        let stages = &self.model.stages;
        let mut runs: Vec<Run<'a>> = Vec::new();
        let mut place: HashMap<u32, usize> = HashMap::new();
        let outcomes: HashMap<u32, &Outcome> =
            self.model.outcomes.iter().filter_map(|o| Some((o.stage?, o))).collect();
        for (number, stage) in stages.iter().enumerate().filter(|(_, s)| self.is_run(s)) {
            place.insert(number as u32, runs.len());
            let around = stage.parent.and_then(|p| stages.get(p as usize));
            let outcome = outcomes.get(&(number as u32)).copied();
            runs.push(Run {
                stage: number as u32,
                is: stage,
                around,
                outcome,
                stages: Vec::new(),
                waits: Vec::new(),
            });
        }
        for (number, stage) in stages.iter().enumerate().filter(|(_, s)| !self.is_run(s)) {
            let run = self.run_of(number as u32).and_then(|r| place.get(&r));
            let Some(run) = run.and_then(|at| runs.get_mut(*at)) else { continue };
            let depth = self.depth(number as u32, run.stage);
            run.stages.push((number as u32, depth, stage));
        }
        // Whatever begins and ends where a stage does is that stage.
        let spans: HashSet<(u64, u64)> = stages
            .iter()
            .flat_map(|s| {
                [s.closed, Some(s.last)].into_iter().flatten().map(|end| (s.first.frame, end.frame))
            })
            .collect();
        for link in &self.model.links {
            let run = link.stage.and_then(|s| self.run_of(s)).and_then(|r| place.get(&r));
            let Some(run) = run.and_then(|at| runs.get_mut(*at)) else { continue };
            let ends = (link.request, link.responses.last());
            if let (Some(asked), Some(last)) = ends
                && spans.contains(&(asked, *last))
            {
                continue;
            }
            run.waits.push(self.wait(link));
        }
        runs
    }

    /// A link with its frames.
    pub fn wait(&self, link: &'a Link) -> Wait<'a> {
        Wait {
            link,
            asked: link.request.and_then(|f| self.frame(f)),
            answered: link.responses.first().and_then(|f| self.frame(*f)),
            over: link.responses.last().and_then(|f| self.frame(*f)),
        }
    }

    fn depth(&self, stage: u32, run: u32) -> usize {
        let mut depth = 0;
        let mut at = Some(stage);
        while let Some(number) = at.filter(|n| *n != run && depth < DEPTH) {
            depth += 1;
            at = self.model.stages.get(number as usize).and_then(|s| s.parent);
        }
        depth
    }
}
