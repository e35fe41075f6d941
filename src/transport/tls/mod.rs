//! TLS 1.2 and 1.3 in the clear, by the secrets of an NSS key log: records in, plaintext out.
//! Never breaks a cipher, never shows a secret, never gives bytes that do not authenticate.
//!
//! ```text
//!  StreamPart ─► record::Reader ─► Half::held ─► flow ─► StreamPart
//!   ciphertext    records, holes    until a key   opens    plaintext
//!                                   is at hand    (cipher) or Gap, Lost
//! ```
//!
//! Each direction goes through epochs (RFC 8446, section 4; RFC 5246, section 7.1), each with its own key
//! and with sequence numbers from 0. Where the handshake was seen, key and number are known; where it was
//! not, `search` tries the key log's secrets.

mod cipher;
mod flow;
mod handshake;
mod keylog;
mod opened;
mod record;
mod report;
mod resync;
mod schedule;
mod search;
mod suites;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use keylog::{KeyLog, Random};

use crate::base::{Cx, Limits};
use crate::transport::stream::{Dir, StreamPart};

use cipher::Opener;
use handshake::{Assembler, ClientHello, ServerHello};
use keylog::Label;
use record::{Item, Reader};
use suites::Suite;

/// One TLS connection, seen from outside.
pub struct Session {
    halves: [Half; 2],
    /// The direction that the client sends in, once a hello or a secret tells it.
    client: Option<Dir>,
    hello: Option<ClientHello>,
    server: Option<ServerHello>,
    /// Whether a HelloRetryRequest was seen: TLS 1.3, and no early data any more.
    retry: bool,
    /// The session that a search found, and its suite: the handshake was not seen whole.
    found: Option<(Random, &'static Suite)>,
    alpn: Option<String>,
    /// Whether the server took the 0-RTT data (RFC 8446, section 4.2.10).
    early_accepted: bool,
    /// What is left of `Limits::max_tls_search`, where some was used.
    work: Option<u64>,
    /// Where the first record lies in the capture file.
    at: Option<u64>,
    reported: bool,
}

/// What protects the records of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Epoch {
    /// Nothing yet.
    Clear,
    /// TLS 1.3: 0-RTT.
    Early,
    /// TLS 1.3: handshake keys.
    Handshake,
    /// TLS 1.3: application keys of a generation.
    Application(u32),
    /// TLS 1.2 after ChangeCipherSpec.
    Tls12,
}

/// Plaintext that is owed to the next layer: it was sent, and could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owed {
    Bytes(u64),
    Unknown,
}

/// One direction.
struct Half {
    reader: Reader,
    assembler: Assembler,
    epoch: Epoch,
    /// Whether a ChangeCipherSpec was seen whose meaning the version will tell.
    changed: bool,
    opener: Option<Opener>,
    /// The sequence number of the next record (RFC 8446, section 5.3).
    sequence: u64,
    /// Whether a record authenticated under this opener.
    verified: bool,
    /// Records that may have been lost since the last that authenticated.
    doubt: u64,
    owed: Owed,
    /// What waits for a key, oldest first; at most `Limits::max_tls_held` bytes.
    held: VecDeque<Item>,
    held_bytes: usize,
    /// What the oldest held item was tried against in vain.
    tried: Option<Knowledge>,
    /// Searches since the last of these changed.
    searches: u32,
    searched: Option<Knowledge>,
    /// Whether application data was opened under this key.
    data: bool,
    /// Sequence number and explicit nonce of the last opened record, under TLS 1.2.
    nonce: Option<(u64, u64)>,
    /// 0-RTT data until it is known to be accepted.
    early: Vec<StreamPart>,
    early_bytes: usize,
    /// close_notify, a fatal alert or the end of the stream was passed on.
    ended: bool,
    tally: Tally,
}

/// What a search depends on: with the same, it finds the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Knowledge {
    keys: u64,
    client_hello: bool,
    server_hello: bool,
    found: bool,
}

/// What became of a direction's bytes.
#[derive(Default)]
struct Tally {
    /// Bytes on the wire.
    bytes: u64,
    /// Records that were left sealed for want of a secret, and their bytes.
    sealed_records: u64,
    sealed_bytes: u64,
    /// The secrets that were wanted and not found.
    missing: Vec<Label>,
    /// Records that did not authenticate, and where the first lies.
    damaged: u64,
    damaged_at: Option<u64>,
    /// Whether ever a record authenticated under the secret that then failed.
    damaged_amid: bool,
    /// A suite that is not read.
    unsupported: Option<u16>,
    /// 0-RTT records without a key.
    early_sealed: u64,
}

impl Tally {
    fn miss(&mut self, label: Label) {
        if !self.missing.contains(&label) && self.missing.len() < 8 {
            self.missing.push(label);
        }
    }
}

