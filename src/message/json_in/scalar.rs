//! Scalars of ProtoJSON: numbers in all their spellings, enums, bytes, map keys.
//! Never rounds: a number that does not fit its field is refused.

use crate::base::text::{clean, nearest};
use crate::schema::Kind;

use super::parse::{Json, Node};
use super::{Encoder, b64, push_tag, push_varint, wire_type};

impl Encoder<'_, '_> {
    /// Writes a scalar without its tag; false where it does not fit.
    pub(super) fn scalar(&mut self, kind: Kind, node: &Node<'_>, out: &mut Vec<u8>) -> bool {
        match (kind, &node.value) {
            (Kind::Bool, Json::Bool(value)) => out.push(u8::from(*value)),
            (Kind::String, Json::String(text)) => push_bytes(out, text.as_bytes()),
            (Kind::String | Kind::Bytes, Json::Object(members)) => {
                // The writer's form for a string that is not UTF-8.
                let raw = members.iter().find(|(name, _)| name == "$bytes").map(|(_, n)| &n.value);
                let Some(Json::String(text)) = raw else { return self.misfit(kind, node) };
                let Some(bytes) = base64(text) else { return self.misfit(kind, node) };
                push_bytes(out, &bytes);
            }
            (Kind::Bytes, Json::String(text)) => {
                let Some(bytes) = base64(text) else {
                    self.fail(node.at, "expected base64");
                    return false;
                };
                push_bytes(out, &bytes);
            }
            (Kind::Enum(id), value) => {
                let Some(plan) = self.schema.enum_plan(id) else { return false };
                let number = match value {
                    Json::Null if plan.null => Some(0),
                    Json::String(name) => {
                        let number = plan.number_of(name);
                        if number.is_none() {
                            if !self.options.ignore_unknown {
                                let near = nearest(name, plan.values().map(|(_, n)| n));
                                let hint = near.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                                self.fail(
                                    node.at,
                                    format!("{} has no value '{}'{hint}", plan.name, clean(name)),
                                );
                            }
                            return false;
                        }
                        number
                    }
                    Json::Number(text) => integer(text).and_then(|n| i32::try_from(n).ok()),
                    _ => None,
                };
                let Some(number) = number else { return self.misfit(kind, node) };
                push_varint(out, i64::from(number) as u64);
            }
            (_, Json::Number(text)) => return self.number(kind, text, node, out),
            (_, Json::String(text)) => return self.number(kind, text, node, out),
            _ => return self.misfit(kind, node),
        }
        true
    }

    /// Writes a number from its text, quoted or not.
    fn number(&mut self, kind: Kind, text: &str, node: &Node<'_>, out: &mut Vec<u8>) -> bool {
        let fits = match kind {
            Kind::Float | Kind::Double => push_float(kind, text, out),
            kind => integer(text).and_then(|number| push_whole(kind, number, out)),
        };
        fits.is_some() || self.misfit(kind, node)
    }

    pub(super) fn misfit(&mut self, kind: Kind, node: &Node<'_>) -> bool {
        let found = match &node.value {
            Json::Number(text) => format!("the number {text}"),
            Json::String(text) => {
                let shown: String = text.chars().take(40).collect();
                format!("the string \"{}\"", clean(&shown))
            }
            other => other.name().to_owned(),
        };
        self.fail(node.at, format!("expected {}, found {found}", kind.name()));
        false
    }

    /// Writes a map key as field 1 of its entry; false where it does not fit.
    pub(super) fn map_key(&mut self, kind: Kind, name: &str, at: usize, out: &mut Vec<u8>) -> bool {
        push_tag(out, 1, wire_type(kind));
        let value = match (kind, name) {
            (Kind::Bool, "true") => Json::Bool(true),
            (Kind::Bool, "false") => Json::Bool(false),
            _ => Json::String(name.into()),
        };
        self.scalar(kind, &Node { at, value }, out)
    }
}

