//! Options taken out of a parsed file: those that whoever reads it next could not read.
//! Never touches an option that the parser has read.

use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, UninterpretedOption,
};

/// Whether an option is taken out.
type Goes<'a> = &'a dyn Fn(&UninterpretedOption) -> bool;

/// Whether an option's name begins with a parenthesis: its definition lies in some file.
pub(super) fn is_custom(option: &UninterpretedOption) -> bool {
    option.name.first().is_some_and(|part| part.is_extension)
}

/// Removes every option that goes.
pub(super) fn strip(file: &mut FileDescriptorProto, goes: Goes<'_>) {
    clean(file.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    file.extension.iter_mut().for_each(|p| field(p, goes));
    file.message_type.iter_mut().for_each(|p| message(p, goes));
    file.enum_type.iter_mut().for_each(|p| enumeration(p, goes));
    for service in &mut file.service {
        clean(service.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
        for method in &mut service.method {
            clean(method.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
        }
    }
}

fn message(proto: &mut DescriptorProto, goes: Goes<'_>) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    proto.field.iter_mut().chain(&mut proto.extension).for_each(|p| field(p, goes));
    proto.enum_type.iter_mut().for_each(|p| enumeration(p, goes));
    proto.nested_type.iter_mut().for_each(|p| message(p, goes));
    for oneof in &mut proto.oneof_decl {
        clean(oneof.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    }
    for range in &mut proto.extension_range {
        clean(range.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    }
}

fn field(proto: &mut FieldDescriptorProto, goes: Goes<'_>) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
}

fn enumeration(proto: &mut EnumDescriptorProto, goes: Goes<'_>) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    for value in &mut proto.value {
        clean(value.options.as_mut().map(|o| &mut o.uninterpreted_option), goes);
    }
}

fn clean(options: Option<&mut Vec<UninterpretedOption>>, goes: Goes<'_>) {
    if let Some(options) = options {
        options.retain(|o| !goes(o));
    }
}
