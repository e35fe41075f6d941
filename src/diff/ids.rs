//! Ids of two sessions: which of them stand for the same thing, and what they are called.
//! Never compares values: an id is what it is by where it stands.

use std::collections::HashMap;

use crate::session::essence::MARK;

/// The ids of one session.
#[derive(Default)]
pub(super) struct Table {
    known: HashMap<(u16, u32, Box<str>), u32>,
    /// By number: namespace, scope, and the place by order of appearance in them, from 1.
    list: Vec<(u16, u32, u32)>,
    counts: HashMap<(u16, u32), u32>,
    /// Keys of namespaces, and whether their ids count within a run.
    namespaces: HashMap<u16, (String, bool)>,
}

impl Table {
    /// Notes a namespace.
    pub(super) fn namespace(&mut self, number: u16, about: impl FnOnce() -> (String, bool)) {
        self.namespaces.entry(number).or_insert_with(about);
    }

    /// The number of an id, by the run it was seen in.
    pub(super) fn intern(&mut self, namespace: u16, group: u32, value: &str) -> u32 {
        let scope = self.scope(namespace, group);
        if let Some(number) = self.known.get(&(namespace, scope, value.into())) {
            return *number;
        }
        let count = self.counts.entry((namespace, scope)).or_default();
        *count += 1;
        self.list.push((namespace, scope, *count));
        let number = (self.list.len() - 1) as u32;
        self.known.insert((namespace, scope, value.into()), number);
        number
    }

    fn find(&self, namespace: u16, group: u32, value: &str) -> Option<u32> {
        self.known.get(&(namespace, self.scope(namespace, group), value.into())).copied()
    }

    fn scope(&self, namespace: u16, group: u32) -> u32 {
        if self.namespaces.get(&namespace).is_some_and(|(_, within)| *within) { group } else { u32::MAX }
    }

    fn len(&self) -> usize {
        self.list.len()
    }
}

/// Reads a mark: namespace and value.
pub(super) fn marked(text: &str) -> Option<(u16, &str)> {
    let (namespace, value) = text.strip_prefix(MARK)?.strip_prefix('i')?.split_once(' ')?;
    Some((namespace.parse().ok()?, value))
}

/// Which ids of the left session are which of the right one.
pub(super) struct Bijection<'a> {
    left: &'a Table,
    right: &'a Table,
    to_right: Vec<Option<u32>>,
    to_left: Vec<Option<u32>>,
}

impl<'a> Bijection<'a> {
    pub(super) fn new(left: &'a Table, right: &'a Table) -> Self {
        Self { left, right, to_right: vec![None; left.len()], to_left: vec![None; right.len()] }
    }

    /// Whether two ids stand for the same thing; two that are new both do so from now on.
    pub(super) fn same(&mut self, left: u32, right: u32) -> bool {
        let known = |list: &[Option<u32>], at: u32| list.get(at as usize).copied().flatten();
        match (known(&self.to_right, left), known(&self.to_left, right)) {
            (None, None) => {
                if let (Some(l), Some(r)) =
                    (self.to_right.get_mut(left as usize), self.to_left.get_mut(right as usize))
                {
                    (*l, *r) = (Some(right), Some(left));
                }
                true
            }
            (found, _) => found == Some(right),
        }
    }

    /// The same for two texts, by the runs they stand in; `None` where one is no id.
    pub(super) fn same_texts(&mut self, groups: (u32, u32), left: &str, right: &str) -> Option<bool> {
        let ((ns_left, value_left), (ns_right, value_right)) = (marked(left)?, marked(right)?);
        let left = self.left.find(ns_left, groups.0, value_left)?;
        let right = self.right.find(ns_right, groups.1, value_right)?;
        Some(ns_left == ns_right && self.same(left, right))
    }

    /// A number by which equal ids of the two sessions are equal; 0 where it is not known yet.
    pub(super) fn token(&self, left: bool, id: u32) -> u64 {
        let list = if left { &self.to_right } else { &self.to_left };
        match list.get(id as usize).copied().flatten() {
            None => 0,
            Some(_) if left => u64::from(id) + 1,
            Some(left) => u64::from(left) + 1,
        }
    }

    /// The name of an id: that of the left session where both have it.
    pub(super) fn name(&self, left: bool, group: u32, text: &str) -> Option<String> {
        let (namespace, value) = marked(text)?;
        let table = if left { self.left } else { self.right };
        let id = table.find(namespace, group, value)?;
        let (mut namespace, mut scope, mut place) = *table.list.get(id as usize)?;
        if !left {
            match self
                .to_left
                .get(id as usize)
                .copied()
                .flatten()
                .and_then(|l| self.left.list.get(l as usize))
            {
                Some(found) => (namespace, scope, place) = *found,
                // Only the right session has it: it is numbered after those of the left one.
                None => {
                    let least = if scope == u32::MAX { scope } else { group };
                    place += self.left.counts.get(&(namespace, least)).copied().unwrap_or(0);
                }
            }
        }
        let _ = scope;
        let (key, _) = table.namespaces.get(&namespace)?;
        Some(format!("{key}#{place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_same_places_is_the_same() {
        let mut tables = [Table::default(), Table::default()];
        for (table, names) in tables.iter_mut().zip([["a", "b"], ["x", "y"]]) {
            table.namespace(0, || ("call".to_owned(), false));
            names.iter().for_each(|n| {
                table.intern(0, 0, n);
            });
        }
        let [left, right] = &tables;
        let mut both = Bijection::new(left, right);
        assert!(both.same(0, 1) && both.same(0, 1));
        assert!(!both.same(0, 0) && !both.same(1, 1));
        assert_eq!(both.name(false, 0, "\u{1}i0 y").as_deref(), Some("call#1"));
        assert_eq!(both.name(false, 0, "\u{1}i0 x").as_deref(), Some("call#3"));
        assert_eq!(both.name(true, 0, "\u{1}i0 b").as_deref(), Some("call#2"));
        assert_eq!(both.name(true, 0, "plain"), None);
    }
}
