//! The end of one side: whole bodies, errors, answers that are no RPC's, resets.
//! Never takes a cut body for a whole one.

use bytes::Bytes;

use crate::base::secret::mask;
use crate::base::text::clean;
use crate::base::{Code, Finding, Severity, Timestamp};
use crate::pdu::{Codec, End, LanePart, Protocol, Side};

use super::body::{Stopped, is_all_envelopes, is_one_envelope};
use super::call::{Call, Work};
use super::decide::{Plan, Way, is_success};
use super::protocol::{self, Content};

/// Characters of an answer that are quoted.
const QUOTED: usize = 80;

impl Call {
    /// A side has ended.
    pub(super) fn end(
        &mut self,
        side: Side,
        plan: Plan,
        end: End,
        time: Option<Timestamp>,
        work: &mut Work<'_, '_>,
    ) {
        match plan.way {
            Way::Foreign => return,
            Way::Mismatch => return self.mismatch(side, &end, work),
            Way::Text => self.half_mut(side).last_base64(time, work),
            Way::Coded => self.coded(side, &end, time, work),
            Way::Unary | Way::Guess | Way::Answer => self.unary(side, plan, &end, time, work),
            Way::Frames | Way::Get => {}
        }
        self.why(side, &end, time, work);
        self.half(side).send(time, None, LanePart::End(end), work);
    }

    /// Findings on how the side ended.
    fn why(&mut self, side: Side, end: &End, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let finding = match end {
            // What a server sends that has answered and needs no more of the request.
            End::Reset { code: 0 } if self.half(side.peer()).ended => return,
            End::Reset { code } if !self.reset_told => {
                self.reset_told = true;
                let text = format!("the stream was reset: {} ({code:#x})", protocol::error_name(*code));
                Finding::new(Code::NetReset, text)
            }
            End::NotCaptured { declared } if !self.is_aborted() => {
                let text = match declared {
                    Some(length) => format!("body missing from the capture (declared size {length})"),
                    None => "body missing from the capture".to_owned(),
                };
                Finding::new(Code::FrameMissing, text)
            }
            _ => return,
        };
        self.half(side).send(time, None, LanePart::Finding(finding), work);
    }

    /// Whether the file says that the exchange was given up: status 0.
    fn is_aborted(&self) -> bool {
        self.half(Side::Response).head.as_deref().and_then(protocol::status) == Some(0)
    }

    /// A body of envelopes under a content coding.
    fn coded(&mut self, side: Side, end: &End, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let half = self.half_mut(side);
        let whole = *end == End::Complete && half.body.stopped.is_none();
        let (at, stopped) = (half.body.at, half.body.stopped);
        let (body, findings, undone) = self.undo(side, whole, work);
        let half = self.half_mut(side);
        for finding in findings {
            half.send(time, None, LanePart::Finding(finding), work);
        }
        let body_time = half.body.time.or(time);
        half.send(body_time, if undone { None } else { at }, LanePart::Bytes(body), work);
        if let Some(stopped) = stopped {
            if stopped != Stopped::Gap {
                half.send(time, None, LanePart::Finding(stopped_finding(stopped, work)), work);
            }
            half.send(time, None, LanePart::Gap(None), work);
        }
        let trailers = std::mem::take(&mut half.trailers);
        if !trailers.fields.is_empty() {
            half.send(time, None, LanePart::Trailers(trailers), work);
        }
    }

    /// The collected body with its content coding undone, if it has one, and whether it had.
    fn undo(&mut self, side: Side, whole: bool, work: &mut Work<'_, '_>) -> (Bytes, Vec<Finding>, bool) {
        let mut findings = Vec::new();
        let half = self.half_mut(side);
        let body = half.body.take();
        let Some(coding) = half.head.as_deref().and_then(protocol::content_encoding) else {
            return (body, findings, false);
        };
        // A file of HTTP may hold the body plain; envelopes tell.
        let is_plain = half.plan.is_some_and(|p| p.way == Way::Coded) && is_all_envelopes(&body);
        if is_plain || body.is_empty() {
            return (body, findings, false);
        }
        let limits = work.cx.limits;
        let undone = work.inflater.undo_content(coding, body.clone(), whole, limits, &mut findings);
        let changed = undone != body;
        (undone, findings, changed)
    }

    /// A body that is one message, or should be.
    fn unary(&mut self, side: Side, plan: Plan, end: &End, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let half = self.half_mut(side);
        let stopped = half.body.stopped;
        let whole = *end == End::Complete && stopped.is_none();
        let (at, time) = (half.body.at, half.body.time.or(time));
        let (body, findings, undone) = self.undo(side, whole, work);
        for finding in findings {
            self.half(side).send(time, at, LanePart::Finding(finding), work);
        }
        let is_answer = plan.way == Way::Answer;
        if !whole {
            return match end {
                End::NotCaptured { .. } => {}
                _ if is_answer => self.unframed(side, &body, false, work),
                _ => self.cut(side, body, undone, end, time, at, work),
            };
        }
        let head = self.half(side).head.as_deref();
        let is_error = side == Side::Response && head.is_some_and(|h| !is_success(h));
        if is_answer || is_error {
            let by_type = is_error && !is_answer && plan.codec == Codec::Json && !body.is_empty();
            if by_type || is_error_json(&body) {
                self.half(side).send(time, at, LanePart::Failed(body), work);
                return self.last_trailers(side, time, work);
            }
            let is_named = head.is_some_and(|h| protocol::content(h) != Content::Unnamed);
            let is_message = if is_answer { is_all_envelopes(&body) } else { is_named && !body.is_empty() };
            if !is_message {
                return self.unframed(side, &body, true, work);
            }
        }
        if is_answer || plan.way == Way::Guess && is_all_envelopes(&body) {
            if plan.way == Way::Guess {
                self.replace_lane(side, Protocol::ConnectStream);
            }
            self.half(side).send(time, at, LanePart::Bytes(body), work);
        } else if is_one_envelope(&body) && plan.codec != Codec::Other {
            let finding = Finding::new(Code::FrameEnveloped, "a unary body with an envelope in front");
            self.half(side).send(time, at, LanePart::Finding(finding), work);
            self.half(side).send(time, at, LanePart::Bytes(body), work);
        } else {
            self.half(side).send(time, at, LanePart::Whole(body), work);
        }
        self.last_trailers(side, time, work);
    }

