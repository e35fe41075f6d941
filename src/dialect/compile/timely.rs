//! Rules about what happens in time into the plan.
//! Never judges a capture; a rule without a resolved branch stays, and never applies.

use crate::dialect::rules::{self, Rules};
use crate::dialect::timely::{
    Content, Ending, Fold, How, Level, Lifeline, Match, Measure, Offer, Part, Pulse, Role, Stream, Take,
    Unit, Verdict,
};
use crate::schema::TypeId;

use super::Compiler;

fn boxed(names: &[String]) -> Vec<Box<str>> {
    names.iter().map(|n| n.as_str().into()).collect()
}

impl Compiler<'_, '_> {
    pub(super) fn timely(&mut self, rules: &Rules) {
        self.levels(&rules.level);
        self.lifelines(&rules.lifeline);
        self.measures(&rules.measure);
        self.streams(&rules.stream);
        self.endings(&rules.ending);
        self.folds(&rules.fold);
        self.pulses(&rules.pulse);
        self.contents(&rules.namespace);
        let levels = self.plan.levels.iter().enumerate().skip(self.bases.levels);
        let run = levels.into_iter().find(|(_, l)| !l.methods.is_empty()).map(|(at, _)| at as u16);
        if let Some(run) = run {
            self.plan.runs.extend(self.bases.roots.iter().map(|root| (*root, run)));
        }
    }

    fn level(&mut self, name: &str) -> Option<u16> {
        let found = named(self.plan.levels.iter().map(|l| &*l.name), self.bases.levels, name);
        if found.is_none() && !name.is_empty() {
            self.unknown("level", name);
        }
        found
    }

    fn lifeline(&mut self, name: &str) -> Option<u16> {
        let found = named(self.plan.lifelines.iter().map(|l| &*l.name), self.bases.lifelines, name);
        if found.is_none() && !name.is_empty() {
            self.unknown("lifeline", name);
        }
        found
    }

    fn levels(&mut self, rules: &[rules::Level]) {
        for rule in rules {
            let level = Level {
                name: rule.name.as_str().into(),
                within: self.level(&rule.within),
                namespace: self.namespace(&rule.namespace),
                methods: boxed(&rule.method),
                opens: !rule.open.is_empty(),
                closes: !rule.close.is_empty(),
            };
            let number = self.plan.levels.len() as u16;
            self.plan.levels.push(level);
            self.roles(&rule.open, Role::LevelOpen(number));
            self.roles(&rule.close, Role::LevelClose(number));
            for (place, title) in rule.title.iter().enumerate() {
                self.roles(std::slice::from_ref(title), Role::Title(number, place as u16));
            }
        }
    }

    fn lifelines(&mut self, rules: &[rules::Lifeline]) {
        for rule in rules {
            let number = self.plan.lifelines.len() as u16;
            let label = if rule.label.is_empty() { &rule.name } else { &rule.label };
            let lifeline = Lifeline {
                name: rule.name.as_str().into(),
                label: label.as_str().into(),
                namespace: self.namespace(&rule.namespace),
                within: self.namespace(&rule.within),
                agree: boxed(&rule.agree),
                matches: rule.r#match.iter().map(pair).collect(),
                offers: rule.offer.iter().map(offer).collect(),
                loose: rule.loose,
                answers: !rule.answer.is_empty(),
                bridge: false,
            };
            self.plan.lifelines.push(lifeline);
            let mut part = |names: &[String], part: Part| -> Vec<TypeId> {
                self.roles(names, Role::Life(number, part)).into_iter().filter_map(|p| p.root).collect()
            };
            let opens = part(&rule.open, Part::Open);
            part(&rule.early, Part::Early);
            part(&rule.step, Part::Step);
            let answers = part(&rule.answer, Part::Answer);
            part(&rule.close, Part::Close);
            part(&rule.abort, Part::Abort);
            part(&rule.heartbeat, Part::Heartbeat);
            self.roles(&rule.aborted, Role::Aborted(number));
            self.roles(&rule.decide, Role::Decide(number));
            let bridge =
                !opens.is_empty() && !answers.is_empty() && !opens.iter().any(|o| answers.contains(o));
            if let Some(lifeline) = self.plan.lifelines.get_mut(usize::from(number)) {
                lifeline.bridge = bridge;
            }
        }
    }

