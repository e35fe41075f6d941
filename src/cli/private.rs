//! Files that an option asks for: only their owner may read them, but for what is meant for all.
//! Never writes over a file unless told.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};

use super::setup::shown;

/// A new file that only its owner may read; one that is there already only where told.
pub fn create(path: &Path, force: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = open(options, path, force)?;
    #[cfg(unix)]
    if force && file.metadata().is_ok_and(|m| m.is_file()) {
        // The mode above is for files that are new.
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(own).with_context(|| format!("cannot close {} to others", shown(path)))?;
    }
    Ok(file)
}

/// The same for what holds nothing of the operator's, and is meant for all: manual pages.
pub fn create_for_all(path: &Path, force: bool) -> Result<File> {
    open(OpenOptions::new(), path, force)
}

fn open(mut options: OpenOptions, path: &Path, force: bool) -> Result<File> {
    options.write(true).create(force).create_new(!force).truncate(force);
    options.open(path).with_context(|| format!("cannot write {} (--force writes over files)", shown(path)))
}
