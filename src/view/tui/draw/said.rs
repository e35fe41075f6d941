//! What was said, wrapped to the width.
//! Never breaks a character; line breaks of the text stay.

use ratatui::style::Style;

use super::super::frames::Said;
use super::super::layout::Area;
use super::super::state::State;
use super::{Canvas, width};

/// Lines that are wrapped, at most.
const MAX_LINES: usize = 200_000;

/// The lines of a stream in so many columns, each with the part that it belongs to.
pub fn wrap(said: &Said, room: usize) -> Vec<(usize, String)> {
    let room = room.max(4);
    let mut out = Vec::new();
    for (part, (.., text)) in said.parts.iter().enumerate() {
        for line in text.split('\n') {
            let mut rest = line;
            loop {
                if out.len() >= MAX_LINES {
                    return out;
                }
                let cut = fitting(rest, room);
                let (head, tail) = rest.split_at(cut);
                out.push((part, head.to_owned()));
                rest = tail.strip_prefix(' ').unwrap_or(tail);
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
    out
}

/// Bytes of the beginning that fits, to the last blank where there is one.
fn fitting(text: &str, room: usize) -> usize {
    let mut used = 0;
    let mut blank = None;
    for (at, c) in text.char_indices() {
        let wide = usize::from(width(c.encode_utf8(&mut [0; 4])));
        if used + wide > room {
            return blank.filter(|b| *b > 0).unwrap_or(at.max(c.len_utf8()));
        }
        if c == ' ' {
            blank = Some(at);
        }
        used += wide;
    }
    text.len()
}

pub(super) fn draw(state: &State, area: Area, canvas: &mut Canvas<'_>) {
    let head = canvas.bar(area, true);
    let end = area.x + area.width;
    let mut x = area.x + 1;
    for (at, said) in state.said.iter().enumerate() {
        let style = if at == state.said_tab { head.patch(canvas.palette.lit().0) } else { head };
        x = canvas.put(x, area.y, end.saturating_sub(x), &format!(" {} ", said.name), style);
    }
    let body = area.body();
    let parts = state.said.get(state.said_tab).map(|s| &s.parts);
    if parts.is_none_or(|p| p.is_empty()) && body.height > 0 {
        canvas.put(
            area.x + 1,
            body.y,
            area.width.saturating_sub(1),
            "nothing was said",
            canvas.palette.dim(),
        );
    }
    for row in 0..body.height {
        let Some((part, text)) = state.said_lines.get(state.said_top + usize::from(row)) else { return };
        let side = parts.and_then(|p| p.get(*part)).and_then(|(_, side, _)| *side);
        let style = side.map_or_else(Style::new, |s| canvas.palette.side(s));
        canvas.put(area.x + 1, body.y + row, area.width.saturating_sub(1), text, style);
    }
}
