//! The formats of captures, and how the content of an input tells them apart.
//! Never looks at a file's name.

use super::error::Trouble;
use super::utf16::{self, Utf16};
use super::{base64, curl, hex, tnet, wire};

/// A format of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// libpcap's, in any byte order and time resolution.
    Pcap,
    /// pcapng.
    PcapNg,
    /// HTTP Archive 1.2, as browsers and proxies write it.
    Har,
    /// mitmproxy flows.
    Flow,
    /// A Fiddler session archive.
    Saz,
    /// An enveloped stream.
    Raw,
    /// One bare message.
    Message,
    /// Hex text of either.
    Hex,
    /// Base64 text of either.
    Base64,
    /// JSON records, one a line or not.
    Jsonl,
    /// An SQLite database of records or of blobs.
    Sqlite,
    /// `curl --trace`.
    Trace,
}

impl Format {
    /// Every format, in the order in which errors list them.
    pub const ALL: &'static [Self] = &[
        Self::Pcap,
        Self::PcapNg,
        Self::Har,
        Self::Flow,
        Self::Saz,
        Self::Raw,
        Self::Message,
        Self::Hex,
        Self::Base64,
        Self::Jsonl,
        Self::Sqlite,
        Self::Trace,
    ];

    /// The name for `--from`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::PcapNg => "pcapng",
            Self::Har => "har",
            Self::Flow => "flow",
            Self::Saz => "saz",
            Self::Raw => "raw",
            Self::Message => "message",
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Jsonl => "jsonl",
            Self::Sqlite => "sqlite",
            Self::Trace => "trace",
        }
    }

    /// The format of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Whether an input of this format may hold no bytes at all.
    pub(super) fn may_be_empty(self) -> bool {
        matches!(self, Self::Flow | Self::Jsonl | Self::Raw | Self::Message)
    }
}

/// The format of a whole content; `None` where it fits none.
pub fn sniff(content: &[u8]) -> Option<Format> {
    match judge(content, true) {
        Verdict::Found(format) => Some(format),
        Verdict::More | Verdict::Unknown | Verdict::Refused(_) => None,
    }
}

/// What the first bytes of an input say.
#[derive(Debug)]
pub(super) enum Verdict {
    /// This format.
    Found(Format),
    /// More bytes are needed; never where the content is whole.
    More,
    /// No format.
    Unknown,
    /// A format that is not read.
    Refused(Trouble),
}

const MAGIC: &[(&[u8], Format)] = &[
    (b"\xa1\xb2\xc3\xd4", Format::Pcap),
    (b"\xd4\xc3\xb2\xa1", Format::Pcap),
    (b"\xa1\xb2\x3c\x4d", Format::Pcap),
    (b"\x4d\x3c\xb2\xa1", Format::Pcap),
    (b"\xa1\xb2\xcd\x34", Format::Pcap),
    (b"\x34\xcd\xb2\xa1", Format::Pcap),
    (b"PK\x03\x04", Format::Saz),
    (b"PK\x05\x06", Format::Saz),
    (b"SQLite format 3\0", Format::Sqlite),
];

const REFUSED: &[(&[u8], &str)] = &[
    (b"\xac\xed\x00\x05", "a Java object stream, as a binary Charles session (.chls) is"),
    (b"bplist00", "a binary property list, as some proxies save their logs"),
];

/// Judges the first bytes of an input; `whole` says that there are no more.
pub(super) fn judge(head: &[u8], whole: bool) -> Verdict {
    let partial = |magic: &[u8]| !whole && head.len() < magic.len() && magic.starts_with(head);
    for (magic, format) in MAGIC {
        if head.starts_with(magic) {
            return Verdict::Found(*format);
        }
        if partial(magic) {
            return Verdict::More;
        }
    }
    for (magic, what) in REFUSED {
        if head.starts_with(magic) {
            let advice = "export the session as HAR and give that";
            return Verdict::Refused(Trouble::Unsupported { what: (*what).to_owned(), advice });
        }
        if partial(magic) {
            return Verdict::More;
        }
    }
    match section_header(head) {
        Fit::Yes => return Verdict::Found(Format::PcapNg),
        Fit::More if !whole => return Verdict::More,
        _ => {}
    }
    if head.len() < 4 && !whole {
        return match head.first() {
            Some(1..=7) => Verdict::Found(Format::Raw),
            _ => Verdict::More,
        };
    }
    if let Some(order) = utf16::order(head) {
        let text = Utf16::new(order).push(window(head));
        return structured(&text, whole).unwrap_or(if whole { Verdict::Unknown } else { Verdict::More });
    }
    if matches!(head.first(), Some(0..=7)) {
        return Verdict::Found(Format::Raw);
    }
    if let Some(verdict) = structured(head, whole) {
        return verdict;
    }
    match whole {
        false => Verdict::More,
        true => by_trial(head).map_or(Verdict::Unknown, Verdict::Found),
    }
}

