//! One direction of one call: envelopes in, frames out.
//! Never reserves memory by a declared length; never stops at damage.

use std::sync::Arc;

use bytes::{Buf, Bytes};

use crate::base::codec::Inflater;
use crate::base::{Code, Cx, Finding, Severity, Space, Span, Timestamp};
use crate::pdu::{End, Envelope, Frame, Headers, Lane, LanePart, Protocol, Role, Side};

use super::resync::{Piece, Search};
use super::rules::{self, Kind};

/// What is kept of a frame that is over the limit, for people to look at.
const KEPT_OF_TOO_LARGE: u64 = 4 << 10;

/// Findings that wait for a frame, at most; a stream that is all holes has more.
const MAX_NOTES: usize = 16;

/// What one event is worked on with.
pub(super) struct Step<'a, 'b> {
    pub lane: &'a Arc<Lane>,
    pub time: Option<Timestamp>,
    pub cx: &'a mut Cx<'b>,
    pub inflater: &'a mut Inflater,
    pub out: &'a mut Vec<Frame>,
}

pub(super) struct Cutter {
    lane: Arc<Lane>,
    pub(super) index: u32,
    /// Where the next byte lies in the body, as far as is known.
    pub(super) position: u64,
    state: State,
    /// The frame or trailers that end the direction have come.
    pub(super) ended: bool,
    saw_body: bool,
    /// When the last byte came: the time of a frame that a hole or the capture's end cuts.
    pub(super) last: Option<Timestamp>,
    /// Findings that wait for the next frame.
    pub(super) notes: Vec<Finding>,
}

enum State {
    Header { bytes: [u8; Envelope::LEN], count: usize, offset: u64, at: Option<u64> },
    Payload(Payload),
    Lost { search: Search, gap: Option<u64> },
}

/// A frame whose payload is on its way.
pub(super) struct Payload {
    pub(super) envelope: Envelope,
    pub(super) offset: u64,
    pub(super) at: Option<u64>,
    /// The payload up to the first hole, or up to what is kept.
    pub(super) bytes: Vec<u8>,
    /// Bytes that came.
    pub(super) present: u64,
    /// Bytes that are still to come.
    pub(super) left: u64,
    /// Bytes that the capture lacks.
    pub(super) hole: u64,
}

impl State {
    fn boundary() -> Self {
        Self::Header { bytes: [0; Envelope::LEN], count: 0, offset: 0, at: None }
    }
}

impl Cutter {
    pub fn new(lane: &Arc<Lane>) -> Self {
        Self {
            lane: Arc::clone(lane),
            index: 0,
            position: 0,
            state: State::boundary(),
            ended: false,
            saw_body: false,
            last: None,
            notes: Vec::new(),
        }
    }

    pub fn lane(&self) -> Arc<Lane> {
        Arc::clone(&self.lane)
    }

    pub fn remember(&mut self, lane: &Arc<Lane>) {
        if !Arc::ptr_eq(&self.lane, lane) {
            self.lane = Arc::clone(lane);
        }
    }

    pub fn take(&mut self, part: LanePart, at: Option<u64>, step: &mut Step<'_, '_>) {
        match part {
            LanePart::Bytes(bytes) => self.feed(bytes, at, step),
            LanePart::Gap(length) => self.gap(length, step),
            LanePart::Whole(bytes) => {
                let compressed = step.lane.protocol == Protocol::ConnectGet
                    && step.lane.side == Side::Request
                    && step.lane.encoding.is_some();
                let length = bytes.len() as u64;
                self.unframed(Role::Message, bytes, length, true, compressed, at, step);
            }
            LanePart::Cut { bytes, length } => {
                let length = length.unwrap_or(bytes.len() as u64);
                self.unframed(Role::Message, bytes, length, false, false, at, step);
            }
            LanePart::Failed(bytes) => {
                let length = bytes.len() as u64;
                self.unframed(Role::Error, bytes, length, true, false, at, step);
                self.ended = true;
            }
            LanePart::Trailers(headers) => self.trailers(headers, at, step),
            LanePart::Finding(finding) => self.notes.push(finding),
            LanePart::End(end) => self.end(&end, step),
        }
    }

