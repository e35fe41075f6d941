//! Files with an edition: read as proto3 with its options put aside, then given their features.
//! Never resolves a name.

mod text;

use std::ops::Range;

use prost_reflect::prost_types::{
    DescriptorProto as ParsedMessage, EnumDescriptorProto as ParsedEnum, FieldDescriptorProto as ParsedField,
    FileDescriptorProto as Parsed, UninterpretedOption,
};
use protox::file::File;

use crate::schema::descriptor::{
    DescriptorProto, EnumDescriptorProto, FeatureSet, FieldDescriptorProto, FileDescriptorProto,
};

pub(super) use text::statement;

/// The number of an edition that is read (descriptor.proto: Edition).
pub(super) fn number(value: &str) -> Option<i32> {
    match value {
        "2023" => Some(1000),
        "2024" => Some(1001),
        _ => None,
    }
}

/// Parses the text of a file with an edition. Features are left in it as options that nobody has
/// read. An error comes with how many bytes its places lie past those of the text.
pub(super) fn parse(
    name: &str,
    text: &str,
    statement: Range<usize>,
) -> Result<Parsed, (protox::Error, usize)> {
    let proto3 = text::as_proto3(text, statement);
    let file = File::from_source(name, &proto3).map(Into::into);
    file.map_err(|e| (e, proto3.len() - text.len()))
}

/// The file without features, for whoever knows no editions; proto2 forbids the least.
pub(super) fn plain(parsed: &Parsed) -> Parsed {
    let mut file = parsed.clone();
    super::graph_options::strip(&mut file, &|option: &UninterpretedOption| {
        let first = option.name.first();
        first.is_some_and(|part| !part.is_extension && matches!(&*part.name_part, "features" | text::DEFAULT))
    });
    file.syntax = None;
    file
}

/// Gives a compiled file its edition, and the features that its text sets. What is not known of
/// features is an error in words.
pub(super) fn apply(file: &mut FileDescriptorProto, parsed: &Parsed, edition: i32) -> Result<(), String> {
    file.syntax = "editions".to_owned();
    file.edition = edition;
    if let Some(set) = features(parsed.options.as_ref().map(|o| &o.uninterpreted_option))? {
        file.options.get_or_insert_default().features = Some(set);
    }
    for (proto, parsed) in file.message_type.iter_mut().zip(&parsed.message_type) {
        message(proto, parsed)?;
    }
    for (proto, parsed) in file.enum_type.iter_mut().zip(&parsed.enum_type) {
        enumeration(proto, parsed)?;
    }
    for (proto, parsed) in file.extension.iter_mut().zip(&parsed.extension) {
        field(proto, parsed)?;
    }
    Ok(())
}

fn message(proto: &mut DescriptorProto, parsed: &ParsedMessage) -> Result<(), String> {
    if let Some(set) = features(parsed.options.as_ref().map(|o| &o.uninterpreted_option))? {
        proto.options.get_or_insert_default().features = Some(set);
    }
    let fields = proto.field.iter_mut().chain(&mut proto.extension);
    for (proto, parsed) in fields.zip(parsed.field.iter().chain(&parsed.extension)) {
        field(proto, parsed)?;
    }
    for (proto, parsed) in proto.oneof_decl.iter_mut().zip(&parsed.oneof_decl) {
        if let Some(set) = features(parsed.options.as_ref().map(|o| &o.uninterpreted_option))? {
            proto.options.get_or_insert_default().features = Some(set);
        }
    }
    for (proto, parsed) in proto.enum_type.iter_mut().zip(&parsed.enum_type) {
        enumeration(proto, parsed)?;
    }
    for (proto, parsed) in proto.nested_type.iter_mut().zip(&parsed.nested_type) {
        message(proto, parsed)?;
    }
    Ok(())
}

fn field(proto: &mut FieldDescriptorProto, parsed: &ParsedField) -> Result<(), String> {
    if let Some(set) = features(parsed.options.as_ref().map(|o| &o.uninterpreted_option))? {
        proto.options.get_or_insert_default().features = Some(set);
    }
    Ok(())
}

fn enumeration(proto: &mut EnumDescriptorProto, parsed: &ParsedEnum) -> Result<(), String> {
    if let Some(set) = features(parsed.options.as_ref().map(|o| &o.uninterpreted_option))? {
        proto.options.get_or_insert_default().features = Some(set);
    }
    Ok(())
}

/// What options say of features: `features.x = Y`, or `features = { x: Y }`.
fn features(options: Option<&Vec<UninterpretedOption>>) -> Result<Option<FeatureSet>, String> {
    let mut found = None;
    for option in options.into_iter().flatten() {
        let [first, rest @ ..] = &*option.name else { continue };
        if first.is_extension || first.name_part != "features" {
            continue;
        }
        let set = found.get_or_insert_default();
        match rest {
            [] => {
                let text = option.aggregate_value.as_deref().unwrap_or_default();
                for (name, value) in pairs(text) {
                    feature(set, name, value)?;
                }
            }
            [name] if !name.is_extension => {
                feature(set, &name.name_part, option.identifier_value.as_deref().unwrap_or_default())?;
            }
            // Features of one language's code.
            _ => {}
        }
    }
    Ok(found)
}

/// The `name: value` pairs of a text-format message, what lies in brackets or braces left out.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut depth = 0usize;
    let mut words = text.split([' ', '\t', '\r', '\n', ':', ',', ';']).filter(|word| {
        let outside = depth == 0;
        let opens = word.matches(['{', '[', '<']).count();
        depth = (depth + opens).saturating_sub(word.matches(['}', ']', '>']).count());
        outside && opens == 0 && !word.is_empty()
    });
    let mut found = Vec::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        found.push((name, value));
    }
    found
}

/// Sets one feature (descriptor.proto: FeatureSet); those that do not touch the wire are passed over.
fn feature(set: &mut FeatureSet, name: &str, value: &str) -> Result<(), String> {
    let (place, values): (_, &[&str]) = match name {
        "field_presence" => (&mut set.field_presence, &["EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"]),
        "enum_type" => (&mut set.enum_type, &["OPEN", "CLOSED"]),
        "repeated_field_encoding" => (&mut set.repeated_field_encoding, &["PACKED", "EXPANDED"]),
        // The first number of this enum is reserved.
        "utf8_validation" => (&mut set.utf8_validation, &["", "VERIFY", "NONE"]),
        "message_encoding" => (&mut set.message_encoding, &["LENGTH_PREFIXED", "DELIMITED"]),
        "json_format" | "enforce_naming_style" | "default_symbol_visibility" => return Ok(()),
        _ => return Err(format!("there is no feature {name}")),
    };
    let at = values.iter().position(|v| !v.is_empty() && *v == value);
    *place = Some(at.ok_or_else(|| format!("{value} is no value of the feature {name}"))? as i32 + 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_message() {
        let check = |text, expect: &[(&str, &str)]| assert_eq!(pairs(text), expect);
        check("field_presence : IMPLICIT", &[("field_presence", "IMPLICIT")]);
        check("a: B, c: D; e:F", &[("a", "B"), ("c", "D"), ("e", "F")]);
        check("[pb.cpp] { string_type: VIEW } a: B", &[("a", "B")]);
        check("", &[]);
    }
}
