//! One frame into what is shown of it: encodings undone, message decoded, carried message opened.
//! Never touches another frame: it runs on any thread.

use std::sync::Arc;

use crate::base::codec::Inflater;
use crate::base::json::push_string;
use crate::base::secret;
use crate::base::text::hex;
use crate::base::{Code, Finding, Severity, Space};
use crate::dialect::{Payload, PayloadEncoding};
use crate::frame;
use crate::message::{self, JsonOptions, Tree};
use crate::pdu::{Frame, Role};
use crate::query::{Filter, Stage};
use crate::schema::{Schema, TypeId};
use crate::session::digest::{self, Carried};
use crate::session::status;
use crate::session::{Digest, Status};
use crate::view::{Carrier, Decoded, IdValue, Item};

use super::filter::{self, Seen};
use super::joins::Id;
use super::typing::is_json;
use super::{Config, Expand, Job};

/// Ids of one namespace that a record shows, at most.
const MAX_IDS: usize = 16;

/// What a worker keeps between frames.
#[derive(Default)]
pub struct Worker {
    inflater: Inflater,
    tree: Tree,
    inner: Tree,
    wire: Vec<u8>,
    /// What the carrier of the last frame says beside what it carries.
    carried: Option<Carried>,
    canonical: Vec<u8>,
    unwanted: bool,
}

impl Worker {
    /// The payload of a frame with its encoding undone, and whether all of it is there.
    pub fn payload(
        &mut self,
        config: &Config,
        frame: &Frame,
        findings: &mut Vec<Finding>,
    ) -> (Vec<u8>, bool) {
        if !frame.compressed {
            return (frame.payload.to_vec(), frame.whole);
        }
        let mut out = Vec::new();
        let done = frame::inflate(frame, &mut self.inflater, &config.limits, &mut out, findings);
        (out, done.complete)
    }

    /// The message of a frame in wire format, for whoever only looks into it.
    pub fn wire(&mut self, config: &Config, frame: &Frame, ty: Option<TypeId>) -> Vec<u8> {
        let (payload, _) = self.payload(config, frame, &mut Vec::new());
        let json = is_json(frame, &payload);
        match ty {
            Some(ty) if json => {
                self.wire_of_json(&config.schema, ty, &payload, &mut Vec::new()).unwrap_or_default()
            }
            _ => payload,
        }
    }

    /// Decodes a frame that the filter wants; `None` where it does not.
    pub fn decode_wanted(&mut self, config: &Config, job: &Job) -> Option<Decoded> {
        match &config.filter {
            Some(filter) => self.decode_passing(config, job, filter),
            None => Some(self.decode(config, job)),
        }
    }

    /// Decodes a frame that a filter lets through; `None` where it does not.
    pub fn decode_passing(&mut self, config: &Config, job: &Job, filter: &Filter) -> Option<Decoded> {
        let early = filter::decide(config, filter, job, &Decoded::default(), Stage::Frame);
        if early == Some(false) {
            return None;
        }
        let decoded = self.decode(config, job);
        if self.unwanted {
            return None;
        }
        let wanted = early.unwrap_or_else(|| {
            let canonical = self.canonical(config, &decoded);
            let item = Item {
                number: job.number,
                capture: &job.capture,
                frame: &job.frame,
                decoded: &decoded,
                show_secrets: config.show_secrets,
                secrets: config.schema.secrets(),
            };
            filter.matches(&config.schema, &Seen::new(&item, canonical))
        });
        wanted.then_some(decoded)
    }

    /// The message of the frame just decoded in the form that filters are about, where it was written in another.
    fn canonical(&mut self, config: &Config, decoded: &Decoded) -> Option<&[u8]> {
        let other = config.json_names || config.emit_defaults || config.expand == Expand::All;
        if !other || decoded.ty.is_none() {
            return None;
        }
        let options = JsonOptions {
            json_names: false,
            emit_defaults: false,
            expand: message::Expand::None,
            ..options(config)
        };
        self.canonical.clear();
        let (tree, out) = (&self.tree, &mut self.canonical);
        message::json::write(&config.schema, tree, &decoded.payload, &options, out, &mut Vec::new());
        Some(&self.canonical)
    }

