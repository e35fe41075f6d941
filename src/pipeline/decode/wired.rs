//! A message in JSON as wire format, which all that decodes works on.
//! Never stops at what does not fit: that is left out, and told.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

use crate::base::{Code, Finding, Space, Span};
use crate::message::json_in;
use crate::schema::{Schema, TypeId};

use super::MAX_SPARE;

/// A JSON message in wire format.
#[derive(Clone, Debug)]
pub struct Wired {
    /// `None` where it is no JSON at all.
    pub(super) wire: Option<Bytes>,
    /// What does not fit its type.
    pub(super) findings: Vec<Finding>,
}

/// A message that is only looked into.
pub enum Looked<'f> {
    /// As it was sent, its encoding undone.
    Sent(Cow<'f, Bytes>),
    /// It was JSON, and need not be read again.
    Json(Wired),
}

impl Looked<'_> {
    /// The message in wire format.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Sent(payload) => payload,
            Self::Json(wired) => wired.wire.as_deref().unwrap_or_default(),
        }
    }
}

/// Bytes of a block, of which messages in wire format are parts.
const BLOCK: usize = 64 << 10;

/// Where JSON messages become wire format.
#[derive(Default)]
pub(super) struct Wires {
    /// The message that is being made.
    message: Vec<u8>,
    /// Those that were made share blocks: small ones come by the thousand.
    block: BytesMut,
}

impl Wires {
    /// What has been made, as bytes of their own or a part of a block.
    fn take(&mut self) -> Bytes {
        if self.message.len() > BLOCK / 4 || self.message.capacity() > MAX_SPARE {
            return std::mem::take(&mut self.message).into();
        }
        if self.block.capacity() < self.message.len() {
            self.block = BytesMut::with_capacity(BLOCK);
        }
        self.block.extend_from_slice(&self.message);
        self.block.split().freeze()
    }
}

/// The wire format of a JSON message.
pub(super) fn wire_of_json(schema: &Schema, ty: TypeId, payload: &[u8], wires: &mut Wires) -> Wired {
    let mut findings = Vec::new();
    let Ok(text) = simdutf8::basic::from_utf8(payload) else {
        findings.push(Finding::new(Code::JsonMalformed, "expected JSON, found bytes that are not UTF-8"));
        return Wired { wire: None, findings };
    };
    wires.message.clear();
    // Hardly ever longer than its JSON.
    wires.message.reserve(text.len());
    let errors = json_in::encode(schema, ty, text, Default::default(), &mut wires.message);
    for error in errors.iter().take(16) {
        let span = Span::new(Space::Payload, error.at as u64, error.at as u64 + 1);
        let mut finding = Finding::new(Code::JsonMalformed, error.text.clone()).at(span);
        if !error.path.is_empty() {
            finding = finding.path(error.path.clone());
        }
        findings.push(finding);
    }
    let hopeless = wires.message.is_empty() && errors.iter().any(|e| e.path.is_empty());
    Wired { wire: (!hopeless).then(|| wires.take()), findings }
}
