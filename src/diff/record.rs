//! One capture taken in: frames into runs and calls, what a run repeats and keeps alive with left out, pieces joined.
//! Never looks at another capture.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::base::Limits;
use crate::session::essence::{self, Essence, MARK, Piece};
use crate::session::{Id, Model};

use super::entry::{Entry, hash, is_ids_alone, unknown_by_number};
use super::ids::Table;
use super::join::{join, put_back};
use super::path::filter;
use super::untyped;
use super::{Group, Input, Lane, Options, Recording, Side};

/// A shorter id may be any word.
const TELLING: usize = 6;

/// A message, before its pieces are joined with those around it.
pub(super) struct Early {
    frame: u64,
    stage: Option<u32>,
    kind: Arc<str>,
    order: Option<i64>,
    /// Equal for messages that differ in their pieces alone.
    pub shape: u64,
    pub pieces: Vec<Piece>,
    /// JSON with marks.
    json: Box<[u8]>,
}

#[derive(Default)]
struct Building {
    id: Option<Id>,
    level: Option<String>,
    rpc: Option<String>,
    lanes: Vec<(Lane, Vec<Early>)>,
    /// How the run's stream, or the call, ended: frame, stage, what is compared.
    end: Option<(u64, Option<u32>, Value)>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Run(Id),
    Call(u64),
}

/// Takes in one capture.
pub struct Recorder<'a> {
    essence: &'a Essence<'a>,
    options: &'a Options,
    limits: &'a Limits,
    groups: Vec<Building>,
    keys: HashMap<Key, usize>,
    calls: HashMap<u64, usize>,
    kinds: HashSet<Arc<str>>,
    /// Ids seen, to be known again inside JSON.
    known: HashMap<Box<str>, u16>,
}

impl<'a> Recorder<'a> {
    /// A recorder under the rules of the dialects.
    pub fn new(essence: &'a Essence<'a>, options: &'a Options, limits: &'a Limits) -> Self {
        Self {
            essence,
            options,
            limits,
            groups: Vec::new(),
            keys: HashMap::new(),
            calls: HashMap::new(),
            kinds: HashSet::new(),
            known: HashMap::new(),
        }
    }

    /// Takes a frame.
    pub fn push(&mut self, input: &Input<'_>) {
        let number = self.group(input);
        if self.options.raw {
            let lane = Lane { rpc: None, side: input.side };
            let mut value = self.message(input);
            essence::escape(&mut value);
            unknown_by_number(&mut value);
            let value = self.as_bytes(input, value);
            let kind = self.intern(input.kind.unwrap_or_default());
            self.add(number, lane, input, kind, Vec::new(), value, None);
            return;
        }
        if input.rpc.is_some_and(|rpc| self.essence.is_pulse(rpc)) {
            return;
        }
        let is_run = self.groups.get(number).is_some_and(|g| g.id.is_some());
        let level = input.rpc.and_then(|rpc| self.essence.level_of(rpc));
        if let (Some(group), Some(level)) = (self.groups.get_mut(number), level) {
            group.level.get_or_insert_with(|| level.to_owned());
        }
        let carried = input.carried.is_some() && input.side == Side::Client;
        let own = !is_run || level.is_some() || carried || input.rpc.is_none();
        let lane = Lane { rpc: input.rpc.filter(|_| !own).map(str::to_owned), side: input.side };
        if let Some(status) = input.end {
            self.end(number, own, lane, input, end_of(status, input.message));
            return;
        }
        if own
            && input.whole
            && input.side == Side::Server
            && let Some(group) = self.groups.get_mut(number)
        {
            group.end.get_or_insert_with(|| (input.frame, input.stage, json!({"end": "ok"})));
        }
        if input.redundant {
            return;
        }
        let mut value = self.message(input);
        let marked = match input.ty {
            Some(ty) => self.essence.mark(ty, &mut value),
            None => {
                essence::escape(&mut value);
                Default::default()
            }
        };
        unknown_by_number(&mut value);
        self.learn(&value);
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        let reply = input.side == Side::Server && input.rpc.is_some_and(|rpc| self.essence.carries(rpc));
        // What only joins calls, or says that something carried has arrived, is transport.
        if reply && empty || is_run && marked.names_exchange && is_ids_alone(&value) {
            return;
        }
        let kind = self.intern(&marked.kind);
        let mut value = self.as_bytes(input, value);
        link(&mut value, false, &self.known);
        self.add(number, lane, input, kind, marked.pieces, value, input.carried.flatten());
    }

    /// A message with what can be said of its bytes, and of itself where it has no type.
    fn as_bytes(&self, input: &Input<'_>, mut value: Value) -> Value {
        untyped::open(self.essence.schema(), self.limits, !self.options.show_secrets, &mut value);
        let is_untyped = input.ty.is_none() && input.end.is_none() && value.is_object();
        if is_untyped { untyped::untyped(value) } else { value }
    }

