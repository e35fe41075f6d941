//! What opened records say: data for the next layer, handshake messages, alerts; and the keys they ask for.
//! Never passes on a handshake message.

use crate::base::Cx;
use crate::transport::stream::{Dir, StreamPart};

use super::cipher::{Agreed, Opener, Plain};
use super::flow::Out;
use super::handshake::{
    CLIENT_HELLO, ClientHello, ENCRYPTED_EXTENSIONS, END_OF_EARLY_DATA, FINISHED, KEY_UPDATE, SERVER_HELLO,
    ServerHello, encrypted_extensions,
};
use super::keylog::{KeyLog, Label, Secret};
use super::record::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, Record};
use super::suites::{is_tls13, suite};
use super::{Epoch, Half, Owed, Session};

/// Alerts that end nothing but a direction, or nothing (RFC 8446, section 6.1).
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
/// Alert level of TLS 1.2.
const WARNING: u8 = 1;

impl Session {
    /// A record authenticated.
    pub(super) fn opened(&mut self, dir: Dir, record: &Record, plain: Plain, cx: &Cx<'_>, out: &mut Out) {
        let half = self.half(dir);
        half.verified = true;
        half.doubt = 0;
        half.nonce = half.opener.as_ref().and_then(|o| Some((half.sequence, o.explicit_nonce(record)?)));
        half.sequence = half.sequence.saturating_add(1);
        half.data |= plain.kind == APPLICATION_DATA;
        match plain.kind {
            APPLICATION_DATA if plain.bytes.is_empty() => {}
            APPLICATION_DATA if !half.ended => {
                let early = half.epoch == Epoch::Early;
                let length = plain.bytes.len();
                let data = StreamPart::Data { bytes: plain.bytes.into(), time: record.time, at: record.at };
                if !early {
                    settle(half, dir, out);
                    return out.push((dir, data));
                }
                half.early.push(data);
                half.early_bytes = half.early_bytes.saturating_add(length);
                if half.early_bytes > cx.limits.max_tls_held {
                    self.flush_early(dir, out);
                }
            }
            HANDSHAKE => {
                let messages = half.assembler.push(&plain.bytes);
                messages.into_iter().for_each(|(kind, body)| self.message(dir, kind, &body, out));
            }
            ALERT => self.alert(dir, &plain.bytes, out),
            // Renegotiation (RFC 5246, section 7.1).
            CHANGE_CIPHER_SPEC => half.enter(Epoch::Tls12, None),
            _ => {}
        }
    }

    /// A handshake message; its body where it is one that is read.
    pub(super) fn message(&mut self, dir: Dir, kind: u8, body: &[u8], out: &mut Out) {
        let epoch = self.half(dir).epoch;
        match kind {
            CLIENT_HELLO => {
                if let Some(hello) = ClientHello::parse(body) {
                    self.client = Some(dir);
                    self.hello = Some(hello);
                }
            }
            SERVER_HELLO => {
                if let Some(hello) = ServerHello::parse(body) {
                    self.client = Some(dir.flip());
                    self.retry |= hello.retry;
                    if hello.alpn.is_some() {
                        self.alpn.clone_from(&hello.alpn);
                    }
                    if !hello.retry {
                        self.server = Some(hello);
                    }
                }
            }
            ENCRYPTED_EXTENSIONS if epoch == Epoch::Handshake => {
                let (protocol, early) = encrypted_extensions(body);
                self.early_accepted |= early;
                if protocol.is_some() {
                    self.alpn = protocol;
                }
            }
            FINISHED if epoch == Epoch::Handshake => {
                let lost = self.early_accepted && self.half(dir).tally.early_sealed > 0;
                let half = self.half(dir);
                half.enter(Epoch::Application(0), None);
                if lost {
                    half.owe(Owed::Unknown);
                }
            }
            END_OF_EARLY_DATA if epoch == Epoch::Early => {
                self.flush_early(dir, out);
                self.half(dir).enter(Epoch::Handshake, None);
            }
            KEY_UPDATE => {
                let half = self.half(dir);
                if let Epoch::Application(generation) = epoch {
                    let next = half.opener.as_ref().and_then(Opener::updated);
                    half.enter(Epoch::Application(generation.saturating_add(1)), next);
                }
            }
            _ => {}
        }
    }

