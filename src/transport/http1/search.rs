//! Finds where HTTP/1 can be read again: a start line, or a chunk.
//! Never believes a chunk whose end does not fit, where its end is there to see.

use crate::pdu::Side;

use super::parse::chunk_size;

/// Longest request line that is believed.
const MAX_LINE: usize = 8 << 10;
/// Longest chunk-size line that is believed, extensions included.
const MAX_SIZE_LINE: usize = 256;
/// A chunk up to this length is waited for, to see whether its end fits.
const MAX_CHECKED: u64 = 64 << 10;

const METHODS: [&[u8]; 9] =
    [b"POST ", b"GET ", b"HEAD ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE "];
const VERSION: &[u8] = b"HTTP/1.";

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) struct Want {
    /// Heads of this side; of both where it is not known which side speaks.
    pub side: Option<Side>,
    /// Chunk-size lines.
    pub chunks: bool,
    /// The first byte of the window follows a hole, or begins the capture: a chunk-size
    /// line may begin there.
    pub at_start: bool,
    /// No more bytes will come.
    pub over: bool,
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// A start line begins here.
    Head(usize),
    /// A chunk-size line begins here.
    Chunk(usize),
    /// Nothing; what lies before this offset cannot be the beginning.
    Not(usize),
}

/// A test of one offset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// More bytes must decide.
    More,
}

/// Looks for the first offset that fits. At the end, a chunk that is all there is better
/// evidence than one that is cut, wherever it lies.
pub(super) fn search(window: &[u8], from: usize, want: Want) -> Found {
    match scan(window, from, want, false) {
        Found::Not(_) if want.over => scan(window, from, want, true),
        found => found,
    }
}

fn scan(window: &[u8], from: usize, want: Want, cut: bool) -> Found {
    for at in from..window.len() {
        let rest = window.get(at..).unwrap_or_default();
        let head = match want.side {
            Some(Side::Request) => request_line(rest),
            Some(Side::Response) => status_line(rest),
            None => either(request_line(rest), status_line(rest)),
        };
        match head {
            Match::Yes => return Found::Head(at),
            Match::More if !want.over => return Found::Not(at),
            _ => {}
        }
        if !want.chunks {
            continue;
        }
        // Where a line end comes first, it stays in the window until its chunk is decided.
        let lead = match rest {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            [b'\r'] if !want.over => return Found::Not(at),
            _ if at == 0 && want.at_start => 0,
            _ => continue,
        };
        match chunk(rest.get(lead..).unwrap_or_default(), lead == 0, cut) {
            Match::Yes => return Found::Chunk(at + lead),
            Match::More if !want.over => return Found::Not(at),
            _ => {}
        }
    }
    Found::Not(window.len())
}

fn either(a: Match, b: Match) -> Match {
    match (a, b) {
        (Match::Yes, _) | (_, Match::Yes) => Match::Yes,
        (Match::No, Match::No) => Match::No,
        _ => Match::More,
    }
}

/// Whether `bytes` begin with `prefix`, as far as they go.
fn begins(bytes: &[u8], prefix: &[u8]) -> Match {
    let n = bytes.len().min(prefix.len());
    if bytes.get(..n) != prefix.get(..n) {
        Match::No
    } else if n < prefix.len() {
        Match::More
    } else {
        Match::Yes
    }
}

/// `HTTP/1.1 200`, with what may follow it.
fn status_line(bytes: &[u8]) -> Match {
    if begins(bytes, VERSION) != Match::Yes {
        return begins(bytes, VERSION);
    }
    const SHAPE: &[u8] = b"HTTP/1.d ddde";
    for (octet, shape) in bytes.iter().zip(SHAPE).skip(VERSION.len()) {
        let fits = match shape {
            b'd' => octet.is_ascii_digit(),
            b'e' => matches!(octet, b' ' | b'\r' | b'\n'),
            _ => octet == shape,
        };
        if !fits {
            return Match::No;
        }
    }
    if bytes.len() < SHAPE.len() { Match::More } else { Match::Yes }
}

