//! Decoded frames for a person or a program: JSON Lines, text, hex, fields.
//! Never reads a capture and never decides what a frame means.

pub mod diff_json;
pub mod events;
pub mod export;
pub mod fields;
pub mod jsonl;
mod pieces;
pub mod redact;
pub mod state;
pub mod text;
pub mod tui;

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::base::Finding;
use crate::base::secret::Rules;
use crate::pdu::Frame;
use crate::schema::TypeId;

pub use crate::session::IdValue;

/// A message that arrived inside a field of another.
#[derive(Clone, PartialEq, Debug)]
pub struct Carrier {
    /// Full name of the outer message's type.
    pub message_type: Arc<str>,
    /// The field that held the payload.
    pub field: Arc<str>,
    /// `hex` or `bytes`.
    pub encoding: &'static str,
    /// The outer message's order number, by its field.
    pub order: Option<(Arc<str>, i64)>,
    /// The id that joins it, by its namespace.
    pub id: Option<(Arc<str>, IdValue)>,
    /// Where another field carries another message: a JSON object with that field's name and the message.
    pub other: Vec<u8>,
    /// Whether the inner type is the rule's default, since no sibling stream was seen yet.
    pub assumed: bool,
}

/// The ids of a namespace, by its key; mostly one.
pub type NamedIds = (Arc<str>, SmallVec<[IdValue; 1]>);

/// Ids by namespace, each namespace once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ids {
    /// Those of the call, which its frames share.
    pub of_call: Arc<[NamedIds]>,
    /// What the message holds besides.
    pub own: SmallVec<[NamedIds; 1]>,
}

impl Ids {
    /// All of them, the call's first.
    pub fn iter(&self) -> impl Iterator<Item = &NamedIds> {
        self.of_call.iter().chain(&self.own)
    }
}

/// What decoding made of a frame.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// The type of `payload`, where one is known.
    pub ty: Option<TypeId>,
    /// The branch set in the root message's oneof; what `decode` calls its kind.
    pub kind: Option<Arc<str>>,
    /// Full name of the message type.
    pub message_type: Option<Arc<str>>,
    /// The message as JSON text.
    pub message: Vec<u8>,
    /// Ids by namespace, in order of appearance.
    pub ids: Ids,
    /// What carried it.
    pub carrier: Option<Carrier>,
    /// Messages in a JSON codec: their length in wire format, so that lengths compare across codecs.
    pub wire_length: Option<u64>,
    /// The bytes that `message` was decoded from.
    pub payload: Bytes,
    /// The frame's findings, those of the rooms before included.
    pub findings: Vec<Finding>,
}

/// One frame to show.
pub struct Item<'a> {
    /// Its number in the output, from 1.
    pub number: u64,
    /// The capture's name, as the operator gave it.
    pub capture: &'a str,
    /// The frame.
    pub frame: &'a Frame,
    /// What it holds.
    pub decoded: &'a Decoded,
    /// Whether to show credentials in headers and addresses.
    pub show_secrets: bool,
    /// Which those are.
    pub secrets: &'a Rules,
}

impl<'a> Item<'a> {
    /// What is to be hidden, where something is.
    pub fn hides(&self) -> Option<&'a Rules> {
        (!self.show_secrets).then_some(self.secrets)
    }
}
