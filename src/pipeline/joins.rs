//! Calls that share an id: which ids a frame has from its call, and what a carried message is.
//! Never renders; looks only into the messages whose type can name a call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::message::{self, Tree};
use crate::pdu::{Frame, Lane, Side};
use crate::schema::TypeId;
use crate::view::IdValue;

use super::Config;
use super::decode::{carried_bytes, ids_of};

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
}

/// Messages of a call that are looked into for an id that spreads, at most.
const LOOKS: u8 = 8;

#[derive(Default)]
struct Channel {
    /// By tunnel: what its sibling says is inside.
    inner: HashMap<u16, TypeId>,
    /// Ids that hold for all of it.
    spread: Vec<Id>,
    looks: u8,
}

/// The state of a run.
#[derive(Default)]
pub struct Joins {
    calls: HashMap<u64, Vec<Id>>,
    /// The calls in the order they came: the oldest is forgotten first.
    order: VecDeque<u64>,
    channels: HashMap<Id, Channel>,
    /// By type: whether it can hold an id which names a call.
    naming: Vec<bool>,
    /// The ids that the last frame's call had; `None` since one was added anywhere.
    last: Option<(u64, Arc<[Id]>)>,
    /// The lane of the last frame, whose siblings know what it is.
    told: Option<Arc<Lane>>,
    /// Namespaces that spread.
    spreading: Vec<u16>,
    /// Whether an id was left out for want of room, and whether that was said.
    full: (bool, bool),
    tree: Tree,
}