enum Fit {
    Yes,
    More,
    No,
}

/// A pcapng Section Header Block: its type reads as a protobuf tag, so the byte-order magic decides.
fn section_header(head: &[u8]) -> Fit {
    const TYPE: &[u8] = b"\x0a\x0d\x0d\x0a";
    if !head.starts_with(TYPE) {
        return if TYPE.starts_with(head) { Fit::More } else { Fit::No };
    }
    match head.get(8..12) {
        Some(b"\x1a\x2b\x3c\x4d" | b"\x4d\x3c\x2b\x1a") => Fit::Yes,
        Some(_) => Fit::No,
        None => Fit::More,
    }
}

/// The most that is looked at for a beginning, in bytes; blanks may go before it.
const WINDOW: usize = 64 << 10;

fn window(head: &[u8]) -> &[u8] {
    head.get(..WINDOW).unwrap_or(head)
}

/// Formats that a beginning tells: JSON and flows. `None` where it is neither.
fn structured(head: &[u8], whole: bool) -> Option<Verdict> {
    let head = window(head);
    let whole = whole || head.len() == WINDOW;
    let fits = [json_head(head), (tnet::is_flow_head(head).map(|yes| yes.then_some(Format::Flow)))];
    for fit in fits {
        match fit {
            Some(Some(format)) => return Some(Verdict::Found(format)),
            Some(None) => {}
            None if whole => {}
            None => return Some(Verdict::More),
        }
    }
    None
}

/// Whether a text begins as a JSON object or an array of objects. The first key is looked at:
/// a bare message may well begin with `\n{`. `None` where the text ends too early to say.
fn json_head(head: &[u8]) -> Option<Option<Format>> {
    const MAX_KEY: usize = 256;
    let mut rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let mut format = Format::Har;
    if let [b'[', tail @ ..] = rest {
        format = Format::Jsonl;
        rest = tail.trim_ascii_start();
        if let [b']', ..] = rest {
            return Some(Some(Format::Jsonl));
        }
    }
    let rest = match rest {
        [] => return None,
        [b'{', tail @ ..] => tail.trim_ascii_start(),
        _ => return Some(None),
    };
    let rest = match rest {
        [] => return None,
        [b'}', ..] => return Some(Some(Format::Jsonl)),
        [b'"', tail @ ..] => tail,
        _ => return Some(None),
    };
    let len = rest.iter().take(MAX_KEY).take_while(|b| **b != b'"' && **b >= b' ').count();
    let (key, rest) = rest.split_at_checked(len)?;
    let rest = match rest {
        [] => return None,
        [b'"', tail @ ..] => tail.trim_ascii_start(),
        _ => return Some(None),
    };
    match rest {
        [] => None,
        [b':', ..] if key == b"log" && format == Format::Har => Some(Some(Format::Har)),
        [b':', ..] => Some(Some(Format::Jsonl)),
        _ => Some(None),
    }
}

