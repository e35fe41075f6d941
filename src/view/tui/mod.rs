//! The terminal interface: list, tree and bytes of frames, the timeline, what was said.
//! Never touches a terminal: keys come in, screens go out; whoever runs it has the rest.
//!
//! ```text
//!  key, mouse ─► keys, prompt, mouse ─► State ─► layout ─► draw ─► a screen
//!                      │ Effect                       ▲
//!                      ▼                              │ rows, detail, lanes
//!                     App ─────────► Frames ──────────┘
//! ```

mod app;
pub mod detail;
mod draw;
mod frames;
mod help;
mod keys;
mod lanes;
mod layout;
mod mouse;
mod palette;
mod prompt;
mod row;
mod state;
#[cfg(test)]
mod tests;

pub use app::{App, Out};
pub use draw::text_of;
pub use frames::{
    Class, Completion, Frames, Hunt, Jump, Lane, Lanes, Mistake, Moment, Progress, Row, Said,
    Tone as LaneTone,
};
pub use help::LINES as KEYS;
pub use layout::Size;
pub use palette::Palette;
pub use row::{Column, Columns, cells};
