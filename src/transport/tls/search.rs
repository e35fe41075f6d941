//! Finds the secret and the sequence number of a record by trial, where the handshake was not captured.
//! Never does more work on a connection than `Limits::max_tls_search`.

use std::ops::Range;

use crate::base::Limits;
use crate::transport::stream::Dir;

use super::cipher::{Opener, Plain};
use super::keylog::{KeyLog, Label, Random, Secrets};
use super::record::Record;
use super::suites::{Protection, SUITES, Suite, is_tls13};
use super::{Epoch, Session};

/// The part of `Limits::max_tls_search` that one record may take.
const RECORD_SHARE: u64 = 4;
/// Records of one direction that are tried, until the key log grows.
pub(super) const RECORDS: u32 = 64;
/// The work that one secret's key takes: no more secrets than work for them are tried.
const WORK_PER_KEY: u64 = 4_096;
/// Sequence numbers tried for the first record that is seen of a direction, in this order; the last range
/// for AES-GCM alone, where a trial costs next to nothing.
const WINDOWS: [Range<u64>; 4] = [0..256, 256..4_096, 4_096..65_536, 65_536..(1 << 20)];
/// Key updates that may have gone by before the capture began.
pub(super) const UPDATES: u32 = 3;
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
    /// Key updates since the secret that the log gives.
    updates: u32,
}

impl Session {
    /// Tries the key log's secrets on a record of TLS 1.3 whose key is not known.
    pub(super) fn search(
        &mut self,
        dir: Dir,
        record: &Record,
        keys: &KeyLog,
        limits: &Limits,
    ) -> Option<Hit> {
        let knowledge = self.knowledge(keys);
        let half = self.half(dir);
        if half.searched.replace(knowledge) != Some(knowledge) {
            half.searches = 0;
        }
        if keys.is_empty() || half.searches >= RECORDS {
            return None;
        }
        half.searches += 1;
        let work = self.work(limits);
        let mut left = work.min(limits.max_tls_search / RECORD_SHARE);
        let before = left;
        let mut candidates = self.candidates(dir, keys, &mut left);
        let hit = try_all(&mut candidates, record, &mut left);
        self.work = Some(work.saturating_sub(before.saturating_sub(left)));
        hit
    }

    /// What may protect a record, likeliest first.
    fn candidates(&self, dir: Dir, keys: &KeyLog, work: &mut u64) -> Vec<Candidate> {
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
        let roles: &[bool] = match (self.client, self.is_client(dir)) {
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
                    let Some(left) = work.checked_sub(WORK_PER_KEY) else { return };
                    *work = left;
                    let opener = Opener::tls13(suite, secret);
                    out.extend(opener.map(|opener| Candidate {
                        opener,
                        epoch,
                        random: *random,
                        from_client,
                        updates: 0,
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
                // The newest first.
                None => keys.sessions().rev().for_each(|(random, secrets)| add(random, secrets, *role)),
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

/// Near sequence numbers under every secret, and under those that key updates make of it, come before far
/// ones under any.
fn try_all(candidates: &mut Vec<Candidate>, record: &Record, work: &mut u64) -> Option<Hit> {
    let mut first = 0;
    for window in WINDOWS {
        loop {
            for place in first..candidates.len() {
                let Some(candidate) = candidates.get(place) else { continue };
                let gcm = candidate.opener.suite().protection == Protection::Gcm;
                let application = matches!(candidate.epoch, Epoch::Application(_));
                // Handshakes are short.
                if (window.end > 65_536 && !gcm) || (window.end > 256 && !application) {
                    continue;
                }
                let found = candidate.opener.find(window.clone(), record, work);
                if let Some((sequence, plain)) = found {
                    let Candidate { opener, epoch, random, from_client, .. } = candidates.swap_remove(place);
                    return Some(Hit { opener, epoch, sequence, plain, random, from_client });
                }
            }
            let known = candidates.len();
            if window.start == 0 {
                add_later(candidates, first, work);
            }
            if candidates.len() == known {
                break;
            }
            first = known;
        }
        first = 0;
    }
    None
}

/// Adds, for each candidate from a place on, the key after one more key update.
fn add_later(candidates: &mut Vec<Candidate>, from: usize, work: &mut u64) {
    let mut later = Vec::new();
    for candidate in candidates.iter().skip(from) {
        let Epoch::Application(generation) = candidate.epoch else { continue };
        let Some(left) = work.checked_sub(WORK_PER_KEY).filter(|_| candidate.updates < UPDATES) else {
            continue;
        };
        *work = left;
        later.extend(candidate.opener.updated().map(|opener| Candidate {
            opener,
            epoch: Epoch::Application(generation.saturating_add(1)),
            updates: candidate.updates + 1,
            ..*candidate
        }));
    }
    candidates.append(&mut later);
}
