//! The header tables of HPACK (RFC 7541, section 2.3 and appendix A).
//! Never grows past its bound, never gives an entry that the capture cannot vouch for.

use std::collections::VecDeque;

/// RFC 7541, appendix A; index 1 comes first.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
    ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

/// What an entry costs besides its octets (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;
/// The size in force until an update says otherwise (RFC 9113, section 6.5.2).
const DEFAULT_SIZE: usize = 4_096;
/// Kept where the size in force is not known: an entry kept too long does no harm, for a
/// right encoder never names one that it has evicted.
const UNKNOWN_SIZE: usize = 64 << 10;

/// An entry as far as it is known.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Entry {
    /// The name; `None` where it was an index that could not be resolved.
    pub name: Option<String>,
    /// The value; `None` where it could not be read.
    pub value: Option<String>,
    /// Octets of name and value on the wire.
    pub octets: usize,
}

/// What an index stands for.
pub(super) enum Lookup<'a> {
    /// This static entry.
    Static(&'static str, &'static str),
    /// This entry of the dynamic table.
    Dynamic(&'a Entry),
    /// An entry that was added before the capture can tell.
    Unknown,
    /// Nothing: no encoder may say this.
    Invalid,
}

/// Static and dynamic table of one direction. Entries count from the newest, so those that
/// were seen have their right index even where older ones were not.
pub(super) struct Table {
    /// Newest first.
    entries: VecDeque<Entry>,
    /// Sum over `entries`; never more than `bound`.
    size: usize,
    bound: usize,
    /// Whether entries may lie beyond those seen.
    unknown: bool,
}

impl Table {
    /// The empty table that a connection begins with.
    pub fn new() -> Self {
        Self { entries: VecDeque::new(), size: 0, bound: DEFAULT_SIZE, unknown: false }
    }

    /// The table of a connection that began before the capture.
    pub fn unknown() -> Self {
        Self { bound: UNKNOWN_SIZE, unknown: true, ..Self::new() }
    }

    /// Entries may have been added unseen: none of those held has a known index any more.
    pub fn lose(&mut self) {
        self.entries.clear();
        self.size = 0;
        self.unknown = true;
        self.bound = self.bound.max(UNKNOWN_SIZE);
    }

    /// An entry's size is not known, so neither is what it evicted.
    pub fn doubt(&mut self) {
        self.unknown = true;
    }

    /// Resolves an index (RFC 7541, section 2.3.3).
    pub fn get(&self, index: u64) -> Lookup<'_> {
        let Some(index) = usize::try_from(index).ok().and_then(|i| i.checked_sub(1)) else {
            return Lookup::Invalid;
        };
        if let Some((name, value)) = STATIC.get(index) {
            return Lookup::Static(name, value);
        }
        match self.entries.get(index - STATIC.len()) {
            Some(entry) => Lookup::Dynamic(entry),
            None if self.unknown => Lookup::Unknown,
            None => Lookup::Invalid,
        }
    }

    /// Adds an entry and evicts what has no room (RFC 7541, section 4.4).
    pub fn insert(&mut self, entry: Entry) {
        let size = entry.octets.saturating_add(OVERHEAD);
        if size > self.bound {
            self.entries.clear();
            self.size = 0;
            return;
        }
        self.evict(self.bound - size);
        self.size += size;
        self.entries.push_front(entry);
    }

    /// Dynamic Table Size Update; at most `cap` octets are kept whatever it says.
    pub fn resize(&mut self, size: u64, cap: usize) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size == 0 {
            self.unknown = false;
        } else if size > cap {
            self.unknown = true;
        }
        self.bound = size.min(cap);
        self.evict(self.bound);
    }

    fn evict(&mut self, room: usize) {
        while self.size > room {
            let Some(entry) = self.entries.pop_back() else { break };
            self.size = self.size.saturating_sub(entry.octets.saturating_add(OVERHEAD));
        }
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.size
    }
}
