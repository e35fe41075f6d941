//! One capture, pulled record by record: opens, finds the format, feeds its parser.
//! Never reads ahead of what is asked for by more than a block.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, atomic::AtomicBool};

use bytes::Bytes;

use crate::base::{Code, Finding, Space, Span, text};

use super::entry::Sink;
use super::error::{Trouble, first_bytes};
use super::format::{Verdict, is_text, judge};
use super::input::{Input, Step};
use super::utf16::{self, Utf16};
use super::whole::Whole;
use super::{Error, Format, Options, Record, flow, har, hex, json, packets, saz};

/// A capture that is being read.
pub struct Reader {
    name: String,
    format: Format,
    options: Options,
    input: Input,
    parser: Parser,
    utf16: Option<Utf16>,
    /// Offset of the next block.
    at: u64,
    queue: VecDeque<Record>,
    /// What stopped the reading; given out after the queue.
    error: Option<Error>,
    ended: bool,
}

enum Parser {
    Pcap(packets::Reader),
    Har(har::Reader),
    Flow(flow::Reader),
    Json(json::Reader),
    Raw,
    Whole(Whole),
    Saz(saz::Reader),
    #[cfg(feature = "sqlite")]
    Sqlite(super::sqlite::Reader),
}

impl Reader {
    /// Opens a path (`-` is standard input) and reads as much as its format takes to tell.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let name = display(path);
        let input =
            Input::open(path, options).map_err(|source| Error::Open { name: name.clone(), source })?;
        Self::start(name, Some(path), input, options)
    }

    /// Over any reader, under a name for errors.
    pub fn from_reader(name: &str, raw: Box<dyn Read + Send>, options: &Options) -> Result<Self, Error> {
        let name = text::clean(name);
        let input =
            Input::from_reader(raw, options).map_err(|source| Error::Open { name: name.clone(), source })?;
        Self::start(name, None, input, options)
    }

    fn start(name: String, path: Option<&Path>, mut input: Input, options: &Options) -> Result<Self, Error> {
        let mut head = Vec::new();
        let mut damage = None;
        let format = loop {
            let verdict = match options.format {
                Some(format) if head.len() >= 4 || damage.is_some() => Verdict::Found(format),
                Some(_) => Verdict::More,
                None => judge(&head, false),
            };
            match verdict {
                Verdict::Found(format) => break format,
                Verdict::Refused(trouble) => return Err(trouble.named(&name)),
                Verdict::More if head.len() as u64 <= most(options) => {}
                Verdict::More | Verdict::Unknown => return Err(unknown(name, &head)),
            }
            match input.next() {
                Ok(Step::Block(block)) => head.extend_from_slice(&block),
                Ok(Step::End) => break last_word(&name, &head, options)?,
                Ok(Step::Damaged(why)) => {
                    damage = Some(why);
                    break last_word(&name, &head, options)?;
                }
                Err(source) => return Err(Error::Read { name, at: input.given(), source }),
            }
        };
        let utf16 = matches!(format, Format::Har | Format::Jsonl).then(|| utf16::order(&head)).flatten();
        let parser =
            parser(format, path, &head, &mut input, options).map_err(|trouble| trouble.named(&name))?;
        let mut reader = Self {
            name,
            format,
            options: options.clone(),
            input,
            parser,
            utf16: utf16.map(Utf16::new),
            at: 0,
            queue: VecDeque::new(),
            error: None,
            ended: false,
        };
        if !head.is_empty() {
            reader.push(Bytes::from(head));
        }
        if let Some(why) = damage {
            reader.damaged(&why);
        }
        Ok(reader)
    }

    /// The next record; waits for it. `None` at the end. An error may come after records.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some(record) = self.queue.pop_front() {
                return Ok(Some(record));
            }
            if let Some(error) = self.error.take() {
                self.ended = true;
                return Err(error);
            }
            if self.ended {
                return Ok(None);
            }
            self.advance();
        }
    }

    /// The next records, `most` or fewer: waits for the first alone. False at the end.
    pub fn next_block(&mut self, most: usize, out: &mut Vec<Record>) -> Result<bool, Error> {
        let Some(first) = self.next()? else { return Ok(false) };
        out.push(first);
        let more = self.queue.len().min(most.saturating_sub(1));
        out.extend(self.queue.drain(..more));
        Ok(true)
    }

    /// What ends the reading when it is set.
    pub fn stop(&self) -> Option<Arc<AtomicBool>> {
        self.options.stop.clone()
    }

    /// Whether there may be nothing to read for a while, as in a pipe or a file that another program still writes.
    pub fn waits(&self) -> bool {
        self.input.waits()
    }

    /// The format, named or found.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The name of the input, clean; `-` is standard input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes read so far, compression undone.
    pub fn bytes_read(&self) -> u64 {
        self.input.given()
    }

    fn advance(&mut self) {
        let mut sink = Sink::new(&mut self.queue, &self.options.limits, &self.options.conns);
        let more = match &mut self.parser {
            Parser::Saz(saz) => saz.next(&mut sink),
            #[cfg(feature = "sqlite")]
            Parser::Sqlite(sqlite) => sqlite.next(&mut sink),
            _ => return self.read(),
        };
        match more {
            Ok(more) => self.ended = !more,
            Err(trouble) => self.error = Some(trouble.named(&self.name)),
        }
    }

    fn read(&mut self) {
        match self.input.next() {
            Ok(Step::Block(block)) => self.push(block),
            Ok(Step::End) => self.finish(),
            Ok(Step::Damaged(why)) => self.damaged(&why),
            Err(source) => {
                self.finish();
                let name = self.name.clone();
                self.error.get_or_insert(Error::Read { name, at: self.at, source });
            }
        }
    }

    fn damaged(&mut self, why: &str) {
        self.finish();
        let code = if why.contains("inflates") { Code::CodecBomb } else { Code::CodecCorrupt };
        let text = format!("the compressed capture cannot be read further: {why}");
        let at = self.input.given();
        self.queue.push_back(Record::Finding(Finding::new(code, text).at(Span::new(Space::Input, at, at))));
    }

    fn push(&mut self, block: Bytes) {
        let at = self.at;
        self.at += block.len() as u64;
        let mut sink = Sink::new(&mut self.queue, &self.options.limits, &self.options.conns);
        let text = self.utf16.as_mut().map(|utf16| utf16.push(&block));
        let block = text.unwrap_or(block);
        let pushed = match &mut self.parser {
            Parser::Pcap(pcap) => {
                pcap.push(block, sink.out);
                Ok(())
            }
            Parser::Har(har) => {
                har.push(&block, &mut sink);
                Ok(())
            }
            Parser::Json(json) => {
                json.push(&block, &mut sink);
                Ok(())
            }
            Parser::Flow(flow) => flow.push(&block, &mut sink),
            Parser::Raw => {
                sink.out.push_back(Record::Body(block, at));
                Ok(())
            }
            Parser::Whole(whole) => whole.push(&block),
            Parser::Saz(_) => Ok(()),
            #[cfg(feature = "sqlite")]
            Parser::Sqlite(_) => Ok(()),
        };
        if let Err(trouble) = pushed {
            self.error = Some(trouble.named(&self.name));
        }
    }

    fn finish(&mut self) {
        self.ended = true;
        let mut sink = Sink::new(&mut self.queue, &self.options.limits, &self.options.conns);
        let finished = match &mut self.parser {
            Parser::Pcap(pcap) => {
                pcap.finish(sink.out);
                Ok(())
            }
            Parser::Har(har) => har.finish(&mut sink),
            Parser::Json(json) => json.finish(&mut sink),
            Parser::Flow(flow) => {
                flow.finish(&mut sink);
                Ok(())
            }
            Parser::Whole(whole) => whole.finish(&mut sink),
            Parser::Raw | Parser::Saz(_) => Ok(()),
            #[cfg(feature = "sqlite")]
            Parser::Sqlite(_) => Ok(()),
        };
        if let Err(trouble) = finished {
            self.error.get_or_insert(trouble.named(&self.name));
        }
    }
}