    /// An alert (RFC 8446, section 6; RFC 5246, section 7.2).
    pub(super) fn alert(&mut self, dir: Dir, body: &[u8], out: &mut Out) {
        let &[level, description] = body else { return };
        let harmless = self.is_tls13() != Some(true) && level == WARNING;
        let end = match description {
            CLOSE_NOTIFY => StreamPart::Fin,
            USER_CANCELED => return,
            _ if harmless => return,
            _ => StreamPart::Reset,
        };
        self.flush_early(dir, out);
        let half = self.half(dir);
        if !std::mem::replace(&mut half.ended, true) {
            settle(half, dir, out);
            out.push((dir, end));
        }
    }

    /// Passes 0-RTT data on.
    pub(super) fn flush_early(&mut self, dir: Dir, out: &mut Out) {
        let half = self.half(dir);
        if half.early.is_empty() || half.ended {
            return;
        }
        half.early_bytes = 0;
        let early = std::mem::take(&mut half.early);
        out.extend(early.into_iter().map(|part| (dir, part)));
    }

    /// What the secret of an epoch is called.
    pub(super) fn label(&self, dir: Dir, epoch: Epoch) -> Label {
        match (epoch, self.is_client(dir)) {
            (Epoch::Clear | Epoch::Tls12, _) => Label::Master,
            (Epoch::Early, _) => Label::ClientEarly,
            (Epoch::Handshake, true) => Label::ClientHandshake,
            (Epoch::Handshake, false) => Label::ServerHandshake,
            (Epoch::Application(n), true) => Label::ClientTraffic(n),
            (Epoch::Application(n), false) => Label::ServerTraffic(n),
        }
    }

    /// The key of an epoch by the handshake that was seen and the key log; of several that the log
    /// gives, the one that opens the record.
    pub(super) fn obtain(
        &mut self,
        dir: Dir,
        epoch: Epoch,
        record: &Record,
        keys: &KeyLog,
    ) -> Option<Opener> {
        let suite = match (&self.server, self.found) {
            (Some(server), _) => {
                let found = suite(server.suite).filter(|_| readable(server));
                if found.is_none() {
                    let number = server.suite;
                    self.half(dir).tally.unsupported = Some(number);
                }
                found?
            }
            (None, Some((_, suite))) => suite,
            _ => return None,
        };
        let label = self.label(dir, epoch);
        let sequence = if self.half(dir).epoch == epoch { self.half(dir).sequence } else { 0 };
        let random = self.random();
        let logged = random.as_ref().and_then(|r| keys.secrets(r)).into_iter().flat_map(|s| s.of(label));
        let mut openers: Vec<Opener> = match epoch {
            Epoch::Tls12 => {
                let by_id = self.server.as_ref().and_then(|s| keys.by_session_id(&s.session_id));
                logged.chain(by_id).filter_map(|master| self.tls12(dir, master)).collect()
            }
            _ => logged.filter_map(|secret| Opener::tls13(suite, secret)).collect(),
        };
        let fits = if openers.len() > 1 {
            openers.iter().position(|o| o.open(sequence, record).is_some()).unwrap_or(0)
        } else {
            0
        };
        (fits < openers.len()).then(|| openers.swap_remove(fits))
    }

    /// Leaves a record sealed.
    pub(super) fn leave(&mut self, dir: Dir, record: &Record) {
        let tally = &mut self.half(dir).tally;
        tally.sealed_records += 1;
        tally.sealed_bytes = tally.sealed_bytes.saturating_add((HEADER + record.body.len()) as u64);
    }

    fn tls12(&self, dir: Dir, master: &Secret) -> Option<Opener> {
        let (hello, server) = (self.hello.as_ref()?, self.server.as_ref()?);
        let agreed = Agreed {
            suite: suite(server.suite)?,
            client_random: &hello.random,
            server_random: &server.random,
            encrypt_then_mac: server.encrypt_then_mac,
        };
        Opener::tls12(&agreed, master, self.is_client(dir))
    }
}

/// Whether the version and the suite that a server chose can be read, and go together.
fn readable(server: &ServerHello) -> bool {
    match server.version {
        0x0303 => !is_tls13(server.suite),
        0x0304 => is_tls13(server.suite),
        _ => false,
    }
}

/// Passes on what is owed before the next data.
pub(super) fn settle(half: &mut Half, dir: Dir, out: &mut Out) {
    match std::mem::replace(&mut half.owed, Owed::Bytes(0)) {
        Owed::Bytes(0) => {}
        Owed::Bytes(length) => out.push((dir, StreamPart::Gap(length))),
        Owed::Unknown => out.push((dir, StreamPart::Lost)),
    }
}
