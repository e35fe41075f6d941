//! Finds the secret and the sequence number of a record by trial, where the handshake was not captured.
//! Never does more work on a connection than [`WORK`].

use std::ops::Range;

use crate::transport::stream::Dir;

use super::cipher::{Opener, Plain};
use super::keylog::{KeyLog, Label, Random, Secrets};
use super::record::Record;
use super::suites::{Protection, SUITES, Suite, is_tls13};
use super::{Epoch, Session};

/// The work that searches of one connection may do, in bytes read: a trial of AES-GCM costs a block, one
/// of ChaCha20-Poly1305 or AES-CCM the record. About half a second.
pub(super) const WORK: u64 = 256 << 20;
/// The part of it that one record may take.
const WORK_PER_RECORD: u64 = 64 << 20;
/// Records of one direction that are tried, until the key log grows.
pub(super) const RECORDS: u32 = 64;
/// Sequence numbers tried for the first record that is seen of a direction, in this order; the last range
/// for AES-GCM alone, where a trial costs next to nothing.
const WINDOWS: [Range<u64>; 4] = [0..256, 256..4_096, 4_096..65_536, 65_536..(1 << 20)];
/// Key updates that may have gone by before the capture began.
const GENERATIONS: u32 = 3;
/// Sequence numbers tried after a hole, at most: a hole of n bytes holds no more than n / 22 records.
pub(super) const RESYNC: u64 = 65_536;

/// What authenticated a record.
pub(super) struct Hit {
    pub opener: Opener,
    pub epoch: Epoch,
    pub sequence: u64,
    pub plain: Plain,
    /// Whose secret it is.
    pub random: Random,
    /// Whether it is one of the client's.
    pub from_client: bool,
}

struct Candidate {
    opener: Opener,
    epoch: Epoch,
    random: Random,
    from_client: bool,
}

impl Session {
    /// Tries the key log's secrets on a record of TLS 1.3 whose key is not known.
    pub(super) fn search(&mut self, dir: Dir, record: &Record, keys: &KeyLog) -> Option<Hit> {
        if keys.is_empty() || self.half(dir).searches >= RECORDS {
            return None;
        }
        self.half(dir).searches += 1;
        let mut candidates = self.candidates(dir, keys);
        let mut left = WORK_PER_RECORD.min(self.work);
        let before = left;
        let hit = try_all(&mut candidates, record, &mut left);
        self.work = self.work.saturating_sub(before - left);
        hit
    }

    /// What may protect a record, likeliest first.
    fn candidates(&self, dir: Dir, keys: &KeyLog) -> Vec<Candidate> {
        let suites: Vec<&'static Suite> = match (self.found, &self.server, &self.hello) {
            (Some((_, suite)), ..) => vec![suite],
            (None, Some(server), _) => super::suites::suite(server.suite).into_iter().collect(),
            (None, None, hello) => SUITES
                .iter()
                .filter(|s| is_tls13(s.number))
                .filter(|s| hello.as_ref().is_none_or(|h| h.suites.contains(&s.number)))
                .filter(|s| hello.is_some() || !matches!(s.protection, Protection::Ccm(_)))
                .collect(),
        };
        // A client that is known by its hello or its secret leaves one role to each direction.
        let roles: &[bool] = match (self.client, self.from_client(dir)) {
            (Some(_), true) => &[true],
            (Some(_), false) => &[false],
            (None, true) => &[true, false],
            (None, false) => &[false, true],
        };
        let mut out = Vec::new();
        let mut add = |random: &Random, secrets: &Secrets, from_client: bool| {
            for (label, secret) in secrets.all() {
                let Some(epoch) = epoch_of(label, from_client) else { continue };
                for suite in &suites {
                    let opener = Opener::tls13(suite, secret);
                    out.extend(opener.map(|opener| Candidate {
                        opener,
                        epoch,
                        random: *random,
                        from_client,
                    }));
                }
            }
        };
        for role in roles {
            match self.random() {
                Some(random) => {
                    if let Some(secrets) = keys.secrets(&random) {
                        add(&random, secrets, *role);
                    }
                }
                None => keys.sessions().for_each(|(random, secrets)| add(random, secrets, *role)),
            }
        }
        out
    }
}

fn epoch_of(label: Label, from_client: bool) -> Option<Epoch> {
    match label {
        Label::ClientEarly if from_client => Some(Epoch::Early),
        Label::ClientHandshake if from_client => Some(Epoch::Handshake),
        Label::ServerHandshake if !from_client => Some(Epoch::Handshake),
        Label::ClientTraffic(n) if from_client => Some(Epoch::Application(n)),
        Label::ServerTraffic(n) if !from_client => Some(Epoch::Application(n)),
        _ => None,
    }
}

/// Near sequence numbers under every secret come before far ones under any; then later generations.
fn try_all(candidates: &mut Vec<Candidate>, record: &Record, work: &mut u64) -> Option<Hit> {
    for generation in 0..=GENERATIONS {
        for window in WINDOWS {
            for place in 0..candidates.len() {
                let Some(candidate) = candidates.get(place) else { continue };
                let gcm = candidate.opener.suite().protection == Protection::Gcm;
                let application = matches!(candidate.epoch, Epoch::Application(_));
                // Handshakes are short.
                if (window.end > 65_536 && !gcm) || (window.end > 256 && !application) {
                    continue;
                }
                let found = candidate.opener.find(window.clone(), record, work);
                if let Some((sequence, plain)) = found {
                    let Candidate { opener, epoch, random, from_client } = candidates.swap_remove(place);
                    return Some(Hit { opener, epoch, sequence, plain, random, from_client });
                }
            }
        }
        if generation < GENERATIONS {
            *candidates = candidates.drain(..).filter_map(later).collect();
        }
    }
    None
}

/// The same secret after one more key update.
fn later(candidate: Candidate) -> Option<Candidate> {
    let Epoch::Application(generation) = candidate.epoch else { return None };
    let opener = candidate.opener.updated()?;
    Some(Candidate { opener, epoch: Epoch::Application(generation + 1), ..candidate })
}
