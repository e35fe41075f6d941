//! The members of one JSON object, each still as its text.
//! Never builds a tree and never copies a value.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::skip::Places;
use super::text;

/// The members of an object, in order.
#[derive(Default)]
pub(in crate::source) struct Members<'a>(pub Vec<(Cow<'a, str>, &'a str)>, Lengths, Cell<bool>);

/// The lengths that names have, one bit each: shapes ask for many names that are not there.
#[derive(Clone, Copy, Default)]
struct Lengths(u64);

impl Lengths {
    fn bit(name: &str) -> u64 {
        1 << (name.len() & 63)
    }
}

impl<'a> Members<'a> {
    /// Reads an object; `None` where the text is none.
    pub(in crate::source) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The members of an object that were found in it.
    pub(super) fn found(json: &'a str, places: &Places) -> Option<Self> {
        let mut lengths = 0;
        let member = |(name, value): &(Range<usize>, Range<usize>)| {
            let (name, value) = (json.get(name.clone())?, json.get(value.clone())?);
            lengths |= Lengths::bit(name);
            Some((Cow::Borrowed(name), value))
        };
        let members = places.iter().map(member).collect::<Option<_>>()?;
        Some(Self(members, Lengths(lengths), Cell::new(false)))
    }

    /// Whether any member was asked for that is there.
    pub(super) fn is_known(&self) -> bool {
        self.2.get()
    }

    /// Tells that a member was come upon by its name.
    pub(super) fn know(&self) {
        self.2.set(true);
    }

    /// The text of a member that is there and not null; the last of its name, as JSON readers do.
    pub(in crate::source) fn get(&self, name: &str) -> Option<&'a str> {
        if self.1.0 & Lengths::bit(name) == 0 {
            return None;
        }
        let (_, raw) = self.0.iter().rev().find(|(key, _)| key == name)?;
        self.know();
        Some(*raw).filter(|raw| *raw != "null")
    }

    pub(in crate::source) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A string.
    pub(in crate::source) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text::string(self.get(name)?)
    }

    /// The first of several names that is a string.
    pub(in crate::source) fn first_text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        names.iter().find_map(|name| self.text(name))
    }

    /// A whole number, given as such or as a string, in decimal or with `0x`.
    pub(in crate::source) fn number(&self, name: &str) -> Option<i64> {
        let raw = self.get(name)?;
        let text = text::string(raw).unwrap_or(Cow::Borrowed(raw));
        let text = text.trim();
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok().or_else(|| {
                let float: f64 = text.parse().ok()?;
                (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
            }),
        }
    }

    /// A length or size: a number that is not negative.
    pub(in crate::source) fn size(&self, name: &str) -> Option<u64> {
        u64::try_from(self.number(name)?).ok()
    }

    pub(in crate::source) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// An object.
    pub(in crate::source) fn object(&self, name: &str) -> Option<Members<'a>> {
        Members::read(self.get(name)?)
    }

    /// The texts of an array's elements.
    pub(in crate::source) fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        list(self.get(name)?)
    }
}

/// The texts of an array's elements.
pub(in crate::source) fn list(json: &str) -> Option<Vec<&str>> {
    serde_json::from_str::<List<'_>>(json).ok().map(|list| list.0)
}

/// Whether a member's text is an object.
pub(in crate::source) fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut members, mut lengths) = (Vec::new(), 0);
                while let Some((Key(key), raw)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    lengths |= Lengths::bit(&key);
                    members.push((key, raw.get()));
                }
                Ok(Members(members, Lengths(lengths), Cell::new(false)))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

struct List<'a>(Vec<&'a str>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Array;
        impl<'de> Visitor<'de> for Array {
            type Value = List<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(raw) = seq.next_element::<&'de RawValue>()? {
                    items.push(raw.get());
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_seq(Array)
    }
}

/// A key, borrowed where no escape is in it.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_members() {
        let json = r#"{"a":1,"b":"x\ny","flags":"0x02","n":null,"o":{"p":[1,{}]},"f":2.0,"a":"7","t":true}"#;
        let m = Members::read(json).unwrap_or_default();
        assert_eq!((m.number("a"), m.number("flags"), m.number("f")), (Some(7), Some(2), Some(2)));
        assert_eq!(m.text("b").as_deref(), Some("x\ny"));
        assert_eq!((m.has("n"), m.has("t"), m.flag("t")), (false, true, Some(true)));
        assert_eq!(m.object("o").and_then(|o| o.list("p")), Some(vec!["1", "{}"]));
        assert!(Members::read("[1]").is_none() && Members::read("{\"a\":").is_none());
    }

    #[test]
    fn lone_surrogates_in_values_lose_nothing_else() {
        let m = Members::read(r#"{"a":"\udc80","b":1}"#).unwrap_or_default();
        assert_eq!((m.get("a"), m.number("b")), (Some(r#""\udc80""#), Some(1)));
    }
}
