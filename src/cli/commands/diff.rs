//! `diff`: what two sessions did differently.
//! Never says by its exit code that they are the same when one of them could not be read.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};

use rpcshark::base::Finding;
use rpcshark::diff::{self, Hunk, Options, Pattern, Recorder, Recording};
use rpcshark::pipeline::{Config, Correlated, Expand, Sink};
use rpcshark::query;
use rpcshark::schema::Schema;
use rpcshark::session::{Essence, Event, Session};
use rpcshark::source;
use rpcshark::view::{diff_json, text};

use crate::cli::args::{Diff, Format};
use crate::cli::commands::correlated::{self, Choice};
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::{expression, report, setup};

/// Runs the command.
pub fn run(args: Diff) -> Result<Exit> {
    let format = records::settle(&args.output, Format::Text)?;
    let mut config = correlated::config(&args.schema, &args.input, &args.output)?;
    if args.output.expand.is_none() {
        // What is inside an encoding is compared, not its digits.
        config.expand = Expand::All;
    }
    (config.emit_defaults, config.json_names) = (false, false);
    let options = options(&args, &config.schema)?;
    if [&args.left, &args.right].iter().all(|path| path.as_os_str() == "-") {
        bail!("standard input can be one side of a comparison, not both");
    }
    let mut records = Records::new(&args.output, format)?;
    let mut choose = |path: &PathBuf| {
        correlated::choose(&mut config, std::slice::from_ref(path), &args.input, &args.output)
    };
    let (before, after) = (choose(&args.left)?, choose(&args.right)?);
    let essence = Essence::new(&config.schema, &config.plan);
    let (left, bad_left) = recording(&config, &before, &essence, &options, &args.left, &args)?;
    let (right, bad_right) = recording(&config, &after, &essence, &options, &args.right, &args)?;
    if bad_left && left.is_empty() || bad_right && right.is_empty() {
        // Nothing was read of one side: all that the other has is no difference.
        return Ok(Exit::Unusable);
    }
    let mut hunks = diff::compare(&left, &right, &options)?;
    let found: usize = hunks.iter().map(|h| h.changes.len()).sum();
    limit(&mut hunks, args.output.limit);
    records.begin()?;
    print(&hunks, &args, &mut records)?;
    records.end()?;
    Ok(match (bad_left || bad_right || records.failed, found) {
        (true, _) => Exit::Unusable,
        (false, 0) => Exit::Done,
        (false, _) => Exit::No,
    })
}

fn options(args: &Diff, schema: &Schema) -> Result<Options> {
    let patterns = |option: &'static str, list: &[String]| -> Result<Vec<Pattern>> {
        let pattern = |text: &String| -> Result<Pattern> {
            let steps = query::places::compared(text, schema);
            Ok(Pattern::new(steps.map_err(|e| expression::of(option, text, e))?))
        };
        list.iter().map(pattern).collect()
    };
    let run = match args.run.as_deref().map(|run| (run, run.split_once(':'))) {
        None => None,
        Some((_, Some((left, right)))) if !left.is_empty() && !right.is_empty() => {
            Some((left.to_owned(), right.to_owned()))
        }
        Some((run, _)) => bail!("--run: expected ID:ID, found '{}'", rpcshark::base::text::clean(run)),
    };
    Ok(Options {
        raw: args.raw,
        only: patterns("--only", &args.only)?,
        ignore: patterns("--ignore", &args.ignore)?,
        show_secrets: args.output.show_secrets,
        run,
    })
}

/// At most so many changes.
fn limit(hunks: &mut Vec<Hunk>, limit: Option<u64>) {
    let Some(mut left) = limit.map(|n| usize::try_from(n).unwrap_or(usize::MAX)) else { return };
    for hunk in hunks.iter_mut() {
        hunk.changes.truncate(left);
        left -= hunk.changes.len();
    }
    hunks.retain(|h| !h.changes.is_empty());
}

fn print(hunks: &[Hunk], args: &Diff, records: &mut Records) -> io::Result<()> {
    let changes = hunks.iter().flat_map(|h| h.changes.iter().map(move |c| (h, c)));
    if records.format() == Format::Text {
        records.written = changes.count() as u64;
        if records.is_silent() {
            return Ok(());
        }
        let mut shown = String::new();
        match (args.stat, hunks) {
            (_, []) => {}
            (true, hunks) => text::diff::stat(hunks, &mut shown),
            (false, hunks) => {
                text::diff::head(&setup::shown(&args.left), &setup::shown(&args.right), &mut shown);
                hunks.iter().for_each(|h| text::diff::hunk(h, &mut shown));
            }
        }
        return records.out.write_all(shown.as_bytes());
    }
    let mut line = Vec::new();
    for (hunk, change) in changes {
        line.clear();
        diff_json::change(hunk, change, &mut line);
        line.push(b'\n');
        if !records.record(&line)? {
            break;
        }
    }
    Ok(())
}

/// One side, taken in; true where it could not be read to its end.
fn recording(
    config: &Config,
    choice: &Choice,
    essence: &Essence<'_>,
    options: &Options,
    path: &PathBuf,
    args: &Diff,
) -> Result<(Recording, bool)> {
    let mut sink = Taking {
        recorder: Some(Recorder::new(essence, options, &config.limits)),
        recording: None,
        failed: false,
    };
    let (_, failed) =
        correlated::run(config, choice, std::slice::from_ref(path), &args.input, &|_, _, _| {}, &mut sink)?;
    let failed = failed || sink.failed;
    match sink.recording {
        Some(recording) => Ok((recording, failed)),
        None => bail!("{} was not read", setup::shown(path)),
    }
}

struct Taking<'a> {
    recorder: Option<Recorder<'a>>,
    recording: Option<Recording>,
    failed: bool,
}

impl Sink for Taking<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&frame.compared());
        }
        Ok(true)
    }

    fn finished(&mut self, session: &Session<'_>, _: &[Event]) -> io::Result<()> {
        self.recording = self.recorder.take().map(|r| r.finish(session.model()));
        Ok(())
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        report::finding(capture, finding);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
