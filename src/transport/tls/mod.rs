//! Stands in until the branch `tls` is merged.
//! Never decrypts anything.

use super::{Dir, StreamPart};
use crate::base::Cx;

/// NSS key log.
#[derive(Debug, Default)]
pub struct KeyLog;

impl KeyLog {
    /// An empty one.
    pub fn new() -> Self {
        Self
    }

    /// Adds lines.
    pub fn add(&mut self, _text: &[u8]) {}
}

/// A TLS connection.
#[derive(Debug, Default)]
pub struct Session;

impl Session {
    /// A new one.
    pub fn new() -> Self {
        Self
    }

    /// Takes a part.
    pub fn push(
        &mut self,
        _: Dir,
        _: StreamPart,
        _: &KeyLog,
        _: &mut Cx<'_>,
        _: &mut Vec<(Dir, StreamPart)>,
    ) {
    }

    /// Ends it.
    pub fn finish(&mut self, _: &mut Cx<'_>) {}

    /// The protocol agreed on.
    pub fn alpn(&self) -> Option<&str> {
        None
    }
}
