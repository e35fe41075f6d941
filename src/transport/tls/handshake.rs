//! Handshake messages: put together over records, and the few that matter read.
//! Never holds a message that is not read, certificates above all.

use super::keylog::Random;

/// Message types (RFC 8446, section 4).
pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const END_OF_EARLY_DATA: u8 = 5;
pub(super) const ENCRYPTED_EXTENSIONS: u8 = 8;
pub(super) const FINISHED: u8 = 20;
pub(super) const KEY_UPDATE: u8 = 24;

/// Longest message that is put together; a longer one of these types is passed over.
const MAX_MESSAGE: usize = 1 << 16;

/// The random that marks a HelloRetryRequest (RFC 8446, section 4.1.3).
const RETRY: Random = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Cuts the handshake stream of one direction into messages.
#[derive(Default)]
pub(super) struct Assembler {
    buffer: Vec<u8>,
    /// Bytes of the current message that are passed over.
    skip: usize,
    /// Its type, where its end matters.
    ending: Option<u8>,
}

impl Assembler {
    /// Adds the content of one record; gives the messages of the types above that end in it. Of those
    /// whose content is not read, only the type is told.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let mut out = Vec::new();
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            if self.skip > 0 {
                return out;
            }
            // These change keys once they end; what they say is of no use here.
            out.extend(self.ending.take().map(|kind| (kind, Vec::new())));
            if bytes.is_empty() {
                return out;
            }
            self.fill(&mut bytes, 4);
            let Some([kind, a, b, c]) = self.buffer.first_chunk().copied() else { return out };
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let read = matches!(kind, CLIENT_HELLO | SERVER_HELLO | ENCRYPTED_EXTENSIONS);
            if !read || length > MAX_MESSAGE {
                self.buffer.clear();
                self.skip = length;
                self.ending = matches!(kind, END_OF_EARLY_DATA | FINISHED | KEY_UPDATE).then_some(kind);
                continue;
            }
            self.fill(&mut bytes, 4 + length);
            if self.buffer.len() < 4 + length {
                return out;
            }
            out.push((kind, self.buffer.split_off(4)));
            self.buffer.clear();
        }
    }

    /// Forgets an unfinished message: bytes of it are lost.
    pub(super) fn lost(&mut self) {
        *self = Self::default();
    }

    fn fill(&mut self, bytes: &mut &[u8], length: usize) {
        let count = length.saturating_sub(self.buffer.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(count);
        self.buffer.extend_from_slice(taken);
        *bytes = rest;
    }
}

/// Whether a record's content is a ClientHello or ServerHello in the clear.
pub(super) fn is_hello(body: &[u8]) -> bool {
    match body {
        [CLIENT_HELLO | SERVER_HELLO, 0, high, low, 3, ..] => {
            // A hello may go on in the next record, but never be followed by rubbish.
            usize::from(u16::from_be_bytes([*high, *low])) >= 38
        }
        _ => false,
    }
}

/// What a ClientHello says (RFC 8446, section 4.1.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClientHello {
    pub random: Random,
    pub session_id: Vec<u8>,
    pub suites: Vec<u16>,
    /// The server name (RFC 6066, section 3).
    pub sni: Option<String>,
    /// The protocols offered (RFC 7301).
    pub alpn: Vec<String>,
    /// Whether 0-RTT data follows.
    pub early_data: bool,
}

/// What a ServerHello says (RFC 8446, section 4.1.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServerHello {
    pub random: Random,
    pub session_id: Vec<u8>,
    pub suite: u16,
    /// The version agreed on: 0x0303 for TLS 1.2, 0x0304 for TLS 1.3.
    pub version: u16,
    /// The protocol chosen (TLS 1.2 alone).
    pub alpn: Option<String>,
    /// RFC 7366.
    pub encrypt_then_mac: bool,
    /// Whether it is a HelloRetryRequest.
    pub retry: bool,
}

impl ClientHello {
    /// Reads a ClientHello; `None` where it breaks off before its cipher suites.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let mut r = Cursor(body);
        r.take(2)?;
        let random = *r.take(32)?.first_chunk()?;
        let session_id = r.vector8()?.to_vec();
        let suites = r.vector16()?.chunks_exact(2).filter_map(|c| Cursor(c).u16()).collect();
        let mut hello = Self { random, session_id, suites, sni: None, alpn: Vec::new(), early_data: false };
        r.vector8();
        for (kind, data) in extensions(&mut r) {
            match kind {
                0 => hello.sni = server_name(data),
                16 => hello.alpn = protocols(data),
                42 => hello.early_data = true,
                _ => {}
            }
        }
        Some(hello)
    }
}

