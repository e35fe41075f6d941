//! What a carrier holds beside what it carries, by its outline.
//! Never builds a tree: a carrier that is not regular has none of this.

use crate::dialect::Tunnel;
use crate::message::fast::{Content, Outline};

use super::Id;

/// What a regular carrier holds, found in its message in wire format.
#[derive(Clone, Debug)]
pub struct Outer {
    /// Which of the tunnel's payloads is set: the only one.
    pub payload: usize,
    /// Where it begins and ends.
    pub at: (usize, usize),
    /// Its order number's bits.
    pub order: u64,
    /// The id that joins it.
    pub id: Option<Id>,
}

impl Outer {
    /// By the outline of a carrier; `None` where not exactly one of its payloads is set.
    pub(super) fn of(tunnel: &Tunnel, outline: &Outline, id: Option<Id>) -> Option<Self> {
        let at = |field: u16| match outline.get(field)? {
            Content::Bytes(from, to) if from < to => Some((from, to)),
            _ => None,
        };
        let payloads = tunnel.payloads.iter().enumerate();
        let mut set = payloads.filter_map(|(number, payload)| Some((number, at(payload.field)?)));
        let (Some((payload, at)), None) = (set.next(), set.next()) else { return None };
        let order = match tunnel.order.and_then(|order| outline.get(order)) {
            Some(Content::Bits(bits)) => bits,
            _ => 0,
        };
        Some(Self { payload, at, order, id })
    }
}
