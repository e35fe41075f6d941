//! Holds a connection's first bytes back until they show its protocol, and where to begin.
//! Never holds more than a few records' worth.

use super::detect::{self, Protocol, Sender, Verdict};
use super::{StreamPart, tcp::other};

/// Bytes held back of one direction: more than two TLS records.
const MAX_WAITING: usize = 40 << 10;
/// Beginnings of segments that are tried as beginnings of the protocol.
const MAX_TRIED: usize = 32;

/// What was decided of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Decision {
    pub protocol: Protocol,
    /// The side that is the client, where the bytes tell.
    pub client: Option<usize>,
    /// The client's first bytes were what a connection begins with.
    pub from_first: bool,
}

/// Two directions, as sides 0 and 1.
#[derive(Debug)]
pub(super) struct Gate {
    protocol: Option<Protocol>,
    sides: [Side; 2],
    /// What is held back of both sides, in its order, with the place in its side's `bytes`.
    waiting: Vec<(usize, usize, StreamPart)>,
    /// No protocol of ours.
    shut: bool,
}

#[derive(Debug, Default)]
struct Side {
    /// The stream's beginning, or that of the protocol, is not known.
    middle: bool,
    /// Nothing is held back any more.
    open: bool,
    ended: bool,
    bytes: Vec<u8>,
    /// Where segments begin in `bytes`.
    starts: Vec<usize>,
    /// How long `bytes` was when every place in it was tried.
    tried: usize,
}

impl Gate {
    /// A gate; `middle` tells of each side whether its beginning is missing.
    pub(super) fn new(middle: [bool; 2]) -> Self {
        let sides = middle.map(|middle| Side { middle, ..Side::default() });
        Self { protocol: None, sides, waiting: Vec::new(), shut: false }
    }

    /// A gate for a protocol that is known, and begins where it begins.
    pub(super) fn known(protocol: Protocol) -> Self {
        let mut gate = Self::new([false; 2]);
        gate.protocol = Some(protocol);
        gate
    }

    /// Whether it was decided that the protocol is none of ours.
    pub(super) fn shut(&self) -> bool {
        self.shut
    }

    /// Notes that a side's beginning is missing, before its first part is pushed.
    pub(super) fn join(&mut self, side: usize) {
        self.side(side).middle = true;
    }

    /// Takes a part; gives on what may pass. Decides at most once.
    pub(super) fn push(
        &mut self,
        side: usize,
        part: StreamPart,
        out: &mut Vec<(usize, StreamPart)>,
    ) -> Option<Decision> {
        if self.shut {
            return None;
        }
        if self.side(side).open {
            out.push((side, part));
            return None;
        }
        match part {
            StreamPart::Data { ref bytes, .. } => {
                let state = self.side(side);
                let at = state.bytes.len();
                if state.starts.len() < MAX_TRIED {
                    state.starts.push(at);
                }
                state.bytes.extend_from_slice(bytes);
                self.waiting.push((side, at, part));
                self.judge(side, out)
            }
            StreamPart::Gap(_) | StreamPart::Lost => {
                self.drop_waiting(side);
                self.side(side).middle = true;
                None
            }
            StreamPart::Fin | StreamPart::Reset | StreamPart::CaptureEnd => {
                let state = self.side(side);
                state.ended = true;
                let at = state.bytes.len();
                match self.protocol {
                    // Its beginning was never found.
                    Some(_) => out.push((side, part)),
                    None => self.waiting.push((side, at, part)),
                }
                self.shut = self.protocol.is_none() && self.sides.iter().all(|s| s.ended);
                None
            }
        }
    }

    fn judge(&mut self, side: usize, out: &mut Vec<(usize, StreamPart)>) -> Option<Decision> {
        if let Some(protocol) = self.protocol {
            let state = self.side(side);
            let begin = if state.middle { state.begin(protocol) } else { Some(0) };
            match begin {
                Some(begin) => self.open(side, begin, out),
                None => self.bound(side),
            }
            return None;
        }
        let state = self.side(side);
        let found = if state.middle { state.middle_verdict() } else { state.start_verdict() };
        match found {
            Ok((begin, protocol, sender)) => {
                self.protocol = Some(protocol);
                let client = match sender {
                    Sender::Client => Some(side),
                    Sender::Server => Some(other(side)),
                    Sender::Unknown => None,
                };
                self.release(side, begin, protocol, out);
                let from_first = begin == 0 && sender == Sender::Client;
                Some(Decision { protocol, client, from_first })
            }
            Err(Verdict::No) => {
                self.shut = true;
                self.waiting = Vec::new();
                None
            }
            Err(_) => {
                self.bound(side);
                None
            }
        }
    }

