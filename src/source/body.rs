//! Bodies that an HTTP archive holds as text: base64, one code point a byte, or real text.
//! Never trusts a mark alone and never adds a byte that the text does not hold.

use super::json::text::points;
use super::{base64, wire};

/// A body out of text.
#[derive(PartialEq, Debug)]
pub(super) struct Decoded {
    pub bytes: Vec<u8>,
    /// What was assumed, where the archive does not say it.
    pub assumed: Option<&'static str>,
    /// Whether bytes were lost when the archive was written.
    pub damaged: bool,
}

impl Decoded {
    fn plain(bytes: Vec<u8>) -> Self {
        Self { bytes, assumed: None, damaged: false }
    }
}

/// What the archive says about a body.
pub(super) struct About<'a> {
    /// Whether it is marked as base64.
    pub base64: bool,
    /// Its media type.
    pub media_type: &'a str,
    /// Its length in bytes, where a plausible one is declared.
    pub declared: Option<u64>,
}

/// The bytes of a JSON string; `None` where it is no string.
pub(super) fn decode(json: &str, about: &About<'_>) -> Option<Decoded> {
    let shape = Shape::of(json)?;
    if shape.max < 0x80 {
        let text: Vec<u8> = points(json)?.map(|point| point as u8).collect();
        return Some(from_ascii(text, about));
    }
    if shape.escaped {
        return Some(Decoded::plain(surrogate_escaped(json)?));
    }
    if shape.max <= 0xff && shape.is_latin1(about) {
        return Some(Decoded::plain(points(json)?.map(|point| point as u8).collect()));
    }
    if shape.max > 0xff
        && !is_text(about.media_type)
        && let Some(bytes) = points(json)?.map(windows_1252).collect::<Option<Vec<u8>>>()
    {
        let assumed = Some("each character was taken as one byte of Windows-1252");
        return Some(Decoded { bytes, assumed, damaged: false });
    }
    let damaged = shape.replaced && !is_text(about.media_type);
    Some(Decoded { damaged, ..Decoded::plain(utf8(json)?) })
}

/// Text that is ASCII throughout is itself, or base64 that is marked or that must be meant: its
/// length fits what is declared and the text's own does not, or nothing is declared and only
/// what it decodes to reads as frames or as a message.
fn from_ascii(text: Vec<u8>, about: &About<'_>) -> Decoded {
    if !about.base64 && (text.is_empty() || is_text(about.media_type)) {
        return Decoded::plain(text);
    }
    let Ok(bytes) = base64::decode(&text) else {
        let assumed = about.base64.then_some("marked as base64 but is not: the text was taken as it stands");
        return Decoded { bytes: text, assumed, damaged: false };
    };
    if about.base64 {
        return Decoded::plain(bytes);
    }
    let fits = |length: usize| about.declared == Some(length as u64);
    let reads = |bytes: &[u8]| wire::is_enveloped(bytes) || wire::is_message(bytes);
    let meant = fits(bytes.len()) || (!fits(text.len()) && reads(&bytes) && !reads(&text));
    match meant {
        true => {
            Decoded { bytes, assumed: Some("taken as base64, which it is not marked as"), damaged: false }
        }
        false => Decoded::plain(text),
    }
}

struct Shape {
    max: u32,
    characters: u64,
    utf8: u64,
    escaped: bool,
    replaced: bool,
}

impl Shape {
    fn of(json: &str) -> Option<Self> {
        let mut shape = Self { max: 0, characters: 0, utf8: 0, escaped: false, replaced: false };
        for point in points(json)? {
            shape.max = shape.max.max(point);
            shape.characters += 1;
            shape.utf8 += match point {
                0..=0x7f => 1,
                0x80..=0x7ff => 2,
                0x800..=0xffff => 3,
                _ => 4,
            };
            shape.escaped |= (0xdc80..=0xdcff).contains(&point);
            shape.replaced |= point == 0xfffd;
        }
        Some(shape)
    }

    /// Whether characters up to U+00FF are bytes rather than text.
    fn is_latin1(&self, about: &About<'_>) -> bool {
        match about.declared {
            Some(length) if length == self.characters => true,
            Some(length) if length == self.utf8 => false,
            _ => !is_text(about.media_type),
        }
    }
}

/// Whether bodies of a media type are text. An event stream may well be something else.
fn is_text(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let named =
        ["json", "xml", "javascript", "x-www-form-urlencoded"].iter().any(|kind| name.ends_with(kind));
    named || name.contains("grpc-web-text") || (name.starts_with("text/") && name != "text/event-stream")
}

fn utf8(json: &str) -> Option<Vec<u8>> {
    let c = |point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some(points(json)?.map(c).collect::<String>().into_bytes())
}

/// Python's way to keep bytes that are not UTF-8: each is a lone surrogate.
fn surrogate_escaped(json: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for point in points(json)? {
        match char::from_u32(point) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(point as u8),
        }
    }
    Some(out)
}

/// The byte of a character in what browsers read as Latin-1.
fn windows_1252(point: u32) -> Option<u8> {
    const HIGH: [u32; 32] = [
        0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152,
        0x8d, 0x017d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122,
        0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
    ];
    match HIGH.iter().position(|high| *high == point) {
        Some(at) => u8::try_from(0x80 + at).ok(),
        None => u8::try_from(point).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, media_type: &str, base64: bool, declared: Option<u64>, bytes: &[u8], assumed: bool) {
        let decoded = decode(json, &About { base64, media_type, declared });
        let got = decoded.map(|d| (d.bytes, d.assumed.is_some()));
        assert_eq!(got, Some((bytes.to_vec(), assumed)), "{json}");
    }

    const PROTO: &str = "application/proto";

    #[test]
    fn marked_base64() {
        check("\"CgJoaQ==\"", PROTO, true, None, b"\x0a\x02hi", false);
        check("\"\"", PROTO, true, Some(5), b"", false);
        check("\"***\"", PROTO, true, None, b"***", true);
    }

    #[test]
    fn unmarked_base64() {
        check("\"CgJoaQ==\"", PROTO, false, Some(4), b"\x0a\x02hi", true);
        check("\"CgJoaQ==\"", PROTO, false, Some(8), b"CgJoaQ==", false);
        check("\"CgJoaQ==\"", PROTO, false, None, b"\x0a\x02hi", true);
        check("\"CgJoaQ==\"", "application/grpc-web-text", false, None, b"CgJoaQ==", false);
        check("\"abcd\"", "application/json", false, Some(3), b"abcd", false);
    }

    #[test]
    fn one_code_point_a_byte() {
        check("\"\\u0000\\u00ff\\n\"", PROTO, false, None, b"\x00\xff\x0a", false);
        check("\"é\"", "application/json", false, None, "é".as_bytes(), false);
        check("\"é\"", "application/json", false, Some(1), b"\xe9", false);
        check("\"é\"", PROTO, false, Some(2), "é".as_bytes(), false);
        check("\"\\udc80é\"", PROTO, false, None, b"\x80\xc3\xa9", false);
        check("\"\u{20ac}\\u0001\"", PROTO, false, None, b"\x80\x01", true);
    }

    #[test]
    fn replaced_bytes_are_told() {
        let decoded = decode("\"a\u{fffd}\"", &About { base64: false, media_type: PROTO, declared: Some(2) });
        assert_eq!(decoded.map(|d| d.damaged), Some(true));
    }
}
