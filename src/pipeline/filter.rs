//! A frame as the display filter sees it.
//! Never sees more than the record shows: what is hidden is hidden from filters too.

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::base::secret::Rules;
use crate::dialect::{Plan, Unit};
use crate::pdu::{Frame, Head, Role, Side, Start};
use crate::query::{self, Field, Filter, Group, Meta, Names, Record, Stage, Value};
use crate::schema::{Schema, TypeId};
use crate::view::redact::{header_value, host, url};
use crate::view::{Decoded, IdValue, Item, jsonl};

use super::{Config, Job};

/// The display filter of a text: names are those of the schema and of the dialect. `whole`: it is for whole
/// captures, where `findings` are those of the run too.
pub fn display_filter(text: &str, schema: &Schema, plan: &Plan, whole: bool) -> Result<Filter, query::Error> {
    let ids: Vec<&str> = plan.namespaces.iter().map(|n| &*n.key).collect();
    let mut carrier = ids.clone();
    carrier.push("other");
    for tunnel in &plan.tunnels {
        let order = tunnel.order.and_then(|place| schema.ty(tunnel.carrier).field(place));
        carrier.extend(order.map(|f| &*f.name));
    }
    let pairs: Vec<&str> = plan.lifelines.iter().map(|l| &*l.name).collect();
    let counted = plan.measures.iter().filter(|m| m.unit == Unit::Tokens);
    let tokens: Vec<&str> = counted.map(|m| &*m.name).collect();
    Filter::new(text, Names { schema, ids: &ids, carrier: &carrier, pairs: &pairs, tokens: &tokens, whole })
}

/// A frame, and what is known of it by now.
pub struct Seen<'a> {
    number: u64,
    capture: &'a str,
    frame: &'a Frame,
    decoded: &'a Decoded,
    hides: Option<&'a Rules>,
    /// The message in canonical form, where `decoded` has it in another.
    canonical: Option<&'a [u8]>,
    message: OnceCell<Option<Json>>,
}

impl<'a> Seen<'a> {
    /// A frame to be shown; `canonical` is its message as ProtoJSON with the names of the .proto, where
    /// `item` was written in another form.
    pub fn new(item: &Item<'a>, canonical: Option<&'a [u8]>) -> Self {
        Self {
            number: item.number,
            capture: item.capture,
            frame: item.frame,
            decoded: item.decoded,
            hides: item.hides(),
            canonical,
            message: OnceCell::new(),
        }
    }

