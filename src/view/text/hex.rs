//! Bytes as a hex dump, sixteen a line.
//! Never prints a byte that is not plain ASCII.

use std::fmt::Write;

use colored::Colorize;

/// Appends a dump of `bytes`, each line after `indent` blanks: offset, bytes in two groups of eight, ASCII.
pub fn dump(bytes: &[u8], indent: usize, out: &mut String) {
    for (row, line) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{:indent$}{}  ", "", format!("{:08x}", row * 16).dimmed());
        for i in 0..16 {
            match line.get(i) {
                Some(byte) => drop(write!(out, "{byte:02x} ")),
                None => out.push_str("   "),
            }
            if i == 7 {
                out.push(' ');
            }
        }
        out.push(' ');
        out.extend(line.iter().map(|&b| if (0x20..0x7f).contains(&b) { b as char } else { '.' }));
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
        dump(b"\x0a\x02j\0 0123456789abcdef", 2, &mut out);
        assert_eq!(
            out,
            "  00000000  0a 02 6a 00 20 30 31 32  33 34 35 36 37 38 39 61  ..j. 0123456789a\n  \
             00000010  62 63 64 65 66                                    bcdef\n"
        );
    }
}
