//! Takes records through the epochs of each direction, and opens them.
//! Never blocks one direction on the other for good: what cannot be opened is given up at the limit.

use crate::base::Cx;
use crate::transport::stream::{Dir, StreamPart};

use super::handshake::is_hello;
use super::keylog::KeyLog;
use super::opened::settle;
use super::record::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, Item, Record};
use super::resync::most_records;
use super::search::Hit;
use super::{Epoch, Owed, Session};

/// Records that may have been lost where nothing tells how many.
const UNTOLD: u64 = 256;

/// Whether a direction went on by one item.
enum Step {
    Done,
    /// It needs what is not known yet.
    Blocked(Item),
}

pub(super) type Out = Vec<(Dir, StreamPart)>;

impl Session {
    /// Takes what the reader found.
    pub(super) fn item(&mut self, dir: Dir, item: Item, keys: &KeyLog, cx: &mut Cx<'_>, out: &mut Out) {
        if let Item::Record(record) = &item
            && record.loss.any()
            && self.half(dir).held.is_empty()
            && self.half(dir).verified
        {
            // A record found by scanning is one if it authenticates.
            if !self.resynchronise(dir, record, keys, cx, out) {
                self.half(dir).reader.reject();
            }
            return;
        }
        let half = self.half(dir);
        half.held_bytes += size(&item);
        half.held.push_back(item);
        self.advance(keys, cx, out);
    }

    /// Goes on with what is held, in either direction, as far as the keys at hand allow.
    pub(super) fn advance(&mut self, keys: &KeyLog, cx: &mut Cx<'_>, out: &mut Out) {
        loop {
            let mut went_on = false;
            for dir in [Dir::ToServer, Dir::ToClient] {
                while let Some(item) = self.half(dir).held.pop_front() {
                    let bytes = size(&item);
                    if let Step::Blocked(item) = self.step(dir, item, keys, cx, out) {
                        self.half(dir).held.push_front(item);
                        break;
                    }
                    let half = self.half(dir);
                    half.held_bytes = half.held_bytes.saturating_sub(bytes);
                    half.tried = None;
                    went_on = true;
                }
                went_on |= self.give_up(dir, cx.limits.max_tls_held);
            }
            if !went_on {
                return;
            }
        }
    }

    /// Gives up the oldest of what is held, down to a number of bytes.
    pub(super) fn give_up(&mut self, dir: Dir, limit: usize) -> bool {
        let half = self.half(dir);
        let before = half.held.len();
        while half.held_bytes > limit
            && let Some(item) = half.held.pop_front()
        {
            half.held_bytes = half.held_bytes.saturating_sub(size(&item));
            half.tried = None;
            let length = size(&item) as u64;
            half.tally.sealed_records += 1;
            half.tally.sealed_bytes = half.tally.sealed_bytes.saturating_add(length);
            half.sequence = half.sequence.saturating_add(1);
            half.doubt = half.doubt.saturating_add(1);
            half.owe(Owed::Unknown);
        }
        half.held.len() < before
    }

    /// The direction ends.
    pub(super) fn end(&mut self, dir: Dir, end: StreamPart, out: &mut Out) {
        self.give_up(dir, 0);
        self.flush_early(dir, out);
        let half = self.half(dir);
        if !half.ended {
            if half.verified {
                settle(half, dir, out);
            }
            half.ended = true;
            out.push((dir, end));
        }
    }

    fn step(&mut self, dir: Dir, item: Item, keys: &KeyLog, cx: &Cx<'_>, out: &mut Out) -> Step {
        let record = match item {
            Item::Record(record) => record,
            Item::Holed { kind, length } => {
                self.holed(dir, kind, length);
                return Step::Done;
            }
        };
        if record.loss.any() {
            self.doubted(dir, &record);
        }
        match self.half(dir).epoch {
            Epoch::Clear => self.clear(dir, record, keys, cx, out),
            _ => self.sealed(dir, record, keys, cx, out),
        }
    }

    fn doubted(&mut self, dir: Dir, record: &Record) {
        let half = self.half(dir);
        half.assembler.lost();
        half.doubt = half.doubt.saturating_add(most_records(record.loss));
        half.owe(Owed::Unknown);
    }

    /// A record with a hole in it: one sequence number, and as much plaintext as its length says.
    fn holed(&mut self, dir: Dir, kind: u8, length: usize) {
        let half = self.half(dir);
        half.assembler.lost();
        half.doubt = half.doubt.saturating_add(1);
        if half.epoch == Epoch::Clear {
            half.changed |= kind == CHANGE_CIPHER_SPEC;
            return;
        }
        half.sequence = half.sequence.saturating_add(1);
        if kind == APPLICATION_DATA {
            self.owe_record(dir, length as u64);
        }
    }

    /// A record before keys are in use, or of which that is not known.
    fn clear(&mut self, dir: Dir, record: Record, keys: &KeyLog, cx: &Cx<'_>, out: &mut Out) -> Step {
        let tls13 = self.is_tls13();
        match record.kind {
            CHANGE_CIPHER_SPEC if tls13 == Some(true) => return Step::Done,
            CHANGE_CIPHER_SPEC if tls13 == Some(false) => self.half(dir).enter(Epoch::Tls12, None),
            CHANGE_CIPHER_SPEC => self.half(dir).changed = true,
            HANDSHAKE if self.half(dir).changed && tls13 != Some(true) && !is_hello(&record.body) => {
                if tls13.is_none() {
                    return Step::Blocked(Item::Record(record));
                }
                self.half(dir).enter(Epoch::Tls12, None);
                return self.sealed(dir, record, keys, cx, out);
            }
            HANDSHAKE => {
                let messages = self.half(dir).assembler.push(&record.body);
                messages.into_iter().for_each(|(kind, body)| self.message(dir, kind, &body, out));
            }
            ALERT => self.alert(dir, &record.body, out),
            APPLICATION_DATA => return self.unannounced(dir, record, keys, cx, out),
            _ => {}
        }
        Step::Done
    }