    fn head(&self) -> Option<&'a Head> {
        let lane = &self.frame.lane;
        let head = if lane.side == Side::Request { &lane.request } else { &lane.response };
        head.as_deref().filter(|_| self.frame.index == 0)
    }

    fn meta(&self, meta: Meta, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let (lane, decoded) = (&self.frame.lane, self.decoded);
        let mut text = |text: Option<&str>| {
            text.map(|t| visit(Value::Text(t)));
        };
        match meta {
            Meta::Capture => text(Some(self.capture)),
            Meta::Conn => text(lane.conn.as_ref().map(|c| c.label.as_str())),
            Meta::Rpc => text(lane.rpc.as_deref()),
            Meta::Direction => text(Some(lane.side.name())),
            Meta::Protocol => text(Some(lane.protocol.name())),
            Meta::Kind => text(decoded.kind.as_deref()),
            Meta::MessageType => text(decoded.message_type.as_deref()),
            Meta::CarrierType => text(decoded.carrier.as_ref().map(|c| &*c.message_type)),
            Meta::CarrierField => text(decoded.carrier.as_ref().map(|c| &*c.field)),
            Meta::CarrierEncoding => text(decoded.carrier.as_ref().map(|c| c.encoding)),
            Meta::HttpVersion => text(self.head().map(|h| h.version)),
            Meta::HttpMethod | Meta::HttpHost | Meta::HttpPath => {
                let Some(Start::Request { method, scheme: _, authority, path }) =
                    self.head().map(|h| &h.start)
                else {
                    return;
                };
                match meta {
                    Meta::HttpMethod => text(method.as_deref()),
                    Meta::HttpHost => {
                        text(authority.as_deref().map(|a| host(a, self.hides.is_none())).as_deref())
                    }
                    _ => text(path.as_deref().map(|p| url(self.hides, p)).as_deref()),
                }
            }
            Meta::FindingCode => {
                let _ = decoded.findings.iter().all(|f| visit(Value::Text(f.code.name())));
            }
            Meta::FindingSeverity => {
                let _ = decoded.findings.iter().all(|f| visit(Value::Text(f.severity.name())));
            }
            Meta::FindingText => {
                let _ = decoded.findings.iter().all(|f| visit(Value::Text(&f.text)));
            }
            Meta::FindingPath => {
                let _ =
                    decoded.findings.iter().filter_map(|f| f.path.as_deref()).all(|p| visit(Value::Text(p)));
            }
            Meta::FindingOffset => {
                let mut spans = decoded.findings.iter().filter_map(|f| f.span);
                let _ = spans.all(|s| visit(Value::Int(i128::from(s.start))));
            }
            Meta::FindingIn => {
                let mut spans = decoded.findings.iter().filter_map(|f| f.span);
                let _ = spans
                    .all(|s| crate::view::jsonl::space_name(s.space).is_none_or(|n| visit(Value::Text(n))));
            }
            meta => {
                if let Some(value) = self.scalar(meta) {
                    visit(value);
                }
            }
        }
    }

    /// Fields that are no text.
    fn scalar(&self, meta: Meta) -> Option<Value<'static>> {
        let (frame, lane, decoded) = (self.frame, &self.frame.lane, self.decoded);
        let int = |n: u64| Some(Value::Int(i128::from(n)));
        match meta {
            Meta::Frame => int(self.number),
            Meta::Ts => frame.time.map(|t| Value::Nanos(i128::from(t.0))),
            Meta::Stream => lane.stream.and_then(|s| int(u64::from(s))),
            Meta::Call => int(lane.call),
            Meta::Offset => int(frame.offset),
            Meta::At => frame.at.and_then(int),
            Meta::Flags => frame.flags.and_then(|f| int(u64::from(f))),
            Meta::Length => int(decoded.wire_length.unwrap_or(frame.length)),
            Meta::JsonLength => decoded.wire_length.and(int(frame.length)),
            Meta::Compressed => Some(Value::Bool(frame.compressed)),
            Meta::EndStream => Some(Value::Bool(matches!(frame.role, Role::EndStream))),
            Meta::CarrierAssumed => decoded.carrier.as_ref().filter(|c| c.assumed).map(|_| Value::Bool(true)),
            Meta::HttpStatus => match self.head()?.start {
                Start::Response { status } => int(u64::from(status?)),
                Start::Request { .. } => None,
            },
            _ => None,
        }
    }

    fn ids(&self, name: Option<&str>, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let wanted = self.decoded.ids.iter().filter(|(key, _)| name.is_none_or(|n| **key == *n));
        let _ = wanted.flat_map(|(_, values)| values).all(|value| {
            visit(match value {
                IdValue::Str(text) => Value::Text(text),
                IdValue::Uint(number) => Value::Int(i128::from(*number)),
            })
        });
    }

    fn carrier(&self, name: Option<&str>, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let Some(carrier) = &self.decoded.carrier else { return };
        let mut object = b"{".to_vec();
        jsonl::push_outer(&mut object, carrier);
        object.push(b'}');
        let Ok(members) = serde_json::from_slice::<serde_json::Map<String, Json>>(&object) else { return };
        for (key, value) in members.iter().filter(|(key, _)| name.is_none_or(|n| *key == n)) {
            let go = match value {
                Json::String(text) => visit(Value::Text(text)),
                Json::Number(n) => n
                    .as_i64()
                    .map(i128::from)
                    .or(n.as_u64().map(i128::from))
                    .is_none_or(|n| visit(Value::Int(n))),
                Json::Bool(b) => visit(Value::Bool(*b)),
                _ => visit(Value::Text(key)),
            };
            if !go {
                return;
            }
        }
    }

    fn headers(&self, name: Option<&str>, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        let Some(head) = self.head() else { return };
        let wanted =
            head.headers.fields.iter().filter(|h| name.is_none_or(|n| h.name.eq_ignore_ascii_case(n)));
        let mut values = wanted.map(|h| header_value(self.hides, &h.name, &h.value));
        let _ = values.all(|value| visit(Value::Text(&value)));
    }
}

impl Record for Seen<'_> {
    fn values(&self, field: &Field, visit: &mut dyn FnMut(Value<'_>) -> bool) {
        match field {
            Field::Meta(meta) => self.meta(*meta, visit),
            Field::Member(Group::Ids, name) => self.ids(name.as_deref(), visit),
            Field::Member(Group::Carrier, name) => self.carrier(name.as_deref(), visit),
            Field::Member(Group::Headers, name) => self.headers(name.as_deref(), visit),
            // Known only when the whole capture has been read.
            Field::Member(Group::Tokens, _) => {}
        }
    }

    fn message(&self) -> Option<(Option<TypeId>, &Json)> {
        let parsed = self.message.get_or_init(|| {
            let text = self.canonical.unwrap_or(&self.decoded.message);
            serde_json::from_slice(text).ok()
        });
        parsed.as_ref().filter(|json| !json.is_null()).map(|json| (self.decoded.ty, json))
    }
}

/// What a filter says of a frame, from what is known of it at a stage.
pub(super) fn decide(
    config: &Config,
    filter: &Filter,
    job: &Job,
    decoded: &Decoded,
    stage: Stage,
) -> Option<bool> {
    filter.decide(&config.schema, &Seen::new(&job.item(config, decoded), None), stage)
}
