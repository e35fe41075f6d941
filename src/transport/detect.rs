//! Which protocol bytes are, from their first ones, or from any where a connection was joined late.
//! Never consumes, never keeps: pure functions of the bytes so far.

/// What a connection speaks on top of TCP, or of TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Http1,
    H2,
    Tls,
}

/// Who sent the bytes that showed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    Client,
    Server,
    /// Either could have.
    Unknown,
}

/// What is known after the bytes so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Is(Protocol, Sender),
    /// They may yet become one.
    More,
    No,
}

/// The client connection preface (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const METHODS: [&[u8]; 9] =
    [b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"];
/// Longest method name that is waited for.
const MAX_METHOD: usize = 24;
/// Longest request line that is waited for.
const MAX_LINE: usize = 8 << 10;
/// Longest record (RFC 5246, section 6.2.3).
const MAX_TLS_RECORD: usize = (16 << 10) + 2048;
const TLS_HEADER: usize = 5;
const HANDSHAKE: u8 = 22;
const FRAME_HEADER: usize = 9;
/// Longest HTTP/2 frame that is believed where nothing else speaks for it.
const MAX_BELIEVED_FRAME: usize = 1 << 20;

/// Judges the first bytes of a direction.
pub(super) fn at_start(bytes: &[u8]) -> Verdict {
    any([preface(bytes), settings(bytes), hello(bytes), http1(bytes, false)])
}

/// Judges bytes at the beginning of a segment or record in mid-connection.
pub(super) fn in_middle(bytes: &[u8]) -> Verdict {
    any([preface(bytes), hello(bytes), http1(bytes, true), record(bytes), frames(bytes), chunk(bytes)])
}

/// Where, at any place, records or frames begin that follow on each other.
pub(super) fn somewhere(bytes: &[u8]) -> Option<(usize, Protocol)> {
    (1..bytes.len()).find_map(|at| {
        let rest = bytes.get(at..)?;
        if tls_chain(rest) >= 2 {
            return Some((at, Protocol::Tls));
        }
        (frame_chain(rest).0 >= 3).then_some((at, Protocol::H2))
    })
}

/// Whether a direction of a connection that speaks `protocol` may begin here.
pub(super) fn begins(protocol: Protocol, bytes: &[u8]) -> bool {
    let verdict = match protocol {
        Protocol::Http1 => return true,
        Protocol::H2 => any([preface(bytes), frames(bytes)]),
        Protocol::Tls => any([hello(bytes), record(bytes)]),
    };
    matches!(verdict, Verdict::Is(..))
}

fn any<const N: usize>(verdicts: [Verdict; N]) -> Verdict {
    let is = verdicts.iter().find(|v| matches!(v, Verdict::Is(..)));
    match is {
        Some(verdict) => *verdict,
        None if verdicts.contains(&Verdict::More) => Verdict::More,
        None => Verdict::No,
    }
}

fn preface(bytes: &[u8]) -> Verdict {
    if bytes.starts_with(PREFACE) {
        Verdict::Is(Protocol::H2, Sender::Client)
    } else if PREFACE.starts_with(bytes) {
        Verdict::More
    } else {
        Verdict::No
    }
}

/// The server's preface: a SETTINGS frame.
fn settings(bytes: &[u8]) -> Verdict {
    let shape = [Some(0), Some(0), None, Some(4), Some(0), Some(0), Some(0), Some(0), Some(0)];
    let fits = bytes.iter().zip(shape).all(|(byte, want)| want.is_none_or(|want| want == *byte));
    match bytes.get(2) {
        _ if !fits => Verdict::No,
        Some(length) if length % 6 != 0 => Verdict::No,
        _ if bytes.len() >= FRAME_HEADER => Verdict::Is(Protocol::H2, Sender::Server),
        _ => Verdict::More,
    }
}

/// A TLS record that holds a ClientHello or a ServerHello.
fn hello(bytes: &[u8]) -> Verdict {
    let Some(header) = bytes.first_chunk::<{ TLS_HEADER + 1 }>() else {
        return if [HANDSHAKE, 3].iter().zip(bytes).all(|(a, b)| a == b) {
            Verdict::More
        } else {
            Verdict::No
        };
    };
    match header {
        [HANDSHAKE, 3, 0..=4, _, _, 1] => Verdict::Is(Protocol::Tls, Sender::Client),
        [HANDSHAKE, 3, 0..=4, _, _, 2] => Verdict::Is(Protocol::Tls, Sender::Server),
        _ => Verdict::No,
    }
}

fn http1(bytes: &[u8], strict: bool) -> Verdict {
    // RFC 9112, section 2.2: empty lines before a request line are ignored.
    let begin = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(bytes.len());
    let bytes = bytes.get(begin..).unwrap_or_default();
    if bytes.is_empty() {
        return Verdict::More;
    }
    let status = b"HTTP/1.";
    if bytes.starts_with(status) {
        return Verdict::Is(Protocol::Http1, Sender::Server);
    }
    if status.starts_with(bytes) {
        return Verdict::More;
    }
    let letters = bytes.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'-').count();
    let Some(after) = bytes.get(letters) else {
        return if letters <= MAX_METHOD { Verdict::More } else { Verdict::No };
    };
    if *after != b' ' || letters == 0 || letters > MAX_METHOD {
        return Verdict::No;
    }
    if !strict && bytes.get(..letters).is_some_and(|method| METHODS.contains(&method)) {
        return Verdict::Is(Protocol::Http1, Sender::Client);
    }
    let line = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(end) = line.iter().position(|b| *b == b'\n') else {
        return if line.len() < MAX_LINE { Verdict::More } else { Verdict::No };
    };
    let line = line.get(..end).unwrap_or_default().trim_ascii_end();
    let version = line.get(line.len().saturating_sub(9)..).unwrap_or_default();
    if version.starts_with(b" HTTP/1.") { Verdict::Is(Protocol::Http1, Sender::Client) } else { Verdict::No }
}

