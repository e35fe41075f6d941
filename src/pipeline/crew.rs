//! Threads that decode and render chunks of frames while the frames after them are cut.
//! Never changes the order: what is taken back comes in the order in which it was given.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use super::Job;
use super::batch::Rendered;
use super::decode::Worker;
use crate::session::Digest;
use crate::view::Decoded;

/// Frames that were rendered together.
#[derive(Default)]
pub struct Done {
    pub jobs: Vec<Job>,
    pub rendered: Rendered,
    /// Findings by severity.
    pub findings: [u64; 3],
    /// Of correlated runs: what each frame holds and says.
    pub said: Vec<(Decoded, Digest)>,
}

/// Renders the jobs of a chunk.
pub type Act<'a> = dyn Fn(&mut Worker, &mut Done) + Sync + 'a;

/// A chunk that waits, its place in the batch, and where it goes when it is done.
struct Task {
    place: usize,
    chunk: Done,
    back: Sender<(usize, Done)>,
}

impl Task {
    fn run(mut self, act: &Act<'_>, worker: &mut Worker) {
        act(worker, &mut self.chunk);
        // Nobody waits for it where the run was ended.
        let _ = self.back.send((self.place, self.chunk));
    }
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Task>,
    closed: bool,
}

/// The chunks that no thread has taken yet.
#[derive(Default)]
pub struct Tasks {
    waiting: Mutex<Waiting>,
    come: Condvar,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one, waited for; `None` where none will come.
    fn next(&self) -> Option<Task> {
        let is_idle = |waiting: &mut Waiting| waiting.tasks.is_empty() && !waiting.closed;
        let waiting = self.come.wait_while(self.lock(), is_idle);
        waiting.unwrap_or_else(PoisonError::into_inner).tasks.pop_front()
    }
}

/// The threads of a run: this one, and others that are started when there is work for more than one.
pub struct Crew<'s, 'e> {
    scope: &'s Scope<'s, 'e>,
    tasks: &'e Tasks,
    act: &'e Act<'e>,
    worker: &'e (dyn Fn() -> Worker + Sync),
    threads: usize,
    started: bool,
    /// The batch under way: how many chunks, and where they come back.
    batch: Option<(usize, Receiver<(usize, Done)>)>,
}

impl<'s, 'e> Crew<'s, 'e> {
    /// A crew of so many threads, this one among them.
    pub fn new(
        threads: usize,
        scope: &'s Scope<'s, 'e>,
        tasks: &'e Tasks,
        act: &'e Act<'e>,
        worker: &'e (dyn Fn() -> Worker + Sync),
    ) -> Self {
        Self { scope, tasks, act, worker, threads, started: false, batch: None }
    }

    /// Whether it is this thread alone.
    pub fn is_alone(&self) -> bool {
        self.threads == 1
    }

    /// Begins a batch. The one before must have been taken back.
    pub fn begin(&mut self, chunks: Vec<Done>) {
        if chunks.len() > 1 && !std::mem::replace(&mut self.started, true) {
            self.start();
        }
        let (back, done) = channel();
        self.batch = Some((chunks.len(), done));
        let task = |(place, chunk)| Task { place, chunk, back: back.clone() };
        self.tasks.lock().tasks.extend(chunks.into_iter().enumerate().map(task));
        self.tasks.come.notify_all();
    }

    /// Takes the batch back, done, in order; `worker` helps with it.
    pub fn end(&mut self, worker: &mut Worker) -> io::Result<Vec<Done>> {
        let Some((count, done)) = self.batch.take() else { return Ok(Vec::new()) };
        loop {
            // Not in the loop's head: the lock must not be held while the task runs.
            let task = self.tasks.lock().tasks.pop_front();
            let Some(task) = task else { break };
            task.run(self.act, worker);
        }
        // A thread that breaks down drops its end, so this wait is over in any case.
        let mut done: Vec<(usize, Done)> = done.iter().collect();
        if done.len() < count {
            return Err(io::Error::other("a thread that rendered frames broke down"));
        }
        done.sort_unstable_by_key(|(place, _)| *place);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }

    fn start(&self) {
        let (tasks, act, worker) = (self.tasks, self.act, self.worker);
        for _ in 1..self.threads {
            let work = move || {
                let mut worker = worker();
                while let Some(task) = tasks.next() {
                    task.run(act, &mut worker);
                }
            };
            // Where no thread can be had this one does the work.
            let _ = Builder::new().spawn_scoped(self.scope, work);
        }
    }
}

impl Drop for Crew<'_, '_> {
    fn drop(&mut self) {
        let mut waiting = self.tasks.lock();
        waiting.closed = true;
        waiting.tasks.clear();
        self.tasks.come.notify_all();
    }
}
