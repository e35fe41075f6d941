//! Runs for a person: conversation, run, turn, step, call, each frame in its place with its time.
//! Never shows what does not fit the width, the trees of `-V` aside, never a raw control byte.

mod draw;
mod layout;

use std::collections::{BTreeMap, HashMap};

use crate::base::{Finding, Timestamp};
use crate::dialect::Plan;
use crate::pdu::Side;
use crate::session::Model;

use super::label::Label;
use draw::Drawing;

/// A frame as the timeline keeps it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number.
    pub frame: u64,
    /// When.
    pub time: Option<Timestamp>,
    /// Who sent it.
    pub side: Side,
    /// The stage it belongs to.
    pub stage: Option<u32>,
    /// What it is, in a line.
    pub label: Label,
    /// Text that it adds to a stream; pieces near each other are shown as one.
    pub piece: Option<String>,
    /// Its message as a tree; empty where none was asked for.
    pub tree: String,
    /// The pulse that it is: it only keeps something alive.
    pub pulse: Option<u16>,
    /// Whether it repeats an earlier frame.
    pub repeated: bool,
    /// What is wrong with the frame itself.
    pub findings: Vec<Finding>,
}

/// Draws the timeline of a run of the program. `entries` are in the order of the capture.
pub fn write(plan: &Plan, model: &Model, entries: &[Entry], width: usize, out: &mut String) {
    let mut links: HashMap<u64, Vec<_>> = HashMap::new();
    let mut answers = HashMap::new();
    for link in &model.links {
        if let Some(frame) = link.request {
            links.entry(frame).or_default().push(link);
        }
        for frame in &link.responses {
            answers.entry(*frame).or_insert(link);
        }
    }
    let mut notices: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for notice in &model.notices {
        notices.entry(notice.frames.first().copied().unwrap_or(0)).or_default().push(notice);
    }
    let outcomes = model.outcomes.iter().filter_map(|o| Some((o.stage?, o))).collect();
    let mut repeats = HashMap::new();
    for finding in entries.iter().flat_map(|e| &e.findings) {
        repeats.entry((finding.code, finding.text.clone())).and_modify(|n| *n += 1).or_insert(0);
    }
    let digits = entries.last().map_or(1, |e| e.frame.to_string().len());
    let tree = layout::Tree::new(plan, model, entries);
    let mut drawing = Drawing { plan, model, links, answers, notices, outcomes, repeats, width, digits, out };
    drawing.all(&tree);
}