/// A whole chunk of a chunked body (RFC 9112, section 7.1).
fn chunk(bytes: &[u8]) -> Verdict {
    let digits = bytes.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let Some(line_end) = bytes.get(digits..) else {
        return Verdict::No;
    };
    if digits > 6 || (digits == 0 && !bytes.is_empty()) {
        return Verdict::No;
    }
    if !line_end.starts_with(b"\r\n") {
        return if b"\r\n".starts_with(line_end) { Verdict::More } else { Verdict::No };
    }
    let size = bytes.get(..digits).and_then(|d| std::str::from_utf8(d).ok());
    let Some(size @ 1..) = size.and_then(|d| usize::from_str_radix(d, 16).ok()) else {
        return Verdict::No;
    };
    match line_end.get(2 + size..) {
        None | Some([] | b"\r") => Verdict::More,
        Some(rest) if rest.starts_with(b"\r\n") => Verdict::Is(Protocol::Http1, Sender::Unknown),
        Some(_) => Verdict::No,
    }
}

fn record(bytes: &[u8]) -> Verdict {
    match tls_chain(bytes) {
        0 if bytes.len() < TLS_HEADER && bytes.first().is_none_or(|b| matches!(b, 20..=23)) => Verdict::More,
        0 => Verdict::No,
        _ => Verdict::Is(Protocol::Tls, Sender::Unknown),
    }
}

/// How many TLS record headers follow on each other from the first byte on; 0 where one
/// that should be there is none.
fn tls_chain(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some([kind, major, minor, high, low]) = bytes.first_chunk::<TLS_HEADER>() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if !matches!(kind, 20..=23) || (*major, *minor) != (3, 3) || !(1..=MAX_TLS_RECORD).contains(&length) {
            return 0;
        }
        count += 1;
        bytes = bytes.get(TLS_HEADER + length..).unwrap_or_default();
    }
    count
}

fn frames(bytes: &[u8]) -> Verdict {
    if bytes.len() < FRAME_HEADER {
        return if matches!(bytes, [] | [0, ..]) { Verdict::More } else { Verdict::No };
    }
    match frame_chain(bytes) {
        (0, _) => Verdict::No,
        (1, 0) => Verdict::More,
        _ => Verdict::Is(Protocol::H2, Sender::Unknown),
    }
}

/// How many HTTP/2 frame headers follow on each other from the first byte on, and how many
/// of them are of a shape that chance hardly makes; none where one that should be there is none.
fn frame_chain(mut bytes: &[u8]) -> (usize, usize) {
    let (mut count, mut telling) = (0, 0);
    while let Some(header) = bytes.first_chunk::<FRAME_HEADER>() {
        let Some((length, tells)) = frame(*header) else {
            return (0, 0);
        };
        count += 1;
        telling += usize::from(tells);
        bytes = bytes.get(FRAME_HEADER + length..).unwrap_or_default();
    }
    (count, telling)
}

