//! Well-known types from their ProtoJSON forms.
//! Never takes a value outside the range that its type allows.

use crate::base::text::clean;
use crate::schema::{Kind, TypeId, WellKnown};

use super::parse::{Json, Node};
use super::{Encoder, Members, prefix_length, push_tag, push_varint};

/// Largest Duration in seconds: 10,000 years of 365.25 days.
const MAX_DURATION: i64 = 315_576_000_000;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds since 1970.
const TIMESTAMPS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

impl<'t> Encoder<'_, 't> {
    pub(super) fn well_known(&mut self, known: WellKnown, ty: TypeId, node: &'t Node<'t>, out: &mut Vec<u8>) {
        match (known, &node.value) {
            (WellKnown::Empty, Json::Object(members)) => self.members(ty, members, &[], out),
            (WellKnown::Any, Json::Object(members)) => self.any(members, node, out),
            (WellKnown::Timestamp, Json::String(text)) => match timestamp(text) {
                Some((seconds, nanos)) => push_seconds(out, seconds, nanos),
                None => self.fail(node.at, format!("expected an RFC 3339 time, found \"{}\"", clean(text))),
            },
            (WellKnown::Duration, Json::String(text)) => match duration(text) {
                Some((seconds, nanos)) => push_seconds(out, seconds, nanos),
                None => self
                    .fail(node.at, format!("expected a duration like \"1.5s\", found \"{}\"", clean(text))),
            },
            // What the writer prints for a value that its string form cannot say.
            (WellKnown::Timestamp | WellKnown::Duration | WellKnown::FieldMask, Json::Object(members)) => {
                self.members(ty, members, &[], out)
            }
            (WellKnown::FieldMask, Json::String(text)) => self.field_mask(text, node, out),
            (WellKnown::Struct, Json::Object(members)) => self.structure(members, out),
            (WellKnown::ListValue, Json::Array(items)) => self.list(items, out),
            (WellKnown::Value, _) => self.value(node, out),
            (WellKnown::Wrapper | WellKnown::ListValue, Json::Object(members))
                if members.iter().any(|(name, _)| name == "$unknown") =>
            {
                self.members(ty, members, &[], out)
            }
            (WellKnown::Wrapper, _) => {
                let plan = self.schema.ty(ty);
                let Some(field) = plan.index_of(1).and_then(|i| plan.field(i)) else { return };
                self.single(field, 1, node, out);
            }
            (_, other) => {
                let text = format!("expected {}, found {}", self.schema.ty(ty).name, other.name());
                self.fail(node.at, text);
            }
        }
    }

    fn any(&mut self, members: &'t Members<'t>, node: &'t Node<'t>, out: &mut Vec<u8>) {
        let tagged = members.iter().find(|(name, _)| name == "@type").map(|(_, n)| &n.value);
        let Some(Json::String(url)) = tagged else {
            if !members.is_empty() {
                self.fail(node.at, "expected \"@type\" in an Any");
            }
            return;
        };
        let Some(name) = url.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty()) else {
            return self.fail(node.at, format!("expected a type URL in \"@type\", found \"{}\"", clean(url)));
        };
        push_tag(out, 1, 2);
        push_varint(out, url.len() as u64);
        out.extend_from_slice(url.as_bytes());
        let start = out.len();
        let raw = members.iter().find(|(name, _)| name == "value").map(|(_, n)| n);
        match self.schema.type_by_name(name) {
            Some(inner) if self.schema.ty(inner).known.is_some() => match raw {
                Some(value) => self.well_known_inside(inner, value, out),
                // Some writers leave out an Empty's value.
                None if self.schema.ty(inner).known == Some(WellKnown::Empty) => {}
                None => return self.fail(node.at, "expected \"value\" beside \"@type\""),
            },
            Some(inner) => self.members(inner, members, &["@type"], out),
            // The writer keeps the bytes of a type that is not loaded.
            None => match raw.map(|n| &n.value) {
                Some(Json::String(text)) => match super::scalar::base64(text) {
                    Some(bytes) => out.extend_from_slice(&bytes),
                    None => self.fail(node.at, "expected base64 in \"value\""),
                },
                _ => return self.fail(node.at, format!("the type '{}' is not loaded", clean(name))),
            },
        }
        if out.len() > start {
            prefix_length(out, start, 2);
        }
    }

    fn well_known_inside(&mut self, ty: TypeId, node: &'t Node<'t>, out: &mut Vec<u8>) {
        if let Some(known) = self.schema.ty(ty).known {
            self.well_known(known, ty, node, out);
        }
    }

    fn field_mask(&mut self, text: &str, node: &'t Node<'t>, out: &mut Vec<u8>) {
        for path in text.split(',').filter(|p| !p.is_empty()) {
            if path.contains('_') || !path.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.') {
                return self
                    .fail(node.at, format!("expected a lowerCamelCase path, found \"{}\"", clean(path)));
            }
            let mut snake = String::with_capacity(path.len() + 4);
            for c in path.chars() {
                if c.is_ascii_uppercase() {
                    snake.push('_');
                }
                snake.push(c.to_ascii_lowercase());
            }
            push_tag(out, 1, 2);
            push_varint(out, snake.len() as u64);
            out.extend_from_slice(snake.as_bytes());
        }
    }

    /// google.protobuf.Struct: `map<string, Value> fields = 1`.
    fn structure(&mut self, members: &'t Members<'t>, out: &mut Vec<u8>) {
        for (i, (name, node)) in members.iter().enumerate() {
            if members.iter().take(i).any(|(n, _)| n == name) {
                self.fail(node.at, format!("the member '{}' is given twice", clean(name)));
                continue;
            }
            let entry = out.len();
            push_tag(out, 1, 2);
            push_varint(out, name.len() as u64);
            out.extend_from_slice(name.as_bytes());
            let value = out.len();
            self.value(node, out);
            prefix_length(out, value, 2);
            prefix_length(out, entry, 1);
        }
    }

    /// google.protobuf.ListValue: `repeated Value values = 1`.
    fn list(&mut self, items: &'t [Node<'t>], out: &mut Vec<u8>) {
        for item in items {
            let start = out.len();
            self.value(item, out);
            prefix_length(out, start, 1);
        }
    }

    /// google.protobuf.Value: null_value 1, number_value 2, string_value 3, bool_value 4, struct_value 5, list_value 6.
    fn value(&mut self, node: &'t Node<'t>, out: &mut Vec<u8>) {
        match &node.value {
            Json::Null => out.extend_from_slice(&[0x08, 0]),
            Json::Number(_) => {
                out.push(0x11);
                if !self.scalar(Kind::Double, node, out) {
                    out.pop();
                }
            }
            Json::String(_) => {
                out.push(0x1a);
                self.scalar(Kind::String, node, out);
            }
            Json::Bool(value) => out.extend_from_slice(&[0x20, u8::from(*value)]),
            Json::Object(members) => {
                let start = out.len();
                self.structure(members, out);
                prefix_length(out, start, 5);
            }
            Json::Array(items) => {
                let start = out.len();
                self.list(items, out);
                prefix_length(out, start, 6);
            }
        }
    }
}

