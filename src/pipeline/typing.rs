//! Which type a frame's message has.
//! Never decodes more than it must to tell.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::base::{Code, Finding, Limits, Severity};
use crate::message::{self, Tree};
use crate::pdu::{Codec, Frame, Lane, Protocol, Role, Side};
use crate::schema::{Method, Schema, TypeId};

use super::Config;

/// The type of a frame, and how it was found.
#[derive(Clone, Default, Debug)]
pub struct Typed {
    /// The type; `None` is decoded by number.
    pub ty: Option<TypeId>,
    /// The RPC, where trial found it rather than the capture.
    pub rpc: Option<Arc<str>>,
    /// What to say about it.
    pub finding: Option<Box<Finding>>,
}

/// What trial remembers of calls whose path is not in the capture.
#[derive(Default)]
pub struct Typer {
    /// By call: the methods that still fit all that was seen.
    open: HashMap<u64, Vec<u32>>,
    /// How often each method was named or found, to choose between equals.
    seen: HashMap<Arc<str>, u32>,
    /// The lane that came last, with the type that it names itself.
    last: Option<(Arc<Lane>, Option<TypeId>)>,
    /// The name of a type that a capture gave last, and the type: such names are mostly shared.
    last_named: Option<(Arc<str>, TypeId)>,
}

impl Typer {
    /// The type of a frame's message. `payload` undoes the frame's encoding, for trial only.
    pub fn resolve(&mut self, config: &Config, frame: &Frame, payload: &mut dyn FnMut() -> Bytes) -> Typed {
        if !matches!(frame.role, Role::Message | Role::Decoded) {
            return Typed { rpc: self.found(config, &frame.lane), ..Typed::default() };
        }
        if frame.index > 0
            && let Some((lane, ty @ Some(_))) = &self.last
            && Arc::ptr_eq(lane, &frame.lane)
        {
            return Typed { ty: *ty, ..Typed::default() };
        }
        let named = self.named(config, frame);
        self.last = Some((frame.lane.clone(), named));
        if named.is_some() {
            return Typed { ty: named, ..Typed::default() };
        }
        let (schema, lane) = (&config.schema, &*frame.lane);
        if lane.rpc.is_none() && frame.role == Role::Decoded {
            return by_members(schema, &frame.payload);
        }
        if lane.rpc.is_some() || lane.protocol == Protocol::Bare || lane.codec == Codec::Other || !frame.whole
        {
            return Typed::default();
        }
        let payload = payload();
        if payload.is_empty() && !self.open.contains_key(&lane.call) {
            return Typed::default();
        }
        let typed = self.try_methods(schema, &config.limits, lane, &payload);
        if typed.rpc.is_some() || frame.index > 0 {
            return typed;
        }
        let (code, what) = match &lane.request {
            Some(_) => (Code::NetHpackLost, "the call's path was sent before the capture can tell"),
            None => (Code::NetGap, "the request's head is not in the capture"),
        };
        let text = format!("{what}, and no type of the schema fits");
        Typed { finding: Some(Finding::new(code, text).into()), ..typed }
    }

    /// The type that the capture or the operator names.
    fn named(&mut self, config: &Config, frame: &Frame) -> Option<TypeId> {
        let (schema, lane) = (&config.schema, &*frame.lane);
        if let Some(name) = &lane.message_type {
            if let Some((known, ty)) = &self.last_named
                && Arc::ptr_eq(known, name)
            {
                return Some(*ty);
            }
            if let Some(ty) = schema.type_by_name(name) {
                self.last_named = Some((name.clone(), ty));
                return Some(ty);
            }
        }
        if let Some(rpc) = lane.rpc.as_deref() {
            if let Some((request, response)) = config.map.get(rpc) {
                return Some(if lane.side == Side::Request { *request } else { *response });
            }
            if let Some(method) = schema.method(rpc) {
                if frame.index == 0 {
                    let count = self.seen.entry(method.name.clone()).or_default();
                    *count = count.saturating_add(1);
                }
                return Some(side_type(method, lane.side));
            }
        }
        config.as_type
    }

    /// What trial found the call to be.
    fn found(&self, config: &Config, lane: &Lane) -> Option<Arc<str>> {
        let first = self.open.get(&lane.call).filter(|_| lane.rpc.is_none())?.first()?;
        config.schema.methods().get(*first as usize).map(|method| method.name.clone())
    }

