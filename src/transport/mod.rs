//! Packets into HTTP: link, IP, TCP, TLS, HTTP/1 and HTTP/2, in order and in the clear.
//! Never knows an RPC, a message or a schema.

mod detect;
mod feed;
mod flow;
mod gate;
pub mod h2;
pub mod http1;
mod ip;
mod layer;
mod link;
mod notice;
#[cfg(test)]
mod packets;
mod stream;
mod tcp;
pub mod tls;

#[cfg(test)]
mod testing;

pub use stream::{Dir, StreamPart};

use std::collections::BTreeSet;

use bytes::{Buf, Bytes};

use crate::base::{Code, Cx, Finding, Space, Span};
use crate::pdu::{HttpEvent, Packet};

use detect::Protocol;
use flow::{Ends, Flows};
use ip::Defragmenter;
use layer::Env;
use link::Network;
use tcp::Segment;
use tls::KeyLog;

/// What `--decode-as PORT=…` makes of a port's connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeAs {
    /// HTTP/1.
    Http,
    /// HTTP/2 in the clear.
    H2,
    /// TLS, with either inside.
    Tls,
}

/// How a capture is to be read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Ports whose protocol is not to be detected.
    pub decode_as: Vec<(u16, DecodeAs)>,
    /// Key logs (NSS format), whole.
    pub key_logs: Vec<Bytes>,
    /// The first [`crate::pdu::Conn::id`] to give: ids are unique over several captures.
    pub first_conn: u32,
}

/// Reads the packets of one capture.
pub struct Transport {
    decode_as: Vec<(u16, Protocol)>,
    keylog: KeyLog,
    next_conn: u32,
    defragmenter: Defragmenter,
    flows: Flows,
    /// Link types that were reported as not read.
    unread: BTreeSet<u32>,
}

impl Transport {
    /// Ready for the first packet.
    pub fn new(options: &Options) -> Self {
        let protocol = |decode_as| match decode_as {
            DecodeAs::Http => Protocol::Http1,
            DecodeAs::H2 => Protocol::H2,
            DecodeAs::Tls => Protocol::Tls,
        };
        let mut keylog = KeyLog::new();
        options.key_logs.iter().for_each(|text| keylog.add(text));
        Self {
            decode_as: options.decode_as.iter().map(|(port, d)| (*port, protocol(*d))).collect(),
            keylog,
            next_conn: options.first_conn,
            defragmenter: Defragmenter::default(),
            flows: Flows::default(),
            unread: BTreeSet::new(),
        }
    }

    /// Takes the next packet; gives what HTTP it completes.
    pub fn push_packet(&mut self, mut packet: Packet, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        let begin = match link::network(&packet) {
            Network::Ip(begin) => begin,
            Network::Other => return,
            Network::Unread(linktype) => {
                if self.unread.insert(linktype.0) {
                    let name = link::name(linktype);
                    let text = format!(
                        "packets of link type {} ({name}) are not read, from packet {} on",
                        linktype.0, packet.number
                    );
                    let end = packet.at + packet.bytes.len() as u64;
                    cx.find(Finding::new(Code::NetLink, text).at(Span::new(Space::Input, packet.at, end)));
                }
                return;
            }
        };
        // From here on the packet is its datagram.
        packet.at += begin as u64;
        packet.original_length = packet.original_length.saturating_sub(begin as u32);
        packet.bytes.advance(begin.min(packet.bytes.len()));
        let time = packet.time;
        let datagram = self.defragmenter.push(packet, cx).filter(|d| d.protocol == ip::TCP);
        let Some(datagram) = datagram else {
            return;
        };
        let (source, destination) = (datagram.source, datagram.destination);
        let Some(segment) = Segment::parse(datagram, time) else {
            return;
        };
        let ends = Ends::of(source, destination, &segment);
        let mut env = Env { keylog: &self.keylog, cx, next_conn: &mut self.next_conn };
        self.flows.push(ends, segment, &self.decode_as, &mut env, out);
    }

    /// Adds secrets that the capture itself carries.
    pub fn push_secrets(&mut self, text: &[u8]) {
        self.keylog.add(text);
    }

    /// Ends the capture: every connection that is open ends with it.
    pub fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        let mut env = Env { keylog: &self.keylog, cx, next_conn: &mut self.next_conn };
        self.flows.finish(&mut env, out);
    }

    /// The first connection id that the next capture may give.
    pub fn next_conn(&self) -> u32 {
        self.next_conn
    }

    /// Connections that ended so far and spoke nothing that is read.
    pub fn ignored(&self) -> u64 {
        self.flows.ignored()
    }
}