impl ServerHello {
    /// Reads a ServerHello or HelloRetryRequest; `None` where it breaks off before its cipher suite.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let mut r = Cursor(body);
        let version = r.u16()?;
        let random = *r.take(32)?.first_chunk()?;
        let session_id = r.vector8()?.to_vec();
        let suite = r.u16()?;
        r.take(1);
        let mut hello = Self {
            random,
            session_id,
            suite,
            version,
            alpn: None,
            encrypt_then_mac: false,
            retry: random == RETRY,
        };
        for (kind, data) in extensions(&mut r) {
            match kind {
                16 => hello.alpn = protocols(data).into_iter().next(),
                22 => hello.encrypt_then_mac = true,
                43 => hello.version = Cursor(data).u16().unwrap_or(hello.version),
                _ => {}
            }
        }
        Some(hello)
    }
}

/// What EncryptedExtensions say (RFC 8446, section 4.3.1): the protocol chosen, and whether early data
/// is taken.
pub(super) fn encrypted_extensions(body: &[u8]) -> (Option<String>, bool) {
    let (mut protocol, mut early) = (None, false);
    for (kind, data) in extensions(&mut Cursor(body)) {
        match kind {
            16 => protocol = protocols(data).into_iter().next(),
            42 => early = true,
            _ => {}
        }
    }
    (protocol, early)
}

fn extensions<'a>(r: &mut Cursor<'a>) -> impl Iterator<Item = (u16, &'a [u8])> {
    let mut list = Cursor(r.vector16().unwrap_or_default());
    std::iter::from_fn(move || Some((list.u16()?, list.vector16()?)))
}

fn server_name(data: &[u8]) -> Option<String> {
    let mut list = Cursor(Cursor(data).vector16()?);
    let kind = list.take(1)?;
    let name = list.vector16()?;
    (kind == [0] && name.len() <= 255).then(|| String::from_utf8_lossy(name).into_owned())
}

fn protocols(data: &[u8]) -> Vec<String> {
    let mut list = Cursor(Cursor(data).vector16().unwrap_or_default());
    std::iter::from_fn(|| list.vector8())
        .filter(|p| !p.is_empty())
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .take(32)
        .collect()
}

/// Reads fixed and length-prefixed pieces (RFC 8446, section 3).
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    fn vector8(&mut self) -> Option<&'a [u8]> {
        let count = *self.take(1)?.first()?;
        self.take(count.into())
    }

    fn vector16(&mut self) -> Option<&'a [u8]> {
        let count = self.u16()?;
        self.take(count.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = (u32::from(kind) << 24 | body.len() as u32).to_be_bytes().to_vec();
        out.extend_from_slice(body);
        out
    }

    fn vector16(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
    }

    fn client_hello() -> Vec<u8> {
        let name = [&[0][..], &vector16(b"a.example")].concat();
        let extension = |kind: u16, data: &[u8]| [&kind.to_be_bytes()[..], &vector16(data)].concat();
        let extensions = [
            extension(0, &vector16(&name)),
            extension(16, &vector16(b"\x02h2\x08http/1.1")),
            extension(42, &[]),
        ]
        .concat();
        let fixed = [&[3, 3][..], &[7; 32], &[1, 9], &[0, 4, 0x13, 1, 0xc0, 0x2f], &[1, 0]].concat();
        [fixed, vector16(&extensions)].concat()
    }

    #[test]
    fn client_hello_is_read() {
        let hello = ClientHello::parse(&client_hello()).unwrap();
        assert_eq!((hello.random, hello.session_id, hello.suites), ([7; 32], vec![9], vec![0x1301, 0xc02f]));
        assert_eq!(hello.sni.as_deref(), Some("a.example"));
        assert_eq!(hello.alpn, ["h2", "http/1.1"]);
        assert!(hello.early_data);
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let whole = client_hello();
        for end in 0..whole.len() {
            let hello = ClientHello::parse(&whole[..end]);
            assert_eq!(hello.is_some(), end >= 42, "{end}");
            ServerHello::parse(&whole[..end]);
            encrypted_extensions(&whole[..end]);
        }
    }

    #[test]
    fn messages_are_cut_at_any_split() {
        let bytes = [
            message(11, &[5; 3000]),
            message(SERVER_HELLO, &[1; 50]),
            message(8, b"\x00\x00"),
            message(20, &[2; 32]),
        ]
        .concat();
        let expected = [(2, vec![1; 50]), (8, vec![0, 0]), (20, vec![])];
        for step in [1, 3, 100, bytes.len()] {
            let mut assembler = Assembler::default();
            let found: Vec<_> = bytes.chunks(step).flat_map(|c| assembler.push(c)).collect();
            assert_eq!(found, expected, "in pieces of {step}");
        }
    }

    #[test]
    fn long_messages_are_not_held() {
        let mut assembler = Assembler::default();
        assert!(assembler.push(&[SERVER_HELLO, 0xff, 0xff, 0xff, 1, 2, 3]).is_empty());
        assert!(assembler.buffer.is_empty());
    }
}
