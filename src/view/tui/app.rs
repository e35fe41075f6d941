//! State and capture together: effects of keys carried out, what a screen needs fetched.
//! Never reads the clock, a file or the terminal: what only the machine can do is handed out.

mod copy;

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use crate::base::text::clean;

use super::draw::{self, Scene};
use super::frames::{Frames, Hunt, Progress, Row};
use super::keys::{self, Effect};
use super::layout::Size;
use super::palette::Palette;
use super::row::Columns;
use super::state::{Ask, State, View};
use super::{lanes, mouse, prompt};
use crate::view::text::TimeStyle;

/// Rows that are remembered.
const MAX_ROWS: usize = 4_096;
/// Jumps that are remembered.
const MAX_TRAIL: usize = 256;

/// What only the machine can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Out {
    /// Copy a text: what it is, the text, clean.
    Copy(&'static str, String),
    /// Write the records of these frames; the flag writes over a file that is there.
    Write(String, Vec<u64>, bool),
    /// Draw everything anew.
    Redraw,
    /// Leave the terminal to the shell until the job goes on.
    Suspend,
}

/// The interface over a capture.
pub struct App<F: Frames> {
    /// Where the reader is.
    pub state: State,
    /// The capture.
    pub frames: F,
    columns: Columns,
    palette: Palette,
    rows: HashMap<u64, Row>,
    progress: Progress,
    density: [Vec<u32>; 2],
    density_of: Option<(i64, i64, bool, usize, u64)>,
    lanes_version: Option<u64>,
    said_width: usize,
    hunting: bool,
}

impl<F: Frames> App<F> {
    /// The interface at its beginning.
    pub fn new(frames: F, columns: Columns, palette: Palette, size: Size) -> Self {
        Self {
            state: State::new(size),
            frames,
            columns,
            palette,
            rows: HashMap::new(),
            progress: Progress::default(),
            density: Default::default(),
            density_of: None,
            lanes_version: None,
            said_width: 0,
            hunting: false,
        }
    }

    /// Sets the filter as if typed.
    pub fn set_filter(&mut self, text: &str) -> Result<(), super::Mistake> {
        self.frames.filter(text)?;
        self.state.filter = text.to_owned();
        Ok(())
    }

    /// Whether something is still coming: more frames, hits, the end of a search.
    pub fn is_waiting(&self) -> bool {
        let filtering = self.progress.filtered.is_some_and(|n| n < self.progress.frames);
        !self.progress.done || filtering || self.hunting
    }

    /// Takes in what has been read since; whether a screen would differ.
    pub fn refresh(&mut self) -> bool {
        let progress = self.frames.progress();
        let len = self.frames.len();
        let mut differs = progress != self.progress || len != self.state.len;
        if progress.findings != self.progress.findings {
            // A finding of a run marks frames that were listed before.
            self.rows.clear();
        }
        self.progress = progress;
        self.state.len = len;
        let rows = self.state.layout().list_rows();
        if self.state.tail && len > 0 && self.state.list.at + 1 < len {
            self.state.list.go(len - 1, len, rows);
            self.select();
        }
        if self.state.detail.number == 0 && len > 0 {
            self.select();
            differs = true;
        }
        if self.state.view == View::Lanes && self.lanes_version != Some(self.progress.version) {
            self.fetch_lanes();
            differs = true;
        }
        if self.hunting {
            differs = true;
            match self.frames.found() {
                Some(Hunt::At(number)) => {
                    let text = format!(
                        "looking for '{}': frame {number} … (Esc ends it)",
                        clean(&self.state.search)
                    );
                    self.state.say(text);
                }
                Some(Hunt::Found(number)) => {
                    self.hunting = false;
                    self.state.note = None;
                    self.go(number);
                    self.find_in_tree();
                }
                Some(Hunt::Nowhere) | None => {
                    self.hunting = false;
                    let way = if self.state.search_back { "before" } else { "after" };
                    let text = format!("'{}' is in no frame {way} this one", clean(&self.state.search));
                    self.state.refuse(text);
                }
            }
        }
        differs
    }

    /// Takes a key in.
    pub fn key(&mut self, key: KeyEvent) -> Option<Out> {
        if self.hunting {
            // Any key ends a search; Esc does no more than that.
            self.hunting = false;
            self.frames.search("", 0, false);
            self.state.note = None;
            if key.code == ratatui::crossterm::event::KeyCode::Esc {
                return None;
            }
        }
        let effect = keys::press(&mut self.state, key);
        effect.and_then(|effect| self.carry_out(effect))
    }

    /// Takes a mouse event in.
    pub fn mouse(&mut self, event: MouseEvent) -> Option<Out> {
        let effect = mouse::press(&mut self.state, event);
        effect.and_then(|effect| self.carry_out(effect))
    }

    /// Takes pasted text in.
    pub fn paste(&mut self, text: &str) -> Option<Out> {
        let effect = prompt::paste(&mut self.state, text);
        effect.and_then(|effect| self.carry_out(effect))
    }

