//! Loads schemas from .proto files, descriptor sets and the set that is built in.
//! Never looks outside the roots it is given.

mod cache;
mod edition;
mod graph;
mod graph_options;
mod place;
mod roots;
mod text;

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use prost::Message;

use cache::Kept;

use super::{
    Error, Schema, compile,
    descriptor::{FileDescriptorSet, decode_set},
    layers::Layer,
};

/// The schema that ships with the program, made by build.rs; empty where none is shipped.
const BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtin.binpb"));

/// The table of that and of the well-known types.
const BUILTIN_TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtin.table"));

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
    /// Whether an import that cannot be found is taken as an empty file; custom options are
    /// then not read. Types that only the missing file defines are still an error.
    pub allow_missing_imports: bool,
    /// A folder of the user's own in which compiled .proto files are kept between runs.
    pub cache: Option<PathBuf>,
}

/// A schema, and what was left out of it.
#[derive(Debug)]
pub struct Loaded {
    /// What is loaded.
    pub schema: Schema,
    /// Files below the roots that do not compile, and other things worth a word.
    pub warnings: Vec<Error>,
}

/// Longest .proto or descriptor set that is read, in bytes.
const MAX_LEN: u64 = 256 << 20;

/// A file's content; one that is longer than any schema, or has no end, is refused.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_LEN {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "is too large for a schema")),
        false => Ok(bytes),
    }
}

/// Loads a schema. What the operator gives wins over what is built in.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let mut warnings = Vec::new();
    let protos = Protos::of(sources);
    if let Some(schema) = ready(sources, &protos) {
        return Ok(Loaded { schema, warnings });
    }
    let layers = layers(sources, protos, &mut warnings)?;
    Ok(Loaded { schema: compile::compile(layers)?, warnings })
}

/// The same as a descriptor set in wire format, imports included: for tools that want .proto files no more.
/// Custom options are not kept. The second is what was left out.
pub fn descriptor_set(sources: &Sources) -> Result<(Vec<u8>, Vec<Error>), Error> {
    let mut warnings = Vec::new();
    let mut set = FileDescriptorSet::default();
    let mut names = HashSet::new();
    for layer in layers(sources, Protos::of(sources), &mut warnings)? {
        for file in layer.files()? {
            if names.insert(file.name.clone()) {
                set.file.push(file);
            }
        }
    }
    Ok((set.encode_to_vec(), warnings))
}

/// What is known of .proto files before one is read.
struct Protos {
    /// What an earlier run made of them.
    kept: Option<Kept>,
    /// Where a later run looks for that.
    place: Option<PathBuf>,
}

impl Protos {
    fn of(sources: &Sources) -> Self {
        let place = if sources.has_protos() { cache::place(sources) } else { None };
        Self { kept: place.as_deref().and_then(cache::read), place }
    }
}

impl Sources {
    fn has_protos(&self) -> bool {
        !self.roots.is_empty() || !self.protos.is_empty()
    }

    fn builtin_set(&self) -> Option<&'static [u8]> {
        self.builtin.then_some(BUILTIN)
    }
}

/// A schema that was compiled before: what is built in alone, or that and what is kept.
fn ready(sources: &Sources, protos: &Protos) -> Option<Schema> {
    let builtin = sources.builtin_set().map(Bytes::from_static);
    match &protos.kept {
        _ if !sources.descriptor_sets.is_empty() => None,
        Some(kept) => {
            let sets = [kept.set.clone()].into_iter().chain(builtin);
            compile::compiled(kept.table.clone(), sets.collect())
        }
        None if sources.has_protos() => None,
        None => compile::compiled(Bytes::from_static(BUILTIN_TABLE), vec![builtin?]),
    }
}

fn layers(sources: &Sources, protos: Protos, warnings: &mut Vec<Error>) -> Result<Vec<Layer>, Error> {
    let builtin = sources.builtin_set().map(Layer::builtin);
    let mut layers = Vec::new();
    if let Some(kept) = protos.kept {
        layers.push(Layer::kept(kept.set));
    } else if sources.has_protos() {
        let layer = Layer::unchecked(graph::compile(sources, warnings)?);
        let with_builtin = || [layer.clone()].into_iter().chain(builtin.clone()).collect();
        // What there is to warn of has to be said each time.
        if let (Some(place), true) = (protos.place, warnings.is_empty())
            && let Ok(schema) = compile::compile(with_builtin())
        {
            cache::write(&place, &layer.set, schema.table.bytes());
        }
        layers.push(layer);
    }
    for path in &sources.descriptor_sets {
        let name = path.display().to_string();
        let bytes = read_file(path).map_err(|e| Error::new(&*name, e.to_string()))?;
        layers.push(Layer::unchecked(decode_set(&name, &bytes)?));
    }
    layers.extend(builtin);
    Ok(layers)
}

#[cfg(test)]
mod tests;
