//! Two messages field by field.
//! Never decides which messages belong together.

use std::collections::HashSet;

use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::entry::{hash, plain};
use super::ids::{Bijection, marked};
use super::path::push;
use super::untyped::{self, Form, form};
use super::{Change, Kind};

/// Lists of scalars up to this length are shown as a whole where they differ.
const SHORT: usize = 16;
/// Texts up to this length, in bytes, do not have to be looked into.
const WORDY: usize = 40;
/// Words that are compared one by one, at most; of more, whole lines are.
const MAX_WORDS: usize = 4_000;

/// Compares values of two runs.
pub(super) struct Values<'b, 'a> {
    pub ids: &'b mut Bijection<'a>,
    /// The runs that ids count within.
    pub groups: (u32, u32),
    /// Whether what is compared was decoded without a type.
    pub guessed: bool,
    pub out: Vec<Change>,
}

impl Values<'_, '_> {
    pub(super) fn compare(&mut self, path: &str, left: &Value, right: &Value) {
        match (left, right) {
            (Value::Object(l), Value::Object(r)) => match (form(l), form(r)) {
                (Form::Bytes(l, _), Form::Bytes(r, _)) if l == r => {}
                (Form::Bytes(_, Some(l)), Form::Bytes(_, Some(r))) => self.within(true, path, l, r),
                (Form::Opened(l, guessed), Form::Opened(r, _)) => self.within(guessed, path, l, r),
                (Form::Plain, Form::Plain) => self.objects(path, l, r),
                _ => self.changed(path, left, right),
            },
            // What is a message on one side may look like text on the other.
            (Value::Object(l), Value::String(text)) if self.guessed && matches!(form(l), Form::Plain) => {
                match untyped::text_as_message(text) {
                    Some(right) => self.compare(path, left, &right),
                    None => self.changed(path, left, right),
                }
            }
            (Value::String(text), Value::Object(r)) if self.guessed && matches!(form(r), Form::Plain) => {
                match untyped::text_as_message(text) {
                    Some(left) => self.compare(path, &left, right),
                    None => self.changed(path, left, right),
                }
            }
            (Value::Array(l), Value::Array(r)) => self.lists(path, left, right, l, r),
            (Value::String(l), Value::String(r)) => {
                let same = self.ids.same_texts(self.groups, l, r).unwrap_or(l == r);
                if !same {
                    self.changed(path, left, right);
                }
            }
            _ if left == right => {}
            _ => self.changed(path, left, right),
        }
    }

    /// What stands inside an encoding.
    fn within(&mut self, guessed: bool, path: &str, left: &Value, right: &Value) {
        let around = std::mem::replace(&mut self.guessed, guessed);
        self.compare(path, left, right);
        self.guessed = around;
    }

    fn changed(&mut self, path: &str, left: &Value, right: &Value) {
        self.note(Kind::Changed, path, Some(left), Some(right));
    }

    fn note(&mut self, kind: Kind, path: &str, left: Option<&Value>, right: Option<&Value>) {
        self.out.push(Change { kind, path: path.to_owned(), left: left.cloned(), right: right.cloned() });
    }

    fn objects(&mut self, path: &str, left: &Map<String, Value>, right: &Map<String, Value>) {
        let mut seen: HashSet<&str> = HashSet::new();
        for (key, value) in left {
            let found = match right.get_key_value(key).filter(|_| marked(key).is_none()) {
                Some(found) => Some(found),
                None => self.same_key(key, value, right, &seen),
            };
            match found {
                Some((other_key, other)) => {
                    seen.insert(other_key);
                    self.compare(&self.step(path, true, key), value, other);
                }
                None => self.note(Kind::Removed, &self.step(path, true, key), Some(value), None),
            }
        }
        for (key, value) in right {
            if !seen.contains(key.as_str()) {
                self.note(Kind::Added, &self.step(path, false, key), None, Some(value));
            }
        }
    }

