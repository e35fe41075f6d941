//! The base64 of application/grpc-web-text, where each flush of the sender is padded for itself.
//! Never waits for more than a group of four characters.

/// A decoder that padding does not end.
#[derive(Default)]
pub(super) struct Base64 {
    group: u32,
    /// Characters of the group that have come, padding included.
    count: u8,
    /// How many of them are padding.
    padding: u8,
    /// Characters to leave out until the next group begins.
    skip: u8,
}

impl Base64 {
    /// Decodes what it can; the place of the first character that is none of base64's ends the
    /// call, with what was decoded before it.
    pub fn push(&mut self, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        out.reserve(text.len() / 4 * 3 + 3);
        for (at, &c) in text.iter().enumerate() {
            let value = match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                b'=' if self.skip > 0 || self.count >= 2 => {
                    self.padding += u8::from(self.skip == 0);
                    0
                }
                b'\r' | b'\n' | b' ' | b'\t' => continue,
                _ => return Some(at),
            };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if c != b'=' && self.padding > 0 {
                return Some(at);
            }
            self.group = self.group << 6 | u32::from(value);
            self.count += 1;
            if self.count == 4 {
                self.flush(out);
            }
        }
        None
    }

    /// What an unpadded last group holds.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.count >= 2 {
            let missing = 4 - self.count;
            self.group <<= 6 * u32::from(missing);
            self.padding = self.padding.saturating_add(missing);
            self.flush(out);
        }
    }

    /// Characters are lost: decoding goes on with the next group, if their number is known.
    pub fn gap(&mut self, length: Option<u64>) {
        let place = (u64::from(self.count) + length.unwrap_or(0) % 4) % 4;
        *self = Self { skip: ((4 - place) % 4) as u8, ..Self::default() };
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        let [_, bytes @ ..] = self.group.to_be_bytes();
        let length = 3usize.saturating_sub(usize::from(self.padding));
        out.extend_from_slice(bytes.get(..length).unwrap_or_default());
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[u8]) {
        for size in 1..=text.len() {
            let (mut decoder, mut out) = (Base64::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                assert_eq!(decoder.push(piece, &mut out), None);
            }
            decoder.finish(&mut out);
            assert_eq!(out, expected, "{size}");
        }
    }

    #[test]
    fn pieces_with_their_own_padding() {
        check("YWJj", b"abc");
        check("YWI=YQ==YWJj", b"abaabc");
        check("YWI", b"ab");
        check("Y\r\nWI=\r\n", b"ab");
    }

    #[test]
    fn damage() {
        let (mut decoder, mut out) = (Base64::default(), Vec::new());
        assert_eq!(decoder.push(b"YWJjY!", &mut out), Some(5));
        assert_eq!(out, b"abc");
        decoder.gap(Some(1));
        assert_eq!(decoder.push(b"xxYWJj", &mut out), None);
        assert_eq!(out, b"abcabc");
    }
}
