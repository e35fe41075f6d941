//! What a connection carries, layer on layer: TLS, HTTP, and what HTTP turns into.
//! Never reads a byte itself.

use std::sync::Arc;

use crate::base::Cx;
use crate::pdu::{Conn, HttpEvent};

use super::detect::Protocol;
use super::gate::Gate;
use super::http1::{self, Upgrade};
use super::tls::KeyLog;
use super::{Dir, StreamPart, h2, tls};

/// Tunnels and TLS inside each other that are followed.
const MAX_DEPTH: u8 = 4;

/// What layers are handed besides their input.
pub(super) struct Env<'a, 'b> {
    pub keylog: &'a KeyLog,
    pub cx: &'a mut Cx<'b>,
    /// The next [`Conn::id`].
    pub next_conn: &'a mut u32,
}

/// One protocol of a connection.
pub(super) enum Layer {
    Tls(Box<tls::Session>, Box<Inner>),
    Http1(Box<http1::Connection>, Arc<Conn>, u8),
    H2(Box<h2::Connection>),
    Tunnel(Box<Inner>),
}

/// A connection inside another one, whose protocol shows itself.
pub(super) struct Inner {
    conn: Arc<Conn>,
    gate: Gate,
    layer: Option<Layer>,
    /// Whether each direction's beginning is missing.
    middle: [bool; 2],
    depth: u8,
}

impl Layer {
    /// The layer for a protocol; `middle` tells of each direction whether its beginning is missing.
    pub(super) fn new(protocol: Protocol, conn: &Arc<Conn>, middle: [bool; 2]) -> Self {
        Self::at(protocol, conn, middle, 0)
    }

    fn at(protocol: Protocol, conn: &Arc<Conn>, middle: [bool; 2], depth: u8) -> Self {
        let conn = Arc::clone(conn);
        match protocol {
            Protocol::Tls => Self::Tls(Box::default(), Box::new(Inner::new(conn, middle, depth + 1))),
            Protocol::Http1 => {
                let connection = http1::Connection::new(Arc::clone(&conn));
                let connection = if middle == [false; 2] { connection.from_start() } else { connection };
                Self::Http1(Box::new(connection), conn, depth)
            }
            Protocol::H2 => Self::H2(Box::new(h2::Connection::new(conn))),
        }
    }

    /// Takes a part.
    pub(super) fn push(
        &mut self,
        dir: Dir,
        part: StreamPart,
        env: &mut Env<'_, '_>,
        out: &mut Vec<HttpEvent>,
    ) {
        match self {
            Self::Tls(session, inner) => {
                let mut parts = Vec::new();
                session.push(dir, part, env.keylog, env.cx, &mut parts);
                for (dir, part) in parts {
                    inner.settle(session.alpn());
                    inner.push(dir, part, env, out);
                }
            }
            Self::Http1(connection, ..) => {
                connection.push(dir, part, env.cx, out);
                self.upgrade(env, out);
            }
            Self::H2(connection) => connection.push(dir, part, env.cx, out),
            Self::Tunnel(inner) => inner.push(dir, part, env, out),
        }
    }

    /// Ends the layers, the outermost first.
    pub(super) fn finish(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        match self {
            Self::Tls(session, inner) => {
                session.finish(env.cx);
                inner.finish(env, out);
            }
            Self::Http1(connection, ..) => {
                connection.finish(env.cx, out);
                // A tunnel that was asked for, and whose answer is not in the capture.
                if self.upgrade(env, out) {
                    self.finish(env, out);
                }
            }
            Self::H2(connection) => connection.finish(env.cx, out),
            Self::Tunnel(inner) => inner.finish(env, out),
        }
    }

    /// Becomes what HTTP/1 turned into, if it did.
    fn upgrade(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) -> bool {
        let Self::Http1(connection, conn, depth) = self else {
            return false;
        };
        let Some(upgrade) = connection.take_upgrade() else {
            return false;
        };
        let mut rest = Vec::new();
        for dir in [Dir::ToServer, Dir::ToClient] {
            rest.extend(std::iter::from_fn(|| connection.leftover(dir)).map(|part| (dir, part)));
        }
        let next = match upgrade {
            Upgrade::H2c(Some(request)) => {
                Self::H2(Box::new(h2::Connection::upgraded(Arc::clone(conn), request)))
            }
            Upgrade::H2c(None) => Self::H2(Box::new(h2::Connection::new(Arc::clone(conn)))),
            Upgrade::Tunnel => {
                // The exchanges inside are counted anew: as those of another connection.
                let inner = Conn { id: *env.next_conn, ..Conn::clone(conn) };
                *env.next_conn = env.next_conn.saturating_add(1);
                Self::Tunnel(Box::new(Inner::new(Arc::new(inner), [false; 2], *depth + 1)))
            }
        };
        connection.finish(env.cx, out);
        *self = next;
        for (dir, part) in rest {
            self.push(dir, part, env, out);
        }
        true
    }
}

impl Inner {
    fn new(conn: Arc<Conn>, middle: [bool; 2], depth: u8) -> Self {
        Self { conn, gate: Gate::new(middle), layer: None, middle, depth }
    }

    /// Takes what TLS agreed on (RFC 7301), where it says.
    fn settle(&mut self, alpn: Option<&str>) {
        let protocol = match alpn {
            Some("h2") => Protocol::H2,
            Some("http/1.1" | "http/1.0") => Protocol::Http1,
            _ => return,
        };
        if self.layer.is_none() && self.depth < MAX_DEPTH {
            self.gate = Gate::known(protocol);
            self.layer = Some(Layer::at(protocol, &self.conn, self.middle, self.depth));
        }
    }

    fn push(&mut self, dir: Dir, part: StreamPart, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        let mut passed = Vec::new();
        let decision = self.gate.push(dir.index(), part, &mut passed);
        if let Some(decision) = decision
            && self.depth < MAX_DEPTH
        {
            self.layer = Some(Layer::at(decision.protocol, &self.conn, self.middle, self.depth));
        }
        let Some(layer) = &mut self.layer else {
            return;
        };
        for (side, part) in passed {
            layer.push(if side == 0 { Dir::ToServer } else { Dir::ToClient }, part, env, out);
        }
    }

    fn finish(&mut self, env: &mut Env<'_, '_>, out: &mut Vec<HttpEvent>) {
        if let Some(layer) = &mut self.layer {
            layer.finish(env, out);
        }
    }
}
