//! How far reading is, on standard error, and Ctrl-C as the end of the capture.
//! Never writes where nobody looks: a terminal alone, past a second of work alone.

use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::terminal;

/// Before this there is nothing to wait for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(250);

/// Whether a line stands on the terminal now.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Takes the line away, for something else to be written.
pub fn clear() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(stderr().lock(), "\r\x1b[K");
    }
}

/// A flag that the first Ctrl-C sets; the second ends the program as it is.
pub fn interrupt() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        // Without a handler Ctrl-C does what it does everywhere.
        let _ = ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                clear();
                std::process::exit(130);
            }
        });
        flag
    });
    flag.clone()
}

/// A line about the reading of files, for as long as it lives.
pub struct Progress {
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to watch a counter of bytes read, where a person sees it. What is printed beside it would be torn up:
    /// standard output has to go elsewhere.
    pub fn start(taken: Option<Arc<AtomicU64>>, paths: &[PathBuf]) -> Self {
        let wanted = stderr().is_terminal() && !terminal::stdout_is_terminal();
        let Some(taken) = taken.filter(|_| wanted) else { return Self { end: None } };
        let sizes = paths.iter().map(|p| p.metadata().ok().filter(|m| m.is_file()).map(|m| m.len()));
        let total = sizes.sum::<Option<u64>>();
        let (sender, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            let mut pause = PATIENCE;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                pause = EVERY;
                let text = line(taken.load(Ordering::Relaxed), total, begun.elapsed());
                let _ = write!(stderr().lock(), "\r{text}\x1b[K");
                SHOWN.store(true, Ordering::Relaxed);
            }
            clear();
        });
        Self { end: Some((sender, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.end.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Bytes, rate and, where the whole is known, time left.
fn line(taken: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = taken as f64 / elapsed.as_secs_f64().max(0.001);
    let speed = format!("{}/s", size(rate as u64));
    match total {
        Some(total) if total >= taken => {
            let left = (total - taken) as f64 / rate.max(1.0);
            format!("{} of {}, {speed}, {} s left", size(taken), size(total), left.ceil() as u64)
        }
        _ => format!("{}, {speed}", size(taken)),
    }
}

fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if value < 1000.0 {
            let digits = usize::from(unit != "bytes" && value < 100.0);
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_bytes_rate_and_time_left() {
        let second = Duration::from_secs(1);
        assert_eq!(line(500_000_000, Some(2_000_000_000), second), "500 MB of 2.0 GB, 500 MB/s, 3 s left");
        assert_eq!(line(1_500, None, second), "1.5 kB, 1.5 kB/s");
        assert_eq!(line(0, Some(0), Duration::ZERO), "0 bytes of 0 bytes, 0 bytes/s, 0 s left");
    }
}
