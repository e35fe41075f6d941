//! Paths: names with dots between, `*` for any member, `**` for any depth, `[2]` and `["key"]`.
//! Never knows what a name stands for.

use std::ops::Range;

use super::Error;

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A member.
    Name(String),
    /// Any member: `*`.
    Any,
    /// Any number of members, none too: `**`.
    Deep,
    /// An element of a list: `[2]`.
    Index(usize),
}

/// Steps with their places in the expression.
pub type Steps = Vec<(Step, Range<usize>)>;

/// Whether a path may begin with a character.
pub fn begins(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '*')
}

fn inside(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-' | '@')
}

/// Reads a path at the beginning of `rest`, which lies at `at`; gives its length.
pub fn lex(rest: &str, at: usize) -> Result<(Steps, usize), Error> {
    let mut steps = Vec::new();
    let mut i = 0;
    let char_at = |i: usize| rest.get(i..).and_then(|r| r.chars().next());
    loop {
        match char_at(i) {
            Some('*') => {
                let length = 1 + usize::from(char_at(i + 1) == Some('*'));
                let step = if length == 2 { Step::Deep } else { Step::Any };
                steps.push((step, at + i..at + i + length));
                i += length;
            }
            Some(c) if inside(c) => {
                let name: String =
                    rest.get(i..).unwrap_or_default().chars().take_while(|c| inside(*c)).collect();
                let length = name.len();
                steps.push((Step::Name(name), at + i..at + i + length));
                i += length;
            }
            found => {
                let end = at + i + found.map_or(0, char::len_utf8);
                return Err(Error::new(at + i..end, "a path goes on with a name, * or ** after the dot"));
            }
        }
        while char_at(i) == Some('[') {
            i += bracket(rest.get(i..).unwrap_or_default(), at + i, &mut steps)?;
        }
        match char_at(i) {
            Some('.') if char_at(i + 1) != Some('.') => i += 1,
            _ => return Ok((steps, i)),
        }
    }
}

fn bracket(rest: &str, at: usize, steps: &mut Steps) -> Result<usize, Error> {
    let inside = rest.get(1..).unwrap_or_default();
    if let Some(quoted) = inside.strip_prefix('"')
        && let Some(end) = quoted.find("\"]")
    {
        let name = quoted.get(..end).unwrap_or_default();
        steps.push((Step::Name(name.to_owned()), at..at + end + 4));
        return Ok(end + 4);
    }
    let end = inside.find(']').unwrap_or(inside.len());
    let number = inside.get(..end).and_then(|n| n.parse().ok()).filter(|_| end < inside.len());
    let span = at..at + (end + 2).min(rest.len());
    match number {
        Some(number) => {
            steps.push((Step::Index(number), span));
            Ok(end + 2)
        }
        None => Err(Error::new(span, "brackets take the number of an element or a key in double quotes")),
    }
}

/// A path as it is written.
pub fn show<'a>(steps: impl IntoIterator<Item = &'a Step>) -> String {
    let mut out = String::new();
    for step in steps {
        if !out.is_empty() && !matches!(step, Step::Index(_)) {
            out.push('.');
        }
        match step {
            Step::Name(name) => out.push_str(name),
            Step::Any => out.push('*'),
            Step::Deep => out.push_str("**"),
            Step::Index(index) => out.push_str(&format!("[{index}]")),
        }
    }
    out
}