/// A known method, a target and the version, to the end of the line.
fn request_line(bytes: &[u8]) -> Match {
    let mut method = METHODS.iter().map(|method| (begins(bytes, method), method.len()));
    let Some((known, skip)) = method.find(|(known, _)| *known != Match::No) else {
        return Match::No;
    };
    if known == Match::More {
        return Match::More;
    }
    let rest = bytes.get(skip..).unwrap_or_default();
    let line = rest.get(..MAX_LINE).unwrap_or(rest);
    let end = line.iter().position(|b| *b < b' ' || *b == 0x7f);
    let Some(end) = end else {
        return if rest.len() < MAX_LINE { Match::More } else { Match::No };
    };
    let (line, tail) = line.split_at_checked(end).unwrap_or_default();
    let shape = line.split_last_chunk::<9>();
    let versioned = shape.is_some_and(|(target, last)| {
        !target.is_empty()
            && last.starts_with(b" HTTP/1.")
            && last.ends_with(&[last[8]])
            && last[8].is_ascii_digit()
    });
    match tail {
        [b'\r'] if versioned => Match::More,
        [b'\n', ..] | [b'\r', b'\n', ..] if versioned => Match::Yes,
        _ => Match::No,
    }
}

/// A chunk-size line whose chunk ends with a line end. `bare`: nothing led up to it, so that
/// a long or cut chunk is not believed. `cut`: the end is not there.
fn chunk(bytes: &[u8], bare: bool, cut: bool) -> Match {
    let line = bytes.get(..MAX_SIZE_LINE).unwrap_or(bytes);
    if !line.first().is_none_or(u8::is_ascii_hexdigit) {
        return Match::No;
    }
    let Some(end) = memchr::memchr(b'\n', line) else {
        let fits = line.iter().take_while(|b| !matches!(b, b';' | b' ' | b'\t' | b'\r'));
        let fits = fits.clone().all(u8::is_ascii_hexdigit) && fits.count() <= 8;
        return if fits && bytes.len() < MAX_SIZE_LINE { Match::More } else { Match::No };
    };
    let (line, data) = bytes.split_at_checked(end + 1).unwrap_or_default();
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let Some(size) = chunk_size(line).filter(|_| digits <= 8) else { return Match::No };
    if size > MAX_CHECKED {
        return if bare { Match::No } else { Match::Yes };
    }
    let cut = if cut && size > 0 && !bare { Match::Yes } else { Match::More };
    match usize::try_from(size).ok().and_then(|n| data.get(n..)).unwrap_or_default() {
        [b'\n', ..] | [b'\r', b'\n', ..] => Match::Yes,
        [] | [b'\r'] => cut,
        // Trailers.
        [octet, ..] if size == 0 && !bare && octet.is_ascii_alphabetic() => Match::Yes,
        _ => Match::No,
    }
}

/// Whether a header block may begin like this, as far as it goes. Once `No`, longer blocks
/// are `No` too.
pub(super) fn may_be_head(bytes: &[u8], side: Option<Side>) -> bool {
    let response = || begins(bytes, VERSION) != Match::No;
    let request = || {
        let token = bytes.iter().take_while(|b| b.is_ascii_uppercase() || **b == b'-').count();
        let next = bytes.get(token);
        token <= 20 && (next.is_none() || token > 0 && next == Some(&b' '))
    };
    match side {
        Some(Side::Request) => request(),
        Some(Side::Response) => response(),
        None => request() || response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(window: &[u8], over: bool, expected: Found) {
        let want = Want { side: None, chunks: true, at_start: true, over };
        assert_eq!(search(window, 0, want), expected, "{:?}", String::from_utf8_lossy(window));
    }

    #[test]
    fn heads() {
        check(b"xxPOST /a HTTP/1.1\r\n", false, Found::Head(2));
        check(b"xxPOST /a HTTP/1.1", false, Found::Not(2));
        check(b"xxPOST /a HTTP/1.1", true, Found::Not(18));
        check(b"xxPOST now\n.HTTP/1.1 200 OK", false, Found::Head(12));
        check(b"HTTP/1.1 2", false, Found::Not(0));
        check(b"HTTP/1.1 20x", false, Found::Not(12));
    }

    #[test]
    fn chunks() {
        check(b"xbc\r\n3\r\nxyz\r\n", false, Found::Chunk(5));
        check(b"xbc\r\n3\r\nxyzw\r\n", false, Found::Not(12));
        check(b"xbc\r\n3\r\nxy", false, Found::Not(3));
        check(b"xbc\r\n3\r\nxy", true, Found::Chunk(5));
        check(b"abc\r\n3\r\nxyz\r\n", true, Found::Chunk(5));
        check(b"3;e\r\nxyz\r\n", false, Found::Chunk(0));
        check(b"..\r\n0\r\n\r\n", false, Found::Chunk(4));
        check(b"..\r\nfffff\r\n", false, Found::Chunk(4));
        check(b"..\r\nzz\r\n", true, Found::Not(8));
    }
}
