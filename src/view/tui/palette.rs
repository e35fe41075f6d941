//! Colours, settled once.
//! Never the only sign of anything: without colour, weight and marks tell the same.

use ratatui::style::{Color, Modifier, Style};

use crate::base::Severity;
use crate::pdu::Side;

use super::detail::Tone;
use super::frames::{self, Class, Row};

/// What things look like.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// Whether there are colours.
    pub color: bool,
}

/// Colours of kinds, in the order of their appearance.
const KINDS: [Color; 6] = [
    Color::LightBlue,
    Color::LightCyan,
    Color::LightYellow,
    Color::LightGreen,
    Color::LightMagenta,
    Color::White,
];

impl Palette {
    fn fg(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// What is said beside.
    pub fn dim(self) -> Style {
        if self.color { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    /// Names and headings.
    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A pane's title line; the pane that keys go to stands out.
    pub fn title(self, has_keys: bool) -> Style {
        match (self.color, has_keys) {
            (true, true) => Style::new().fg(Color::Black).bg(Color::Cyan),
            (true, false) => Style::new().fg(Color::Gray).bg(Color::Indexed(236)),
            (false, true) => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            (false, false) => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// The line of a cursor, where keys go and where they do not.
    pub fn cursor(self, has_keys: bool) -> Style {
        match (self.color, has_keys) {
            (true, true) => Style::new().bg(Color::Indexed(24)),
            (true, false) => Style::new().bg(Color::Indexed(238)),
            (false, true) => Style::new().add_modifier(Modifier::REVERSED),
            (false, false) => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// Who sent it.
    pub fn side(self, side: Side) -> Style {
        self.fg(if side == Side::Request { Color::Cyan } else { Color::Green })
    }

    /// A severity.
    pub fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Error => self.fg(Color::LightRed).add_modifier(Modifier::BOLD),
            Severity::Warning => self.fg(Color::Yellow),
            Severity::Note => self.dim(),
        }
    }

    /// The text of a row of the list.
    pub fn row(self, row: &Row) -> Style {
        match row.class {
            _ if row.severity == Some(Severity::Error) => self.severity(Severity::Error),
            Class::Pulse | Class::Repeat => self.dim(),
            Class::End => self.fg(Color::Magenta),
            Class::Ask | Class::Answer => self.side(row.side).add_modifier(Modifier::BOLD),
            Class::Plain | Class::Text => self.side(row.side),
        }
    }

    /// The kind of a row.
    pub fn kind(self, row: &Row) -> Style {
        match row.class {
            Class::Pulse | Class::Repeat => self.dim(),
            _ => self.fg(KINDS.get(row.hue as usize % KINDS.len()).copied().unwrap_or(Color::White)),
        }
    }

    /// A line of the tree: its name, its value.
    pub fn line(self, tone: Tone) -> (Style, Style) {
        match tone {
            Tone::Section => (self.bold(), self.fg(Color::Gray)),
            Tone::Field => (self.fg(Color::LightBlue), Style::new()),
            Tone::Unknown => (self.fg(Color::Magenta), Style::new()),
            Tone::Hidden => (self.fg(Color::LightBlue), self.fg(Color::Yellow)),
            Tone::Opened => (self.fg(Color::LightCyan), self.fg(Color::LightCyan)),
            Tone::Link => {
                (self.fg(Color::LightBlue), self.fg(Color::LightGreen).add_modifier(Modifier::UNDERLINED))
            }
            Tone::Finding(severity) => (self.severity(severity), Style::new()),
        }
    }

    /// Bytes of the selected field, of its tag, and the byte of the cursor.
    pub fn lit(self) -> (Style, Style, Style) {
        if self.color {
            (
                Style::new().fg(Color::Black).bg(Color::Yellow),
                Style::new().fg(Color::Black).bg(Color::Indexed(136)),
                Style::new().fg(Color::White).bg(Color::Blue),
            )
        } else {
            let reversed = Style::new().add_modifier(Modifier::REVERSED);
            (reversed, Style::new().add_modifier(Modifier::UNDERLINED), reversed.add_modifier(Modifier::BOLD))
        }
    }

    /// A lane.
    pub fn lane(self, tone: frames::Tone) -> Style {
        match tone {
            frames::Tone::Level => self.fg(Color::LightBlue),
            frames::Tone::Good => self.fg(Color::Green),
            frames::Tone::Stopped => self.fg(Color::Magenta),
            frames::Tone::Bad => self.fg(Color::LightRed),
            frames::Tone::Open => self.fg(Color::Yellow),
        }
    }

    /// What is good to know: the name of the program, keys.
    pub fn key(self) -> Style {
        self.fg(Color::LightCyan).add_modifier(Modifier::BOLD)
    }

    /// A mistake.
    pub fn mistake(self) -> Style {
        self.severity(Severity::Error)
    }
}
