//! Files that an option asks for: only their owner may read them.
//! Never writes over a file unless told.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};

use super::setup::shown;

/// A new file; one that is there already only where told.
pub fn create(path: &Path, force: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(force).create_new(!force).truncate(force);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(path)
        .with_context(|| format!("cannot write {} (--force writes over files)", shown(path)))?;
    #[cfg(unix)]
    if force && file.metadata().is_ok_and(|m| m.is_file()) {
        // The mode above is for files that are new.
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(own).with_context(|| format!("cannot close {} to others", shown(path)))?;
    }
    Ok(file)
}
