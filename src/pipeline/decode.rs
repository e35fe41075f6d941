//! One frame into what is shown of it: encodings undone, message decoded, carried message opened.
//! Never touches another frame: it runs on any thread.

mod ids;
mod names;
mod tunnel;
mod wanted;
mod wired;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::base::codec::Inflater;
use crate::base::secret;
use crate::base::{Finding, Space};
use crate::frame;
use crate::message::{self, JsonOptions, Tree, fast};
use crate::pdu::{Frame, Role};
use crate::query::Stage;
use crate::schema::TypeId;
use crate::session::digest::{self, Carried};
use crate::session::status;
use crate::session::{Digest, Status};
use crate::view::{Decoded, NamedIds};

pub use ids::{counts_absent, ids_of, owned};
pub use tunnel::carried_bytes;
pub use wired::{Looked, Wired};

use names::{branch_name, kind};
use wired::{Wires, wire_of_json};

use super::filter;
use super::joins::Id;
use super::typing::is_json;
use super::{Config, Expand, Job};

/// Longest buffer that is kept for the next frame.
const MAX_SPARE: usize = 1 << 20;

/// The ids of a call, by number and by name.
type CallIds = (Arc<[Id]>, Arc<[NamedIds]>);

/// What a worker keeps between frames.
#[derive(Default)]
pub struct Worker {
    inflater: Inflater,
    tree: Tree,
    inner: Tree,
    /// For the fast lane, where the run has one.
    tables: Option<Arc<fast::Tables>>,
    /// Names of messages of the fast lane, each at a place that its type and branch give.
    names: names::Known,
    /// Ids that were met in the last frame's message, and whether the fast lane met them.
    met: Vec<Id>,
    is_met: bool,
    /// The ids of the call that came last.
    call_ids: Option<CallIds>,
    /// A message's buffer, to be used again.
    spare: Vec<u8>,
    /// Where JSON on the wire becomes wire format.
    wires: Wires,
    /// A buffer for what is inflated, to be used again.
    inflated: Vec<u8>,
    /// What the carrier of the last frame says beside what it carries.
    carried: Option<Carried>,
    canonical: Vec<u8>,
    /// What a filter is shown of a frame before it is decoded.
    early: Decoded,
    /// What the run's filter says of a branch: whether it does not want it.
    said: Vec<(TypeId, Option<u16>, bool)>,
    unwanted: bool,
}

impl Worker {
    /// A worker that shares the tables of a run.
    pub fn new(tables: Option<Arc<fast::Tables>>) -> Self {
        Self { tables, ..Self::default() }
    }

    /// Takes back what a decoded frame no longer needs.
    pub fn recycle(&mut self, job: &Job, decoded: &mut Decoded) {
        self.spare = std::mem::take(&mut decoded.message);
        self.spare.clear();
        // What was inflated lies in a buffer of its own; other payloads are slices of the capture.
        if job.frame.compressed
            && let Ok(mut payload) = std::mem::take(&mut decoded.payload).try_into_mut()
            && payload.capacity() <= MAX_SPARE
        {
            payload.clear();
            self.inflated = payload.into();
        }
    }

    /// The tables of the run's fast lane, where it has one.
    pub fn tables(&self) -> Option<&Arc<fast::Tables>> {
        self.tables.as_ref()
    }

