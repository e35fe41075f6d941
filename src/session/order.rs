//! Numbered messages of one sequence: gaps, repeats and disorder.
//! Never sorts anything; it only says what was out of place.

use std::collections::BTreeMap;

use crate::base::{Code, Severity};

use super::{At, Notice};

/// Numbers whose payload is remembered, to tell a resend from a conflict.
const REMEMBERED: usize = 4_096;
/// Runs of consecutive numbers that are kept apart.
const MAX_RUNS: usize = 1_024;

/// What a numbered message is to its sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// New.
    New,
    /// Sent again, the same.
    Resent,
}

/// One sequence.
#[derive(Default)]
pub(super) struct Sequence {
    /// Runs of numbers seen: first → (last, frame of the first).
    runs: BTreeMap<i64, (i64, u64)>,
    /// Payload hash and frame of late numbers.
    recent: BTreeMap<i64, (u64, u64)>,
    /// The highest number so far.
    highest: Option<(i64, At)>,
    /// Conflicts at 0 while nothing else was seen: a peer that does not number.
    unnumbered: Vec<Notice>,
    zeros: u32,
}

impl Sequence {
    pub(super) fn push(
        &mut self,
        number: i64,
        hash: u64,
        at: At,
        in_flight: u32,
        out: &mut Vec<Notice>,
    ) -> Place {
        if number > 0 {
            out.append(&mut self.unnumbered);
        }
        let place = self.place(number, hash, at, out);
        if place == Place::New {
            self.disorder(number, at, in_flight, out);
            self.insert(number, at.frame);
        }
        self.recent.entry(number).or_insert((hash, at.frame));
        if self.recent.len() > REMEMBERED {
            self.recent.pop_first();
        }
        if self.highest.is_none_or(|(highest, _)| number > highest) {
            self.highest = Some((number, at));
        }
        place
    }

    fn place(&mut self, number: i64, hash: u64, at: At, out: &mut Vec<Notice>) -> Place {
        if !self.contains(number) {
            return Place::New;
        }
        let known = self.recent.get(&number).copied();
        let same = known.is_none_or(|(old, _)| old == hash);
        let what = if same {
            "again with the same payload: resent"
        } else {
            "again with another payload: a conflict"
        };
        let mut notice = Notice::new(Code::OrderDuplicate, format!("number {number} comes {what}"));
        notice.frames = known.map(|(_, frame)| frame).into_iter().chain([at.frame]).collect();
        if number == 0 && self.highest.is_some_and(|(highest, _)| highest == 0) {
            self.zeros += 1;
            if self.unnumbered.len() < 8 {
                self.unnumbered.push(notice);
            }
            // Heartbeats of a peer that does not number are equal and yet each a message.
            return Place::New;
        }
        out.push(notice);
        if same { Place::Resent } else { Place::New }
    }

    fn contains(&self, number: i64) -> bool {
        self.runs.range(..=number).next_back().is_some_and(|(_, (last, _))| number <= *last)
    }

    fn disorder(&self, number: i64, at: At, in_flight: u32, out: &mut Vec<Notice>) {
        let Some((highest, before)) = self.highest else { return };
        let one_moment = before.call != at.call && before.time.is_some() && before.time == at.time;
        if number >= highest || one_moment || self.contains(number) {
            return;
        }
        let within = highest.saturating_sub(number) < i64::from(in_flight);
        let severity = if within { Severity::Note } else { Severity::Warning };
        let mut notice =
            Notice::new(Code::OrderReordered, format!("{highest} came before {number}")).severity(severity);
        notice.frames = vec![before.frame, at.frame];
        out.push(notice);
    }

