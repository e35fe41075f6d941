//! Calls that share an id: which ids a frame has from its call, and what a carried message is.
//! Never renders; looks only into the messages whose type can name a call.

mod outer;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::maps::NumberMap;
use crate::message::fast::{self, Outline, Tables};
use crate::message::{self, Tree};
use crate::pdu::{Frame, Lane, Side};
use crate::schema::TypeId;
use crate::view::IdValue;

pub use outer::Outer;

use super::Config;
use super::decode::{carried_bytes, counts_absent, ids_of, owned};

/// An id in its namespace.
pub type Id = (u16, IdValue);

/// What is known of a frame from other frames.
#[derive(Clone, Default, Debug)]
pub struct Joined {
    /// Ids of its call, shared by frames that follow each other.
    pub ids: Arc<[Id]>,
    /// Where the frame is a carrier: the number of its tunnel, the type inside, and whether that is
    /// the rule's default because no sibling has been seen.
    pub inner: Option<(u16, TypeId, bool)>,
    /// What a carrier holds, where it is regular and the run has a fast lane.
    pub outer: Option<Outer>,
}

/// Messages of a call that are looked into for an id that spreads, at most.
const LOOKS: u8 = 8;

/// What calls of one id have in common.
struct Channel {
    id: Id,
    /// By tunnel: what its sibling says is inside.
    inner: HashMap<u16, TypeId>,
    /// Ids that hold for all of it.
    spread: Vec<Id>,
    looks: u8,
}

/// Places of channels in [`Joins::channels`].
type Places = SmallVec<[u32; 2]>;

/// The state of a run.
#[derive(Default)]
pub struct Joins {
    /// The channels of a call.
    calls: NumberMap<u64, Places>,
    /// The calls in the order they came: the oldest is forgotten first.
    order: VecDeque<u64>,
    channels: Vec<Channel>,
    /// By id: the place of its channel.
    places: HashMap<Id, u32>,
    /// The channel that named a call last: the next call is likely to be of the same.
    named: Option<u32>,
    /// By type: whether it can hold an id which names a call.
    naming: Vec<bool>,
    /// The ids that the last frame's call had.
    last: (u64, Arc<[Id]>),
    /// The place of that call's channel, where it has one alone, and how many ids had spread.
    last_only: Option<(u32, u64)>,
    spreads: u64,
    /// Whether no id was added anywhere since.
    is_settled: bool,
    /// The lane of the last frame, whose siblings know what it is.
    told: Option<Arc<Lane>>,
    /// The last RPC that was found to be no tunnel's sibling.
    apart: Option<Arc<str>>,
    /// Namespaces that spread.
    spreading: Vec<u16>,
    /// Whether an id was left out for want of room, and whether that was said.
    full: (bool, bool),
    /// For regular messages, where the run has a fast lane.
    tables: Option<Arc<Tables>>,
    outline: Outline,
    tree: Tree,
}

impl Joins {
    /// What can be joined under a configuration.
    pub fn new(config: &Config, tables: Option<Arc<Tables>>) -> Self {
        let whole = |id: u16| config.plan.namespaces.get(usize::from(id)).is_some_and(|n| n.whole_exchange);
        let schema = &config.schema;
        let named = schema.annotated().filter(|(_, a)| a.id.is_some_and(whole)).map(|(field, _)| field.ty);
        let directly: HashSet<TypeId> = named.collect();
        let types = (0..schema.types().len() as u32).map(TypeId);
        let naming = types
            .map(|ty| directly.contains(&ty) || schema.held(ty).any(|inner| directly.contains(&inner)))
            .collect();
        let namespaces = config.plan.namespaces.iter().enumerate();
        let spreading = namespaces.filter(|(_, n)| n.spreads.is_some()).map(|(i, _)| i as u16).collect();
        Self { naming, spreading, tables, ..Self::default() }
    }

    /// Whether a frame has to be looked into: its type can name a call, or its call's channel
    /// still lacks an id that would spread.
    pub fn wants(&self, config: &Config, frame: &Frame, ty: Option<TypeId>) -> bool {
        let Some(ty) = ty else { return false };
        if config.plan.tunnel(ty).is_some() || self.naming.get(ty.0 as usize) == Some(&true) {
            return true;
        }
        frame.lane.side == Side::Request
            && !self.spreading.is_empty()
            && self.channels_of(frame.lane.call).any(|channel| self.looks_on(channel))
    }

