//! A capture as the terminal interface looks at it: rows and frames decoded as they are shown.
//! Never decodes what nobody sees, but for filters and searches, which do so in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::text::clean;
use crate::pdu::Side;
use crate::query::Filter;
use crate::session::digest::Piece;
use crate::source::Reader;
use crate::view::tui::detail::{self, Detail, Facts};
use crate::view::tui::{self, Columns, Completion, Frames, Hunt, Jump, Lanes, Mistake, Progress, Row, Said};

use super::again::Again;
use super::hunt::{Hits, Search};
use super::live::{self, Shared};
use super::{Config, Job, complete, filter};

/// Frames that are put together where a run is still going on, at most.
const MAX_SAID: usize = 20_000;
/// Messages of a call that are told one by one, at most.
const MAX_TOLD: usize = 1_000;

/// A capture being looked at.
pub struct Window {
    shared: Arc<Shared>,
    again: Again,
    hits: Option<Arc<Hits>>,
    search: Option<Arc<Search>>,
}

impl Drop for Window {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Window {
    /// Opens captures: they are read in the background. The configuration is to correlate.
    pub fn open(
        config: Config,
        name: String,
        live: bool,
        captures: impl Iterator<Item = Reader> + Send + 'static,
    ) -> Self {
        let shared = live::start(config, name, live, captures);
        Self { shared, again: Again::default(), hits: None, search: None }
    }

    fn job(&self, number: u64) -> Option<Job> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.shared.read(|store| store.kept.job(at))
    }

    fn compile(&self, text: &str) -> Result<Filter, Mistake> {
        let config = &self.shared.config;
        // What goes on growing has no end at which pairs and runs are known.
        let ends = !self.shared.live;
        let filter = filter::display_filter(text, &config.schema, &config.plan, ends);
        let found = filter.map(|filter| (filter.later().filter(|_| !ends), filter));
        match found {
            Ok((None, filter)) => Ok(filter),
            Ok((Some(error), _)) | Err(error) => {
                let chars = |at: usize| text.get(..at).unwrap_or(text).chars().count();
                Err(Mistake {
                    start: chars(error.span.start),
                    end: chars(error.span.end),
                    text: clean(&error.text),
                    help: error.help.as_deref().map(clean),
                })
            }
        }
    }

    /// What a run said so far, of its frames up to now.
    fn said_so_far(&mut self, stages: &[u32]) -> Vec<Said> {
        let config = &self.shared.config;
        let jobs: Vec<Job> = self.shared.read(|store| {
            let own =
                |at: &usize| store.kept.seen(*at).and_then(|s| s.stage).is_some_and(|s| stages.contains(&s));
            (0..store.kept.len()).filter(own).take(MAX_SAID).filter_map(|at| store.kept.job(at)).collect()
        });
        let mut out: Vec<(u16, Said)> = Vec::new();
        for job in jobs {
            let pieces: Vec<Piece> = self.again.digest(config, &job).pieces;
            for piece in pieces {
                let Some(rule) = config.plan.streams.get(usize::from(piece.stream)) else { continue };
                match out.iter_mut().find(|(_, said)| *said.name == *rule.name) {
                    // Of alternatives, the first that occurred.
                    Some((stream, said)) if *stream == piece.stream => {
                        if let Some((.., text)) = said.parts.last_mut() {
                            text.push_str(&piece.text);
                        }
                    }
                    Some(_) => {}
                    None => {
                        let parts = vec![(Some(job.number), None, piece.text.to_string())];
                        out.push((piece.stream, Said { name: clean(&rule.name), parts }));
                    }
                }
            }
        }
        out.into_iter().map(|(_, said)| said).collect()
    }

    /// The messages of a call, one after another.
    fn told(&mut self, number: u64) -> Said {
        let config = &self.shared.config;
        let jobs: Vec<Job> = self.shared.read(|store| {
            let at = usize::try_from(number).unwrap_or(1).saturating_sub(1);
            let Some((call, _)) = store.kept.call(at) else { return Vec::new() };
            let own = |at: &usize| store.kept.call(*at).is_some_and(|(c, _)| c == call);
            (0..store.kept.len()).filter(own).take(MAX_TOLD).filter_map(|at| store.kept.job(at)).collect()
        });
        let mut parts = Vec::new();
        for job in jobs {
            let decoded = self.again.decode(config, &job);
            let value: serde_json::Value = serde_json::from_slice(&decoded.message).unwrap_or_default();
            let text = serde_json::to_string_pretty(&value).unwrap_or_default();
            let arrow = if job.frame.lane.side == Side::Request { "→" } else { "←" };
            let kind = decoded.kind.as_deref().unwrap_or("message");
            let text = format!("{arrow} frame {} {}\n{}\n", job.number, clean(kind), lines(&text));
            parts.push((Some(job.number), Some(job.frame.lane.side), text));
        }
        Said { name: "messages of the call".to_owned(), parts }
    }
}

