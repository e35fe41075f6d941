//! Hash maps keyed by the schema's own names.
//! Never keyed by what a capture says: the hash is quick, not safe from those who choose the keys.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map from names that the operator's files define.
pub(super) type NameMap<K, V> = HashMap<K, V, BuildHasherDefault<NameHasher>>;

/// The hash of a name.
pub(super) fn hash(name: &str) -> u64 {
    let mut hasher = NameHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// Where a name goes among so many places: a power of two. `None` where there are none.
pub(super) fn place(name: &str, of: u32) -> Option<u32> {
    of.checked_sub(1).map(|mask| hash(name) as u32 & mask)
}

/// Multiplies eight bytes at a time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NameHasher(u64);

impl NameHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.add(u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
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
    fn names_that_differ_hash_apart() {
        let names =
            ["", "a", "b", "demo.v1.All", "demo.v1.Alm", "demo.v1.All.by_name", "12345678", "123456780"];
        let mut seen: Vec<u64> = names.iter().map(|n| hash(n)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), names.len());
    }
}
