//! A message carried in a field of another: opened, decoded as what its sibling stream says it is.
//! Never drops what cannot be opened: the outer message is shown then.

use bytes::Bytes;
use smallvec::SmallVec;

use crate::base::json::push_string;
use crate::base::{Code, Finding, Severity};
use crate::dialect::{Payload, PayloadEncoding, Tunnel};
use crate::message::{self, JsonOptions, Node, NodeKind, Tree};
use crate::query::Stage;
use crate::schema::{Kind, TypeId};
use crate::session::digest;
use crate::view::{Carrier, Decoded};

use super::super::joins::Id;
use super::super::{Config, Job, filter};
use super::Worker;
use super::ids::{counts_absent, owned};

impl Worker {
    /// Opens a regular message that a regular message carries, without a tree of either; false where it takes one.
    pub(super) fn tunnel_regular(
        &mut self,
        config: &Config,
        job: &Job,
        wire: &[u8],
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
    ) -> bool {
        let (Some(found), Some((number, inner, assumed))) = (&job.joined.outer, job.joined.inner) else {
            return false;
        };
        let tunnel = config.plan.tunnels.get(usize::from(number));
        let Some((tunnel, payload)) = tunnel.and_then(|t| Some((t, t.payloads.get(found.payload)?))) else {
            return false;
        };
        let (from, to) = found.at;
        let Some(text) = wire.get(from..to) else { return false };
        let Ok(bytes) = opened(text, payload.encoding) else { return false };
        if !self.carried_fast(config, job, inner, &bytes, options, decoded) {
            return false;
        }
        let carrier = carrier_of(config, tunnel, Some(payload), found.order, found.id.as_ref());
        decoded.carrier = Some(Carrier { assumed, ..carrier });
        decoded.payload = bytes.into();
        true
    }

    /// Opens a carried message; false where the outer message is to be shown instead.
    #[expect(clippy::too_many_arguments, reason = "the parts of one frame, each from another place")]
    pub(super) fn tunnel(
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
        // Only who correlates asks for it, and then there are no tables.
        self.carried = match self.tables {
            Some(_) => None,
            None => digest::carried(schema, &config.plan, &self.tree),
        };
        let outer = schema.ty(tunnel.carrier);
        let mut found: SmallVec<[(Payload, Vec<u8>); 2]> = SmallVec::new();
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
        let (used, bytes) = found.first().map_or((None, &[][..]), |(p, b)| (Some(p), b.as_slice()));
        let mut carrier = Carrier { assumed, ..self.carrier(config, tunnel, used, wire) };
        if found.is_empty() {
            findings.push(Finding::new(Code::CarrierEmpty, "no payload: an empty message"));
        }
        if found.len() < 2 && self.carried_fast(config, job, inner, bytes, options, decoded) {
            decoded.payload = found.pop().map(|(_, bytes)| bytes.into()).unwrap_or_default();
            decoded.carrier = Some(carrier);
            return true;
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
        let bytes = Bytes::copy_from_slice(bytes);
        self.shown(config, job, ty, bytes, options, decoded, findings);
        if let [_, (second, other), ..] = found.as_slice() {
            self.compare(config, ty, *second, other, options, decoded, &mut carrier, findings);
        }
        decoded.carrier = Some(carrier);
        true
    }

    /// See [`carrier_of`]; of the tree.
    fn carrier(&self, config: &Config, tunnel: &Tunnel, used: Option<&Payload>, wire: &[u8]) -> Carrier {
        let order = tunnel.order.and_then(|order| last(&self.tree, order)).map_or(0, |node| node.bits);
        let mut ids: SmallVec<[message::Id<'_>; 4]> = SmallVec::new();
        message::ids(&config.schema, &self.tree, wire, &mut ids);
        let joins = |id: &message::Id<'_>| {
            Some(id.namespace) == tunnel.namespace && (!id.absent || counts_absent(config, id.namespace))
        };
        let id = ids.into_iter().find(joins).map(|id| (id.namespace, owned(id.value)));
        carrier_of(config, tunnel, used, order, id.as_ref())
    }

    /// Shows a regular message of the likeliest type; false where it is none. What is regular fits its type.
    fn carried_fast(
        &mut self,
        config: &Config,
        job: &Job,
        ty: TypeId,
        bytes: &[u8],
        options: &JsonOptions<'_>,
        decoded: &mut Decoded,
    ) -> bool {
        if !self.fast(config, ty, bytes, options, decoded) {
            return false;
        }
        if let Some(filter) = &config.filter {
            self.unwanted = filter::decide(config, filter, job, decoded, Stage::Kind) == Some(false);
        }
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
        let other = &mut carrier.other;
        other.extend_from_slice(b"{\"field\":");
        push_string(other, name);
        other.extend_from_slice(b",\"message\":");
        other.extend_from_slice(&json);
        other.push(b'}');
    }

    /// The type inside a tunnel: what a sibling says; else the default, or the one sibling type that fits
    /// where the default does not.
    fn inner_type(
        &mut self,
        config: &Config,
        tunnel: &Tunnel,
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
            // Nor may its texts be fields: a type that begins with a text takes many a message.
            let plan = config.schema.ty(ty);
            let is_odd = |node: &Node| {
                let content = bytes.get(node.start as usize..node.end as usize).unwrap_or_default();
                let is_string = plan.field(node.field).is_some_and(|f| f.kind == Kind::String);
                node.depth == 0 && is_string && message::guess(content, 0) != NodeKind::Text
            };
            !findings.iter().any(bad) && (!strict || !self.inner.nodes.iter().any(is_odd))
        };
        if fits(inner, false) {
            return inner;
        }
        tunnel.siblings.iter().map(|(_, ty)| *ty).find(|ty| fits(*ty, true)).unwrap_or(inner)
    }
}

/// The bytes of a tunnel's payload; `None` where the field is not set or empty, an error where it is not in its encoding.
pub fn carried_bytes(tree: &Tree, wire: &[u8], payload: Payload) -> Option<Result<Vec<u8>, String>> {
    let value = last(tree, payload.field).map(|n| n.bytes(wire)).filter(|v| !v.is_empty())?;
    Some(opened(value, payload.encoding))
}

/// What a payload's text stands for, or why it stands for nothing.
fn opened(value: &[u8], encoding: PayloadEncoding) -> Result<Vec<u8>, String> {
    match encoding {
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
    }
}

/// The last node of one of the root's fields.
fn last(tree: &Tree, field: u16) -> Option<&message::Node> {
    tree.children(Tree::ROOT).filter(|(_, n)| n.field == field).last().map(|(_, n)| n)
}

/// What a carrier says beside what it carries.
fn carrier_of(
    config: &Config,
    tunnel: &Tunnel,
    used: Option<&Payload>,
    order: u64,
    id: Option<&Id>,
) -> Carrier {
    let outer = config.schema.ty(tunnel.carrier);
    let name = |place: u16| outer.field(place).map(|field| field.name.clone());
    let encoding = used.or(tunnel.payloads.first()).map_or(PayloadEncoding::Raw, |p| p.encoding);
    let key = |namespace: u16| Some(config.plan.namespaces.get(usize::from(namespace))?.key.clone());
    Carrier {
        message_type: outer.name.clone(),
        field: used.and_then(|p| name(p.field)).unwrap_or_default(),
        encoding: encoding.name(),
        order: tunnel.order.and_then(|place| Some((name(place)?, order as i64))),
        id: id.and_then(|(namespace, value)| Some((key(*namespace)?, value.clone()))),
        other: Vec::new(),
        assumed: false,
    }
}