/// Timestamp and Duration: `int64 seconds = 1; int32 nanos = 2`.
pub(super) fn push_seconds(out: &mut Vec<u8>, seconds: i64, nanos: i32) {
    if seconds != 0 {
        push_tag(out, 1, 0);
        push_varint(out, seconds as u64);
    }
    if nanos != 0 {
        push_tag(out, 2, 0);
        push_varint(out, i64::from(nanos) as u64);
    }
}

/// RFC 3339 as ProtoJSON takes it: capital T and Z, one to nine digits of fraction.
pub(super) fn timestamp(text: &str) -> Option<(i64, i32)> {
    let bytes = text.as_bytes();
    let zone = bytes.get(19..)?;
    let zone = match zone.first()? {
        b'.' => zone.get(1 + zone.iter().skip(1).take_while(|b| b.is_ascii_digit()).count()..)?,
        _ => zone,
    };
    let offset = matches!(zone, [b'+' | b'-', h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()));
    if bytes.get(10) != Some(&b'T') || !(zone == b"Z" || offset) {
        return None;
    }
    let fraction = bytes.get(20..bytes.len() - zone.len()).unwrap_or_default();
    if bytes.get(19) == Some(&b'.') && !(1..=9).contains(&fraction.len()) {
        return None;
    }
    if bytes.get(17..19)? > b"59".as_slice() || bytes.get(11..13)? > b"23".as_slice() {
        return None;
    }
    // The whole seconds come from the shared reader; the fraction is read here since nine digits and any
    // year of the range do not fit nanoseconds in 64 bits.
    let whole = format!("{}{}", text.get(..19)?, text.get(text.len() - zone.len()..)?);
    let seconds = crate::base::Timestamp::parse_seconds(&whole)?;
    let nanos = fraction.iter().try_fold((0i32, 100_000_000i32), |(n, scale), d| {
        d.is_ascii_digit().then(|| (n + i32::from(d - b'0') * scale, scale / 10))
    })?;
    TIMESTAMPS.contains(&seconds).then_some((seconds, nanos.0))
}

/// `[-]seconds[.fraction]s`.
pub(super) fn duration(text: &str) -> Option<(i64, i32)> {
    let body = text.strip_suffix('s')?;
    let (negative, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body),
    };
    let (whole, fraction) = body.split_once('.').map_or((body, None), |(w, f)| (w, Some(f)));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || fraction.is_some_and(|f| !digits(f) || f.len() > 9) {
        return None;
    }
    let seconds: i64 = whole.parse().ok()?;
    let nanos: i32 = format!("{:0<9}", fraction.unwrap_or("")).parse().ok()?;
    if seconds > MAX_DURATION {
        return None;
    }
    Some(if negative { (-seconds, -nanos) } else { (seconds, nanos) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps() {
        assert_eq!(timestamp("1970-01-01T00:00:00.000000001Z"), Some((0, 1)));
        assert_eq!(timestamp("0001-01-01T00:00:00Z"), Some((-62_135_596_800, 0)));
        assert_eq!(timestamp("9999-12-31T23:59:59.999999999Z"), Some((253_402_300_799, 999_999_999)));
        assert_eq!(timestamp("1970-01-01T01:00:00+01:00"), Some((0, 0)));
        for wrong in [
            "1970-01-01t00:00:00Z",
            "1970-01-01T00:00:00z",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.Z",
        ] {
            assert_eq!(timestamp(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("-1.5s"), Some((-1, -500_000_000)));
        assert_eq!(duration("315576000000.999999999s"), Some((315_576_000_000, 999_999_999)));
        for wrong in ["315576000001s", "1", "s", ".5s", "1.0000000001s", "1.s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
