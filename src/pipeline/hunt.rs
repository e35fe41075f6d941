//! Kept frames gone through in the background: which pass a filter, where a text is.
//! Never holds the frames back from whoever reads or draws: it takes a few at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use crate::query::{Filter, Looked, Stage};

use super::again::Again;
use super::filter::Seen;
use super::live::Shared;
use super::{Config, Job};

/// Frames that are taken at a time.
const STEP: usize = 256;
/// How long to wait for more frames.
const PAUSE: Duration = Duration::from_millis(40);

/// The frames that a filter lets through, as far as it has looked.
#[derive(Default)]
pub struct Hits {
    /// Their numbers, in order.
    pub numbers: RwLock<Vec<u32>>,
    /// Frames looked at.
    pub looked: AtomicU64,
    over: AtomicBool,
}

impl Hits {
    /// Starts to filter.
    pub fn start(shared: Arc<Shared>, filter: Filter) -> Arc<Self> {
        let hits = Arc::new(Self::default());
        let own = hits.clone();
        std::thread::spawn(move || own.go(&shared, &filter));
        hits
    }

    /// Ends it: nobody wants its hits any more.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The hits so far.
    pub fn read<T>(&self, look: impl FnOnce(&[u32]) -> T) -> T {
        look(&self.numbers.read().unwrap_or_else(|broken| broken.into_inner()))
    }

    fn go(&self, shared: &Shared, filter: &Filter) {
        let mut again = Again::default();
        let mut at = 0;
        let late = filter.needs() == Stage::Later;
        while !self.over.load(Ordering::Relaxed) && !shared.over.load(Ordering::Relaxed) {
            let (jobs, done) = take(shared, at, STEP);
            if done && jobs.is_empty() {
                return;
            }
            // What only the end of a capture tells is asked at the end.
            if jobs.is_empty() || late && !done {
                std::thread::sleep(PAUSE);
                continue;
            }
            at += jobs.len();
            let passing = jobs.iter().filter(|job| passes(shared, &mut again, job, filter));
            let new: Vec<u32> = passing.map(|job| job.number as u32).collect();
            self.numbers.write().unwrap_or_else(|broken| broken.into_inner()).extend(new);
            self.looked.store(at as u64, Ordering::Relaxed);
        }
    }
}

/// Whether a filter lets a frame through, by what is known of it now.
fn passes(shared: &Shared, again: &mut Again, job: &Job, filter: &Filter) -> bool {
    let config = &shared.config;
    if filter.needs() < Stage::Later {
        return again.passes(config, job, filter);
    }
    let decoded = again.decode(config, job);
    let mut looked = Looked::default();
    filter.look(&config.schema, &Seen::new(&job.item(config, &decoded), None), &mut looked);
    shared.read(|store| filter.look(&config.schema, &store.late(&config.plan, job.number), &mut looked));
    filter.judge(&looked)
}

/// Frames from a place on, and whether there will be no more.
fn take(shared: &Shared, at: usize, count: usize) -> (Vec<Job>, bool) {
    shared.read(|store| {
        let end = store.kept.len().min(at.saturating_add(count));
        ((at..end).filter_map(|at| store.kept.job(at)).collect(), store.done)
    })
}

/// A search for a text.
#[derive(Default)]
pub struct Search {
    /// The frame it is at.
    at: AtomicU64,
    /// What came of it: `Some(None)` is nowhere.
    found: Mutex<Option<Option<u64>>>,
    over: AtomicBool,
}

impl Search {
    /// Starts to look for a text (without case) in frames: `numbers` gives the next one after a frame.
    pub fn start(
        shared: Arc<Shared>,
        text: &str,
        from: u64,
        next: impl Fn(u64) -> Option<u64> + Send + 'static,
    ) -> Arc<Self> {
        let search = Arc::new(Self { at: AtomicU64::new(from), ..Self::default() });
        let own = search.clone();
        let wanted = text.to_lowercase();
        std::thread::spawn(move || {
            let mut again = Again::default();
            let mut at = from;
            while !own.over.load(Ordering::Relaxed) && !shared.over.load(Ordering::Relaxed) {
                let Some(number) = next(at) else {
                    own.end(None);
                    return;
                };
                at = number;
                own.at.store(at, Ordering::Relaxed);
                let place = usize::try_from(at).unwrap_or(usize::MAX).saturating_sub(1);
                let job = shared.read(|store| store.kept.job(place));
                if job.is_some_and(|job| holds(&mut again, &shared.config, &job, &wanted)) {
                    own.end(Some(at));
                    return;
                }
            }
        });
        search
    }

    fn end(&self, found: Option<u64>) {
        if let Ok(mut end) = self.found.lock() {
            *end = Some(found);
        }
    }

    /// Ends it.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The frame it is at, and what came of it, if anything yet.
    pub fn state(&self) -> (u64, Option<Option<u64>>) {
        (self.at.load(Ordering::Relaxed), self.found.lock().ok().and_then(|found| *found))
    }
}

/// Whether a frame's record has a text, credentials hidden.
fn holds(again: &mut Again, config: &Config, job: &Job, wanted: &str) -> bool {
    let decoded = again.decode(config, job);
    let item = job.item(config, &decoded);
    let mut line = Vec::new();
    crate::view::jsonl::write(&item, &mut line);
    String::from_utf8_lossy(&line).to_lowercase().contains(wanted)
}
