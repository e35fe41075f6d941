//! Hash maps that every packet or frame looks into: by numbers of this program's own, and by what a capture says.
//! Never iterated where the order shows: it is another in every run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by what a capture says, which may be chosen to collide: the hash has a seed that nobody can know.
pub type KeyMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A map by numbers that this program counted up itself, never by those of a capture.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Keeps neighbours side by side: who counts up asks for one after the other, and finds it in the cache.
#[derive(Clone, Copy, Default, Debug)]
pub struct NumberHasher(u64);

/// The golden ratio's fraction, in 64 bits: a multiplication by it spreads small numbers over the high bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The bits by which a table tells the keys of a place apart; the others give the place.
const TAG: u64 = 0x7f << 57;

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.wrapping_mul(GOLDEN) ^ number;
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0.wrapping_mul(GOLDEN) & TAG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_apart() {
        let mut map = NumberMap::default();
        (0..10_000u64).for_each(|n| assert!(map.insert(n, n + 1).is_none()));
        assert!((0..10_000u64).all(|n| map.get(&n) == Some(&(n + 1))));
    }
}
