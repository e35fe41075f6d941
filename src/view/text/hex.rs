//! Bytes as a hex dump, sixteen a line.
//! Never prints a byte that is not plain ASCII.

use std::fmt::Write;
use std::ops::Range;

use colored::Colorize;

/// Appends a dump of `bytes`, each line after `indent` blanks: offset, bytes in two groups of eight, ASCII. Bytes in
/// `hidden`, ranges in the order of their beginnings, are dots.
pub fn dump(bytes: &[u8], hidden: &[Range<usize>], indent: usize, out: &mut String) {
    let (mut ranges, mut hidden_to) = (hidden.iter().peekable(), 0);
    for (row, line) in bytes.chunks(16).enumerate() {
        let mut hides = [false; 16];
        for (i, hides) in hides.iter_mut().enumerate() {
            let at = row * 16 + i;
            while let Some(range) = ranges.next_if(|range| range.start <= at) {
                hidden_to = hidden_to.max(range.end);
            }
            *hides = at < hidden_to;
        }
        let is_hidden = |i: usize| hides.get(i).is_some_and(|hides| *hides);
        let _ = write!(out, "{:indent$}{}  ", "", format!("{:08x}", row * 16).dimmed());
        for i in 0..16 {
            match line.get(i) {
                Some(_) if is_hidden(i) => out.push_str("·· "),
                Some(byte) => drop(write!(out, "{byte:02x} ")),
                None => out.push_str("   "),
            }
            if i == 7 {
                out.push(' ');
            }
        }
        out.push(' ');
        let plain = |(i, &b): (usize, &u8)| {
            if (0x20..0x7f).contains(&b) && !is_hidden(i) { b as char } else { '.' }
        };
        out.extend(line.iter().enumerate().map(plain));
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines() {
        colored::control::set_override(false);
        let mut out = String::new();
        dump(b"\x0a\x02j\0 0123456789abcdef", &[], 2, &mut out);
        assert_eq!(
            out,
            "  00000000  0a 02 6a 00 20 30 31 32  33 34 35 36 37 38 39 61  ..j. 0123456789a\n  \
             00000010  62 63 64 65 66                                    bcdef\n"
        );
        let mut out = String::new();
        dump(b"abc", std::slice::from_ref(&(1..2)), 0, &mut out);
        assert!(out.contains("61 ·· 63") && out.ends_with("a.c\n"), "{out}");
    }
}