    fn channels_of(&self, call: u64) -> impl Iterator<Item = &Channel> {
        let places = self.calls.get(&call).map_or(&[][..], SmallVec::as_slice);
        places.iter().filter_map(|place| self.channels.get(*place as usize))
    }

    fn looks_on(&self, channel: &Channel) -> bool {
        channel.looks < LOOKS && !self.spreading.iter().all(|n| channel.spread.iter().any(|(m, _)| m == n))
    }

    /// Takes a frame in. `payload` is its message with the frame's encoding undone, where
    /// [`Joins::wants`] asked for it; `logged` are ids that a log gives beside it.
    pub fn observe(
        &mut self,
        config: &Config,
        frame: &Frame,
        ty: Option<TypeId>,
        payload: Option<&[u8]>,
        logged: &[(String, String)],
    ) -> Joined {
        let call = frame.lane.call;
        self.named_by_headers(config, frame);
        for (key, value) in logged {
            if let Some(namespace) =
                config.plan.namespaces.iter().position(|n| &*n.key == key || &*n.name == key)
            {
                match config.plan.namespaces[namespace].whole_exchange {
                    true => {
                        self.name_call(config, call, namespace as u16, message::IdValue::Text(value));
                    }
                    false => self.spread(call, (namespace as u16, IdValue::Str(value.as_str().into()))),
                }
            }
        }
        let (inner, outer) = match (ty, payload) {
            (Some(ty), Some(payload)) => {
                let tunnel = config.plan.tunnels.iter().position(|t| t.carrier == ty).map(|n| n as u16);
                let (is_told, outer) = self.observe_regular(config, call, ty, tunnel, payload);
                if !is_told {
                    self.observe_any(config, call, ty, tunnel, payload);
                }
                (tunnel.map(|number| self.inside(config, call, number)), outer)
            }
            _ => (None, None),
        };
        // Where nothing was added since the frame before, what its lane is has been told.
        let is_told = self.is_settled && self.told.as_ref().is_some_and(|l| Arc::ptr_eq(l, &frame.lane));
        if !is_told && self.tell_siblings(config, frame) {
            self.told = Some(frame.lane.clone());
        }
        Joined { ids: self.ids_of_call(call), inner, outer }
    }

    /// Takes in a regular message by its outline alone: whether that tells all that is wanted of it, and what it holds
    /// where it is a carrier.
    fn observe_regular(
        &mut self,
        config: &Config,
        call: u64,
        ty: TypeId,
        tunnel: Option<u16>,
        payload: &[u8],
    ) -> (bool, Option<Outer>) {
        let Some(tables) = self.tables.as_deref() else { return (false, None) };
        let (schema, limits) = (&config.schema, &config.limits);
        let (mut outline, mut ids) = (std::mem::take(&mut self.outline), fast::Ids::new());
        let found = match fast::outline(schema, tables, ty, payload, limits, &mut outline, &mut ids) {
            Some(()) => self.take_outline(config, call, tunnel, &outline, &ids),
            None => (false, None),
        };
        self.outline = outline;
        found
    }

