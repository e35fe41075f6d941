//! The terminal as a screen: taken over for as long as it is held, and given back however that ends.
//! Never writes a byte of a capture that has not been cleaned.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Position;

use rpcshark::view::tui::Size;

/// Longest text that terminals are asked to put into the clipboard, in bytes.
pub const MAX_CLIPBOARD: usize = 74_000;

/// Whether any thread has panicked: the terminal is given back by then.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Held while something is written to the terminal: a signal gives it back between two drawings, not within one.
static WRITING: Mutex<()> = Mutex::new(());

/// The screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
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
            #[cfg(unix)]
            give_back_on_signals();
        });
        let opened = take_over(mouse).and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match opened {
            Ok(terminal) => Ok(Self { terminal, mouse }),
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
        let _writing = WRITING.lock();
        self.terminal.draw(|frame| {
            if let Some((x, y)) = draw(frame.buffer_mut()) {
                frame.set_cursor_position(Position { x, y });
            }
        })?;
        Ok(())
    }

    /// Forgets what the terminal shows: the next drawing writes all of it. [`Terminal::clear`] would ask the terminal where
    /// its cursor is, and fail where no answer comes.
    pub fn clear(&mut self) -> io::Result<()> {
        let _writing = WRITING.lock();
        let mut out = io::stdout();
        execute!(out, Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(out))?;
        Ok(())
    }

    /// Puts a text into the clipboard (OSC 52; xterm control sequences, "Manipulate Selection Data").
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let _writing = WRITING.lock();
        let mut out = io::stdout().lock();
        write!(out, "\x1b]52;c;{}\x07", base64_simd::STANDARD.encode_to_string(text.as_bytes()))?;
        out.flush()
    }

    /// Gives the terminal back, stops the whole job as ^Z does elsewhere, and takes the terminal over again once it goes on.
    #[cfg(unix)]
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        take_over(self.mouse)?;
        self.clear()
    }

    /// There are no jobs here.
    #[cfg(not(unix))]
    pub fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_over(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
    if mouse { execute!(io::stdout(), EnableMouseCapture) } else { Ok(()) }
}

/// Gives the terminal back when the program is told to end or its terminal goes away, and ends by that signal.
#[cfg(unix)]
fn give_back_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    // Where no handler can be had, signals do what they do everywhere.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // A drawing takes milliseconds; one that takes longer writes to a terminal that takes nothing any more.
            let writing = (0..20).find_map(|_| {
                WRITING.try_lock().map_err(|_| std::thread::sleep(Duration::from_millis(10))).ok()
            });
            give_back();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            drop(writing);
        }
    });
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
