//! Captures through the rooms, frames out in batches: decoded wide, written in order.
//! Never lets the number of threads or the pace of the input show in the output.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::Duration;

use crate::base::{Code, Cx, Finding, Severity, Timestamp};
use crate::exchange::Exchanges;
use crate::message::fast::Tables;
use crate::pdu::{End, Frame, Side};
use crate::session::{Digest, Event, Input, Placed, Session};
use crate::source::{self, Format, Reader, Record};
use crate::view::Decoded;

use super::crew::{Crew, Done, Tasks};
use super::decode::{Looked, Worker, mask};
use super::feed::{Fed, Feed, Files};
use super::joins::Joins;
use super::typing::Typer;
use super::{Config, Job, Render};

/// Frames that are decoded together, at most.
const BATCH_FRAMES: usize = 1024;
/// Frames that one thread takes at a time.
const CHUNK: usize = 64;
/// Payload bytes that are decoded together, about.
const BATCH_BYTES: usize = 1 << 20;
/// How much longer a compressed payload is taken to be once inflated, to bound a batch.
const INFLATES: usize = 32;
/// Blocks of records that a reader may be ahead.
const AHEAD: usize = 4;
/// How often a run that waits for input looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Records in a block, at most.
const BLOCK: usize = 256;

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
    /// Takes rendered frames, in order. False ends the run. Not called where the run is correlated.
    fn frames(&mut self, _rendered: &Rendered) -> io::Result<bool> {
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
    // What correlates looks into the tree of every message, and so does a filter of messages that are
    // written under other names: one lane is enough then.
    let one_lane = config.correlate || config.filter.is_some() && config.json_names;
    let tables = (!one_lane).then(|| Arc::new(Tables::new(&config.schema, config.json_names)));
    let worker = || Worker::new(tables.clone());
    let act = |worker: &mut Worker, chunk: &mut Done| render_chunk(config, render, worker, chunk);
    let tasks = Tasks::default();
    let threads = config.threads.max(1);
    std::thread::scope(|scope| {
        let crew = Crew::new(threads, scope, &tasks, &act, &worker);
        run_with(config, captures, worker(), crew, sink)
    })
}

