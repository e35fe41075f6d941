//! What the interface shows of a capture, and where the reader is in it.
//! Never reads a frame, a key or the terminal: moves are plain functions of the state.

use std::collections::{BTreeSet, HashMap};

use super::detail::{Detail, Place};
use super::frames::{Lanes, Mistake, Said};
use super::layout::{Layout, Size};

/// The three panes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pane {
    /// The list of frames.
    List,
    /// The tree of the frame's message.
    Tree,
    /// Its bytes.
    Hex,
}

/// What fills the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The three panes.
    Frames,
    /// The timeline.
    Lanes,
    /// What was said.
    Said,
    /// The keys.
    Help,
}

/// What is asked for on the last line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// A display filter.
    Filter,
    /// A text to look for.
    Search,
    /// A frame's number.
    Number,
    /// A file to write to.
    Write,
    /// Whether to write over a file.
    Overwrite,
    /// What to copy.
    Copy,
}

/// A line being typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prompt {
    /// What it is for.
    pub ask: Ask,
    /// What has been typed.
    pub text: String,
    /// The caret, in bytes of `text`, at a character.
    pub caret: usize,
    /// What is wrong with it so far.
    pub mistake: Option<Mistake>,
    /// What the word at the caret may become, and which of them stands there now.
    pub words: Vec<String>,
    /// The chosen one.
    pub word: Option<usize>,
    /// Where that word begins.
    pub word_start: usize,
    /// How far back in what was typed before.
    pub back: usize,
}

/// A pane with a cursor and a first line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cursor {
    /// The line the cursor is on.
    pub at: usize,
    /// The first line that is shown.
    pub top: usize,
}

impl Cursor {
    /// Moves to a line, within `len`, and brings it into a window of `height` lines.
    pub fn go(&mut self, at: usize, len: usize, height: usize) {
        self.at = at.min(len.saturating_sub(1));
        self.show(len, height);
    }

    /// Moves by a number of lines.
    pub fn step(&mut self, by: isize, len: usize, height: usize) {
        self.go(self.at.saturating_add_signed(by), len, height);
    }

    /// Scrolls by a number of lines; the cursor stays in the window.
    pub fn scroll(&mut self, by: isize, len: usize, height: usize) {
        self.top = self.top.saturating_add_signed(by).min(len.saturating_sub(height));
        let last = (self.top + height).saturating_sub(1).min(len.saturating_sub(1));
        self.at = self.at.clamp(self.top.min(last), last);
    }

    /// Brings the cursor into the window.
    pub fn show(&mut self, len: usize, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(height));
        self.top = self.top.min(len.saturating_sub(height));
    }
}

/// The axis of the timeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    /// The first moment shown, as a part of the whole.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// Whether it counts time; else frames.
    pub by_time: bool,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct State {
    /// The terminal's size.
    pub size: Size,
    /// What fills the screen.
    pub view: View,
    /// The pane that keys go to.
    pub focus: Pane,
    /// Whether that pane has the whole screen.
    pub zoomed: bool,
    /// Lines that the list is given more (or less) than usual.
    pub grown: i16,
    /// Frames shown.
    pub len: usize,
    /// The list.
    pub list: Cursor,
    /// Whether the list stays at its end as frames come.
    pub tail: bool,
    /// The frame that is open.
    pub detail: Detail,
    /// Lines of the tree that are not folded away.
    pub shown: Vec<u32>,
    /// The tree; it counts in `shown`.
    pub tree: Cursor,
    /// Sections and fields that were folded or unfolded by hand, by their path.
    pub folds: HashMap<String, bool>,
    /// Whether the tree shows field numbers and types.
    pub types: bool,
    /// The tab of bytes.
    pub tab: usize,
    /// The first row of bytes that is shown.
    pub hex_top: usize,
    /// The byte that the cursor is on.
    pub byte: usize,
    /// The line being typed.
    pub prompt: Option<Prompt>,
    /// The filter that holds.
    pub filter: String,
    /// Filters and searches typed before, last first.
    pub history: Vec<String>,
    /// What is looked for.
    pub search: String,
    /// Whether looking goes backwards.
    pub search_back: bool,
    /// Digits typed before a key.
    pub count: Option<u64>,
    /// Frames that are marked.
    pub marks: BTreeSet<u64>,
    /// Frames that were left by a jump.
    pub trail: Vec<u64>,
    /// What there is to say, and whether it is a mistake.
    pub note: Option<(String, bool)>,
    /// The timeline.
    pub lanes: Lanes,
    /// Lanes that are not folded away.
    pub lanes_shown: Vec<u32>,
    /// The timeline's cursor; it counts in `lanes_shown`.
    pub lane: Cursor,
    /// Lanes that are folded.
    pub lanes_folded: BTreeSet<u32>,
    /// Its axis.
    pub axis: Axis,
    /// What was said.
    pub said: Vec<Said>,
    /// The stream that is shown.
    pub said_tab: usize,
    /// Its first line.
    pub said_top: usize,
    /// The lines of it, as wrapped: part and text.
    pub said_lines: Vec<(usize, String)>,
    /// The first line of the help.
    pub help_top: usize,
    /// The view below the help.
    pub under_help: View,
    /// Whether all is over.
    pub over: bool,
}