    fn insert(&mut self, number: i64, frame: u64) {
        if self.contains(number) {
            return;
        }
        let mut run = (number, number, frame);
        if let Some((first, (last, at))) = self.runs.range(..number).next_back().map(|(f, r)| (*f, *r))
            && last.checked_add(1) == Some(number)
        {
            run = (first, number, at);
        }
        if let Some((last, _)) = number.checked_add(1).and_then(|next| self.runs.remove(&next)) {
            run.1 = last;
        }
        self.runs.insert(run.0, (run.1, run.2));
        if self.runs.len() > MAX_RUNS {
            // Two runs become one: a gap is forgotten rather than memory spent.
            let firsts: Vec<i64> = self.runs.keys().take(2).copied().collect();
            if let [a, b] = firsts[..] {
                let merged = self.runs.remove(&b);
                if let (Some(run), Some((last, _))) = (self.runs.get_mut(&a), merged) {
                    run.0 = last;
                }
            }
        }
    }

    /// Whether the first numbers are missing.
    pub(super) fn starts_late(&self) -> bool {
        self.runs.keys().next().is_some_and(|first| *first > 0)
    }

    /// What is missing at the end.
    pub(super) fn finish(&self, out: &mut Vec<Notice>) {
        let mut before: Option<(i64, u64)> = None;
        for (first, (last, frame)) in &self.runs {
            match before {
                None if *first > 0 => {
                    let missing = range(0, first - 1);
                    let text =
                        format!("starts at {first}: {missing} not in the capture, which may have begun late");
                    let mut notice = Notice::new(Code::OrderGap, text).severity(Severity::Note);
                    notice.frames = vec![*frame];
                    out.push(notice);
                }
                None => {}
                Some((end, _)) => {
                    let missing = range(end.saturating_add(1), first.saturating_sub(1));
                    let mut notice = Notice::new(Code::OrderGap, format!("{missing} missing before {first}"));
                    notice.frames = vec![*frame];
                    out.push(notice);
                }
            }
            before = Some((*last, *frame));
        }
    }
}

/// `5`, `5 and 6`, `5 to 9`.
fn range(first: i64, last: i64) -> String {
    match last.saturating_sub(first) {
        0 => first.to_string(),
        1 => format!("{first} and {last}"),
        _ => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(numbers: &[(i64, u64)], expect: &[&str]) {
        let (mut sequence, mut out) = (Sequence::default(), Vec::new());
        for (frame, (number, hash)) in numbers.iter().enumerate() {
            let at =
                At { frame: frame as u64, call: frame as u64, time: None, timed: true, order: Some(*number) };
            sequence.push(*number, *hash, at, 1, &mut out);
        }
        sequence.finish(&mut out);
        let found: Vec<String> =
            out.iter().map(|n| format!("{} {}", n.finding.code.name(), n.finding.text)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn in_order() {
        check(&[(0, 1), (1, 2), (2, 3)], &[]);
    }

    #[test]
    fn gaps_repeats_and_disorder() {
        check(
            &[(0, 1), (1, 2), (3, 3), (2, 4), (3, 3), (4, 5), (4, 6), (7, 7)],
            &[
                "order.reordered 3 came before 2",
                "order.duplicate number 3 comes again with the same payload: resent",
                "order.duplicate number 4 comes again with another payload: a conflict",
                "order.gap 5 and 6 missing before 7",
            ],
        );
    }

    #[test]
    fn a_late_start_is_a_note() {
        check(
            &[(5, 1), (6, 2)],
            &["order.gap starts at 5: 0 to 4 not in the capture, which may have begun late"],
        );
    }

    #[test]
    fn a_peer_that_does_not_number() {
        check(&[(0, 1), (0, 2), (0, 3)], &[]);
        check(
            &[(0, 1), (0, 1), (1, 3)],
            &["order.duplicate number 0 comes again with the same payload: resent"],
        );
    }

    #[test]
    fn numbers_at_the_rim() {
        check(
            &[(i64::MAX, 1), (i64::MIN, 2)],
            &[
                "order.reordered 9223372036854775807 came before -9223372036854775808",
                "order.gap -9223372036854775807 to 9223372036854775806 missing before 9223372036854775807",
            ],
        );
    }
}
