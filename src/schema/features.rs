//! Features: what an edition, a file, a message or a field says of presence, enums and encoding
//! (descriptor.proto: FeatureSet). Never fails but for an edition that is not known.

use super::descriptor::FeatureSet;

/// Features that are in force somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Features {
    pub presence: i32,
    pub enum_type: i32,
    pub repeated: i32,
    pub utf8: i32,
    pub message: i32,
}

/// `FeatureSet.FieldPresence`
pub(super) const IMPLICIT: i32 = 2;
pub(super) const LEGACY_REQUIRED: i32 = 3;
/// `FeatureSet.EnumType`
pub(super) const CLOSED: i32 = 2;
/// `FeatureSet.RepeatedFieldEncoding`
pub(super) const PACKED: i32 = 1;
/// `FeatureSet.Utf8Validation`
pub(super) const VERIFY: i32 = 2;
/// `FeatureSet.MessageEncoding`
pub(super) const DELIMITED: i32 = 2;

impl Features {
    /// The defaults of a file. `None` for an edition that is not known.
    pub fn of_file(syntax: &str, edition: i32) -> Option<Self> {
        let proto2 = Self { presence: 1, enum_type: CLOSED, repeated: 2, utf8: 3, message: 1 };
        let proto3 = Self { presence: IMPLICIT, enum_type: 1, repeated: PACKED, utf8: VERIFY, message: 1 };
        match (syntax, edition) {
            ("" | "proto2", 0 | 900 | 998) => Some(proto2),
            ("proto3", 0 | 999) => Some(proto3),
            ("editions", 998) => Some(proto2),
            ("" | "editions", 999) => Some(proto3),
            ("" | "editions", 1000 | 1001) => Some(Self { presence: 1, ..proto3 }),
            _ => None,
        }
    }

    /// These with what one level sets.
    pub fn with(mut self, set: Option<&FeatureSet>) -> Self {
        let Some(set) = set else { return self };
        let over = |old: i32, new: Option<i32>| new.filter(|n| *n != 0).unwrap_or(old);
        self.presence = over(self.presence, set.field_presence);
        self.enum_type = over(self.enum_type, set.enum_type);
        self.repeated = over(self.repeated, set.repeated_field_encoding);
        self.utf8 = over(self.utf8, set.utf8_validation);
        self.message = over(self.message, set.message_encoding);
        self
    }
}
