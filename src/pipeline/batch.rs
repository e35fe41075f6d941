//! Captures through the rooms, frames out in batches: decoded wide, written in order.
//! Never lets the number of threads or the pace of the input show in the output.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use rayon::prelude::*;

use crate::base::{Cx, Finding, Severity, Timestamp};
use crate::exchange::Exchanges;
use crate::pdu::{End, Frame, Side};
use crate::session::{Digest, Event, Input, Placed, Session};
use crate::source::{self, Format, Reader, Record};
use crate::view::{Decoded, Item};

use super::decode::{Worker, mask};
use super::feed::{Fed, Feed, Files};
use super::joins::Joins;
use super::typing::Typer;
use super::{Config, Job, Render};

/// Frames that are decoded together, at most.
const BATCH_FRAMES: usize = 256;
/// Payload bytes that are decoded together, about.
const BATCH_BYTES: usize = 1 << 20;
/// How much longer a compressed payload is taken to be once inflated, to bound a batch.
const INFLATES: usize = 32;
/// Records that a reader may be ahead.
const AHEAD: usize = 256;

/// A frame with what correlation made of it.
pub struct Correlated<'a> {
    /// The frame.
    pub job: &'a Job,
    /// What it holds.
    pub decoded: &'a Decoded,
    /// What it says.
    pub digest: &'a Digest,
    /// What was rendered of it.
    pub rendered: &'a [u8],
    /// Where it belongs.
    pub placed: Placed,
    /// What is known since it came.
    pub events: &'a [Event],
}

/// Where output goes.
pub trait Sink {
    /// Takes the rendered frames of a batch, one slice a frame; empty ones were not wanted.
    /// False ends the run. Not called where the run is correlated.
    fn frames(&mut self, _rendered: &[Vec<u8>]) -> io::Result<bool> {
        Ok(true)
    }
    /// Takes a frame of a correlated run, in place of [`Sink::frames`]. False ends the run.
    fn correlated(&mut self, _frame: &Correlated<'_>) -> io::Result<bool> {
        Ok(true)
    }
    /// Takes events of a frame that is not wanted itself.
    fn events(&mut self, _events: &[Event]) -> io::Result<bool> {
        Ok(true)
    }
    /// The captures are at their end: the last events, and the session as a whole.
    fn finished(&mut self, _session: &Session<'_>, _events: &[Event]) -> io::Result<()> {
        Ok(())
    }
    /// A batch of a correlated run has been taken, and this is the session by now.
    fn known(&mut self, _session: &Session<'_>) {}
    /// The sink has ended the run: the session as of its last frame, before it is brought to its end.
    fn stopped(&mut self, _session: &Session<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Nothing more is waiting to be read: what was written may be shown.
    fn idle(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// A finding that belongs to no frame.
    fn finding(&mut self, capture: &str, finding: &Finding);
    /// A capture that could not be read on.
    fn error(&mut self, error: &source::Error);
}

/// What a run came to.
#[derive(Clone, Copy, Default, Debug)]
pub struct Summary {
    /// Frames seen.
    pub frames: u64,
    /// Findings by severity: notes, warnings, errors.
    pub findings: [u64; 3],
    /// Whether the sink ended it.
    pub stopped: bool,
}

impl Summary {
    fn count(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.findings[finding.severity as usize] += 1;
        }
    }

    fn count_events(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Finding(notice) = event {
                self.findings[notice.finding.severity as usize] += 1;
            }
        }
    }

    /// Whether anything was damaged or out of place.
    pub fn has_problems(&self) -> bool {
        self.findings[Severity::Warning as usize] + self.findings[Severity::Error as usize] > 0
    }
}

/// Runs captures through the rooms.
pub fn run(
    config: &Config,
    captures: &mut dyn Iterator<Item = Reader>,
    render: &Render<'_>,
    sink: &mut dyn Sink,
) -> io::Result<Summary> {
    let mut driver = Driver {
        config,
        render,
        joins: Joins::new(config),
        typer: Typer::default(),
        scout: Worker::default(),
        jobs: Vec::new(),
        bytes: 0,
        first: None,
        before: None,
        exchanges: Exchanges::new(),
        files: Files::new(),
        summary: Summary::default(),
        session: config.correlate.then(|| Session::new(&config.schema, &config.plan, &config.limits)),
        ends: Vec::new(),
        early: Vec::new(),
        timed: true,
    };
    let pool =
        (config.threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(config.threads).build());
    let pool = pool.and_then(Result::ok);
    for reader in captures {
        if !driver.capture(reader, pool.as_ref(), sink)? {
            driver.summary.stopped = true;
            break;
        }
    }
    if let Some(mut session) = driver.session.take() {
        if driver.summary.stopped {
            sink.stopped(&session)?;
        }
        let mut events = std::mem::take(&mut driver.early);
        session.finish(&mut events);
        driver.summary.count_events(&events);
        sink.finished(&session, &events)?;
    }
    Ok(driver.summary)
}

struct Driver<'a> {
    config: &'a Config,
    render: &'a Render<'a>,
    joins: Joins,
    typer: Typer,
    scout: Worker,
    jobs: Vec<Job>,
    bytes: usize,
    first: Option<Timestamp>,
    before: Option<Timestamp>,
    exchanges: Exchanges,
    files: Files,
    summary: Summary,
    session: Option<Session<'a>>,
    /// Sides of calls that stopped, each with the number of queued jobs before it.
    ends: Vec<(usize, u64, Side, End)>,
    /// Events that wait for the next frame.
    early: Vec<Event>,
    /// Whether frames of the capture have times of their own.
    timed: bool,
}

