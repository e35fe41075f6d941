//! What the mouse does: a click where something stands, the wheel over what scrolls.
//! Never changes what a key could not.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::draw::hex_column;
use super::keys::Effect;
use super::lanes;
use super::state::{Pane, State, View};

/// Lines that a turn of the wheel moves.
const WHEEL: isize = 3;

/// Takes a mouse event in.
pub fn press(state: &mut State, mouse: MouseEvent) -> Option<Effect> {
    if state.prompt.is_some() {
        return None;
    }
    let (x, y) = (mouse.column, mouse.row);
    let by = match mouse.kind {
        MouseEventKind::ScrollDown => WHEEL,
        MouseEventKind::ScrollUp => -WHEEL,
        MouseEventKind::Down(MouseButton::Left) => {
            state.note = None;
            return click(state, x, y);
        }
        _ => return None,
    };
    wheel(state, x, y, by)
}

fn wheel(state: &mut State, x: u16, y: u16, by: isize) -> Option<Effect> {
    let layout = state.layout();
    match state.view {
        View::Help => {
            let last = super::help::LINES.len().saturating_sub(layout.said_rows());
            state.help_top = state.help_top.saturating_add_signed(by).min(last);
        }
        View::Said => {
            let last = state.said_lines.len().saturating_sub(layout.said_rows());
            state.said_top = state.said_top.saturating_add_signed(by).min(last);
        }
        View::Lanes => state.lane.scroll(by, state.lanes_shown.len(), layout.lane_rows()),
        View::Frames if layout.list.holds(x, y) => {
            let before = state.list.at;
            state.list.scroll(by, state.len, layout.list_rows());
            state.tail &= by > 0;
            return (state.list.at != before).then_some(Effect::Select);
        }
        View::Frames if layout.tree.holds(x, y) => {
            state.tree.scroll(by, state.shown.len(), layout.tree_rows());
        }
        View::Frames => {
            let length = state.detail.tabs.get(state.tab).map_or(0, |t| t.bytes.len());
            let rows = length.div_ceil(layout.hex_width());
            state.hex_top =
                state.hex_top.saturating_add_signed(by).min(rows.saturating_sub(layout.hex_rows()));
        }
    }
    None
}

fn click(state: &mut State, x: u16, y: u16) -> Option<Effect> {
    let layout = state.layout();
    match state.view {
        View::Help => state.view = state.under_help,
        View::Said => {
            if y == layout.body.y {
                let mut at = 1;
                for (tab, said) in state.said.iter().enumerate() {
                    let width = said.name.chars().count() as u16 + 2;
                    if (at..at + width).contains(&x) {
                        state.said_tab = tab;
                        state.said_top = 0;
                        state.said_lines.clear();
                        return None;
                    }
                    at += width;
                }
            }
        }
        View::Lanes => {
            let row = usize::from(y.saturating_sub(layout.body.y + 3));
            if y >= layout.body.y + 3 && state.lane.top + row < state.lanes_shown.len() {
                let again = state.lane.at == state.lane.top + row;
                state.lane.at = state.lane.top + row;
                if again {
                    lanes::fold(state);
                }
            }
        }
        View::Frames if layout.list.holds(x, y) => {
            state.focus = Pane::List;
            let row = usize::from(y.saturating_sub(layout.list.y + 1));
            if y > layout.list.y && state.list.top + row < state.len {
                state.list.at = state.list.top + row;
                state.tail = false;
                return Some(Effect::Select);
            }
        }
        View::Frames if layout.tree.holds(x, y) => {
            state.focus = Pane::Tree;
            let row = usize::from(y.saturating_sub(layout.tree.y + 1));
            let line = state.shown.get(state.tree.top + row).copied().filter(|_| y > layout.tree.y)?;
            let again = state.tree.at == state.tree.top + row;
            state.tree.at = state.tree.top + row;
            state.follow_line(false);
            let found = state.detail.lines.get(line as usize);
            if let Some(frame) = found.and_then(|l| l.jump).filter(|_| again) {
                return Some(Effect::Number(frame));
            }
            let marker = layout.tree.x + found.map_or(0, |l| l.depth.min(100)) * 2;
            if again || (marker..marker + 2).contains(&x) {
                state.fold(None);
            }
        }
        View::Frames if layout.hex.holds(x, y) => {
            state.focus = Pane::Hex;
            if y == layout.hex.y {
                let mut at = layout.hex.x + 1;
                for tab in 0..state.detail.tabs.len() {
                    let width = state.detail.tabs.get(tab).map_or(0, |t| t.name.chars().count() as u16) + 2;
                    if (at..at + width).contains(&x) {
                        state.turn_tab(tab as isize - state.tab as isize);
                        return None;
                    }
                    at += width;
                }
                return None;
            }
            let width = layout.hex_width();
            let row = state.hex_top + usize::from(y - layout.hex.y - 1);
            if let Some(column) = hex_column(x - layout.hex.x, width) {
                let length = state.detail.tabs.get(state.tab).map_or(0, |t| t.bytes.len());
                if row * width + column < length {
                    state.byte = row * width + column;
                    state.follow_byte();
                }
            }
        }
        View::Frames => {}
    }
    None
}
