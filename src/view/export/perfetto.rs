//! A trace in Chrome's JSON form (Trace Event Format), as ui.perfetto.dev, Chrome and Speedscope open it.
//! Never lets two slices of a track overlap: what would is put on a further track.
//!
//! A run is a process; its levels, lifelines and the frames of either side are its threads. Answers are flows from the
//! frame that asked, tokens and bytes are counters, findings are instants.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use crate::base::json::{push_key, push_number, push_string};
use crate::base::text::clean;
use crate::base::{Severity, Timestamp};
use crate::dialect::{Take, Unit};
use crate::pdu::Side;
use crate::view::events::push_float;

use super::{Frame, Run, Story};

/// The process of frames that belong to no run.
const OUTSIDE: u64 = 0;
/// Threads of the frames of either side; those of levels and lifelines follow.
const SENT: u64 = 1;
const RECEIVED: u64 = 2;
/// Threads of one level or lifeline, at most: what goes on at once beyond that is left out.
const ABREAST: usize = 64;
/// How long the slice of a frame is drawn, in microseconds, where nothing follows it sooner.
const INSTANT: f64 = 1.0;

/// Writes the trace.
pub fn write(story: &Story<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut trace = Trace { began: story.began(), out, first: true, flows: 0 };
    trace.out.write_all(b"{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"rpcshark\",\"clock\":")?;
    trace.out.write_all(match trace.began {
        Some(_) => b"\"microseconds since the first frame\"",
        None => b"\"a millisecond for each frame: the capture has no times\"".as_slice(),
    })?;
    if let Some(began) = trace.began {
        write!(trace.out, ",\"began\":\"{began}\"")?;
    }
    trace.out.write_all(b"},\"traceEvents\":[")?;
    let runs = story.runs();
    let process: HashMap<u32, u64> = runs.iter().zip(1..).map(|(run, pid)| (run.stage, pid)).collect();
    let of = |frame: &Frame| frame.stage.and_then(|s| story.run_of(s)).and_then(|r| process.get(&r).copied());
    let mut frames: BTreeMap<u64, Vec<&Frame>> = BTreeMap::new();
    for frame in story.frames.iter().filter(|f| trace.time(f.time, f.number).is_some() && !f.is_receipt()) {
        frames.entry(of(frame).unwrap_or(OUTSIDE)).or_default().push(frame);
    }
    for (run, pid) in runs.iter().zip(1..) {
        trace.run(story, run, pid)?;
    }
    for (pid, frames) in &frames {
        if *pid == OUTSIDE {
            trace.name(OUTSIDE, None, "outside of runs", u64::MAX >> 12)?;
        }
        trace.frames(*pid, frames)?;
        trace.counters(story, *pid, frames)?;
    }
    for link in &story.model.links {
        let (asked, answered) = (story.wait(link).asked, story.wait(link).answered);
        if let (Some(asked), Some(answered)) = (asked, answered) {
            trace.flow(&link.what, (of(asked), asked), (of(answered), answered))?;
        }
    }
    trace.findings(story, &of)?;
    trace.out.write_all(b"\n]}\n")
}

/// A slice to be.
struct Slice<'a> {
    from: f64,
    until: f64,
    name: String,
    args: Vec<(&'a str, String)>,
}

struct Trace<'o> {
    began: Option<Timestamp>,
    out: &'o mut dyn Write,
    first: bool,
    flows: u64,
}