    /// Decodes a frame.
    pub fn decode(&mut self, config: &Config, job: &Job) -> Decoded {
        self.unwanted = false;
        let frame = &job.frame;
        self.carried = None;
        let mut decoded = Decoded { findings: frame.findings.clone(), ..Decoded::default() };
        decoded.findings.extend(job.typed.finding.clone());
        let mut new = Vec::new();
        let (payload, _) = self.payload(config, frame, &mut new);
        let options = options(config);
        match &frame.role {
            Role::Message | Role::Decoded => {
                self.message(config, job, payload, &options, &mut decoded, &mut new)
            }
            Role::EndStream => {
                decoded.kind = Some("end_stream".to_owned());
                message::status::end_stream(
                    &config.schema,
                    &payload,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload;
            }
            Role::Error => {
                decoded.kind = Some("error".to_owned());
                message::status::end_stream(
                    &config.schema,
                    &payload,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload;
            }
            Role::Trailers(headers) => {
                decoded.kind = Some("trailers".to_owned());
                let fields = headers.fields.iter().map(|h| (h.name.as_str(), h.value.as_str()));
                message::status::trailers(
                    &config.schema,
                    fields,
                    &options,
                    &config.limits,
                    &mut decoded.message,
                    &mut new,
                );
                decoded.payload = payload;
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
        payload: Vec<u8>,
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
            decoded.payload = payload;
            return;
        };
        let wire = if json {
            match self.wire_of_json(&config.schema, ty, &payload, findings) {
                Some(wire) => {
                    decoded.wire_length = Some(wire.len() as u64);
                    wire
                }
                None => {
                    decoded.message_type = Some(Arc::from(&*config.schema.ty(ty).name));
                    message::status::free_json(
                        &config.schema,
                        &payload,
                        options,
                        &mut decoded.message,
                        findings,
                    );
                    decoded.payload = payload;
                    return;
                }
            }
        } else {
            payload
        };
        // That a frame breaks off is said already, by whoever cut it.
        let decode = if frame.whole { message::decode } else { message::decode_start };
        decode(&config.schema, Some(ty), &wire, &config.limits, &mut self.tree, findings);
        if let (Some((number, inner, assumed)), true) = (job.joined.inner, config.expand != Expand::None)
            && self.tunnel(config, job, number, inner, assumed, &wire, options, decoded, findings)
        {
            return;
        }
        self.shown(config, job, ty, wire, options, decoded, findings);
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
                if let Some(hidden) = secret::mask_text(detail) {
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
        wire: Vec<u8>,
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
        findings: &mut Vec<Finding>,
    ) {
        decoded.ty = Some(ty);
        decoded.message_type = Some(Arc::from(&*config.schema.ty(ty).name));
        decoded.kind = message::kind(&config.schema, &self.tree).map(|branch| match branch {
            // Kinds of frames that are no messages: a branch of that name carries its oneof's.
            "end_stream" | "trailers" | "error" => {
                let oneof = config.schema.ty(ty).oneofs.first().map_or("", |o| &o.name);
                format!("{oneof}.{branch}")
            }
            branch => branch.to_owned(),
        });
        if let Some(filter) = &config.filter {
            self.unwanted = filter::decide(config, filter, job, decoded, Stage::Kind) == Some(false);
            if self.unwanted {
                return;
            }
        }
        message::json::write(&config.schema, &self.tree, &wire, options, &mut decoded.message, findings);
        decoded.payload = wire;
    }

    /// The wire format of a JSON message; what does not fit is a finding each, `None` where it is no JSON at all.
    fn wire_of_json(
        &mut self,
        schema: &Schema,
        ty: TypeId,
        payload: &[u8],
        findings: &mut Vec<Finding>,
    ) -> Option<Vec<u8>> {
        let Ok(text) = std::str::from_utf8(payload) else {
            findings.push(Finding::new(Code::JsonMalformed, "expected JSON, found bytes that are not UTF-8"));
            return None;
        };
        self.wire.clear();
        let errors = message::json_in::encode(schema, ty, text, Default::default(), &mut self.wire);
        for error in errors.iter().take(16) {
            let span = crate::base::Span::new(Space::Payload, error.at as u64, error.at as u64 + 1);
            let mut finding = Finding::new(Code::JsonMalformed, error.text.clone()).at(span);
            if !error.path.is_empty() {
                finding = finding.path(error.path.clone());
            }
            findings.push(finding);
        }
        let hopeless = self.wire.is_empty() && errors.iter().any(|e| e.path.is_empty());
        (!hopeless).then(|| self.wire.clone())
    }

    /// Opens a carried message; false where the outer message is to be shown instead.
    #[expect(clippy::too_many_arguments, reason = "the parts of one frame, each from another place")]
    fn tunnel(
        &mut self,
        config: &Config,
        job: &Job,
        number: u16,
        inner: TypeId,
        assumed: bool,
        wire: &[u8],
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
        findings: &mut Vec<Finding>,
    ) -> bool {
        let schema = &config.schema;
        let Some(tunnel) = config.plan.tunnels.get(usize::from(number)) else { return false };
        self.carried = digest::carried(schema, &config.plan, &self.tree);
        let outer = schema.ty(tunnel.carrier);
        let mut found: Vec<(Payload, Vec<u8>)> = Vec::new();
        for payload in &tunnel.payloads {
            match carried_bytes(&self.tree, wire, *payload) {
                Some(Ok(bytes)) => found.push((*payload, bytes)),
                Some(Err(text)) => {
                    let name = outer.field(payload.field).map_or("", |f| &f.name);
                    findings.push(Finding::new(Code::CarrierBadEncoding, text).path(name));
                }
                None => {}
            }
        }
        if found.is_empty() && findings.iter().any(|f| f.code == Code::CarrierBadEncoding) {
            return false;
        }
        let first = tunnel.payloads.first().map_or(PayloadEncoding::Raw, |p| p.encoding);
        let (used, bytes) = found.first().map_or((None, &[][..]), |(p, b)| (Some(*p), b.as_slice()));
        let mut carrier = Carrier {
            message_type: Arc::from(&*outer.name),
            field: used.and_then(|p| outer.field(p.field)).map_or_else(String::new, |f| f.name.to_string()),
            encoding: used.map_or(first, |p| p.encoding).name(),
            members: members(config, &self.tree, wire, tunnel),
            assumed,
        };
        if found.is_empty() {
            findings.push(Finding::new(Code::CarrierEmpty, "no payload: an empty message"));
        }
        let ty = self.inner_type(config, tunnel, inner, assumed, bytes);
        let before = findings.len();
        message::decode(schema, Some(ty), bytes, &config.limits, &mut self.inner, findings);
        let broken = findings[before..].iter().any(|f| f.severity == Severity::Error);
        if broken && !assumed {
            let text =
                format!("the payload does not decode as {}, which its stream says it is", schema.ty(ty).name);
            findings.push(Finding::new(Code::CarrierWrongType, text));
        }
        std::mem::swap(&mut self.tree, &mut self.inner);
        let bytes = bytes.to_vec();
        self.shown(config, job, ty, bytes, options, decoded, findings);
        if let [_, (second, other), ..] = found.as_slice() {
            self.compare(config, ty, *second, other, options, decoded, &mut carrier, findings);
        }
        decoded.carrier = Some(carrier);
        true
    }

    /// Both payload fields are set: the same meaning is no matter, another is shown beside the first.
    #[expect(clippy::too_many_arguments, reason = "the parts of one frame, each from another place")]
    fn compare(
        &mut self,
        config: &Config,
        ty: TypeId,
        second: Payload,
        other: &[u8],
        options: &JsonOptions<'_>,
        decoded: &Decoded,
        carrier: &mut Carrier,
        findings: &mut Vec<Finding>,
    ) {
        let mut json = Vec::new();
        message::decode(&config.schema, Some(ty), other, &config.limits, &mut self.inner, &mut Vec::new());
        message::json::write(&config.schema, &self.inner, other, options, &mut json, &mut Vec::new());
        let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
        if json == decoded.message || value(&json) == value(&decoded.message) {
            return;
        }
        let outer = config.schema.type_by_name(&carrier.message_type).map(|t| config.schema.ty(t));
        let name = outer.and_then(|t| t.field(second.field)).map_or("", |f| &f.name);
        let text = format!("{} and {name} carry different messages; both are shown", carrier.field);
        findings.push(Finding::new(Code::CarrierBothPayloads, text));
        let mut member = b"{\"field\":".to_vec();
        push_string(&mut member, name);
        member.extend_from_slice(b",\"message\":");
        member.extend_from_slice(&json);
        member.push(b'}');
        carrier.members.push(("other".to_owned(), member));
    }

    /// The type inside a tunnel: what a sibling says; else the default, or the one sibling type that fits
    /// where the default does not.
    fn inner_type(
        &mut self,
        config: &Config,
        tunnel: &crate::dialect::Tunnel,
        inner: TypeId,
        assumed: bool,
        bytes: &[u8],
    ) -> TypeId {
        if !assumed {
            return inner;
        }
        let mut fits = |ty: TypeId, strict: bool| {
            let mut findings = Vec::new();
            message::decode(&config.schema, Some(ty), bytes, &config.limits, &mut self.inner, &mut findings);
            // A type that knows none of the fields fits anything: another than the default has to know them all.
            let bad =
                |f: &Finding| f.severity == Severity::Error || strict && f.code == Code::ProtoUnknownField;
            !findings.iter().any(bad)
        };
        if fits(inner, false) {
            return inner;
        }
        tunnel.siblings.iter().map(|(_, ty)| *ty).find(|ty| fits(*ty, true)).unwrap_or(inner)
    }

    /// Ids of the call first, then those that the message holds.
    fn ids(&mut self, config: &Config, job: &Job, decoded: &mut Decoded) {
        let mut all = job.joined.ids.clone();
        if decoded.ty.is_some() {
            ids_of(config, &self.tree, &decoded.payload, &mut all);
        }
        for (namespace, value) in all {
            let Some(namespace) = config.plan.namespaces.get(usize::from(namespace)) else { continue };
            match decoded.ids.iter_mut().find(|(key, _)| *key == namespace.key) {
                Some((_, values)) if values.contains(&value) || values.len() >= MAX_IDS => {}
                Some((_, values)) => values.push(value),
                None => decoded.ids.push((namespace.key.clone(), vec![value])),
            }
        }
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

/// The bytes of a tunnel's payload; `None` where the field is not set or empty, an error where it is not in its encoding.
pub fn carried_bytes(tree: &Tree, wire: &[u8], payload: Payload) -> Option<Result<Vec<u8>, String>> {
    let value = last(tree, payload.field).map(|n| n.bytes(wire)).filter(|v| !v.is_empty())?;
    Some(match payload.encoding {
        PayloadEncoding::Raw => Ok(value.to_vec()),
        PayloadEncoding::Base64 => {
            base64_simd::forgiving_decode_to_vec(value).map_err(|_| "expected base64".to_owned())
        }
        PayloadEncoding::Hex => {
            let digits = value.strip_prefix(b"0x").or_else(|| value.strip_prefix(b"0X")).unwrap_or(value);
            hex_simd::decode_to_vec(digits).map_err(|_| {
                match digits.iter().position(|b| !b.is_ascii_hexdigit()) {
                    Some(at) => format!("not a hex digit at position {}", at + 1),
                    None => format!("odd number of hex digits ({})", digits.len()),
                }
            })
        }
    })
}

/// The last node of one of the root's fields.
fn last(tree: &Tree, field: u16) -> Option<&message::Node> {
    tree.children(Tree::ROOT).filter(|(_, n)| n.field == field).last().map(|(_, n)| n)
}

/// Appends the ids of a message, owned.
pub fn ids_of(config: &Config, tree: &Tree, payload: &[u8], out: &mut Vec<Id>) {
    let mut found = Vec::new();
    message::ids(&config.schema, tree, payload, &mut found);
    for id in found {
        let counts_absent =
            config.plan.namespaces.get(usize::from(id.namespace)).is_some_and(|n| n.default_zero);
        if id.absent && !counts_absent {
            continue;
        }
        let value = match id.value {
            message::IdValue::Text(text) => IdValue::Str(text.to_owned()),
            message::IdValue::Number(number) => IdValue::Uint(number),
            message::IdValue::Bytes(bytes) => IdValue::Str(hex(bytes)),
        };
        out.push((id.namespace, value));
    }
}

/// The outer message's order and joining id, as JSON values.
fn members(
    config: &Config,
    tree: &Tree,
    wire: &[u8],
    tunnel: &crate::dialect::Tunnel,
) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let outer = config.schema.ty(tunnel.carrier);
    if let Some((order, field)) = tunnel.order.and_then(|o| Some((o, outer.field(o)?))) {
        let number = last(tree, order).map(|n| n.bits).unwrap_or(0);
        out.push((field.name.to_string(), (number as i64).to_string().into_bytes()));
    }
    let mut ids = Vec::new();
    ids_of(config, tree, wire, &mut ids);
    if let Some((namespace, value)) = ids.into_iter().find(|(n, _)| Some(*n) == tunnel.namespace)
        && let Some(namespace) = config.plan.namespaces.get(usize::from(namespace))
    {
        let mut text = Vec::new();
        match value {
            IdValue::Str(value) => push_string(&mut text, &value),
            IdValue::Uint(value) => text.extend_from_slice(value.to_string().as_bytes()),
        }
        out.push((namespace.key.to_string(), text));
    }
    out
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