impl State {
    /// The state at the beginning.
    pub fn new(size: Size) -> Self {
        Self {
            size,
            view: View::Frames,
            focus: Pane::List,
            zoomed: false,
            grown: 0,
            len: 0,
            list: Cursor::default(),
            tail: false,
            detail: Detail::default(),
            shown: Vec::new(),
            tree: Cursor::default(),
            folds: HashMap::new(),
            types: false,
            tab: 0,
            hex_top: 0,
            byte: 0,
            prompt: None,
            filter: String::new(),
            history: Vec::new(),
            search: String::new(),
            search_back: false,
            count: None,
            marks: BTreeSet::new(),
            trail: Vec::new(),
            note: None,
            lanes: Lanes::default(),
            lanes_shown: Vec::new(),
            lane: Cursor::default(),
            lanes_folded: BTreeSet::new(),
            axis: Axis { from: 0.0, to: 1.0, by_time: true },
            said: Vec::new(),
            said_tab: 0,
            said_top: 0,
            said_lines: Vec::new(),
            help_top: 0,
            under_help: View::Frames,
            over: false,
        }
    }

    /// Where everything stands.
    pub fn layout(&self) -> Layout {
        Layout::of(self)
    }

    /// The terminal has another size.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        let layout = self.layout();
        self.list.show(self.len, layout.list_rows());
        self.tree.show(self.shown.len(), layout.tree_rows());
        self.lane.show(self.lanes_shown.len(), layout.lane_rows());
    }

    /// A frame has been opened: what was folded stays so, the tab stays where there is one.
    pub fn open(&mut self, detail: Detail) {
        let path = self.tree_path();
        self.detail = detail;
        self.refold();
        let same =
            (!path.is_empty()).then(|| self.shown.iter().position(|l| self.fold_key(*l as usize) == path));
        let root = self.shown.iter().position(|l| *l == self.detail.root).unwrap_or(0);
        let rows = self.layout().tree_rows();
        self.tree.top = 0;
        self.tree.go(same.flatten().unwrap_or(root), self.shown.len(), rows);
        self.follow_line(self.tab.min(self.detail.tabs.len().saturating_sub(1)) != self.tab);
    }

    fn tree_path(&self) -> String {
        self.line().map_or_else(String::new, |line| self.fold_key(line))
    }

    /// The line of the detail that the tree's cursor is on.
    pub fn line(&self) -> Option<usize> {
        self.shown.get(self.tree.at).map(|l| *l as usize)
    }

    /// The name by which a line's folding is remembered: the same field of the next frame has the same.
    pub fn fold_key(&self, line: usize) -> String {
        let Some(found) = self.detail.lines.get(line) else { return String::new() };
        let head = if found.depth == 0 {
            // A frame's number and a message's type are not what people fold by.
            found.name.split_whitespace().next().unwrap_or("").to_owned()
        } else {
            let path = self.detail.path(line);
            if path.is_empty() { found.name.clone() } else { path }
        };
        if line as u32 == self.detail.root { "message".to_owned() } else { format!("{}:{head}", found.depth) }
    }

    /// Whether a line with lines in it is open.
    pub fn is_open(&self, line: usize) -> bool {
        let Some(found) = self.detail.lines.get(line) else { return false };
        if !self.folds.is_empty()
            && let Some(open) = self.folds.get(&self.fold_key(line))
        {
            return *open;
        }
        if found.depth == 0 {
            let size = found.end as usize - line;
            return line as u32 == self.detail.root || size < 8 && found.name == "Findings";
        }
        // A long message begins folded below its first levels.
        self.detail.lines.len() < 400 || found.depth < 3
    }

    /// Works out which lines are not folded away.
    pub fn refold(&mut self) {
        let mut shown = Vec::new();
        let mut at = 0;
        while let Some(line) = self.detail.lines.get(at) {
            shown.push(at as u32);
            let has_more = line.end as usize > at + 1;
            at = if has_more && !self.is_open(at) { line.end as usize } else { at + 1 };
        }
        self.shown = shown;
    }

    /// Folds or unfolds the line of the cursor; `None` turns it round.
    pub fn fold(&mut self, open: Option<bool>) {
        let Some(line) = self.line() else { return };
        let has_more = self.detail.lines.get(line).is_some_and(|l| l.end as usize > line + 1);
        if !has_more {
            return;
        }
        let open = open.unwrap_or(!self.is_open(line));
        self.folds.insert(self.fold_key(line), open);
        self.refold_at(line);
    }

    /// Folds or unfolds the line of the cursor and all within it.
    pub fn fold_all(&mut self, open: bool) {
        let Some(line) = self.line() else { return };
        let end = self.detail.lines.get(line).map_or(0, |l| l.end as usize);
        for at in line..end.min(line + 10_000) {
            if self.detail.lines.get(at).is_some_and(|l| l.end as usize > at + 1) {
                self.folds.insert(self.fold_key(at), open);
            }
        }
        self.refold_at(line);
    }

    fn refold_at(&mut self, line: usize) {
        self.refold();
        let at = self.shown.iter().position(|l| *l as usize == line).unwrap_or(0);
        let rows = self.layout().tree_rows();
        self.tree.go(at, self.shown.len(), rows);
    }

    /// Puts the tree's cursor on a line, opening what it stands within.
    pub fn go_to_line(&mut self, line: usize) {
        let mut around = self.detail.parent(line);
        while let Some(at) = around {
            if !self.is_open(at) {
                self.folds.insert(self.fold_key(at), true);
            }
            around = self.detail.parent(at);
        }
        self.refold_at(line);
    }

    /// The bytes of the line that the cursor is on.
    pub fn place(&self) -> Option<Place> {
        self.detail.lines.get(self.line()?)?.place
    }

    /// Shows the bytes of the tree's line: in the tab that is shown, or in its own where that has none.
    pub fn follow_line(&mut self, own_tab: bool) {
        let last = self.detail.tabs.len().saturating_sub(1);
        self.tab = self.tab.min(last);
        let Some(place) = self.place() else {
            self.byte = 0;
            self.hex_top = 0;
            return;
        };
        if own_tab || self.detail.lit(place, self.tab).is_none() || place.tab > self.tab {
            self.tab = place.tab.min(last);
        }
        if let Some(lit) = self.detail.lit(place, self.tab) {
            self.byte = lit.tag;
            self.show_byte(lit.tag, lit.end);
        }
    }

    /// Brings bytes into the window, the first of them first.
    pub fn show_byte(&mut self, from: usize, to: usize) {
        let layout = self.layout();
        let (rows, width) = (layout.hex_rows().max(1), layout.hex_width());
        let (first, last) = (from / width, to.saturating_sub(1).max(from) / width);
        if last >= self.hex_top + rows {
            self.hex_top = (last + 1).saturating_sub(rows);
        }
        self.hex_top = self.hex_top.min(first);
    }

    /// Shows another tab, at the bytes that correspond.
    pub fn turn_tab(&mut self, by: isize) {
        let count = self.detail.tabs.len();
        if count == 0 {
            return;
        }
        self.tab = (self.tab as isize + by).rem_euclid(count as isize) as usize;
        self.hex_top = 0;
        self.byte = 0;
        if let Some(lit) = self.place().and_then(|p| self.detail.lit(p, self.tab)) {
            self.byte = lit.tag;
            self.show_byte(lit.tag, lit.end);
        }
    }

    /// The byte cursor has moved: the tree goes to the field that it is in.
    pub fn follow_byte(&mut self) {
        let length = self.detail.tabs.get(self.tab).map_or(0, |t| t.bytes.len());
        self.byte = self.byte.min(length.saturating_sub(1));
        self.show_byte(self.byte, self.byte + 1);
        if let Some(line) = self.detail.line_at(self.tab, self.byte) {
            let (byte, top) = (self.byte, self.hex_top);
            self.go_to_line(line);
            (self.byte, self.hex_top) = (byte, top);
        }
    }

    /// The timeline as it is by now; folded lanes stay so.
    pub fn set_lanes(&mut self, lanes: Lanes) {
        self.lanes = lanes;
        self.relane();
    }

    /// Works out which lanes are not folded away.
    pub fn relane(&mut self) {
        let mut shown = Vec::new();
        let mut at = 0;
        while let Some(lane) = self.lanes.get(at) {
            shown.push(at as u32);
            let next = if self.lanes_folded.contains(&(at as u32)) { lane.end as usize } else { at + 1 };
            at = next.max(at + 1);
        }
        self.lanes_shown = shown;
        let rows = self.layout().lane_rows();
        self.lane.go(self.lane.at, self.lanes_shown.len(), rows);
    }

    /// Says something on the last line.
    pub fn say(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), false));
    }

    /// Says on the last line that something cannot be done.
    pub fn refuse(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), true));
    }
}