    /// The payload of a frame with its encoding undone, and whether all of it is there.
    pub fn payload<'f>(
        &mut self,
        config: &Config,
        frame: &'f Frame,
        findings: &mut Vec<Finding>,
    ) -> (Cow<'f, Bytes>, bool) {
        if !frame.compressed {
            return (Cow::Borrowed(&frame.payload), frame.whole);
        }
        let mut out = std::mem::take(&mut self.inflated);
        let done = frame::inflate(frame, &mut self.inflater, &config.limits, &mut out, findings);
        (Cow::Owned(out.into()), done.complete)
    }

    /// The message of a frame in wire format, for whoever only looks into it.
    pub fn wire<'f>(&mut self, config: &Config, frame: &'f Frame, ty: Option<TypeId>) -> Looked<'f> {
        let (payload, _) = self.payload(config, frame, &mut Vec::new());
        match ty {
            Some(ty) if is_json(frame, &payload) => {
                Looked::Json(wire_of_json(&config.schema, ty, &payload, &mut self.wires))
            }
            _ => Looked::Sent(payload),
        }
    }

    /// Decodes a frame.
    pub fn decode(&mut self, config: &Config, job: &Job) -> Decoded {
        self.unwanted = false;
        let frame = &job.frame;
        self.carried = None;
        self.met.clear();
        self.is_met = false;
        let message = std::mem::take(&mut self.spare);
        let mut decoded = Decoded { findings: frame.findings.clone(), message, ..Decoded::default() };
        decoded.findings.extend(job.typed.finding.as_deref().cloned());
        let mut new = Vec::new();
        let (payload, _) = self.payload(config, frame, &mut new);
        let options = options(config);
        match &frame.role {
            Role::Message | Role::Decoded => {
                self.message(config, job, payload, &options, &mut decoded, &mut new)
            }
            Role::EndStream => {
                decoded.kind = Some("end_stream".into());
                message::status::end_stream(
                    &config.schema,
                    &payload,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload.into_owned();
            }
            Role::Error => {
                decoded.kind = Some("error".into());
                message::status::end_stream(
                    &config.schema,
                    &payload,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload.into_owned();
            }
            Role::Trailers(headers) => {
                decoded.kind = Some("trailers".into());
                let fields = headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str()));
                message::status::trailers(
                    &config.schema,
                    fields,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload.into_owned();
            }
        }
        if self.unwanted {
            return decoded;
        }
        let base = (decoded.carrier.is_none() && !frame.compressed && frame.role != Role::Decoded)
            .then(|| frame.offset + if frame.flags.is_some() { 5 } else { 0 });
        let carried = decoded.carrier.is_some();
        decoded.findings.extend(new.into_iter().map(|f| place(f, base, carried)));
        if !config.show_secrets {
            decoded.findings.iter_mut().for_each(|finding| mask(config.schema.secrets(), finding));
        }
        self.ids(config, job, &mut decoded);
        decoded
    }

    fn message(
        &mut self,
        config: &Config,
        job: &Job,
        payload: Cow<'_, Bytes>,
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
        findings: &mut Vec<Finding>,
    ) {
        let frame = &job.frame;
        let json = is_json(frame, &payload);
        if frame.length > config.limits.max_frame && !frame.whole {
            // Such a length is hardly one: the bytes after it are no message.
            return;
        }
        let Some(ty) = job.typed.ty else {
            if json {
                message::status::free_json(&config.schema, &payload, options, &mut decoded.message, findings);
            } else {
                message::decode(&config.schema, None, &payload, &config.limits, &mut self.tree, findings);
                message::json::write(
                    &config.schema,
                    &self.tree,
                    &payload,
                    options,
                    &mut decoded.message,
                    findings,
                );
            }
            decoded.payload = payload.into_owned();
            return;
        };
        let made;
        let wire = if json {
            let wired = match &job.wired {
                Some(wired) => wired,
                None => {
                    made = wire_of_json(&config.schema, ty, &payload, &mut self.wires);
                    &made
                }
            };
            findings.extend(wired.findings.iter().cloned());
            match &wired.wire {
                Some(wire) => {
                    decoded.wire_length = Some(wire.len() as u64);
                    Cow::Borrowed(wire)
                }
                None => {
                    decoded.message_type = Some(config.schema.ty(ty).name.clone());
                    message::status::free_json(
                        &config.schema,
                        &payload,
                        options,
                        &mut decoded.message,
                        findings,
                    );
                    decoded.payload = payload.into_owned();
                    return;
                }
            }
        } else {
            payload
        };
        let carries = wanted::carries(config, job);
        if let (Some(filter), false) = (&config.filter, carries) {
            self.unwanted = self.refuses_kind(config, job, filter, ty, &wire, decoded.wire_length);
            if self.unwanted {
                return;
            }
        }
        if frame.whole && !carries && self.fast(config, ty, &wire, options, decoded) {
            decoded.payload = wire.into_owned();
            return;
        }
        if frame.whole && carries && self.tunnel_regular(config, job, &wire, options, decoded) {
            return;
        }
        // That a frame breaks off is said already, by whoever cut it.
        let decode = if frame.whole { message::decode } else { message::decode_start };
        decode(&config.schema, Some(ty), &wire, &config.limits, &mut self.tree, findings);
        if let (Some((number, inner, assumed)), true) = (job.joined.inner, config.expand != Expand::None)
            && self.tunnel(config, job, number, inner, assumed, &wire, options, decoded, findings)
        {
            return;
        }
        self.shown(config, job, ty, wire.into_owned(), options, decoded, findings);
    }

    /// What the frame that was decoded last says, by the rules of the dialects.
    pub fn digest(&self, config: &Config, job: &Job, decoded: &Decoded) -> Digest {
        let mut digest = self.said(config, job, decoded);
        if config.show_secrets {
            return digest;
        }
        // What ends up in findings and headings is hidden here; running text is where it is joined.
        let masked = |text: &mut Box<str>| {
            if let Some(hidden) = config.schema.secrets().mask_text(text) {
                *text = hidden.into();
            }
        };
        digest.titles.iter_mut().for_each(|title| masked(&mut title.text));
        digest.endings.iter_mut().filter_map(|(_, reason)| reason.as_mut()).for_each(masked);
        if let Some(status) = &mut digest.status {
            masked(&mut status.message);
            for detail in &mut status.details {
                if let Some(hidden) = config.schema.secrets().mask_text(detail) {
                    *detail = hidden;
                }
            }
        }
        digest
    }

    fn said(&self, config: &Config, job: &Job, decoded: &Decoded) -> Digest {
        match &job.frame.role {
            Role::EndStream | Role::Error => {
                let details = status::details(&config.schema, &config.plan, &decoded.message);
                Digest::end(Status { details, ..Status::from_json(&decoded.payload) })
            }
            Role::Trailers(headers) => {
                let fields = headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str()));
                let details = || status::details(&config.schema, &config.plan, &decoded.message);
                let end = |status| Digest::end(Status { details: details(), ..status });
                Status::from_trailers(fields).map_or_else(Digest::default, end)
            }
            Role::Message | Role::Decoded => {
                let mut digest = match decoded.ty {
                    Some(_) => digest::make(&config.schema, &config.plan, &self.tree, &decoded.payload),
                    None => Digest::default(),
                };
                digest.carried = self.carried;
                digest
            }
        }
    }

    /// Fills in kind, type and message from `self.tree`.
    #[expect(clippy::too_many_arguments, reason = "the parts of one frame, each from another place")]
    fn shown(
        &mut self,
        config: &Config,
        job: &Job,
        ty: TypeId,
        wire: Bytes,
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
        findings: &mut Vec<Finding>,
    ) {
        decoded.ty = Some(ty);
        decoded.message_type = Some(config.schema.ty(ty).name.clone());
        let branch = message::kind(&config.schema, &self.tree);
        decoded.kind = branch.map(|branch| kind(config, ty, branch));
        if let Some(filter) = &config.filter {
            self.unwanted = filter::decide(config, filter, job, decoded, Stage::Kind) == Some(false);
            if self.unwanted {
                return;
            }
        }
        message::json::write(&config.schema, &self.tree, &wire, options, &mut decoded.message, findings);
        decoded.payload = wire;
    }

    /// Fills in kind, type, message and ids of a regular message; false where it is none.
    fn fast(
        &mut self,
        config: &Config,
        ty: TypeId,
        wire: &[u8],
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
    ) -> bool {
        let Some(tables) = self.tables.as_deref().filter(|_| fast::serves(options)) else { return false };
        let mut ids = fast::Ids::new();
        let (schema, limits, out) = (&config.schema, &config.limits, &mut decoded.message);
        let Some(branch) = fast::write(schema, tables, ty, wire, options.redact, limits, out, &mut ids)
        else {
            return false;
        };
        let names = self.names(config, ty, branch);
        (decoded.kind, decoded.message_type) = (names.kind.clone(), Some(names.message_type.clone()));
        decoded.ty = Some(ty);
        let counts = |id: &fast::FastId<'_>| !id.absent || counts_absent(config, id.namespace);
        self.met.extend(ids.into_iter().filter(counts).map(|id| (id.namespace, owned(id.value))));
        self.is_met = true;
        true
    }
}

fn options(config: &Config) -> JsonOptions<'_> {
    JsonOptions {
        json_names: config.json_names,
        emit_defaults: config.emit_defaults,
        keep_unknown: true,
        redact: !config.show_secrets,
        expand: if config.expand == Expand::All { message::Expand::All } else { message::Expand::None },
        blobs: None,
        limits: &config.limits,
    }
}

/// Hides credentials that a finding quotes.
pub fn mask(secrets: &secret::Rules, finding: &mut Finding) {
    for text in [Some(&mut finding.text), finding.path.as_mut()].into_iter().flatten() {
        if let Some(hidden) = secrets.mask_text(text) {
            *text = hidden;
        }
    }
}

/// Puts a finding of the message where its bytes lie in the body, where they do.
fn place(mut finding: Finding, base: Option<u64>, carried: bool) -> Finding {
    if let Some(span) = &mut finding.span {
        match (span.space, base) {
            (Space::Payload, Some(base)) => {
                span.space = Space::Body;
                span.start += base;
                span.end += base;
            }
            (Space::Payload, None) if carried => span.space = Space::Nested,
            _ => {}
        }
    }
    finding
}