/// Text with its line breaks, every other unsafe character escaped.
fn lines(text: &str) -> String {
    let spaced = text.replace('\t', "    ").replace("\r\n", "\n");
    spaced.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

impl Frames for Window {
    fn progress(&self) -> Progress {
        let looked = self.hits.as_ref().map(|hits| hits.looked.load(Ordering::Relaxed));
        Progress { filtered: looked, ..self.shared.progress() }
    }

    fn len(&self) -> usize {
        match &self.hits {
            Some(hits) => hits.read(<[u32]>::len),
            None => self.shared.read(|store| store.kept.len()),
        }
    }

    fn number(&self, at: usize) -> Option<u64> {
        match &self.hits {
            Some(hits) => hits.read(|numbers| numbers.get(at).copied().map(u64::from)),
            None => (at < self.len()).then_some(at as u64 + 1),
        }
    }

    fn place(&self, number: u64) -> usize {
        match &self.hits {
            Some(hits) => hits.read(|numbers| numbers.partition_point(|n| u64::from(*n) < number)),
            None => usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1),
        }
    }

    fn row(&mut self, number: u64, columns: &Columns) -> Option<Row> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        let (job, seen) = self.shared.read(|store| Some((store.kept.job(at)?, *store.kept.seen(at)?)))?;
        let config = &self.shared.config;
        let decoded = self.again.decode(config, &job);
        let item = job.item(config, &decoded);
        let cells = tui::cells(&item, &config.schema, columns, job.clock);
        let side = job.frame.lane.side;
        Some(Row { number, side, class: seen.class, severity: seen.severity, hue: seen.kind, cells })
    }

    fn detail(&mut self, number: u64) -> Option<Detail> {
        let job = self.job(number)?;
        let config = &self.shared.config;
        let layers = self.again.layers(config, &job);
        let decoded = self.again.decode(config, &job);
        let facts = self.shared.read(|store| {
            let stage =
                usize::try_from(number).ok().and_then(|n| store.kept.seen(n - 1)).and_then(|s| s.stage);
            Facts {
                inflated: layers.inflated,
                wire: layers.wire,
                outer: layers.outer,
                levels: store.runs.levels(&config.plan, stage),
                links: store.runs.joined(number),
                notices: store.runs.notices.get(&number).cloned().unwrap_or_default(),
            }
        });
        Some(detail::build(&job.item(config, &decoded), &facts, &config.schema, &config.limits))
    }

    fn record(&mut self, number: u64) -> Option<Vec<u8>> {
        let job = self.job(number)?;
        let config = &self.shared.config;
        let decoded = self.again.decode(config, &job);
        let mut line = Vec::new();
        crate::view::jsonl::write(&job.item(config, &decoded), &mut line);
        Some(line)
    }

    fn check(&self, filter: &str) -> Result<(), Mistake> {
        self.compile(filter).map(|_| ())
    }

    fn filter(&mut self, filter: &str) -> Result<(), Mistake> {
        let compiled = if filter.trim().is_empty() { None } else { Some(self.compile(filter)?) };
        if let Some(old) = self.hits.take() {
            old.stop();
        }
        self.hits = compiled.map(|filter| Hits::start(self.shared.clone(), filter));
        Ok(())
    }

    fn complete(&self, filter: &str, at: usize) -> Completion {
        let kinds = self.shared.read(|store| store.kinds.clone());
        let mut found = complete::complete(&self.shared.config, &kinds, filter, at);
        found.words.iter_mut().for_each(|word| *word = clean(word));
        found
    }

    fn jump(&self, from: u64, jump: Jump, back: bool) -> Option<u64> {
        self.shared.read(|store| {
            let at = usize::try_from(from).unwrap_or(1).saturating_sub(1);
            let nearest = |wanted: &dyn Fn(&usize) -> bool| match back {
                true => (0..at.min(store.kept.len())).rev().find(wanted),
                false => (at + 1..store.kept.len()).find(wanted),
            };
            let found = match jump {
                Jump::Pair => return store.runs.partner(from, back),
                Jump::Finding => nearest(&|at| {
                    store.kept.seen(*at).and_then(|s| s.severity) > Some(crate::base::Severity::Note)
                }),
                Jump::Call => {
                    let (call, _) = store.kept.call(at)?;
                    nearest(&|at| store.kept.call(*at).is_some_and(|(c, _)| c == call))
                }
            };
            found.map(|at| at as u64 + 1)
        })
    }

    fn search(&mut self, text: &str, from: u64, back: bool) {
        if let Some(old) = self.search.take() {
            old.stop();
        }
        if text.is_empty() {
            return;
        }
        let (shared, hits) = (self.shared.clone(), self.hits.clone());
        let next = move |number: u64| {
            if let Some(hits) = &hits {
                return hits.read(|numbers| {
                    let found = match back {
                        true => numbers.partition_point(|n| u64::from(*n) < number).checked_sub(1),
                        false => Some(numbers.partition_point(|n| u64::from(*n) <= number)),
                    };
                    found.and_then(|at| numbers.get(at)).copied().map(u64::from)
                });
            }
            let count = shared.read(|store| store.kept.len() as u64);
            let next = if back { number.checked_sub(1) } else { number.checked_add(1) };
            next.filter(|n| *n >= 1 && *n <= count)
        };
        self.search = Some(Search::start(self.shared.clone(), text, from, next));
    }

    fn found(&mut self) -> Option<Hunt> {
        let (at, end) = self.search.as_ref()?.state();
        let Some(end) = end else { return Some(Hunt::At(at)) };
        self.search = None;
        Some(end.map_or(Hunt::Nowhere, Hunt::Found))
    }

    fn lanes(&self) -> Lanes {
        self.shared.read(|store| Arc::new(store.runs.lanes(&self.shared.config.plan)))
    }

    fn density(&self, from: i64, to: i64, by_time: bool, columns: usize) -> [Vec<u32>; 2] {
        let mut out = [vec![0u32; columns], vec![0u32; columns]];
        let span = to.saturating_sub(from).max(1) as f64;
        self.shared.read(|store| {
            for at in 0..store.kept.len() {
                let place = if by_time { store.kept.time(at).map(|t| t.0) } else { Some(at as i64 + 1) };
                let Some(place) = place.filter(|p| (from..=to).contains(p)) else { continue };
                let column = (place.saturating_sub(from) as f64 / span * columns.saturating_sub(1) as f64)
                    .round() as usize;
                let side = usize::from(store.kept.call(at).is_some_and(|(_, side)| side == Side::Response));
                if let Some(count) = out.get_mut(side).and_then(|side| side.get_mut(column)) {
                    *count = count.saturating_add(1);
                }
            }
        });
        out
    }

    fn said(&mut self, number: u64) -> Vec<Said> {
        let plan = &self.shared.config.plan;
        let at = usize::try_from(number).unwrap_or(1).saturating_sub(1);
        let (mut out, run) = self.shared.read(|store| {
            let stage = store.kept.seen(at).and_then(|s| s.stage);
            let path: Vec<(u32, _)> = store.runs.path(stage).map(|(n, s)| (n, s.id.clone())).collect();
            let of_run =
                |text: &&crate::session::RunText| path.iter().any(|(_, id)| id.is_some() && *id == text.run);
            let texts = store.runs.texts.iter().filter(of_run);
            let out: Vec<Said> = texts
                .map(|text| Said { name: clean(&text.stream), parts: vec![(None, None, text.text())] })
                .collect();
            // All that stands within the outermost level that is a run.
            let is_run = |n: u32| {
                let level = store.runs.stages.get(n as usize).map(|s| s.level);
                level.is_some_and(|l| plan.runs.iter().any(|(_, run)| *run == l))
            };
            let run = path.iter().map(|(n, _)| *n).find(|n| is_run(*n));
            let within: Vec<u32> = match run {
                Some(run) => (0..store.runs.stages.len() as u32)
                    .filter(|n| store.runs.path(Some(*n)).any(|(n, _)| n == run))
                    .collect(),
                None => Vec::new(),
            };
            (out, within)
        });
        if out.is_empty() && !run.is_empty() {
            out = self.said_so_far(&run);
        }
        let show = self.shared.config.show_secrets;
        for (.., text) in out.iter_mut().flat_map(|said| &mut said.parts) {
            // A secret cut across two pieces is whole here.
            let hidden = if show { None } else { self.shared.config.schema.secrets().mask_text(text) };
            *text = lines(hidden.as_deref().unwrap_or(text));
        }
        out.push(self.told(number));
        out
    }
}
