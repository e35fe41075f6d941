//! Running text as it comes: pieces in their sender's order, of a stream's alternatives the preferred one.
//! Never gives a piece twice, and holds back what another may still come before.

use std::collections::{BTreeMap, HashMap};

use crate::dialect::Plan;

use super::digest::Piece;
use super::{Digest, IdValue, Placed};

/// Pieces of one run that are held back, at most; past them the oldest are given.
const MAX_HELD: usize = 65_536;

/// A piece that is due.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    /// The stage of the run.
    pub run: u32,
    /// The stream's rule.
    pub stream: u16,
    /// What keeps it apart.
    pub key: Option<IdValue>,
    /// Whether a paragraph ended before it.
    pub paragraph: bool,
    /// The text.
    pub text: Box<str>,
}

#[derive(Default)]
struct Run {
    /// The number that is due next, where the run's messages are numbered.
    next: i64,
    highest: i64,
    /// Numbers that came early, with what they said.
    early: BTreeMap<i64, Vec<Said>>,
    /// Streams whose paragraph has ended.
    broken: Vec<u16>,
    /// Streams that have said something.
    spoke: Vec<u16>,
    /// What less preferred alternatives said.
    others: Vec<Said>,
}

/// Of all runs.
#[derive(Default)]
pub struct Running {
    runs: HashMap<u32, Run>,
}

impl Running {
    /// Takes a frame; appends what is due now.
    pub fn push(&mut self, plan: &Plan, placed: &Placed, said: &Digest, out: &mut Vec<Said>) {
        let Some(number) = placed.run.filter(|_| !placed.repeated) else { return };
        let run = self.runs.entry(number).or_default();
        run.broken.extend(said.breaks.iter().filter(|s| run.spoke.contains(s)));
        let mut due: Vec<Said> = Vec::new();
        for Piece { stream, key, text } in &said.pieces {
            let paragraph = run.broken.contains(stream);
            run.broken.retain(|s| s != stream);
            due.push(Said { run: number, stream: *stream, key: key.clone(), paragraph, text: text.clone() });
        }
        let carried = said.carried.and_then(|c| Some((c.tunnel, c.order?)));
        if let Some((tunnel, order)) = carried {
            let in_flight = plan.tunnels.get(usize::from(tunnel)).map_or(1, |t| i64::from(t.in_flight));
            run.early.entry(order).or_default().append(&mut due);
            run.highest = run.highest.max(order);
            // What has not come while so many others did is lost, or was sent before the capture began.
            while let Some((first, _)) = run.early.first_key_value() {
                let first = *first;
                if first > run.next
                    && run.highest.saturating_sub(first) < in_flight
                    && run.early.len() < MAX_HELD
                {
                    break;
                }
                run.next = run.next.max(first.saturating_add(1));
                due.extend(run.early.remove(&first).unwrap_or_default());
            }
        }
        run.give(plan, due, out);
    }

    /// A run is over: what was held back of it is due.
    pub fn finish(&mut self, plan: &Plan, number: u32, out: &mut Vec<Said>) {
        let Some(mut run) = self.runs.remove(&number) else { return };
        let early = std::mem::take(&mut run.early).into_values().flatten().collect();
        run.give(plan, early, out);
        let name = |stream: u16| plan.streams.get(usize::from(stream)).map(|s| &*s.name);
        let mut others: Vec<u16> = run.others.iter().map(|s| s.stream).collect();
        others.sort_unstable();
        others.dedup();
        let mut told: Vec<Option<&str>> = run.spoke.iter().map(|s| name(*s)).collect();
        for stream in others {
            if !told.contains(&name(stream)) {
                told.push(name(stream));
                out.extend(run.others.iter().filter(|s| s.stream == stream).cloned());
            }
        }
    }

    /// The runs that are not over, in order of appearance.
    pub fn runs(&self) -> Vec<u32> {
        let mut runs: Vec<u32> = self.runs.keys().copied().collect();
        runs.sort_unstable();
        runs
    }
}

impl Run {
    fn give(&mut self, plan: &Plan, due: Vec<Said>, out: &mut Vec<Said>) {
        for said in due {
            let name = plan.streams.get(usize::from(said.stream)).map(|s| &s.name);
            let first = plan.streams.iter().position(|s| Some(&s.name) == name);
            if first != Some(usize::from(said.stream)) {
                if self.others.len() < MAX_HELD {
                    self.others.push(said);
                }
                continue;
            }
            if !self.spoke.contains(&said.stream) {
                self.spoke.push(said.stream);
            }
            out.push(said);
        }
    }
}
