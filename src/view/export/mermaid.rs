//! A sequence diagram in Mermaid's language, for a README or an issue.
//! Never longer than viewers take: what does not fit is counted at the end.
//!
//! The client and each run have a lifeline. Answers are dashed; pieces of text that follow each other are one arrow;
//! keep-alives, empty answers and what was sent again are left out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::base::text::cut;
use crate::base::{Finding, Severity};
use crate::pdu::Side;

use super::{Frame, Story};

/// Longest diagram, in characters: Mermaid refuses 50,000 unless its page is set up for more.
const LONGEST: usize = 45_000;
/// Longest text of an arrow and of a note, in characters.
const TEXT: usize = 72;

/// Writes the diagram.
pub fn write(story: &Story<'_>, out: &mut dyn Write) -> io::Result<()> {
    let runs = story.runs();
    let lifeline: HashMap<u32, usize> = runs.iter().zip(1..).map(|(run, n)| (run.stage, n)).collect();
    let of =
        |frame: &Frame| frame.stage.and_then(|s| story.run_of(s)).and_then(|r| lifeline.get(&r).copied());
    let mut asked: HashMap<u64, String> = HashMap::new();
    let mut answers: HashSet<u64> = HashSet::new();
    for link in &story.model.links {
        answers.extend(&link.responses);
        if let (Some(ms), Some(frame)) = (link.latency_ms(), link.responses.first()) {
            asked.entry(*frame).or_insert_with(|| wait(ms));
        }
    }
    let mut notes: BTreeMap<u64, Vec<(usize, String)>> = BTreeMap::new();
    for (run, n) in runs.iter().zip(1..) {
        for (_, depth, stage) in &run.stages {
            let level = story.level(stage);
            // Deeper than a turn, the arrows tell.
            if *depth == 1 {
                let title = story.title(stage).map(|t| format!(" “{t}”")).unwrap_or_default();
                notes.entry(stage.first.frame).or_default().push((n, format!("{level}{title}")));
            }
        }
    }
    let mut drawing = Drawing { out: String::from("sequenceDiagram\n"), full: false };
    drawing.line(format_args!("participant C as client"));
    let is_shown = |f: &&Frame| !f.pulse && !f.repeated && !f.is_receipt();
    let shown: Vec<&Frame> = story.frames.iter().filter(is_shown).collect();
    if shown.iter().any(|f| of(f).is_none()) {
        drawing.line(format_args!("participant S as server"));
    }
    for (run, n) in runs.iter().zip(1..) {
        let id = run.is.id.as_ref().map(|id| format!(" {}", cut(&id.to_string(), 14))).unwrap_or_default();
        drawing.line(format_args!("participant R{n} as {}{}", escape(story.level(run.is)), escape(&id)));
    }
    let mut findings: BTreeMap<u64, Vec<&Finding>> = BTreeMap::new();
    let of_runs = story.model.notices.iter().filter_map(|n| Some((story.about(n)?.number, &n.finding)));
    let of_frames = story.frames.iter().flat_map(|f| f.findings.iter().map(|finding| (f.number, finding)));
    for (frame, finding) in of_runs.chain(of_frames).filter(|(_, f)| f.severity > Severity::Note) {
        findings.entry(frame).or_default().push(finding);
    }
    let mut at = 0;
    let mut drawn = 0;
    while let Some(frame) = shown.get(at).copied() {
        let same = |f: &&&Frame| {
            f.label.name == frame.label.name
                && f.side == frame.side
                && f.stage == frame.stage
                && f.call == frame.call
                && !answers.contains(&f.number)
                && !findings.contains_key(&f.number)
        };
        let joins = !answers.contains(&frame.number) && !findings.contains_key(&frame.number);
        let group = if joins { shown.iter().skip(at).take_while(same).count().max(1) } else { 1 };
        at += group;
        let other = of(frame).map_or_else(|| "S".to_owned(), |n| format!("R{n}"));
        // Where a level begins may be left out: it is noted at what comes next.
        let later = notes.split_off(&(frame.number + 1));
        for (n, text) in std::mem::replace(&mut notes, later).into_values().flatten() {
            drawing.line(format_args!("Note over C,R{n}: {}", escape(&cut(&text, TEXT))));
        }
        let mut text = frame.label.name.clone();
        if group > 1 {
            let _ = write!(text, " ×{group}");
        } else if !frame.label.says.is_empty() {
            let _ = write!(text, " {}", frame.label.says);
        }
        let mut text = escape(&cut(&text, TEXT));
        if let Some(wait) = asked.get(&frame.number) {
            let _ = write!(text, " ({wait})");
        }
        let arrow = if answers.contains(&frame.number) { "-->>" } else { "->>" };
        let (from, to) = match frame.side {
            Side::Request => ("C", other.as_str()),
            Side::Response => (other.as_str(), "C"),
        };
        drawing.line(format_args!("{from}{arrow}{to}: {text}"));
        for finding in findings.remove(&frame.number).into_iter().flatten() {
            let text = format!("{} {}", finding.code.name(), finding.text);
            drawing.line(format_args!("Note over C,{other}: ⚠ {}", escape(&cut(&text, TEXT * 2))));
        }
        for (run, n) in runs.iter().zip(1..).filter(|(run, _)| run.is.last.frame == frame.number) {
            let Some(outcome) = run.outcome else { continue };
            let mut text = outcome.ending.name().to_owned();
            if let Some(reason) = &outcome.reason {
                let _ = write!(text, ", {reason}");
            }
            if let Some(ms) = outcome.duration_ms {
                let _ = write!(text, " after {}", wait(ms));
            }
            drawing.line(format_args!("Note over C,R{n}: ■ {}", escape(&cut(&text, TEXT * 2))));
        }
        if !drawing.full {
            drawn = at;
        }
    }
    if drawing.full {
        let _ = writeln!(drawing.out, "    Note over C: … and {} more frames", shown.len() - drawn);
    }
    out.write_all(drawing.out.as_bytes())
}

struct Drawing {
    out: String,
    full: bool,
}

impl Drawing {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let before = self.out.len();
        let _ = writeln!(self.out, "    {line}");
        self.full |= self.out.chars().count() > LONGEST;
        if self.full {
            self.out.truncate(before);
        }
    }
}

fn wait(ms: f64) -> String {
    if ms < 1_000.0 { format!("{ms:.1} ms") } else { format!("{:.2} s", ms / 1e3) }
}

/// Text as it may stand in a diagram: what means something to Mermaid, or to HTML, as its entities.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::base::text::clean(text).chars() {
        match c {
            '#' | ';' | '<' | '>' | '&' | '%' | '`' | '\\' | '$' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_nothing_to_mermaid() {
        assert_eq!(escape("a;b #1 <i> %%{x"), "a#59;b #35;1 #60;i#62; #37;#37;{x");
        assert_eq!(escape("\n"), "#92;n");
    }
}
