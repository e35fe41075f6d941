//! What a .proto cannot say about a protocol, read from data and resolved against a schema.
//! Never knows a protocol itself, and never looks at a capture.

mod compile;
mod coverage;
mod load;
mod matcher;
mod names;
mod plan;
pub mod rules;
mod timely;

pub use compile::{Mode, compile};
pub use coverage::{Coverage, coverage, unresolved};
pub use load::{builtin, parse};
pub use matcher::Matcher;
pub use names::{Place, resolve};
pub use plan::{Namespace, Payload, PayloadEncoding, Plan, Relation, Tunnel};
pub use timely::{
    Content, Ending, Fold, How, Level, Lifeline, Match, Measure, Offer, Part, Pulse, Role, Stream, Take,
    Unit, Verdict,
};

use crate::base::text::place;

/// A dialect that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Error {
    /// The file, as given.
    pub file: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// What is wrong, and what may be meant.
    pub message: String,
    /// The text of the file.
    pub text: String,
    /// The bytes that are meant.
    pub span: std::ops::Range<usize>,
}

impl Error {
    /// An error at bytes of a text.
    fn at(file: &str, text: &str, span: std::ops::Range<usize>, message: impl Into<String>) -> Self {
        let (line, column) = place(text, span.start);
        Self { file: file.to_owned(), line, column, message: message.into(), text: text.to_owned(), span }
    }
}
