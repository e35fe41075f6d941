//! The fields that a message with a secret in it can begin with, among the types that stand alone.
//! Never decodes: it spares most bytes the trial as such a message.

use crate::message::decode::fits;
use crate::message::wire::{Tag, Wire, tag};
use crate::schema::Schema;

/// Field numbers below this are told apart: those whose tags take one or two bytes.
const NEAR: u32 = 2_048;

/// What is known of the first field of each type in which a secret can lie.
pub(super) struct First {
    /// By field number: a bit for each wire type.
    near: Box<[u8]>,
    /// Whether any has a field of a higher number.
    far: bool,
}

impl First {
    /// Of the types of a schema whose annotations are complete.
    pub fn new(schema: &Schema) -> Self {
        let mut first = Self { near: vec![0; NEAR as usize].into(), far: false };
        for field in schema.secret_roots().iter().flat_map(|ty| &schema.ty(*ty).fields) {
            match first.near.get_mut(field.number as usize) {
                Some(wires) => {
                    let all = [Wire::Varint, Wire::I64, Wire::Len, Wire::Group, Wire::I32];
                    all.into_iter().filter(|wire| fits(field, *wire)).for_each(|wire| *wires |= bit(wire));
                }
                None => first.far = true,
            }
        }
        first
    }

    /// Whether bytes begin with a field that one of the types has. What does not is no clean message of any.
    pub fn may_begin(&self, bytes: &[u8]) -> bool {
        let Ok((Tag::Field(number, wire), _)) = tag(bytes, 0, bytes.len()) else { return false };
        self.near.get(number as usize).map_or(self.far, |wires| wires & bit(wire) != 0)
    }
}

fn bit(wire: Wire) -> u8 {
    1 << wire as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::json::knows_first;
    use crate::schema::{Sources, load};

    #[test]
    fn it_knows_what_the_types_know() {
        let dir = tempfile::tempdir().unwrap();
        let proto = r#"syntax = "proto3"; package demo.v1;
            message Near { repeated int32 n = 3; string password = 90; fixed64 f = 7; Near near = 2047; }
            message Far { string api_key = 5000; float x = 1; }
            message None { string plain = 12; }"#;
        std::fs::write(dir.path().join("t.proto"), proto).unwrap();
        let schema = load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema;
        let first = First::new(&schema);
        let known = |bytes: &[u8]| schema.secret_roots().iter().any(|ty| knows_first(schema.ty(*ty), bytes));
        let mut told = 0;
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let bytes = [a, b, 0x27, 0];
                let far = matches!(tag(&bytes, 0, 4), Ok((Tag::Field(number, _), _)) if number >= NEAR);
                assert_eq!(first.may_begin(&bytes), far || known(&bytes), "{bytes:02x?}");
                told += u32::from(!far);
            }
        }
        assert!(told > 40_000 && known(&[0xc2, 0xb8, 0x02, 0]) && first.may_begin(&[0xc2, 0xb8, 0x02, 0]));
        assert!(!first.may_begin(b"") && !first.may_begin(b"\x62\x00") && first.may_begin(b"\x0d\x00"));
    }
}