/// The length of a plausible frame (RFC 9113, sections 4.1 and 6), and whether it is telling.
fn frame([l2, l1, l0, kind, flags, i3, i2, i1, i0]: [u8; FRAME_HEADER]) -> Option<(usize, bool)> {
    let length = u32::from_be_bytes([0, l2, l1, l0]) as usize;
    let stream = u32::from_be_bytes([i3, i2, i1, i0]);
    let (allowed, fits) = match kind {
        0x0 => (0x09, stream != 0),
        0x1 => (0x2d, stream != 0 && length > 0),
        0x2 => (0x00, stream != 0 && length == 5),
        0x3 => (0x00, stream != 0 && length == 4),
        0x4 => (0x01, stream == 0 && length.is_multiple_of(6) && (flags == 0 || length == 0)),
        0x6 => (0x01, stream == 0 && length == 8),
        0x7 => (0x00, stream == 0 && length >= 8),
        0x8 => (0x00, length == 4),
        0x9 => (0x04, stream != 0),
        _ => return None,
    };
    let fits = fits && flags & !allowed == 0 && stream < 1 << 24 && length <= MAX_BELIEVED_FRAME;
    fits.then_some((length, length > 0 && (stream == 0 || stream % 2 == 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Protocol::*;
    use Sender::*;

    fn check(judge: fn(&[u8]) -> Verdict, bytes: &[u8], expect: Verdict) {
        assert_eq!(judge(bytes), expect, "{}", bytes.escape_ascii());
        for cut in 0..bytes.len() {
            let cut = &bytes[..cut];
            let early = judge(cut);
            assert!(
                expect == Verdict::No || early == Verdict::More || early == expect,
                "{}",
                cut.escape_ascii()
            );
        }
    }

    #[test]
    fn beginnings() {
        check(at_start, PREFACE, Verdict::Is(H2, Client));
        check(at_start, b"\0\0\x12\x04\0\0\0\0\0", Verdict::Is(H2, Server));
        check(at_start, b"POST /a.B/C HTTP/1.1\r\n", Verdict::Is(Http1, Client));
        check(at_start, b"\r\nPROPFIND / HTTP/1.1\r\n", Verdict::Is(Http1, Client));
        check(at_start, b"HTTP/1.1 200 OK\r\n", Verdict::Is(Http1, Server));
        check(at_start, b"\x16\x03\x01\x02\0\x01", Verdict::Is(Tls, Client));
        check(at_start, b"\x16\x03\x03\0\x7a\x02", Verdict::Is(Tls, Server));
        check(at_start, b"SSH-2.0-OpenSSH_9.2\r\n", Verdict::No);
        check(at_start, b"HELO mail HTTP\r\n", Verdict::No);
        check(at_start, b"\x12\x34", Verdict::No);
    }

    #[test]
    fn middles() {
        check(in_middle, b"\0\0\x05\0\x01\0\0\0\x0dhello", Verdict::Is(H2, Unknown));
        check(in_middle, b"\0\0\x08\x06\x01\0\0\0\0abcdefgh", Verdict::Is(H2, Unknown));
        check(in_middle, b"\0\0\x08\x06\x01\0\0\0\x01abcdefgh", Verdict::No);
        check(in_middle, b"\x17\x03\x03\0\x04abcd\x17\x03\x03\0\x04", Verdict::Is(Tls, Unknown));
        check(in_middle, b"\x17\x03\x03\0\x04abcdefghi", Verdict::No);
        check(in_middle, b"\x16\x03\x01\x02\0\x01", Verdict::Is(Tls, Client));
        check(in_middle, b"5\r\nhello\r\n", Verdict::Is(Http1, Unknown));
        check(in_middle, b"GET /a HTTP/1.1\r\n", Verdict::Is(Http1, Client));
        check(in_middle, b"GET a life\n", Verdict::No);
    }

    #[test]
    fn inside() {
        let frame = b"\0\0\x03\0\0\0\0\0\x07abc";
        let bytes = [b"tail of a frame".as_slice(), frame, frame, frame].concat();
        assert_eq!(somewhere(&bytes), Some((15, H2)));
        assert_eq!(somewhere(b"nothing that is known, however long it goes on"), None);
        let record = b"\x17\x03\x03\0\x02ab";
        assert_eq!(somewhere(&[b"xyz".as_slice(), record, record].concat()), Some((3, Tls)));
    }
}
