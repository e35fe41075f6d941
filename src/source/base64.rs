//! Base64 in the spellings that captures hold: standard or URL-safe, padded or not, in lines,
//! several padded pieces one after another (gRPC-Web-text).
//! Never skips a character that is neither base64 nor white space.

use super::hex::Misfit;

/// The bytes of base64 text.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, Misfit> {
    if let Ok(bytes) = base64_simd::STANDARD.decode_to_vec(text) {
        return Ok(bytes);
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held, mut padding) = (0u32, 0u8, 0u8);
    for (at, &byte) in text.iter().enumerate() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' | b'\t' | b' ' => continue,
            b'=' if held >= 2 || padding > 0 => {
                if held >= 2 {
                    tail(&mut out, bits, held);
                    padding = 4 - held;
                    held = 0;
                    bits = 0;
                }
                if padding == 0 {
                    return Err(Misfit::new(text, at, "padding where none belongs"));
                }
                padding -= 1;
                continue;
            }
            _ => return Err(Misfit::new(text, at, "not a base64 character")),
        };
        padding = 0;
        bits = bits << 6 | u32::from(sextet);
        held += 1;
        if held == 4 {
            let [_, a, b, c] = bits.to_be_bytes();
            out.extend_from_slice(&[a, b, c]);
            (bits, held) = (0, 0);
        }
    }
    if held == 1 {
        return Err(Misfit::new(text, text.len(), "one character too many"));
    }
    tail(&mut out, bits, held);
    Ok(out)
}

/// The one or two bytes of a last group of two or three characters.
fn tail(out: &mut Vec<u8>, bits: u32, held: u8) {
    match held {
        2 => out.push((bits >> 4) as u8),
        3 => out.extend_from_slice(&[(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, bytes: &[u8]) {
        assert_eq!(decode(text.as_bytes()).as_deref(), Ok(bytes), "{text}");
    }

    fn refuse(text: &str, position: usize) {
        assert_eq!(decode(text.as_bytes()).map_err(|m| m.position), Err(position), "{text}");
    }

    #[test]
    fn reads_every_spelling() {
        check("", b"");
        check("aGVsbG8=", b"hello");
        check("aGVsbG8", b"hello");
        check("aGVs\r\nbG8=\n", b"hello");
        check("-_-_", b"\xfb\xff\xbf");
        check("+/+/", b"\xfb\xff\xbf");
        check("aA==aGk=aA==", b"hhih");
        check("aA==\naGk", b"hhi");
    }

    #[test]
    fn refuses_with_a_position() {
        refuse("aGVs*", 5);
        refuse("=aaa", 1);
        refuse("aA===", 5);
        refuse("aaaaa", 6);
    }

    #[test]
    fn every_prefix_is_safe() {
        let text = b"aA==\r\naGk=-_+/";
        for end in 0..=text.len() {
            let _ = decode(text.get(..end).unwrap_or_default());
        }
    }
}
