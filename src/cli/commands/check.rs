//! `check`: the findings alone, or with `-V` each frame and its findings.
//! Never keeps a frame.

use std::io::{self, Write};

use anyhow::Result;

use rpcshark::base::text::clean;
use rpcshark::base::{Finding, Severity};
use rpcshark::dialect::Plan;
use rpcshark::pipeline::{Correlated, Sink};
use rpcshark::session::{Event, Id, IdValue, Session};
use rpcshark::source;
use rpcshark::view::{events, text};

use crate::cli::args::{Check, FailOn, Format};
use crate::cli::commands::{correlated, decode};
use crate::cli::exit::Exit;
use crate::cli::records::{self, Records};
use crate::cli::report;

/// Runs the command.
pub fn run(args: Check) -> Result<Exit> {
    let Check { fail_on, common: args } = args;
    let format = records::settle_format(&args.output)?;
    let mut config = correlated::with_messages(&args.schema, &args.input, &args.output)?;
    let records = Records::new(&args.output, format)?;
    let choice = correlated::choose(&mut config, &args.files, &args.input, &args.output)?;
    let layout = decode::layout(&args.output);
    let render = correlated::frames(&config, &layout, format);
    let text = format == Format::Text;
    let mut sink = Findings { text, records, plan: &config.plan, count: [0; 3], failed: false };
    sink.records.begin()?;
    let (summary, failed) = correlated::run(&config, &choice, &args.files, &args.input, &render, &mut sink)?;
    sink.records.end()?;
    if !args.output.quiet {
        report::summary(summary.frames, sink.count);
    }
    let level = match fail_on {
        FailOn::Warning => Severity::Warning,
        FailOn::Error => Severity::Error,
    };
    let at_level: u64 = sink.count.iter().skip(level as usize).sum();
    Ok(match failed || sink.failed || sink.records.failed {
        true => Exit::Unusable,
        false if at_level > 0 || args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Findings<'a> {
    records: Records,
    plan: &'a Plan,
    text: bool,
    count: [u64; 3],
    failed: bool,
}

impl Findings<'_> {
    fn print(
        &mut self,
        finding: &Finding,
        frames: &[u64],
        run: Option<&IdValue>,
        ids: &[Id],
    ) -> io::Result<()> {
        // The exit code is about all of them, however few are printed.
        self.count[finding.severity as usize] += 1;
        if !self.records.wants_more() {
            return Ok(());
        }
        if self.text {
            let mut line = match frames {
                [] => String::new(),
                [one] => format!("frame {one}\n"),
                many => {
                    format!("frames {}\n", many.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
                }
            };
            text::finding_line(finding, &mut line);
            return self.records.rendered(line.as_bytes()).map(drop);
        }
        let mut line = Vec::new();
        events::finding(self.plan, finding, frames, run, ids, &mut line);
        self.records.record(&line).map(drop)
    }

    fn tell(&mut self, events: &[Event]) -> io::Result<()> {
        for event in events {
            if let Event::Finding(notice) = event {
                self.print(&notice.finding, &notice.frames, notice.run.as_ref(), &notice.ids)?;
            }
        }
        Ok(())
    }
}

impl Sink for Findings<'_> {
    fn correlated(&mut self, frame: &Correlated<'_>) -> io::Result<bool> {
        let ids = &frame.job.joined.ids;
        let whole = |id: &&Id| self.plan.namespaces.get(usize::from(id.0)).is_some_and(|n| n.whole_exchange);
        let run = ids.iter().find(whole).map(|id| id.1.clone());
        self.records.either(frame.rendered)?;
        for finding in &frame.decoded.findings {
            match frame.rendered {
                [_, ..] if self.text => self.count[finding.severity as usize] += 1,
                _ => self.print(finding, &[frame.job.number], run.as_ref(), ids)?,
            }
        }
        self.tell(frame.events)?;
        Ok(true)
    }

    fn events(&mut self, events: &[Event]) -> io::Result<bool> {
        self.tell(events).map(|()| true)
    }

    fn finished(&mut self, _: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.tell(events)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.records.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        let mut finding = finding.clone();
        finding.text = format!("{}: {}", clean(capture), finding.text);
        // Standard output that is closed shows itself at the next flush.
        let _ = self.print(&finding, &[], None, &[]);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        report::unread(error);
    }
}
