//! The captures behind the files of a command line, opened one after the other.
//! Never stops at one that cannot be used: it is told, and the rest is read.

use std::path::PathBuf;

use rpcshark::base::text::clean;
use rpcshark::source::{self, Options, Reader};

use super::progress::Progress;
use super::report;

/// Captures still to be read.
pub struct Captures<'a> {
    paths: std::vec::IntoIter<PathBuf>,
    options: &'a Options,
    progress: Option<Progress>,
    /// Whether one could not be used.
    pub failed: bool,
}

impl<'a> Captures<'a> {
    /// Looks for captures: files as they are, folders by what is in them.
    pub fn find(files: &[PathBuf], options: &'a Options) -> Self {
        let mut paths = Vec::new();
        let mut failed = false;
        let told = |level: &str, error: &source::Error| {
            report::line(&format!("{level}: {}", clean(&error.to_string())))
        };
        for path in files {
            match source::discover(path, options) {
                Ok(found) => {
                    found.skipped.iter().for_each(|error| told("note: skipped", error));
                    found.failed.iter().for_each(|error| told("error", error));
                    failed |= !found.failed.is_empty();
                    paths.extend(found.captures);
                }
                Err(error) => {
                    failed = true;
                    told("error", &error);
                }
            }
        }
        let progress = Some(Progress::start(options.taken.clone(), &paths));
        Self { paths: paths.into_iter(), options, progress, failed }
    }
}

impl Iterator for Captures<'_> {
    type Item = Reader;

    fn next(&mut self) -> Option<Reader> {
        loop {
            let Some(path) = self.paths.next() else {
                self.progress = None;
                return None;
            };
            match Reader::open(&path, self.options) {
                Ok(reader) => return Some(reader),
                Err(error) => {
                    self.failed = true;
                    report::line(&format!("error: {}", clean(&error.to_string())));
                }
            }
        }
    }
}
