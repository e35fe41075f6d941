//! Byte spaces of a frame, each with where it was made from.
//! Never maps a byte to one that it was not made from: where steps blur, the whole is meant.

use std::ops::Range;

use bytes::Bytes;

use super::Place;

/// Where a tab's bytes were made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct From {
    /// The tab.
    pub tab: usize,
    /// The first byte there.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Bytes there for each byte here: 1, or 2 for hex; 0 where only the whole corresponds.
    pub step: usize,
}

impl From {
    /// A place in the tab that it was made from.
    pub fn place(&self, place: Place) -> Place {
        let map = |at: usize| match self.step {
            0 => None,
            step => at.checked_mul(step)?.checked_add(self.start).filter(|at| *at <= self.end),
        };
        match (map(place.tag), map(place.start), map(place.end)) {
            (Some(tag), Some(start), Some(end)) => Place { tab: self.tab, tag, start, end },
            _ => Place { tab: self.tab, tag: self.start, start: self.start, end: self.end },
        }
    }
}

/// Bytes to show.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Tab {
    /// What they are: `frame`, `inflated`, `from hex`.
    pub name: String,
    /// The bytes.
    pub bytes: Bytes,
    /// What is not shown of them.
    pub hidden: Vec<Range<usize>>,
    /// Where they were made from.
    pub from: Option<From>,
}

/// Hides bytes of a tab, and those that they were made from.
pub(super) fn hide(tabs: &mut [Tab], place: Place) {
    let mut at = place;
    while let Some(tab) = tabs.get_mut(at.tab) {
        tab.hidden.push(at.start..at.end);
        let Some(from) = tab.from.filter(|from| from.tab < at.tab) else { return };
        at = from.place(at);
    }
}

impl Tab {
    /// Whether a byte is hidden.
    pub fn hides(&self, at: usize) -> bool {
        self.hidden.iter().any(|range| range.contains(&at))
    }

    /// Puts what is hidden in order, so that looking it up stays short.
    pub(super) fn settle(&mut self) {
        self.hidden.sort_by_key(|r| (r.start, r.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in self.hidden.drain(..) {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.hidden = merged;
    }
}
