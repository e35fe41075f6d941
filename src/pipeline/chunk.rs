//! Frames that one thread decodes and renders together, and what it makes of them.
//! Never more than a few: all of their records are in memory at once.

use crate::pdu::{End, Side};
use crate::session::Digest;
use crate::view::Decoded;

use super::decode::Worker;
use super::{Config, Job, Render};

/// Longest buffer of rendered frames that is kept for the next ones.
const MAX_SPARE: usize = 1 << 20;

/// Frames that are decoded and rendered together.
#[derive(Default)]
pub struct Chunk {
    pub jobs: Vec<Job>,
    /// About how many bytes they hold.
    pub weight: usize,
    /// Frames of the run up to its end.
    pub frames: u64,
    /// Sides of calls that stopped, each after so many of its frames.
    pub ends: Vec<(usize, u64, Side, End)>,
    pub rendered: Rendered,
    /// Findings by severity.
    pub findings: [u64; 3],
    /// Of correlated runs: what each frame holds and says.
    pub said: Vec<(Decoded, Digest)>,
}

/// Frames rendered one after the other.
#[derive(Default)]
pub struct Rendered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Rendered {
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of each frame; none for one that is not wanted.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(from, to)| self.bytes.get(from..*to).unwrap_or_default())
    }
}

impl Chunk {
    /// Decodes and renders the frames of a chunk that are wanted.
    pub fn render(&mut self, config: &Config, render: &Render<'_>, worker: &mut Worker) {
        let Self { jobs, rendered, findings, said, .. } = self;
        for job in jobs.iter() {
            // A run is what all of its frames say: the filter of a correlated run is its sink's.
            let decoded = match config.correlate {
                true => Some(worker.decode(config, job)),
                false => worker.decode_wanted(config, job),
            };
            let Some(mut decoded) = decoded else {
                rendered.ends.push(rendered.bytes.len());
                continue;
            };
            let digest = config.correlate.then(|| worker.digest(config, job, &decoded));
            let item = job.item(config, &decoded);
            render(&item, job, &mut rendered.bytes);
            rendered.ends.push(rendered.bytes.len());
            for finding in &decoded.findings {
                findings[finding.severity as usize] += 1;
            }
            match digest {
                Some(digest) => said.push((decoded, digest)),
                None => worker.recycle(job, &mut decoded),
            }
        }
    }

    /// The same buffers with nothing in them, emptied by the thread that filled them: what jobs share is counted there,
    /// and threads that count one thing wait for each other. `None` where they have grown too long to be kept.
    pub fn emptied(mut self) -> Option<Self> {
        self.jobs.clear();
        self.ends.clear();
        self.said.clear();
        self.rendered.bytes.clear();
        self.rendered.ends.clear();
        (self.weight, self.findings) = (0, [0; 3]);
        (self.rendered.bytes.capacity() <= MAX_SPARE).then_some(self)
    }
}
