//! Which files count where several define the same names.
//! Never picks at random: an earlier layer wins, and within one a clash is an error.

use std::collections::HashSet;

use crate::schema::{
    Error,
    descriptor::{DescriptorProto, FileDescriptorProto},
    hash::NameMap,
};

use super::{Layer, join};

/// The files that count, with the number of their layer.
pub(super) fn select(layers: Vec<Layer>) -> Result<Vec<(usize, FileDescriptorProto)>, Error> {
    let mut chosen: Vec<(usize, FileDescriptorProto)> = Vec::new();
    // Name → place in `chosen` of the file that defines it.
    let mut owners: NameMap<String, usize> = NameMap::default();
    let mut strict_layers = HashSet::new();
    let mut left_out = false;
    for (number, layer) in layers.into_iter().enumerate() {
        if layer.strict {
            strict_layers.insert(number);
        }
        for file in layer.files {
            let names = defined(&file);
            let taken = names.iter().find_map(|n| owners.get(n).map(|at| (n, *at)));
            if let Some((name, at)) = taken {
                let Some((_, other)) = chosen.get(at) else { continue };
                if layer.strict && !same(other, &file) {
                    return Err(Error::new(
                        &file.name,
                        format!("{name} is defined here and, otherwise, in {}", other.name),
                    ));
                }
                left_out = true;
                continue;
            }
            owners.extend(names.into_iter().map(|n| (n, chosen.len())));
            chosen.push((number, file));
        }
    }
    // What is not strict is whole in itself, unless a part of it was left out.
    Ok(if left_out { drop_broken(chosen, &strict_layers) } else { chosen })
}

/// Leaves out files of layers that need not hold whose references do not resolve, until all do.
fn drop_broken(
    mut chosen: Vec<(usize, FileDescriptorProto)>,
    strict: &HashSet<usize>,
) -> Vec<(usize, FileDescriptorProto)> {
    loop {
        let mut names: HashSet<String> = HashSet::new();
        chosen.iter().for_each(|(_, f)| names.extend(defined(f)));
        let before = chosen.len();
        chosen.retain(|(layer, file)| strict.contains(layer) || references(file).all(|r| names.contains(r)));
        if chosen.len() == before {
            return chosen;
        }
    }
}

/// Whether two files say the same, whatever they are called.
fn same(a: &FileDescriptorProto, b: &FileDescriptorProto) -> bool {
    a.package == b.package
        && a.message_type == b.message_type
        && a.enum_type == b.enum_type
        && a.extension == b.extension
        && a.service == b.service
}

/// Full names of the messages, enums and services of a file.
fn defined(file: &FileDescriptorProto) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    names.extend(file.enum_type.iter().map(|e| join(&file.package, &e.name)));
    names.extend(file.service.iter().map(|s| join(&file.package, &s.name)));
    let mut todo: Vec<(String, &DescriptorProto)> =
        file.message_type.iter().map(|m| (join(&file.package, &m.name), m)).collect();
    while let Some((name, message)) = todo.pop() {
        names.extend(message.enum_type.iter().map(|e| join(&name, &e.name)));
        todo.extend(message.nested_type.iter().map(|m| (join(&name, &m.name), m)));
        names.push(name);
    }
    names
}

/// Absolute names that a file refers to.
fn references(file: &FileDescriptorProto) -> impl Iterator<Item = &str> {
    let mut all: Vec<&str> = Vec::new();
    let mut todo: Vec<&DescriptorProto> = file.message_type.iter().collect();
    all.extend(file.extension.iter().flat_map(|f| [f.type_name.as_str(), f.extendee.as_str()]));
    while let Some(message) = todo.pop() {
        let fields = message.field.iter().chain(&message.extension);
        all.extend(fields.flat_map(|f| [f.type_name.as_str(), f.extendee.as_str()]));
        todo.extend(&message.nested_type);
    }
    let methods = file.service.iter().flat_map(|s| &s.method);
    all.extend(methods.flat_map(|m| [m.input_type.as_str(), m.output_type.as_str()]));
    all.into_iter().filter_map(|name| name.strip_prefix('.'))
}
