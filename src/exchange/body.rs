//! Bodies that are needed whole, and the first bytes of those that are not.
//! Never copies a body that came in one piece; never holds more than its bound.

use bytes::Bytes;

use crate::base::{Limits, Timestamp};
use crate::pdu::{Codec, End, Envelope, HttpPart};

use super::trace::Trace;

/// A body as it is collected.
#[derive(Default)]
pub(super) struct Body {
    pieces: Pieces,
    /// Where the first byte lies in the capture.
    pub at: Option<u64>,
    /// When the last byte came.
    pub time: Option<Timestamp>,
    /// Why the rest is not held.
    pub stopped: Option<Stopped>,
}

#[derive(Default)]
enum Pieces {
    #[default]
    None,
    One(Bytes),
    Many(Vec<u8>),
}

/// Why a body is not held to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stopped {
    /// The capture lacks bytes.
    Gap,
    /// It is longer than the bound.
    TooLong,
    /// All bodies together were over their bound.
    GivenUp,
}

impl Body {
    pub fn push(&mut self, bytes: &Bytes, time: Option<Timestamp>, at: Option<u64>, most: u64) {
        if self.stopped.is_some() || bytes.is_empty() {
            return;
        }
        self.time = time;
        let room = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(self.len());
        let taken = bytes.slice(..room.min(bytes.len()));
        if taken.len() < bytes.len() {
            self.stopped = Some(Stopped::TooLong);
        }
        self.pieces = match std::mem::take(&mut self.pieces) {
            Pieces::None => {
                self.at = at;
                Pieces::One(taken)
            }
            Pieces::One(first) => Pieces::Many([first, taken].concat()),
            Pieces::Many(mut all) => {
                all.extend_from_slice(&taken);
                Pieces::Many(all)
            }
        };
    }

    pub fn stop(&mut self, why: Stopped) {
        self.stopped.get_or_insert(why);
        if why == Stopped::GivenUp {
            self.pieces = Pieces::None;
        }
    }

    pub fn len(&self) -> usize {
        match &self.pieces {
            Pieces::None => 0,
            Pieces::One(bytes) => bytes.len(),
            Pieces::Many(bytes) => bytes.len(),
        }
    }

    pub fn take(&mut self) -> Bytes {
        match std::mem::take(&mut self.pieces) {
            Pieces::None => Bytes::new(),
            Pieces::One(bytes) => bytes,
            Pieces::Many(bytes) => Bytes::from(bytes),
        }
    }
}

/// The first bytes of a body that is not understood yet.
#[derive(Default)]
pub(super) struct First {
    pub bytes: [u8; 8],
    /// How many of them there are.
    pub count: usize,
    /// How many bytes came in all.
    seen: u64,
    /// What was found since a hole that came before it was understood.
    trace: Option<Trace>,
    /// The body has ended; its length where it did so whole.
    pub ended: bool,
    pub length: Option<u64>,
}

impl First {
    pub fn take(&mut self, part: &HttpPart) {
        match part {
            HttpPart::Body(bytes) => {
                self.seen += bytes.len() as u64;
                if let Some(trace) = &mut self.trace {
                    trace.push(bytes);
                } else {
                    for (to, from) in self.bytes.iter_mut().skip(self.count).zip(bytes) {
                        *to = *from;
                        self.count += 1;
                    }
                }
            }
            HttpPart::Gap(length) => self.trace.get_or_insert_default().gap(*length),
            HttpPart::End(end) => {
                self.ended = true;
                match &mut self.trace {
                    Some(trace) if *end == End::Complete => trace.end(),
                    None if *end == End::Complete => self.length = Some(self.seen),
                    _ => {}
                }
            }
            HttpPart::Head(_) | HttpPart::Trailers(_) => {}
        }
    }

    fn have(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }

    /// Whether it begins with what may well be an envelope: no protobuf message or JSON text
    /// begins with a byte under 4. `None` where more must come to tell.
    pub fn is_envelope(&self, limits: &Limits) -> Option<bool> {
        let Some(&header) = self.have().first_chunk() else {
            let found = self.trace.as_ref().is_some_and(|trace| trace.found().is_some());
            return (found || self.ended).then_some(found);
        };
        let Envelope { flags, length } = Envelope::parse(header);
        let length = u64::from(length);
        let fits = self.length.is_none_or(|whole| length + Envelope::LEN as u64 <= whole);
        Some(match flags {
            0..=3 => fits && length <= limits.max_frame,
            0x80 | 0x81 => fits && length <= 64 << 10,
            _ => false,
        })
    }

    /// Whether it begins as text/event-stream does (HTML: Server-sent events).
    pub fn is_event_text(&self) -> bool {
        const LINES: [&[u8]; 8] =
            [b"data:", b"event:", b"id:", b"retry:", b":", b"\n", b"\r", b"\xef\xbb\xbf"];
        let have = self.have();
        !have.is_empty() && LINES.iter().any(|line| have.starts_with(line) || line.starts_with(have))
    }

    /// How messages are written, judged by the first one.
    pub fn codec(&self) -> Codec {
        if let Some(codec) = self.trace.as_ref().and_then(Trace::found) {
            return codec;
        }
        if self.bytes[0] == 0 && self.count > Envelope::LEN && self.bytes[Envelope::LEN] == b'{' {
            Codec::Json
        } else {
            Codec::Proto
        }
    }
}

/// Whether the bytes are envelopes one after another, to the last byte.
pub(super) fn is_all_envelopes(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some((&header, after)) = rest.split_first_chunk() {
        let Envelope { flags, length } = Envelope::parse(header);
        match after.get(length as usize..) {
            Some(next) if matches!(flags, 0..=3 | 0x80 | 0x81) => rest = next,
            _ => return false,
        }
    }
    rest.is_empty() && !body.is_empty()
}

/// Whether the bytes are one envelope with a message, exactly.
pub(super) fn is_one_envelope(body: &[u8]) -> bool {
    body.split_first_chunk().is_some_and(|(&header, after)| {
        let Envelope { flags, length } = Envelope::parse(header);
        flags <= 1 && after.len() as u64 == u64::from(length)
    })
}
