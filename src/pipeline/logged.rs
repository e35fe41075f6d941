//! Messages that a log gives one by one, as frames.
//! Never asks what program wrote the log: members are matched to fields by the schema.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::pdu::{Codec, Frame, Lane, Protocol, Role, Side};
use crate::schema::{Kind, Method, TypeId};
use crate::source::{Logged, LoggedBody};

use super::Config;

/// Calls that records of a log belong to.
#[derive(Default)]
pub struct LoggedCalls {
    /// By connection, stream, RPC and ids: the place of a call.
    places: HashMap<CallKey, usize>,
    calls: Vec<Call>,
    /// The key that was asked for last: records of a call follow each other.
    last: Option<(CallKey, usize)>,
    /// What was found out of names: the records of a log have few.
    named: Vec<(Arc<str>, Option<Member>)>,
}

type CallKey = (Option<u32>, Option<u32>, Option<Arc<str>>, Vec<(String, String)>);

/// A call's number; by side: frames so far and body offset.
#[derive(Clone, Copy)]
struct Call {
    number: u64,
    sides: [(u32, u64); 2],
}

/// What the name of a message type in a record stands for.
#[derive(Clone)]
struct Member {
    ty: TypeId,
    name: Arc<str>,
    is_carrier: bool,
    /// The only RPC that takes its messages, and whether that is unary.
    taker: Option<(Arc<str>, bool)>,
}

/// Names whose meaning is kept, at most.
const MAX_NAMED: usize = 64;

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
            body => self.by_name(config, logged, body, next_call).into_iter().for_each(out),
        }
    }

    /// Members under the names of message types. Where one is a carrier, the others repeat what it carries.
    fn named(
        &mut self,
        config: &Config,
        logged: Logged,
        members: SmallVec<[(Arc<str>, Bytes); 1]>,
        next_call: &mut dyn FnMut() -> u64,
        out: &mut dyn FnMut(LoggedFrame),
    ) {
        let mut known: SmallVec<[(Member, Bytes); 1]> = SmallVec::new();
        for (name, json) in members {
            known.extend(self.member(config, &name).map(|member| (member, json)));
        }
        if known.iter().any(|(member, _)| member.is_carrier) {
            known.retain(|(member, _)| member.is_carrier);
        }
        let Some((last, json)) = known.pop() else { return };
        for (member, json) in known {
            out(self.of_type(config, logged.clone(), member, json, next_call));
        }
        out(self.of_type(config, logged, last, json, next_call));
    }

    /// What a name stands for; `None` where it is no type's, or that of several.
    fn member(&mut self, config: &Config, name: &Arc<str>) -> Option<Member> {
        if let Some((_, member)) = self.named.iter().find(|(known, _)| known == name) {
            return member.clone();
        }
        let schema = &config.schema;
        let member = schema.type_by_snake_name(name).map(|ty| {
            let mut takers = schema.methods().iter().filter(|m| m.input == ty);
            let taker = takers.next().filter(|_| takers.next().is_none());
            Member {
                ty,
                name: schema.ty(ty).name.clone(),
                is_carrier: config.plan.tunnel(ty).is_some(),
                taker: taker.map(|method| (method.name.clone(), is_unary(method))),
            }
        });
        if self.named.len() < MAX_NAMED {
            self.named.push((name.clone(), member.clone()));
        }
        member
    }

    fn of_type(
        &mut self,
        config: &Config,
        mut logged: Logged,
        member: Member,
        json: Bytes,
        next_call: &mut dyn FnMut() -> u64,
    ) -> LoggedFrame {
        logged.message_type = Some(member.name);
        let unary = match (&logged.rpc, member.taker) {
            (None, Some((rpc, unary))) => {
                logged.rpc = Some(rpc);
                logged.side = logged.side.or(Some(Side::Request));
                unary
            }
            (rpc, _) => rpc.as_deref().and_then(|rpc| config.schema.method(rpc)).is_some_and(is_unary),
        };
        self.one(config, logged, Some(member.ty), unary, (json, true), next_call)
    }

    /// A message whose type its record names, or its RPC.
    fn by_name(
        &mut self,
        config: &Config,
        logged: Logged,
        body: LoggedBody,
        next_call: &mut dyn FnMut() -> u64,
    ) -> Option<LoggedFrame> {
        let method = logged.rpc.as_deref().and_then(|rpc| config.schema.method(rpc));
        let by_method = method.map(|m| if logged.side == Some(Side::Request) { m.input } else { m.output });
        let ty = logged.message_type.as_deref().and_then(|n| config.schema.type_by_name(n)).or(by_method);
        let payload = match body {
            LoggedBody::Payload(bytes) => (bytes, false),
            LoggedBody::Json(text) => (Bytes::from(text), true),
            LoggedBody::Fields(text) => (fields(config, ty?, &text, &logged.ids)?, true),
            LoggedBody::Named(_) | LoggedBody::None => return None,
        };
        Some(self.one(config, logged, ty, method.is_some_and(is_unary), payload, next_call))
    }

    /// The frame of a record, whose message is decoded JSON or not.
    fn one(
        &mut self,
        config: &Config,
        logged: Logged,
        ty: Option<TypeId>,
        unary: bool,
        (payload, decoded): (Bytes, bool),
        next_call: &mut dyn FnMut() -> u64,
    ) -> LoggedFrame {
        let side = logged.side.unwrap_or(Side::Response);
        let length = logged.length.unwrap_or(payload.len() as u64);
        let mut made = Call { number: 0, sides: [(0, 0); 2] };
        let known = self.call(&logged, config.limits.max_calls);
        let call = known.unwrap_or(&mut made);
        // A unary call is one message each way: two records of one side are two calls.
        if call.number == 0 || unary && call.sides[side as usize].0 > 0 {
            *call = Call { number: next_call(), sides: [(0, 0); 2] };
        }
        let place = &mut call.sides[side as usize];
        let (index, offset) = *place;
        *place = (index.saturating_add(1), offset.saturating_add(length).saturating_add(5));
        let call = call.number;
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
        LoggedFrame { frame, ids: logged.ids }
    }

    /// The call of a record, its number 0 where it is new; `None` where it is new and there is no room for more.
    fn call(&mut self, logged: &Logged, most: usize) -> Option<&mut Call> {
        let conn = logged.conn.as_ref().map(|conn| conn.id);
        let is_last = |((known, stream, rpc, ids), _): &&(CallKey, usize)| {
            *known == conn && *stream == logged.stream && *rpc == logged.rpc && *ids == logged.ids
        };
        if let Some((_, place)) = self.last.as_ref().filter(is_last) {
            return self.calls.get_mut(*place);
        }
        let key: CallKey = (conn, logged.stream, logged.rpc.clone(), logged.ids.clone());
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if self.calls.len() >= most => return None,
            None => {
                self.calls.push(Call { number: 0, sides: [(0, 0); 2] });
                self.places.insert(key.clone(), self.calls.len() - 1);
                self.calls.len() - 1
            }
        };
        self.last = Some((key, place));
        self.calls.get_mut(place)
    }
}

fn is_unary(method: &Method) -> bool {
    !method.client_streaming && !method.server_streaming
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