    /// The message, what is hidden of it fit to be compared.
    fn message(&self, input: &Input<'_>) -> Value {
        let mut value = parse(input.message);
        if let Some(ty) = input.ty.filter(|_| !self.options.show_secrets) {
            super::secret::mark(self.essence.schema(), self.limits, ty, input.payload, &mut value);
        }
        value
    }

    fn learn(&mut self, value: &Value) {
        let mut ids = Vec::new();
        hash(value, &mut ids);
        for (namespace, id) in ids.into_iter().filter_map(super::ids::marked) {
            let telling = id.len() >= TELLING && id.bytes().any(|b| !b.is_ascii_digit());
            if telling && self.known.len() < self.limits.max_lives {
                self.known.entry(id.into()).or_insert(namespace);
            }
        }
    }

    fn group(&mut self, input: &Input<'_>) -> usize {
        if let Some(number) = self.calls.get(&input.call) {
            return *number;
        }
        let run = if self.options.raw { None } else { self.essence.run_of(input.ids) };
        let key = run.map_or(Key::Call(input.call), |id| Key::Run(id.clone()));
        let next = self.groups.len();
        let number = *self.keys.entry(key).or_insert(next);
        if number == next {
            let rpc = input.rpc.map(str::to_owned);
            self.groups.push(Building { id: run.cloned(), rpc, ..Building::default() });
        }
        self.calls.insert(input.call, number);
        number
    }