    fn take_outline(
        &mut self,
        config: &Config,
        call: u64,
        tunnel: Option<u16>,
        outline: &Outline,
        ids: &[fast::FastId<'_>],
    ) -> (bool, Option<Outer>) {
        let counts = |id: &fast::FastId<'_>| !id.absent || counts_absent(config, id.namespace);
        let mut named = SmallVec::<[Option<u32>; 4]>::new();
        for id in ids.iter().filter(|id| counts(id)) {
            named.push(self.named_by(config, call, id.namespace, id.value));
        }
        if let Some(tunnel) = tunnel.and_then(|number| config.plan.tunnels.get(usize::from(number))) {
            let joins = |place: &u32| {
                let id = self.channels.get(*place as usize).map(|channel| &channel.id);
                id.filter(|(namespace, _)| Some(*namespace) == tunnel.namespace)
            };
            let id = named.iter().flatten().find_map(joins).cloned();
            // One that is known and has no channel, for want of room, is in the message still.
            let is_kept = id.is_some() || !ids.iter().any(|id| Some(id.namespace) == tunnel.namespace);
            let outer = is_kept.then(|| Outer::of(tunnel, outline, id)).flatten();
            // What it carries may hold an id that spreads: that takes a tree.
            return (!self.channels_of(call).any(|channel| self.looks_on(channel)), outer);
        }
        let found = ids.iter().filter(|id| counts(id)).map(|id| (id.namespace, owned(id.value)));
        self.look_at(call, found);
        (true, None)
    }

    fn observe_any(&mut self, config: &Config, call: u64, ty: TypeId, tunnel: Option<u16>, payload: &[u8]) {
        let mut tree = std::mem::take(&mut self.tree);
        message::decode(&config.schema, Some(ty), payload, &config.limits, &mut tree, &mut Vec::new());
        self.named_by_message(config, call, &tree, payload);
        match tunnel {
            Some(number) => self.look_inside(config, call, number, &mut tree, payload),
            None => self.look(config, call, &tree, payload),
        }
        self.tree = tree;
    }

    /// Whether `Limits::max_channels` was reached; asked again, that is no news.
    pub fn filled(&mut self) -> bool {
        let (full, said) = self.full;
        self.full.1 = full;
        full && !said
    }

    fn ids_of_call(&mut self, call: u64) -> Arc<[Id]> {
        let (last, ids) = &self.last;
        if self.is_settled && *last == call {
            return ids.clone();
        }
        // Calls of one channel follow each other, and share them.
        let only = match self.calls.get(&call).map(SmallVec::as_slice) {
            Some([place]) => Some((*place, self.spreads)),
            _ => None,
        };
        let own = || self.channels_of(call).map(|channel| &channel.id);
        let all = || own().chain(self.channels_of(call).flat_map(|channel| &channel.spread));
        let is_same = only.is_some() && only == self.last_only || all().eq(ids.iter());
        let ids = if is_same { ids.clone() } else { all().cloned().collect() };
        (self.last, self.last_only, self.is_settled) = ((call, ids.clone()), only, true);
        ids
    }

    fn named_by_headers(&mut self, config: &Config, frame: &Frame) {
        let Some(head) = frame.lane.request.as_ref().filter(|_| frame.index == 0) else { return };
        for (number, namespace) in config.plan.namespaces.iter().enumerate().filter(|(_, n)| n.whole_exchange)
        {
            for header in &namespace.headers {
                if let Some(value) = head.headers.get(header).filter(|v| !v.is_empty()) {
                    self.name_call(config, frame.lane.call, number as u16, message::IdValue::Text(value));
                }
            }
        }
    }

    fn named_by_message(&mut self, config: &Config, call: u64, tree: &Tree, payload: &[u8]) {
        let mut found: SmallVec<[message::Id<'_>; 4]> = SmallVec::new();
        message::ids(&config.schema, tree, payload, &mut found);
        for id in found {
            if id.absent && !counts_absent(config, id.namespace) {
                continue;
            }
            self.named_by(config, call, id.namespace, id.value);
        }
    }

    /// An id that a message holds names its call, where its namespace is such; gives the place of its channel.
    fn named_by(
        &mut self,
        config: &Config,
        call: u64,
        namespace: u16,
        value: message::IdValue<'_>,
    ) -> Option<u32> {
        let names = config.plan.namespaces.get(usize::from(namespace)).is_some_and(|n| n.whole_exchange);
        names.then(|| self.name_call(config, call, namespace, value)).flatten()
    }

    fn name_call(
        &mut self,
        config: &Config,
        call: u64,
        namespace: u16,
        value: message::IdValue<'_>,
    ) -> Option<u32> {
        let Some(place) = self.place(config, namespace, value) else {
            self.full.0 = true;
            return None;
        };
        self.named = Some(place);
        let places = match self.calls.entry(call) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                self.order.push_back(call);
                new.insert(Places::new())
            }
        };
        if !places.contains(&place) && places.len() < 8 {
            places.push(place);
            self.is_settled = false;
        }
        if self.order.len() > config.limits.max_calls
            && let Some(oldest) = self.order.pop_front()
        {
            self.calls.remove(&oldest);
            self.is_settled = false;
        }
        Some(place)
    }