    /// The terminal has another size.
    pub fn resize(&mut self, size: Size) {
        self.state.resize(size);
    }

    /// The file that was to be written exists.
    pub fn ask_overwrite(&mut self, name: String) {
        prompt::open(&mut self.state, Ask::Overwrite);
        if let Some(prompt) = &mut self.state.prompt {
            prompt.text = name;
        }
    }

    /// Draws; where the caret stands, if there is one.
    pub fn draw(&mut self, buffer: &mut Buffer) -> Option<(u16, u16)> {
        let rows = self.window();
        self.wrap();
        self.count();
        let scene = Scene {
            rows: &rows,
            columns: &self.columns,
            progress: &self.progress,
            density: &self.density,
            palette: self.palette,
        };
        draw::draw(&self.state, &scene, buffer)
    }

    /// The rows of the list's window.
    fn window(&mut self) -> Vec<Row> {
        let rows = self.state.layout().list_rows();
        if self.rows.len() > MAX_ROWS {
            self.rows.clear();
        }
        let top = self.state.list.top;
        let mut out = Vec::with_capacity(rows);
        for at in top..top.saturating_add(rows).min(self.state.len) {
            let Some(number) = self.frames.number(at) else { break };
            if let Some(row) = self.rows.get(&number) {
                out.push(row.clone());
                continue;
            }
            let Some(row) = self.frames.row(number, &self.columns) else { break };
            self.rows.insert(number, row.clone());
            out.push(row);
        }
        out
    }

    fn wrap(&mut self) {
        if self.state.view != View::Said {
            return;
        }
        let width = usize::from(self.state.size.width.saturating_sub(2));
        if self.state.said_lines.is_empty() || self.said_width != width {
            self.said_width = width;
            let said = self.state.said.get(self.state.said_tab);
            self.state.said_lines = said.map(|said| draw::wrap(said, width)).unwrap_or_default();
        }
    }

    /// Counts the frames over the columns of the timeline, where they have changed.
    fn count(&mut self) {
        if self.state.view != View::Lanes {
            return;
        }
        let Some((from, to)) = lanes::window(&self.state) else { return };
        let columns = draw::lane_columns(self.state.size.width);
        let wanted = (from, to, self.state.axis.by_time, columns, self.progress.frames);
        if self.density_of != Some(wanted) {
            self.density = self.frames.density(from, to, self.state.axis.by_time, columns);
            self.density_of = Some(wanted);
        }
    }

    /// Opens the frame that the list's cursor is on.
    fn select(&mut self) {
        let number = self.frames.number(self.state.list.at);
        if let Some(detail) = number.and_then(|n| self.frames.detail(n)) {
            self.state.open(detail);
        }
    }

    /// Goes to a frame, or to the first shown one after it.
    fn go(&mut self, number: u64) {
        let place = self.frames.place(number).min(self.state.len.saturating_sub(1));
        let rows = self.state.layout().list_rows();
        // What is far away is shown in the middle, what is near where it stands.
        if place < self.state.list.top || place >= self.state.list.top + rows {
            self.state.list.top = place.saturating_sub(rows / 2);
        }
        self.state.list.go(place, self.state.len, rows);
        self.state.tail = false;
        self.select();
    }

    fn leave(&mut self) {
        let number = self.state.detail.number;
        if number > 0 && self.state.trail.last() != Some(&number) {
            self.state.trail.push(number);
            if self.state.trail.len() > MAX_TRAIL {
                self.state.trail.remove(0);
            }
        }
    }