    fn intern(&mut self, kind: &str) -> Arc<str> {
        if let Some(known) = self.kinds.get(kind) {
            return known.clone();
        }
        let kind: Arc<str> = Arc::from(kind);
        self.kinds.insert(kind.clone());
        kind
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one entry")]
    fn add(
        &mut self,
        number: usize,
        lane: Lane,
        input: &Input<'_>,
        kind: Arc<str>,
        pieces: Vec<Piece>,
        value: Value,
        order: Option<i64>,
    ) {
        let mut ids = Vec::new();
        let shape = hash(&value, &mut ids);
        let shape = if pieces.is_empty() { 0 } else { hash_with(shape, &ids) };
        let json = serde_json::to_vec(&value).unwrap_or_default().into();
        let early = Early { frame: input.frame, stage: input.stage, kind, order, shape, pieces, json };
        let Some(group) = self.groups.get_mut(number) else { return };
        match group.lanes.iter_mut().find(|(known, _)| *known == lane) {
            Some((_, list)) => list.push(early),
            None => group.lanes.push((lane, vec![early])),
        }
    }

    /// An end: of a run or a call of its own it is kept; of a call beside a run only where it is an error.
    fn end(&mut self, number: usize, own: bool, lane: Lane, input: &Input<'_>, value: Value) {
        if own {
            if let Some(group) = self.groups.get_mut(number) {
                group.end = Some((input.frame, input.stage, value));
            }
        } else if value.get("end").is_some_and(|end| end.is_object()) {
            let kind = self.intern("end");
            self.add(number, lane, input, kind, Vec::new(), value, None);
        }
    }

    /// The capture is at its end. `model` is the timeline that stages are places in.
    pub fn finish(mut self, model: &Model) -> Recording {
        let end = self.intern("end");
        let mut ids = Table::default();
        let mut groups = Vec::new();
        for (number, building) in std::mem::take(&mut self.groups).into_iter().enumerate() {
            groups.push(self.group_of(number as u32, building, &end, &mut ids));
        }
        Recording { groups, ids, stages: stages(model, self.essence) }
    }

    fn group_of(&self, number: u32, building: Building, end: &Arc<str>, ids: &mut Table) -> Group {
        let Building { id, level, rpc, lanes: early, end: ended } = building;
        let mut lanes: Vec<(Lane, Vec<Entry>)> = Vec::new();
        for (lane, mut list) in early {
            // What overtook on its way stands where its sender put it.
            list.sort_by_key(|e| e.order.unwrap_or(i64::MIN));
            let list = join(list);
            let entries = list.into_iter().filter_map(|e| self.entry(number, e, ids)).collect();
            lanes.push((lane, entries));
        }
        if let Some((frame, stage, value)) = ended
            && let Some(value) = filter(value, &self.options.only, &self.options.ignore)
        {
            let entry = Entry::new(frame, stage, end.clone(), &value, number, ids);
            let lane = Lane { rpc: None, side: Side::Server };
            match lanes.iter_mut().find(|(known, _)| *known == lane) {
                Some((_, list)) => list.push(entry),
                None => lanes.push((lane, vec![entry])),
            }
        }
        lanes.sort_by(|a, b| a.0.cmp(&b.0));
        let run = level.is_some();
        let class = level.or(rpc).unwrap_or_else(|| "call".to_owned());
        Group { class, id: id.map(|(_, value)| value.to_string()), run, lanes }
    }

    fn entry(&self, number: u32, early: Early, ids: &mut Table) -> Option<Entry> {
        let mut value = parse(&early.json);
        if !early.pieces.is_empty() {
            let hides = (!self.options.show_secrets).then(|| self.essence.schema().secrets());
            put_back(&mut value, &early.pieces, hides);
            untyped::open(self.essence.schema(), self.limits, hides.is_some(), &mut value);
        }
        let value = filter(value, &self.options.only, &self.options.ignore)?;
        self.note_namespaces(&value, ids);
        Some(Entry::new(early.frame, early.stage, early.kind, &value, number, ids))
    }

    fn note_namespaces(&self, value: &Value, ids: &mut Table) {
        let mut marks = Vec::new();
        hash(value, &mut marks);
        for (namespace, _) in marks.into_iter().filter_map(super::ids::marked) {
            ids.namespace(namespace, || {
                let (key, within) = self.essence.namespace(namespace);
                (key.to_owned(), within)
            });
        }
    }
}

/// Marks what is an id inside opened JSON, and inside bytes that nothing names.
fn link(value: &mut Value, inside: bool, known: &HashMap<Box<str>, u16>) {
    match value {
        Value::String(text) if inside => {
            if let Some(namespace) = known.get(text.as_str()) {
                *text = format!("{MARK}i{namespace} {text}");
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|v| link(v, inside, known)),
        Value::Object(object) => {
            if let Some(id) = untyped::bytes(object).filter(|_| inside)
                && let Some(namespace) = known.get(id)
            {
                *value = Value::String(format!("{MARK}i{namespace} {id}"));
                return;
            }
            let free = untyped::is_free(object);
            for (key, value) in object.iter_mut() {
                link(value, inside || free && key.starts_with('$'), known);
            }
        }
        _ => {}
    }
}

/// Text that is no JSON stands for itself.
fn parse(message: &[u8]) -> Value {
    match serde_json::from_slice(message) {
        Ok(value) => value,
        Err(_) if message.is_empty() => Value::Null,
        Err(_) => Value::String(String::from_utf8_lossy(message).into_owned()),
    }
}

fn hash_with(shape: u64, ids: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (shape, ids).hash(&mut hasher);
    // 0 is what has no pieces.
    hasher.finish() | 1
}

/// An end in one form for every protocol.
fn end_of(status: &crate::session::Status, message: &[u8]) -> Value {
    let Some(code) = &status.code else { return json!({"end": "ok"}) };
    let mut end = serde_json::Map::new();
    end.insert("code".to_owned(), Value::from(&**code));
    if !status.message.is_empty() {
        end.insert("message".to_owned(), Value::from(&*status.message));
    }
    let message = parse(message);
    let details =
        [&message["error"]["details"], &message["details"], &message["grpc-status-details-bin"]["details"]];
    if let Some(Value::Array(details)) =
        details.into_iter().find(|d| d.as_array().is_some_and(|d| !d.is_empty()))
    {
        end.insert("details".to_owned(), details.iter().map(detail).collect());
    }
    json!({"end": end})
}

/// An error detail: its type, and its message where that is known, else its bytes.
fn detail(detail: &Value) -> Value {
    let mut out = serde_json::Map::new();
    let Some(object) = detail.as_object() else { return detail.clone() };
    let name = object.get("type").or(object.get("@type")).and_then(Value::as_str).unwrap_or_default();
    out.insert("type".to_owned(), Value::from(name.rsplit('/').next().unwrap_or_default()));
    match (object.get("decoded"), object.get("value")) {
        (Some(decoded), _) => {
            out.insert("decoded".to_owned(), decoded.clone());
        }
        (None, Some(Value::String(value))) if object.contains_key("type") || object.len() == 2 => {
            out.insert("value".to_owned(), Value::from(value.trim_end_matches('=')));
        }
        _ => {
            let rest = object.iter().filter(|(k, _)| *k != "@type" && *k != "type" && *k != "debug");
            out.insert("decoded".to_owned(), rest.map(|(k, v)| (k.clone(), v.clone())).collect());
        }
    }
    Value::Object(out)
}

/// Where each stage is, below its run: `turn 1 › step 2`.
fn stages(model: &Model, essence: &Essence<'_>) -> HashMap<u32, String> {
    let mut out: HashMap<u32, String> = HashMap::new();
    let mut counts: HashMap<(Option<u32>, u16), u32> = HashMap::new();
    for (number, stage) in model.stages.iter().enumerate() {
        let Some(name) = essence.stage_name(stage.level) else { continue };
        let count = counts.entry((stage.parent, stage.level)).or_default();
        *count += 1;
        let label = match stage.parent.and_then(|p| out.get(&p)) {
            Some(above) => format!("{above} › {name} {count}"),
            None => format!("{name} {count}"),
        };
        out.insert(number as u32, label);
    }
    out
}
