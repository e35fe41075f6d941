//! What a key does: a move of the state, or an effect that needs the capture or the machine.
//! Never reads a frame itself.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::frames::Jump;
use super::lanes;
use super::prompt;
use super::state::{Ask, Pane, State, View};

/// What is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The value of the field.
    Value,
    /// The message as JSON.
    Message,
    /// The field's path, as the filter spells it.
    Path,
    /// The whole record, a line of JSON.
    Record,
    /// The field's bytes in hex.
    Bytes,
}

/// What a key asks for beyond the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The list's cursor has moved: the frame is to be opened.
    Select,
    /// To a frame by its number.
    Number(u64),
    /// To another frame; the flag is backwards.
    Jump(Jump, bool),
    /// To where the last jump began.
    Back,
    /// Whether what is typed is a filter.
    Check,
    /// What the word at the caret may become.
    Complete,
    /// Sets the filter.
    Filter(String),
    /// Looks for the text; the flag is backwards.
    Search(bool),
    /// Copies.
    Copy(What),
    /// Writes records to a file; the flag writes over one that is there.
    Write(String, bool),
    /// Shows the timeline.
    Lanes,
    /// Shows what was said.
    Said,
    /// Shows times in another way.
    Time,
    /// Draws everything anew.
    Redraw,
    /// To the shell, for a while.
    Suspend,
}

/// Takes a key in.
pub fn press(state: &mut State, key: KeyEvent) -> Option<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') {
        if state.prompt.take().is_none() {
            state.over = true;
        }
        return None;
    }
    if state.prompt.is_some() {
        return prompt::press(state, key);
    }
    state.note = None;
    if let KeyCode::Char(digit @ '0'..='9') = key.code
        && !control
        && (digit != '0' || state.count.is_some())
    {
        let digit = u64::from(digit as u32 - '0' as u32);
        state.count =
            Some(state.count.unwrap_or(0).saturating_mul(10).saturating_add(digit).min(u64::from(u32::MAX)));
        return None;
    }
    let count = state.count.take();
    let effect = match state.view {
        View::Help => return help(state, key),
        View::Lanes => lanes::press(state, key, count),
        View::Said => said(state, key, count),
        View::Frames => match state.focus {
            Pane::List => list(state, key, count),
            Pane::Tree => tree(state, key, count),
            Pane::Hex => hex(state, key, count),
        },
    };
    match effect {
        Took::No => everywhere(state, key, count),
        Took::Yes => None,
        Took::Asks(effect) => Some(effect),
    }
}

/// What became of a key in a pane.
pub(super) enum Took {
    /// The pane has no use for it.
    No,
    /// It moved something.
    Yes,
    /// It asks for something.
    Asks(Effect),
}

/// The key to a pane. With Control a letter is another key: none of them means anything in one pane alone.
pub(super) fn plain(key: KeyEvent) -> KeyCode {
    match key.code {
        KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::CONTROL) => KeyCode::Null,
        code => code,
    }
}

/// A move by keys of less and vim: lines, as many as counted.
pub(super) enum Move {
    By(isize),
    Page(isize),
    Half(isize),
    First,
    Last,
    /// To the line that was counted.
    Line(u64),
}

pub(super) fn movement(key: KeyEvent, count: Option<u64>) -> Option<Move> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let times = count.unwrap_or(1).min(1 << 30) as isize;
    Some(match (key.code, control) {
        (KeyCode::Char('j'), false) | (KeyCode::Down, _) | (KeyCode::Char('n'), true) => Move::By(times),
        (KeyCode::Char('k'), false) | (KeyCode::Up, _) | (KeyCode::Char('p'), true) => Move::By(-times),
        (KeyCode::Char('d'), true) => Move::Half(times),
        (KeyCode::Char('u'), true) => Move::Half(-times),
        (KeyCode::PageDown, _) | (KeyCode::Char('f'), true) | (KeyCode::Char(' '), false) => {
            Move::Page(times)
        }
        (KeyCode::PageUp, _) | (KeyCode::Char('b'), _) => Move::Page(-times),
        (KeyCode::Char('G'), _) | (KeyCode::End, _) => count.map_or(Move::Last, Move::Line),
        (KeyCode::Char('g'), false) | (KeyCode::Home, _) => count.map_or(Move::First, Move::Line),
        _ => return None,
    })
}

/// Where a move leads from a line, in a pane of `rows`.
pub(super) fn target(found: &Move, at: usize, len: usize, rows: usize) -> usize {
    let rows = rows.max(2) as isize;
    match found {
        Move::By(by) => at.saturating_add_signed(*by),
        Move::Page(times) => at.saturating_add_signed(times.saturating_mul(rows - 1)),
        Move::Half(times) => at.saturating_add_signed(times.saturating_mul((rows / 2).max(1))),
        Move::First => 0,
        Move::Last => len.saturating_sub(1),
        Move::Line(line) => (*line as usize).saturating_sub(1),
    }
}

