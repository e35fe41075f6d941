//! Captures through the rooms, frames out in batches: decoded wide, written in order.
//! Never lets the number of threads or the pace of the input show in the output.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use crate::base::{Code, Cx, Finding, Severity, Timestamp};
use crate::exchange::Exchanges;
use crate::message::fast::Tables;
use crate::pdu::Frame;
use crate::session::{Digest, Event, Input, Placed, Session};
use crate::source::{self, Format, Reader};
use crate::view::Decoded;

use super::chunk::{Chunk, Rendered};
use super::crew::{Crew, Tasks};
use super::decode::{Looked, Worker, mask};
use super::feed::{Fed, Feed, Files};
use super::incoming::{Incoming, Step};
use super::joins::Joins;
use super::typing::Typer;
use super::{Config, Job, Render};

/// Frames that one thread takes at a time, at most.
const CHUNK_FRAMES: usize = 64;
/// Payload bytes that one thread takes at a time, about.
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes of frames that the filter refused in a chunk, at most: how much of a capture the others may keep.
const REFUSED_BYTES: usize = 1 << 20;
/// How much longer a compressed payload is taken to be once inflated.
const INFLATES: usize = 32;
/// Chunks a thread that may wait to be decoded or written.
const WAITING: usize = 8;
/// Payload bytes that may wait so, about.
const WAITING_BYTES: usize = 2 << 20;

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
    /// Some frames of a correlated run have been taken, and this is the session by now.
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
    // What correlates looks into the tree of every message, and so does a filter of messages that are
    // written under other names: one lane is enough then.
    let one_lane = config.correlate || config.filter.is_some() && config.json_names;
    let tables = (!one_lane).then(|| Arc::new(Tables::new(&config.schema, config.json_names)));
    let worker = || Worker::new(tables.clone());
    let act = |worker: &mut Worker, chunk: &mut Chunk| chunk.render(config, render, worker);
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
        joins: Joins::new(config, scout.tables().cloned()),
        typer: Typer::default(),
        scout,
        chunk: Chunk::default(),
        refused: 0,
        waiting: 0,
        number: 0,
        given: 0,
        landed: 0,
        loose: VecDeque::new(),
        first: None,
        before: None,
        exchanges: Exchanges::new(),
        files: Files::new(),
        summary: Summary::default(),
        session: config.correlate.then(|| Session::new(&config.schema, &config.plan, &config.limits)),
        early: Vec::new(),
        spare: Vec::new(),
        timed: true,
        at: 0,
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

struct Driver<'a> {
    config: &'a Config,
    joins: Joins,
    typer: Typer,
    scout: Worker,
    /// The chunk that is being filled.
    chunk: Chunk,
    /// Bytes of the frames that belong to it and that the filter refused.
    refused: usize,
    /// About how many bytes those before it hold that have not been written.
    waiting: usize,
    /// Frames so far.
    number: u64,
    /// Chunks given to the crew, and those written.
    given: u64,
    landed: u64,
    /// Findings of no frame, each with the number of chunks that come before it.
    loose: VecDeque<(u64, Arc<str>, Finding)>,
    first: Option<Timestamp>,
    before: Option<Timestamp>,
    exchanges: Exchanges,
    files: Files,
    summary: Summary,
    session: Option<Session<'a>>,
    /// Events that wait for the next frame.
    early: Vec<Event>,
    /// Chunks whose buffers are to be used again.
    spare: Vec<Chunk>,
    /// Whether frames of the capture have times of their own.
    timed: bool,
    /// Where in the capture the last frame begins.
    at: u64,
}