    /// The place of an id's channel, made where it is new; `None` where there is no room for it.
    fn place(&mut self, config: &Config, namespace: u16, value: message::IdValue<'_>) -> Option<u32> {
        let named = self.named.filter(|place| {
            let (known, id) = match self.channels.get(*place as usize) {
                Some(channel) => &channel.id,
                None => return false,
            };
            *known == namespace
                && match (id, value) {
                    (IdValue::Str(id), message::IdValue::Text(text)) => **id == *text,
                    (IdValue::Uint(id), message::IdValue::Number(number)) => *id == number,
                    _ => false,
                }
        });
        if named.is_some() {
            return named;
        }
        let id = (namespace, owned(value));
        if let Some(place) = self.places.get(&id) {
            return Some(*place);
        }
        if self.channels.len() >= config.limits.max_channels {
            return None;
        }
        let place = u32::try_from(self.channels.len()).ok()?;
        self.places.insert(id.clone(), place);
        self.channels.push(Channel { id, inner: HashMap::new(), spread: Vec::new(), looks: 0 });
        Some(place)
    }

    /// An id of a namespace that spreads holds for the channels of the call from now on.
    fn spread(&mut self, call: u64, id: Id) {
        if !self.spreading.contains(&id.0) {
            return;
        }
        for place in self.calls.get(&call).into_iter().flatten() {
            if let Some(channel) = self.channels.get_mut(*place as usize)
                && !channel.spread.iter().any(|(namespace, _)| *namespace == id.0)
            {
                self.is_settled = false;
                self.spreads += 1;
                channel.spread.push(id.clone());
            }
        }
    }

    /// A call of a sibling method says what the tunnels of its id hold; false where it is known to be none.
    fn tell_siblings(&mut self, config: &Config, frame: &Frame) -> bool {
        let Some(rpc) = &frame.lane.rpc else { return true };
        if self.apart.as_ref().is_some_and(|known| Arc::ptr_eq(known, rpc)) {
            return false;
        }
        let mut is_apart = true;
        for (number, tunnel) in config.plan.tunnels.iter().enumerate() {
            let Some((_, ty)) = tunnel.siblings.iter().find(|(method, _)| **method == **rpc) else {
                continue;
            };
            is_apart = false;
            for place in self.calls.get(&frame.lane.call).into_iter().flatten() {
                if let Some(channel) = self.channels.get_mut(*place as usize)
                    && Some(channel.id.0) == tunnel.namespace
                {
                    channel.inner.insert(number as u16, *ty);
                }
            }
        }
        if is_apart {
            self.apart = Some(rpc.clone());
        }
        true
    }

    fn inside(&self, config: &Config, call: u64, number: u16) -> (u16, TypeId, bool) {
        let tunnel = &config.plan.tunnels[usize::from(number)];
        let joined = self.channels_of(call).filter(|channel| Some(channel.id.0) == tunnel.namespace);
        match joined.into_iter().find_map(|channel| channel.inner.get(&number)) {
            Some(ty) => (number, *ty, false),
            None => (number, tunnel.inner, true),
        }
    }

    /// Looks into a carried message for an id that spreads.
    fn look_inside(&mut self, config: &Config, call: u64, number: u16, tree: &mut Tree, payload: &[u8]) {
        if !self.channels_of(call).any(|channel| self.looks_on(channel)) {
            return;
        }
        let tunnel = &config.plan.tunnels[usize::from(number)];
        let Some(bytes) = tunnel.payloads.iter().find_map(|p| carried_bytes(tree, payload, *p)?.ok()) else {
            return;
        };
        let ty = self.inside(config, call, number).1;
        message::decode(&config.schema, Some(ty), &bytes, &config.limits, tree, &mut Vec::new());
        self.look(config, call, tree, &bytes);
    }

    fn look(&mut self, config: &Config, call: u64, tree: &Tree, payload: &[u8]) {
        let mut found = Vec::new();
        ids_of(config, tree, payload, &mut found);
        self.look_at(call, found.into_iter());
    }

    fn look_at(&mut self, call: u64, found: impl Iterator<Item = Id>) {
        for place in self.calls.get(&call).into_iter().flatten() {
            if let Some(channel) = self.channels.get_mut(*place as usize) {
                channel.looks = channel.looks.saturating_add(1);
            }
        }
        found.for_each(|id| self.spread(call, id));
    }
}