impl Joins {
    /// What can be joined under a configuration.
    pub fn new(config: &Config) -> Self {
        let whole = |id: u16| config.plan.namespaces.get(usize::from(id)).is_some_and(|n| n.whole_exchange);
        let names_directly = |ty: TypeId| {
            let plan = config.schema.ty(ty);
            plan.ids.iter().filter_map(|i| plan.field(*i)?.annotation.id).any(whole)
        };
        let naming = config
            .schema
            .types()
            .map(|(ty, plan)| {
                let inside = plan.fields.iter().filter_map(|f| f.kind.message());
                names_directly(ty) || inside.into_iter().any(names_directly)
            })
            .collect();
        let namespaces = config.plan.namespaces.iter().enumerate();
        let spreading = namespaces.filter(|(_, n)| n.spreads.is_some()).map(|(i, _)| i as u16).collect();
        Self { naming, spreading, ..Self::default() }
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
            && self.calls.get(&frame.lane.call).is_some_and(|ids| {
                ids.iter().any(|id| self.channels.get(id).is_some_and(|c| self.looks_on(c)))
            })
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
                let id = (namespace as u16, IdValue::Str(value.clone()));
                match config.plan.namespaces[namespace].whole_exchange {
                    true => self.name_call(config, call, id),
                    false => self.spread(call, id),
                }
            }
        }
        let mut inner = None;
        if let (Some(ty), Some(payload)) = (ty, payload) {
            let mut tree = std::mem::take(&mut self.tree);
            message::decode(&config.schema, Some(ty), payload, &config.limits, &mut tree, &mut Vec::new());
            self.named_by_message(config, call, &tree, payload);
            if let Some(number) = config.plan.tunnels.iter().position(|t| t.carrier == ty) {
                inner = Some(self.inside(config, call, number as u16));
                self.look_inside(config, call, number as u16, &mut tree, payload);
            } else {
                self.look(config, call, &tree, payload);
            }
            self.tree = tree;
        }
        // Where nothing was added since the frame before, what its lane is has been told.
        let is_told = self.last.is_some() && self.told.as_ref().is_some_and(|l| Arc::ptr_eq(l, &frame.lane));
        if !is_told {
            self.tell_siblings(config, frame);
            self.told = Some(frame.lane.clone());
        }
        Joined { ids: self.ids_of_call(call), inner }
    }

    /// Whether `Limits::max_channels` was reached; asked again, that is no news.
    pub fn filled(&mut self) -> bool {
        let (full, said) = self.full;
        self.full.1 = full;
        full && !said
    }

    fn ids_of_call(&mut self, call: u64) -> Arc<[Id]> {
        if let Some((last, ids)) = &self.last
            && *last == call
        {
            return ids.clone();
        }
        let own = self.calls.get(&call).map_or(&[][..], Vec::as_slice);
        let spread = own.iter().filter_map(|id| self.channels.get(id)).flat_map(|channel| &channel.spread);
        let ids: Arc<[Id]> = own.iter().chain(spread).cloned().collect();
        self.last = Some((call, ids.clone()));
        ids
    }

    fn named_by_headers(&mut self, config: &Config, frame: &Frame) {
        let Some(head) = frame.lane.request.as_ref().filter(|_| frame.index == 0) else { return };
        for (number, namespace) in config.plan.namespaces.iter().enumerate().filter(|(_, n)| n.whole_exchange)
        {
            for header in &namespace.headers {
                if let Some(value) = head.headers.get(header).filter(|v| !v.is_empty()) {
                    self.name_call(config, frame.lane.call, (number as u16, IdValue::Str(value.to_owned())));
                }
            }
        }
    }

    fn named_by_message(&mut self, config: &Config, call: u64, tree: &Tree, payload: &[u8]) {
        let mut found = Vec::new();
        ids_of(config, tree, payload, &mut found);
        for id in found {
            if config.plan.namespaces.get(usize::from(id.0)).is_some_and(|n| n.whole_exchange) {
                self.name_call(config, call, id);
            }
        }
    }

    fn name_call(&mut self, config: &Config, call: u64, id: Id) {
        if self.channels.len() >= config.limits.max_channels && !self.channels.contains_key(&id) {
            self.full.0 = true;
            return;
        }
        self.channels.entry(id.clone()).or_default();
        if !self.calls.contains_key(&call) {
            self.order.push_back(call);
            if self.order.len() > config.limits.max_calls
                && let Some(oldest) = self.order.pop_front()
            {
                self.calls.remove(&oldest);
                self.last = None;
            }
        }
        let ids = self.calls.entry(call).or_default();
        if !ids.contains(&id) && ids.len() < 8 {
            ids.push(id);
            self.last = None;
        }
    }

    /// An id of a namespace that spreads holds for the channels of the call from now on.
    fn spread(&mut self, call: u64, id: Id) {
        if !self.spreading.contains(&id.0) {
            return;
        }
        for channel in self.calls.get(&call).into_iter().flatten() {
            if let Some(channel) = self.channels.get_mut(channel)
                && !channel.spread.iter().any(|(namespace, _)| *namespace == id.0)
            {
                self.last = None;
                channel.spread.push(id.clone());
            }
        }
    }

    /// A call of a sibling method says what the tunnels of its id hold.
    fn tell_siblings(&mut self, config: &Config, frame: &Frame) {
        let Some(rpc) = frame.lane.rpc.as_deref() else { return };
        for (number, tunnel) in config.plan.tunnels.iter().enumerate() {
            let Some((_, ty)) = tunnel.siblings.iter().find(|(method, _)| &**method == rpc) else { continue };
            let ids = self.calls.get(&frame.lane.call).into_iter().flatten();
            for id in ids.filter(|(namespace, _)| Some(*namespace) == tunnel.namespace) {
                if let Some(channel) = self.channels.get_mut(id) {
                    channel.inner.insert(number as u16, *ty);
                }
            }
        }
    }

    fn inside(&self, config: &Config, call: u64, number: u16) -> (u16, TypeId, bool) {
        let tunnel = &config.plan.tunnels[usize::from(number)];
        let ids = self.calls.get(&call).into_iter().flatten();
        let told = ids
            .filter(|(namespace, _)| Some(*namespace) == tunnel.namespace)
            .find_map(|id| self.channels.get(id)?.inner.get(&number));
        match told {
            Some(ty) => (number, *ty, false),
            None => (number, tunnel.inner, true),
        }
    }

    /// Looks into a carried message for an id that spreads.
    fn look_inside(&mut self, config: &Config, call: u64, number: u16, tree: &mut Tree, payload: &[u8]) {
        let ids = self.calls.get(&call).into_iter().flatten();
        if !ids.into_iter().any(|id| self.channels.get(id).is_some_and(|c| self.looks_on(c))) {
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
        let own: Vec<Id> = self.calls.get(&call).into_iter().flatten().cloned().collect();
        for id in &own {
            if let Some(channel) = self.channels.get_mut(id) {
                channel.looks = channel.looks.saturating_add(1);
            }
        }
        found.into_iter().for_each(|id| self.spread(call, id));
    }
}
