//! Where in a .proto text something is: from the parser's source info, or by the words.
//! Never guesses: no place is better than a wrong one.

use std::ops::Range;

use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto};

/// The bytes of the name that the `index`th import spells.
pub(super) fn import(text: &str, file: &FileDescriptorProto, index: usize) -> Option<Range<usize>> {
    let name = file.dependency.get(index)?;
    let from = locate(text, file, &[3, i32::try_from(index).ok()?])?.start;
    let rest = text.get(from..)?;
    ["\"", "'"].iter().find_map(|quote| {
        let quoted = format!("{quote}{name}{quote}");
        rest.find(&quoted).map(|at| from + at..from + at + quoted.len())
    })
}

/// The bytes of a definition's name, found by its path in the descriptor.
pub(super) fn definition(
    text: &str,
    file: &FileDescriptorProto,
    path: &[i32],
    name: &str,
) -> Option<Range<usize>> {
    let from = locate(text, file, path)?.start;
    let at = from + text.get(from..)?.find(name)?;
    Some(at..at + name.len())
}

fn locate(text: &str, file: &FileDescriptorProto, path: &[i32]) -> Option<Range<usize>> {
    let location = file.source_code_info.as_ref()?.location.iter().find(|l| l.path == path)?;
    let (line, column) = (*location.span.first()?, *location.span.get(1)?);
    word(text, usize::try_from(line).ok()?, usize::try_from(column).ok()?)
}

/// The word at a line and column, both from 0.
pub(super) fn word(text: &str, line: usize, column: usize) -> Option<Range<usize>> {
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let row = text.get(start..)?.lines().next().unwrap_or_default();
    let (mut at, mut width) = (row.len(), 0);
    for (i, c) in row.char_indices() {
        if width >= column {
            at = i;
            break;
        }
        // The parser counts a tab up to the next eighth column, as protoc does.
        width = if c == '\t' { (width / 8 + 1) * 8 } else { width + 1 };
    }
    let rest = row.get(at..).unwrap_or_default();
    let len = rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
    Some(start + at..start + at + len.max(1))
}

/// Full name and descriptor path of each message, enum and service of a file.
pub(super) fn definitions(file: &FileDescriptorProto) -> Vec<(String, Vec<i32>)> {
    let full = |scope: &str, name: &str| {
        if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
    };
    let mut found = Vec::new();
    let package = file.package();
    for (i, e) in file.enum_type.iter().enumerate() {
        found.push((full(package, e.name()), vec![5, i as i32]));
    }
    for (i, s) in file.service.iter().enumerate() {
        found.push((full(package, s.name()), vec![6, i as i32]));
    }
    let mut todo: Vec<(String, Vec<i32>, &DescriptorProto)> = Vec::new();
    for (i, m) in file.message_type.iter().enumerate() {
        todo.push((full(package, m.name()), vec![4, i as i32], m));
    }
    while let Some((name, path, message)) = todo.pop() {
        let below = |kind: i32, i: usize| [path.as_slice(), &[kind, i as i32]].concat();
        for (i, m) in message.nested_type.iter().enumerate() {
            todo.push((full(&name, m.name()), below(3, i), m));
        }
        for (i, e) in message.enum_type.iter().enumerate() {
            found.push((full(&name, e.name()), below(4, i)));
        }
        found.push((name, path));
    }
    found
}
