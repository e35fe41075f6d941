//! What many records in a row have alike, as JSON that is written once and copied from then on.
//! Never keeps more than a few pieces, and each holds on to what it was made of.

use std::cell::RefCell;
use std::sync::Arc;

use crate::base::json::{push_number, push_optional, push_string};
use crate::base::{Second, Timestamp};
use crate::pdu::Lane;

use super::Carrier;

/// Kinds of messages that are kept; a power of two.
const KINDS: usize = 16;

/// The pieces of a thread.
#[derive(Default)]
pub(super) struct Pieces {
    capture: (String, Vec<u8>),
    second: Option<Second>,
    lane: Option<LanePiece>,
    kinds: [Option<Piece>; KINDS],
    carrier: Option<(&'static str, Piece)>,
}

/// The JSON of two names.
struct Piece {
    names: [Option<Arc<str>>; 2],
    text: Vec<u8>,
}

/// The members of a lane, and where the number of its call stands among them.
struct LanePiece {
    lane: Arc<Lane>,
    text: Vec<u8>,
    call: (usize, usize),
}

thread_local! {
    static PIECES: RefCell<Pieces> = RefCell::default();
}

/// Gives the pieces of this thread to `work`, which must not ask for them itself.
pub(super) fn with(work: impl FnOnce(&mut Pieces)) {
    PIECES.with_borrow_mut(work);
}

impl Pieces {
    /// Appends the name of a capture.
    pub fn push_capture(&mut self, out: &mut Vec<u8>, capture: &str) {
        let (known, text) = &mut self.capture;
        if known != capture || text.is_empty() {
            *known = capture.to_owned();
            text.clear();
            push_string(text, capture);
        }
        out.extend_from_slice(text);
    }

    /// Appends a time.
    pub fn push_time(&mut self, out: &mut Vec<u8>, time: Timestamp) {
        time.push_near(&mut self.second, out);
    }

    /// Appends the members that all frames of a lane have alike, with a comma before each.
    pub fn push_lane(&mut self, out: &mut Vec<u8>, lane: &Arc<Lane>) {
        match &self.lane {
            Some(known) if Arc::ptr_eq(&known.lane, lane) => out.extend_from_slice(&known.text),
            // Calls of one message each follow each other too.
            Some(known) if known.is_alike(lane) => {
                let (from, to) = known.call;
                out.extend_from_slice(known.text.get(..from).unwrap_or_default());
                push_number(out, lane.call);
                out.extend_from_slice(known.text.get(to..).unwrap_or_default());
            }
            _ => {
                let known = self.lane.take();
                let piece = LanePiece::new(lane, known.map_or_else(Vec::new, |known| known.text));
                out.extend_from_slice(&piece.text);
                self.lane = Some(piece);
            }
        }
    }

    /// Appends the members `kind` and `messageType`, with a comma before each.
    pub fn push_kind(&mut self, out: &mut Vec<u8>, kind: Option<&Arc<str>>, ty: Option<&Arc<str>>) {
        // Names that are shared lie some words apart.
        let place = kind.map_or(0, |kind| kind.as_ptr() as usize >> 4 ^ kind.as_ptr() as usize >> 9);
        let Some(slot) = self.kinds.get_mut(place % KINDS) else { return };
        let piece = match slot {
            Some(piece) if piece.is_of([kind, ty]) => piece,
            _ => slot.insert(Piece::new([kind, ty], |text| {
                text.extend_from_slice(b",\"kind\":");
                push_optional(text, kind.map(|kind| &**kind));
                text.extend_from_slice(b",\"messageType\":");
                push_optional(text, ty.map(|ty| &**ty));
            })),
        };
        out.extend_from_slice(&piece.text);
    }

    /// Appends the first members of a carrier: `messageType`, `field` and `encoding`.
    pub fn push_carrier(&mut self, out: &mut Vec<u8>, carrier: &Carrier) {
        let names = [&carrier.message_type, &carrier.field];
        let piece = match &mut self.carrier {
            Some((encoding, piece)) if *encoding == carrier.encoding && piece.is_of(names.map(Some)) => piece,
            slot => {
                let piece = Piece::new(names.map(Some), |text| {
                    text.extend_from_slice(b"\"messageType\":");
                    push_string(text, &carrier.message_type);
                    text.extend_from_slice(b",\"field\":");
                    push_string(text, &carrier.field);
                    text.extend_from_slice(b",\"encoding\":");
                    push_string(text, carrier.encoding);
                });
                &mut slot.insert((carrier.encoding, piece)).1
            }
        };
        out.extend_from_slice(&piece.text);
    }
}

impl Piece {
    fn new(names: [Option<&Arc<str>>; 2], write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut text = Vec::new();
        write(&mut text);
        Self { names: names.map(Option::<&_>::cloned), text }
    }

    /// Whether it is made of these very names; what is equal and lies elsewhere is made anew.
    fn is_of(&self, names: [Option<&Arc<str>>; 2]) -> bool {
        self.names.iter().zip(names).all(|(own, name)| is_same(own.as_ref(), name))
    }
}

impl LanePiece {
    fn new(lane: &Arc<Lane>, mut text: Vec<u8>) -> Self {
        text.clear();
        text.extend_from_slice(b",\"conn\":");
        push_optional(&mut text, lane.conn.as_ref().map(|c| c.label.as_str()));
        text.extend_from_slice(b",\"stream\":");
        match lane.stream {
            Some(stream) => push_number(&mut text, stream),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"call\":");
        let from = text.len();
        push_number(&mut text, lane.call);
        let to = text.len();
        text.extend_from_slice(b",\"rpc\":");
        push_optional(&mut text, lane.rpc.as_deref());
        text.extend_from_slice(b",\"direction\":\"");
        text.extend_from_slice(lane.side.name().as_bytes());
        text.extend_from_slice(b"\",\"protocol\":\"");
        text.extend_from_slice(lane.protocol.name().as_bytes());
        text.push(b'"');
        Self { lane: lane.clone(), text, call: (from, to) }
    }

    /// Whether only the number of its call tells a lane's record from that of this one.
    fn is_alike(&self, lane: &Lane) -> bool {
        let known = &*self.lane;
        known.stream == lane.stream
            && known.side == lane.side
            && known.protocol == lane.protocol
            && is_same(known.rpc.as_ref(), lane.rpc.as_ref())
            && is_same(known.conn.as_ref(), lane.conn.as_ref())
    }
}

/// Whether two are one, or neither is there.
fn is_same<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}
