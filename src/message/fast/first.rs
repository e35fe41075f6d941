//! The fields that a message with a secret in it can consist of, among the types that stand alone.
//! Never decodes: it spares most bytes the trial as such a message.

use crate::message::decode::fits;
use crate::message::wire::{self, Tag, Wire};
use crate::schema::Schema;

/// Field numbers below this are told apart: those whose tags take one or two bytes.
const NEAR: u32 = 2_048;

/// What is known of the outermost fields of each type in which a secret can lie.
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

    /// Whether bytes are whole fields, and each of them one that some of the types has. What is not is no clean
    /// message of any.
    pub fn may_be(&self, bytes: &[u8]) -> bool {
        let (mut at, end) = (0, bytes.len());
        // Most are told by a tag alone: what is behind it is looked at where the tag is known.
        while at < end && self.may_begin(bytes, at) {
            let Ok((_, next)) = wire::field(bytes, at, end) else { return false };
            at = next;
        }
        at == end && end > 0
    }

    /// Whether the tag of a field that one of the types has stands at a place.
    fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        let Ok((Tag::Field(number, wire), _)) = wire::tag(bytes, at, bytes.len()) else { return false };
        self.near.get(number as usize).map_or(self.far, |wires| wires & bit(wire) != 0)
    }
}

fn bit(wire: Wire) -> u8 {
    1 << wire as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Limits;
    use crate::message::json::{holds_secret, knows_first};
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
        let may_begin = |bytes: &[u8]| first.may_begin(bytes, 0);
        let known = |bytes: &[u8]| schema.secret_roots().iter().any(|ty| knows_first(schema.ty(*ty), bytes));
        let mut told = 0;
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let bytes = [a, b, 0x27, 0];
                let far = matches!(wire::tag(&bytes, 0, 4), Ok((Tag::Field(number, _), _)) if number >= NEAR);
                assert_eq!(may_begin(&bytes), far || known(&bytes), "{bytes:02x?}");
                told += u32::from(!far);
            }
        }
        assert!(told > 40_000 && known(&[0xc2, 0xb8, 0x02, 0]) && may_begin(&[0xc2, 0xb8, 0x02, 0]));
        assert!(!may_begin(b"") && !may_begin(b"\x62\x00") && may_begin(b"\x0d\x00"));
    }

    #[test]
    fn what_it_spares_holds_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let proto = r#"syntax = "proto2"; package demo.v1;
            message Near { repeated int32 n = 3; optional string password = 90; optional fixed64 f = 7;
                optional Near near = 2047; optional group G = 5 { optional bool g = 1; } extensions 20 to 30; }
            extend Near { optional bool extended = 21; }
            message Far { optional string api_key = 5000; optional float x = 1; }
            message None { optional string plain = 12; }"#;
        std::fs::write(dir.path().join("t.proto"), proto).unwrap();
        let schema = load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema;
        let first = First::new(&schema);
        let limits = Limits::default();
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let parts: [&[u8]; 12] = [
            b"\x18\x01",
            b"\x1a\x02\x01\x02",
            b"\xd2\x05\x02pw",
            b"\x390123456\x00",
            b"\x2b\x08\x01\x2c",
            b"\xa8\x01\x01",
            b"\xfa\x7f\x05\xd2\x05\x02pw",
            b"\xc2\xb8\x02\x03key",
            b"\x0d\x01\x02\x03\x04",
            b"\x62\x01p",
            b"\x90\x03\x01",
            b"\x27",
        ];
        let mut told = [[0u32; 2]; 2];
        for _ in 0..40_000 {
            let mut bytes = Vec::new();
            for _ in 0..=random(3) {
                bytes.extend_from_slice(parts[random(12) as usize]);
            }
            if random(4) == 0 {
                let at = random(bytes.len() as u64) as usize;
                bytes[at] = random(256) as u8;
            }
            let (may_be, holds) = (first.may_be(&bytes), holds_secret(&schema, &limits, &bytes, None));
            assert!(may_be || !holds, "{bytes:02x?}");
            told[usize::from(may_be)][usize::from(holds)] += 1;
        }
        assert!(told[0][0] > 1_000 && told[1][0] > 1_000 && told[1][1] > 1_000, "{told:?}");
        assert!(!first.may_be(b""));
    }
}
