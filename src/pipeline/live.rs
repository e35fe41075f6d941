//! A capture that is read in the background while it is looked at.
//! Never makes whoever looks wait for the end, nor keeps a decoded message.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::base::text::clean;
use crate::base::{Finding, Severity};
use crate::dialect::{Part, Plan};
use crate::pdu::Role;
use crate::session::Session;
use crate::source::{self, Reader};
use crate::view::tui::{Class, Progress};

use super::kept::{Kept, Seen};
use super::runs::Runs;
use super::verdicts::Late;
use super::{Config, Correlated, Sink, run};

/// Payload bytes that are kept, at most: past it frames are listed without their bytes.
const MAX_BYTES: u64 = 4 << 30;

/// What the reading thread and those that look share.
pub struct Shared {
    /// The configuration of the run.
    pub config: Config,
    /// The capture's name.
    pub name: String,
    /// Whether more is waited for at the end of the capture.
    pub live: bool,
    /// What has been read.
    pub store: RwLock<Store>,
    /// Set when nobody looks any more.
    pub over: AtomicBool,
    /// Grows when the timeline changes.
    pub version: AtomicU64,
}

/// Frames and what is known of them.
#[derive(Default)]
pub struct Store {
    /// The frames.
    pub kept: Kept,
    /// Names of kinds, in the order of appearance.
    pub kinds: Vec<String>,
    by_kind: HashMap<String, u32>,
    /// What correlation knows.
    pub runs: Runs,
    /// Findings by severity.
    pub findings: [u64; 3],
    /// What went wrong with the capture.
    pub trouble: Option<String>,
    /// Whether all has been read.
    pub done: bool,
}

impl Store {
    fn kind(&mut self, kind: &str) -> u32 {
        if let Some(number) = self.by_kind.get(kind) {
            return *number;
        }
        let number = self.kinds.len() as u32;
        self.kinds.push(kind.to_owned());
        self.by_kind.insert(kind.to_owned(), number);
        number
    }

    /// What correlation tells of a frame, for a filter.
    pub(super) fn late<'a>(&'a self, plan: &'a Plan, number: u64) -> Late<'a> {
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        Late {
            plan,
            links: self.runs.links_of(number).collect(),
            findings: self.runs.notices.get(&number).map_or(&[], Vec::as_slice),
            outcome: self.runs.outcome(self.kept.seen(at).and_then(|seen| seen.stage)),
        }
    }
}

impl Shared {
    /// What has been read so far, to look at.
    pub fn read<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        // A reader that panicked has left what it had: it is shown.
        look(&self.store.read().unwrap_or_else(|broken| broken.into_inner()))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        change(&mut self.store.write().unwrap_or_else(|broken| broken.into_inner()))
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        self.read(|store| Progress {
            name: clean(&self.name),
            frames: store.kept.len() as u64,
            done: store.done,
            live: self.live,
            filtered: None,
            findings: store.findings,
            trouble: store.trouble.clone().or_else(|| {
                (store.kept.lost > 0)
                    .then(|| format!("{} payloads past {} GiB not kept", store.kept.lost, MAX_BYTES >> 30))
            }),
            version: self.version.load(Ordering::Relaxed),
        })
    }
}

/// Starts to read; the thread ends with the captures, or when nobody looks any more.
pub fn start(
    config: Config,
    name: String,
    live: bool,
    captures: impl Iterator<Item = Reader> + Send + 'static,
) -> Arc<Shared> {
    let mut store = Store::default();
    store.kept.max_bytes = MAX_BYTES;
    let shared = Arc::new(Shared {
        config,
        name,
        live,
        store: RwLock::new(store),
        over: AtomicBool::new(false),
        version: AtomicU64::new(0),
    });
    let own = shared.clone();
    std::thread::spawn(move || {
        let mut captures = captures;
        let mut keeper = Keeper { shared: &own, stages: 0 };
        let result = run(&own.config, &mut captures, &|_, _, _| {}, &mut keeper);
        own.write(|store| {
            store.done = true;
            if let Err(error) = result {
                store.trouble = Some(clean(&error.to_string()));
            }
        });
        own.version.fetch_add(1, Ordering::Relaxed);
    });
    shared
}

struct Keeper<'a> {
    shared: &'a Shared,
    /// Frames since the stages were looked at, against how many there are: looking costs a copy.
    stages: usize,
}

impl Sink for Keeper<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        let findings = &frame.decoded.findings;
        self.shared.write(|store| {
            for finding in findings {
                store.findings[finding.severity as usize] += 1;
            }
            let seen = Seen {
                kind: store.kind(frame.decoded.kind.as_deref().unwrap_or("-")),
                class: class(frame),
                severity: findings.iter().map(|f| f.severity).max(),
                stage: frame.placed.stage,
            };
            store.kept.push(frame.job, seen);
            keep(store, frame.events);
        });
        self.stages += 1;
        Ok(!self.shared.over.load(Ordering::Relaxed))
    }

    fn known(&mut self, session: &Session<'_>) {
        let model = session.model();
        if self.stages * 2 < model.stages.len() {
            return;
        }
        self.stages = 0;
        self.shared.write(|store| store.runs.stages.clone_from(&model.stages));
        self.shared.version.fetch_add(1, Ordering::Relaxed);
    }

    fn finished(&mut self, session: &Session<'_>, events: &[crate::session::Event]) -> io::Result<()> {
        self.shared.write(|store| {
            keep(store, events);
            store.runs.stages.clone_from(&session.model().stages);
        });
        Ok(())
    }

    fn finding(&mut self, _: &str, finding: &Finding) {
        self.shared.write(|store| {
            store.findings[finding.severity as usize] += 1;
            if finding.severity > Severity::Note && store.trouble.is_none() {
                store.trouble = Some(format!("{}: {}", finding.code.name(), clean(&finding.text)));
            }
        });
    }

    fn error(&mut self, error: &source::Error) {
        self.shared.write(|store| store.trouble = Some(clean(&error.to_string())));
    }
}

fn keep(store: &mut Store, events: &[crate::session::Event]) {
    for event in events {
        if let crate::session::Event::Finding(notice) = event {
            store.findings[notice.finding.severity as usize] += 1;
            for frame in &notice.frames {
                store.kept.worsen(*frame, notice.finding.severity);
            }
        }
    }
    store.runs.take(events);
}

/// What a frame is to a reader.
fn class(frame: &Correlated<'_>) -> Class {
    let digest = frame.digest;
    let opens = digest.parts.iter().any(|p| p.part == Part::Open);
    match frame.job.frame.role {
        Role::EndStream | Role::Trailers(_) | Role::Error => Class::End,
        _ if frame.placed.repeated => Class::Repeat,
        _ if digest.pulse.is_some() => Class::Pulse,
        _ if !digest.endings.is_empty() => Class::End,
        _ if !digest.pieces.is_empty() => Class::Text,
        _ if opens => Class::Ask,
        _ if !digest.parts.is_empty() => Class::Answer,
        _ => Class::Plain,
    }
}
