//! The terminal as a screen: taken over for as long as it is held, and given back however that ends.
//! Never writes a byte of a capture that has not been cleaned.

use std::io::{self, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Position;

use rpcshark::view::tui::Size;

/// Longest text that terminals are asked to put into the clipboard, in bytes.
pub const MAX_CLIPBOARD: usize = 74_000;

/// Whether any thread has panicked: the terminal is given back by then.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// The screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open(mouse: bool) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                BROKEN.store(true, Ordering::Relaxed);
                before(panic);
            }));
        });
        enable_raw_mode()?;
        let mut out = io::stdout();
        let opened = execute!(out, EnterAlternateScreen, EnableBracketedPaste)
            .and_then(|()| if mouse { execute!(out, EnableMouseCapture) } else { Ok(()) });
        let terminal = opened.and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Whether a thread has panicked.
    pub fn is_broken(&self) -> bool {
        BROKEN.load(Ordering::Relaxed)
    }

    /// Its size.
    pub fn size(&self) -> io::Result<Size> {
        let size = self.terminal.size()?;
        Ok(Size { width: size.width, height: size.height })
    }

    /// Draws.
    pub fn draw(
        &mut self,
        draw: impl FnOnce(&mut ratatui::buffer::Buffer) -> Option<(u16, u16)>,
    ) -> io::Result<()> {
        self.terminal.draw(|frame| {
            if let Some((x, y)) = draw(frame.buffer_mut()) {
                frame.set_cursor_position(Position { x, y });
            }
        })?;
        Ok(())
    }

    /// Forgets what the terminal shows: the next drawing writes all of it.
    pub fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Puts a text into the clipboard (OSC 52; xterm control sequences, "Manipulate Selection Data").
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "\x1b]52;c;{}\x07", base64_simd::STANDARD.encode_to_string(text.as_bytes()))?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back; where that fails there is nothing left to tell anybody on.
fn give_back() {
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    let _ = execute!(
        out,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        ratatui::crossterm::cursor::Show
    );
}
