//! Where exports go: new files that only their owner may read, or standard output.
//! Never writes over a file unless told.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Result, bail};

use crate::cli::private;
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
    let file = private::create(path, force)?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Says before hours of reading that a file is there; whether it is so is settled when it is made.
pub fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        bail!("{} is there already; --force writes over it", shown(path));
    }
    Ok(())
}