    fn feed(&mut self, mut bytes: Bytes, mut at: Option<u64>, step: &mut Step<'_, '_>) {
        self.saw_body |= !bytes.is_empty();
        self.last = step.time.or(self.last);
        while !bytes.is_empty() {
            let taken = match &mut self.state {
                State::Header { count: 0, .. } if bytes.len() >= Envelope::LEN => {
                    // The usual case: header and payload in one piece, nothing is copied.
                    let Some(&header) = bytes.first_chunk() else { return };
                    let offset = self.position;
                    self.begin(Envelope::parse(header), offset, at);
                    Envelope::LEN
                }
                State::Header { bytes: header, count, offset, at: header_at } => {
                    if *count == 0 {
                        (*offset, *header_at) = (self.position, at);
                    }
                    let mut taken = 0;
                    for (to, from) in header.iter_mut().skip(*count).zip(&bytes) {
                        *to = *from;
                        taken += 1;
                    }
                    *count += taken;
                    if *count == Envelope::LEN {
                        let (envelope, offset, at) = (Envelope::parse(*header), *offset, *header_at);
                        self.begin(envelope, offset, at);
                    }
                    taken
                }
                State::Payload(payload) => payload.take(&bytes, step.cx.limits.max_frame),
                State::Lost { search, .. } => {
                    self.position += bytes.len() as u64;
                    if let Some(found) = search.push(&bytes, at, step.lane) {
                        self.resume(found, step);
                    }
                    return;
                }
            };
            let taken = taken.min(bytes.len());
            // A payload that came whole is a slice of the piece it lies in; a header is passed over.
            let last = match &self.state {
                State::Payload(payload) if payload.present > 0 => bytes.split_to(taken),
                _ => {
                    bytes.advance(taken);
                    Bytes::new()
                }
            };
            at = at.map(|a| a + taken as u64);
            self.position += taken as u64;
            self.emit_complete(last, step);
        }
    }

    /// A header has been read.
    fn begin(&mut self, envelope: Envelope, offset: u64, at: Option<u64>) {
        let left = u64::from(envelope.length);
        let bytes = Vec::new();
        self.state = State::Payload(Payload { envelope, offset, at, bytes, present: 0, left, hole: 0 });
    }

    /// Emits the frame in hand if nothing of it is left to come; `last` are the bytes just taken.
    fn emit_complete(&mut self, last: Bytes, step: &mut Step<'_, '_>) {
        if !matches!(&self.state, State::Payload(p) if p.left == 0) {
            return;
        }
        if let State::Payload(mut payload) = std::mem::replace(&mut self.state, State::boundary()) {
            let whole_in_one =
                payload.present == last.len() as u64 && payload.present > 0 && payload.hole == 0;
            let is_kept = u64::from(payload.envelope.length) <= step.cx.limits.max_frame;
            let bytes = if whole_in_one && is_kept && payload.bytes.is_empty() {
                last
            } else {
                Bytes::from(std::mem::take(&mut payload.bytes))
            };
            self.enveloped(payload, bytes, Vec::new(), step);
        }
    }

    fn gap(&mut self, length: Option<u64>, step: &mut Step<'_, '_>) {
        if length == Some(0) {
            return;
        }
        self.saw_body = true;
        let position = self.position;
        self.position = position.saturating_add(length.unwrap_or(0));
        if let (State::Payload(payload), Some(length)) = (&mut self.state, length)
            && length <= payload.left
        {
            payload.left -= length;
            payload.hole += length;
            return self.emit_complete(Bytes::new(), step);
        }
        if let State::Lost { search, .. } = &mut self.state
            && search.gap(length)
        {
            return;
        }
        let lost = State::Lost { search: Search::new(), gap: length };
        match std::mem::replace(&mut self.state, lost) {
            State::Header { count: 0, .. } => {}
            State::Header { bytes, count, offset, at } => {
                let text = format!("{} in a frame header, {count} of 5 bytes present", missing(length));
                let finding = Finding::new(Code::NetGap, text).at(Span::new(Space::Body, offset, position));
                self.partial_header(&bytes, count, offset, at, vec![finding], step);
            }
            State::Payload(mut payload) => {
                payload.hole += payload.left;
                payload.left = 0;
                let bytes = Bytes::from(std::mem::take(&mut payload.bytes));
                self.enveloped(payload, bytes, Vec::new(), step);
            }
            State::Lost { search, gap } => {
                self.not_found(&search, gap);
            }
        }
    }

