//! Findings as comments on packets.
//! Never changes a packet; what has no packet is said of the capture.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use rpcshark::base::text::clean;
use rpcshark::base::{Finding, Space};
use rpcshark::pipeline::{self, Comments};
use rpcshark::sink::pcapng::Writer;
use rpcshark::view::export::{Frame, Story};

use crate::cli::args::InputOptions;
use crate::cli::captures::Captures;
use crate::cli::{report, setup};

use super::file;

/// Comments by capture.
pub type All = HashMap<String, Comments>;

/// What there is to say of each capture's packets.
pub fn comments(story: &Story<'_>) -> All {
    let mut all = All::new();
    for frame in story.frames {
        for finding in &frame.findings {
            say(&mut all, frame, finding);
        }
    }
    for notice in &story.model.notices {
        match story.about(notice) {
            Some(frame) => say(&mut all, frame, &notice.finding),
            None => {
                for capture in story.captures {
                    let comments = all.entry(capture.clone()).or_default();
                    comments.whole.push(words(&notice.finding, None));
                }
            }
        }
    }
    for (capture, finding) in story.loose {
        let comments = all.entry(capture.clone()).or_default();
        match finding.span.filter(|s| s.space == Space::Input) {
            Some(span) => comments.places.entry(span.start).or_default().push(words(finding, None)),
            None => comments.whole.push(words(finding, None)),
        }
    }
    all
}

fn say(all: &mut All, frame: &Frame, finding: &Finding) {
    let comments = all.entry(frame.capture.to_string()).or_default();
    let list = match (frame.at, frame.time) {
        (Some(at), _) => comments.places.entry(at).or_default(),
        (None, Some(time)) => comments.times.entry(time).or_default(),
        (None, None) => &mut comments.whole,
    };
    list.push(words(finding, Some(frame)));
}

fn words(finding: &Finding, frame: Option<&Frame>) -> String {
    let (severity, code) = (finding.severity.name(), finding.code.name());
    let path = finding.path.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
    let frame = frame.map(|f| format!(" (frame {} {})", f.number, f.label.name)).unwrap_or_default();
    clean(&format!("{severity} {code}: {path}{}{frame}", finding.text))
}

/// Reads the captures once more and writes their packets; true where one could not be read on.
pub fn write(
    files: &[PathBuf],
    input: &InputOptions,
    mut all: All,
    path: Option<&Path>,
    force: bool,
) -> Result<bool> {
    let source = setup::source(input)?;
    let mut captures = Captures::find(files, &source);
    let mut out = file::open(path, force)?;
    let mut failed = false;
    let mut trouble = |error: &rpcshark::source::Error| {
        failed = true;
        report::unread(error);
    };
    let done = pipeline::annotate(&mut captures, &mut all, &mut Writer::new(&mut *out), &mut trouble)?;
    out.flush()?;
    if done.packets == 0 {
        bail!("no packets: --to pcapng is for captures that are pcap or pcapng files");
    }
    if done.others > 0 {
        report::line(&format!("note: {} captures hold no packets and were left out", done.others));
    }
    Ok(failed || captures.failed)
}

/// Packets are copied as they are, so nothing in them can be hidden; and they are read twice.
pub fn refuse(files: &[PathBuf], show_secrets: bool) -> Result<()> {
    if !show_secrets {
        bail!(
            "--to pcapng copies packets as they are, with any credentials in them: say --show-secrets if that is meant"
        );
    }
    if files.iter().any(|f| f == Path::new("-")) {
        bail!("--to pcapng reads captures twice: standard input cannot be");
    }
    Ok(())
}
