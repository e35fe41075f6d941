//! Exit codes, as product documents promise them.
//! Never prints.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done.
    Done,
    /// The answer is no: nothing matched, or damage under `--strict`.
    No,
    /// An input or an argument could not be used.
    Unusable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Unusable => 2,
        })
    }
}

/// Whether an error says that nobody reads what is written: that is no mistake of anybody's.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