fn list(state: &mut State, key: KeyEvent, count: Option<u64>) -> Took {
    if let Some(found) = movement(key, count) {
        if let Move::Line(number) = found {
            return Took::Asks(Effect::Number(number));
        }
        let rows = state.layout().list_rows();
        let at = target(&found, state.list.at, state.len, rows);
        state.list.go(at, state.len, rows);
        state.tail = state.tail && state.list.at + 1 >= state.len;
        return Took::Asks(Effect::Select);
    }
    match plain(key) {
        KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => state.focus = Pane::Tree,
        _ => return Took::No,
    }
    Took::Yes
}

fn tree(state: &mut State, key: KeyEvent, count: Option<u64>) -> Took {
    match plain(key) {
        KeyCode::Char(' ') => state.fold(None),
        KeyCode::Enter => {
            let jump = state.line().and_then(|l| state.detail.lines.get(l)).and_then(|l| l.jump);
            match jump {
                Some(frame) => return Took::Asks(Effect::Number(frame)),
                None => state.fold(None),
            }
        }
        KeyCode::Right | KeyCode::Char('l') => {
            let open = state.line().is_some_and(|l| state.is_open(l));
            let has_more = state.line().and_then(|l| Some((l, state.detail.lines.get(l)?)));
            match has_more.is_some_and(|(at, l)| l.end as usize > at + 1) {
                true if open => move_tree(state, state.tree.at + 1),
                true => state.fold(Some(true)),
                false => {}
            }
        }
        KeyCode::Left | KeyCode::Char('h') => {
            let Some(line) = state.line() else { return Took::Yes };
            let has_more = state.detail.lines.get(line).is_some_and(|l| l.end as usize > line + 1);
            if has_more && state.is_open(line) {
                state.fold(Some(false));
            } else if let Some(parent) = state.detail.parent(line) {
                let at = state.shown.iter().position(|l| *l as usize == parent).unwrap_or(0);
                move_tree(state, at);
            } else {
                state.focus = Pane::List;
            }
        }
        KeyCode::Char('x') => state.fold_all(true),
        KeyCode::Char('X') => state.fold_all(false),
        KeyCode::Esc => state.focus = Pane::List,
        _ => {
            let Some(found) = movement(key, count) else { return Took::No };
            let at = target(&found, state.tree.at, state.shown.len(), state.layout().tree_rows());
            move_tree(state, at);
        }
    }
    Took::Yes
}

fn move_tree(state: &mut State, at: usize) {
    let rows = state.layout().tree_rows();
    state.tree.go(at, state.shown.len(), rows);
    state.follow_line(false);
}

fn hex(state: &mut State, key: KeyEvent, count: Option<u64>) -> Took {
    let layout = state.layout();
    let (width, rows) = (layout.hex_width(), layout.hex_rows());
    let length = state.detail.tabs.get(state.tab).map_or(0, |t| t.bytes.len());
    match plain(key) {
        KeyCode::Left | KeyCode::Char('h') => state.byte = state.byte.saturating_sub(1),
        KeyCode::Right | KeyCode::Char('l') => state.byte += 1,
        KeyCode::Esc => {
            state.focus = Pane::List;
            return Took::Yes;
        }
        KeyCode::Enter => {
            state.focus = Pane::Tree;
            return Took::Yes;
        }
        _ => {
            let Some(found) = movement(key, count) else { return Took::No };
            let row = target(&found, state.byte / width, length.div_ceil(width), rows);
            state.byte = row * width + state.byte % width;
        }
    }
    state.follow_byte();
    Took::Yes
}

fn said(state: &mut State, key: KeyEvent, count: Option<u64>) -> Took {
    let (rows, len) = (state.layout().said_rows(), state.said_lines.len());
    let last = len.saturating_sub(rows);
    match plain(key) {
        KeyCode::Esc | KeyCode::Char('q' | 'f') => state.view = View::Frames,
        KeyCode::Tab | KeyCode::Char(']') | KeyCode::Right | KeyCode::Char('l') => turn_said(state, 1),
        KeyCode::BackTab | KeyCode::Char('[') | KeyCode::Left | KeyCode::Char('h') => turn_said(state, -1),
        KeyCode::Enter => {
            // The frame that the first visible part comes from.
            let part = state.said_lines.get(state.said_top).map(|(part, _)| *part);
            let parts = state.said.get(state.said_tab).map(|s| &s.parts);
            let frame = part.and_then(|p| parts?.get(p)).and_then(|(frame, ..)| *frame);
            if let Some(frame) = frame {
                state.view = View::Frames;
                return Took::Asks(Effect::Number(frame));
            }
        }
        _ => {
            let Some(found) = movement(key, count) else { return Took::No };
            state.said_top = target(&found, state.said_top, len, rows).min(last);
        }
    }
    Took::Yes
}

