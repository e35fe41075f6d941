//! Custom options taken out of a parsed file, for files whose options' definitions are missing.
//! Never touches an option that descriptor.proto itself defines.

use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, UninterpretedOption,
};

/// Removes every option whose name begins with a parenthesis.
pub(super) fn strip(file: &mut FileDescriptorProto) {
    clean(file.options.as_mut().map(|o| &mut o.uninterpreted_option));
    file.extension.iter_mut().for_each(field);
    file.message_type.iter_mut().for_each(message);
    file.enum_type.iter_mut().for_each(enumeration);
    for service in &mut file.service {
        clean(service.options.as_mut().map(|o| &mut o.uninterpreted_option));
        for method in &mut service.method {
            clean(method.options.as_mut().map(|o| &mut o.uninterpreted_option));
        }
    }
}

fn message(proto: &mut DescriptorProto) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option));
    proto.field.iter_mut().chain(&mut proto.extension).for_each(field);
    proto.enum_type.iter_mut().for_each(enumeration);
    proto.nested_type.iter_mut().for_each(message);
    for oneof in &mut proto.oneof_decl {
        clean(oneof.options.as_mut().map(|o| &mut o.uninterpreted_option));
    }
    for range in &mut proto.extension_range {
        clean(range.options.as_mut().map(|o| &mut o.uninterpreted_option));
    }
}

fn field(proto: &mut FieldDescriptorProto) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option));
}

fn enumeration(proto: &mut EnumDescriptorProto) {
    clean(proto.options.as_mut().map(|o| &mut o.uninterpreted_option));
    for value in &mut proto.value {
        clean(value.options.as_mut().map(|o| &mut o.uninterpreted_option));
    }
}

fn clean(options: Option<&mut Vec<UninterpretedOption>>) {
    if let Some(options) = options {
        options.retain(|o| o.name.first().is_none_or(|part| !part.is_extension));
    }
}
