//! Which files count where several define the same names.
//! Never picks at random: an earlier layer wins, and within one a clash is an error.

use std::collections::HashSet;

use prost::{Message, bytes::Bytes};

use super::{
    Error,
    descriptor::{FileDescriptorProto, FileDescriptorSet, decode_set},
    names::Names,
    outline::{FileOutline, methods, outline},
};

/// Files of one standing. What an earlier layer defines, a later one must not define again.
#[derive(Clone)]
pub(super) struct Layer {
    /// A `FileDescriptorSet`, as a mirror (`descriptor`) or protox writes it.
    pub set: Bytes,
    /// Whether a clash or a broken reference is an error; else the file is left out.
    pub strict: bool,
    /// Whether all its types have been planned before, without an error.
    pub checked: bool,
}

impl Layer {
    /// Files that may hold anything.
    pub fn unchecked(files: Vec<FileDescriptorProto>) -> Self {
        // Written anew, so that the outline sees every part whole and in its place.
        Self { set: FileDescriptorSet { file: files }.encode_to_vec().into(), strict: true, checked: false }
    }

    /// What was compiled without an error in an earlier run.
    pub fn kept(set: Bytes) -> Self {
        Self { set, strict: true, checked: true }
    }

    /// What is built in, and gives way to all else.
    pub fn builtin(set: &'static [u8]) -> Self {
        Self { set: Bytes::from_static(set), strict: false, checked: true }
    }

    /// The files themselves.
    pub fn files(&self) -> Result<Vec<FileDescriptorProto>, Error> {
        decode_set("schema", &self.set)
    }
}

/// A file that counts, and where it is from.
pub(super) struct Chosen<'a> {
    /// The number of its layer.
    pub layer: usize,
    pub file: FileOutline<'a>,
}

/// The files that count, and what they define.
pub(super) fn select(layers: &[Layer]) -> Result<(Vec<Chosen<'_>>, Names), Error> {
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    let mut names = Names::default();
    let mut left_out = false;
    for (number, layer) in layers.iter().enumerate() {
        let files = outline(&layer.set)?;
        names.symbols.reserve(files.iter().map(|file| file.names().count()).sum());
        for file in files {
            if let Some(name) = file.names().find(|name| names.symbols.contains_key(*name)) {
                let other = chosen.iter().find(|c| c.file.names().any(|n| n == name));
                if let Some(Chosen { file: other, .. }) = other
                    && layer.strict
                    && !other.says_as(&file)
                {
                    let text = format!("{name} is defined here and, otherwise, in {}", other.name);
                    return Err(Error::new(file.name, text));
                }
                left_out = true;
                continue;
            }
            names.define(&file);
            chosen.push(Chosen { layer: number, file });
        }
    }
    // What is not strict is whole in itself, unless a part of it was left out.
    if left_out {
        drop_broken(layers, &mut chosen);
        names = Names::default();
        chosen.iter().for_each(|c| names.define(&c.file));
    }
    Ok((chosen, names))
}

/// Leaves out files of layers that need not hold whose references do not resolve, until all do.
fn drop_broken(layers: &[Layer], chosen: &mut Vec<Chosen<'_>>) {
    let is_strict = |number: usize| layers.get(number).is_some_and(|layer| layer.strict);
    loop {
        let names: HashSet<_> = chosen.iter().flat_map(|c| c.file.names()).cloned().collect();
        let before = chosen.len();
        chosen
            .retain(|c| is_strict(c.layer) || references(&c.file).iter().all(|r| names.contains(r.as_str())));
        if chosen.len() == before {
            return;
        }
    }
}

/// Absolute names that a file refers to.
fn references(file: &FileOutline<'_>) -> Vec<String> {
    let fields = file.fields.iter().chain(file.extensions.iter().map(|e| &e.field)).map(|f| f.type_name);
    let mut all: Vec<String> =
        fields.chain(file.extensions.iter().map(|e| e.extendee)).map(str::to_owned).collect();
    for (_, raw) in &file.services {
        all.extend(methods(raw).flat_map(|m| [m.input_type.to_owned(), m.output_type.to_owned()]));
    }
    all.iter().filter_map(|name| name.strip_prefix('.')).map(str::to_owned).collect()
}

/// The error of a reference that leads nowhere.
pub(super) fn unresolved(file: &str, user: &str, name: &str) -> Error {
    Error::new(file, format!("{user} refers to {name:?}, which no loaded file defines"))
        .help("a descriptor set needs its imports too: protoc --include_imports")
}
