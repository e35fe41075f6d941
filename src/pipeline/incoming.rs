//! Records of one capture, read by the thread that cuts them or by one beside it.
//! Never reads more than a few blocks ahead.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::Duration;

use crate::source::{self, Reader, Record};

/// Blocks of records that a reader may be ahead.
const AHEAD: usize = 4;
/// How often a run that waits for input looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Records in a block, at most.
const BLOCK: usize = 256;
/// So many threads are kept busy by a file that one of them reads and cuts.
const READS_ITSELF: usize = 2;

type Block = Result<Vec<Record>, source::Error>;

/// Where records come from.
pub enum Incoming {
    /// Read here.
    Here(Box<Reader>),
    /// Read by a thread of its own.
    Beside {
        blocks: Receiver<Block>,
        /// What ends the wait for input.
        stop: Option<Arc<AtomicBool>>,
        /// Whether the input may have nothing to give for a while.
        waits: bool,
    },
}

/// What came.
pub enum Step {
    /// Records, in the block that was handed in.
    Records,
    /// What the capture could not be read on for.
    Error(source::Error),
    /// No more.
    End,
    /// Whoever had to do with the time of waiting wants no more.
    Stop,
}

impl Incoming {
    /// The records of a capture, for so many threads.
    pub fn new(reader: Reader, threads: usize) -> Self {
        let waits = reader.waits();
        if !waits && threads <= READS_ITSELF {
            return Self::Here(Box::new(reader));
        }
        let stop = reader.stop();
        let (sender, blocks) = sync_channel::<Block>(AHEAD);
        // What has arrived can be shown while this thread waits for more.
        // It is not joined: a run that ends early must not wait for a pipe that stays silent.
        std::thread::spawn(move || {
            let mut reader = reader;
            loop {
                let mut block = Vec::new();
                let sent = match reader.next_block(BLOCK, &mut block) {
                    Ok(true) => sender.send(Ok(block)),
                    Ok(false) => return,
                    Err(error) => {
                        let _ = sender.send(Err(error));
                        return;
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Self::Beside { blocks, stop, waits }
    }

    /// The next records; `idle` runs before waiting for an input that has none yet, and says whether to go on.
    pub fn next(
        &mut self,
        block: &mut Vec<Record>,
        idle: impl FnOnce() -> io::Result<bool>,
    ) -> io::Result<Step> {
        let (blocks, stop, waits) = match self {
            Self::Here(reader) => {
                return Ok(match reader.next_block(BLOCK, block) {
                    Ok(true) => Step::Records,
                    Ok(false) => Step::End,
                    Err(error) => Step::Error(error),
                });
            }
            Self::Beside { blocks, stop, waits } => (blocks, stop.as_deref(), *waits),
        };
        let next = match blocks.try_recv() {
            Err(TryRecvError::Empty) if waits => {
                if !idle()? {
                    return Ok(Step::Stop);
                }
                wait(blocks, stop)
            }
            Err(TryRecvError::Empty) => wait(blocks, stop),
            Err(TryRecvError::Disconnected) => None,
            Ok(block) => Some(block),
        };
        Ok(match next {
            None => Step::End,
            Some(Err(error)) => Step::Error(error),
            Some(Ok(records)) => {
                *block = records;
                Step::Records
            }
        })
    }
}

/// Waits for a block; `None` at the end, and where the run is to end.
fn wait(blocks: &Receiver<Block>, stop: Option<&AtomicBool>) -> Option<Block> {
    let Some(stop) = stop else { return blocks.recv().ok() };
    loop {
        match blocks.recv_timeout(LOOK) {
            Ok(block) => return Some(block),
            // A read that waits for more does not hear of it.
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}
