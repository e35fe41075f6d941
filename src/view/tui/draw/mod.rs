//! The state on a screen.
//! Never changes the state, never writes outside its area, never lets a control character through.

mod hex;
mod lanes;
mod list;
mod prompt;
mod said;
mod tree;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::base::text::is_unsafe;

use super::frames::{Progress, Row};
use super::layout::{Area, Size};
use super::palette::Palette;
use super::row::Columns;
use super::state::{State, View};

pub use hex::column_at as hex_column;
pub use lanes::columns as lane_columns;
pub use said::wrap;

/// What is drawn beside the state.
pub struct Scene<'a> {
    /// The lines of the list's window.
    pub rows: &'a [Row],
    /// The list's columns.
    pub columns: &'a Columns,
    /// How far reading has come.
    pub progress: &'a Progress,
    /// Frames of each side, over the columns of the timeline.
    pub density: &'a [Vec<u32>; 2],
    /// What things look like.
    pub palette: Palette,
}

/// Draws everything; where the caret stands, if there is one.
pub fn draw(state: &State, scene: &Scene<'_>, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let mut canvas = Canvas { buffer, palette: scene.palette };
    let layout = state.layout();
    title(state, scene, layout.title, &mut canvas);
    match state.view {
        View::Frames => {
            list::draw(state, scene, layout.list, &mut canvas);
            tree::draw(state, layout.tree, &mut canvas);
            hex::draw(state, layout.hex, layout.hex_width(), &mut canvas);
        }
        View::Lanes => lanes::draw(state, scene, layout.body, &mut canvas),
        View::Said => said::draw(state, layout.body, &mut canvas),
        View::Help => help(state, layout.body, &mut canvas),
    }
    prompt::draw(state, scene, layout.status, &mut canvas)
}

/// Where text goes.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub palette: Palette,
}

impl Canvas<'_> {
    /// Writes text in at most `room` columns; the column behind it.
    pub fn put(&mut self, x: u16, y: u16, room: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        if room == 0 || y >= area.height || x >= area.width {
            return x;
        }
        let safe;
        let text = match text.chars().any(is_unsafe) {
            true => {
                safe = text.replace(is_unsafe, "\u{fffd}");
                &safe
            }
            false => text,
        };
        self.buffer.set_stringn(x, y, text, usize::from(room.min(area.width - x)), style).0
    }

    /// The same, with an ellipsis where the text does not fit.
    pub fn put_cut(&mut self, x: u16, y: u16, room: u16, text: &str, style: Style) -> u16 {
        let end = self.put(x, y, room, text, style);
        if width(text) > room && room > 0 {
            self.put(x + room - 1, y, 1, "…", style);
        }
        end
    }

    /// Gives a part of a line a style.
    pub fn style(&mut self, area: Area, style: Style) {
        let rect = Rect { x: area.x, y: area.y, width: area.width, height: area.height };
        self.buffer.set_style(rect.intersection(self.buffer.area), style);
    }

    /// A pane's first line, filled.
    pub fn bar(&mut self, area: Area, has_keys: bool) -> Style {
        let style = self.palette.title(has_keys);
        if area.height > 0 {
            self.style(Area { height: 1, ..area }, style);
        }
        style
    }
}

/// Columns that a text takes.
pub(super) fn width(text: &str) -> u16 {
    Span::raw(text).width().min(usize::from(u16::MAX)) as u16
}

/// A number as people read it.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn title(state: &State, scene: &Scene<'_>, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let progress = scene.progress;
    let palette = canvas.palette;
    let mut at = canvas.put(area.x, area.y, area.width, " rpcshark ", palette.key());
    let mut say = |canvas: &mut Canvas<'_>, text: &str, style: Style| {
        let room = (area.x + area.width).saturating_sub(at);
        at = canvas.put(at, area.y, room, text, style);
    };
    say(canvas, &progress.name, palette.bold());
    say(canvas, &format!("  {} frames", grouped(progress.frames)), Style::new());
    if !progress.done {
        say(canvas, if progress.live { " (live)" } else { " (reading …)" }, palette.key());
    }
    if !state.filter.is_empty() {
        let looked = progress.filtered.filter(|n| *n < progress.frames);
        let so_far = looked.map(|n| format!(" of the first {}", grouped(n))).unwrap_or_default();
        say(canvas, &format!("  {} shown{so_far}", grouped(state.len as u64)), palette.key());
    }
    if !state.marks.is_empty() {
        say(canvas, &format!("  {} marked", grouped(state.marks.len() as u64)), palette.key());
    }
    let [_, warnings, errors] = progress.findings;
    let plural = |n: u64, one: &str| format!("  {} {one}{}", grouped(n), if n == 1 { "" } else { "s" });
    if errors > 0 {
        say(canvas, &plural(errors, "error"), palette.severity(crate::base::Severity::Error));
    }
    if warnings > 0 {
        say(canvas, &plural(warnings, "warning"), palette.severity(crate::base::Severity::Warning));
    }
    if let Some(trouble) = &progress.trouble {
        say(canvas, &format!("  {trouble}"), palette.mistake());
    }
}

fn help(state: &State, area: Area, canvas: &mut Canvas<'_>) {
    let style = canvas.bar(area, true);
    canvas.put(area.x, area.y, area.width, " Keys (any other key goes back)", style);
    let body = area.body();
    for row in 0..body.height {
        let Some((keys, text)) = super::help::LINES.get(state.help_top + usize::from(row)) else { return };
        let y = body.y + row;
        if keys.is_empty() {
            canvas.put(1, y, body.width.saturating_sub(1), text, canvas.palette.bold());
            continue;
        }
        let end = canvas.put(3, y, body.width.saturating_sub(3), keys, canvas.palette.key());
        let x = end.max(22) + 1;
        canvas.put_cut(x, y, body.width.saturating_sub(x), text, Style::new());
    }
}

/// A screen as plain text, a line a row, for tests and pictures.
pub fn text_of(buffer: &Buffer, size: Size) -> String {
    let mut out = String::new();
    for y in 0..size.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..size.width {
            let symbol = buffer.cell((x, y)).map_or(" ", |c| c.symbol());
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