impl Driver<'_> {
    /// One capture from beginning to end; false where the sink wants no more.
    fn capture(&mut self, reader: Reader, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        let name: Arc<str> = Arc::from(reader.name());
        self.at = 0;
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
        let mut incoming = Incoming::new(reader, crew.threads());
        let mut block = Vec::new();
        let mut frames = Vec::new();
        let mut findings = Vec::new();
        loop {
            let idle = || self.settle(crew, sink).and_then(|go| sink.idle().map(|()| go));
            match incoming.next(&mut block, idle)? {
                Step::Records => {}
                Step::End => break,
                Step::Stop => return Ok(false),
                Step::Error(error) => {
                    if !self.land(crew, sink, true)? {
                        return Ok(false);
                    }
                    sink.error(&error);
                }
            }
            for record in block.drain(..) {
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
                    self.chunk.ends.push((self.chunk.jobs.len(), call, side, end));
                }
                Fed::End(..) => {}
            }
            let is_long = self.chunk.jobs.len() >= CHUNK_FRAMES || self.chunk.weight >= CHUNK_BYTES;
            let is_full = is_long || self.refused >= REFUSED_BYTES;
            if is_full && !self.turn(crew, sink)? {
                return Ok(false);
            }
        }
        let given = self.given;
        self.loose.extend(findings.drain(..).map(|finding| (given, name.clone(), finding)));
        self.tell(sink);
        Ok(true)
    }

    /// Gives the sink the findings of no frame whose turn it is.
    fn tell(&mut self, sink: &mut dyn Sink) {
        let landed = self.landed;
        while self.loose.front().is_some_and(|(after, ..)| *after <= landed)
            && let Some((_, name, mut finding)) = self.loose.pop_front()
        {
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
        self.number += 1;
        let timed = timed && self.timed;
        let job =
            Job { number: self.number, capture: name.clone(), frame, typed, joined, clock, timed, wired };
        let bytes = job.frame.payload.len();
        // A run that is correlated is what all of its frames say.
        if self.session.is_none() && self.scout.refuses_early(config, &job) {
            self.refused += size_of::<Frame>() + bytes;
            return;
        }
        // What a batch holds is what its frames inflate to, which is not known yet; and all of the capture that lies
        // between them, since a message is a part of the block that it came in.
        let at = job.frame.at.unwrap_or(self.at);
        let between = at.saturating_sub(std::mem::replace(&mut self.at, at)).min(WAITING_BYTES as u64);
        let inflated = bytes.saturating_mul(if job.frame.compressed { INFLATES } else { 1 });
        self.chunk.weight = self.chunk.weight.saturating_add(inflated.max(between as usize));
        self.chunk.jobs.push(job);
    }

    /// Decodes, renders and writes what there is; false where the sink wants no more.
    fn settle(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        Ok(self.turn(crew, sink)? && self.land(crew, sink, true)?)
    }

    /// Gives the chunk to the crew, and writes what is done; false where the sink wants no more.
    fn turn(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink) -> io::Result<bool> {
        if !self.chunk.jobs.is_empty() || !self.chunk.ends.is_empty() || self.refused > 0 {
            let next = self.spare.pop().unwrap_or_default();
            let chunk = Chunk { frames: self.number, ..std::mem::replace(&mut self.chunk, next) };
            (self.refused, self.waiting) = (0, self.waiting + chunk.weight);
            self.given += 1;
            crew.give(chunk, &mut self.scout);
        }
        self.land(crew, sink, false)
    }

    /// Writes chunks, in order: those that are done, and with `all` the others too; false where the sink wants no
    /// more.
    fn land(&mut self, crew: &mut Crew<'_, '_>, sink: &mut dyn Sink, all: bool) -> io::Result<bool> {
        let most = WAITING * crew.threads();
        loop {
            let wait = all || crew.under_way() >= most || self.waiting >= WAITING_BYTES;
            let Some(chunk) = crew.take(&mut self.scout, wait)? else { return Ok(true) };
            self.waiting -= chunk.weight;
            self.landed += 1;
            self.summary.frames = chunk.frames;
            self.summary.findings.iter_mut().zip(chunk.findings).for_each(|(sum, n)| *sum += n);
            let go = match self.session {
                Some(_) => self.correlate(&chunk, sink)?,
                None => sink.frames(&chunk.rendered)?,
            };
            if !go {
                return Ok(false);
            }
            self.spare.extend(chunk.emptied());
            self.tell(sink);
        }
    }

    /// Takes what was decoded into the session, in capture order.
    fn correlate(&mut self, chunk: &Chunk, sink: &mut dyn Sink) -> io::Result<bool> {
        let Some(session) = &mut self.session else { return Ok(true) };
        let mut ends = chunk.ends.iter().peekable();
        let mut events = std::mem::take(&mut self.early);
        let done = chunk.jobs.iter().zip(&chunk.said).zip(chunk.rendered.iter());
        for (number, ((job, (decoded, digest)), rendered)) in done.enumerate() {
            while let Some((_, call, side, end)) = ends.next_if(|(before, ..)| *before <= number) {
                session.call_end(*call, *side, end, &mut events);
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
            session.call_end(*call, *side, end, &mut events);
        }
        self.early = events;
        sink.known(session);
        Ok(true)
    }
}
