//! Stands in until the branch `h2` is merged.
//! Never reads a line.

use std::sync::Arc;

use super::{Dir, StreamPart};
use crate::base::Cx;
use crate::pdu::{Conn, Head, HttpEvent};

/// What a connection turned into, and the bytes behind the turn.
#[derive(Debug)]
pub struct Upgrade {
    /// What it is from now on.
    pub to: UpgradeTo,
    /// What was taken in already but belongs to it.
    pub rest: Vec<(Dir, StreamPart)>,
}

/// What a connection turned into.
#[derive(Debug)]
pub enum UpgradeTo {
    /// HTTP/2 in the clear; stream 1 is this request.
    H2c {
        /// Its head.
        request: Arc<Head>,
    },
    /// A CONNECT tunnel.
    Tunnel,
}

/// An HTTP/1.1 connection.
#[derive(Debug)]
pub struct Connection;

impl Connection {
    /// A new one.
    pub fn new(_: Arc<Conn>) -> Self {
        Self
    }

    /// Takes a part.
    pub fn push(&mut self, _: Dir, _: StreamPart, _: &mut Cx<'_>, _: &mut Vec<HttpEvent>) {}

    /// What it turned into, once.
    pub fn take_upgrade(&mut self) -> Option<Upgrade> {
        None
    }

    /// Ends it.
    pub fn finish(&mut self, _: &mut Cx<'_>, _: &mut Vec<HttpEvent>) {}
}
