//! What makes an input unusable, in a sentence for the operator.
//! Never used for damage inside a capture: that is a finding.

use std::io;

use crate::base::text;

use super::Format;

/// Why an input cannot be used. Names and quotes in it are clean text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be opened.
    #[error("{name}: {}", reason(source))]
    Open {
        /// The input.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Reading failed part of the way.
    #[error("{name}: reading failed after {at} bytes: {}", reason(source))]
    Read {
        /// The input.
        name: String,
        /// Bytes read before.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// It holds no bytes.
    #[error("{name}: the input is empty: expected a capture, found 0 bytes")]
    Empty {
        /// The input.
        name: String,
    },
    /// No file below a directory is a capture.
    #[error("{name}: no capture in this directory: {files} files looked at, none of a known format")]
    NoCapture {
        /// The directory.
        name: String,
        /// How many files were looked at.
        files: usize,
    },
    /// Its content is of no known format.
    #[error(
        "{name}: kind of input not recognised; looked for {}; it begins with {first}{note}; name the format with --from, or the message type with --as",
        looked_for()
    )]
    Unknown {
        /// The input.
        name: String,
        /// The first bytes, in hex and as text.
        first: String,
        /// Why it is not text of hex or base64, where it is text.
        note: String,
    },
    /// A format that is known but not read.
    #[error("{name}: {what}, which is not read; {advice}")]
    Unsupported {
        /// The input.
        name: String,
        /// What it is.
        what: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// It is not what it was taken for.
    #[error("{name}: not {what}: at byte {at}: expected {expected}, found {found}; {advice}")]
    Malformed {
        /// The input.
        name: String,
        /// What it was taken for, with its article.
        what: &'static str,
        /// Offset in bytes from the start of the file.
        at: u64,
        /// What should have been there.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        advice: &'static str,
    },
}

impl Error {
    /// Whether the input could be read and is no capture, as against one that cannot be read.
    pub fn is_no_capture(&self) -> bool {
        !matches!(self, Self::Open { .. } | Self::Read { .. })
    }
}

/// [`Error::Malformed`] and its kin before the name of the input is known.
#[derive(Debug)]
pub(super) enum Trouble {
    Malformed { what: &'static str, at: u64, expected: String, found: String, advice: &'static str },
    Unsupported { what: String, advice: &'static str },
}

impl Trouble {
    pub(super) fn named(self, name: &str) -> Error {
        let name = name.to_owned();
        match self {
            Self::Malformed { what, at, expected, found, advice } => {
                Error::Malformed { name, what, at, expected, found, advice }
            }
            Self::Unsupported { what, advice } => Error::Unsupported { name, what, advice },
        }
    }
}

/// The first bytes of an input as an error shows them.
pub(super) fn first_bytes(bytes: &[u8]) -> String {
    let head = bytes.get(..16).unwrap_or(bytes);
    let hex: Vec<String> = head.iter().map(|b| format!("{b:02x}")).collect();
    let mut out = hex.join(" ");
    out.push_str(" (\"");
    text::push_clean_bytes(&mut out, head);
    out.push_str("\")");
    out
}

fn looked_for() -> String {
    let names: Vec<_> = Format::ALL.iter().map(|f| f.name()).collect();
    format!("{} (also inside .gz and .zst)", names.join(", "))
}

/// An I/O error as a person says it, without the operating system's number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(at) => text.get(..at).unwrap_or(&text).to_ascii_lowercase(),
                None => text,
            }
        }
    }
}
