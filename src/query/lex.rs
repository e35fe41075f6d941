//! The words of a filter with their places.
//! Never looks a name up.

use std::ops::Range;

use super::Error;
use super::steps::{self, Steps};

/// A word.
#[derive(Clone, PartialEq, Debug)]
pub enum Tok {
    /// A path: `message.a.*.b[2]`; a single step may be a keyword or a bare word.
    Path(Steps),
    /// Text in quotes.
    Text(String),
    /// `b"…"`, `0a:6a:00`
    Bytes(Vec<u8>),
    /// A whole number; hex digits as bytes where it was written in hex.
    Int(i128, Option<Vec<u8>>),
    /// A number with a point or an exponent.
    Float(f64),
    /// A duration in nanoseconds.
    Duration(i128),
    /// `==` and the like, in one spelling.
    Op(&'static str),
}

/// A word and its bytes in the expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub tok: Tok,
    pub span: Range<usize>,
}

const OPERATORS: &[(&str, &str)] = &[
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "and"),
    ("||", "or"),
    ("..", ".."),
    ("<", "<"),
    (">", ">"),
    ("!", "not"),
    ("~", "matches"),
    ("&", "&"),
    ("(", "("),
    (")", ")"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
];

/// Cuts an expression into words.
pub fn lex(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(c) = rest.chars().next() else { return Ok(tokens) };
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (tok, length) = word(rest, at)?;
        tokens.push(Token { tok, span: at..at + length });
        at += length;
    }
}

fn word(rest: &str, at: usize) -> Result<(Tok, usize), Error> {
    if let Some(length) = colon_bytes(rest) {
        let digits: String = rest.get(..length).unwrap_or_default().split(':').collect();
        return Ok((Tok::Bytes(hex_bytes(&digits)), length));
    }
    let c = rest.chars().next().unwrap_or_default();
    let quoted =
        |skip: usize| rest.get(skip..).and_then(|r| r.chars().next()).filter(|q| matches!(q, '"' | '\''));
    match c {
        '"' | '\'' => return text(rest, at, 0, c).map(|(t, n)| (Tok::Text(t), n)),
        'r' | 'R' if quoted(1).is_some() => return raw(rest, at, quoted(1).unwrap_or('"')),
        'b' if quoted(1).is_some() => return bytes(rest, at, quoted(1).unwrap_or('"')),
        '0'..='9' => return number(rest, at),
        '-' | '+' if rest.get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())) => {
            return number(rest, at);
        }
        _ => {}
    }
    if steps::begins(c) {
        let (path, length) = steps::lex(rest, at)?;
        return Ok((Tok::Path(path), length));
    }
    if let Some((spelled, op)) = OPERATORS.iter().find(|(spelled, _)| rest.starts_with(spelled)) {
        return Ok((Tok::Op(op), spelled.len()));
    }
    let error = Error::new(at..at + c.len_utf8(), format!("'{}' is no part of a filter", c.escape_debug()));
    Err(match c {
        '=' => error.help("equality is =="),
        '|' => error.help("write || or the word or"),
        '.' => error.help("a path begins with a name, as in message.text; --jq takes jq's"),
        _ => error,
    })
}

/// The length of `0a:6a:00`, where the text begins with two pairs at least.
fn colon_bytes(rest: &str) -> Option<usize> {
    let b = rest.as_bytes();
    let pair = |i: usize| {
        b.get(i).is_some_and(u8::is_ascii_hexdigit) && b.get(i + 1).is_some_and(u8::is_ascii_hexdigit)
    };
    let mut length = pair(0).then_some(2)?;
    while b.get(length) == Some(&b':') && pair(length + 1) {
        length += 3;
    }
    let ends = !b.get(length).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b':');
    (length > 2 && ends).then_some(length)
}

/// The bytes of hex digits; an odd one in front stands alone.
fn hex_bytes(digits: &str) -> Vec<u8> {
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    hex_simd::decode_to_vec(padded).unwrap_or_default()
}

fn unclosed(at: usize, length: usize) -> Error {
    Error::new(at..at + length, "the text has no closing quote")
}

fn text(rest: &str, at: usize, skip: usize, quote: char) -> Result<(String, usize), Error> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(skip + 1);
    while let Some((i, c)) = chars.next() {
        if c == quote {
            return Ok((out, i + 1));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some((_, escape)) = chars.next() else { break };
        let span = at + i..at + i + 1 + escape.len_utf8();
        match escape {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            '0' => out.push('\0'),
            '\\' | '"' | '\'' => out.push(escape),
            'u' => {
                let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                let c = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4);
                let Some(c) = c.and_then(char::from_u32) else {
                    return Err(Error::new(span, "\\u takes four hex digits of a character"));
                };
                out.push(c);
            }
            _ => {
                let error = Error::new(span, format!("unknown escape '\\{}'", escape.escape_debug()));
                return Err(error.help("write \\\\ for a backslash, or r\"…\" for a pattern as it is"));
            }
        }
    }
    Err(unclosed(at, rest.len()))
}

