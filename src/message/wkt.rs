//! The well-known types' own values: times, durations, masks, and what is out of their range.
//! Never decides how they are written.

use std::fmt::Write;

use crate::{
    base::civil_from_days,
    schema::{Schema, WellKnown},
};

use super::{NodeKind, Tree};

/// Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;
/// Longest duration in seconds, about 10,000 years.
const MAX_DURATION: i64 = 315_576_000_000;

/// `seconds` and `nanos` of a Timestamp or Duration, the last of each over all parts.
pub(super) fn seconds(tree: &Tree, parts: &[u32]) -> (i64, i32) {
    let (mut seconds, mut nanos) = (0, 0);
    for (_, node) in parts.iter().flat_map(|p| tree.children(*p)).filter(|(_, n)| n.is_known()) {
        match node.number {
            1 => seconds = node.bits as i64,
            2 => nanos = node.bits as i32,
            _ => {}
        }
    }
    (seconds, nanos)
}

/// RFC 3339 in UTC with 0, 3, 6 or 9 digits of fraction; `None` out of range.
pub(super) fn timestamp(seconds: i64, nanos: i32) -> Option<String> {
    if !(FIRST_SECOND..=LAST_SECOND).contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
        return None;
    }
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut out = format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    );
    fraction(&mut out, nanos.unsigned_abs());
    out.push('Z');
    Some(out)
}

/// `-1.500s`; `None` out of range or where the signs differ.
pub(super) fn duration(seconds: i64, nanos: i32) -> Option<String> {
    let signs_differ = (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0);
    if seconds.unsigned_abs() > MAX_DURATION.unsigned_abs()
        || nanos.unsigned_abs() > 999_999_999
        || signs_differ
    {
        return None;
    }
    let mut out = String::new();
    if seconds < 0 || nanos < 0 {
        out.push('-');
    }
    let _ = write!(out, "{}", seconds.unsigned_abs());
    fraction(&mut out, nanos.unsigned_abs());
    out.push('s');
    Some(out)
}

fn fraction(out: &mut String, nanos: u32) {
    let _ = match nanos {
        0 => Ok(()),
        n if n % 1_000_000 == 0 => write!(out, ".{:03}", n / 1_000_000),
        n if n % 1_000 == 0 => write!(out, ".{:06}", n / 1_000),
        n => write!(out, ".{n:09}"),
    };
}

/// A field mask's path in lowerCamelCase; `None` where that could not be read back.
pub(super) fn mask_path(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len());
    let mut upper = false;
    for c in path.chars() {
        match c {
            c if c.is_ascii_uppercase() => return None,
            '_' if upper => return None,
            '_' => upper = true,
            c if upper && !c.is_ascii_lowercase() => return None,
            c if upper => {
                out.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    (!upper).then_some(out)
}

/// What is out of range in a well-known message, in words.
pub(super) fn out_of_range(schema: &Schema, tree: &Tree, payload: &[u8], at: u32) -> Option<String> {
    let plan = schema.ty(tree.type_of(at)?);
    match plan.known? {
        WellKnown::Timestamp => {
            let (s, n) = seconds(tree, &[at]);
            timestamp(s, n).is_none().then(|| format!("timestamp out of range: {s} seconds, {n} nanos"))
        }
        WellKnown::Duration => {
            let (s, n) = seconds(tree, &[at]);
            duration(s, n).is_none().then(|| format!("duration out of range: {s} seconds, {n} nanos"))
        }
        WellKnown::FieldMask => {
            let paths = tree.children(at).filter(|(_, n)| n.is_known() && n.kind == NodeKind::Bytes);
            let mut paths = paths.map(|(_, n)| String::from_utf8_lossy(n.bytes(payload)));
            let odd = paths.find(|p| mask_path(p).is_none())?;
            Some(format!("field mask path {odd:?} has no form in JSON"))
        }
        WellKnown::Value => {
            let number = tree.children(at).filter(|(_, n)| n.is_known()).last()?.1;
            let is_odd = number.number == 2 && !f64::from_bits(number.bits).is_finite();
            is_odd.then(|| "a Value's number must be finite".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(timestamp(0, 0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(timestamp(-1, 21_000_000).as_deref(), Some("1969-12-31T23:59:59.021Z"));
        assert_eq!(timestamp(LAST_SECOND, 999_999_999).as_deref(), Some("9999-12-31T23:59:59.999999999Z"));
        assert_eq!(timestamp(LAST_SECOND + 1, 0), None);
        assert_eq!(duration(-1, -500_000_000).as_deref(), Some("-1.500s"));
        assert_eq!(duration(0, -1_000).as_deref(), Some("-0.000001s"));
        assert_eq!(duration(1, -1), None);
    }

    #[test]
    fn masks() {
        assert_eq!(mask_path("a_b.c_d").as_deref(), Some("aB.cD"));
        assert_eq!(mask_path("aB"), None);
        assert_eq!(mask_path("a_"), None);
    }
}
