//! One .proto text: read, told by its syntax, parsed.
//! Never resolves a name.

use std::{io, path::PathBuf};

use miette::Diagnostic;
use prost_reflect::prost_types::FileDescriptorProto;
use protox::file::{File, FileResolver, GoogleFileResolver};

use crate::schema::Error;

use super::edition;

/// A file's text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// The import name.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// What it says, without a byte order mark.
    pub text: String,
}

impl Text {
    /// The first root that holds a name; `None` where none does.
    pub fn read(name: &str, roots: &[PathBuf]) -> Result<Option<Self>, Error> {
        for root in roots {
            let path = root.join(name);
            let shown = path.display().to_string();
            let bytes = match super::read_file(&path) {
                Ok(bytes) => bytes,
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    continue;
                }
                Err(e) => return Err(Error::new(shown, e.to_string())),
            };
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            let text = match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(e) => {
                    let lossy = String::from_utf8_lossy(bytes).into_owned();
                    let at = e.valid_up_to();
                    return Err(Error::new(shown, "is not UTF-8").at(&lossy, at..at + 1));
                }
            };
            return Ok(Some(Self { name: name.to_owned(), path, text }));
        }
        Ok(None)
    }

    /// An error about this file.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.path.display().to_string(), message)
    }

    /// Parses it: the file, and the number of its edition where it has one.
    pub fn parse(&self) -> Result<(FileDescriptorProto, Option<i32>), Error> {
        let (parsed, number) = match edition::statement(&self.text) {
            None => (File::from_source(&self.name, &self.text).map(Into::into).map_err(|e| (e, 0)), None),
            Some((span, value)) => match edition::number(value) {
                Some(number) => (edition::parse(&self.name, &self.text, span), Some(number)),
                None => {
                    return Err(self
                        .error(format!("edition {value:?} is not known"))
                        .help("proto2, proto3 and the editions 2023 and 2024 are read")
                        .at(&self.text, span));
                }
            },
        };
        let file = parsed.map_err(|(e, shift)| {
            let error = self.error(e.to_string());
            let label = e.labels().and_then(|mut labels| labels.next());
            match label {
                Some(label) => {
                    let at = label.offset().saturating_sub(shift);
                    error.at(&self.text, at..at + label.len().max(1))
                }
                None => error.at(&self.text, self.text.len()..self.text.len()),
            }
        })?;
        Ok((file, number))
    }
}

/// A file that every compiler bundles: `google/protobuf/…`.
pub(super) fn bundled(name: &str) -> Option<FileDescriptorProto> {
    if !name.starts_with("google/protobuf/") {
        return None;
    }
    let file = GoogleFileResolver::new().open_file(name).ok().map(Into::into);
    // Features of one language's code: options only, which nobody here reads.
    let is_features = name.ends_with("_features.proto");
    file.or_else(|| {
        is_features.then(|| FileDescriptorProto { name: Some(name.to_owned()), ..Default::default() })
    })
}