    /// Lets both sides through as far as they are known to begin.
    fn release(&mut self, side: usize, begin: usize, protocol: Protocol, out: &mut Vec<(usize, StreamPart)>) {
        let peer = self.side(other(side));
        let peer_begin = match (peer.middle, protocol) {
            (false, _) | (_, Protocol::Http1) => Some(0),
            // Its end is all that can still be given on.
            _ if peer.ended => Some(peer.begin(protocol).unwrap_or(usize::MAX)),
            _ => peer.begin(protocol),
        };
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain_mut(|(of, at, part)| {
            let begin = if *of == side { Some(begin) } else { peer_begin };
            let Some(begin) = begin else {
                return true;
            };
            pass(*of, *at, part, begin, out);
            false
        });
        self.waiting = waiting;
        self.side(side).finish();
        if peer_begin.is_some() {
            self.side(other(side)).finish();
        }
    }

    fn open(&mut self, side: usize, begin: usize, out: &mut Vec<(usize, StreamPart)>) {
        self.waiting.retain_mut(|(of, at, part)| {
            if *of == side {
                pass(side, *at, part, begin, out);
            }
            *of != side
        });
        self.side(side).finish();
    }

    fn bound(&mut self, side: usize) {
        if self.side(side).bytes.len() > MAX_WAITING {
            self.drop_waiting(side);
            self.side(side).middle = true;
        }
    }

    fn drop_waiting(&mut self, side: usize) {
        self.waiting.retain(|(of, ..)| *of != side);
        let state = self.side(side);
        state.bytes.clear();
        state.starts.clear();
        state.tried = 0;
    }

    fn side(&mut self, side: usize) -> &mut Side {
        let [zero, one] = &mut self.sides;
        if side == 0 { zero } else { one }
    }
}

type Found = (usize, Protocol, Sender);

impl Side {
    fn start_verdict(&self) -> Result<Found, Verdict> {
        match detect::at_start(&self.bytes) {
            Verdict::Is(protocol, sender) => Ok((0, protocol, sender)),
            verdict => Err(verdict),
        }
    }

    /// Never refuses: a later segment may begin with what is known.
    fn middle_verdict(&mut self) -> Result<Found, Verdict> {
        let at_segment =
            self.starts.iter().find_map(|start| match detect::in_middle(self.bytes.get(*start..)?) {
                Verdict::Is(protocol, sender) => Some((*start, protocol, sender)),
                _ => None,
            });
        let anywhere = || self.somewhere().map(|(at, protocol)| (at, protocol, Sender::Unknown));
        at_segment.or_else(anywhere).ok_or(Verdict::More)
    }

    /// Tries every place, again only after a good part more has come: small segments would
    /// make it quadratic.
    fn somewhere(&mut self) -> Option<(usize, Protocol)> {
        if self.bytes.len() < self.tried + self.tried / 4 {
            return None;
        }
        self.tried = self.bytes.len();
        detect::somewhere(&self.bytes)
    }

    /// Where, in what is held back, the protocol can be read from.
    fn begin(&mut self, protocol: Protocol) -> Option<usize> {
        let fits = |start: &&usize| self.bytes.get(**start..).is_some_and(|b| detect::begins(protocol, b));
        let at_segment = self.starts.iter().find(fits).copied();
        let anywhere = || self.somewhere().filter(|(_, p)| *p == protocol).map(|(at, _)| at);
        at_segment.or_else(anywhere)
    }

    fn finish(&mut self) {
        self.open = true;
        self.bytes = Vec::new();
        self.starts = Vec::new();
    }
}

