//! Two sessions, aligned: what the two runs did differently, not which bytes differ.
//! Never reads a capture and never prints; what carried a message (HTTP, compression, codec, chunks) is not content.
//!
//! Each capture is taken in by a [`Recorder`]; [`compare`] aligns two [`Recording`]s: calls by what they are,
//! entries by content and kind, messages field by field.

mod align;
mod change;
mod entry;
mod ids;
mod join;
mod path;
mod record;
mod secret;
mod untyped;

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::TypeId;
use crate::session::{Id, Status};

pub use align::compare;
pub use change::words;
pub use path::Pattern;
pub use record::Recorder;

use entry::Entry;
use ids::Table;

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The direction's name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "request",
            Self::Server => "response",
        }
    }
}

/// What is compared, and how.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Nothing is normalised: ids, times and ends as they are, every frame an entry.
    pub raw: bool,
    /// Compare these fields alone.
    pub only: Vec<Pattern>,
    /// Leave these fields out.
    pub ignore: Vec<Pattern>,
    /// Show credentials that only joined pieces make whole.
    pub show_secrets: bool,
    /// The runs to compare: their ids, beginnings of them, or their numbers from 1.
    pub run: Option<(String, String)>,
}

/// One frame.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its number, from 1.
    pub frame: u64,
    /// The number of its call.
    pub call: u64,
    /// Who sent it.
    pub side: Side,
    /// The call's RPC.
    pub rpc: Option<&'a str>,
    /// Ids that the call is joined to.
    pub ids: &'a [Id],
    /// Whether it came inside another message, and its place in the sender's order.
    pub carried: Option<Option<i64>>,
    /// Its place in the timeline, a number of the model's.
    pub stage: Option<u32>,
    /// The type of the message.
    pub ty: Option<TypeId>,
    /// The message as JSON.
    pub message: &'a [u8],
    /// The bytes that it was decoded from.
    pub payload: &'a [u8],
    /// What records call it; for frames that are no messages.
    pub kind: Option<&'a str>,
    /// What an end of stream says; `None` for a message.
    pub end: Option<&'a Status>,
    /// Whether a message of the server ends its call well (HTTP 200 of a unary call).
    pub whole: bool,
    /// It repeats another or only keeps the connection alive.
    pub redundant: bool,
}

/// The messages that are in order among themselves: one side of a run, or of the calls of one RPC beside it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Lane {
    /// The RPC of calls beside a run; `None`: the run itself.
    rpc: Option<String>,
    side: Side,
}

/// A run, or a call of its own.
struct Group {
    /// What it is: the level's name, or the RPC.
    class: String,
    /// Its id.
    id: Option<String>,
    /// Whether it is a run of the dialect's.
    run: bool,
    lanes: Vec<(Lane, Vec<Entry>)>,
}

/// One capture, as far as it is compared.
pub struct Recording {
    groups: Vec<Group>,
    ids: Table,
    /// Where entries belong, by stage: `turn 1 › step 2`.
    stages: HashMap<u32, String>,
}

impl Recording {
    /// How many runs and calls it has.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// What became of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Only the right session has it.
    Added,
    /// Only the left one has it.
    Removed,
    /// Both have it, with different values.
    Changed,
    /// Both have it, in different places.
    Moved,
}

impl Kind {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

/// One difference.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// What became of it.
    pub kind: Kind,
    /// Where it is in the message; empty for the message as a whole.
    pub path: String,
    /// What the left session has.
    pub left: Option<Value>,
    /// What the right session has.
    pub right: Option<Value>,
}

/// The differences of one message.
#[derive(Clone, PartialEq, Debug)]
pub struct Hunk {
    /// The run or call: its class, its number among those of the class (left, right), and its ids.
    pub class: String,
    /// Its number among those of its class, from 1: left, right.
    pub numbers: [Option<usize>; 2],
    /// Its ids.
    pub ids: [Option<String>; 2],
    /// Turn, step and call: `turn 1 › step 2`.
    pub stage: String,
    /// The RPC of a call beside the run.
    pub rpc: Option<String>,
    /// Who speaks.
    pub side: Side,
    /// The branches that are set in the message.
    pub what: String,
    /// The frames, left and right.
    pub frames: [Option<u64>; 2],
    /// What differs.
    pub changes: Vec<Change>,
}

/// A comparison that cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// `--run` names a run that is not there.
    #[error("no run '{0}' in the {1} session (its runs: {2})")]
    NoRun(String, &'static str, String),
}

#[cfg(test)]
mod tests;
