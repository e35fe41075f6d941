//! A session as tables: frames, links, findings, runs; their columns are the schema that docs/EXPORT.md promises.
//! Never knows a file format.

use crate::base::json::push_key;
use crate::base::text::clean;
use crate::base::{Finding, Timestamp};
use crate::view::events::push_float;
use crate::view::jsonl::push_ids;

use super::Story;

/// The values of one column, a row each.
pub enum Column {
    /// UTF-8.
    Text(Vec<Option<String>>),
    /// 64 bits, signed.
    Int(Vec<Option<i64>>),
    /// Microseconds since 1970, UTC: nanoseconds have hardly a function in DuckDB.
    Time(Vec<Option<i64>>),
    /// A double.
    Float(Vec<Option<f64>>),
    /// True or false.
    Bool(Vec<bool>),
    /// A list of numbers.
    Ints(Vec<Vec<i64>>),
}

/// A table.
pub struct Table {
    /// Its name, which its file bears.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: usize,
    /// Its columns, by name.
    pub columns: Vec<(&'static str, Column)>,
}

/// All tables of a session.
pub fn tables(story: &Story<'_>) -> [Table; 4] {
    [frames(story), links(story), findings(story), runs(story)]
}

fn texts<T>(rows: &[T], value: impl Fn(&T) -> Option<String>) -> Column {
    Column::Text(rows.iter().map(|row| value(row).map(|text| clean(&text))).collect())
}

fn ints<T>(rows: &[T], value: impl Fn(&T) -> Option<u64>) -> Column {
    Column::Int(rows.iter().map(|row| value(row).map(|n| i64::try_from(n).unwrap_or(i64::MAX))).collect())
}

fn times<T>(rows: &[T], value: impl Fn(&T) -> Option<Timestamp>) -> Column {
    Column::Time(rows.iter().map(|row| value(row).map(|time| time.0.div_euclid(1_000))).collect())
}

fn numbers(list: &[u64]) -> Vec<i64> {
    list.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect()
}

fn frames(story: &Story<'_>) -> Table {
    let all = story.frames;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let run = |stage: Option<u32>| {
        let run = stage.and_then(|s| story.run_of(s))?;
        Some(story.model.stages.get(run as usize)?.id.as_ref()?.to_string())
    };
    Table {
        name: "frames",
        rows: all.len(),
        columns: vec![
            ("frame", ints(all, |f| Some(f.number))),
            ("capture", texts(all, |f| Some(f.capture.to_string()))),
            ("ts", times(all, |f| f.time)),
            ("call", ints(all, |f| Some(f.call))),
            ("rpc", texts(all, |f| owned(f.rpc.as_deref()))),
            ("direction", texts(all, |f| owned(Some(f.side.name())))),
            ("protocol", texts(all, |f| owned(Some(f.protocol.name())))),
            ("kind", texts(all, |f| f.kind.clone())),
            ("message_type", texts(all, |f| owned(f.message_type.as_deref()))),
            ("length", ints(all, |f| Some(f.length))),
            ("wire_length", ints(all, |f| Some(f.wire))),
            ("compressed", Column::Bool(all.iter().map(|f| f.compressed).collect())),
            ("request_id", texts(all, |f| run(f.stage))),
            ("ids", texts(all, |f| Some(ids(&f.ids)))),
            ("name", texts(all, |f| Some(f.label.name.clone()))),
            ("says", texts(all, |f| Some(f.label.says.clone()))),
            ("pulse", Column::Bool(all.iter().map(|f| f.pulse).collect())),
            ("repeated", Column::Bool(all.iter().map(|f| f.repeated).collect())),
        ],
    }
}

/// Ids as the record has them: an object, an array where there are several.
fn ids(ids: &crate::view::Ids) -> String {
    let mut out = Vec::new();
    push_ids(&mut out, ids);
    String::from_utf8(out).unwrap_or_default()
}

fn links(story: &Story<'_>) -> Table {
    let all = &story.model.links;
    let name = |n: u16| story.plan.lifelines.get(usize::from(n)).map(|l| l.name.to_string());
    Table {
        name: "links",
        rows: all.len(),
        columns: vec![
            ("pair", texts(all, |l| name(l.lifeline))),
            ("id", texts(all, |l| l.id.as_ref().map(|id| id.to_string()))),
            ("what", texts(all, |l| Some(l.what.clone()))),
            ("request", ints(all, |l| l.request)),
            ("responses", Column::Ints(all.iter().map(|l| numbers(&l.responses)).collect())),
            ("latency_ms", Column::Float(all.iter().map(|l| l.latency_ms()).collect())),
            ("state", texts(all, |l| Some(l.state.name().to_owned()))),
            ("request_id", texts(all, |l| l.run.as_ref().map(|id| id.to_string()))),
        ],
    }
}

/// A finding with its frames, its run, its capture.
struct Told<'a> {
    finding: &'a Finding,
    frames: Vec<i64>,
    run: Option<String>,
    capture: Option<&'a str>,
}

