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

use prost::Message;

use super::{
    Error, Schema,
    compile::{self, Layer},
    descriptor::{FileDescriptorSet, decode_set},
};

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
    let layers = layers(sources, &mut warnings)?;
    Ok(Loaded { schema: compile::compile(layers)?, warnings })
}

/// The same as a descriptor set in wire format, imports included: for tools that want .proto files no more.
/// Custom options are not kept. The second is what was left out.
pub fn descriptor_set(sources: &Sources) -> Result<(Vec<u8>, Vec<Error>), Error> {
    let mut warnings = Vec::new();
    let mut set = FileDescriptorSet::default();
    let mut names = HashSet::new();
    for layer in layers(sources, &mut warnings)? {
        for file in layer.files()? {
            if names.insert(file.name.clone()) {
                set.file.push(file);
            }
        }
    }
    Ok((set.encode_to_vec(), warnings))
}

fn layers(sources: &Sources, warnings: &mut Vec<Error>) -> Result<Vec<Layer>, Error> {
    let mut layers = Vec::new();
    if !sources.roots.is_empty() || !sources.protos.is_empty() {
        let place = cache::place(sources);
        let kept = place.as_deref().and_then(cache::read);
        layers.push(match kept {
            Some(set) => Layer::kept(set),
            None => {
                let layer = Layer::unchecked(graph::compile(sources, warnings)?);
                // What there is to warn of has to be said each time.
                if let (Some(place), true) = (place, warnings.is_empty())
                    && compile::compile(vec![layer.clone()]).is_ok()
                {
                    cache::write(&place, &layer.set);
                }
                layer
            }
        });
    }
    for path in &sources.descriptor_sets {
        let name = path.display().to_string();
        let bytes = read_file(path).map_err(|e| Error::new(&*name, e.to_string()))?;
        layers.push(Layer::unchecked(decode_set(&name, &bytes)?));
    }
    if sources.builtin {
        layers.push(Layer::builtin(BUILTIN));
    }
    Ok(layers)
}

#[cfg(test)]
mod tests;
