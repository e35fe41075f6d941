//! The bytes of an input, block by block: a file, standard input, a growing file, gzip or zstd undone.
//! Never maps a file, never holds more than the blocks that are in use.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::Options;

/// Length of a block in bytes.
const BLOCK: usize = 256 << 10;
/// Blocks kept for use again.
const SPARE: usize = 16;
/// How long to wait before a growing file is looked at again.
const PAUSE: Duration = Duration::from_millis(100);

/// What a read gave.
pub(super) enum Step {
    /// The next bytes, never none.
    Block(Bytes),
    /// The end.
    End,
    /// The compressed bytes are damaged or cut, here; no more follows.
    Damaged(String),
}

/// An open input.
pub(super) struct Input {
    from: Box<dyn Read + Send>,
    /// Whether the raw input failed, as against the decompressor.
    failed: Arc<AtomicBool>,
    /// Bytes read of the raw input.
    taken: Arc<AtomicU64>,
    /// Bytes handed out.
    given: u64,
    bomb: Option<Bomb>,
    spare: Arc<Mutex<Vec<Vec<u8>>>>,
    stop: Option<Arc<AtomicBool>>,
    /// Whether a read may wait.
    waits: bool,
    ended: bool,
}

/// When decompressed bytes are too many for what they came from.
struct Bomb {
    ratio: u64,
    floor: u64,
}

impl Input {
    /// Opens a path; `-` is standard input.
    pub(super) fn open(path: &Path, options: &Options) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::from_reader(Box::new(io::stdin()), options);
        }
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let follow = options.follow && meta.is_file();
        let stop = options.stop.clone();
        match follow {
            true => Self::from_reader(Box::new(Growing { file, stop }), options),
            false => {
                let input = Self::from_reader(Box::new(file), options)?;
                Ok(Self { waits: !meta.is_file(), ..input })
            }
        }
    }

    /// Over any reader; looks at its first bytes to undo compression.
    pub(super) fn from_reader(raw: Box<dyn Read + Send>, options: &Options) -> io::Result<Self> {
        let (failed, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let all = options.taken.clone();
        let mut raw = Counted { raw, failed: failed.clone(), taken: taken.clone(), all };
        let mut head = Vec::new();
        while head.len() < ZSTD.len() {
            let mut bytes = [0; ZSTD.len()];
            let wanted = ZSTD.len() - head.len();
            let length = raw.read(bytes.get_mut(..wanted).unwrap_or_default())?;
            head.extend_from_slice(bytes.get(..length).unwrap_or_default());
            if length == 0 || !(ZSTD.starts_with(&head) || GZIP.starts_with(head.get(..3).unwrap_or(&head))) {
                break;
            }
        }
        let (zstd, gzip) = (head.starts_with(&ZSTD), head.starts_with(&GZIP));
        let chained = io::Cursor::new(head).chain(raw);
        let from: Box<dyn Read + Send> = if zstd {
            Box::new(zstd::stream::read::Decoder::new(chained)?)
        } else if gzip {
            Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(64 << 10, chained)))
        } else {
            Box::new(chained)
        };
        let limits = &options.limits;
        let bomb = (zstd || gzip).then_some(Bomb { ratio: limits.max_ratio, floor: limits.ratio_floor });
        Ok(Self {
            from,
            failed,
            taken,
            given: 0,
            bomb,
            spare: Arc::default(),
            stop: options.stop.clone(),
            waits: true,
            ended: false,
        })
    }

    /// Bytes handed out so far.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Whether a read may wait for bytes that are still to come.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Whether compression is undone.
    pub(super) fn is_compressed(&self) -> bool {
        self.bomb.is_some()
    }

    /// The next block; waits for it. `Err` only where the raw input fails.
    pub(super) fn next(&mut self) -> io::Result<Step> {
        let stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.ended || stopped && self.given > 0 {
            return Ok(Step::End);
        }
        let recycled = self.spare.lock().ok().and_then(|mut spare| spare.pop());
        let mut buffer = recycled.unwrap_or_else(|| vec![0; BLOCK]);
        let length = loop {
            match self.from.read(&mut buffer) {
                Ok(length) => break length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    let raw = self.bomb.is_none() || self.failed.load(Ordering::Relaxed);
                    return if raw { Err(error) } else { Ok(Step::Damaged(error.to_string())) };
                }
            }
        };
        if length == 0 {
            self.ended = true;
            return Ok(Step::End);
        }
        self.given += length as u64;
        if let Some(bomb) = &self.bomb {
            let most = self.taken.load(Ordering::Relaxed).saturating_mul(bomb.ratio).max(bomb.floor);
            if self.given > most {
                self.ended = true;
                return Ok(Step::Damaged(format!("inflates to more than {} times its length", bomb.ratio)));
            }
        }
        let block = Block { buffer, length, home: self.spare.clone() };
        Ok(Step::Block(Bytes::from_owner(block)))
    }
}

