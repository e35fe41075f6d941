//! The NSS key log: which secrets are at hand, by client random.
//! Never shows a secret: no `Debug`, no text, no error carries one.

use std::collections::HashMap;

/// A client random (RFC 8446, section 4.1.2): what names a connection in a key log.
pub type Random = [u8; 32];

/// The kinds of secrets that decrypt records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Label {
    /// TLS 1.2 and before: the master secret.
    Master,
    /// TLS 1.3: 0-RTT data.
    ClientEarly,
    /// TLS 1.3: the client's handshake messages.
    ClientHandshake,
    /// TLS 1.3: the server's handshake messages.
    ServerHandshake,
    /// TLS 1.3: the client's application data, by generation (key updates).
    ClientTraffic(u32),
    /// TLS 1.3: the server's application data, by generation.
    ServerTraffic(u32),
}

impl Label {
    /// The label as key logs spell it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Master => "CLIENT_RANDOM".into(),
            Self::ClientEarly => "CLIENT_EARLY_TRAFFIC_SECRET".into(),
            Self::ClientHandshake => "CLIENT_HANDSHAKE_TRAFFIC_SECRET".into(),
            Self::ServerHandshake => "SERVER_HANDSHAKE_TRAFFIC_SECRET".into(),
            Self::ClientTraffic(n) => format!("CLIENT_TRAFFIC_SECRET_{n}"),
            Self::ServerTraffic(n) => format!("SERVER_TRAFFIC_SECRET_{n}"),
        }
    }

    fn parse(word: &[u8]) -> Option<Self> {
        let generation = |digits: &[u8]| {
            let short = (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
            short.then(|| digits.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0')))
        };
        match word {
            b"CLIENT_RANDOM" => Some(Self::Master),
            b"CLIENT_EARLY_TRAFFIC_SECRET" => Some(Self::ClientEarly),
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Some(Self::ClientHandshake),
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => Some(Self::ServerHandshake),
            _ => match word.strip_prefix(b"CLIENT_TRAFFIC_SECRET_") {
                Some(n) => generation(n).map(Self::ClientTraffic),
                None => {
                    word.strip_prefix(b"SERVER_TRAFFIC_SECRET_").and_then(generation).map(Self::ServerTraffic)
                }
            },
        }
    }
}

/// A secret. Readable only by the key schedule.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(Vec<u8>);

impl Secret {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The secrets of one client random, in the order of the log.
#[derive(Default)]
pub(super) struct Secrets(Vec<(Label, Secret)>);

impl Secrets {
    /// Every secret under a label: more than one where the log contradicts itself.
    pub(super) fn of(&self, label: Label) -> impl Iterator<Item = &Secret> {
        self.0.iter().filter(move |(l, _)| *l == label).map(|(_, s)| s)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Label, &Secret)> {
        self.0.iter().map(|(l, s)| (*l, s))
    }
}

/// Sessions that a key log may hold; further ones are left out.
const MAX_SESSIONS: usize = 1 << 20;
/// Secrets that one client random may have.
const MAX_SECRETS: usize = 64;
/// Length of a TLS 1.2 master secret in bytes (RFC 5246, section 8.1).
const MASTER_LENGTH: usize = 48;

/// All secrets at hand, from key log files and from secrets that captures carry.
#[derive(Default)]
pub struct KeyLog {
    places: HashMap<Random, usize>,
    /// In the order of the log, so that a search tries them in the same order each run.
    sessions: Vec<(Random, Secrets)>,
    by_session_id: HashMap<Vec<u8>, Secret>,
    version: u64,
}

impl KeyLog {
    /// Without secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads key log text: whole lines of `LABEL <client random> <secret>` in hex, or NSS's older
    /// `RSA Session-ID:<id> Master-Key:<secret>`. What is no such line is skipped; a line twice counts once.
    pub fn add(&mut self, text: &[u8]) {
        for line in text.split(|b| matches!(b, b'\n' | b'\r')) {
            self.line(line);
        }
    }

    /// Whether there is no usable secret.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.by_session_id.is_empty()
    }

    /// Grows whenever a new secret is added.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn secrets(&self, random: &Random) -> Option<&Secrets> {
        self.sessions.get(*self.places.get(random)?).map(|(_, s)| s)
    }

    pub(super) fn sessions(&self) -> impl DoubleEndedIterator<Item = (&Random, &Secrets)> {
        self.sessions.iter().map(|(r, s)| (r, s))
    }

    /// The master secret of a session that is named by its id.
    pub(super) fn by_session_id(&self, id: &[u8]) -> Option<&Secret> {
        self.by_session_id.get(id).filter(|_| !id.is_empty())
    }

    fn line(&mut self, line: &[u8]) {
        let mut words = line.split(|b| matches!(b, b' ' | b'\t')).filter(|w| !w.is_empty());
        let (Some(first), Some(second), Some(third)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        if words.next().is_some_and(|w| !w.starts_with(b"#")) {
            return;
        }
        if first == b"RSA" {
            let id = second.strip_prefix(b"Session-ID:").and_then(unhex);
            let master = third.strip_prefix(b"Master-Key:").and_then(unhex);
            if let (Some(id), Some(master)) = (id, master)
                && (1..=32).contains(&id.len())
                && master.len() == MASTER_LENGTH
                && self.by_session_id.len() < MAX_SESSIONS
            {
                self.by_session_id.insert(id, Secret(master));
                self.version += 1;
            }
            return;
        }
        let Some(label) = Label::parse(first) else { return };
        let Some(random) = unhex(second).and_then(|r| Random::try_from(r).ok()) else { return };
        let Some(secret) = unhex(third) else { return };
        let fits = match label {
            Label::Master => secret.len() == MASTER_LENGTH,
            _ => matches!(secret.len(), 32 | 48),
        };
        if fits {
            self.insert(random, label, Secret(secret));
        }
    }

    fn insert(&mut self, random: Random, label: Label, secret: Secret) {
        let place = match self.places.get(&random) {
            Some(place) => *place,
            None if self.sessions.len() >= MAX_SESSIONS => return,
            None => {
                self.sessions.push((random, Secrets::default()));
                self.places.insert(random, self.sessions.len() - 1);
                self.sessions.len() - 1
            }
        };
        let Some((_, secrets)) = self.sessions.get_mut(place) else { return };
        let known = secrets.0.iter().any(|(l, s)| *l == label && *s == secret);
        if !known && secrets.0.len() < MAX_SECRETS {
            secrets.0.push((label, secret));
            self.version += 1;
        }
    }
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > 512 || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |b: u8| (b as char).to_digit(16);
    text.chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    /// The labels that a text yields for `RANDOM`, in order.
    fn check(text: &str, labels: &[Label]) {
        let mut log = KeyLog::new();
        log.add(
            text.replace('R', RANDOM)
                .replace('S', &"aB".repeat(32))
                .replace('M', &"0f".repeat(48))
                .as_bytes(),
        );
        let random: Random = std::array::from_fn(|i| i as u8);
        let found: Vec<Label> =
            log.secrets(&random).map_or(Vec::new(), |s| s.all().map(|(l, _)| l).collect());
        assert_eq!(found, labels, "{text}");
    }

    /// As [`check`], the label spelled out, since the placeholders are upper-case letters.
    fn line(label: &str, secret: &str) -> String {
        format!("{label} {RANDOM} {secret}")
    }

    #[test]
    fn labels() {
        let secret = "aB".repeat(32);
        let cases = [
            ("CLIENT_EARLY_TRAFFIC_SECRET", Some(Label::ClientEarly)),
            ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Some(Label::ClientHandshake)),
            ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Some(Label::ServerHandshake)),
            ("CLIENT_TRAFFIC_SECRET_0", Some(Label::ClientTraffic(0))),
            ("SERVER_TRAFFIC_SECRET_12", Some(Label::ServerTraffic(12))),
            ("SERVER_TRAFFIC_SECRET_", None),
            ("SERVER_TRAFFIC_SECRET_99999999999", None),
            ("EXPORTER_SECRET", None),
            ("client_random", None),
        ];
        for (label, expected) in cases {
            let mut log = KeyLog::new();
            log.add(line(label, &secret).as_bytes());
            let random: Random = std::array::from_fn(|i| i as u8);
            let found = log.secrets(&random).and_then(|s| s.all().next().map(|(l, _)| l));
            assert_eq!(found, expected, "{label}");
            if let Some(label) = found {
                assert_eq!(Label::parse(label.name().as_bytes()), Some(label));
            }
        }
    }

    #[test]
    fn untidy() {
        check("", &[]);
        check("# comment\r\n\r\nCLIENT_TRAFFIC_0 R S", &[]);
        let mut log = KeyLog::new();
        let good = line("CLIENT_RANDOM", &"0f".repeat(48));
        let upper = good.to_uppercase();
        let short = line("CLIENT_RANDOM", "0f0f");
        let odd = line("CLIENT_RANDOM", &"0f".repeat(48)[1..]);
        let junk = "\u{feff}\0\0 \u{ff} x y z\r\n= = =\r\nCLIENT_RANDOM\n";
        log.add(
            format!("# a\r\n{short}\r\n{odd}\r{junk}\n \t{good}  # why\r\n{good}\n{upper}\n{good} x")
                .as_bytes(),
        );
        assert_eq!((log.sessions.len(), log.version()), (1, 1));
    }

    #[test]
    fn session_ids() {
        let mut log = KeyLog::new();
        log.add(format!("RSA Session-ID:0a0B Master-Key:{}", "11".repeat(48)).as_bytes());
        log.add(b"RSA Session-ID: Master-Key:11\nRSA 0a 0b");
        assert!(log.by_session_id(&[0x0a, 0x0b]).is_some());
        assert!(log.by_session_id(&[]).is_none());
        assert!(!log.is_empty());
    }
}
