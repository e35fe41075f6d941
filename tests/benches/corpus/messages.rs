//! Messages for measurements, written field by field: the same bytes for the same seed.
//! Never needs a schema.

const WORDS: &[&str] = &[
    "the", "of", "and", "tide", "harbour", "prints", "evening", "water", "an", "hour", "late", "read", "fix",
    "run", "tests", "file", "line", "because", "value", "is", "compared", "before", "rounding", "so", "high",
    "comes", "first",
];

/// A stream of choices (Knuth's MMIX generator).
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Some words.
    pub fn text(&mut self, words: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..words {
            out.extend_from_slice(WORDS[self.roll(WORDS.len() as u64) as usize].as_bytes());
            out.push(b' ');
        }
        out
    }

    /// 32 bytes.
    pub fn hash(&mut self) -> Vec<u8> {
        (0..32).map(|_| self.roll(256) as u8).collect()
    }
}

/// Appends a varint.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A length-delimited field.
pub fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    varint(&mut out, number << 3 | 2);
    varint(&mut out, content.len() as u64);
    out.extend_from_slice(content);
    out
}

/// A text delta or a heartbeat.
pub fn small(dice: &mut Dice) -> Vec<u8> {
    if dice.roll(10) == 0 {
        return field(1, &field(13, b""));
    }
    let words = 8 + dice.roll(20);
    field(1, &field(1, &field(1, &dice.text(words))))
}

/// A blob to store.
pub fn blob(dice: &mut Dice) -> Vec<u8> {
    let mut data = b"{\"role\":\"assistant\",\"content\":\"".to_vec();
    let words = 100 + dice.roll(2_000);
    data.extend(dice.text(words));
    data.extend_from_slice(b"\"}");
    let set = [field(1, &dice.hash()), field(2, &data)].concat();
    let mut inner = vec![8];
    varint(&mut inner, 1 + dice.roll(1_000));
    inner.extend(field(3, &set));
    field(4, &inner)
}

/// A checkpoint: mostly hashes.
pub fn checkpoint(dice: &mut Dice) -> Vec<u8> {
    let mut inner = Vec::new();
    let (prompts, turns) = (8 + dice.roll(60), 4 + dice.roll(30));
    (0..prompts).for_each(|_| inner.extend(field(1, &dice.hash())));
    (0..turns).for_each(|_| inner.extend(field(8, &dice.hash())));
    (0..4).for_each(|_| inner.extend(field(9, b"file:///home/someone/project")));
    field(3, &inner)
}

/// The next message of a corpus.
pub fn message(kind: &str, dice: &mut Dice) -> Vec<u8> {
    match (kind, dice.roll(20)) {
        ("blobs", _) | ("mixed", 0) => blob(dice),
        ("checkpoints", _) | ("mixed", 1) => checkpoint(dice),
        _ => small(dice),
    }
}