impl Trace<'_> {
    /// Microseconds since the beginning; in a capture without times, a millisecond a frame.
    fn time(&self, time: Option<Timestamp>, frame: u64) -> Option<f64> {
        match self.began {
            Some(began) => Some(time?.0.checked_sub(began.0)? as f64 / 1e3),
            None => Some(frame as f64 * 1e3),
        }
    }

    /// One event: phase, name, place, time, and further members.
    fn event(
        &mut self,
        phase: &str,
        name: &str,
        (pid, tid): (u64, u64),
        time: f64,
        more: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let mut event = Vec::with_capacity(160);
        event.extend_from_slice(if std::mem::take(&mut self.first) { b"\n{" } else { b",\n{" });
        event.extend_from_slice(b"\"ph\":");
        push_string(&mut event, phase);
        push_key(&mut event, "name");
        push_string(&mut event, &clean(name));
        for (key, number) in [("pid", pid), ("tid", tid)] {
            push_key(&mut event, key);
            push_number(&mut event, number);
        }
        push_key(&mut event, "ts");
        push_float(&mut event, Some(time));
        more(&mut event);
        event.push(b'}');
        self.out.write_all(&event)
    }

    /// Names a process, or one of its threads, and says where it stands among the others.
    fn name(&mut self, pid: u64, tid: Option<u64>, name: &str, place: u64) -> io::Result<()> {
        let (kind, order) = match tid {
            Some(_) => ("thread_name", "thread_sort_index"),
            None => ("process_name", "process_sort_index"),
        };
        let at = (pid, tid.unwrap_or(0));
        self.event("M", kind, at, 0.0, |out| args(out, &[("name", name)]))?;
        self.event("M", order, at, 0.0, |out| {
            out.extend_from_slice(b",\"args\":{\"sort_index\":");
            push_number(out, place);
            out.push(b'}');
        })
    }

    fn slice(&mut self, category: &str, at: (u64, u64), slice: &Slice<'_>) -> io::Result<()> {
        self.event("X", &slice.name, at, slice.from, |out| {
            push_key(out, "dur");
            push_float(out, Some((slice.until - slice.from).max(0.0)));
            push_key(out, "cat");
            push_string(out, category);
            let shown: Vec<_> = slice.args.iter().map(|(k, v)| (*k, v.as_str())).collect();
            args(out, &shown);
        })
    }

    fn run(&mut self, story: &Story<'_>, run: &Run<'_>, pid: u64) -> io::Result<()> {
        let ending = run.outcome.map_or("", |o| o.ending.name());
        let id = run.is.id.as_ref().map(|id| id.to_string()).unwrap_or_default();
        let name = format!("{} {id}", story.level(run.is));
        self.name(pid, None, format!("{name} {ending}").trim_end(), pid)?;
        let mut tracks: Vec<(String, &str, Vec<Slice<'_>>)> = Vec::new();
        let mut add = |track: &str, category: &'static str, slice: Slice<'static>| match tracks
            .iter_mut()
            .find(|(name, of, _)| name == track && *of == category)
        {
            Some((_, _, slices)) => slices.push(slice),
            None => tracks.push((track.to_owned(), category, vec![slice])),
        };
        for stage in std::iter::once(run.is).chain(run.stages.iter().map(|(_, _, stage)| *stage)) {
            let last = stage.closed.unwrap_or(stage.last);
            let ends = self
                .time(stage.first.time, stage.first.frame)
                .zip(self.time(last.time, last.frame))
                .filter(|(from, until)| from <= until);
            let Some((from, until)) = ends else { continue };
            let level = story.level(stage);
            let id = stage.id.as_ref().map(|id| id.to_string());
            let title = story.title(stage).map(str::to_owned);
            let name = title.clone().or_else(|| id.as_ref().map(|id| format!("{level} {id}")));
            let mut args = vec![("frames", format!("{} to {}", stage.first.frame, last.frame))];
            args.extend(id.map(|id| ("id", id)));
            if let (true, Some(outcome)) = (std::ptr::eq(stage, run.is), run.outcome) {
                args.push(("ending", outcome.ending.name().to_owned()));
                args.extend(outcome.reason.clone().map(|reason| ("reason", reason)));
            }
            let name = name.unwrap_or_else(|| level.to_owned());
            add(level, "stage", Slice { from, until, name, args });
        }
        for wait in &run.waits {
            let (Some(asked), Some(over)) = (wait.asked, wait.over) else { continue };
            let ends = self.time(asked.time, asked.number).zip(self.time(over.time, over.number));
            let Some((from, until)) = ends.filter(|(from, until)| from <= until) else { continue };
            let lifeline = story.plan.lifelines.get(usize::from(wait.link.lifeline));
            let mut args = vec![("state", wait.link.state.name().to_owned())];
            args.extend(wait.link.id.as_ref().map(|id| ("id", id.to_string())));
            args.extend(wait.link.latency_ms().map(|ms| ("first answer after ms", format!("{ms:.3}"))));
            let slice = Slice { from, until, name: wait.link.what.clone(), args };
            add(lifeline.map_or("", |l| &l.name), "wait", slice);
        }
        let mut tid = RECEIVED;
        for (track, category, slices) in tracks {
            for row in rows(slices) {
                tid += 1;
                self.name(pid, Some(tid), &track, tid)?;
                for slice in row {
                    self.slice(category, (pid, tid), &slice)?;
                }
            }
        }
        Ok(())
    }

    /// The frames of a run, a thread for each side.
    fn frames(&mut self, pid: u64, frames: &[&Frame]) -> io::Result<()> {
        for (side, tid, name) in [(Side::Request, SENT, "sent"), (Side::Response, RECEIVED, "received")] {
            let own: Vec<(f64, &Frame)> = frames
                .iter()
                .filter(|f| f.side == side)
                .filter_map(|f| Some((self.time(f.time, f.number)?, *f)))
                .collect();
            if own.is_empty() {
                continue;
            }
            self.name(pid, Some(tid), name, tid)?;
            for (n, (from, frame)) in own.iter().enumerate() {
                let next = own.get(n + 1).map_or(f64::INFINITY, |(next, _)| *next);
                let until = next.clamp(*from, from + INSTANT);
                let mut args = vec![
                    ("frame", frame.number.to_string()),
                    ("bytes", frame.length.to_string()),
                    ("says", frame.label.says.clone()),
                ];
                args.extend(frame.rpc.as_ref().map(|rpc| ("rpc", rpc.to_string())));
                let slice = Slice { from: *from, until, name: frame.label.name.clone(), args };
                self.slice("frame", (pid, tid), &slice)?;
            }
        }
        Ok(())
    }

    /// Bytes and tokens, summed up.
    fn counters(&mut self, story: &Story<'_>, pid: u64, frames: &[&Frame]) -> io::Result<()> {
        let mut bytes = [0u64; 2];
        let mut tokens: BTreeMap<u16, f64> = BTreeMap::new();
        for frame in frames {
            let Some(at) = self.time(frame.time, frame.number) else { continue };
            if let Some(sum) = bytes.get_mut(usize::from(frame.side == Side::Response)) {
                *sum += frame.wire;
            }
            let [sent, received] = bytes.map(|n| n as f64);
            self.counter("bytes", pid, at, &[("sent", sent), ("received", received)])?;
            let mut changed = false;
            for (number, value) in frame.measures.iter().filter(|_| !frame.repeated) {
                let adds_up = |m: &&crate::dialect::Measure| m.unit == Unit::Tokens && m.take == Take::Sum;
                if story.plan.measures.get(usize::from(*number)).filter(adds_up).is_some() {
                    *tokens.entry(*number).or_default() += value;
                    changed = true;
                }
            }
            if changed {
                let name = |n: u16| story.plan.measures.get(usize::from(n)).map_or("", |m| &m.name);
                let sums: Vec<(&str, f64)> = tokens.iter().map(|(n, sum)| (name(*n), *sum)).collect();
                self.counter("tokens", pid, at, &sums)?;
            }
        }
        Ok(())
    }

    fn counter(&mut self, name: &str, pid: u64, at: f64, sums: &[(&str, f64)]) -> io::Result<()> {
        self.event("C", name, (pid, 0), at, |out| {
            push_key(out, "args");
            out.push(b'{');
            for (name, sum) in sums {
                push_key(out, name);
                push_float(out, Some(*sum));
            }
            out.push(b'}');
        })
    }

    /// An arrow from the slice of one frame to that of another.
    fn flow(&mut self, name: &str, from: (Option<u64>, &Frame), to: (Option<u64>, &Frame)) -> io::Result<()> {
        let times = self.time(from.1.time, from.1.number).zip(self.time(to.1.time, to.1.number));
        let Some((asked, answered)) = times.filter(|(asked, answered)| asked <= answered) else {
            return Ok(());
        };
        self.flows += 1;
        let id = self.flows;
        let thread = |frame: &Frame| if frame.side == Side::Request { SENT } else { RECEIVED };
        for (phase, (pid, frame), at) in [("s", from, asked), ("f", to, answered)] {
            self.event(phase, name, (pid.unwrap_or(OUTSIDE), thread(frame)), at, |out| {
                push_key(out, "cat");
                push_string(out, "answer");
                push_key(out, "id");
                push_number(out, id);
                if phase == "f" {
                    // To the slice that is open then, not to the next one.
                    push_key(out, "bp");
                    push_string(out, "e");
                }
            })?;
        }
        Ok(())
    }

    fn findings(&mut self, story: &Story<'_>, of: &dyn Fn(&Frame) -> Option<u64>) -> io::Result<()> {
        let of_frames =
            story.frames.iter().flat_map(|f| f.findings.iter().map(move |found| (Some(f), found)));
        let of_runs = story.model.notices.iter().map(|n| (story.about(n), &n.finding));
        for (frame, finding) in of_frames.chain(of_runs).filter(|(_, f)| f.severity > Severity::Note) {
            let Some(frame) = frame else { continue };
            let Some(at) = self.time(frame.time, frame.number) else { continue };
            self.event("i", finding.code.name(), (of(frame).unwrap_or(OUTSIDE), 0), at, |out| {
                out.extend_from_slice(b",\"s\":\"p\",\"cat\":\"finding\"");
                let number = frame.number.to_string();
                args(
                    out,
                    &[("severity", finding.severity.name()), ("text", &finding.text), ("frame", &number)],
                );
            })?;
        }
        Ok(())
    }
}