    /// No frame was found after a loss.
    fn not_found(&mut self, search: &Search, gap: Option<u64>) {
        let text = match search.skipped() {
            0 => missing(gap),
            n => format!("{}, and no frame was found in the {n} after", missing(gap)),
        };
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Finding::new(Code::NetGap, text));
        }
    }

    fn resume(&mut self, found: super::resync::Found, step: &mut Step<'_, '_>) {
        let State::Lost { gap, .. } = std::mem::replace(&mut self.state, State::boundary()) else { return };
        let length = |piece: &Piece| match piece {
            Piece::Bytes(bytes, _) => bytes.len() as u64,
            Piece::Hole(length) => *length,
        };
        let rest: u64 = found.rest.iter().map(length).sum();
        self.position = self.position.saturating_sub(rest);
        let skipped = match found.skipped {
            0 => String::new(),
            n => format!(" and {n} more were skipped"),
        };
        let text =
            format!("{} before this frame{skipped}; that a frame begins here is assumed", missing(gap));
        self.notes.push(Finding::new(Code::NetGap, text));
        for piece in found.rest {
            match piece {
                Piece::Bytes(bytes, at) => self.feed(bytes, at, step),
                Piece::Hole(length) => self.gap(Some(length), step),
            }
        }
    }

    /// HTTP trailers: the end of a gRPC stream; elsewhere a record only if they say something.
    fn trailers(&mut self, headers: Headers, at: Option<u64>, step: &mut Step<'_, '_>) {
        let is_end = matches!(step.lane.protocol, Protocol::Grpc | Protocol::GrpcWeb | Protocol::GrpcWebText);
        if !is_end && headers.fields.is_empty() && headers.lost == 0 {
            return;
        }
        self.flush(Severity::Warning, Vec::new(), step);
        let mut findings = Vec::new();
        if is_end {
            self.after_end(true, self.position, &mut findings);
            self.ended = true;
        }
        let frame = Frame {
            lane: Arc::clone(step.lane),
            index: 0,
            time: step.time,
            offset: self.position,
            at,
            flags: None,
            length: 0,
            role: Role::Trailers(headers),
            payload: Bytes::new(),
            compressed: false,
            whole: true,
            findings,
        };
        self.send(frame, step);
    }

    fn end(&mut self, end: &End, step: &mut Step<'_, '_>) {
        let severity = if *end == End::CaptureEnd { Severity::Note } else { Severity::Warning };
        let resync = match &mut self.state {
            State::Lost { search, .. } => search.end(),
            _ => None,
        };
        if let Some(found) = resync {
            self.resume(found, step);
        }
        let cut = self.is_inside_frame();
        let no_end = match rules::expected_end(step.lane, self.saw_body) {
            // A reset has its own finding, a body that is not there too.
            Some(what) if !self.ended && !self.ends_in_hand(step.lane) => match end {
                End::Reset { .. } | End::NotCaptured { .. } => None,
                End::CaptureEnd => Some(format!("{what}: the capture ends first")),
                End::Complete | End::Closed => Some(format!("{what}: the stream was cut off")),
            },
            _ => None,
        };
        let no_end = no_end.map(|text| Finding::new(Code::FrameNoEnd, text).severity(severity));
        if cut {
            self.flush(severity, no_end.into_iter().collect(), step);
        } else {
            self.flush(severity, Vec::new(), step);
            self.notes.extend(no_end);
        }
        let label = step.lane.label();
        for mut finding in self.notes.drain(..) {
            finding.text = format!("{label}: {}", finding.text);
            step.cx.find(finding);
        }
    }

    fn is_inside_frame(&self) -> bool {
        match &self.state {
            State::Header { count, .. } => *count > 0,
            State::Payload(_) => true,
            State::Lost { .. } => false,
        }
    }

    /// Whether the frame that is cut is the end itself.
    fn ends_in_hand(&self, lane: &Lane) -> bool {
        matches!(&self.state, State::Payload(p)
            if rules::kind(rules::spoken(lane, p.envelope.flags), p.envelope.flags) != Kind::Message)
    }

    /// The body is over: emits what is in hand, and `more` with it.
    fn flush(&mut self, severity: Severity, more: Vec<Finding>, step: &mut Step<'_, '_>) {
        match std::mem::replace(&mut self.state, State::boundary()) {
            State::Header { count: 0, .. } => {}
            State::Header { bytes, count, offset, at } => {
                let text = format!("truncated frame header, {count} of 5 bytes present");
                let mut findings = vec![truncated(text, severity, offset, self.position)];
                findings.extend(more);
                self.partial_header(&bytes, count, offset, at, findings, step);
            }
            State::Payload(mut p) => {
                let text = format!(
                    "truncated frame payload: declared length {}, present {}",
                    p.envelope.length, p.present
                );
                let mut findings = vec![truncated(text, severity, p.offset, self.position)];
                findings.extend(more);
                let bytes = Bytes::from(std::mem::take(&mut p.bytes));
                self.enveloped(p, bytes, findings, step);
            }
            State::Lost { search, gap } => {
                self.not_found(&search, gap);
            }
        }
    }
}

impl Payload {
    /// Takes what belongs to the payload; what lies whole in `bytes` is not copied.
    fn take(&mut self, bytes: &[u8], max_frame: u64) -> usize {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let whole_in_one = self.present == 0 && self.left == taken as u64;
        let length = u64::from(self.envelope.length);
        let kept = if length > max_frame { KEPT_OF_TOO_LARGE.min(max_frame) } else { length };
        let is_kept = length <= max_frame;
        if self.hole == 0 && !(whole_in_one && is_kept) {
            let room = usize::try_from(kept.saturating_sub(self.bytes.len() as u64)).unwrap_or(usize::MAX);
            self.bytes.extend_from_slice(bytes.get(..taken.min(room)).unwrap_or_default());
        }
        self.present += taken as u64;
        self.left -= taken as u64;
        taken
    }
}

fn truncated(text: String, severity: Severity, start: u64, end: u64) -> Finding {
    Finding::new(Code::FrameTruncated, text).severity(severity).at(Span::new(Space::Body, start, end))
}

fn missing(length: Option<u64>) -> String {
    match length {
        Some(1) => "1 byte is missing from the capture".to_owned(),
        Some(n) => format!("{n} bytes are missing from the capture"),
        None => "an unknown number of bytes is missing from the capture".to_owned(),
    }
}
