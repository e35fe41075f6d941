//! Makes frames of what was cut, with what is odd about each.
//! Never reads the body.

use std::sync::Arc;

use bytes::Bytes;

use crate::base::{Code, Finding, Space, Span};
use crate::pdu::{Envelope, Frame, Role};

use super::cutter::{Cutter, Payload, Step};
use super::rules::{self, COMPRESSED, Kind};
use super::trailers;

impl Cutter {
    /// Emits a frame with an envelope.
    pub(super) fn enveloped(
        &mut self,
        p: Payload,
        bytes: Bytes,
        mut findings: Vec<Finding>,
        step: &mut Step<'_, '_>,
    ) {
        let Payload { envelope: Envelope { flags, length }, offset, at, present, hole, .. } = p;
        let protocol = rules::spoken(step.lane, flags);
        let span = Span::new(Space::Body, offset, offset + Envelope::LEN as u64 + u64::from(length));
        let reserved = flags & !rules::defined(protocol);
        if reserved != 0 {
            let text = format!("reserved flag bits set ({reserved:#04x})");
            let place = Span::new(Space::Body, offset, offset + 1);
            findings.insert(0, Finding::new(Code::FrameReservedFlags, text).at(place));
        }
        let limit = step.cx.limits.max_frame;
        if u64::from(length) > limit && present > limit {
            let text = format!("frame of {length} bytes is over the limit of {limit} (--max-frame); skipped");
            findings.push(Finding::new(Code::FrameTooLarge, text).at(span));
        }
        if hole > 0 {
            let text = format!("{hole} bytes of this frame's {length} are missing from the capture");
            findings.push(Finding::new(Code::NetGap, text).at(span));
        }
        let whole = bytes.len() as u64 == u64::from(length) && hole == 0;
        let compressed = flags & COMPRESSED != 0;
        let (role, is_end) = match rules::kind(protocol, flags) {
            Kind::Message => (Role::Message, false),
            Kind::EndStream => (Role::EndStream, true),
            Kind::Trailers if compressed => {
                let mut block = Vec::new();
                let (limits, known) = (step.cx.limits, findings.len());
                let encoding = step.lane.encoding.as_deref();
                step.inflater.inflate(encoding, &bytes, whole, limits, &mut block, &mut findings);
                findings.iter_mut().skip(known).for_each(|f| f.span = Some(span));
                (Role::Trailers(trailers::parse(&block)), true)
            }
            Kind::Trailers => (Role::Trailers(trailers::parse(&bytes)), true),
        };
        self.after_end(is_end, offset, &mut findings);
        self.ended |= is_end && hole == 0;
        let frame = Frame {
            lane: Arc::clone(step.lane),
            index: 0,
            time: step.time,
            offset,
            at,
            flags: Some(flags),
            length: u64::from(length),
            role,
            payload: bytes,
            compressed,
            whole,
            findings,
        };
        self.send(frame, step);
    }

    pub(super) fn after_end(&self, is_end: bool, offset: u64, findings: &mut Vec<Finding>) {
        if self.ended {
            let text = if is_end { "a second end of the stream" } else { "data after the end of the stream" };
            let span = Span::new(Space::Body, offset, offset);
            findings.push(Finding::new(Code::FrameAfterEnd, text).at(span));
        }
    }

    /// Emits what there is of a header: its bytes stand as the payload.
    pub(super) fn partial_header(
        &mut self,
        bytes: &[u8; Envelope::LEN],
        count: usize,
        offset: u64,
        at: Option<u64>,
        findings: Vec<Finding>,
        step: &mut Step<'_, '_>,
    ) {
        let frame = Frame {
            lane: Arc::clone(step.lane),
            index: 0,
            time: step.time,
            offset,
            at,
            flags: None,
            length: count as u64,
            role: Role::Message,
            payload: Bytes::copy_from_slice(bytes.get(..count).unwrap_or_default()),
            compressed: false,
            whole: false,
            findings,
        };
        self.send(frame, step);
    }

    /// Emits a message without an envelope.
    #[expect(clippy::too_many_arguments, reason = "a frame has that many facts")]
    pub(super) fn unframed(
        &mut self,
        role: Role,
        payload: Bytes,
        length: u64,
        whole: bool,
        compressed: bool,
        at: Option<u64>,
        step: &mut Step<'_, '_>,
    ) {
        let offset = self.position;
        self.position = offset.saturating_add(payload.len() as u64);
        let frame = Frame {
            lane: Arc::clone(step.lane),
            index: 0,
            time: step.time,
            offset,
            at,
            flags: None,
            length,
            role,
            payload,
            compressed,
            whole,
            findings: Vec::new(),
        };
        self.send(frame, step);
    }

    pub(super) fn send(&mut self, mut frame: Frame, step: &mut Step<'_, '_>) {
        frame.index = self.index;
        frame.time = frame.time.or(self.last);
        self.index = self.index.saturating_add(1);
        if !self.notes.is_empty() {
            let findings = std::mem::take(&mut frame.findings);
            frame.findings = std::mem::take(&mut self.notes);
            frame.findings.extend(findings);
        }
        step.out.push(frame);
    }
}