/// The most that is read to tell a format, in bytes.
fn most(options: &Options) -> u64 {
    options.limits.max_body.saturating_mul(8)
}

/// The format of an input that is there whole.
fn last_word(name: &str, head: &[u8], options: &Options) -> Result<Format, Error> {
    if let Some(format) = options.format {
        let empty = head.is_empty() && !format.may_be_empty();
        return if empty { Err(Error::Empty { name: name.into() }) } else { Ok(format) };
    }
    match judge(head, true) {
        _ if head.is_empty() && options.typed => Ok(Format::Message),
        _ if head.is_empty() => Err(Error::Empty { name: name.into() }),
        Verdict::Found(format) => Ok(format),
        Verdict::Refused(trouble) => Err(trouble.named(name)),
        // Text is never a message by default: it is more often a wrong file.
        Verdict::More | Verdict::Unknown if options.typed && !is_text(head) => Ok(Format::Message),
        Verdict::More | Verdict::Unknown => Err(unknown(name.into(), head)),
    }
}

fn unknown(name: String, head: &[u8]) -> Error {
    let note = match hex::decode(head) {
        Err(misfit) if is_text(head) => format!("; as hex: {} at position {}", misfit.what, misfit.position),
        _ => String::new(),
    };
    Error::Unknown { name, first: first_bytes(head), note }
}

fn parser(
    format: Format,
    path: Option<&Path>,
    head: &[u8],
    input: &mut Input,
    options: &Options,
) -> Result<Parser, Trouble> {
    let limits = &options.limits;
    let max = usize::try_from(limits.max_record).unwrap_or(usize::MAX);
    Ok(match format {
        Format::Pcap | Format::PcapNg => Parser::Pcap(packets::Reader::default()),
        Format::Har => Parser::Har(har::Reader::new(max)),
        Format::Flow => Parser::Flow(flow::Reader::new(max)),
        Format::Jsonl => Parser::Json(json::Reader::new(max)),
        Format::Raw => Parser::Raw,
        Format::Message | Format::Hex | Format::Base64 | Format::Trace => {
            Parser::Whole(Whole::new(format, limits.max_body))
        }
        Format::Saz => Parser::Saz(saz::Reader::open(path, head, input, max)?),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => Parser::Sqlite(super::sqlite::Reader::open(path, max)?),
        #[cfg(not(feature = "sqlite"))]
        Format::Sqlite => {
            let what = "an SQLite database".into();
            return Err(Trouble::Unsupported { what, advice: "use a build with the feature sqlite" });
        }
    })
}

fn display(path: &Path) -> String {
    text::clean(&path.to_string_lossy())
}

#[cfg(test)]
mod tests;