    fn jump_to(&mut self, number: u64) {
        if self.progress.frames == 0 || self.state.len == 0 {
            return;
        }
        let wanted = number.clamp(1, self.progress.frames);
        self.leave();
        self.go(wanted);
        let reached = self.state.detail.number;
        if reached != number && number > self.progress.frames {
            self.state.say(format!("there are {} frames so far", self.progress.frames));
        } else if reached != number {
            self.state.say(format!("frame {number} does not pass the filter: this is the nearest"));
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Out> {
        match effect {
            Effect::Select => self.select(),
            Effect::Number(number) => self.jump_to(number),
            Effect::Jump(jump, back) => match self.frames.jump(self.state.detail.number, jump, back) {
                Some(number) => self.jump_to(number),
                None => {
                    let what = match jump {
                        super::Jump::Pair => "pair",
                        super::Jump::Finding => "warning or error",
                        super::Jump::Call => "frame of this call",
                    };
                    let way = if back { "before" } else { "after" };
                    self.state.refuse(format!("no {what} {way} this frame"));
                }
            },
            Effect::Back => match self.state.trail.pop() {
                Some(number) => self.go(number),
                None => self.state.refuse("no jump to go back from"),
            },
            Effect::Check => self.check(),
            Effect::Complete => self.complete(),
            Effect::Filter(text) => self.filter(&text),
            Effect::Search(back) => self.search(back),
            Effect::Copy(what) => return self.copy(what),
            Effect::Write(name, over) => return Some(Out::Write(name, self.selection(), over)),
            Effect::Lanes => {
                self.fetch_lanes();
                self.state.view = View::Lanes;
                self.lane_of_frame();
            }
            Effect::Said => {
                self.state.said = self.frames.said(self.state.detail.number);
                (self.state.said_tab, self.state.said_top) = (0, 0);
                self.state.said_lines.clear();
                self.state.view = View::Said;
            }
            Effect::Time => {
                self.columns.time = match self.columns.time {
                    TimeStyle::Relative => TimeStyle::Delta,
                    TimeStyle::Delta => TimeStyle::Absolute,
                    TimeStyle::Absolute => TimeStyle::Epoch,
                    TimeStyle::Epoch => TimeStyle::Relative,
                };
                self.rows.clear();
            }
            Effect::Redraw => return Some(Out::Redraw),
            Effect::Suspend => return Some(Out::Suspend),
        }
        None
    }

    fn check(&mut self) {
        let Some(prompt) = &mut self.state.prompt else { return };
        // While a word is typed only what cannot become right is worth saying: the end may be missing yet.
        let end = prompt.text.chars().count();
        prompt.mistake = self.frames.check(&prompt.text).err().filter(|m| m.end < end);
    }

    fn complete(&mut self) {
        let Some(prompt) = &mut self.state.prompt else { return };
        let found = self.frames.complete(&prompt.text, prompt.caret);
        (prompt.words, prompt.word_start, prompt.word) = (found.words, found.start, None);
        if prompt.words.len() == 1 {
            prompt::choose(prompt, 0);
            prompt.words.clear();
            self.check();
        } else if !prompt.words.is_empty() {
            // What all of them begin with is typed already.
            let common = common(&prompt.words);
            let typed = prompt.text.get(prompt.word_start..prompt.caret).unwrap_or("").to_owned();
            if common.len() > typed.len() && common.starts_with(&typed) {
                prompt::replace(prompt, &common);
            } else {
                prompt::choose(prompt, 0);
            }
        }
    }

    fn filter(&mut self, text: &str) {
        match self.frames.filter(text) {
            Ok(()) => {
                let number = self.state.detail.number;
                self.state.prompt = None;
                self.state.filter = text.to_owned();
                self.state.len = self.frames.len();
                self.state.list = Default::default();
                if text.is_empty() {
                    self.go(number);
                } else {
                    // The open frame stays until the first that passes is there.
                    self.state.detail.number = 0;
                }
                self.refresh();
            }
            Err(mistake) => {
                if let Some(prompt) = &mut self.state.prompt {
                    prompt.mistake = Some(mistake);
                }
            }
        }
    }

    fn search(&mut self, back: bool) {
        if self.state.search.is_empty() {
            self.state.refuse("nothing is looked for: s asks for a text");
            return;
        }
        let text = self.state.search.clone();
        self.leave();
        self.frames.search(&text, self.state.detail.number, back);
        self.hunting = true;
    }

    /// Puts the tree's cursor on the first field that has what was looked for.
    fn find_in_tree(&mut self) {
        let wanted = self.state.search.to_lowercase();
        let root = self.state.detail.root as usize;
        let has = |l: &super::detail::Line| {
            l.value.to_lowercase().contains(&wanted) || l.name.to_lowercase().contains(&wanted)
        };
        let found = self
            .state
            .detail
            .lines
            .iter()
            .enumerate()
            .skip(root)
            .filter(|(_, l)| has(l))
            .map(|(at, _)| at)
            .next();
        if let Some(line) = found {
            self.state.go_to_line(line);
            self.state.follow_line(false);
        }
    }

    fn fetch_lanes(&mut self) {
        let lanes = self.frames.lanes();
        if self.lanes_version.is_none() {
            let has_times = lanes.iter().any(|l| l.last.time > l.first.time);
            self.state.axis.by_time = has_times;
        }
        self.lanes_version = Some(self.progress.version);
        self.state.set_lanes(lanes);
    }

    /// Puts the timeline's cursor on the innermost lane that the open frame begins or is in.
    fn lane_of_frame(&mut self) {
        let number = self.state.detail.number;
        let holds = |l: &super::Lane| (l.first.frame..=l.last.frame).contains(&number);
        let mut best: Option<(u64, usize)> = None;
        for (at, lane) in self.state.lanes_shown.iter().enumerate() {
            let Some(lane) = self.state.lanes.get(*lane as usize).filter(|l| holds(l)) else { continue };
            let span = lane.last.frame - lane.first.frame;
            if best.is_none_or(|(least, _)| span <= least) {
                best = Some((span, at));
            }
        }
        if let Some((_, at)) = best {
            let rows = self.state.layout().lane_rows();
            self.state.lane.go(at, self.state.lanes_shown.len(), rows);
        }
    }
}

fn common(words: &[String]) -> String {
    let Some(first) = words.first() else { return String::new() };
    let mut common = first.as_str();
    for word in words {
        while !word.starts_with(common) {
            common = common.char_indices().next_back().and_then(|(at, _)| common.get(..at)).unwrap_or("");
        }
    }
    common.to_owned()
}
