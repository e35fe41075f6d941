//! The captures that a path stands for: itself, or the files below a directory, sorted.
//! Never follows a loop of links and never lets one file stop the others.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Error, Options, Reader};
use crate::base::text;

/// Deepest nesting of directories.
const MAX_DEPTH: usize = 64;

/// What is behind a path.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Captures to read, in order.
    pub captures: Vec<PathBuf>,
    /// Files of a directory that are no captures, each with the reason: worth a note.
    pub skipped: Vec<Error>,
    /// Files of a directory that cannot be read: errors, which do not stop the others.
    pub failed: Vec<Error>,
}

/// Finds the captures behind a path. A file (or `-`) is taken as it is; in a directory each
/// regular file is opened and its content looked at.
pub fn discover(path: &Path, options: &Options) -> Result<Discovery, Error> {
    let mut found = Discovery::default();
    if path.as_os_str() == "-" || !path.is_dir() {
        found.captures.push(path.to_owned());
        return Ok(found);
    }
    let mut files = Vec::new();
    walk(path, 0, &mut HashSet::new(), &mut files, &mut found.failed);
    let looked_at = files.len();
    for file in files {
        match Reader::open(&file, &Options { follow: false, ..options.clone() }) {
            Ok(_) => found.captures.push(file),
            Err(error) if error.is_no_capture() => found.skipped.push(error),
            Err(error) => found.failed.push(error),
        }
    }
    if found.captures.is_empty() && found.failed.is_empty() {
        return Err(Error::NoCapture { name: text::clean(&path.to_string_lossy()), files: looked_at });
    }
    Ok(found)
}

fn walk(
    directory: &Path,
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    files: &mut Vec<PathBuf>,
    failed: &mut Vec<Error>,
) {
    let fail = |path: &Path, source| Error::Open { name: text::clean(&path.to_string_lossy()), source };
    let entered = directory.canonicalize().is_ok_and(|real| seen.insert(real));
    if depth > MAX_DEPTH || !entered {
        return;
    }
    let mut entries: Vec<PathBuf> = match std::fs::read_dir(directory) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).collect(),
        Err(source) => return failed.push(fail(directory, source)),
    };
    entries.sort();
    for path in entries {
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => walk(&path, depth + 1, seen, files, failed),
            Ok(meta) if meta.is_file() => files.push(path),
            Ok(_) => {}
            Err(source) => failed.push(fail(&path, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_are_walked_in_order() {
        let Ok(root) = tempfile::tempdir() else { return };
        let at = |name: &str| root.path().join(name);
        let _ = fs::create_dir(at("b"));
        let _ = fs::write(at("b/two.bin"), b"\x00\x00\x00\x00\x00");
        let _ = fs::write(at("c.jsonl"), b"{\"a_b\":{}}");
        let _ = fs::write(at("a.txt"), "just some words\n");
        let _ = fs::write(at("empty"), "");
        #[cfg(unix)]
        {
            let _ = std::os::unix::fs::symlink(root.path(), at("b/loop"));
            let _ = std::os::unix::fs::symlink("one", at("two"));
            let _ = std::os::unix::fs::symlink("two", at("one"));
        }
        let Ok(found) = discover(root.path(), &Options::default()) else { panic!("found") };
        assert_eq!(found.captures, [at("b/two.bin"), at("c.jsonl")]);
        assert_eq!(found.skipped.len(), 2);
        assert_eq!(found.failed.len(), if cfg!(unix) { 2 } else { 0 });
    }

    #[test]
    fn a_directory_without_captures_is_an_error() {
        let Ok(root) = tempfile::tempdir() else { return };
        let _ = fs::write(root.path().join("a.txt"), "just some words\n");
        let error = discover(root.path(), &Options::default()).err();
        assert!(matches!(error, Some(Error::NoCapture { files: 1, .. })));
    }
}