    /// The member of a map whose key is an id that stands for the same thing.
    fn same_key<'r>(
        &mut self,
        key: &str,
        value: &Value,
        right: &'r Map<String, Value>,
        seen: &HashSet<&str>,
    ) -> Option<(&'r String, &'r Value)> {
        marked(key)?;
        let free = || right.iter().filter(|(k, _)| marked(k).is_some() && !seen.contains(k.as_str()));
        let wanted = hash(value, &mut Vec::new());
        let alike = free().filter(|(_, v)| hash(v, &mut Vec::new()) == wanted);
        let mut candidates = alike.chain(free());
        candidates.find(|(k, _)| self.ids.same_texts(self.groups, key, k) == Some(true))
    }

    fn step(&self, path: &str, left: bool, key: &str) -> String {
        let group = if left { self.groups.0 } else { self.groups.1 };
        match self.ids.name(left, group, key) {
            Some(name) => push(path, &name),
            None => push(path, plain(key)),
        }
    }

    fn lists(&mut self, path: &str, left: &Value, right: &Value, l: &[Value], r: &[Value]) {
        let is_short = |value: &Value| match value {
            Value::String(text) => text.len() <= WORDY,
            value => !value.is_object() && !value.is_array(),
        };
        let scalars = |list: &[Value]| list.len() <= SHORT && list.iter().all(is_short);
        let hashes = |list: &[Value]| list.iter().map(|v| hash(v, &mut Vec::new())).collect::<Vec<_>>();
        let (tokens_left, tokens_right) = (hashes(l), hashes(r));
        if tokens_left != tokens_right && scalars(l) && scalars(r) {
            return self.changed(path, left, right);
        }
        let at = |place: usize| format!("{path}[{place}]");
        for op in capture_diff_slices(Algorithm::Myers, &tokens_left, &tokens_right) {
            let (old, new) = (op.old_range(), op.new_range());
            let both = old.len().min(new.len());
            let common = matches!(op, DiffOp::Equal { .. } | DiffOp::Replace { .. });
            let paired = if common { both } else { 0 };
            for (i, k) in old.clone().zip(new.clone()).take(paired) {
                if let (Some(left), Some(right)) = (l.get(i), r.get(k)) {
                    self.compare(&at(i), left, right);
                }
            }
            for i in old.skip(paired) {
                self.note(Kind::Removed, &at(i), l.get(i), None);
            }
            for k in new.skip(paired) {
                self.note(Kind::Added, &at(k), None, r.get(k));
            }
        }
    }
}

/// Replaces marks by names, undoes escapes, and leaves of what was opened for comparing what is to be shown.
pub(super) fn named(value: &mut Value, ids: &Bijection<'_>, left: bool, group: u32) {
    untyped::shown(value);
    match value {
        Value::String(text) => match ids.name(left, group, text) {
            Some(name) => *text = name,
            None => *text = super::secret::shown(plain(text)).to_owned(),
        },
        Value::Array(elements) => elements.iter_mut().for_each(|v| named(v, ids, left, group)),
        Value::Object(object) => {
            for (key, mut value) in std::mem::take(object) {
                named(&mut value, ids, left, group);
                object.insert(ids.name(left, group, &key).unwrap_or(key), value);
            }
        }
        _ => {}
    }
}

