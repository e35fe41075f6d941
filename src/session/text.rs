//! Running text, put together from its pieces.
//! Never keeps more than its limit, and says nothing twice: of a stream's alternatives one is used.

use crate::dialect::Plan;

use super::IdValue;
use super::digest::Piece;

/// What a run said on one stream.
#[derive(Clone, PartialEq, Debug)]
pub struct RunText {
    /// The id of the run.
    pub run: Option<IdValue>,
    /// The stream's name.
    pub stream: String,
    /// What is kept apart, in the order of appearance: key, text.
    pub parts: Vec<(Option<IdValue>, String)>,
}

impl RunText {
    /// All of it.
    pub fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

struct Thread {
    stream: u16,
    key: Option<IdValue>,
    /// Place in the sender's order, paragraph before it, text.
    pieces: Vec<(Option<i64>, bool, Box<str>)>,
    broken: bool,
}

/// The text of one run.
#[derive(Default)]
pub(super) struct Texts {
    threads: Vec<Thread>,
}

impl Texts {
    /// Takes a piece; `order` is the place that its carrier gives it. Bytes kept.
    pub(super) fn push(&mut self, piece: &Piece, order: Option<i64>) -> usize {
        let found = self.threads.iter_mut().find(|t| t.stream == piece.stream && t.key == piece.key);
        let thread = match found {
            Some(thread) => thread,
            None => {
                let thread = Thread {
                    stream: piece.stream,
                    key: piece.key.clone(),
                    pieces: Vec::new(),
                    broken: false,
                };
                self.threads.push(thread);
                let Some(thread) = self.threads.last_mut() else { return 0 };
                thread
            }
        };
        let paragraph = std::mem::take(&mut thread.broken) && !thread.pieces.is_empty();
        thread.pieces.push((order, paragraph, piece.text.clone()));
        piece.text.len() + size_of::<(Option<i64>, bool, Box<str>)>()
    }

    /// A paragraph of a stream ends.
    pub(super) fn end_paragraph(&mut self, stream: u16) {
        self.threads.iter_mut().filter(|t| t.stream == stream).for_each(|t| t.broken = true);
    }

    /// Takes in what another run said that was one with this.
    pub(super) fn merge(&mut self, other: Self) {
        self.threads.extend(other.threads);
    }

    /// One text a stream name: of alternatives, the first whose fields occurred.
    pub(super) fn finish(self, plan: &Plan, run: Option<&IdValue>, out: &mut Vec<RunText>) {
        let mut done: Vec<&str> = Vec::new();
        let mut threads = self.threads;
        threads.iter_mut().for_each(|t| sort(&mut t.pieces));
        for (number, rule) in plan.streams.iter().enumerate() {
            let number = number as u16;
            if done.contains(&&*rule.name) || !threads.iter().any(|t| t.stream == number) {
                continue;
            }
            done.push(&rule.name);
            let own = threads.iter().filter(|t| t.stream == number);
            let parts = own.map(|t| (t.key.clone(), join(&t.pieces))).collect();
            out.push(RunText { run: run.cloned(), stream: rule.name.to_string(), parts });
        }
    }
}

/// Pieces that overtook each other on their way, back in their sender's order. Those without a
/// place stay where they are.
fn sort(pieces: &mut [(Option<i64>, bool, Box<str>)]) {
    if pieces.iter().all(|(order, ..)| order.is_some()) {
        pieces.sort_by_key(|(order, ..)| *order);
    }
}

fn join(pieces: &[(Option<i64>, bool, Box<str>)]) -> String {
    let mut out = String::new();
    for (_, paragraph, text) in pieces {
        if *paragraph && !out.ends_with('\n') {
            out.push_str("\n\n");
        }
        out.push_str(text);
    }
    out
}
