//! Looks for envelopes in a body whose beginning is not there: one that ends where the next begins.
//! Never keeps the bytes; holes of known length are stepped over.

use std::collections::BTreeMap;

use crate::pdu::{Codec, Envelope};

/// Longest payload that is believed where nothing else speaks for it.
const MAX_LENGTH: u64 = 1 << 20;

/// Beginnings that are followed at once.
const MAX_CHAINS: usize = 4_096;

/// A header and the first byte of its payload.
const LOOK: usize = Envelope::LEN + 1;

/// What was seen of a body since a hole.
#[derive(Default)]
pub(super) struct Trace {
    position: u64,
    last: [u8; LOOK],
    have: usize,
    /// Where a plausible envelope ends, and how its message is written.
    ends: BTreeMap<u64, Codec>,
    found: Option<Codec>,
}

impl Trace {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.found.is_some() {
                return;
            }
            self.last.rotate_left(1);
            if let Some(last) = self.last.last_mut() {
                *last = *byte;
            }
            self.have = (self.have + 1).min(LOOK);
            self.position += 1;
            if self.have == LOOK {
                self.look();
            }
        }
    }

    /// Steps over a hole; of unknown length where `None`.
    pub fn gap(&mut self, length: Option<u64>) {
        self.have = 0;
        match length {
            Some(length) => self.position = self.position.saturating_add(length),
            None => self.ends.clear(),
        }
    }

    /// The body is over here, whole: an envelope that ends with it is believed too.
    pub fn end(&mut self) {
        self.found = self.found.or(self.ends.get(&self.position).copied());
    }

    /// How messages are written, where envelopes were found.
    pub fn found(&self) -> Option<Codec> {
        self.found
    }

    fn look(&mut self) {
        let place = self.position - LOOK as u64;
        while let Some(first) = self.ends.first_entry().filter(|first| *first.key() < place) {
            first.remove();
        }
        let [flags, a, b, c, d, first] = self.last;
        let length = u64::from(u32::from_be_bytes([a, b, c, d]));
        if length == 0 || length > MAX_LENGTH {
            return;
        }
        let codec = match (flags, first) {
            (0, b'{') => Codec::Json,
            // A tag: a field number, and a wire type that is no group's.
            (0, tag) if matches!(tag & 7, 0 | 1 | 2 | 5) && tag >> 3 != 0 => Codec::Proto,
            (1 | 3, 0x1f | 0x28) | (2, b'{') => Codec::Proto,
            (0x80, letter) if letter.is_ascii_alphabetic() => Codec::Proto,
            _ => return,
        };
        if let Some(before) = self.ends.get(&place) {
            self.found = Some(if *before == Codec::Json { Codec::Json } else { codec });
        } else if self.ends.len() < MAX_CHAINS {
            self.ends.insert(place + Envelope::LEN as u64 + length, codec);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as bytes; `Err` is a hole.
    fn check(pieces: &[Result<&[u8], Option<u64>>], expected: Option<Codec>) {
        for step in [1, 2, usize::MAX] {
            let mut trace = Trace::default();
            for piece in pieces {
                match piece {
                    Ok(bytes) => bytes.chunks(step.min(bytes.len().max(1))).for_each(|b| trace.push(b)),
                    Err(length) => trace.gap(*length),
                }
            }
            trace.end();
            assert_eq!(trace.found(), expected, "{pieces:?}");
        }
    }

    #[test]
    fn chains() {
        const ONE: &[u8] = b"\0\0\0\0\x02\x08\x01";
        check(&[Ok(ONE)], Some(Codec::Proto));
        check(&[Ok(b"rest of one"), Ok(ONE), Ok(ONE), Ok(b"?")], Some(Codec::Proto));
        check(&[Ok(ONE), Ok(b"?")], None);
        check(&[Ok(b"\0\0\0\0\x08\x08\x01"), Err(Some(6)), Ok(ONE), Ok(b"?")], Some(Codec::Proto));
        check(&[Ok(b"\0\0\0\0\x08\x08\x01"), Err(Some(5)), Ok(ONE), Ok(b"?")], None);
        check(&[Ok(b"\0\0\0\0\x08\x08\x01"), Err(None), Ok(ONE), Ok(b"?")], None);
        check(&[Ok(b"\0\0\0\0\x02{}\0\0\0\0\x02{}"), Ok(b"?")], Some(Codec::Json));
        check(&[Ok(&[0; 64])], None);
    }
}
