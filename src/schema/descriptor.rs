//! Our own mirror of descriptor.proto, as far as decoding needs it.
//! Never loses editions and features, which the published mirrors do.

use prost::Message;

use super::Error;

macro_rules! mirror {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $ty:ty,)* })*) => {
        $($(#[$doc])* #[derive(Clone, PartialEq, prost::Message)]
        pub(super) struct $name { $($(#[$attr])* pub $field: $ty,)* })*
    };
}

mirror! {
    FileDescriptorSet {
        #[prost(message, repeated, tag = "1")] file: Vec<FileDescriptorProto>,
    }
    FileDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(string, tag = "2")] package: String,
        #[prost(string, repeated, tag = "3")] dependency: Vec<String>,
        #[prost(message, repeated, tag = "4")] message_type: Vec<DescriptorProto>,
        #[prost(message, repeated, tag = "5")] enum_type: Vec<EnumDescriptorProto>,
        #[prost(message, repeated, tag = "6")] service: Vec<ServiceDescriptorProto>,
        #[prost(message, repeated, tag = "7")] extension: Vec<FieldDescriptorProto>,
        #[prost(message, optional, tag = "8")] options: Option<FileOptions>,
        #[prost(string, tag = "12")] syntax: String,
        #[prost(int32, tag = "14")] edition: i32,
    }
    DescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(message, repeated, tag = "2")] field: Vec<FieldDescriptorProto>,
        #[prost(message, repeated, tag = "3")] nested_type: Vec<DescriptorProto>,
        #[prost(message, repeated, tag = "4")] enum_type: Vec<EnumDescriptorProto>,
        #[prost(message, repeated, tag = "6")] extension: Vec<FieldDescriptorProto>,
        #[prost(message, optional, tag = "7")] options: Option<MessageOptions>,
        #[prost(message, repeated, tag = "8")] oneof_decl: Vec<OneofDescriptorProto>,
    }
    /// What a plan is made from: without what has a plan of its own.
    MessageBody {
        #[prost(string, tag = "1")] name: String,
        #[prost(message, repeated, tag = "2")] field: Vec<FieldDescriptorProto>,
        #[prost(message, optional, tag = "7")] options: Option<MessageOptions>,
        #[prost(message, repeated, tag = "8")] oneof_decl: Vec<OneofDescriptorProto>,
    }
    FieldDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(string, tag = "2")] extendee: String,
        #[prost(int32, tag = "3")] number: i32,
        #[prost(int32, tag = "4")] label: i32,
        #[prost(int32, tag = "5")] r#type: i32,
        #[prost(string, tag = "6")] type_name: String,
        #[prost(string, optional, tag = "7")] default_value: Option<String>,
        #[prost(message, optional, tag = "8")] options: Option<FieldOptions>,
        #[prost(int32, optional, tag = "9")] oneof_index: Option<i32>,
        #[prost(string, optional, tag = "10")] json_name: Option<String>,
        #[prost(bool, tag = "17")] proto3_optional: bool,
    }
    OneofDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(message, optional, tag = "2")] options: Option<OneofOptions>,
    }
    EnumDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(message, repeated, tag = "2")] value: Vec<EnumValueDescriptorProto>,
        #[prost(message, optional, tag = "3")] options: Option<EnumOptions>,
    }
    EnumValueDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(int32, tag = "2")] number: i32,
    }
    ServiceDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(message, repeated, tag = "2")] method: Vec<MethodDescriptorProto>,
    }
    MethodDescriptorProto {
        #[prost(string, tag = "1")] name: String,
        #[prost(string, tag = "2")] input_type: String,
        #[prost(string, tag = "3")] output_type: String,
        #[prost(bool, tag = "5")] client_streaming: bool,
        #[prost(bool, tag = "6")] server_streaming: bool,
    }
    FileOptions {
        #[prost(message, optional, tag = "50")] features: Option<FeatureSet>,
    }
    MessageOptions {
        #[prost(bool, tag = "7")] map_entry: bool,
        #[prost(message, optional, tag = "12")] features: Option<FeatureSet>,
    }
    FieldOptions {
        #[prost(bool, optional, tag = "2")] packed: Option<bool>,
        #[prost(bool, tag = "16")] debug_redact: bool,
        #[prost(message, optional, tag = "21")] features: Option<FeatureSet>,
    }
    OneofOptions {
        #[prost(message, optional, tag = "1")] features: Option<FeatureSet>,
    }
    EnumOptions {
        #[prost(message, optional, tag = "7")] features: Option<FeatureSet>,
    }
    FeatureSet {
        #[prost(int32, optional, tag = "1")] field_presence: Option<i32>,
        #[prost(int32, optional, tag = "2")] enum_type: Option<i32>,
        #[prost(int32, optional, tag = "3")] repeated_field_encoding: Option<i32>,
        #[prost(int32, optional, tag = "4")] utf8_validation: Option<i32>,
        #[prost(int32, optional, tag = "5")] message_encoding: Option<i32>,
    }
}

/// `FieldDescriptorProto.Label`
pub(super) const LABEL_REQUIRED: i32 = 2;
pub(super) const LABEL_REPEATED: i32 = 3;
/// `FieldDescriptorProto.Type`
pub(super) const TYPE_STRING: i32 = 9;
pub(super) const TYPE_GROUP: i32 = 10;
pub(super) const TYPE_MESSAGE: i32 = 11;
pub(super) const TYPE_BYTES: i32 = 12;

/// The files of a descriptor set.
pub(super) fn decode_set(name: &str, bytes: &[u8]) -> Result<Vec<FileDescriptorProto>, Error> {
    let set = FileDescriptorSet::decode(bytes);
    match set {
        Ok(set) if set.file.iter().any(|f| !f.name.is_empty()) || bytes.is_empty() => Ok(set.file),
        Ok(_) => Err(Error::new(name, "holds no file descriptors").help(
            "a descriptor set comes from `protoc --include_imports -o FILE` or `buf build -o FILE.binpb`",
        )),
        Err(e) => Err(Error::new(name, format!("is not a descriptor set: {e}"))),
    }
}
