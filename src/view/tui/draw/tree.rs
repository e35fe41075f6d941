//! The tree of the frame that is open.
//! Never draws a line that is folded away.

use ratatui::style::Style;

use super::super::layout::Area;
use super::super::state::{Pane, State};
use super::Canvas;
use crate::base::Severity;

pub(super) fn draw(state: &State, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let has_keys = state.focus == Pane::Tree;
    let head = canvas.bar(area, has_keys);
    let path = state.line().map(|l| state.detail.path(l)).filter(|p| !p.is_empty());
    let title = match (state.detail.number, path) {
        (0, _) => " Message".to_owned(),
        (number, None) => format!(" Frame {number}"),
        (number, Some(path)) => format!(" Frame {number}  {path}"),
    };
    canvas.put_cut(area.x, area.y, area.width, &title, head);
    let body = area.body();
    for row in 0..body.height {
        let at = state.tree.top + usize::from(row);
        let Some(line) = state.shown.get(at).copied() else { return };
        self::line(state, line as usize, Area { y: body.y + row, height: 1, ..body }, canvas);
        if at == state.tree.at {
            canvas.style(Area { y: body.y + row, height: 1, ..body }, canvas.palette.cursor(has_keys));
        }
    }
}

fn line(state: &State, at: usize, area: Area, canvas: &mut Canvas<'_>) {
    let Some(line) = state.detail.lines.get(at) else { return };
    let (name, value) = canvas.palette.line(line.tone);
    // A column stays free before the bytes.
    let end = (area.x + area.width).saturating_sub(1);
    // What is deep stands at most halfway.
    let indent = (line.depth.min(100) * 2).min(area.width / 2);
    let marker = match (line.end as usize > at + 1, state.is_open(at)) {
        (false, _) => "  ",
        (true, true) => "▾ ",
        (true, false) => "▸ ",
    };
    let room = |x: u16| end.saturating_sub(x);
    let mut x = area.x + indent;
    x = canvas.put(x, area.y, room(x), marker, canvas.palette.dim());
    if let Some(severity) = line.severity.filter(|s| *s > Severity::Note) {
        let sign = if severity == Severity::Error { "✗ " } else { "! " };
        x = canvas.put(x, area.y, room(x), sign, canvas.palette.severity(severity));
    }
    x = canvas.put_cut(x, area.y, room(x), &line.name, name);
    if state.types && !line.meta.is_empty() {
        x = canvas.put_cut(x + 1, area.y, room(x + 1), &line.meta, canvas.palette.dim());
    }
    if !line.value.is_empty() {
        let gap = u16::from(!line.name.is_empty());
        if gap > 0
            && !matches!(
                line.tone,
                super::super::detail::Tone::Section | super::super::detail::Tone::Finding(_)
            )
        {
            x = canvas.put(x, area.y, room(x), ":", canvas.palette.dim());
        }
        x = canvas.put_cut(x + gap, area.y, room(x + gap), &line.value, value);
    }
    if !line.note.is_empty() {
        canvas.put_cut(x + 1, area.y, room(x + 1), &line.note, canvas.palette.dim().patch(Style::new()));
    }
}