impl Driver<'_> {
    /// One capture from beginning to end; false where the sink wants no more.
    fn capture(
        &mut self,
        reader: Reader,
        pool: Option<&rayon::ThreadPool>,
        sink: &mut dyn Sink,
    ) -> io::Result<bool> {
        let name: Arc<str> = Arc::from(reader.name());
        // These give one time for a whole body, or none.
        self.timed = !matches!(
            reader.format(),
            Format::Har
                | Format::Flow
                | Format::Saz
                | Format::Raw
                | Format::Message
                | Format::Hex
                | Format::Base64
        );
        let mut feed = Feed::new(
            self.config,
            &name,
            std::mem::take(&mut self.exchanges),
            std::mem::take(&mut self.files),
        );
        let (sender, receiver) = sync_channel::<Result<Record, source::Error>>(AHEAD);
        // The reader waits for its input on a thread of its own, so that what has arrived can be shown meanwhile.
        // It is not joined: a run that ends early must not wait for a pipe that stays silent.
        std::thread::spawn(move || {
            let mut reader = reader;
            loop {
                let sent = match reader.next() {
                    Ok(Some(record)) => sender.send(Ok(record)),
                    Ok(None) => return,
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
        let mut frames = Vec::new();
        let mut findings = Vec::new();
        while let Some(record) =
            next(&receiver, || self.settle(pool, sink).and_then(|go| sink.idle().map(|()| go)))?
        {
            match record {
                Waiting::Stop => return Ok(false),
                Waiting::Record(Ok(record)) => {
                    let mut cx = Cx { findings: &mut findings, limits: &self.config.limits };
                    feed.push(self.config, record, &mut cx, &mut frames);
                }
                Waiting::Record(Err(error)) => sink.error(&error),
            }
            if !self.take(&name, &mut frames, &mut findings, pool, sink)? {
                return Ok(false);
            }
        }
        let mut cx = Cx { findings: &mut findings, limits: &self.config.limits };
        feed.finish(self.config, &mut cx, &mut frames);
        let go = self.take(&name, &mut frames, &mut findings, pool, sink)?;
        (self.exchanges, self.files) = feed.into_parts();
        Ok(self.settle(pool, sink)? && go)
    }

    /// Takes in what the rooms gave.
    fn take(
        &mut self,
        name: &Arc<str>,
        frames: &mut Vec<Fed>,
        findings: &mut Vec<Finding>,
        pool: Option<&rayon::ThreadPool>,
        sink: &mut dyn Sink,
    ) -> io::Result<bool> {
        for fed in frames.drain(..) {
            match fed {
                Fed::Frame(frame, ids, timed) => self.queue(name, frame, &ids, timed),
                Fed::End(call, side, end) if self.session.is_some() => {
                    self.ends.push((self.jobs.len(), call, side, end));
                }
                Fed::End(..) => {}
            }
            if (self.jobs.len() >= BATCH_FRAMES || self.bytes >= BATCH_BYTES) && !self.settle(pool, sink)? {
                return Ok(false);
            }
        }
        self.summary.count(findings);
        for mut finding in findings.drain(..) {
            if !self.config.show_secrets {
                mask(self.config.schema.secrets(), &mut finding);
            }
            sink.finding(name, &finding);
        }
        Ok(true)
    }

    fn queue(&mut self, name: &Arc<str>, frame: Frame, ids: &[(String, String)], timed: bool) {
        let (config, scout) = (self.config, &mut self.scout);
        let mut typed =
            self.typer.resolve(config, &frame, &mut || scout.payload(config, &frame, &mut Vec::new()).0);
        let payload =
            self.joins.wants(config, &frame, typed.ty).then(|| scout.wire(config, &frame, typed.ty));
        let joined = self.joins.observe(config, &frame, typed.ty, payload.as_deref(), ids);
        let mut frame = frame;
        if let Some(rpc) = typed.rpc.take() {
            let mut lane = (*frame.lane).clone();
            lane.rpc = Some(rpc);
            frame.lane = Arc::new(lane);
        }
        self.first = self.first.or(frame.time);
        let clock = (self.first, self.before.or(frame.time));
        self.before = frame.time.or(self.before);
        // What a batch holds is what its frames inflate to, which is not known yet.
        let weight = if frame.compressed { INFLATES } else { 1 };
        self.bytes += frame.payload.len().saturating_mul(weight);
        self.summary.frames += 1;
        let number = self.summary.frames;
        let timed = timed && self.timed;
        self.jobs.push(Job { number, capture: name.clone(), frame, typed, joined, clock, timed });
    }

    /// Decodes, renders and writes what is queued; false where the sink wants no more.
    fn settle(&mut self, pool: Option<&rayon::ThreadPool>, sink: &mut dyn Sink) -> io::Result<bool> {
        if self.jobs.is_empty() && self.ends.is_empty() {
            return Ok(true);
        }
        let (config, render) = (self.config, self.render);
        let one = |worker: &mut Worker, job: &Job| {
            // A run is what all of its frames say: the filter of a correlated run is its sink's.
            let decoded = match config.correlate {
                true => Some(worker.decode(config, job)),
                false => worker.decode_wanted(config, job),
            };
            let Some(decoded) = decoded else { return Done::default() };
            let digest = config.correlate.then(|| worker.digest(config, job, &decoded));
            let item = Item {
                number: job.number,
                capture: &job.capture,
                frame: &job.frame,
                decoded: &decoded,
                show_secrets: config.show_secrets,
                secrets: config.schema.secrets(),
            };
            let mut rendered = Vec::new();
            render(&item, job, &mut rendered);
            let findings = decoded.findings.iter().fold([0u64; 3], |mut n, f| {
                n[f.severity as usize] += 1;
                n
            });
            Done { rendered, findings, said: digest.map(|digest| (decoded, digest)) }
        };
        let done: Vec<Done> = match pool {
            Some(pool) if self.jobs.len() > 8 => pool.install(|| {
                self.jobs.par_iter().map_init(Worker::default, |worker, job| one(worker, job)).collect()
            }),
            _ => self.jobs.iter().map(|job| one(&mut self.scout, job)).collect(),
        };
        let jobs = std::mem::take(&mut self.jobs);
        self.bytes = 0;
        let mut rendered = Vec::with_capacity(done.len());
        for one in &done {
            self.summary.findings.iter_mut().zip(one.findings).for_each(|(sum, n)| *sum += n);
        }
        if self.session.is_some() {
            return self.correlate(&jobs, &done, sink);
        }
        rendered.extend(done.into_iter().map(|one| one.rendered));
        sink.frames(&rendered)
    }

    /// Takes what was decoded into the session, in capture order.
    fn correlate(&mut self, jobs: &[Job], done: &[Done], sink: &mut dyn Sink) -> io::Result<bool> {
        let Some(session) = &mut self.session else { return Ok(true) };
        let mut ends = std::mem::take(&mut self.ends).into_iter().peekable();
        let mut events = std::mem::take(&mut self.early);
        for (number, (job, one)) in jobs.iter().zip(done).enumerate() {
            while let Some((_, call, side, end)) = ends.next_if(|(before, ..)| *before <= number) {
                session.call_end(call, side, &end, &mut events);
            }
            let Some((decoded, digest)) = &one.said else { continue };
            let lane = &job.frame.lane;
            let input = Input {
                frame: job.number,
                call: lane.call,
                side: lane.side,
                time: job.frame.time,
                timed: job.timed,
                rpc: lane.rpc.as_deref(),
                ids: &job.joined.ids,
                head: lane.request.as_deref(),
            };
            let placed = session.push(&input, digest, &mut events);
            self.summary.count_events(&events);
            let rendered = &one.rendered;
            if !sink.correlated(&Correlated { job, decoded, digest, rendered, placed, events: &events })? {
                return Ok(false);
            }
            events.clear();
        }
        for (_, call, side, end) in ends {
            session.call_end(call, side, &end, &mut events);
        }
        self.early = events;
        sink.known(session);
        Ok(true)
    }
}

/// A frame decoded and rendered.
#[derive(Default)]
struct Done {
    rendered: Vec<u8>,
    findings: [u64; 3],
    said: Option<(Decoded, Digest)>,
}

#[expect(clippy::large_enum_variant, reason = "lives on the stack for one step")]
enum Waiting {
    Record(Result<Record, source::Error>),
    Stop,
}

/// The next record; `idle` runs before waiting for one that is not there yet.
fn next(
    receiver: &Receiver<Result<Record, source::Error>>,
    mut idle: impl FnMut() -> io::Result<bool>,
) -> io::Result<Option<Waiting>> {
    match receiver.try_recv() {
        Ok(record) => Ok(Some(Waiting::Record(record))),
        Err(TryRecvError::Disconnected) => Ok(None),
        Err(TryRecvError::Empty) => {
            if !idle()? {
                return Ok(Some(Waiting::Stop));
            }
            Ok(receiver.recv().ok().map(Waiting::Record))
        }
    }
}
