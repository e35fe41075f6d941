//! Finds the sequence number, or the epoch, of a record after others were lost.
//! Never takes a record that does not authenticate.

use crate::base::Cx;
use crate::transport::stream::Dir;

use super::cipher::{Opener, Plain};
use super::flow::Out;
use super::keylog::KeyLog;
use super::record::{HEADER, Loss, MAX_FRAGMENT, Record};
use super::search::{RESYNC, UPDATES};
use super::{Epoch, Half, Owed, Session};

/// Shortest protected record of TLS 1.3: header, tag, content type.
const SHORTEST: u64 = 22;

/// The most records that a loss can hold, and that are tried for.
pub(super) fn most_records(loss: Loss) -> u64 {
    if loss.more { RESYNC } else { (loss.bytes / SHORTEST + 1).min(RESYNC) }
}

/// The fewest.
fn fewest_records(loss: Loss) -> u64 {
    if loss.more { 0 } else { loss.bytes / (HEADER + MAX_FRAGMENT) as u64 }
}

impl Session {
    /// A record after a hole that swallowed headers; `false` where it does not authenticate.
    pub(super) fn resynchronise(
        &mut self,
        dir: Dir,
        record: &Record,
        keys: &KeyLog,
        cx: &Cx<'_>,
        out: &mut Out,
    ) -> bool {
        let half = self.half_ref(dir);
        let Some(opener) = &half.opener else { return false };
        let (first, overhead) = (half.sequence, opener.overhead());
        let mut work = self.work(cx.limits);
        let found = by_nonce(half, opener, record).or_else(|| {
            let low = first.saturating_add(fewest_records(record.loss));
            let high = low.saturating_add(most_records(record.loss)).saturating_add(1);
            opener.find(low..high, record, &mut work)
        });
        self.work = Some(work);
        if let Some((sequence, plain)) = found {
            let count = sequence.saturating_sub(first);
            let exact = overhead.filter(|_| !record.loss.more && self.exact(dir)).and_then(|overhead| {
                record.loss.bytes.checked_sub(count.saturating_mul((HEADER + overhead) as u64))
            });
            let half = self.half(dir);
            half.assembler.lost();
            half.sequence = sequence;
            if half.epoch != Epoch::Handshake {
                half.owe(exact.map_or(Owed::Unknown, Owed::Bytes));
            }
            self.opened(dir, record, plain, cx, out);
            return true;
        }
        let doubt = std::mem::replace(&mut self.half(dir).doubt, most_records(record.loss));
        let tls13 = matches!(self.half(dir).epoch, Epoch::Handshake | Epoch::Application(_));
        if tls13 && self.elsewhere(dir, record, keys, cx, out) {
            return true;
        }
        self.half(dir).doubt = doubt;
        false
    }

    /// Tries what else may protect a record: a later sequence number, the next epoch.
    pub(super) fn elsewhere(
        &mut self,
        dir: Dir,
        record: &Record,
        keys: &KeyLog,
        cx: &Cx<'_>,
        out: &mut Out,
    ) -> bool {
        let half = self.half_ref(dir);
        let (epoch, doubt) = (half.epoch, half.doubt.min(RESYNC));
        let mut work = self.work(cx.limits);
        let half = self.half_ref(dir);
        // Records that were given up were counted, so the number may also be lower than the count.
        let low = if half.verified { half.sequence } else { 0 };
        let high = half.sequence.saturating_add(doubt);
        let same = half.opener.as_ref().filter(|_| doubt > 0);
        if let Some((sequence, plain)) =
            same.and_then(|o| o.find(low..high.saturating_add(1), record, &mut work))
        {
            self.work = Some(work);
            let half = self.half(dir);
            if sequence != half.sequence && epoch != Epoch::Handshake {
                half.owe(Owed::Unknown);
            }
            half.sequence = sequence;
            self.opened(dir, record, plain, cx, out);
            return true;
        }
        let next: &[Epoch] = match epoch {
            Epoch::Early => &[Epoch::Handshake, Epoch::Application(0)],
            Epoch::Handshake => &[Epoch::Application(0)],
            _ => &[],
        };
        let mut others: Vec<(Epoch, Opener)> =
            next.iter().filter_map(|epoch| Some((*epoch, self.obtain(dir, *epoch, record, keys)?))).collect();
        if let (Epoch::Application(generation), true) = (epoch, doubt > 0) {
            let first = self.half_ref(dir).opener.as_ref().and_then(Opener::updated);
            let keys = std::iter::successors(first, Opener::updated).take(UPDATES as usize);
            let generations = (generation..=u32::MAX).skip(1).map(Epoch::Application);
            others.extend(generations.zip(keys));
        }
        for (epoch, opener) in others {
            let Some((sequence, plain)) = opener.find(0..doubt.saturating_add(1), record, &mut work) else {
                continue;
            };
            if self.half(dir).epoch == Epoch::Early {
                // Without EndOfEarlyData the server refused the early data: it comes again later.
                match doubt {
                    0 => self.half(dir).early.clear(),
                    _ => self.flush_early(dir, out),
                }
            }
            let half = self.half(dir);
            let lost = epoch != Epoch::Handshake && (sequence > 0 || epoch != Epoch::Application(0));
            half.enter(epoch, Some(opener));
            half.sequence = sequence;
            if lost {
                half.owe(Owed::Unknown);
            }
            self.work = Some(work);
            self.opened(dir, record, plain, cx, out);
            return true;
        }
        self.work = Some(work);
        false
    }

    /// Whether the plaintext of lost records can be told from their length: before its first data a
    /// server of TLS 1.3 sends tickets, which none of it are.
    fn exact(&self, dir: Dir) -> bool {
        let half = self.half_ref(dir);
        half.data || half.epoch == Epoch::Tls12 || self.is_client(dir)
    }

    /// The plaintext of a record of application data whose body has this length is owed.
    pub(super) fn owe_record(&mut self, dir: Dir, body: u64) {
        let overhead = self.half_ref(dir).opener.as_ref().and_then(Opener::overhead);
        let owed = match overhead.filter(|_| self.exact(dir)) {
            Some(overhead) => Owed::Bytes(body.saturating_sub(overhead as u64)),
            None => Owed::Unknown,
        };
        self.half(dir).owe(owed);
    }
}

/// Under TLS 1.2 the nonce that is sent counts records, though not from 0 in every implementation.
fn by_nonce(half: &Half, opener: &Opener, record: &Record) -> Option<(u64, Plain)> {
    let (last, nonce) = half.nonce?;
    let sequence = last.checked_add(opener.explicit_nonce(record)?.checked_sub(nonce)?)?;
    Some((sequence, opener.open(sequence, record)?))
}