impl Half {
    fn new() -> Self {
        Self {
            reader: Reader::new(),
            assembler: Assembler::default(),
            epoch: Epoch::Clear,
            changed: false,
            opener: None,
            sequence: 0,
            verified: false,
            doubt: 0,
            owed: Owed::Bytes(0),
            held: VecDeque::new(),
            held_bytes: 0,
            tried: None,
            searches: 0,
            searched: None,
            data: false,
            nonce: None,
            early: Vec::new(),
            early_bytes: 0,
            ended: false,
            tally: Tally::default(),
        }
    }

    /// Begins an epoch: another key, sequence numbers from 0.
    fn enter(&mut self, epoch: Epoch, opener: Option<Opener>) {
        self.epoch = epoch;
        self.opener = opener;
        self.sequence = 0;
        self.verified = false;
        self.doubt = 0;
        self.data = false;
        self.nonce = None;
        if !matches!(epoch, Epoch::Application(1..)) {
            self.owed = Owed::Bytes(0);
        }
    }

    fn owe(&mut self, more: Owed) {
        self.owed = match (self.owed, more) {
            (Owed::Bytes(a), Owed::Bytes(b)) => Owed::Bytes(a.saturating_add(b)),
            _ => Owed::Unknown,
        };
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// Before the first byte.
    pub fn new() -> Self {
        Self {
            halves: [Half::new(), Half::new()],
            client: None,
            hello: None,
            server: None,
            retry: false,
            found: None,
            alpn: None,
            early_accepted: false,
            work: None,
            at: None,
            reported: false,
        }
    }

    /// Takes the next piece of one direction; gives what it decrypts to, of either direction. Secrets
    /// that are added to `keys` later are used from then on, also for the records that are held.
    pub fn push(
        &mut self,
        dir: Dir,
        part: StreamPart,
        keys: &KeyLog,
        cx: &mut Cx<'_>,
        out: &mut Vec<(Dir, StreamPart)>,
    ) {
        let half = self.half(dir);
        match part {
            StreamPart::Data { bytes, time, at } => {
                half.tally.bytes = half.tally.bytes.saturating_add(bytes.len() as u64);
                half.reader.feed(bytes, time, at);
                self.at.get_or_insert(at);
            }
            StreamPart::Gap(length) => half.reader.gap(length),
            StreamPart::Lost => half.reader.lost(),
            end @ (StreamPart::Fin | StreamPart::Reset | StreamPart::CaptureEnd) => {
                self.advance(keys, cx, out);
                return self.end(dir, end, out);
            }
        }
        while let Some(item) = self.half(dir).reader.next() {
            self.item(dir, item, keys, cx, out);
        }
    }

    /// Reports what could not be decrypted: at most one finding for the connection and one a direction.
    pub fn finish(&mut self, cx: &mut Cx<'_>) {
        if !std::mem::replace(&mut self.reported, true) {
            self.give_up(Dir::ToServer, 0);
            self.give_up(Dir::ToClient, 0);
            self.report(cx);
        }
    }

    /// The application protocol agreed on (RFC 7301), once known. TLS 1.3 encrypts it: it takes the
    /// server's handshake secret.
    pub fn alpn(&self) -> Option<&str> {
        self.alpn.as_deref()
    }

    /// The server name that the client asked for (RFC 6066, section 3).
    pub fn sni(&self) -> Option<&str> {
        self.hello.as_ref()?.sni.as_deref()
    }

    /// The direction in which the client sends, once a hello or a secret tells: not always
    /// [`Dir::ToServer`] where the TCP handshake was not captured.
    pub fn client(&self) -> Option<Dir> {
        self.client
    }

    fn half(&mut self, dir: Dir) -> &mut Half {
        let [to_server, to_client] = &mut self.halves;
        match dir {
            Dir::ToServer => to_server,
            Dir::ToClient => to_client,
        }
    }

    fn half_ref(&self, dir: Dir) -> &Half {
        let [to_server, to_client] = &self.halves;
        match dir {
            Dir::ToServer => to_server,
            Dir::ToClient => to_client,
        }
    }

    /// Whether the client sends in this direction, as far as known.
    fn is_client(&self, dir: Dir) -> bool {
        self.client.unwrap_or(Dir::ToServer) == dir
    }

    /// Whether the connection is TLS 1.3, once known.
    fn is_tls13(&self) -> Option<bool> {
        match &self.server {
            Some(server) => Some(server.version == 0x0304),
            None => (self.retry || self.found.is_some()).then_some(true),
        }
    }

    /// The work that may still be done on searches.
    fn work(&self, limits: &Limits) -> u64 {
        self.work.unwrap_or(limits.max_tls_search)
    }

    fn random(&self) -> Option<Random> {
        self.hello.as_ref().map(|h| h.random).or(self.found.map(|(random, _)| random))
    }

    fn knowledge(&self, keys: &KeyLog) -> Knowledge {
        Knowledge {
            keys: keys.version(),
            client_hello: self.hello.is_some(),
            server_hello: self.server.is_some(),
            found: self.found.is_some(),
        }
    }
}
