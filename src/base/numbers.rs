//! Hash maps keyed by numbers that this program gives out itself: calls, connections.
//! Never keyed by what a capture says: the hash is quick, not safe from those who choose the keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers that were counted up.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Multiplies, so that neighbours lie apart.
#[derive(Clone, Copy, Default, Debug)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The table looks at the highest and the lowest bits.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_kept_apart() {
        let mut map = NumberMap::default();
        (0..10_000u64).for_each(|n| assert!(map.insert(n, n + 1).is_none()));
        assert!((0..10_000u64).all(|n| map.get(&n) == Some(&(n + 1))));
    }
}