    /// Protected data in a direction whose keys are not known to be in use: the first of TLS 1.3, or the
    /// beginning was lost.
    fn unannounced(&mut self, dir: Dir, record: Record, keys: &KeyLog, cx: &Cx<'_>, out: &mut Out) -> Step {
        if self.is_tls13() == Some(false) {
            self.half(dir).enter(Epoch::Tls12, None);
            self.half(dir).doubt = UNTOLD;
            return self.sealed(dir, record, keys, cx, out);
        }
        if self.server.as_ref().is_some_and(|s| s.version == 0x0304) && self.hello.is_some() {
            let early = self.hello.as_ref().is_some_and(|h| h.early_data);
            let early = early && !self.retry && self.is_client(dir);
            let doubt = self.half(dir).doubt;
            self.half(dir).enter(if early { Epoch::Early } else { Epoch::Handshake }, None);
            self.half(dir).doubt = doubt;
            return self.sealed(dir, record, keys, cx, out);
        }
        let knowledge = self.knowledge(keys);
        if self.half(dir).tried != Some(knowledge) {
            self.half(dir).tried = Some(knowledge);
            if let Some(hit) = self.search(dir, &record, keys, cx.limits) {
                self.hit(dir, hit, &record, cx, out);
                return Step::Done;
            }
        }
        // One hello may come later in the file than it was sent. Without either, nothing is to come.
        if self.hello.is_some() || self.server.is_some() {
            return Step::Blocked(Item::Record(record));
        }
        self.leave(dir, &record);
        Step::Done
    }

    /// A search found the key.
    fn hit(&mut self, dir: Dir, hit: Hit, record: &Record, cx: &Cx<'_>, out: &mut Out) {
        self.client = Some(if hit.from_client { dir } else { dir.flip() });
        // The other direction has one session to try, and must not go without for what this one took.
        self.work = None;
        self.found = Some((hit.random, hit.opener.suite()));
        let half = self.half(dir);
        half.enter(hit.epoch, Some(hit.opener));
        half.sequence = hit.sequence;
        // Plaintext was sent before, unless the key is fresh.
        let fresh = hit.sequence == 0 && !matches!(hit.epoch, Epoch::Application(1..));
        if !fresh && hit.epoch != Epoch::Handshake {
            half.owe(Owed::Unknown);
        }
        self.opened(dir, record, hit.plain, cx, out);
    }

    /// A protected record.
    fn sealed(&mut self, dir: Dir, record: Record, keys: &KeyLog, cx: &Cx<'_>, out: &mut Out) -> Step {
        let tls12 = self.half(dir).epoch == Epoch::Tls12;
        // Middlebox compatibility (RFC 8446, appendix D.4).
        if !tls12 && record.kind != APPLICATION_DATA {
            if record.kind == ALERT && record.body.len() == 2 {
                self.alert(dir, &record.body, out);
            }
            return Step::Done;
        }
        if self.half(dir).opener.is_none() {
            let opener = self.obtain(dir, self.half_ref(dir).epoch, &record, keys);
            self.half(dir).opener = opener;
        }
        let half = self.half_ref(dir);
        let opened = half.opener.as_ref().and_then(|o| o.open(half.sequence, &record));
        if let Some(plain) = opened {
            self.opened(dir, &record, plain, cx, out);
            return Step::Done;
        }
        if self.elsewhere(dir, &record, keys, cx, out) {
            return Step::Done;
        }
        self.failed(dir, record, keys)
    }

    /// A record that nothing at hand opens.
    fn failed(&mut self, dir: Dir, record: Record, keys: &KeyLog) -> Step {
        let epoch = self.half(dir).epoch;
        let label = self.label(dir, epoch);
        if self.half(dir).opener.is_none() {
            // Without the handshake secret the record may be one of the handshake, if the secret that comes
            // after is there: that was tried.
            let after = match epoch {
                Epoch::Early => self.label(dir, Epoch::Handshake),
                _ => self.label(dir, Epoch::Application(0)),
            };
            if epoch == Epoch::Tls12 || matches!(epoch, Epoch::Application(_)) {
                self.half(dir).tally.miss(label);
                return Step::Blocked(Item::Record(record));
            }
            let goes_on =
                self.random().and_then(|r| keys.secrets(&r)).is_some_and(|s| s.of(after).next().is_some());
            let half = self.half(dir);
            half.tally.miss(label);
            if goes_on {
                half.sequence = half.sequence.saturating_add(1);
                if epoch == Epoch::Early {
                    half.tally.early_sealed += 1;
                }
                return Step::Done;
            }
            half.tally.miss(after);
            return Step::Blocked(Item::Record(record));
        }
        let half = self.half(dir);
        half.sequence = half.sequence.saturating_add(1);
        if epoch == Epoch::Early && !half.verified {
            half.tally.early_sealed += 1;
            return Step::Done;
        }
        half.tally.damaged += 1;
        half.tally.damaged_at.get_or_insert(record.at);
        half.tally.damaged_amid |= half.verified;
        half.assembler.lost();
        if half.verified {
            // A damaged record may have held the end of an epoch.
            half.doubt = half.doubt.saturating_add(1);
        }
        if record.kind == APPLICATION_DATA && epoch != Epoch::Handshake {
            self.owe_record(dir, record.body.len() as u64);
        }
        Step::Done
    }
}

fn size(item: &Item) -> usize {
    match item {
        Item::Record(record) => HEADER + record.body.len(),
        // What is held for it is the item alone.
        Item::Holed { .. } => HEADER,
    }
}
