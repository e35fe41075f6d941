//! A dialect resolved: numbers where the rules have names.
//! Never holds a name of a message; those it prints are the schema's.

use std::sync::Arc;

use crate::schema::{FieldId, TypeId};

use super::matcher::Matcher;
use super::timely::{Content, Ending, Fold, Level, Lifeline, Measure, Pulse, Stream};

/// A set of ids.
#[derive(Clone, PartialEq, Debug)]
pub struct Namespace {
    /// Its name among the rules.
    pub name: Arc<str>,
    /// Its key under `ids` in a record.
    pub key: Arc<str>,
    /// The namespace that an id is unique in.
    pub within: Option<u16>,
    /// Whether the id names the exchange: every frame of the call carries it.
    pub whole_exchange: bool,
    /// The namespace along which an id, seen once, holds for every frame.
    pub spreads: Option<u16>,
    /// Request headers that hold an id.
    pub headers: Vec<String>,
    /// Whether an absent number is 0, and an id like any other.
    pub default_zero: bool,
    /// Request headers whose id speaks of something else: a retry's first id, a parent's.
    pub mention_headers: Vec<Relation>,
    /// What joins several ids in one value; empty: nothing.
    pub separator: Box<str>,
    /// Whether the value says the same in two sessions.
    pub lasting: bool,
}

/// A request header that points to another exchange.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Relation {
    /// The header, in lower case.
    pub header: String,
    /// What the exchange is to the other: a retry. Empty: not known.
    pub name: Arc<str>,
    /// Whether it is a part of the other.
    pub inside: Option<bool>,
}

/// How a tunnel's field holds the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadEncoding {
    /// Hex text.
    Hex,
    /// Base64 text.
    Base64,
    /// The bytes.
    Raw,
}

impl PayloadEncoding {
    /// As records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Raw => "binary",
        }
    }
}

/// One field that may hold a tunnel's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payload {
    /// Its place in the carrier's fields.
    pub field: u16,
    /// How it holds the message.
    pub encoding: PayloadEncoding,
}

/// A message type whose field carries another message.
#[derive(Clone, PartialEq, Debug)]
pub struct Tunnel {
    /// The carrier.
    pub carrier: TypeId,
    /// The fields, by preference: the first that is not empty is read.
    pub payloads: Vec<Payload>,
    /// What is inside unless a sibling says otherwise.
    pub inner: TypeId,
    /// The namespace that joins it to its siblings.
    pub namespace: Option<u16>,
    /// The place of the field that orders the messages, in the carrier.
    pub order: Option<u16>,
    /// RPCs, and what is inside where one has the same id.
    pub siblings: Vec<(Box<str>, TypeId)>,
    /// How many messages may be under way at once, and so overtake each other.
    pub in_flight: u32,
}

/// What decoding and joining need of a dialect.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// By the number that field annotations use.
    pub namespaces: Vec<Namespace>,
    /// All tunnels.
    pub tunnels: Vec<Tunnel>,
    /// Levels of the timeline.
    pub levels: Vec<Level>,
    /// Numbers worth showing.
    pub measures: Vec<Measure>,
    /// Text that is put together.
    pub streams: Vec<Stream>,
    /// What opens and closes.
    pub lifelines: Vec<Lifeline>,
    /// What ends a run.
    pub endings: Vec<Ending>,
    /// How values add up.
    pub folds: Vec<Fold>,
    /// What keeps a connection alive.
    pub pulses: Vec<Pulse>,
    /// Fields of a status's details that say why, by preference.
    pub details: Vec<FieldId>,
    /// Fields that refer to content, each with the field beside it that says how long that is.
    pub lengths: Vec<(FieldId, u16)>,
    /// Where content of ids is found.
    pub contents: Vec<Content>,
    /// Which of them a field is of interest to.
    pub matcher: Matcher,
    /// By root type, the level that an exchange makes up: a run.
    pub runs: Vec<(TypeId, u16)>,
}

impl Plan {
    /// The tunnel whose carrier is a type.
    pub fn tunnel(&self, carrier: TypeId) -> Option<&Tunnel> {
        self.tunnels.iter().find(|t| t.carrier == carrier)
    }

    /// The field beside one that refers to content which says how long that is.
    pub fn length_of(&self, field: FieldId) -> Option<u16> {
        self.lengths.iter().find(|(f, _)| *f == field).map(|(_, index)| *index)
    }

    /// The level whose one is an exchange of this RPC.
    pub fn level_of(&self, rpc: &str) -> Option<u16> {
        self.levels.iter().position(|l| l.methods.iter().any(|m| **m == *rpc)).map(|at| at as u16)
    }

    /// The run level of the dialect that speaks of a root type.
    pub fn run_of(&self, root: TypeId) -> Option<u16> {
        self.runs.iter().find(|(ty, _)| *ty == root).map(|(_, level)| *level)
    }

    /// Whether an RPC is nothing but a pulse.
    pub fn is_pulse(&self, rpc: &str) -> bool {
        let fits = |m: &str| m.strip_suffix('*').map_or(m == rpc, |start| rpc.starts_with(start));
        self.pulses.iter().any(|p| p.methods.iter().any(|m| fits(m)))
    }
}
