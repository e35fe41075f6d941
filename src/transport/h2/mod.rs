//! Stands in until the branch `h2` is merged.
//! Never reads a frame.

use std::sync::Arc;

use super::{Dir, StreamPart};
use crate::base::Cx;
use crate::pdu::{Conn, Head, HttpEvent};

/// An HTTP/2 connection.
#[derive(Debug)]
pub struct Connection;

impl Connection {
    /// A new one.
    pub fn new(_: Arc<Conn>) -> Self {
        Self
    }

    /// One that HTTP/1.1 was upgraded to: stream 1 is the request of the upgrade.
    pub fn upgraded(_: Arc<Conn>, _: Arc<Head>) -> Self {
        Self
    }

    /// Takes a part.
    pub fn push(&mut self, _: Dir, _: StreamPart, _: &mut Cx<'_>, _: &mut Vec<HttpEvent>) {}

    /// Ends it.
    pub fn finish(&mut self, _: &mut Cx<'_>, _: &mut Vec<HttpEvent>) {}
}