fn findings(story: &Story<'_>) -> Table {
    let of_frames = story.frames.iter().flat_map(|f| {
        f.findings.iter().map(|finding| Told {
            finding,
            frames: numbers(&[f.number]),
            run: f
                .stage
                .and_then(|s| story.run_of(s))
                .and_then(|r| story.model.stages.get(r as usize)?.id.as_ref().map(|id| id.to_string())),
            capture: Some(&f.capture),
        })
    });
    let of_runs = story.model.notices.iter().map(|n| Told {
        finding: &n.finding,
        frames: numbers(&n.frames),
        run: n.run.as_ref().map(|id| id.to_string()),
        capture: None,
    });
    let loose = story.loose.iter().map(|(capture, finding)| Told {
        finding,
        frames: Vec::new(),
        run: None,
        capture: Some(capture),
    });
    let all: Vec<Told<'_>> = of_frames.chain(of_runs).chain(loose).collect();
    Table {
        name: "findings",
        rows: all.len(),
        columns: vec![
            ("code", texts(&all, |t| Some(t.finding.code.name().to_owned()))),
            ("severity", texts(&all, |t| Some(t.finding.severity.name().to_owned()))),
            ("text", texts(&all, |t| Some(t.finding.text.clone()))),
            ("frames", Column::Ints(all.iter().map(|t| t.frames.clone()).collect())),
            ("path", texts(&all, |t| t.finding.path.clone())),
            ("offset", ints(&all, |t| t.finding.span.map(|s| s.start))),
            ("request_id", texts(&all, |t| t.run.clone())),
            ("capture", texts(&all, |t| t.capture.map(str::to_owned))),
        ],
    }
}

fn runs(story: &Story<'_>) -> Table {
    let all = &story.model.outcomes;
    let tokens = |list: &[(u16, f64)]| {
        let mut out = vec![b'{'];
        for (number, value) in list {
            push_key(&mut out, story.plan.measures.get(usize::from(*number)).map_or("", |m| &m.name));
            push_float(&mut out, Some(*value));
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    };
    Table {
        name: "runs",
        rows: all.len(),
        columns: vec![
            ("request_id", texts(all, |o| o.run.as_ref().map(|id| id.to_string()))),
            ("conversation_id", texts(all, |o| o.conversation.as_ref().map(|id| id.to_string()))),
            ("ending", texts(all, |o| Some(o.ending.name().to_owned()))),
            ("reason", texts(all, |o| o.reason.clone())),
            ("tokens", texts(all, |o| Some(tokens(&o.tokens)))),
            ("ttft_ms", Column::Float(all.iter().map(|o| o.ttft_ms).collect())),
            ("duration_ms", Column::Float(all.iter().map(|o| o.duration_ms).collect())),
            ("began", times(all, |o| o.began)),
            ("first_frame", ints(all, |o| Some(o.frames.0))),
            ("last_frame", ints(all, |o| Some(o.frames.1))),
        ],
    }
}
