//! A mistake in an expression on the command line, with its place, and what display filters are checked against.
//! Never prints.

use std::ops::Range;

use anyhow::Result;

use rpcshark::dialect::Plan;
use rpcshark::pipeline;
use rpcshark::query::{self, Filter};
use rpcshark::schema::Schema;

/// An expression that cannot be used.
#[derive(Clone, Debug, Default, thiserror::Error)]
#[error("{option}: {text}")]
pub struct ExpressionError {
    /// The option that took it.
    pub option: &'static str,
    /// The expression.
    pub code: String,
    /// The bytes that are meant.
    pub span: Range<usize>,
    /// What is wrong.
    pub text: String,
    /// What may help.
    pub help: Option<String>,
}

/// When a command looks at a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// As soon as the frame is decoded.
    Frame,
    /// After the whole capture.
    Session,
}

/// An error of a path or filter, as one of the option that took it.
pub fn of(option: &'static str, code: &str, error: query::Error) -> ExpressionError {
    ExpressionError { option, code: code.to_owned(), span: error.span, text: error.text, help: error.help }
}

/// The display filter of an expression.
pub fn filter(text: &str, schema: &Schema, plan: &Plan, moment: Moment) -> Result<Filter> {
    let named = |error| of("--filter", text, error);
    let filter = pipeline::display_filter(text, schema, plan, moment == Moment::Session).map_err(named)?;
    match filter.later() {
        Some(error) if moment == Moment::Frame => Err(named(error).into()),
        _ => Ok(filter),
    }
}