/// Writes a whole number in the encoding of its kind, where it fits.
pub(super) fn push_whole(kind: Kind, number: i128, out: &mut Vec<u8>) -> Option<()> {
    let signed = || i64::try_from(number).ok();
    let signed32 = || i32::try_from(number).ok();
    let unsigned = || u64::try_from(number).ok();
    let unsigned32 = || u32::try_from(number).ok();
    match kind {
        Kind::Int32 => push_varint(out, i64::from(signed32()?) as u64),
        Kind::Int64 => push_varint(out, signed()? as u64),
        Kind::Sint32 => signed32().map(|n| push_varint(out, u64::from(((n << 1) ^ (n >> 31)) as u32)))?,
        Kind::Sint64 => signed().map(|n| push_varint(out, ((n << 1) ^ (n >> 63)) as u64))?,
        Kind::Uint32 => push_varint(out, u64::from(unsigned32()?)),
        Kind::Uint64 => push_varint(out, unsigned()?),
        Kind::Fixed32 => out.extend_from_slice(&unsigned32()?.to_le_bytes()),
        Kind::Sfixed32 => out.extend_from_slice(&signed32()?.to_le_bytes()),
        Kind::Fixed64 => out.extend_from_slice(&unsigned()?.to_le_bytes()),
        Kind::Sfixed64 => out.extend_from_slice(&signed()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// Writes a float from its text, where it fits.
pub(super) fn push_float(kind: Kind, text: &str, out: &mut Vec<u8>) -> Option<()> {
    let value = float(text)?;
    if kind == Kind::Double {
        out.extend_from_slice(&value.to_le_bytes());
        return Some(());
    }
    let narrow = value as f32;
    (narrow.is_finite() || !value.is_finite()).then(|| out.extend_from_slice(&narrow.to_le_bytes()))
}

pub(super) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Base64 in either alphabet, padded or not, whatever the bits after its last byte.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let standard: Option<Vec<u8>> = text.trim_end_matches('=').bytes().map(in_standard).collect();
    b64::forgiving_decode_to_vec(&standard?).ok()
}

/// A digit of either alphabet in the standard one.
fn in_standard(digit: u8) -> Option<u8> {
    match digit {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        b'+' | b'/' => Some(digit),
        other => other.is_ascii_alphanumeric().then_some(other),
    }
}

/// A whole number in any JSON spelling (`12`, `1.2e1`, `120e-1`), exactly.
fn integer(text: &str) -> Option<i128> {
    // Nearly all are plain digits.
    if text.len() <= 20
        && !text.starts_with('+')
        && let Ok(number) = text.parse::<i64>()
    {
        return Some(number.into());
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix('+').unwrap_or(exponent).parse::<i32>().ok()?)
        }
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty()
        || !digits(whole)
        || !digits(fraction)
        || mantissa.ends_with('.')
        || mantissa.len() > 64
    {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let cut = usize::try_from(point.clamp(0, all.len() as i64)).ok()?;
    if all.get(cut..)?.bytes().any(|b| b != b'0') {
        return None;
    }
    let kept = all.get(..cut)?.trim_start_matches('0');
    let zeros = usize::try_from(point - cut as i64).unwrap_or(0);
    if kept.is_empty() {
        return Some(0);
    }
    if kept.len() + zeros > 38 {
        return None;
    }
    let value: i128 = format!("{kept}{}", "0".repeat(zeros)).parse().ok()?;
    Some(if negative { -value } else { value })
}

/// A float in JSON's spelling or by its ProtoJSON name; nothing that overflows to infinity.
fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let starts_as_number = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit());
    text.parse::<f64>().ok().filter(|value| starts_as_number && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        assert_eq!(integer("18446744073709551615"), Some(u64::MAX.into()));
        assert_eq!(integer("1.2e1"), Some(12));
        assert_eq!(integer("120e-1"), Some(12));
        assert_eq!(integer("-1.0"), Some(-1));
        assert_eq!(integer("1e999999999"), None);
        assert_eq!(integer("0e999999999"), Some(0));
        for wrong in ["0.5", "", " 1", "1 ", "-", "1.", "x", "+1"] {
            assert_eq!(integer(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn floats() {
        assert_eq!(float("1e400"), None);
        assert_eq!(float("inf"), None);
        assert_eq!(float("-0.5"), Some(-0.5));
        assert!(float("NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn base64_in_any_form() {
        assert_eq!(base64("-_8="), Some(vec![0xfb, 0xff]));
        assert_eq!(base64("+/8"), Some(vec![0xfb, 0xff]));
        assert_eq!(base64("-_"), Some(vec![0xfb]));
        for wrong in ["*", "A", "QQ QQ"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }
}
