//! The captures behind the files of a command line, opened one after the other.
//! Never stops at one that cannot be used: it is told, and the rest is read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytes::Bytes;

use rpcshark::base::text::clean;
use rpcshark::source::{self, Options, Reader};

use super::progress::Progress;
use super::{report, setup};

/// Inputs that can be read once only, kept to be read twice.
#[derive(Default)]
pub struct Kept(HashMap<PathBuf, Bytes>);

impl Kept {
    /// Reads what is no regular file and no folder to its end, at most `most` bytes of each.
    pub fn read(files: &[PathBuf], most: u64) -> Result<Self> {
        let mut kept = HashMap::new();
        for path in files {
            let name = || format!("cannot read {}", setup::shown(path));
            let input: Box<dyn Read> = match path.metadata() {
                _ if path == Path::new("-") => Box::new(io::stdin().lock()),
                Ok(meta) if !meta.is_file() && !meta.is_dir() => {
                    Box::new(File::open(path).with_context(name)?)
                }
                _ => continue,
            };
            let mut bytes = Vec::new();
            input.take(most.saturating_add(1)).read_to_end(&mut bytes).with_context(name)?;
            if bytes.len() as u64 > most {
                bail!(
                    "{}: this filter reads its input twice, and a pipe of more than {} MiB is not kept: \
                     write it to a file first",
                    setup::shown(path),
                    most >> 20
                );
            }
            kept.insert(path.clone(), Bytes::from(bytes));
        }
        Ok(Self(kept))
    }
}

/// Captures still to be read.
pub struct Captures<'a> {
    paths: std::vec::IntoIter<PathBuf>,
    options: &'a Options,
    progress: Option<Progress>,
    kept: Option<&'a Kept>,
    /// Whether trouble is left for another reading to tell.
    silent: bool,
    /// Whether one could not be used.
    pub failed: bool,
}

impl<'a> Captures<'a> {
    /// Looks for captures: files as they are, folders by what is in them.
    pub fn find(files: &[PathBuf], options: &'a Options) -> Self {
        Self::find_kept(files, options, None, false)
    }

    /// The same, some of them `kept`; `silent` where trouble is left for another reading to tell.
    pub fn find_kept(files: &[PathBuf], options: &'a Options, kept: Option<&'a Kept>, silent: bool) -> Self {
        let mut paths = Vec::new();
        let mut failed = false;
        let told = |level: &str, error: &source::Error| {
            if !silent {
                report::line(&format!("{level}: {}", clean(&error.to_string())));
            }
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
        Self { paths: paths.into_iter(), options, progress, kept, silent, failed }
    }

    fn open(&self, path: &Path) -> Result<Reader, source::Error> {
        match self.kept.and_then(|kept| kept.0.get(path)) {
            Some(bytes) => {
                let bytes = Box::new(Cursor::new(bytes.clone()));
                Reader::from_reader(&path.to_string_lossy(), bytes, self.options)
            }
            None => Reader::open(path, self.options),
        }
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
            match self.open(&path) {
                Ok(reader) => return Some(reader),
                Err(error) => {
                    self.failed = true;
                    if !self.silent {
                        report::unread(&error);
                    }
                }
            }
        }
    }
}