/// Formats without a beginning of their own: the whole content is tried.
fn by_trial(content: &[u8]) -> Option<Format> {
    // A field number 1 is a line break or tab: hex after blank lines loses to a message.
    if matches!(content.first(), Some(b'\t' | b'\n' | b'\r')) && wire::is_message(content) {
        return Some(Format::Message);
    }
    if is_text(content) {
        if curl::is_trace(content) {
            return Some(Format::Trace);
        }
        if hex::decode(content).is_ok() {
            return Some(Format::Hex);
        }
        if base64::decode(content).is_ok_and(|bytes| is_frames_or_message(&bytes)) {
            return Some(Format::Base64);
        }
        if hex::is_meant(content) {
            return Some(Format::Hex);
        }
    }
    if wire::is_message(content) {
        return Some(Format::Message);
    }
    wire::is_enveloped(content).then_some(Format::Raw)
}

fn is_frames_or_message(bytes: &[u8]) -> bool {
    !bytes.is_empty() && (wire::is_message(bytes) || wire::is_enveloped(bytes) || begins_enveloped(bytes))
}

/// Whether the first envelope is whole: a stream that is cut later is still one.
fn begins_enveloped(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().map(|head| crate::pdu::Envelope::parse(*head).length);
    bytes.first().is_some_and(|flags| *flags < 8)
        && length.is_some_and(|length| (length as usize) < bytes.len())
}

pub(super) fn is_text(content: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok()
        && content.iter().all(|b| *b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], format: Option<Format>) {
        assert_eq!(sniff(content), format, "{:?}", String::from_utf8_lossy(content));
        // Whatever is decided early must be what the whole content says.
        for end in 0..content.len() {
            match judge(content.get(..end).unwrap_or_default(), false) {
                Verdict::More => {}
                Verdict::Found(early) => assert_eq!(Some(early), format, "{end}"),
                other => panic!("{end}: {other:?}"),
            }
        }
    }

    #[test]
    fn by_magic() {
        check(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", Some(Format::Pcap));
        check(b"\xa1\xb2\x3c\x4d\x00\x02\x00\x04", Some(Format::Pcap));
        check(b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01", Some(Format::PcapNg));
        check(b"PK\x03\x04\x14\x00", Some(Format::Saz));
        check(b"SQLite format 3\0\x10", Some(Format::Sqlite));
        assert!(matches!(judge(b"\xac\xed\x00\x05sr", true), Verdict::Refused(_)));
    }

    #[test]
    fn json() {
        check(b"{\"log\": {\"entries\": []}}", Some(Format::Har));
        check(b"\xef\xbb\xbf{ \"log\" : 5}", Some(Format::Har));
        check(b"{\"ts\":1}\n", Some(Format::Jsonl));
        check(b"[ {\"log\":1} ]", Some(Format::Jsonl));
        check(b"[]", Some(Format::Jsonl));
        check(b"{\x00\"\x00l\x00o\x00g\x00\"\x00:\x00{\x00}\x00}\x00", Some(Format::Har));
        check(b"{nope", None);
    }

    #[test]
    fn raw_and_message() {
        check(b"\x00\x00\x00\x00\x00", Some(Format::Raw));
        check(b"\x04\x00\x00\x00\x00", Some(Format::Raw));
        check(b"\x80\x00\x00\x00\x01x", Some(Format::Raw));
        check(b"\x0a\x02hi", Some(Format::Message));
        check(b"\x0a\x0aabcdef0123", Some(Format::Message));
        // A nested message whose first bytes look like JSON.
        check(&[&b"\x0a{\"\x79"[..], &[b'a'; 121]].concat(), Some(Format::Message));
        check(b"\xdf\x9f\x45\xbb\x14", None);
    }

    #[test]
    fn text() {
        check(b"0a026869", Some(Format::Hex));
        check(b"0a02686", Some(Format::Hex));
        check(b"1218080712g2653752100a", Some(Format::Hex));
        check(b"CgJoaQ==\n", Some(Format::Base64));
        check(b"AAAAAAA=AAAAAAA=", Some(Format::Base64));
        check(b"just some words\n", None);
        check("\u{ff10}\u{ff18}".as_bytes(), None);
    }

    #[test]
    fn flows_are_not_colon_hex() {
        check(b"20:7:version;2:21#4:type;4:http;}", Some(Format::Flow));
        check(b"12:08:07:12:02:65:37", Some(Format::Hex));
    }

    #[test]
    fn names_come_back() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(*format));
        }
        assert_eq!(Format::from_name("doc"), None);
    }
}