/// Two texts word by word: pieces of both in order, each with whether the left, the right or both have it. What would
/// take too long word by word goes line by line, and what would then, as a whole.
pub fn words<'t>(left: &'t str, right: &'t str) -> Vec<(Option<Kind>, &'t str)> {
    let mut out: Vec<(Option<Kind>, &'t str)> = Vec::new();
    let (begin, end) = common(left, right);
    let part = |text: &'t str| text.get(begin..text.len() - end).unwrap_or_default();
    let (old, new) = (part(left), part(right));
    out.push((None, left.get(..begin).unwrap_or_default()));
    let [words, lines] = [word_tokens, line_tokens].map(|tokens| (tokens(old), tokens(new)));
    let fits = |(old, new): &(Vec<_>, Vec<_>)| old.len().max(new.len()) <= MAX_WORDS;
    match [words, lines].into_iter().find(fits) {
        Some(tokens) => pieces((old, new), tokens, &mut out),
        None => out.extend([(Some(Kind::Removed), old), (Some(Kind::Added), new)]),
    }
    out.push((None, left.get(left.len() - end..).unwrap_or_default()));
    out.retain(|(_, text)| !text.is_empty());
    out
}

/// How many bytes of two texts are the same at their beginning and at their end, up to the edge of a word.
fn common(left: &str, right: &str) -> (usize, usize) {
    // Where a word is too long to be one, any place is as good.
    const LONG: usize = 32;
    let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a).collect::<Vec<char>>()
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let length = |chars: &[char]| chars.iter().map(|c| c.len_utf8()).sum::<usize>();
    let mut begin = same(&mut left.chars(), &mut right.chars());
    let word = begin.iter().rev().take_while(|c| is_word(**c)).count();
    if word < LONG {
        begin.truncate(begin.len() - word);
    }
    let begin = length(&begin);
    let rest = |text: &str| text.get(begin..).unwrap_or_default().chars().rev().collect::<Vec<char>>();
    let mut end = same(&mut rest(left).into_iter(), &mut rest(right).into_iter());
    let word = end.iter().rev().take_while(|c| is_word(**c)).count();
    if word < LONG {
        end.truncate(end.len() - word);
    }
    (begin, length(&end))
}

type Tokens = Vec<(usize, usize)>;

fn pieces<'t>(
    (left, right): (&'t str, &'t str),
    (old, new): (Tokens, Tokens),
    out: &mut Vec<(Option<Kind>, &'t str)>,
) {
    let piece = |text: &'t str, list: &[(usize, usize)], range: std::ops::Range<usize>| {
        let (from, to) =
            (list.get(range.start).map(|t| t.0), list.get(range.end.wrapping_sub(1)).map(|t| t.1));
        from.zip(to).and_then(|(from, to)| text.get(from..to)).unwrap_or_default()
    };
    let texts = |text: &'t str, list: &[(usize, usize)]| {
        list.iter().map(|(from, to)| text.get(*from..*to).unwrap_or_default()).collect::<Vec<_>>()
    };
    for op in capture_diff_slices(Algorithm::Myers, &texts(left, &old), &texts(right, &new)) {
        if let DiffOp::Equal { .. } = op {
            out.push((None, piece(left, &old, op.old_range())));
            continue;
        }
        if !op.old_range().is_empty() {
            out.push((Some(Kind::Removed), piece(left, &old, op.old_range())));
        }
        if !op.new_range().is_empty() {
            out.push((Some(Kind::Added), piece(right, &new, op.new_range())));
        }
    }
}

/// Lines: where each begins and ends.
fn line_tokens(text: &str) -> Tokens {
    let mut at = 0;
    let ends = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), at)
    });
    ends.collect()
}

/// Words, runs of blanks, and single signs: where each begins and ends.
fn word_tokens(text: &str) -> Tokens {
    let class = |c: char| match c {
        '\n' => 0,
        c if c.is_whitespace() => 1,
        c if c.is_alphanumeric() || c == '_' => 2,
        _ => 3,
    };
    let mut out: Vec<(usize, usize)> = Vec::new();
    let mut before = None;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match out.last_mut() {
            Some(last) if before == Some(class(c)) && matches!(class(c), 1 | 2) => last.1 = end,
            _ => out.push((at, end)),
        }
        before = Some(class(c));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked() {
        use Kind::{Added, Removed};
        assert_eq!(
            words("what is it", "what was it"),
            [(None, "what "), (Some(Removed), "is"), (Some(Added), "was"), (None, " it")]
        );
        assert_eq!(words("", "a"), [(Some(Added), "a")]);
        assert_eq!(
            words("a, b", "a; b"),
            [(None, "a"), (Some(Removed), ","), (Some(Added), ";"), (None, " b")]
        );
    }
}
