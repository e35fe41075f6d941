//! Cuts a byte stream into TLS records (RFC 8446, section 5.1; RFC 5246, section 6.2.1), and finds
//! them again after a hole.
//! Never decrypts, never holds more than one record.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::base::Timestamp;

/// Bytes of a record header.
pub(super) const HEADER: usize = 5;
/// Longest fragment: TLS 1.2 allows 2^14 + 2048, TLS 1.3 less.
pub(super) const MAX_FRAGMENT: usize = (1 << 14) + 2048;

/// Content types (RFC 8446, section 5.1).
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// A record header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub kind: u8,
    pub version: u16,
    pub length: usize,
}

impl Header {
    /// Reads a header; `None` where no TLS implementation would send it.
    pub(super) fn parse([kind, major, minor, high, low]: [u8; HEADER]) -> Option<Self> {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let plausible = (20..=24).contains(&kind) && major == 3 && minor <= 4 && length <= MAX_FRAGMENT;
        plausible.then_some(Self { kind, version: u16::from_be_bytes([major, minor]), length })
    }

    /// As [`Header::parse`], for bytes that may be ciphertext: empty records and odd versions do not count.
    fn find([kind, major, minor, high, low]: [u8; HEADER]) -> Option<Self> {
        Self::parse([kind, major, minor, high, low]).filter(|h| h.length > 0 && (1..=3).contains(&minor))
    }
}

/// What lies between a record and the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Loss {
    /// Bytes in which no record could be found.
    pub bytes: u64,
    /// Whether more were lost than `bytes` counts.
    pub more: bool,
}

impl Loss {
    pub(super) fn any(self) -> bool {
        self.bytes > 0 || self.more
    }
}

/// A record as captured.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub kind: u8,
    pub version: u16,
    pub body: Bytes,
    /// When its last byte was captured.
    pub time: Option<Timestamp>,
    /// Where its header lies in the capture file.
    pub at: u64,
    /// What was lost before it.
    pub loss: Loss,
}

/// What the reader finds.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A whole record.
    Record(Record),
    /// A record whose header was captured and whose body has a hole.
    Holed { kind: u8, length: usize },
}

/// Where the bytes of a buffer lie in the capture file.
#[derive(Default)]
struct Marks(VecDeque<(usize, u64)>);

impl Marks {
    fn push(&mut self, length: usize, at: u64) {
        match self.0.back_mut() {
            Some((held, start)) if start.checked_add(*held as u64) == Some(at) => *held += length,
            _ => self.0.push_back((length, at)),
        }
    }

    fn drop(&mut self, mut count: usize) {
        while let Some((held, at)) = self.0.front_mut() {
            if *held > count {
                *held -= count;
                *at = at.saturating_add(count as u64);
                return;
            }
            count -= *held;
            self.0.pop_front();
        }
    }

    fn first(&self) -> u64 {
        self.0.front().map_or(0, |(_, at)| *at)
    }
}

