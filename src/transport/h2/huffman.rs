//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B), four bits a step.
//! Never keeps the codes themselves: the code is canonical, so lengths give it.

/// Length in bits of each octet's code, and of EOS (256).
#[rustfmt::skip]
pub(super) const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const EOS: u16 = 256;
/// Inner nodes of a full binary tree with 257 leaves.
const NODES: usize = 256;
/// Marks a child as a leaf: the rest is the symbol.
const LEAF: u16 = 0x8000;
const LONGEST: u8 = 30;

/// What four bits do in one state.
#[derive(Clone, Copy)]
struct Step {
    next: u8,
    symbol: u8,
    emits: bool,
    /// EOS was read.
    fails: bool,
}

const TREE: [[u16; 2]; NODES] = tree();
const STEPS: [[Step; 16]; NODES] = steps();
/// States in which a string may end: up to seven 1 bits since the last symbol.
const ENDS: [bool; NODES] = ends();

static TABLE: [[Step; 16]; NODES] = STEPS;

/// Decodes a whole string; `None` where it holds EOS or padding other than up to seven 1 bits.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut state = 0u8;
    for byte in coded {
        for nibble in [byte >> 4, byte & 0x0f] {
            let step = TABLE.get(usize::from(state))?.get(usize::from(nibble))?;
            if step.fails {
                return None;
            }
            if step.emits {
                out.push(step.symbol);
            }
            state = step.next;
        }
    }
    ENDS.get(usize::from(state))?.then_some(())
}

/// Codes of one length are consecutive numbers in the order of their symbols, and the next
/// length goes on from there, doubled.
const fn tree() -> [[u16; 2]; NODES] {
    let mut nodes = [[0u16; 2]; NODES];
    let mut used = 1u16;
    let mut code = 0u32;
    let mut length = 1;
    while length <= LONGEST {
        code <<= 1;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] == length {
                let mut node = 0;
                let mut bit = length;
                while bit > 1 {
                    bit -= 1;
                    let branch = (code >> bit & 1) as usize;
                    if nodes[node][branch] == 0 {
                        nodes[node][branch] = used;
                        used += 1;
                    }
                    node = nodes[node][branch] as usize;
                }
                nodes[node][(code & 1) as usize] = LEAF | symbol as u16;
                code += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    nodes
}

const fn steps() -> [[Step; 16]; NODES] {
    let mut table = [[Step { next: 0, symbol: 0, emits: false, fails: false }; 16]; NODES];
    let mut state = 0;
    while state < NODES {
        let mut nibble = 0;
        while nibble < 16 {
            let mut step = Step { next: 0, symbol: 0, emits: false, fails: false };
            let mut node = state as u16;
            let mut bit = 4;
            while bit > 0 {
                bit -= 1;
                let child = TREE[node as usize][nibble >> bit & 1];
                if child & LEAF == 0 {
                    node = child;
                } else if child == LEAF | EOS {
                    step.fails = true;
                    node = 0;
                } else {
                    step.symbol = (child & 0xff) as u8;
                    step.emits = true;
                    node = 0;
                }
            }
            step.next = node as u8;
            table[state][nibble] = step;
            nibble += 1;
        }
        state += 1;
    }
    table
}

const fn ends() -> [bool; NODES] {
    let mut ends = [false; NODES];
    let mut node = 0u16;
    let mut depth = 0;
    while depth < 8 && node & LEAF == 0 {
        ends[node as usize] = true;
        node = TREE[node as usize][1];
        depth += 1;
    }
    ends
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The code of each symbol as (bits, length), by the canonical rule.
    fn codes() -> Vec<(u64, u8)> {
        let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
        order.sort_by_key(|symbol| (LENGTHS[*symbol], *symbol));
        let mut codes = vec![(0, 0); LENGTHS.len()];
        let (mut code, mut last) = (0u64, LENGTHS[order[0]]);
        for symbol in order {
            code <<= LENGTHS[symbol] - last;
            last = LENGTHS[symbol];
            codes[symbol] = (code, last);
            code += 1;
        }
        codes
    }

    /// Encodes for tests of this room.
    pub(crate) fn encode(text: &[u8]) -> Vec<u8> {
        let codes = codes();
        let bits: Vec<bool> = text
            .iter()
            .flat_map(|b| {
                let (code, length) = codes[usize::from(*b)];
                (0..length).rev().map(move |i| code >> i & 1 == 1)
            })
            .collect();
        bits.chunks(8)
            .map(|c| (0..8).fold(0, |byte, i| byte << 1 | u8::from(c.get(i).copied().unwrap_or(true))))
            .collect()
    }

    fn check(coded: &[u8], text: Option<&[u8]>) {
        let mut out = Vec::new();
        let done = decode(coded, &mut out);
        assert_eq!(done.map(|()| out.as_slice()), text);
    }

    #[test]
    fn every_octet_round_trips() {
        let all: Vec<u8> = (0..=255).collect();
        check(&encode(&all), Some(&all));
        for octet in 0..=255u8 {
            check(&encode(&[octet, b'a', octet]), Some(&[octet, b'a', octet]));
        }
    }

    #[test]
    fn known_strings() {
        let wire = hex_simd::decode_to_vec("f1e3c2e5f23a6ba0ab90f4ff").unwrap();
        check(&wire, Some(b"www.example.com"));
        check(&hex_simd::decode_to_vec("a8eb10649cbf").unwrap(), Some(b"no-cache"));
        check(b"", Some(b""));
    }

    #[test]
    fn wrong_padding_and_eos() {
        check(&[0xff], None);
        check(&[0x18], None); // 'a' is 00011, then 000
        check(&[0x07], Some(b"0"));
        check(&[0x07, 0xff], None);
        check(&[0xff, 0xff, 0xff, 0xff], None);
    }
}
