//! The bytes of the frame that is open, the selected field's lit.
//! Never shows a hidden byte, nor one that is not plain ASCII.

use ratatui::style::Style;

use super::super::layout::Area;
use super::super::state::{Pane, State};
use super::Canvas;

/// Columns of the offset and the gap behind it.
const OFFSET: u16 = 10;

pub(super) fn draw(state: &State, area: Area, width: usize, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let has_keys = state.focus == Pane::Hex;
    let head = canvas.bar(area, has_keys);
    let end = area.x + area.width;
    let mut x = area.x + 1;
    for (at, tab) in state.detail.tabs.iter().enumerate() {
        let style = if at == state.tab { head.patch(canvas.palette.lit().0) } else { head };
        x = canvas.put(x, area.y, end.saturating_sub(x), &format!(" {} ", tab.name), style);
    }
    let Some(tab) = state.detail.tabs.get(state.tab) else { return };
    let count = format!("{} bytes ", tab.bytes.len());
    let room = super::width(&count);
    if x + room + 1 < end {
        canvas.put(end - room, area.y, room, &count, head);
    }
    let lit = state.place().and_then(|p| state.detail.lit(p, state.tab));
    let (content, tag, cursor) = canvas.palette.lit();
    let style = |at: usize| match lit {
        _ if has_keys && at == state.byte => Some(cursor),
        Some(lit) if (lit.start..lit.end).contains(&at) => Some(content),
        Some(lit) if (lit.tag..lit.start).contains(&at) => Some(tag),
        _ => None,
    };
    let body = area.body();
    for row in 0..body.height {
        let first = (state.hex_top + usize::from(row)) * width;
        if first >= tab.bytes.len() {
            return;
        }
        let y = body.y + row;
        canvas.put(area.x, y, area.width, &format!("{first:08x}"), canvas.palette.dim());
        for column in 0..width {
            let Some(byte) = tab.bytes.get(first + column).copied() else { break };
            let hidden = tab.hides(first + column);
            let at = first + column;
            let plain = if byte == 0 || hidden { canvas.palette.dim() } else { Style::new() };
            let (x, text_x) = places(column, width);
            let shown = if hidden { "··".to_owned() } else { format!("{byte:02x}") };
            let lit = style(at);
            canvas.put(area.x + x, y, area.width.saturating_sub(x), &shown, lit.unwrap_or(plain));
            // The blank between two lit bytes is lit.
            if let (Some(lit), Some(_)) =
                (lit.filter(|_| column + 1 < width), style(at + 1).filter(|_| at + 1 < tab.bytes.len()))
                && !(has_keys && (at == state.byte || at + 1 == state.byte))
            {
                canvas.put(area.x + x + 2, y, area.width.saturating_sub(x + 2), " ", lit);
            }
            let symbol = if (0x20..0x7f).contains(&byte) && !hidden { char::from(byte) } else { '.' };
            canvas.put(
                area.x + text_x,
                y,
                area.width.saturating_sub(text_x),
                symbol.encode_utf8(&mut [0; 4]),
                lit.unwrap_or(plain),
            );
        }
    }
}

/// Where a byte's digits and its character stand.
fn places(column: usize, width: usize) -> (u16, u16) {
    let gap = usize::from(width == 16 && column >= 8);
    let digits = usize::from(OFFSET) + column * 3 + gap;
    let text = usize::from(OFFSET) + width * 3 + usize::from(width == 16) + 1 + column;
    (digits as u16, text as u16)
}

/// The byte of a row that stands at a column of the pane.
pub fn column_at(x: u16, width: usize) -> Option<usize> {
    (0..width).find(|column| {
        let (digits, text) = places(*column, width);
        (digits..digits + 3).contains(&x) || x == text
    })
}
