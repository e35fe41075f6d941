//! The state of runs as of a frame: increments added up, snapshots replaced.
//! Never keeps more text than its limit; what a snapshot holds stays with the frame that brought it.

use crate::base::Limits;
use crate::dialect::{How, Plan};
use crate::schema::FieldId;

use super::{Digest, IdValue, Placed};

/// What a field has come to.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The stage of the run.
    pub run: u32,
    /// The rule.
    pub fold: u16,
    /// The fields from the root of a message on.
    pub path: Box<[FieldId]>,
    /// What keeps it apart from others of the field.
    pub key: Option<IdValue>,
    /// First and last frame that brought something.
    pub frames: (u64, u64),
    /// How many did.
    pub count: u64,
    /// The sum, where the rule adds numbers.
    pub number: f64,
    /// Pieces of text with their place in the sender's order.
    pieces: Vec<(Option<i64>, Box<str>)>,
}

impl Value {
    /// The text, its pieces in their sender's order where all of them have a place in it.
    pub fn text(&self) -> String {
        let mut pieces: Vec<&(Option<i64>, Box<str>)> = self.pieces.iter().collect();
        if pieces.iter().all(|(order, _)| order.is_some()) {
            pieces.sort_by_key(|(order, _)| *order);
        }
        pieces.into_iter().map(|(_, text)| &**text).collect()
    }
}

/// Of all runs.
#[derive(Default)]
pub struct State {
    values: Vec<Value>,
    bytes: usize,
    full: bool,
}

impl State {
    /// Takes what a frame says; one that repeats another adds nothing.
    pub fn push(&mut self, frame: u64, placed: &Placed, said: &Digest, limits: &Limits) {
        let Some(run) = placed.run.filter(|_| !placed.repeated) else { return };
        let order = said.carried.and_then(|c| c.order);
        for new in &said.folds {
            let size = new.text.len() + size_of::<Value>();
            if self.bytes.saturating_add(size) > limits.max_text {
                self.full = true;
                return;
            }
            self.bytes += size;
            let same =
                |v: &&mut Value| v.run == run && v.fold == new.fold && v.path == new.path && v.key == new.key;
            let value = match self.values.iter_mut().find(same) {
                Some(value) => value,
                None => {
                    self.values.push(Value {
                        run,
                        fold: new.fold,
                        path: new.path.clone(),
                        key: new.key.clone(),
                        frames: (frame, frame),
                        count: 0,
                        number: 0.0,
                        pieces: Vec::new(),
                    });
                    let Some(value) = self.values.last_mut() else { return };
                    value
                }
            };
            value.frames.1 = frame;
            value.count += 1;
            value.number += new.number;
            if !new.text.is_empty() {
                value.pieces.push((order, new.text.clone()));
            }
        }
    }

    /// Values in the order of their first frame.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether the limit on what is kept was reached.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether what a frame brought to a field takes the place of what was there.
    pub fn replaces(plan: &Plan, fold: u16) -> bool {
        plan.folds.get(usize::from(fold)).is_some_and(|f| f.how == How::Replace)
    }
}
