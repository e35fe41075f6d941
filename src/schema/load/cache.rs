//! Compiled .proto files, kept between runs under a hash of all that they were compiled from.
//! Never trusted: what is not whole, not ours alone to write or not of these files is compiled anew.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::base::text::hex;

use super::{Sources, roots};

/// What a kept file begins with; changes with what the rest means.
const MAGIC: &[u8; 8] = b"rpcshk\x00\x03";

/// Most bytes of .proto files, and of a kept file, that are worth it.
const MAX_BYTES: u64 = 64 << 20;

/// Kept files, at most: the oldest go first.
const MAX_FILES: usize = 32;

/// What is kept: the descriptor set of the files, and the table of that, of the built-in schema where it counts, and of
/// the well-known types.
pub(super) struct Kept {
    pub set: Bytes,
    pub table: Bytes,
}

/// Where the files of these sources are kept; `None` where they are not.
pub(super) fn place(sources: &Sources) -> Option<PathBuf> {
    let folder = sources.cache.as_deref()?;
    // A file outside all roots brings a folder of its own, in which anything may lie.
    if !sources.protos.iter().all(|p| roots::lies_below(p, &sources.roots)) {
        return None;
    }
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(env!("RPCSHARK_TABLES").as_bytes());
    add(&[u8::from(sources.allow_missing_imports), u8::from(sources.builtin)]);
    for path in sources.roots.iter().chain([&PathBuf::new()]).chain(&sources.protos) {
        add(path.as_os_str().as_encoded_bytes());
        add(path.canonicalize().unwrap_or_default().as_os_str().as_encoded_bytes());
    }
    let (mut total, mut text) = (0, Vec::new());
    for root in &sources.roots {
        add(root.canonicalize().ok()?.as_os_str().as_encoded_bytes());
        for entry in roots::discover(std::slice::from_ref(root)).ok()? {
            let mut file = File::open(root.join(&entry.name)).ok()?;
            total += file.metadata().ok()?.len();
            if total > MAX_BYTES {
                return None;
            }
            text.clear();
            file.read_to_end(&mut text).ok()?;
            add(entry.name.as_bytes());
            add(&text);
        }
    }
    Some(folder.join(format!("{}.binpb", hex(&hash.finalize()))))
}

/// What is kept at a place, where it is whole.
pub(super) fn read(place: &Path) -> Option<Kept> {
    let meta = fs::symlink_metadata(place).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES || !is_private(&meta) {
        return None;
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    File::open(place).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let (sum, body) = bytes.strip_prefix(MAGIC)?.split_at_checked(32)?;
    if Sha256::digest(body)[..] != *sum {
        return None;
    }
    let (length, parts) = body.split_first_chunk()?;
    let (length, from) = (usize::try_from(u64::from_le_bytes(*length)).ok()?, bytes.len() - parts.len());
    parts.get(..length)?;
    let mut set = Bytes::from(bytes).slice(from..);
    let table = set.split_off(length);
    Some(Kept { set, table })
}

/// Keeps a descriptor set and its table for the next run. That it fails is no matter.
pub(super) fn write(place: &Path, set: &[u8], table: &[u8]) {
    let _ = try_write(place, &[&(set.len() as u64).to_le_bytes(), set, table]);
}

fn try_write(place: &Path, body: &[&[u8]]) -> std::io::Result<()> {
    let Some(folder) = place.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let new = place.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    let mut sum = Sha256::new();
    body.iter().for_each(|part| sum.update(part));
    let head: [&[u8]; 2] = [MAGIC, &sum.finalize()];
    let mut parts = head.iter().chain(body);
    let written = parts.try_for_each(|part| file.write_all(part)).and_then(|()| fs::rename(&new, place));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    prune(folder);
    written
}

/// Removes the oldest where there are too many.
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let ours = |path: &Path| path.extension().is_some_and(|e| e == "binpb");
    let mut kept: Vec<_> = entries
        .flatten()
        .filter(|entry| ours(&entry.path()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    kept.sort();
    let surplus = kept.len().saturating_sub(MAX_FILES);
    kept.iter().take(surplus).for_each(|(_, path)| drop(fs::remove_file(path)));
}

/// Whether nobody else can have written a file.
#[cfg(unix)]
fn is_private(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    fn kept(folder: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn kept_files_are_those_of_the_sources_or_are_not_used() {
        let (protos, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |text: &str| fs::write(protos.path().join("a.proto"), text).unwrap();
        let folder = cache.path().join("schemas");
        let sources =
            Sources { roots: vec![protos.path().into()], cache: Some(folder.clone()), ..Sources::default() };
        let loads = |name: &str| load(&sources).unwrap().schema.type_by_name(name).is_some();
        write("syntax = \"proto3\"; message A { int32 n = 1; }");
        assert!(loads("A"));
        let first = kept(&folder);
        assert_eq!(first.len(), 1);
        let good = fs::read(&first[0]).unwrap();
        assert!(read(&first[0]).is_some() && loads("A"), "the second run finds it");
        // Another text is another key.
        write("syntax = \"proto3\"; message B { int32 n = 1; }");
        assert!(loads("B") && !loads("A"));
        assert_eq!(kept(&folder).len(), 2);
        write("syntax = \"proto3\"; message A { int32 n = 1; }");
        // Damaged, cut, empty, of another kind: each is compiled anew, and written again.
        for at in [0, 8, 20, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&first[0], bad).unwrap();
            assert!(read(&first[0]).is_none() && loads("A"));
            assert_eq!(fs::read(&first[0]).unwrap(), good);
        }
        for bad in [&b""[..], b"x", &good[..good.len() - 1], &good[..30]] {
            fs::write(&first[0], bad).unwrap();
            assert!(read(&first[0]).is_none() && loads("A"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_is_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("x.binpb");
        write(&place, &[], &[]);
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(read(&place).is_some());
        fs::set_permissions(&place, fs::Permissions::from_mode(0o660)).unwrap();
        assert!(read(&place).is_none());
    }
}
