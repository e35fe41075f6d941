//! Which files count where several define the same names.
//! Never picks at random: an earlier layer wins, and within one a clash is an error.

use std::collections::HashSet;

use crate::schema::{
    Error,
    outline::{FileOutline, methods, outline},
};

use super::{Layer, Names};

/// A file that counts, and where it is from.
pub(super) struct Chosen<'a> {
    pub layer: &'a Layer,
    pub file: FileOutline<'a>,
}

/// The files that count, and what they define.
pub(super) fn select(layers: &[Layer]) -> Result<(Vec<Chosen<'_>>, Names), Error> {
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    let mut names = Names::default();
    let mut left_out = false;
    for layer in layers {
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
            chosen.push(Chosen { layer, file });
        }
    }
    // What is not strict is whole in itself, unless a part of it was left out.
    if left_out {
        drop_broken(&mut chosen);
        names = Names::default();
        chosen.iter().for_each(|c| names.define(&c.file));
    }
    Ok((chosen, names))
}

/// Leaves out files of layers that need not hold whose references do not resolve, until all do.
fn drop_broken(chosen: &mut Vec<Chosen<'_>>) {
    loop {
        let names: HashSet<_> = chosen.iter().flat_map(|c| c.file.names()).cloned().collect();
        let before = chosen.len();
        chosen.retain(|c| c.layer.strict || references(&c.file).iter().all(|r| names.contains(r.as_str())));
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