    fn last_trailers(&mut self, side: Side, time: Option<Timestamp>, work: &mut Work<'_, '_>) {
        let trailers = std::mem::take(&mut self.half_mut(side).trailers);
        if !trailers.fields.is_empty() {
            self.half(side).send(time, None, LanePart::Trailers(trailers), work);
        }
    }

    /// A unary body that is not there to its end.
    #[expect(clippy::too_many_arguments, reason = "one call, to keep `unary` readable")]
    fn cut(
        &mut self,
        side: Side,
        body: Bytes,
        undone: bool,
        end: &End,
        time: Option<Timestamp>,
        at: Option<u64>,
        work: &mut Work<'_, '_>,
    ) {
        let half = self.half(side);
        // Without a head nothing says that there is a body.
        if half.head.is_none() && body.is_empty() {
            return;
        }
        let declared =
            half.head.as_deref().filter(|_| !undone).and_then(|head| {
                head.headers.get("content-length").and_then(|v| v.trim().parse::<u64>().ok())
            });
        let finding = match half.body.stopped {
            Some(stopped) => stopped_finding(stopped, work),
            None => {
                let text = match declared {
                    Some(length) => {
                        format!("truncated body: declared length {length}, present {}", body.len())
                    }
                    None => format!("truncated body: {} bytes present", body.len()),
                };
                let severity = if *end == End::CaptureEnd { Severity::Note } else { Severity::Warning };
                Finding::new(Code::FrameTruncated, text).severity(severity)
            }
        };
        half.send(time, at, LanePart::Finding(finding), work);
        if !body.is_empty() {
            half.send(time, at, LanePart::Cut { bytes: body, length: declared }, work);
        }
    }

    /// The end of an answer that is no RPC's.
    fn mismatch(&mut self, side: Side, end: &End, work: &mut Work<'_, '_>) {
        if matches!(end, End::NotCaptured { .. }) && self.is_aborted() {
            return;
        }
        let (body, ..) = self.undo(side, false, work);
        self.unframed(side, &body, *end == End::Complete, work);
    }

    /// Says that an answer is no RPC's, and what it is instead.
    fn unframed(&mut self, side: Side, body: &[u8], whole: bool, work: &mut Work<'_, '_>) {
        let Some(head) = self.half(side).head.as_deref() else { return };
        // The answer to a GET is the one that the client has; status 0 is a file's word for none.
        if matches!(protocol::status(head), Some(0 | 304)) {
            return;
        }
        let mut text = self.label(side);
        if let Some(status) = protocol::status(head) {
            text.push_str(&format!("HTTP {status}, "));
        }
        text.push_str(&protocol::content_type(head).unwrap_or_else(|| "no content-type".to_owned()));
        let is_unary = self.half(side.peer()).plan.is_some_and(|p| p.way.is_unary());
        text.push_str(if is_unary { " where a message was expected" } else { " where frames were expected" });
        if body.is_empty() {
            text.push_str(if whole { ", with an empty body" } else { ", body not captured" });
        } else {
            text.push_str(&format!(": \"{}\"", quote(body)));
        }
        let finding = Finding::new(Code::FrameUnframed, text);
        work.cx.find(finding);
    }
}

fn stopped_finding(stopped: Stopped, work: &Work<'_, '_>) -> Finding {
    match stopped {
        Stopped::Gap => Finding::new(Code::NetGap, "bytes of the body are missing from the capture"),
        Stopped::TooLong => {
            let text = format!("body longer than the limit of {} bytes", work.cx.limits.max_body);
            Finding::new(Code::FrameTooLarge, text)
        }
        Stopped::GivenUp => {
            Finding::new(Code::LimitReached, "the body was given up: too many bodies are held at once")
        }
    }
}

/// Whether the bytes are the JSON of an error (Connect: Error-Code in an object).
fn is_error_json(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Error<'a> {
        #[serde(borrow)]
        code: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Error<'_>>(body).is_ok_and(|e| !e.code.is_empty())
}

/// The beginning of a body as clean text on one line.
fn quote(body: &[u8]) -> String {
    let start = body.get(..body.len().min(8 * QUOTED)).unwrap_or_default();
    // Masked before it is shortened: the beginning of a token is no token to whoever looks for one.
    let masked = mask(start);
    let start = String::from_utf8_lossy(masked.as_deref().unwrap_or(start));
    let words = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quoted = clean(&words.chars().take(QUOTED).collect::<String>());
    if words.chars().nth(QUOTED).is_some() || body.len() > 8 * QUOTED {
        quoted.push('…');
    }
    quoted
}