fn run_with(
    config: &Config,
    captures: &mut dyn Iterator<Item = Reader>,
    scout: Worker,
    mut crew: Crew<'_, '_>,
    sink: &mut dyn Sink,
) -> io::Result<Summary> {
    let crew = &mut crew;
    let mut driver = Driver {
        config,
        joins: Joins::new(config),
        typer: Typer::default(),
        scout,
        chunks: Vec::new(),
        queued: 0,
        bytes: 0,
        number: 0,
        flight: None,
        loose: Vec::new(),
        first: None,
        before: None,
        exchanges: Exchanges::new(),
        files: Files::new(),
        summary: Summary::default(),
        session: config.correlate.then(|| Session::new(&config.schema, &config.plan, &config.limits)),
        ends: Vec::new(),
        early: Vec::new(),
        spare: Vec::new(),
        timed: true,
    };
    for reader in captures {
        if !driver.capture(reader, crew, sink)? {
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

/// Decodes and renders the frames of a chunk that are wanted.
fn render_chunk(config: &Config, render: &Render<'_>, worker: &mut Worker, chunk: &mut Done) {
    let Done { jobs, rendered, findings, said } = chunk;
    for job in jobs.iter() {
        // A run is what all of its frames say: the filter of a correlated run is its sink's.
        let decoded = match config.correlate {
            true => Some(worker.decode(config, job)),
            false => worker.decode_wanted(config, job),
        };
        let Some(decoded) = decoded else {
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
            None => worker.recycle(job, decoded),
        }
    }
    if !config.correlate {
        jobs.clear();
    }
}

/// A side of a call that stopped, after so many frames of its batch.
type Stopped = (usize, u64, Side, End);

/// A batch that is being rendered.
struct Flight {
    /// Frames of the run up to its end.
    frames: u64,
    ends: Vec<Stopped>,
}

struct Driver<'a> {
    config: &'a Config,
    joins: Joins,
    typer: Typer,
    scout: Worker,
    /// The batch that is being filled: its chunks, its frames and about how many bytes they have.
    chunks: Vec<Done>,
    queued: usize,
    bytes: usize,
    /// Frames so far.
    number: u64,
    /// The batch before it, where it is still under way.
    flight: Option<Flight>,
    /// Findings of no frame that wait for that batch.
    loose: Vec<(Arc<str>, Finding)>,
    first: Option<Timestamp>,
    before: Option<Timestamp>,
    exchanges: Exchanges,
    files: Files,
    summary: Summary,
    session: Option<Session<'a>>,
    ends: Vec<Stopped>,
    /// Events that wait for the next frame.
    early: Vec<Event>,
    /// Chunks whose buffers are to be used again.
    spare: Vec<Done>,
    /// Whether frames of the capture have times of their own.
    timed: bool,
}

impl Driver<'_> {
    /// One capture from beginning to end; false where the sink wants no more.
    fn capture(&mut self, reader: Reader, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
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
        let stop = reader.stop();
        let (sender, receiver) = sync_channel::<Result<Vec<Record>, source::Error>>(AHEAD);
        // The reader waits for its input on a thread of its own, so that what has arrived can be shown meanwhile.
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
        let mut frames = Vec::new();
        let mut findings = Vec::new();
        while let Some(waiting) = next(&receiver, stop.as_deref(), || {
            self.settle(crew, sink).and_then(|go| sink.idle().map(|()| go))
        })? {
            let block = match waiting {
                Waiting::Stop => return Ok(false),
                Waiting::Records(Ok(block)) => block,
                Waiting::Records(Err(error)) => {
                    if !self.land(crew, sink)? {
                        return Ok(false);
                    }
                    sink.error(&error);
                    continue;
                }
            };
            for record in block {
                let mut cx = Cx { findings: &mut findings, limits: &self.config.limits };
                feed.push(self.config, record, &mut cx, &mut frames);
                if !self.take(&name, &mut frames, &mut findings, crew, sink)? {
                    return Ok(false);
                }
            }
        }
        let mut cx = Cx { findings: &mut findings, limits: &self.config.limits };
        feed.finish(self.config, &mut cx, &mut frames);
        let go = self.take(&name, &mut frames, &mut findings, crew, sink)?;
        (self.exchanges, self.files) = feed.into_parts();
        Ok(self.settle(crew, sink)? && go)
    }

    /// Takes in what the rooms gave.
    fn take(
        &mut self,
        name: &Arc<str>,
        frames: &mut Vec<Fed>,
        findings: &mut Vec<Finding>,
        crew: &mut Crew<'_, '_>,
        sink: &mut dyn Sink,
    ) -> io::Result<bool> {
        for fed in frames.drain(..) {
            match fed {
                Fed::Frame(frame, ids, timed) => self.queue(name, frame, &ids, timed),
                Fed::End(call, side, end) if self.session.is_some() => {
                    self.ends.push((self.queued, call, side, end));
                }
                Fed::End(..) => {}
            }
            if (self.queued >= BATCH_FRAMES || self.bytes >= BATCH_BYTES) && !self.turn(crew, sink)? {
                return Ok(false);
            }
        }
        self.loose.extend(findings.drain(..).map(|finding| (name.clone(), finding)));
        if self.flight.is_none() {
            self.tell(sink);
        }
        Ok(true)
    }

    /// Gives findings that belong to no frame to the sink.
    fn tell(&mut self, sink: &mut dyn Sink) {
        for (name, mut finding) in self.loose.drain(..) {
            self.summary.count(std::slice::from_ref(&finding));
            if !self.config.show_secrets {
                mask(self.config.schema.secrets(), &mut finding);
            }
            sink.finding(&name, &finding);
        }
    }

    fn queue(&mut self, name: &Arc<str>, frame: Frame, ids: &[(String, String)], timed: bool) {
        let (config, scout) = (self.config, &mut self.scout);
        let mut typed = self
            .typer
            .resolve(config, &frame, &mut || scout.payload(config, &frame, &mut Vec::new()).0.into_owned());
        let wants = self.joins.wants(config, &frame, typed.ty);
        let looked = wants.then(|| scout.wire(config, &frame, typed.ty));
        let message = looked.as_ref().map(Looked::bytes);
        let joined = self.joins.observe(config, &frame, typed.ty, message, ids);
        let wired = match looked {
            Some(Looked::Json(wired)) => Some(wired),
            _ => None,
        };
        let mut frame = frame;
        if self.joins.filled() {
            let text = "more ids that join calls than are kept: calls of later ones stay apart";
            frame.findings.push(Finding::new(Code::LimitReached, text));
        }
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
        self.number += 1;
        self.queued += 1;
        let timed = timed && self.timed;
        let job =
            Job { number: self.number, capture: name.clone(), frame, typed, joined, clock, timed, wired };
        match self.chunks.last_mut().filter(|chunk| chunk.jobs.len() < CHUNK) {
            Some(chunk) => chunk.jobs.push(job),
            None => {
                let mut chunk = self.spare.pop().unwrap_or_default();
                chunk.jobs.push(job);
                self.chunks.push(chunk);
            }
        }
    }

    /// Decodes, renders and writes what is queued; false where the sink wants no more.
    fn settle(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        Ok(self.turn(crew, sink)? && self.land(crew, sink)?)
    }

    /// Writes the batch under way and begins the one that is queued; a crew of one thread ends it at once.
    fn turn(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        if !self.land(crew, sink)? {
            return Ok(false);
        }
        if self.queued == 0 && self.ends.is_empty() {
            return Ok(true);
        }
        self.flight = Some(Flight { frames: self.number, ends: std::mem::take(&mut self.ends) });
        crew.begin(std::mem::take(&mut self.chunks));
        (self.queued, self.bytes) = (0, 0);
        if crew.is_alone() { self.land(crew, sink) } else { Ok(true) }
    }

    /// Waits for the batch under way and writes it; false where the sink wants no more.
    fn land(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        let Some(flight) = self.flight.take() else { return Ok(true) };
        let done = crew.end(&mut self.scout)?;
        self.summary.frames = flight.frames;
        for one in &done {
            self.summary.findings.iter_mut().zip(one.findings).for_each(|(sum, n)| *sum += n);
        }
        if self.session.is_some() && !self.correlate(flight.ends, &done, sink)? {
            return Ok(false);
        }
        for one in done {
            if self.session.is_none() && !sink.frames(&one.rendered)? {
                return Ok(false);
            }
            self.spare.extend(one.emptied());
        }
        self.tell(sink);
        Ok(true)
    }

    /// Takes what was decoded into the session, in capture order.
    fn correlate(&mut self, ends: Vec<Stopped>, done: &[Done], sink: &mut dyn Sink) -> io::Result<bool> {
        let Some(session) = &mut self.session else { return Ok(true) };
        let mut ends = ends.into_iter().peekable();
        let mut events = std::mem::take(&mut self.early);
        let done =
            done.iter().flat_map(|chunk| chunk.jobs.iter().zip(&chunk.said).zip(chunk.rendered.iter()));
        for (number, ((job, (decoded, digest)), rendered)) in done.enumerate() {
            while let Some((_, call, side, end)) = ends.next_if(|(before, ..)| *before <= number) {
                session.call_end(call, side, &end, &mut events);
            }
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

impl Done {
    /// The same buffers with nothing in them; `None` where they have grown too long to be kept.
    fn emptied(mut self) -> Option<Self> {
        self.jobs.clear();
        self.said.clear();
        self.rendered.bytes.clear();
        self.rendered.ends.clear();
        self.findings = [0; 3];
        (self.rendered.bytes.capacity() <= BATCH_BYTES).then_some(self)
    }
}

enum Waiting {
    Records(Result<Vec<Record>, source::Error>),
    Stop,
}

/// The next records; `idle` runs before waiting for one that is not there yet.
fn next(
    receiver: &Receiver<Result<Vec<Record>, source::Error>>,
    stop: Option<&AtomicBool>,
    mut idle: impl FnMut() -> io::Result<bool>,
) -> io::Result<Option<Waiting>> {
    match receiver.try_recv() {
        Ok(block) => Ok(Some(Waiting::Records(block))),
        Err(TryRecvError::Disconnected) => Ok(None),
        Err(TryRecvError::Empty) => {
            if !idle()? {
                return Ok(Some(Waiting::Stop));
            }
            let Some(stop) = stop else { return Ok(receiver.recv().ok().map(Waiting::Records)) };
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(block) => return Ok(Some(Waiting::Records(block))),
                    // A read that waits for more does not hear of it.
                    Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
                    Err(_) => return Ok(None),
                }
            }
        }
    }
}