fn turn_said(state: &mut State, by: isize) {
    let count = state.said.len().max(1) as isize;
    state.said_tab = (state.said_tab as isize + by).rem_euclid(count) as usize;
    state.said_top = 0;
    state.said_lines.clear();
}

fn help(state: &mut State, key: KeyEvent) -> Option<Effect> {
    let rows = state.layout().said_rows();
    match movement(key, None) {
        Some(found) => {
            let len = super::help::LINES.len();
            state.help_top = target(&found, state.help_top, len, rows).min(len.saturating_sub(rows));
        }
        None => {
            state.view = state.under_help;
            state.help_top = 0;
        }
    }
    None
}

/// Keys that mean the same in every pane.
fn everywhere(state: &mut State, key: KeyEvent, count: Option<u64>) -> Option<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('l') if control => return Some(Effect::Redraw),
        KeyCode::Char('z') if control => return Some(Effect::Suspend),
        KeyCode::Char('o') if control => return Some(Effect::Back),
        KeyCode::Backspace => return Some(Effect::Back),
        _ if control => {}
        KeyCode::Char('q') => state.over = true,
        KeyCode::Char('?') | KeyCode::F(1) => {
            state.under_help = state.view;
            state.view = View::Help;
        }
        KeyCode::Char('/') => prompt::open(state, Ask::Filter),
        KeyCode::Char('s') => prompt::open(state, Ask::Search),
        KeyCode::Char(':') => prompt::open(state, Ask::Number),
        KeyCode::Char('w') => prompt::open(state, Ask::Write),
        KeyCode::Char('y') => prompt::open(state, Ask::Copy),
        KeyCode::Char(';') => return Some(Effect::Search(state.search_back)),
        KeyCode::Char(',') => return Some(Effect::Search(!state.search_back)),
        KeyCode::Char('n') => return Some(Effect::Jump(Jump::Pair, false)),
        KeyCode::Char('N') => return Some(Effect::Jump(Jump::Pair, true)),
        KeyCode::Char('e') => return Some(Effect::Jump(Jump::Finding, false)),
        KeyCode::Char('E') => return Some(Effect::Jump(Jump::Finding, true)),
        KeyCode::Char('c') => return Some(Effect::Jump(Jump::Call, false)),
        KeyCode::Char('C') => return Some(Effect::Jump(Jump::Call, true)),
        KeyCode::Char('J') => return step(state, 1, count),
        KeyCode::Char('K') => return step(state, -1, count),
        KeyCode::Char('t') => return Some(Effect::Lanes),
        KeyCode::Char('f') => return Some(Effect::Said),
        KeyCode::Char('T') => return Some(Effect::Time),
        KeyCode::Char('F') => {
            state.tail = !state.tail;
            state.say(if state.tail { "the list stays at its end" } else { "the list stays where it is" });
            if state.tail {
                let rows = state.layout().list_rows();
                state.list.go(state.len.saturating_sub(1), state.len, rows);
                return Some(Effect::Select);
            }
        }
        KeyCode::Char('m') => {
            let number = state.detail.number;
            if number > 0 && !state.marks.remove(&number) {
                state.marks.insert(number);
            }
        }
        KeyCode::Char('M') => {
            state.marks.clear();
            state.say("no frame is marked");
        }
        KeyCode::Char('#') => state.types = !state.types,
        KeyCode::Char('z') => {
            state.zoomed = !state.zoomed;
            state.resize(state.size);
        }
        KeyCode::Char('+' | '=') => grow(state, 1),
        KeyCode::Char('-') => grow(state, -1),
        KeyCode::Char(']') => state.turn_tab(1),
        KeyCode::Char('[') => state.turn_tab(-1),
        KeyCode::Tab => state.focus = turn(state.focus, 1),
        KeyCode::BackTab => state.focus = turn(state.focus, 2),
        KeyCode::Esc if !state.filter.is_empty() => return Some(Effect::Filter(String::new())),
        _ => {}
    }
    None
}

/// To the next frame of the list, whatever pane has the keys.
fn step(state: &mut State, by: isize, count: Option<u64>) -> Option<Effect> {
    let rows = state.layout().list_rows();
    let by = by.saturating_mul(count.unwrap_or(1).min(1 << 30) as isize);
    state.list.step(by, state.len, rows);
    Some(Effect::Select)
}

fn grow(state: &mut State, by: i16) {
    state.grown = (state.grown + by).clamp(-60, 60);
    state.resize(state.size);
}

fn turn(pane: Pane, by: usize) -> Pane {
    let panes = [Pane::List, Pane::Tree, Pane::Hex];
    let at = panes.iter().position(|p| *p == pane).unwrap_or(0);
    panes.get((at + by) % panes.len()).copied().unwrap_or(pane)
}
