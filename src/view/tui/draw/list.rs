//! The list of frames.
//! Never decodes: its rows are handed in.

use ratatui::style::Style;

use super::super::layout::Area;
use super::super::row::Column;
use super::super::state::{Pane, State};
use super::{Canvas, Scene, width};
use crate::base::Severity;

/// The mark and the finding before the first column.
const GUTTER: u16 = 2;

pub(super) fn draw(state: &State, scene: &Scene<'_>, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let has_keys = state.focus == Pane::List;
    let head = canvas.bar(area, has_keys);
    let widths = widths(scene, area.width);
    let mut x = area.x + GUTTER;
    for (column, room) in scene.columns.list.iter().zip(&widths) {
        cell(canvas, x, area.y, *room, &column.title(), head, column.is_number());
        x += room + 1;
    }
    let body = area.body();
    if scene.rows.is_empty() && body.height > 0 {
        let all = scene.progress.filtered.is_some_and(|looked| looked >= scene.progress.frames);
        let text = match (scene.progress.done, state.filter.is_empty()) {
            (true, false) if all => "no frame passes the filter; Esc clears it",
            (_, false) => "no frame passes the filter so far",
            (true, true) => "no frame in this capture",
            (false, true) => "reading …",
        };
        canvas.put(area.x + 2, body.y, area.width.saturating_sub(2), text, canvas.palette.dim());
    }
    let first = state.list.top;
    for (row, found) in scene.rows.iter().enumerate().take(usize::from(body.height)) {
        let y = body.y + row as u16;
        let plain = canvas.palette.row(found);
        let mark = if state.marks.contains(&found.number) { "▸" } else { " " };
        canvas.put(area.x, y, 1, mark, canvas.palette.key());
        let sign = match found.severity {
            Some(Severity::Error) => "✗",
            Some(Severity::Warning) => "!",
            Some(Severity::Note) => "·",
            None => " ",
        };
        let style = found.severity.map_or(plain, |s| canvas.palette.severity(s));
        canvas.put(area.x + 1, y, 1, sign, style);
        let mut x = area.x + GUTTER;
        for ((column, room), text) in scene.columns.list.iter().zip(&widths).zip(&found.cells) {
            let style = match column {
                Column::Kind => canvas.palette.kind(found),
                Column::Direction => canvas.palette.side(found.side),
                Column::Number | Column::Length | Column::Time | Column::Call => match found.severity {
                    Some(Severity::Error) => plain,
                    _ => Style::new(),
                },
                _ => plain,
            };
            cell(canvas, x, y, *room, text, style, column.is_number());
            x += room + 1;
        }
        if first + row == state.list.at {
            canvas.style(Area { y, height: 1, ..area }, canvas.palette.cursor(has_keys));
        }
    }
}

/// The columns' widths: their own, and what is left shared among those without one.
fn widths(scene: &Scene<'_>, all: u16) -> Vec<u16> {
    let own: Vec<u16> = scene.columns.list.iter().map(|c| c.width(scene.columns.time)).collect();
    // A cell that is wider than its column in the window widens a narrow number column.
    let own: Vec<u16> = own
        .iter()
        .enumerate()
        .map(|(at, own)| match scene.columns.list.get(at) {
            Some(column) if column.is_number() => scene
                .rows
                .iter()
                .filter_map(|r| r.cells.get(at))
                .map(|c| width(c))
                .max()
                .unwrap_or(0)
                .clamp(*own, 30),
            _ => *own,
        })
        .collect();
    let used: u16 = GUTTER + own.iter().map(|w| w + 1).sum::<u16>();
    let open = own.iter().filter(|w| **w == 0).count() as u16;
    let each = all.saturating_sub(used).checked_div(open).unwrap_or(0).max(8);
    own.into_iter().map(|w| if w == 0 { each } else { w }).collect()
}

fn cell(canvas: &mut Canvas<'_>, x: u16, y: u16, room: u16, text: &str, style: Style, right: bool) {
    let limit = canvas.buffer.area.width;
    let room = room.min(limit.saturating_sub(x));
    let x = if right { x + room.saturating_sub(width(text)) } else { x };
    canvas.put_cut(x, y, room, text, style);
}
