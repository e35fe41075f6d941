//! Tables into a folder, a Parquet file each.
//! Never there without the feature, and says so.

use std::path::Path;

use anyhow::{Result, bail};

use rpcshark::view::export::Story;

/// The files that are written.
#[cfg(feature = "parquet")]
const FILES: &[&str] = &["frames", "links", "findings", "runs"];

/// Whether tables can be written there.
#[cfg(feature = "parquet")]
pub fn refuse(folder: Option<&Path>, force: bool) -> Result<()> {
    let Some(folder) = folder else {
        bail!("--to parquet writes a file for each table: name a folder with -o");
    };
    for file in FILES {
        super::file::refuse_existing(&folder.join(format!("{file}.parquet")), force)?;
    }
    Ok(())
}

/// Writes the tables.
#[cfg(feature = "parquet")]
pub fn write(story: &Story<'_>, folder: &Path, force: bool) -> Result<()> {
    use std::io::Write;

    use anyhow::Context;
    use rpcshark::view::export::{parquet, tables};

    use crate::cli::setup::shown;

    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", shown(folder)))?;
    for table in tables::tables(story) {
        let path = folder.join(format!("{}.parquet", table.name));
        let mut file = super::file::create(&path, force)?;
        parquet::write(&table, &mut file).with_context(|| format!("cannot write {}", shown(&path)))?;
        file.flush().with_context(|| format!("cannot write {}", shown(&path)))?;
    }
    Ok(())
}

/// Whether tables can be written there.
#[cfg(not(feature = "parquet"))]
pub fn refuse(_: Option<&Path>, _: bool) -> Result<()> {
    bail!(
        "this build writes no Parquet: build with --features parquet, or let DuckDB read `rpcshark timeline --format jsonl`"
    )
}

/// Never called: [`refuse`] has refused.
#[cfg(not(feature = "parquet"))]
pub fn write(_: &Story<'_>, _: &Path, _: bool) -> Result<()> {
    Ok(())
}
