//! Finds the RPCs in HTTP and hands on each direction of each, its transport codings undone.
//! Never cuts a frame, never reads a message, never knows a service.

mod body;
mod call;
mod decide;
mod end;
mod protocol;
mod query;
#[cfg(test)]
mod tests;
mod text;
mod trace;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::base::codec::Inflater;
use crate::base::maps::KeyMap;
use crate::base::{Code, Cx, Finding};
use crate::pdu::{HttpEvent, HttpPart, LaneEvent, StreamKey};

use call::{Call, Work};

/// The exchanges that are open.
pub struct Exchanges {
    calls: KeyMap<StreamKey, (u64, Call)>,
    /// The open calls by number: the oldest is given up first.
    by_number: BTreeMap<u64, StreamKey>,
    /// Those of them whose every seen side has ended: nothing is lost with these.
    quiet: BTreeSet<u64>,
    next: u64,
    /// Bytes held in all calls.
    held: usize,
    others: u64,
    inflater: Inflater,
}

impl Default for Exchanges {
    fn default() -> Self {
        Self::new()
    }
}

impl Exchanges {
    /// None yet; the first call is number 1.
    pub fn new() -> Self {
        Self {
            calls: KeyMap::default(),
            by_number: BTreeMap::new(),
            quiet: BTreeSet::new(),
            next: 1,
            held: 0,
            others: 0,
            inflater: Inflater::new(),
        }
    }

    /// Takes the next number, for a call that comes from elsewhere than HTTP.
    pub fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// How many exchanges were no RPCs.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Takes the next piece of HTTP and appends what it makes known.
    pub fn push(&mut self, event: HttpEvent, cx: &mut Cx<'_>, out: &mut Vec<LaneEvent>) {
        let key = event.key;
        if matches!(event.part, HttpPart::Head(_))
            && self.calls.get(&key).is_some_and(|(_, call)| call.is_another(&event))
        {
            self.close(key, cx, out);
        }
        let (number, call) = match self.calls.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let number = self.next;
                self.next += 1;
                self.by_number.insert(number, key);
                entry.insert((number, Call::new(number, &event)))
            }
        };
        let mut work = Work { cx, inflater: &mut self.inflater, out };
        let before = call.cost();
        call.take(event, &mut work);
        self.held = self.held.saturating_sub(before).saturating_add(call.cost());
        if self.held > work.cx.limits.max_bodies {
            self.held = self.held.saturating_sub(call.cost());
            call.give_up(&mut work);
            self.held = self.held.saturating_add(call.cost());
        }
        let (number, is_quiet) = (*number, call.is_quiet());
        if call.is_over() {
            self.close(key, cx, out);
        } else if is_quiet {
            self.quiet.insert(number);
        } else {
            self.quiet.remove(&number);
        }
        if self.calls.len() > cx.limits.max_calls {
            self.give_up_oldest(cx, out);
        }
    }

    /// Ends all that is open, as the capture does.
    pub fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<LaneEvent>) {
        let open: Vec<_> = self.by_number.values().copied().collect();
        for key in open {
            self.close(key, cx, out);
        }
    }

    fn close(&mut self, key: StreamKey, cx: &mut Cx<'_>, out: &mut Vec<LaneEvent>) {
        let Some((number, mut call)) = self.calls.remove(&key) else { return };
        self.by_number.remove(&number);
        self.quiet.remove(&number);
        self.held = self.held.saturating_sub(call.cost());
        call.finish(&mut Work { cx, inflater: &mut self.inflater, out });
        self.others += u64::from(!call.is_rpc());
    }

    fn give_up_oldest(&mut self, cx: &mut Cx<'_>, out: &mut Vec<LaneEvent>) {
        let quiet = self.quiet.first().copied();
        let Some(number) = quiet.or_else(|| self.by_number.keys().next().copied()) else { return };
        let Some(key) = self.by_number.get(&number).copied() else { return };
        if quiet.is_none() {
            let text = format!(
                "more than {} calls are open at once; call {number}, the oldest, was given up",
                cx.limits.max_calls
            );
            cx.find(Finding::new(Code::LimitReached, text));
        }
        self.close(key, cx, out);
    }
}
