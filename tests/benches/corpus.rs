//! Writes a corpus for measurements: the same bytes for the same seed.
//! Never needs a schema: messages of `agent.v1.AgentServerMessage` are written field by field.
//!
//! `cargo run --release --example corpus -- KIND FORM MEGABYTES FILE [SEED]`, KIND one of small (text deltas and
//! heartbeats), mixed (a tenth of them blobs and checkpoints), checkpoints, blobs; FORM one of raw (Connect frames),
//! gzip (each frame compressed), hexl (JSON Lines of appends in hex).

use std::fs::File;
use std::io::{self, BufWriter, Write};

use flate2::{Compression, write::GzEncoder};

const WORDS: &[&str] = &[
    "the", "of", "and", "tide", "harbour", "prints", "evening", "water", "an", "hour", "late", "read", "fix",
    "run", "tests", "file", "line", "because", "value", "is", "compared", "before", "rounding", "so", "high",
    "comes", "first",
];

/// A stream of choices (Knuth's MMIX generator).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn text(&mut self, words: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..words {
            out.extend_from_slice(WORDS[self.roll(WORDS.len() as u64) as usize].as_bytes());
            out.push(b' ');
        }
        out
    }

    fn hash(&mut self) -> Vec<u8> {
        (0..32).map(|_| self.roll(256) as u8).collect()
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    varint(&mut out, number << 3 | 2);
    varint(&mut out, content.len() as u64);
    out.extend_from_slice(content);
    out
}

fn small(dice: &mut Dice) -> Vec<u8> {
    if dice.roll(10) == 0 {
        return field(1, &field(13, b""));
    }
    let words = 8 + dice.roll(20);
    field(1, &field(1, &field(1, &dice.text(words))))
}

fn blob(dice: &mut Dice) -> Vec<u8> {
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

fn checkpoint(dice: &mut Dice) -> Vec<u8> {
    let mut inner = Vec::new();
    let (prompts, turns) = (8 + dice.roll(60), 4 + dice.roll(30));
    (0..prompts).for_each(|_| inner.extend(field(1, &dice.hash())));
    (0..turns).for_each(|_| inner.extend(field(8, &dice.hash())));
    (0..4).for_each(|_| inner.extend(field(9, b"file:///home/someone/project")));
    field(3, &inner)
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kind, form, megabytes, path, rest @ ..] = args.as_slice() else {
        eprintln!("corpus KIND FORM MEGABYTES FILE [SEED]");
        std::process::exit(2);
    };
    let size = megabytes.parse::<u64>().unwrap_or(50) * 1_000_000;
    let mut dice = Dice(rest.first().and_then(|s| s.parse().ok()).unwrap_or(7));
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut number) = (0, 0u64);
    while written < size {
        let message = match (kind.as_str(), dice.roll(20)) {
            ("blobs", _) | ("mixed", 0) => blob(&mut dice),
            ("checkpoints", _) | ("mixed", 1) => checkpoint(&mut dice),
            _ => small(&mut dice),
        };
        let mut frame = Vec::new();
        match form.as_str() {
            "hexl" => {
                let digits: String = message.iter().map(|b| format!("{b:02x}")).collect();
                let ids = "\"requestId\":{\"requestId\":\"11111111-2222-4333-8444-555555555555\"}";
                writeln!(
                    frame,
                    "{{\"bidi_append_request\":{{\"data\":\"{digits}\",{ids},\"appendSeqno\":\"{number}\"}}}}"
                )?;
            }
            _ => {
                let payload = match form.as_str() {
                    "gzip" => {
                        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
                        encoder.write_all(&message)?;
                        encoder.finish()?
                    }
                    _ => message,
                };
                frame.push(u8::from(form == "gzip"));
                frame.extend_from_slice(&(payload.len() as u32).to_be_bytes());
                frame.extend_from_slice(&payload);
            }
        }
        out.write_all(&frame)?;
        written += frame.len() as u64;
        number += 1;
    }
    out.flush()
}
