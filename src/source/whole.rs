//! Contents that are read whole before they can be told: a bare message, hex, base64, a trace.
//! Never keeps more than the limit.

use bytes::Bytes;

use super::entry::Sink;
use super::error::Trouble;
use super::hex::Misfit;
use super::{Format, Record, base64, curl, hex, wire};

/// Collects the content of a format that has no records of its own.
pub(super) struct Whole {
    format: Format,
    max: usize,
    content: Vec<u8>,
}

impl Whole {
    /// `max` is the longest message in bytes; as text it may be longer.
    pub(super) fn new(format: Format, max: u64) -> Self {
        let factor = if format == Format::Message { 1 } else { 8 };
        let max = usize::try_from(max.saturating_mul(factor)).unwrap_or(usize::MAX);
        Self { format, max, content: Vec::new() }
    }

    pub(super) fn push(&mut self, block: &[u8]) -> Result<(), Trouble> {
        if self.content.len().saturating_add(block.len()) > self.max {
            return Err(Trouble::Malformed {
                what: self.what(),
                at: self.content.len() as u64,
                expected: format!("at most {} bytes", self.max),
                found: "more".into(),
                advice: "a stream of frames is read with --from raw, in any length",
            });
        }
        self.content.extend_from_slice(block);
        Ok(())
    }

    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        let content = std::mem::take(&mut self.content);
        let decoded = match self.format {
            Format::Hex => hex::decode(&content),
            Format::Base64 => base64::decode(&content),
            Format::Trace => curl::decode(&content),
            _ => {
                sink.out.push_back(Record::Message(content.into()));
                return Ok(());
            }
        };
        let bytes = decoded.map_err(|misfit| self.trouble(misfit))?;
        sink.out.push_back(match wire::prefers_envelopes(&bytes) {
            true => Record::Body(Bytes::from(bytes), 0),
            false => Record::Message(Bytes::from(bytes)),
        });
        Ok(())
    }

    fn trouble(&self, misfit: Misfit) -> Trouble {
        Trouble::Malformed {
            what: self.what(),
            at: misfit.at as u64,
            expected: match self.format {
                Format::Base64 => "base64 characters in groups of four".into(),
                _ => "hex digits in pairs".into(),
            },
            found: format!("{} at position {}", misfit.what, misfit.position),
            advice: "correct the text, or name another format with --from",
        }
    }

    fn what(&self) -> &'static str {
        match self.format {
            Format::Hex => "hex text",
            Format::Base64 => "base64 text",
            Format::Trace => "a curl trace",
            _ => "one bare message",
        }
    }
}
