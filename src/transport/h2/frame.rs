//! The frame header and what a frame of each type may look like (RFC 9113, sections 4 and 6).
//! Never reads a payload.

pub(super) const DATA: u8 = 0x00;
pub(super) const HEADERS: u8 = 0x01;
pub(super) const PRIORITY: u8 = 0x02;
pub(super) const RST_STREAM: u8 = 0x03;
pub(super) const SETTINGS: u8 = 0x04;
pub(super) const PUSH_PROMISE: u8 = 0x05;
pub(super) const PING: u8 = 0x06;
pub(super) const GOAWAY: u8 = 0x07;
pub(super) const WINDOW_UPDATE: u8 = 0x08;
pub(super) const CONTINUATION: u8 = 0x09;

/// On DATA and HEADERS.
pub(super) const END_STREAM: u8 = 0x01;
/// On SETTINGS and PING.
pub(super) const ACK: u8 = 0x01;
/// On HEADERS, PUSH_PROMISE and CONTINUATION.
pub(super) const END_HEADERS: u8 = 0x04;
/// On DATA, HEADERS and PUSH_PROMISE.
pub(super) const PADDED: u8 = 0x08;
/// On HEADERS.
pub(super) const PRIORITY_FLAG: u8 = 0x20;

/// SETTINGS_HEADER_TABLE_SIZE.
pub(super) const HEADER_TABLE_SIZE: u16 = 0x01;
/// SETTINGS_MAX_FRAME_SIZE.
pub(super) const MAX_FRAME_SIZE: u16 = 0x05;

/// The client's connection preface (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The frame header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameHeader {
    /// Octets of the payload.
    pub length: u32,
    /// The type.
    pub kind: u8,
    /// The flags.
    pub flags: u8,
    /// The reserved bit; unset in any right frame.
    pub reserved: bool,
    /// The stream identifier.
    pub stream: u32,
}

impl FrameHeader {
    /// Octets of the header.
    pub const LEN: usize = 9;

    /// Reads the header; any nine octets are one.
    pub fn parse([a, b, c, kind, flags, s0, s1, s2, s3]: [u8; Self::LEN]) -> Self {
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            reserved: stream >> 31 != 0,
            stream: stream & 0x7fff_ffff,
        }
    }

    /// Whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Octets of the payload that come before its content: pad length, priority, promised
    /// stream, or all that is read of a short frame.
    pub fn prefix_len(self) -> usize {
        let padded = usize::from(self.has(PADDED));
        match self.kind {
            DATA => padded,
            HEADERS => padded + if self.has(PRIORITY_FLAG) { 5 } else { 0 },
            PUSH_PROMISE => padded + 4,
            RST_STREAM => 4,
            GOAWAY => 8,
            _ => 0,
        }
    }

    /// Whether RFC 9113 allows this frame's stream and length for its type. Unknown types
    /// are allowed: they must be ignored.
    pub fn is_valid(self) -> bool {
        let on_stream = self.stream != 0;
        match self.kind {
            DATA | HEADERS | CONTINUATION | PUSH_PROMISE => {
                on_stream && self.length as usize >= self.prefix_len()
            }
            PRIORITY => on_stream && self.length == 5,
            RST_STREAM => on_stream && self.length == 4,
            SETTINGS if self.has(ACK) => !on_stream && self.length == 0,
            SETTINGS => !on_stream && self.length.is_multiple_of(6),
            PING => !on_stream && self.length == 8,
            GOAWAY => !on_stream && self.length >= 8,
            WINDOW_UPDATE => self.length == 4,
            _ => true,
        }
    }

    /// Whether these nine octets look like a header found by search: stricter than
    /// [`FrameHeader::is_valid`], for what is merely allowed is no evidence.
    pub fn is_plausible(self, max_length: u32) -> bool {
        let flags = match self.kind {
            DATA => END_STREAM | PADDED,
            HEADERS => END_STREAM | END_HEADERS | PADDED | PRIORITY_FLAG,
            PUSH_PROMISE => END_HEADERS | PADDED,
            CONTINUATION => END_HEADERS,
            SETTINGS | PING => ACK,
            PRIORITY | RST_STREAM | GOAWAY | WINDOW_UPDATE => 0,
            _ => return false,
        };
        let fits = match self.kind {
            DATA => self.length > 0 || self.has(END_STREAM),
            HEADERS => self.length > 0,
            // More settings than any peer has.
            SETTINGS => self.length <= 6 * 64,
            GOAWAY => self.length <= 4_096,
            _ => true,
        };
        // Server push is refused by every RPC client, so streams are the client's: odd.
        // A connection does not live to open eight million of them.
        let stream = self.stream == 0 || self.stream % 2 == 1 && self.stream < 1 << 24;
        !self.reserved
            && self.flags & !flags == 0
            && fits
            && stream
            && self.length <= max_length
            && self.is_valid()
    }
}

/// What a search found.
pub(super) enum Found {
    /// Frames begin here.
    At(usize),
    /// Nothing yet; what lies before this offset cannot be the beginning.
    Not(usize),
}

/// Looks for the first offset at which two frame headers follow each other. `over`: no more
/// bytes will come, so a frame that ends just where they do counts, and failing all that a
/// single header must do.
pub(super) fn search(window: &[u8], from: usize, max_length: u32, over: bool) -> Found {
    match scan(window, from, max_length, over.then_some(false)) {
        Found::Not(_) if over => scan(window, from, max_length, Some(true)),
        found => found,
    }
}

/// `cut`: `None` where more bytes may come, else whether a frame may pass the end.
fn scan(window: &[u8], from: usize, max_length: u32, cut: Option<bool>) -> Found {
    let mut at = from;
    while let Some(header) = header_at(window, at) {
        if header.is_plausible(max_length) {
            let next = at + FrameHeader::LEN + header.length as usize;
            match (header_at(window, next), cut) {
                (Some(second), _) if second.is_plausible(max_length) => return Found::At(at),
                (Some(_), _) => {}
                (None, None) => return Found::Not(at),
                (None, Some(cut)) if cut || next == window.len() => return Found::At(at),
                (None, Some(_)) => {}
            }
        }
        at += 1;
    }
    Found::Not(at)
}

fn header_at(window: &[u8], at: usize) -> Option<FrameHeader> {
    Some(FrameHeader::parse(*window.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u8, kind: u8, flags: u8, stream: u8) -> Vec<u8> {
        vec![0, 0, length, kind, flags, 0, 0, 0, stream]
    }

    fn check(window: &[u8], over: bool, expected: Option<usize>) {
        let found = match search(window, 0, 1 << 14, over) {
            Found::At(at) => Some(at),
            Found::Not(_) => None,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_a_chain() {
        let chain = [header(0, DATA, END_STREAM, 1), header(8, PING, 0, 0)].concat();
        check(&chain, false, Some(0));
        check(&[b"garbage".to_vec(), chain.clone()].concat(), false, Some(7));
        check(&chain[..17], false, None);
        check(&chain[..17], true, Some(0));
    }

    #[test]
    fn refuses_what_no_frame_is() {
        check(&[0; 64], true, None);
        check(&[0xff; 64], true, None);
        check(&[header(8, PING, 0, 1), header(8, PING, 0, 0)].concat(), false, None);
    }
}
