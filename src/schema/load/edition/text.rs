//! The text of a file with an edition, said in words that a proto3 parser knows, each byte in its place.
//! Never changes a name, a number or a type.

use std::ops::Range;

/// Stands for `default` in a field's options, which a proto3 parser refuses.
pub(super) const DEFAULT: &str = "defval_";

/// The statement that takes the place of `edition = "2023"`.
const SYNTAX: &[u8] = b"syntax=\"proto3\"";

/// The `edition = "…"` statement without its semicolon, where the file begins with one, and its value.
pub(in crate::schema::load) fn statement(text: &str) -> Option<(Range<usize>, &str)> {
    let at = skip_blanks(text, 0);
    let rest = text.get(at..)?;
    let value = rest.strip_prefix("edition")?.trim_start().strip_prefix('=')?;
    let len = value.find([';', '\n']).unwrap_or(value.len());
    let end = at + (rest.len() - value.len()) + len;
    Some((at..end, value.get(..len)?.trim().trim_matches(['"', '\''])))
}

/// The text as proto3: the first statement exchanged, what only editions have blanked out. The
/// statement grows by a byte where it is spelled without blanks; all else keeps its length.
pub(super) fn as_proto3(text: &str, statement: Range<usize>) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut at = statement.end;
    // Whether a statement begins here; how many brackets are open; the last byte that counts.
    let (mut begins, mut brackets, mut last) = (false, 0usize, b';');
    loop {
        at = skip_blanks(text, at);
        let token = token(text, at);
        let Some(word) = text.get(token.clone()).filter(|w| !w.is_empty()) else { break };
        let next = skip_blanks(text, token.end);
        let after = self::token(text, next);
        let following = text.get(after.clone()).unwrap_or_default();
        match word {
            "reserved" if begins && following.starts_with(is_name) => {
                let end = statement_end(text, next);
                blank(&mut out, token.start..end);
                at = end;
                continue;
            }
            "export" | "local" if begins && matches!(following, "message" | "enum") => {
                blank(&mut out, token.clone());
                at = token.end;
                continue;
            }
            "import" if begins && following == "option" => blank(&mut out, after),
            "default" if brackets > 0 && following == "=" && matches!(last, b'[' | b',') => {
                if let Some(place) = out.get_mut(token.clone()) {
                    place.copy_from_slice(DEFAULT.as_bytes());
                }
            }
            "[" => brackets += 1,
            "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        begins = matches!(word, ";" | "{" | "}");
        last = word.bytes().last().unwrap_or_default();
        at = token.end;
    }
    let mut syntax = SYNTAX.to_vec();
    syntax.resize(SYNTAX.len().max(statement.len()), b' ');
    out.splice(statement, syntax);
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Replaces bytes by spaces; lines stay.
fn blank(text: &mut [u8], range: Range<usize>) {
    for byte in text.get_mut(range).unwrap_or_default().iter_mut().filter(|b| **b != b'\n') {
        *byte = b' ';
    }
}

/// The offset after the semicolon that ends a statement.
fn statement_end(text: &str, mut at: usize) -> usize {
    loop {
        at = skip_blanks(text, at);
        let token = token(text, at);
        if token.is_empty() || text.get(token.clone()) == Some(";") {
            return token.end;
        }
        at = token.end;
    }
}

/// The offset of the next token: blanks and comments skipped.
fn skip_blanks(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            at += comment.find("*/").map_or(trimmed.len(), |end| end + 4);
        } else {
            return at;
        }
    }
}

/// A word or number, a string in quotes, or one character; empty at the end of the text.
fn token(text: &str, at: usize) -> Range<usize> {
    let rest = text.get(at..).unwrap_or_default();
    let len = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => string_len(rest, quote),
        Some(c) if is_name(c) || c.is_ascii_digit() => {
            rest.find(|c: char| !(is_name(c) || c.is_ascii_digit())).unwrap_or(rest.len())
        }
        Some(c) => c.len_utf8(),
        None => 0,
    };
    at..at + len
}

fn string_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            // A string ends with its line: what is open is the parser's to report.
            '\n' => return i,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + 1,
            _ => {}
        }
    }
    rest.len()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let (span, _) = statement(text).unwrap();
        let found = as_proto3(text, span);
        assert!(found.len() - text.len() <= 1);
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn what_only_editions_have_is_blanked_out() {
        let head = "syntax=\"proto3\"";
        check("edition = \"2023\";", &format!("{head} ;"));
        check("/* é */ edition='2024';", &format!("/* é */ {head};"));
        check("edition=\"2024\"; import option \"a.proto\";", &format!("{head}; import \"a.proto\";"));
        check("edition=\"2024\"; export message M {}", &format!("{head}; message M {{}}"));
        check(
            "edition=\"2024\"; message M { local enum E {} }",
            &format!("{head}; message M {{ enum E {{}} }}"),
        );
        check("edition=\"2023\"; message M { reserved a, /* ; */ b; }", &format!("{head}; message M {{ }}"));
        check("edition=\"2023\"; message M { reserved 1; }", &format!("{head}; message M {{ reserved 1; }}"));
        check(
            "edition=\"2023\"; /* reserved a; */ message M {",
            &format!("{head}; /* reserved a; */ message M {{"),
        );
        check("edition=\"2023\"; f = 1 [default = \";\"];", &format!("{head}; f = 1 [defval_ = \";\"];"));
        check("edition=\"2023\"; default = 1;", &format!("{head}; default = 1;"));
    }

    #[test]
    fn every_prefix_is_survived() {
        let text =
            "edition = \"2023\"; message M { reserved a, b; string s = 1 [default = \"\\\"é\"]; /* c */ }";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let prefix = &text[..end];
            if let Some((span, _)) = statement(prefix) {
                assert!(as_proto3(prefix, span).len() >= prefix.len());
            }
        }
    }
}
