//! Two messages field by field.
//! Never decides which messages belong together.

use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::entry::{hash, plain};
use super::ids::{Bijection, marked};
use super::path::push;
use super::{Change, Kind};

/// Lists of scalars up to this length are shown as a whole where they differ.
const SHORT: usize = 16;

/// Compares values of two runs.
pub(super) struct Values<'b, 'a> {
    pub ids: &'b mut Bijection<'a>,
    /// The runs that ids count within.
    pub groups: (u32, u32),
    pub out: Vec<Change>,
}

impl Values<'_, '_> {
    pub(super) fn compare(&mut self, path: &str, left: &Value, right: &Value) {
        match (left, right) {
            (Value::Object(l), Value::Object(r)) => match (opened(l), opened(r)) {
                (Some(inner_left), Some(inner_right)) => self.compare(path, inner_left, inner_right),
                (None, None) => self.objects(path, l, r),
                _ => self.changed(path, left, right),
            },
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

    fn changed(&mut self, path: &str, left: &Value, right: &Value) {
        self.note(Kind::Changed, path, Some(left), Some(right));
    }

    fn note(&mut self, kind: Kind, path: &str, left: Option<&Value>, right: Option<&Value>) {
        self.out.push(Change { kind, path: path.to_owned(), left: left.cloned(), right: right.cloned() });
    }

    fn objects(&mut self, path: &str, left: &Map<String, Value>, right: &Map<String, Value>) {
        let mut seen: Vec<&str> = Vec::new();
        for (key, value) in left {
            let found = match right.get_key_value(key).filter(|_| marked(key).is_none()) {
                Some(found) => Some(found),
                None => self.same_key(key, value, right, &seen),
            };
            match found {
                Some((other_key, other)) => {
                    seen.push(other_key);
                    self.compare(&self.step(path, true, key), value, other);
                }
                None => self.note(Kind::Removed, &self.step(path, true, key), Some(value), None),
            }
        }
        for (key, value) in right {
            if !seen.contains(&key.as_str()) {
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
        seen: &[&str],
    ) -> Option<(&'r String, &'r Value)> {
        marked(key)?;
        let free = || right.iter().filter(|(k, _)| marked(k).is_some() && !seen.contains(&k.as_str()));
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
        let scalars =
            |list: &[Value]| list.len() <= SHORT && list.iter().all(|v| !v.is_object() && !v.is_array());
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

/// What an opened encoding holds; how it was encoded is not content.
fn opened(object: &Map<String, Value>) -> Option<&Value> {
    object.get("$encoding").and(object.get("$value"))
}

/// Replaces marks by names, and undoes escapes.
pub(super) fn named(value: &mut Value, ids: &Bijection<'_>, left: bool, group: u32) {
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

/// Two texts word by word: pieces of both in order, each with whether the left, the right or both have it.
pub fn words<'t>(left: &'t str, right: &'t str) -> Vec<(Option<Kind>, &'t str)> {
    let (old, new) = (tokens(left), tokens(right));
    let mut out: Vec<(Option<Kind>, &'t str)> = Vec::new();
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
    out
}

/// Words, runs of blanks, and single signs: where each begins and ends.
fn tokens(text: &str) -> Vec<(usize, usize)> {
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
