//! `check`: the findings alone.
//! Never prints a frame.

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
use crate::cli::commands::correlated::{self, Out};
use crate::cli::exit::Exit;
use crate::cli::terminal;

/// Runs the command.
pub fn run(args: Check) -> Result<Exit> {
    let config = correlated::config(&args.schema, &args.input, &args.output)?;
    let text = match args.output.format {
        None => terminal::stdout_is_terminal(),
        Some(format) => format == Format::Text,
    };
    let mut sink = Findings {
        out: correlated::out(),
        plan: &config.plan,
        text,
        quiet: args.output.quiet || args.output.count,
        count: [0; 3],
        failed: false,
    };
    let (summary, failed) = correlated::run(&config, &args.files, &args.input, &|_, _, _| {}, &mut sink)?;
    if args.output.count {
        writeln!(sink.out, "{}", sink.count.iter().sum::<u64>())?;
    }
    sink.out.flush()?;
    let level = match args.fail_on {
        FailOn::Warning => Severity::Warning,
        FailOn::Error => Severity::Error,
    };
    let at_level: u64 = sink.count.iter().skip(level as usize).sum();
    Ok(match failed || sink.failed {
        true => Exit::Unusable,
        false if at_level > 0 || args.output.strict && summary.has_problems() => Exit::No,
        false => Exit::Done,
    })
}

struct Findings<'a> {
    out: Out,
    plan: &'a Plan,
    text: bool,
    quiet: bool,
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
        self.count[finding.severity as usize] += 1;
        if self.quiet {
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
            return self.out.write_all(line.as_bytes());
        }
        let mut line = Vec::new();
        events::finding(self.plan, finding, frames, run, ids, &mut line);
        self.out.write_all(&line)
    }

    fn events(&mut self, events: &[Event]) -> io::Result<()> {
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
        for finding in &frame.decoded.findings {
            self.print(finding, &[frame.job.number], run.as_ref(), ids)?;
        }
        self.events(frame.events)?;
        Ok(true)
    }

    fn finished(&mut self, _: &Session<'_>, events: &[Event]) -> io::Result<()> {
        self.events(events)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finding(&mut self, capture: &str, finding: &Finding) {
        let mut finding = finding.clone();
        finding.text = format!("{}: {}", clean(capture), finding.text);
        // Standard output that is closed shows itself at the next flush.
        let _ = self.print(&finding, &[], None, &[]);
    }

    fn error(&mut self, error: &source::Error) {
        self.failed = true;
        correlated::told(error);
    }
}
