//! A frame opened: lines that fold, and the bytes they come from, one tab for each step between wire and message.
//! Never holds a secret in a line, nor shows its bytes in a tab, unless told.

mod build;
mod json;
mod message;
mod tabs;

use crate::base::Severity;

pub use build::{Facts, build};
pub use tabs::{From, Tab};

/// What a line is, for its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// Heads a section: frame, envelope, head, message.
    Section,
    /// A field that the schema knows, or a fact.
    Field,
    /// A field that the schema does not know.
    Unknown,
    /// Its value is hidden.
    Hidden,
    /// An encoding that was opened.
    Opened,
    /// Another frame that it leads to.
    Link,
    /// A finding.
    Finding(Severity),
}

/// A range of the bytes of a tab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The tab.
    pub tab: usize,
    /// Where the tag begins.
    pub tag: usize,
    /// Where the content begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// One line of a frame's tree. Its texts are clean.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// How deep it stands.
    pub depth: u16,
    /// The first line that is not within it.
    pub end: u32,
    /// The line that it stands within.
    pub parent: Option<u32>,
    /// The field's name, or what is told.
    pub name: String,
    /// Field number and type, shown when asked for.
    pub meta: String,
    /// Its value.
    pub value: String,
    /// What else there is to say.
    pub note: String,
    /// What it is.
    pub tone: Tone,
    /// Its bytes.
    pub place: Option<Place>,
    /// Its step in a path; empty where it is none.
    pub step: String,
    /// The frame that it leads to.
    pub jump: Option<u64>,
    /// The worst finding about it.
    pub severity: Option<Severity>,
}

/// A frame opened.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// Its number.
    pub number: u64,
    /// Its lines, depth first.
    pub lines: Vec<Line>,
    /// Bytes: as sent first, each further step after what it was made from.
    pub tabs: Vec<Tab>,
    /// The message as JSON, credentials hidden.
    pub message: String,
    /// The line that the message begins at.
    pub root: u32,
}

impl Detail {
    /// The path of a line from the root of its message; empty where it has none.
    pub fn path(&self, line: usize) -> String {
        let mut steps = Vec::new();
        let mut at = Some(line);
        while let Some(found) = at.and_then(|at| self.lines.get(at)) {
            if !found.step.is_empty() {
                steps.push(found.step.as_str());
            }
            at = at.and_then(|at| self.parent(at));
        }
        steps.reverse();
        steps.join(".")
    }

    /// The line that one stands within.
    pub fn parent(&self, line: usize) -> Option<usize> {
        self.lines.get(line)?.parent.map(|parent| parent as usize)
    }

    /// Settles ends and parents: `end` of lines without lines in them, `parent` of all, from their depth.
    pub(super) fn settle(&mut self) {
        let mut around: Vec<(u16, u32)> = Vec::new();
        for (at, line) in self.lines.iter_mut().enumerate() {
            let at = at as u32;
            line.end = line.end.max(at + 1);
            while around.last().is_some_and(|(depth, _)| *depth >= line.depth) {
                around.pop();
            }
            line.parent = around.last().map(|(_, parent)| *parent);
            around.push((line.depth, at));
        }
    }

    /// The innermost line whose bytes hold a byte of a tab.
    pub fn line_at(&self, tab: usize, byte: usize) -> Option<usize> {
        let holds = |p: &Place| p.tab == tab && (p.tag..p.end).contains(&byte);
        let found = self.lines.iter().enumerate().filter(|(_, l)| l.place.as_ref().is_some_and(holds));
        // Of equals the later is the deeper; findings stand apart from the message.
        found
            .filter(|(_, l)| !matches!(l.tone, Tone::Finding(_)))
            .min_by_key(|(at, l)| (l.place.map_or(usize::MAX, |p| p.end - p.tag), usize::MAX - at))
            .map(|(at, _)| at)
    }

    /// What a place is in a tab: its own bytes, or those that it was made from.
    pub fn lit(&self, place: Place, tab: usize) -> Option<Place> {
        let mut at = place;
        while at.tab > tab {
            at = self.tabs.get(at.tab)?.from?.place(at);
        }
        (at.tab == tab).then_some(at)
    }
}

#[cfg(test)]
mod tests;