    fn measures(&mut self, rules: &[rules::Measure]) {
        for rule in rules {
            let number = self.plan.measures.len() as u16;
            let level = self.level(&rule.level);
            let places = match rule.level.is_empty() {
                true => self.places(&rule.field),
                false => self.roles(&rule.field, Role::Measure(number)),
            };
            self.roles(&rule.since, Role::Since(number));
            self.roles(&rule.until, Role::Until(number));
            self.plan.measures.push(Measure {
                name: rule.name.as_str().into(),
                level,
                unit: match rule.unit {
                    2 => Unit::Tokens,
                    3 => Unit::Bytes,
                    4 => Unit::Milliseconds,
                    5 => Unit::EpochMilliseconds,
                    6 => Unit::Time,
                    _ => Unit::Count,
                },
                take: match rule.take {
                    2 => Take::First,
                    3 => Take::Sum,
                    4 => Take::Max,
                    _ => Take::Last,
                },
                between: !rule.since.is_empty() && !rule.until.is_empty(),
                places,
                volatile: rule.volatile,
            });
        }
    }

    fn streams(&mut self, rules: &[rules::Stream]) {
        for rule in rules {
            let number = self.plan.streams.len() as u16;
            self.roles(&rule.field, Role::Piece(number));
            self.roles(&rule.r#break, Role::Break(number));
            let key = self.namespace(&rule.key);
            self.plan.streams.push(Stream {
                name: rule.name.as_str().into(),
                key,
                unless: rule.unless.as_str().into(),
                when: rule.when.as_str().into(),
            });
        }
    }

    fn endings(&mut self, rules: &[rules::Ending]) {
        for rule in rules {
            let number = self.plan.endings.len() as u16;
            self.roles(&rule.branch, Role::Ending(number));
            if !rule.reason.is_empty() {
                self.roles(std::slice::from_ref(&rule.reason), Role::Reason(number));
            }
            let details = self.fields(&rule.detail);
            self.plan.details.extend(details);
            self.plan.endings.push(Ending {
                codes: boxed(&rule.code),
                verdict: match rule.outcome {
                    2 => Verdict::Canceled,
                    3 => Verdict::Error,
                    _ => Verdict::Completed,
                },
                request: rule.request,
            });
        }
    }

    fn folds(&mut self, rules: &[rules::Fold]) {
        for rule in rules {
            let how = match rule.how {
                1 => How::Append,
                3 => How::Sum,
                _ => How::Replace,
            };
            let number = self.plan.folds.len() as u16;
            let (places, key) = (self.roles(&rule.field, Role::Fold(number)), self.namespace(&rule.key));
            self.plan.folds.push(Fold { places, how, key });
        }
    }

    fn pulses(&mut self, rules: &[rules::Pulse]) {
        for rule in rules {
            let number = self.plan.pulses.len() as u16;
            self.roles(&rule.branch, Role::Pulse(number));
            let lifeline = self.lifeline(&rule.lifeline);
            self.plan.pulses.push(Pulse { methods: boxed(&rule.method), every_ms: rule.every_ms, lifeline });
        }
    }

    fn contents(&mut self, rules: &[rules::Namespace]) {
        for rule in rules.iter().filter(|r| !r.content.is_empty()) {
            let Some(namespace) = self.namespace(&rule.name) else { continue };
            for content in &rule.content {
                let number = self.plan.contents.len() as u16;
                self.roles(std::slice::from_ref(&content.id), Role::ContentId(number));
                self.roles(std::slice::from_ref(&content.data), Role::ContentData(number));
                let lifeline = self.lifeline(&content.lifeline);
                let (sha256, same_exchange) = (rule.digest == 1, content.same_exchange);
                self.plan.contents.push(Content { namespace, sha256, lifeline, same_exchange });
            }
        }
    }
}

fn named<'a>(names: impl Iterator<Item = &'a str>, from: usize, name: &str) -> Option<u16> {
    names.enumerate().skip(from).find(|(_, n)| *n == name).map(|(at, _)| at as u16)
}

fn offer(rule: &rules::Offer) -> Offer {
    Offer { open: rule.open.as_str().into(), answer: rule.answer.as_str().into() }
}

fn pair(rule: &rules::Match) -> Match {
    Match {
        open: rule.open.as_str().into(),
        answer: rule.answer.as_str().into(),
        last: boxed(&rule.r#final),
        itself: rule.itself,
    }
}