const GZIP: [u8; 3] = *b"\x1f\x8b\x08";
const ZSTD: [u8; 4] = *b"\x28\xb5\x2f\xfd";

/// A block in use; its buffer goes home when the last slice of it is dropped.
struct Block {
    buffer: Vec<u8>,
    length: usize,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.home.lock()
            && spare.len() < SPARE
        {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}

struct Counted {
    raw: Box<dyn Read + Send>,
    failed: Arc<AtomicBool>,
    taken: Arc<AtomicU64>,
    all: Option<Arc<AtomicU64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(buffer);
        match &read {
            Ok(length) => {
                for count in [Some(&self.taken), self.all.as_ref()].into_iter().flatten() {
                    count.fetch_add(*length as u64, Ordering::Relaxed);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.failed.store(true, Ordering::Relaxed),
        }
        read
    }
}

/// A regular file that another program still writes.
struct Growing {
    file: File,
    stop: Option<Arc<AtomicBool>>,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.file.read(buffer)?;
            let stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
            if length > 0 || stopped {
                return Ok(length);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read_all(raw: Vec<u8>, options: &Options) -> (Vec<u8>, Option<String>) {
        let mut out = Vec::new();
        let mut input = match Input::from_reader(Box::new(io::Cursor::new(raw)), options) {
            Ok(input) => input,
            Err(error) => return (out, Some(error.to_string())),
        };
        loop {
            match input.next() {
                Ok(Step::Block(block)) => out.extend_from_slice(&block),
                Ok(Step::End) => return (out, None),
                Ok(Step::Damaged(why)) => return (out, Some(why)),
                Err(error) => return (out, Some(error.to_string())),
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let _ = encoder.write_all(bytes);
        encoder.finish().unwrap_or_default()
    }

    #[test]
    fn undoes_compression() {
        let options = Options::default();
        let text = b"hello ".repeat(100_000);
        assert_eq!(read_all(text.clone(), &options), (text.clone(), None));
        assert_eq!(read_all(gzip(&text), &options), (text.clone(), None));
        let packed = zstd::encode_all(&text[..], 1).unwrap_or_default();
        assert_eq!(read_all(packed, &options), (text.clone(), None));
        let twice = [gzip(b"one"), gzip(b"two")].concat();
        assert_eq!(read_all(twice, &options), (b"onetwo".to_vec(), None));
    }

    #[test]
    fn a_cut_gzip_yields_its_beginning() {
        let text: Vec<u8> =
            (0..200_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let packed = gzip(&text);
        let (out, why) =
            read_all(packed.get(..packed.len() / 2).unwrap_or_default().to_vec(), &Options::default());
        assert!(why.is_some() && !out.is_empty() && text.starts_with(&out));
    }

    #[test]
    fn a_bomb_stops() {
        let mut options = Options::default();
        options.limits.max_ratio = 10;
        let (out, why) = read_all(gzip(&vec![0; 8 << 20]), &options);
        assert!(out.len() <= (1 << 20) + BLOCK && why.is_some());
    }

    #[test]
    fn short_inputs() {
        for raw in [&b""[..], b"\x1f", b"\x1f\x8b", b"\x28\xb5\x2f", b"x"] {
            assert_eq!(read_all(raw.to_vec(), &Options::default()), (raw.to_vec(), None));
        }
    }

    #[test]
    fn a_growing_file_is_waited_for() {
        let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
        let stop = Arc::new(AtomicBool::new(false));
        let options = Options { follow: true, stop: Some(stop.clone()), ..Options::default() };
        let _ = file.write_all(b"one");
        let Ok(mut input) = Input::open(file.path(), &options) else { panic!("opens") };
        let mut out = Vec::new();
        while out.len() < 6 {
            match input.next() {
                Ok(Step::Block(block)) => out.extend_from_slice(&block),
                _ => panic!("ended early"),
            }
            if out == b"one" {
                let _ = file.write_all(b"two");
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(input.next(), Ok(Step::End)));
    }
}
