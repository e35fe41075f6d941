//! The display filter: an expression over the frame record, checked against the schema before any input is read.
//! Never reads a capture, and never finds out at run time what could be said of the expression before.

mod check;
mod eval;
mod fields;
mod lex;
mod looked;
mod parse;
pub mod places;
mod steps;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::base::text::clean;
use crate::schema::{Schema, TypeId};

pub use fields::{FIELDS, FieldInfo, Group, Meta};
pub use looked::Looked;

/// A filter that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// The bytes of the expression that are meant; at its end where something is missing.
    pub span: Range<usize>,
    /// What is wrong, in a sentence.
    pub text: String,
    /// What may help.
    pub help: Option<String>,
}

impl Error {
    fn new(span: Range<usize>, text: impl Into<String>) -> Self {
        Self { span, text: text.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With "did you mean" where a near name is known.
    fn near(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.help(format!("did you mean '{}'?", clean(near))),
            None => self,
        }
    }
}

/// When a part of a record is known; each stage knows what those before know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// Once the frame is cut: its place, its call, its flags.
    Frame,
    /// Once the message is decoded, before it is written: `kind`, `messageType`, `length`.
    Kind,
    /// Once the record is complete: `message`, `ids`, `carrier`, `findings`.
    Record,
    /// Once the whole capture is read: what answered what, findings of a run.
    Later,
}

/// What a filter is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The types.
    pub schema: &'a Schema,
    /// The keys under `ids`.
    pub ids: &'a [&'a str],
    /// The keys under `carrier` beyond those that are always there.
    pub carrier: &'a [&'a str],
    /// The kinds of pairs.
    pub pairs: &'a [&'a str],
    /// The keys under `run.tokens`.
    pub tokens: &'a [&'a str],
    /// Whether the filter is for whole captures: `findings` are then those of the run too.
    pub whole: bool,
}

/// A value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Text.
    Text(&'a str),
    /// Nanoseconds: since 1970 for a time, else of a duration.
    Nanos(i128),
}

/// What a filter looks at.
pub trait Record {
    /// Calls `visit` with each value of a field until it returns false; not at all where there is none.
    fn values(&self, field: &Field, visit: &mut dyn FnMut(Value<'_>) -> bool);
    /// The message as canonical ProtoJSON with the names of the .proto, and its type.
    fn message(&self) -> Option<(Option<TypeId>, &serde_json::Value)>;
}

/// A field of the record but those in `message`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// One of the record's own.
    Meta(Meta),
    /// A member of a group whose names are open; `None` is any.
    Member(Group, Option<Box<str>>),
}

/// A checked filter.
#[derive(Clone, Debug)]
pub struct Filter {
    root: check::Test,
    begins: Stage,
    needs: Stage,
    by_kind: bool,
}

impl Filter {
    /// Reads and checks an expression.
    pub fn new(text: &str, names: Names<'_>) -> Result<Self, Error> {
        let parsed = parse::parse(text)?;
        let root = check::check(&parsed, names)?;
        let (mut begins, mut needs, mut by_kind) = (None, Stage::Frame, true);
        root.each_leaf(&mut |leaf| {
            begins = Some(begins.map_or(leaf.stage, |stage: Stage| stage.min(leaf.stage)));
            needs = needs.max(leaf.stage);
            by_kind &= leaf.stage > Stage::Kind || leaf.tells_kind();
        });
        Ok(Self { root, begins: begins.unwrap_or(Stage::Frame), needs, by_kind })
    }

    /// The stage before which the filter cannot be decided whatever the frame.
    pub fn begins(&self) -> Stage {
        self.begins
    }

    /// The stage at which the filter can be decided whatever the frame.
    pub fn needs(&self) -> Stage {
        self.needs
    }

    /// Whether all frames of one kind and message type get the same answer at [`Stage::Kind`].
    pub fn is_by_kind(&self) -> bool {
        self.by_kind
    }

    /// Where the expression asks for what is known only after the whole capture is read: that
    /// part's place, as an error that says so.
    pub fn later(&self) -> Option<Error> {
        let mut found = None;
        self.root.each_leaf(&mut |leaf| {
            if leaf.stage == Stage::Later && found.is_none() {
                let what = "is known only when the whole capture has been read";
                found = Some(
                    Error::new(
                        leaf.span.clone(),
                        format!("{} {what}: no filter for single frames", leaf.name),
                    )
                    .help("it is for commands that look at whole captures"),
                );
            }
        });
        found
    }

    /// Looks at the values that a record has, and adds what they say to what others of the same frame said.
    pub fn look(&self, schema: &Schema, record: &dyn Record, looked: &mut Looked) {
        let mut leaf = 0;
        self.root.each_leaf(&mut |test| {
            let (there, hit) = eval::seen(test, schema, record);
            looked.add(leaf, there, hit);
            leaf += 1;
        });
    }

    /// Whether a frame passes of which everything has been looked at.
    pub fn judge(&self, looked: &Looked) -> bool {
        looked.judge(&self.root)
    }

    /// Whether a record passes, as far as a stage can tell: `None` where it cannot.
    pub fn decide(&self, schema: &Schema, record: &dyn Record, stage: Stage) -> Option<bool> {
        eval::decide(&self.root, schema, record, stage)
    }

    /// Whether a complete record passes.
    pub fn matches(&self, schema: &Schema, record: &dyn Record) -> bool {
        self.decide(schema, record, Stage::Later) == Some(true)
    }
}