fn args(out: &mut Vec<u8>, list: &[(&str, &str)]) {
    push_key(out, "args");
    out.push(b'{');
    for (key, value) in list {
        push_key(out, key);
        push_string(out, &clean(value));
    }
    out.push(b'}');
}

/// Rows of slices that do not overlap, in the order of time.
fn rows(mut slices: Vec<Slice<'_>>) -> Vec<Vec<Slice<'_>>> {
    slices.sort_by(|a, b| a.from.total_cmp(&b.from).then(b.until.total_cmp(&a.until)));
    let mut rows: Vec<Vec<Slice<'_>>> = Vec::new();
    for slice in slices {
        let abreast = rows.len();
        match rows.iter_mut().find(|row| row.last().is_none_or(|last| last.until <= slice.from)) {
            Some(row) => row.push(slice),
            None if abreast < ABREAST => rows.push(vec![slice]),
            None => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_goes_to_further_rows() {
        let slice = |from: f64, until: f64| Slice { from, until, name: String::new(), args: Vec::new() };
        let placed = rows(vec![slice(5.0, 9.0), slice(0.0, 4.0), slice(3.0, 6.0), slice(9.0, 9.0)]);
        let shown: Vec<Vec<(f64, f64)>> =
            placed.iter().map(|row| row.iter().map(|s| (s.from, s.until)).collect()).collect();
        assert_eq!(shown, [vec![(0.0, 4.0), (5.0, 9.0), (9.0, 9.0)], vec![(3.0, 6.0)]]);
    }
}
