//! The ids of a frame: those of its call, and those that its message holds.
//! Never shows more than a few of a namespace.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::base::text::hex;
use crate::message::{self, Tree};
use crate::view::{Decoded, IdValue, Ids, NamedIds};

use super::super::joins::Id;
use super::super::{Config, Job};
use super::Worker;

/// Ids of one namespace that a record shows, at most.
const MAX_IDS: usize = 16;

/// Ids while they are collected.
type Collected = SmallVec<[NamedIds; 1]>;

impl Worker {
    /// Ids of the call first, then those that the message holds.
    pub(super) fn ids(&mut self, config: &Config, job: &Job, decoded: &mut Decoded) {
        if !self.is_met && decoded.ty.is_some() {
            ids_of(config, &self.tree, &decoded.payload, &mut self.met);
        }
        let of_call = self.ids_of_call(config, &job.joined.ids);
        let mut own = Collected::new();
        self.met.drain(..).for_each(|id| add(config, &mut own, id));
        let is_told = |(key, _): &NamedIds| of_call.iter().any(|(known, _)| known == key);
        if !own.iter().any(is_told) {
            decoded.ids = Ids { of_call, own };
            return;
        }
        // A namespace is one member: those of the call stand before the message's own.
        let mut all = Collected::from_iter(of_call.iter().cloned());
        for (key, values) in own {
            values.into_iter().for_each(|value| join(&mut all, &key, value));
        }
        decoded.ids = Ids { of_call: Arc::default(), own: all };
    }

    /// The ids of a call by namespace, made anew where they are not those of the frame before.
    fn ids_of_call(&mut self, config: &Config, call: &Arc<[Id]>) -> Arc<[NamedIds]> {
        if let Some((known, ids)) = &self.call_ids
            && Arc::ptr_eq(known, call)
        {
            return ids.clone();
        }
        let mut ids = Collected::new();
        call.iter().cloned().for_each(|id| add(config, &mut ids, id));
        let ids = Arc::from_iter(ids);
        self.call_ids = Some((call.clone(), ids.clone()));
        ids
    }
}

fn add(config: &Config, ids: &mut Collected, (namespace, value): Id) {
    let Some(namespace) = config.plan.namespaces.get(usize::from(namespace)) else { return };
    join(ids, &namespace.key, value);
}

/// Adds an id of a namespace, which is there or not yet.
fn join(ids: &mut Collected, namespace: &Arc<str>, value: IdValue) {
    match ids.iter_mut().find(|(key, _)| key == namespace) {
        Some((_, values)) if values.contains(&value) || values.len() >= MAX_IDS => {}
        Some((_, values)) => values.push(value),
        None => ids.push((namespace.clone(), smallvec![value])),
    }
}

/// Appends the ids of a message, owned.
pub fn ids_of(config: &Config, tree: &Tree, payload: &[u8], out: &mut Vec<Id>) {
    let mut found: SmallVec<[message::Id<'_>; 4]> = SmallVec::new();
    message::ids(&config.schema, tree, payload, &mut found);
    for id in found {
        if id.absent && !counts_absent(config, id.namespace) {
            continue;
        }
        out.push((id.namespace, owned(id.value)));
    }
}

/// Whether an absent number of a namespace is an id like any other.
pub fn counts_absent(config: &Config, namespace: u16) -> bool {
    config.plan.namespaces.get(usize::from(namespace)).is_some_and(|n| n.default_zero)
}

pub fn owned(value: message::IdValue<'_>) -> IdValue {
    match value {
        message::IdValue::Text(text) => IdValue::Str(text.into()),
        message::IdValue::Number(number) => IdValue::Uint(number),
        message::IdValue::Bytes(bytes) => IdValue::Str(hex(bytes).into()),
    }
}