/// One direction's records.
///
/// Input is taken by [`Reader::feed`] and [`Reader::gap`]; after each, [`Reader::next`] is called
/// until it gives `None`. A record found by scanning (`Record::loss` set, or the first of all) stays
/// in the buffer until the next call: [`Reader::reject`] goes on scanning one byte further.
pub(super) struct Reader {
    buffer: Vec<u8>,
    marks: Marks,
    chunk: Bytes,
    chunk_at: u64,
    time: Option<Timestamp>,
    /// Bytes of a holed record that are still to come.
    skip: u64,
    /// Whether record boundaries are unknown.
    scanning: bool,
    loss: Loss,
    /// Length of the record that scanning found last, still in the buffer.
    candidate: usize,
    holed: Option<Item>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            buffer: Vec::new(),
            marks: Marks::default(),
            chunk: Bytes::new(),
            chunk_at: 0,
            time: None,
            skip: 0,
            scanning: true,
            loss: Loss::default(),
            candidate: 0,
            holed: None,
        }
    }

    /// Takes the next bytes. The last must have been read up to `None`.
    pub(super) fn feed(&mut self, bytes: Bytes, time: Option<Timestamp>, at: u64) {
        self.chunk = bytes;
        self.chunk_at = at;
        self.time = time;
    }

    /// Takes a hole of known length.
    pub(super) fn gap(&mut self, mut length: u64) {
        self.accept();
        if self.skip > 0 {
            let within = self.skip.min(length);
            self.skip -= within;
            if length > within {
                self.lose(length - within);
            }
            return;
        }
        let header = self.buffer.first_chunk().copied().and_then(Header::parse).filter(|_| !self.scanning);
        if let Some(header) = header {
            let left = (HEADER + header.length).saturating_sub(self.buffer.len()) as u64;
            self.holed = Some(Item::Holed { kind: header.kind, length: header.length });
            self.clear();
            self.skip = left.saturating_sub(length);
            length = length.saturating_sub(left);
            if length > 0 {
                self.lose(length);
            }
            return;
        }
        let held = self.buffer.len() as u64;
        self.clear();
        self.lose(held.saturating_add(length));
    }

    /// Takes a hole of unknown length.
    pub(super) fn lost(&mut self) {
        self.skip = 0;
        let held = self.buffer.len() as u64;
        self.clear();
        self.lose(held);
        self.loss.more = true;
    }

    /// Says that the last record found by scanning is none: goes on one byte further.
    pub(super) fn reject(&mut self) {
        if self.candidate > 0 {
            self.candidate = 0;
            self.discard(1);
            self.loss.bytes = self.loss.bytes.saturating_add(1);
        }
    }

    /// Bytes since the last record in which none could be found.
    pub(super) fn unsynchronised(&self) -> Loss {
        if self.scanning { self.loss } else { Loss::default() }
    }

    /// The next item, `None` when more bytes are needed.
    pub(super) fn next(&mut self) -> Option<Item> {
        self.accept();
        if let Some(holed) = self.holed.take() {
            return Some(holed);
        }
        if self.skip > 0 {
            let count = usize::try_from(self.skip).unwrap_or(usize::MAX).min(self.chunk.len());
            self.skip -= count as u64;
            drop(self.take(count));
        }
        if self.scanning {
            return self.scan();
        }
        if self.buffer.is_empty()
            && let Some(header) = self.chunk.first_chunk().copied().and_then(Header::parse)
            && self.chunk.len() >= HEADER + header.length
        {
            let at = self.chunk_at;
            let body = self.take(HEADER + header.length).slice(HEADER..);
            return Some(self.record(header, body, at));
        }
        self.fill(HEADER);
        let head = self.buffer.first_chunk().copied()?;
        let Some(header) = Header::parse(head) else {
            self.scanning = true;
            return self.scan();
        };
        self.fill(HEADER + header.length);
        let body = Bytes::copy_from_slice(self.buffer.get(HEADER..HEADER + header.length)?);
        let at = self.marks.first();
        self.discard(HEADER + header.length);
        Some(self.record(header, body, at))
    }

    fn scan(&mut self) -> Option<Item> {
        loop {
            self.fill(HEADER + MAX_FRAGMENT);
            let found = self
                .buffer
                .windows(HEADER)
                .position(|w| <[u8; HEADER]>::try_from(w).ok().and_then(Header::find).is_some());
            let skipped = found.unwrap_or(self.buffer.len().saturating_sub(HEADER - 1));
            self.discard(skipped);
            self.loss.bytes = self.loss.bytes.saturating_add(skipped as u64);
            let header = self.buffer.first_chunk().copied().and_then(Header::find);
            if let Some(header) = header {
                self.fill(HEADER + header.length);
                let body = self.buffer.get(HEADER..HEADER + header.length)?;
                let body = Bytes::copy_from_slice(body);
                self.candidate = HEADER + header.length;
                let (at, loss) = (self.marks.first(), self.loss);
                return Some(Item::Record(Record { loss, ..self.raw(header, body, at) }));
            }
            if self.chunk.is_empty() {
                return None;
            }
        }
    }

    /// Takes the last candidate as a record.
    fn accept(&mut self) {
        if self.candidate > 0 {
            let rest = self.candidate;
            self.discard(rest);
            self.candidate = 0;
            self.scanning = false;
            self.loss = Loss::default();
        }
    }

    fn record(&self, header: Header, body: Bytes, at: u64) -> Item {
        Item::Record(self.raw(header, body, at))
    }

    fn raw(&self, header: Header, body: Bytes, at: u64) -> Record {
        Record {
            kind: header.kind,
            version: header.version,
            body,
            time: self.time,
            at,
            loss: Loss::default(),
        }
    }

    fn lose(&mut self, bytes: u64) {
        self.scanning = true;
        self.loss.bytes = self.loss.bytes.saturating_add(bytes);
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.marks = Marks::default();
        self.candidate = 0;
    }

    fn discard(&mut self, count: usize) {
        self.buffer.drain(..count.min(self.buffer.len()));
        self.marks.drop(count);
    }

    /// Moves bytes from the chunk until the buffer holds `length`, or the chunk is empty.
    fn fill(&mut self, length: usize) {
        let count = length.saturating_sub(self.buffer.len()).min(self.chunk.len());
        if count > 0 {
            let at = self.chunk_at;
            let bytes = self.take(count);
            self.marks.push(count, at);
            self.buffer.extend_from_slice(&bytes);
        }
    }

    fn take(&mut self, count: usize) -> Bytes {
        let bytes = self.chunk.split_to(count.min(self.chunk.len()));
        self.chunk_at = self.chunk_at.saturating_add(bytes.len() as u64);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, length: usize) -> Vec<u8> {
        let mut out = vec![kind, 3, 3, (length >> 8) as u8, length as u8];
        out.extend((0..length).map(|i| i as u8 | 0x80));
        out
    }

    /// Bytes, or a hole of this length.
    enum In {
        Data(Vec<u8>),
        Hole(u64),
    }

    fn run(input: &[In], step: usize) -> Vec<String> {
        let (mut reader, mut out, mut at) = (Reader::new(), Vec::new(), 1000);
        let mut drain = |reader: &mut Reader| {
            while let Some(item) = reader.next() {
                out.push(match item {
                    Item::Record(r) => format!("{}:{}@{}+{}", r.kind, r.body.len(), r.at, r.loss.bytes),
                    Item::Holed { kind, length } => format!("{kind}:{length} holed"),
                });
            }
        };
        for part in input {
            match part {
                In::Data(bytes) => {
                    for piece in bytes.chunks(step) {
                        reader.feed(Bytes::copy_from_slice(piece), None, at);
                        drain(&mut reader);
                        at += piece.len() as u64;
                    }
                }
                In::Hole(length) => {
                    reader.gap(*length);
                    drain(&mut reader);
                }
            }
        }
        out
    }

    fn check(input: &[In], expected: &[&str]) {
        for step in [1, 2, 3, 7, 64, 1 << 20] {
            assert_eq!(run(input, step), expected, "in pieces of {step}");
        }
    }

    #[test]
    fn in_order() {
        let bytes = [record(22, 3), record(23, 300), record(20, 1), record(23, 0), record(21, 2)].concat();
        check(
            &[In::Data(bytes)],
            &["22:3@1000+0", "23:300@1008+0", "20:1@1313+0", "23:0@1319+0", "21:2@1324+0"],
        );
    }

    #[test]
    fn hole_in_a_record_costs_it() {
        let three = [record(22, 3), record(23, 100), record(23, 4)].concat();
        let (before, after) = (three[..20].to_vec(), three[50..].to_vec());
        check(
            &[In::Data(before), In::Hole(30), In::Data(after)],
            &["22:3@1000+0", "23:100 holed", "23:4@1083+0"],
        );
    }

    #[test]
    fn hole_over_headers_is_scanned_past() {
        let four = [record(22, 3), record(23, 100), record(23, 50), record(23, 4)].concat();
        let (before, after) = (four[..20].to_vec(), four[140..].to_vec());
        check(
            &[In::Data(before), In::Hole(120), In::Data(after)],
            &["22:3@1000+0", "23:100 holed", "23:4@1048+55"],
        );
        let (before, after) = (four[..10].to_vec(), four[140..].to_vec());
        check(&[In::Data(before), In::Hole(130), In::Data(after)], &["22:3@1000+0", "23:4@1038+160"]);
    }

    #[test]
    fn joined_inside_a_record() {
        let two = [record(23, 100), record(23, 4)].concat();
        check(&[In::Data(two[30..].to_vec())], &["23:4@1075+75"]);
    }

    #[test]
    fn every_prefix_ends_quietly() {
        let bytes = [record(22, 3), vec![0; 9], record(23, 30)].concat();
        for end in 0..bytes.len() {
            run(&[In::Data(bytes[..end].to_vec()), In::Hole(u64::MAX), In::Hole(7)], 5);
        }
    }

    #[test]
    fn rejected_candidates_are_gone_past() {
        let mut inner = record(23, 40);
        inner.splice(10..10, record(23, 20));
        let mut reader = Reader::new();
        reader.feed(inner.into(), None, 0);
        assert!(matches!(reader.next(), Some(Item::Record(r)) if r.at == 0));
        reader.reject();
        assert!(matches!(reader.next(), Some(Item::Record(r)) if r.at == 10 && r.loss.bytes == 10));
    }
}
