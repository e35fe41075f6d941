//! Where each pane stands, for the drawing and for the mouse.
//! Never asks for more room than there is.

use super::state::{Pane, State, View};

/// Columns and rows of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// A part of the screen, its title line included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Area {
    /// First column.
    pub x: u16,
    /// First row.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Area {
    /// Whether a place is in it.
    pub fn holds(&self, x: u16, y: u16) -> bool {
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }

    /// It without its first row.
    pub fn body(&self) -> Area {
        let cut = self.height.min(1);
        Area { y: self.y + cut, height: self.height - cut, ..*self }
    }
}

/// The screen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    /// The first line.
    pub title: Area,
    /// The list, its header first. The timeline and what was said fill the three panes together.
    pub list: Area,
    /// The tree, its title first.
    pub tree: Area,
    /// The bytes, their tabs first.
    pub hex: Area,
    /// All three.
    pub body: Area,
    /// The last line, or two while a mistake is told.
    pub status: Area,
}

/// Columns that 16 bytes take: offset, bytes, text.
const HEX_WIDE: u16 = 8 + 2 + 16 * 3 + 1 + 1 + 16 + 1;

/// Columns that 8 bytes take.
const HEX_HALF: u16 = 8 + 2 + 8 * 3 + 1 + 8 + 1;

impl Layout {
    /// The layout of a state.
    pub fn of(state: &State) -> Self {
        let Size { width, height } = state.size;
        let told = state.prompt.as_ref().is_some_and(|p| p.mistake.is_some() || !p.words.is_empty());
        let status_rows = (1 + u16::from(told)).min(height);
        let title_rows = u16::from(height > 3);
        let title = Area { x: 0, y: 0, width, height: title_rows };
        let left = height.saturating_sub(title_rows + status_rows);
        let status = Area { x: 0, y: height - status_rows, width, height: status_rows };
        let body = Area { x: 0, y: title_rows, width, height: left };
        let none = Area { x: 0, y: title_rows, width, height: 0 };
        let mut layout = Layout { title, list: none, tree: none, hex: none, body, status };
        if state.view != View::Frames {
            return layout;
        }
        if state.zoomed || left < 9 || width < 40 {
            match state.focus {
                Pane::List => layout.list = body,
                Pane::Tree => layout.tree = body,
                Pane::Hex => layout.hex = body,
            }
            return layout;
        }
        let usual = (left * 2 / 5).max(4);
        let rows = usual.saturating_add_signed(state.grown).clamp(3, left.saturating_sub(5).max(3));
        layout.list = Area { height: rows, ..body };
        let below = Area { y: body.y + rows, height: left - rows, ..body };
        if width >= HEX_WIDE + 50 {
            let tree = width - HEX_WIDE;
            layout.tree = Area { width: tree, ..below };
            layout.hex = Area { x: tree, width: HEX_WIDE, ..below };
        } else {
            let hex =
                (below.height * 2 / 5).clamp(2, below.height.saturating_sub(2).max(2)).min(below.height);
            layout.tree = Area { height: below.height - hex, ..below };
            layout.hex = Area { y: below.y + below.height - hex, height: hex, ..below };
        }
        layout
    }

    /// Rows of the list.
    pub fn list_rows(&self) -> usize {
        usize::from(self.list.body().height)
    }

    /// Rows of the tree.
    pub fn tree_rows(&self) -> usize {
        usize::from(self.tree.body().height)
    }

    /// Rows of bytes.
    pub fn hex_rows(&self) -> usize {
        usize::from(self.hex.body().height)
    }

    /// Bytes in a row: 16, or 8 or 4 where there is less room.
    pub fn hex_width(&self) -> usize {
        match self.hex.width {
            width if width >= HEX_WIDE => 16,
            width if width >= HEX_HALF => 8,
            _ => 4,
        }
    }

    /// Rows of lanes, below the axis and the two rows of density.
    pub fn lane_rows(&self) -> usize {
        usize::from(self.body.height.saturating_sub(4))
    }

    /// Rows of what was said.
    pub fn said_rows(&self) -> usize {
        usize::from(self.body.body().height)
    }
}
