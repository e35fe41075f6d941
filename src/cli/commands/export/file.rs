//! Where exports go: new files that only their owner may read, or standard output.
//! Never writes over a file unless told.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cli::setup::shown;

/// A file, or standard output where there is no path.
pub fn open(path: Option<&Path>, force: bool) -> Result<Box<dyn Write + Send>> {
    match path {
        Some(path) => Ok(Box::new(create(path, force)?)),
        None => Ok(Box::new(BufWriter::with_capacity(1 << 16, io::stdout()))),
    }
}

/// A new file; one that is there only where told.
pub fn create(path: &Path, force: bool) -> Result<BufWriter<File>> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).with_context(|| format!("cannot write {}", shown(path)))?;
    #[cfg(unix)]
    if force && file.metadata().is_ok_and(|m| m.is_file()) {
        // The mode above is for files that are new.
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(own).with_context(|| format!("cannot close {} to others", shown(path)))?;
    }
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Says before hours of reading that a file is there; whether it is so is settled when it is made.
pub fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        bail!("{} is there already; --force writes over it", shown(path));
    }
    Ok(())
}
