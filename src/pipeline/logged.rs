//! Messages that a log gives one by one, as frames.
//! Never asks what program wrote the log: members are matched to fields by the schema.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::pdu::{Codec, Frame, Lane, Protocol, Role, Side};
use crate::schema::{Kind, TypeId};
use crate::source::{Logged, LoggedBody};

use super::Config;

/// Calls that records of a log belong to.
#[derive(Default)]
pub struct LoggedCalls {
    /// By connection, stream, RPC and ids: call number; by side: frames so far and body offset.
    calls: HashMap<CallKey, (u64, [(u32, u64); 2])>,
    /// By type: the only RPC that takes its messages.
    takers: HashMap<TypeId, Option<Arc<str>>>,
}

type CallKey = (Option<u32>, Option<u32>, Option<Arc<str>>, Vec<(String, String)>);

/// A frame of a log and the ids that the log gives beside it.
pub struct LoggedFrame {
    /// The frame.
    pub frame: Frame,
    /// Ids by name.
    pub ids: Vec<(String, String)>,
}

impl LoggedCalls {
    /// Gives the frames of a record to `out`, none where it holds no message. `next_call` gives a new call its number.
    pub fn frames(
        &mut self,
        config: &Config,
        mut logged: Logged,
        next_call: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(LoggedFrame),
    ) {
        match std::mem::take(&mut logged.body) {
            LoggedBody::None => {}
            LoggedBody::Named(members) => self.named(config, logged, members, next_call, out),
            body => self.one(config, logged, body, next_call).into_iter().for_each(out),
        }
    }

    /// Members under the names of message types. Where one is a carrier, the others repeat what it carries.
    fn named(
        &mut self,
        config: &Config,
        logged: Logged,
        members: Vec<(String, String)>,
        next_call: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(LoggedFrame),
    ) {
        let known = |(name, json): (String, String)| Some((config.schema.type_by_snake_name(&name)?, json));
        let mut known: SmallVec<[(TypeId, String); 4]> = members.into_iter().filter_map(known).collect();
        if known.iter().any(|(ty, _)| config.plan.tunnel(*ty).is_some()) {
            known.retain(|(ty, _)| config.plan.tunnel(*ty).is_some());
        }
        for (ty, json) in known {
            let mut one = logged.clone();
            one.message_type = Some(config.schema.ty(ty).name.clone());
            if let (None, Some(rpc)) = (&one.rpc, self.only_taker(config, ty)) {
                one.rpc = Some(rpc.clone());
                one.side = one.side.or(Some(Side::Request));
            }
            self.one(config, one, LoggedBody::Json(json), next_call).into_iter().for_each(&mut *out);
        }
    }

    /// The RPC that takes messages of a type, where it is the only one.
    fn only_taker(&mut self, config: &Config, ty: TypeId) -> Option<&Arc<str>> {
        let taker = self.takers.entry(ty).or_insert_with(|| {
            let mut takers = config.schema.methods().iter().filter(|m| m.input == ty);
            takers.next().filter(|_| takers.next().is_none()).map(|method| method.name.clone())
        });
        taker.as_ref()
    }

    fn one(
        &mut self,
        config: &Config,
        logged: Logged,
        body: LoggedBody,
        next_call: &mut dyn FnMut() -> u64,
    ) -> Option<LoggedFrame> {
        let side = logged.side.unwrap_or(Side::Response);
        let method = logged.rpc.as_deref().and_then(|rpc| config.schema.method(rpc));
        let by_method = method.map(|m| if side == Side::Request { m.input } else { m.output });
        let ty = logged.message_type.as_deref().and_then(|n| config.schema.type_by_name(n)).or(by_method);
        let (payload, decoded) = match body {
            LoggedBody::Payload(bytes) => (bytes, false),
            LoggedBody::Json(text) => (Bytes::from(text), true),
            LoggedBody::Fields(text) => (fields(config, ty?, &text, &logged.ids)?, true),
            LoggedBody::Named(_) | LoggedBody::None => return None,
        };
        // A unary call is one message each way: two records of one side are two calls.
        let unary = method.is_some_and(|m| !m.client_streaming && !m.server_streaming);
        let key = (logged.conn.as_ref().map(|c| c.id), logged.stream, logged.rpc.clone(), logged.ids.clone());
        let length = logged.length.unwrap_or(payload.len() as u64);
        let next = |(index, offset): (u32, u64)| {
            (index.saturating_add(1), offset.saturating_add(length).saturating_add(5))
        };
        let full = self.calls.len() >= config.limits.max_calls;
        let (call, (index, offset)) = match self.calls.get_mut(&key) {
            Some((call, sides)) => {
                if unary && sides[side as usize].0 > 0 {
                    (*call, *sides) = (next_call(), [(0, 0); 2]);
                }
                let place = sides[side as usize];
                sides[side as usize] = next(place);
                (*call, place)
            }
            None => {
                let (call, mut sides) = (next_call(), [(0, 0); 2]);
                sides[side as usize] = next((0, 0));
                if !full {
                    self.calls.insert(key, (call, sides));
                }
                (call, (0, 0))
            }
        };
        let flags = logged.flags;
        let ends = logged.end_stream || flags.is_some_and(|f| f & 0x02 != 0);
        let lane = Lane {
            call,
            conn: logged.conn,
            stream: logged.stream,
            side,
            rpc: logged.rpc,
            protocol: if flags.is_some() { Protocol::ConnectStream } else { Protocol::Bare },
            codec: if decoded { Codec::Json } else { Codec::Proto },
            encoding: logged.encoding,
            message_type: logged.message_type.filter(|_| ty.is_some()),
            request: logged.headers.clone().filter(|_| side == Side::Request),
            response: logged.headers.filter(|_| side == Side::Response),
        };
        let frame = Frame {
            lane: Arc::new(lane),
            index,
            time: logged.time,
            offset,
            at: logged.at,
            flags,
            length,
            role: if ends {
                Role::EndStream
            } else if decoded {
                Role::Decoded
            } else {
                Role::Message
            },
            compressed: !decoded && flags.is_some_and(|f| f & 0x01 != 0),
            whole: payload.len() as u64 >= length || decoded,
            payload,
            findings: Vec::new(),
        };
        Some(LoggedFrame { frame, ids: logged.ids })
    }
}

/// A message from members of a record: those named as a field, or as a field with its encoding
/// (`data_hex`); a text where the field is a message is that message's only field.
fn fields(config: &Config, ty: TypeId, text: &str, ids: &[(String, String)]) -> Option<Bytes> {
    let plan = config.schema.ty(ty);
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(text) else { return None };
    let given = ids.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
    let mut out = Map::new();
    for (name, value) in members.into_iter().chain(given) {
        let bare = name.strip_suffix("_hex").or_else(|| name.strip_suffix("Hex")).unwrap_or(&name);
        let by = |n: &str| plan.field_by_name(n).or_else(|| plan.field_by_json_name(n));
        let Some(field) = by(&name).or_else(|| by(bare)).and_then(|i| plan.field(i)) else { continue };
        let value = match (field.kind, value) {
            (Kind::Message(inner), value @ Value::String(_)) => {
                let inner = config.schema.ty(inner);
                let [only] = inner.fields.as_slice() else { continue };
                Value::Object(Map::from_iter([(only.name.to_string(), value)]))
            }
            (_, value) => value,
        };
        out.entry(field.name.to_string()).or_insert(value);
    }
    (!out.is_empty()).then(|| Bytes::from(Value::Object(out).to_string()))
}
