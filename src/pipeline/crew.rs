//! Threads that decode and render chunks of frames while the frames after them are cut.
//! Never changes the order: what is taken back comes in the order in which it was given.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use super::chunk::Chunk;
use super::decode::Worker;

/// Decodes and renders the jobs of a chunk.
pub type Act<'a> = dyn Fn(&mut Worker, &mut Chunk) + Sync + 'a;

/// What comes back of a chunk, by its number; nothing where its thread broke down.
type Back = (u64, Option<Chunk>);

/// A chunk that waits, and where it goes.
struct Task {
    number: u64,
    chunk: Option<Chunk>,
    back: Sender<Back>,
}

impl Task {
    fn run(mut self, act: &Act<'_>, worker: &mut Worker) {
        let Some(mut chunk) = self.chunk.take() else { return };
        act(worker, &mut chunk);
        self.chunk = Some(chunk);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // Nobody waits for it where the run was ended.
        let _ = self.back.send((self.number, self.chunk.take()));
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

    fn add(&self, task: Task) {
        self.lock().tasks.push_back(task);
        self.come.notify_one();
    }

    /// The one that came last, if one waits: for the thread that made it, which has it at hand.
    fn take(&self) -> Option<Task> {
        self.lock().tasks.pop_back()
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
    /// The number of the oldest chunk that has not been taken back.
    oldest: u64,
    /// That one and those after it, where they are done.
    done: VecDeque<Option<Chunk>>,
    sender: Sender<Back>,
    back: Receiver<Back>,
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
        let (sender, back) = channel();
        let done = VecDeque::new();
        Self { scope, tasks, act, worker, threads, started: false, oldest: 0, done, sender, back }
    }

    /// How many threads there are, this one among them.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Chunks that have not been taken back.
    pub fn under_way(&self) -> usize {
        self.done.len()
    }

    /// Gives a chunk to whoever is free first; a crew of one thread does it at once.
    pub fn give(&mut self, mut chunk: Chunk, worker: &mut Worker) {
        if self.threads == 1 {
            (self.act)(worker, &mut chunk);
            self.done.push_back(Some(chunk));
            return;
        }
        if !self.done.is_empty() && !std::mem::replace(&mut self.started, true) {
            self.start();
        }
        let number = self.oldest + self.done.len() as u64;
        self.done.push_back(None);
        self.tasks.add(Task { number, chunk: Some(chunk), back: self.sender.clone() });
    }

    /// Takes back the oldest chunk if it is done; with `wait` helps until it is. `None` where there is none.
    pub fn take(&mut self, worker: &mut Worker, wait: bool) -> io::Result<Option<Chunk>> {
        loop {
            while let Ok(back) = self.back.try_recv() {
                self.note(back)?;
            }
            let Some(oldest) = self.done.front_mut() else { return Ok(None) };
            if let Some(chunk) = oldest.take() {
                self.done.pop_front();
                self.oldest += 1;
                return Ok(Some(chunk));
            }
            if !wait {
                return Ok(None);
            }
            match self.tasks.take() {
                Some(task) => task.run(self.act, worker),
                // All are being done by others, and come back even where a thread breaks down.
                None => {
                    let back = self.back.recv().map_err(io::Error::other)?;
                    self.note(back)?;
                }
            }
        }
    }

    fn note(&mut self, (number, chunk): Back) -> io::Result<()> {
        let Some(chunk) = chunk else {
            return Err(io::Error::other("a thread that rendered frames broke down"));
        };
        let place = number.checked_sub(self.oldest).and_then(|n| usize::try_from(n).ok());
        if let Some(slot) = place.and_then(|place| self.done.get_mut(place)) {
            *slot = Some(chunk);
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_in_order_each_done_once() {
        let act = |_: &mut Worker, chunk: &mut Chunk| {
            std::thread::sleep(std::time::Duration::from_micros(chunk.frames * 37 % 11 * 30));
            chunk.weight += 1;
        };
        for threads in [1, 2, 5] {
            let tasks = Tasks::default();
            std::thread::scope(|scope| {
                let (mut crew, mut own) =
                    (Crew::new(threads, scope, &tasks, &act, &Worker::default), Worker::default());
                let mut back = Vec::new();
                for frames in 0..100 {
                    crew.give(Chunk { frames, ..Chunk::default() }, &mut own);
                    while let Ok(Some(chunk)) = crew.take(&mut own, frames % 10 == 9) {
                        back.push((chunk.frames, chunk.weight));
                    }
                }
                assert_eq!(crew.under_way(), 0);
                assert_eq!(back, (0..100).map(|n| (n, 1)).collect::<Vec<_>>(), "{threads}");
            });
        }
    }
}
