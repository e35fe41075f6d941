//! The include roots: which file an import name stands for, and which files lie below.
//! Never follows a folder twice, whatever the links say.

use std::{
    collections::HashSet,
    fs,
    path::{Component, Path, PathBuf},
};

use crate::schema::Error;

/// A file to compile.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its import name.
    pub name: String,
    /// Whether the operator named it.
    pub named: bool,
}

/// Every .proto below the roots, by import name, in order of root and name.
pub(super) fn discover(roots: &[PathBuf]) -> Result<Vec<Entry>, Error> {
    let mut found = Vec::new();
    let mut names = HashSet::new();
    for root in roots {
        let mut below = Vec::new();
        let mut seen = HashSet::new();
        walk(root, root, 0, &mut seen, &mut below).map_err(|e| {
            Error::new(root.display().to_string(), format!("cannot be read as a folder: {e}"))
        })?;
        below.sort();
        for name in below {
            if names.insert(name.clone()) {
                found.push(Entry { name, named: false });
            }
        }
    }
    Ok(found)
}

/// Files named one by one. A file outside all roots brings its own folder as the last root.
pub(super) fn named(protos: &[PathBuf], roots: &mut Vec<PathBuf>) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for path in protos {
        let mut name = roots.iter().find_map(|root| import_name(path, root));
        if name.is_none() && path.is_relative() {
            name = roots.iter().find(|r| r.join(path).is_file()).and_then(|_| plain_name(path));
        }
        if name.is_none() && path.is_file() {
            let folder = match path.parent() {
                Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
                _ => PathBuf::from("."),
            };
            name = path.file_name().and_then(|n| n.to_str()).map(str::to_owned);
            roots.push(folder);
        }
        let Some(name) = name else {
            return Err(Error::new(path.display().to_string(), "no such file, here or below a root"));
        };
        if let Some(first) = roots.iter().map(|r| r.join(&name)).find(|p| p.is_file())
            && path.is_file()
            && fs::read(&first).ok() != fs::read(path).ok()
        {
            let text = format!(
                "is shadowed by {}, which an earlier root holds under the same name",
                first.display()
            );
            return Err(Error::new(path.display().to_string(), text).help("put its root first"));
        }
        entries.push(Entry { name, named: true });
    }
    Ok(entries)
}

/// Whether a file lies below one of the roots.
pub(super) fn lies_below(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| import_name(path, root).is_some())
}

fn import_name(path: &Path, root: &Path) -> Option<String> {
    let skip_dot = |p: &Path| -> PathBuf { p.components().filter(|c| *c != Component::CurDir).collect() };
    let (plain_path, plain_root) = (skip_dot(path), skip_dot(root));
    if let Some(name) = plain_path.strip_prefix(&plain_root).ok().and_then(plain_name)
        && path.is_file()
    {
        return Some(name);
    }
    let (path, root) = (path.canonicalize().ok()?, root.canonicalize().ok()?);
    plain_name(path.strip_prefix(root).ok()?)
}

/// A relative path with `/` between its parts; `None` with `..` or what is not UTF-8.
fn plain_name(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Deepest folder that is looked into.
const MAX_DEPTH: usize = 64;

fn walk(
    root: &Path,
    dir: &Path,
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    found: &mut Vec<String>,
) -> std::io::Result<()> {
    if depth > MAX_DEPTH || !seen.insert(dir.canonicalize()?) {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if hidden {
            continue;
        }
        if path.is_dir() {
            // A folder below that cannot be read is no reason to load nothing.
            let _ = walk(root, &path, depth + 1, seen, found);
        } else if path.extension().is_some_and(|e| e == "proto")
            && let Some(name) = path.strip_prefix(root).ok().and_then(plain_name)
        {
            found.push(name);
        }
    }
    Ok(())
}