    /// Tries the methods of the schema: one whose type decodes the payload without damage and without
    /// unknown fields may be it. What fits is kept for the call, so that later frames and the other
    /// side narrow it down.
    fn try_methods(&mut self, schema: &Schema, limits: &Limits, lane: &Lane, payload: &[u8]) -> Typed {
        let known = self.open.get(&lane.call);
        let candidates: Vec<u32> = match known {
            Some(methods) => methods.clone(),
            None => (0..schema.methods().len() as u32).collect(),
        };
        let mut verdicts: HashMap<TypeId, Option<usize>> = HashMap::new();
        let mut tree = Tree::default();
        let mut fitting: Vec<(u32, usize)> = Vec::new();
        for &at in &candidates {
            let Some(method) = schema.methods().get(at as usize) else { continue };
            let ty = side_type(method, lane.side);
            let verdict = verdicts.entry(ty).or_insert_with(|| match lane.codec {
                Codec::Json => fit_json(schema, ty, payload, limits, &mut tree),
                _ => fit(schema, ty, payload, limits, &mut tree),
            });
            if let Some(fields) = *verdict {
                fitting.push((at, fields));
            }
        }
        let streaming = lane.protocol != Protocol::ConnectUnary;
        let best = fitting.iter().copied().max_by_key(|&(at, fields)| {
            let method = &schema.methods()[at as usize];
            let streams = method.client_streaming || method.server_streaming;
            let seen = self.seen.get(&method.name).copied().unwrap_or(0);
            // A client that streams is rarer than one that asks once: not taken without its messages.
            let plain = lane.side == Side::Request || !method.client_streaming;
            (fields, seen, streams == streaming, plain, u32::MAX - at)
        });
        let Some((at, _)) = best else {
            // A frame that fits nothing says nothing about the call: keep what is known.
            let ty =
                known.and_then(|k| k.first()).map(|at| side_type(&schema.methods()[*at as usize], lane.side));
            return Typed { ty, ..Typed::default() };
        };
        let method = &schema.methods()[at as usize];
        let mut kept: Vec<u32> = fitting.iter().map(|(at, _)| *at).filter(|other| *other != at).collect();
        kept.insert(0, at);
        if self.open.len() < limits.max_calls {
            self.open.insert(lane.call, kept);
        }
        let text =
            format!("the call's path is not in the capture: taken as {}, whose type fits", method.name);
        Typed {
            ty: Some(side_type(method, lane.side)),
            rpc: Some(method.name.clone()),
            finding: Some(Finding::new(Code::ProtoAmbiguous, text).into()),
        }
    }
}

/// Whether a payload is ProtoJSON. A content-type that names no codec means protobuf, yet some send
/// JSON under it; no protobuf message is a JSON object.
pub fn is_json(frame: &Frame, payload: &[u8]) -> bool {
    let is_object = || {
        let looks = payload.starts_with(b"{") && payload.trim_ascii_end().ends_with(b"}");
        looks && serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_ok()
    };
    frame.role == Role::Decoded
        || frame.lane.codec == Codec::Json
        || frame.lane.codec == Codec::Proto && is_object()
}

/// The type of a message in JSON that nothing names: the only one among those that methods send
/// which has all of its members, one of them the branch of a oneof.
fn by_members(schema: &Schema, payload: &[u8]) -> Typed {
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(payload) else {
        return Typed::default();
    };
    let fits = |ty: TypeId| {
        let plan = schema.ty(ty);
        let field = |key: &String| plan.field_by_name(key).or_else(|| plan.field_by_json_name(key));
        let is_branch =
            |key: &String| field(key).and_then(|i| plan.field(i)).is_some_and(|f| f.oneof.is_some());
        members.keys().all(|key| field(key).is_some()) && members.keys().any(is_branch)
    };
    let types = schema.methods().iter().flat_map(|m| [m.input, m.output]);
    let mut found: Vec<TypeId> = types.filter(|ty| fits(*ty)).collect();
    found.sort_unstable_by_key(|ty| ty.0);
    found.dedup();
    let [ty] = found.as_slice() else { return Typed::default() };
    let text =
        format!("nothing names the message's type: taken as {}, which has its members", schema.ty(*ty).name);
    Typed { ty: Some(*ty), rpc: None, finding: Some(Finding::new(Code::ProtoAmbiguous, text).into()) }
}

fn side_type(method: &Method, side: Side) -> TypeId {
    match side {
        Side::Request => method.input,
        Side::Response => method.output,
    }
}

/// How many fields of a type a payload sets, if it decodes without damage, without unknown fields and sets one.
fn fit(schema: &Schema, ty: TypeId, payload: &[u8], limits: &Limits, tree: &mut Tree) -> Option<usize> {
    let mut findings = Vec::new();
    message::decode(schema, Some(ty), payload, limits, tree, &mut findings);
    let bad = |f: &Finding| {
        f.severity >= Severity::Warning || matches!(f.code, Code::ProtoUnknownField | Code::ProtoUnknownEnum)
    };
    let fields = tree.nodes.len();
    (!findings.iter().any(bad) && (fields > 0 || payload.is_empty())).then_some(fields)
}

/// The same for a payload in JSON.
fn fit_json(schema: &Schema, ty: TypeId, payload: &[u8], limits: &Limits, tree: &mut Tree) -> Option<usize> {
    let text = std::str::from_utf8(payload).ok()?;
    let mut wire = Vec::new();
    let errors = message::json_in::encode(schema, ty, text, Default::default(), &mut wire);
    errors.is_empty().then(|| fit(schema, ty, &wire, limits, tree)).flatten()
}
