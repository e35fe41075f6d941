//! What is wrong with a schema, with its place, so that a caret can be drawn.
//! Never about a capture.

use std::{fmt, ops::Deref};

use crate::base::text::place;

/// A schema that cannot be used. What it says is a pointer away, so that a `Result` stays small.
#[derive(Debug, thiserror::Error)]
pub struct Error(Box<Details>);

/// What an [`Error`] says.
#[derive(Debug)]
pub struct Details {
    /// The file: its path as given, or its import name.
    pub file: String,
    /// Line and column from 1, where there is a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The text of the file, where it is text.
    pub source_text: Option<String>,
    /// The bytes of `source_text` that are meant.
    pub span: Option<std::ops::Range<usize>>,
    /// What may help.
    pub help: Option<String>,
}

impl Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl Error {
    /// An error about a whole file.
    pub(super) fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            file: file.into(),
            place: None,
            message: message.into(),
            source_text: None,
            span: None,
            help: None,
        }))
    }

    /// The same with what may help.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same at bytes of the file's text.
    pub(super) fn at(mut self, text: &str, span: std::ops::Range<usize>) -> Self {
        let start = floor_char(text, span.start);
        let end = floor_char(text, span.end).max(start);
        self.0.place = Some(place(text, start));
        self.0.source_text = Some(text.to_owned());
        self.0.span = Some(start..end);
        self
    }
}

/// The character boundary at or before `at`.
fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
