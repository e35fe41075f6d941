use std::cell::Cell;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::detail::Detail;
use super::*;
use crate::pdu::Side;
use crate::view::text::TimeStyle;

/// A million frames of which each is made up when it is asked for.
struct Million {
    rows: Cell<usize>,
    details: Cell<usize>,
}

const COUNT: usize = 1_000_000;

impl Frames for Million {
    fn progress(&self) -> Progress {
        Progress { frames: COUNT as u64, done: true, ..Progress::default() }
    }

    fn len(&self) -> usize {
        COUNT
    }

    fn number(&self, at: usize) -> Option<u64> {
        (at < COUNT).then_some(at as u64 + 1)
    }

    fn place(&self, number: u64) -> usize {
        number as usize - 1
    }

    fn row(&mut self, number: u64, columns: &Columns) -> Option<Row> {
        self.rows.set(self.rows.get() + 1);
        let cells = columns.list.iter().map(|_| number.to_string()).collect();
        Some(Row { number, side: Side::Request, class: Class::Plain, severity: None, hue: 0, cells })
    }

    fn detail(&mut self, number: u64) -> Option<Detail> {
        self.details.set(self.details.get() + 1);
        Some(Detail { number, ..Detail::default() })
    }

    fn record(&mut self, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn check(&self, _: &str) -> Result<(), Mistake> {
        Ok(())
    }

    fn filter(&mut self, _: &str) -> Result<(), Mistake> {
        Ok(())
    }

    fn complete(&self, _: &str, _: usize) -> Completion {
        Completion::default()
    }

    fn jump(&self, _: u64, _: Jump, _: bool) -> Option<u64> {
        None
    }

    fn search(&mut self, _: &str, _: u64, _: bool) {}

    fn found(&mut self) -> Option<Hunt> {
        None
    }

    fn lanes(&self) -> Lanes {
        Lanes::default()
    }

    fn density(&self, _: i64, _: i64, _: bool, columns: usize) -> [Vec<u32>; 2] {
        [vec![0; columns], vec![0; columns]]
    }

    fn said(&mut self, _: u64) -> Vec<Said> {
        Vec::new()
    }
}

#[test]
fn of_a_million_frames_only_those_on_the_screen_are_looked_at() {
    let frames = Million { rows: Cell::new(0), details: Cell::new(0) };
    let columns = Columns { list: vec![Column::Number, Column::Info], time: TimeStyle::Relative };
    let size = Size { width: 100, height: 40 };
    let mut app = App::new(frames, columns, Palette { color: false }, size);
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
    app.refresh();
    let rows = app.state.layout().list_rows();
    let mut screens = 0;
    let mut press = |app: &mut App<Million>, code, modifiers, times: usize| {
        for _ in 0..times {
            app.key(KeyEvent::new(code, modifiers));
            app.refresh();
            app.draw(&mut buffer);
            screens += 1;
        }
    };
    press(&mut app, KeyCode::PageDown, KeyModifiers::NONE, 200);
    press(&mut app, KeyCode::Char('G'), KeyModifiers::NONE, 1);
    assert_eq!(app.state.detail.number, COUNT as u64);
    press(&mut app, KeyCode::Char('u'), KeyModifiers::CONTROL, 50);
    press(&mut app, KeyCode::Char('k'), KeyModifiers::NONE, 500);
    assert!(app.frames.rows.get() <= screens * rows, "{} rows", app.frames.rows.get());
    assert!(app.frames.rows.get() < 5_000, "rows are remembered: {}", app.frames.rows.get());
    assert_eq!(app.frames.details.get(), screens + 1, "one frame is opened at each stop");
    let text = text_of(&buffer, size);
    assert!(text.contains(&(app.state.list.top + 1).to_string()), "{text}");
}