/// `r"…"`: no escapes.
fn raw(rest: &str, at: usize, quote: char) -> Result<(Tok, usize), Error> {
    let inside = rest.get(2..).unwrap_or_default();
    match inside.find(quote) {
        Some(end) => Ok((Tok::Text(inside.get(..end).unwrap_or_default().to_owned()), end + 3)),
        None => Err(unclosed(at, rest.len())),
    }
}

/// `b"…"`: bytes, with `\x0a`.
fn bytes(rest: &str, at: usize, quote: char) -> Result<(Tok, usize), Error> {
    let mut out = Vec::new();
    let b = rest.as_bytes();
    let mut i = 2;
    while let Some(byte) = b.get(i).copied() {
        if char::from(byte) == quote {
            return Ok((Tok::Bytes(out), i + 1));
        }
        if byte != b'\\' {
            out.push(byte);
            i += 1;
            continue;
        }
        let escape = b.get(i + 1).copied().unwrap_or_default();
        match escape {
            b'x' => {
                let value = rest.get(i + 2..i + 4).and_then(|d| u8::from_str_radix(d, 16).ok());
                let Some(value) = value else {
                    return Err(Error::new(at + i..at + i + 2, "\\x takes two hex digits"));
                };
                out.push(value);
                i += 2;
            }
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'0' => out.push(0),
            b'\\' | b'"' | b'\'' => out.push(escape),
            _ => return Err(Error::new(at + i..at + i + 1, "unknown escape; \\x0a is a byte")),
        }
        i += 2;
    }
    Err(unclosed(at, rest.len()))
}

/// Units of numbers: of durations in nanoseconds, of sizes in bytes.
const DURATIONS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const SIZES: &[(&str, i128)] = &[
    ("B", 1),
    ("K", 1 << 10),
    ("KB", 1 << 10),
    ("KiB", 1 << 10),
    ("k", 1 << 10),
    ("M", 1 << 20),
    ("MB", 1 << 20),
    ("MiB", 1 << 20),
    ("G", 1 << 30),
    ("GB", 1 << 30),
    ("GiB", 1 << 30),
];

fn number(rest: &str, at: usize) -> Result<(Tok, usize), Error> {
    let b = rest.as_bytes();
    let sign = usize::from(matches!(b.first(), Some(b'-' | b'+')));
    let negative = b.first() == Some(&b'-');
    let run = |from: usize, ok: fn(&u8) -> bool| b.iter().skip(from).take_while(|c| ok(c)).count();
    let is_hex = b.get(sign) == Some(&b'0') && matches!(b.get(sign + 1), Some(b'x' | b'X'));
    if is_hex {
        let from = sign + 2;
        let length = run(from, u8::is_ascii_alphanumeric);
        let digits = rest.get(from..from + length).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|d| d.is_ascii_hexdigit()) {
            return Err(Error::new(at..at + from + length, "0x takes hex digits"));
        }
        let bytes = hex_bytes(digits);
        return match i128::from_str_radix(digits, 16) {
            Ok(value) => Ok((Tok::Int(if negative { -value } else { value }, Some(bytes)), from + length)),
            // Longer than any number: bytes.
            Err(_) => Ok((Tok::Bytes(bytes), from + length)),
        };
    }
    let mut end = sign + run(sign, u8::is_ascii_digit);
    let mut whole = true;
    if b.get(end) == Some(&b'.') && b.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end += 1 + run(end + 1, u8::is_ascii_digit);
        whole = false;
    }
    let exponent = matches!(b.get(end), Some(b'e' | b'E'));
    let signed = usize::from(exponent && matches!(b.get(end + 1), Some(b'-' | b'+')));
    if exponent && b.get(end + 1 + signed).is_some_and(u8::is_ascii_digit) {
        end += 1 + signed + run(end + 1 + signed, u8::is_ascii_digit);
        whole = false;
    }
    let unit: String =
        rest.get(end..).unwrap_or_default().chars().take_while(|c| c.is_alphanumeric()).collect();
    let digits = rest.get(..end).unwrap_or_default();
    let total = end + unit.len();
    let span = at..at + total;
    let float: f64 = digits.parse().map_err(|_| Error::new(span.clone(), "expected a number"))?;
    let too_large = || Error::new(span.clone(), "the number is too large");
    let int = || digits.parse::<i128>().map_err(|_| too_large());
    let scaled = |factor: i128| -> Result<i128, Error> {
        if whole {
            int()?.checked_mul(factor).ok_or_else(too_large)
        } else {
            Ok((float * factor as f64).round() as i128)
        }
    };
    if unit.is_empty() {
        return Ok((if whole { Tok::Int(int()?, None) } else { Tok::Float(float) }, end));
    }
    if let Some((_, factor)) = DURATIONS.iter().find(|(name, _)| *name == unit) {
        return Ok((Tok::Duration(scaled(*factor)?), total));
    }
    if let Some((_, factor)) = SIZES.iter().find(|(name, _)| *name == unit) {
        return Ok((Tok::Int(scaled(*factor)?, None), total));
    }
    let error = Error::new(at + end..at + total, format!("unknown unit '{}'", unit.escape_debug()));
    Err(error.help("durations: ns us ms s m h d; sizes: K M G; text goes in quotes"))
}