/// Gives a part on without what lies before `begin`.
fn pass(side: usize, at: usize, part: &mut StreamPart, begin: usize, out: &mut Vec<(usize, StreamPart)>) {
    let mut part = std::mem::replace(part, StreamPart::CaptureEnd);
    if let StreamPart::Data { bytes, at: place, .. } = &mut part {
        let cut = begin.saturating_sub(at).min(bytes.len());
        drop(bytes.split_to(cut));
        *place += cut as u64;
        if bytes.is_empty() {
            return;
        }
    }
    out.push((side, part));
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn data(bytes: &[u8]) -> StreamPart {
        StreamPart::Data { bytes: Bytes::copy_from_slice(bytes), time: None, at: 0 }
    }

    /// Pushes parts; shows what passes, where each decision falls, and whether it shut.
    fn check(middle: [bool; 2], parts: &[(usize, StreamPart)], expect: &str) {
        let mut gate = Gate::new(middle);
        let mut shown = String::new();
        for (side, part) in parts {
            let mut out = Vec::new();
            if let Some(decision) = gate.push(*side, part.clone(), &mut out) {
                shown.push_str(&format!("[{:?} {:?}] ", decision.protocol, decision.client));
            }
            for (side, part) in out {
                match part {
                    StreamPart::Data { bytes, at, .. } => {
                        shown.push_str(&format!("{side}@{at}:{} ", bytes.escape_ascii()));
                    }
                    part => shown.push_str(&format!("{side}:{part:?} ")),
                }
            }
        }
        if gate.shut() {
            shown.push_str("shut");
        }
        assert_eq!(shown.trim_end(), expect);
    }

    const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0abcdefgh";
    const DATA: &[u8] = b"\0\0\x02\0\0\0\0\0\x01hi";

    #[test]
    fn from_the_start() {
        let parts =
            [(1, data(b"PO")), (1, data(b"ST / HTTP/1.1")), (0, data(b"HTTP/1.1")), (1, StreamPart::Fin)];
        check([false; 2], &parts, "[Http1 Some(1)] 1@0:PO 1@0:ST / HTTP/1.1 0@0:HTTP/1.1 1:Fin");
        check([false; 2], &[(0, data(b"HTTP/1.1 200 OK"))], "[Http1 Some(1)] 0@0:HTTP/1.1 200 OK");
        check([false; 2], &[(0, data(b"SSH-2.0-x")), (0, data(b"GET / HTTP/1.1"))], "shut");
        check([false; 2], &[(0, StreamPart::Fin), (1, StreamPart::CaptureEnd)], "shut");
    }

    #[test]
    fn from_the_middle() {
        let tail = data(b"...the end of a body");
        let request = data(b"GET / HTTP/1.1\r\n");
        check([true; 2], &[(0, tail.clone()), (0, request)], "[Http1 Some(0)] 0@0:GET / HTTP/1.1\\r\\n");
        let three = [b"tail".as_slice(), DATA, DATA, DATA].concat();
        let frames = "\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x01hi".repeat(3);
        check([true; 2], &[(0, data(&three))], &format!("[H2 None] 0@4:{frames}"));
        let ping = PING.escape_ascii().to_string();
        let parts = [(0, data(PING)), (1, tail.clone()), (1, data(PING)), (1, StreamPart::Fin)];
        check([true; 2], &parts, &format!("[H2 None] 0@0:{ping} 1@0:{ping} 1:Fin"));
        check([true; 2], &[(0, tail.clone()), (0, StreamPart::Fin)], "");
        check(
            [true; 2],
            &[(0, tail.clone()), (0, StreamPart::Fin), (1, data(PING))],
            &format!("[H2 None] 0:Fin 1@0:{ping}"),
        );
    }

    #[test]
    fn behind_a_hole() {
        let parts = [(0, data(b"GE")), (0, StreamPart::Gap(9)), (0, data(b"GET /x HTTP/1.1\r\n"))];
        check([false; 2], &parts, "[Http1 Some(0)] 0@0:GET /x HTTP/1.1\\r\\n");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut gate = Gate::new([true; 2]);
        for _ in 0..1_000 {
            gate.push(0, data(&[b'x'; 1_000]), &mut Vec::new());
            assert!(gate.sides[0].bytes.len() <= MAX_WAITING + 1_000);
            assert!(gate.waiting.len() <= 42);
        }
    }
}
