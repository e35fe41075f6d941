//! Says what could not be decrypted, and what is missing for it.
//! Never quotes a secret.

use std::fmt::Write;

use crate::base::{Code, Cx, Finding, Space, Span};
use crate::transport::stream::Dir;

use super::record::HEADER;
use super::suites::suite;
use super::{Half, Session};

impl Session {
    /// One finding for what lacks a key, one for each direction whose records do not authenticate.
    pub(super) fn report(&self, cx: &mut Cx<'_>) {
        let sealed: Vec<Dir> = [Dir::ToServer, Dir::ToClient]
            .into_iter()
            .filter(|d| {
                self.half_ref(*d).tally.sealed_records > 0 || self.half_ref(*d).tally.early_sealed > 0
            })
            .collect();
        if !sealed.is_empty() {
            let mut finding = Finding::new(Code::NetTlsNoKey, self.no_key(&sealed));
            finding.span = self.at.map(place);
            cx.find(finding);
        }
        for dir in [Dir::ToServer, Dir::ToClient] {
            let half = self.half_ref(dir);
            if half.tally.damaged > 0 {
                let mut finding = Finding::new(Code::NetTlsDamaged, self.damaged(dir, half));
                finding.span = half.tally.damaged_at.map(place);
                cx.find(finding);
            }
            let lost = half.reader.unsynchronised();
            if half.verified && lost.any() {
                let text = format!(
                    "{}: after a hole no TLS record of what the {} sends authenticates; {} bytes are lost",
                    self.name(),
                    self.sender(dir),
                    lost.bytes
                );
                cx.find(Finding::new(Code::NetTlsDamaged, text));
            }
        }
    }

    fn no_key(&self, sealed: &[Dir]) -> String {
        let mut text = self.name();
        match sealed {
            [one] => {
                let _ = write!(text, ": what the {} sends stays encrypted", self.sender(*one));
            }
            _ => text.push_str(" stays encrypted"),
        }
        let tallies = || sealed.iter().map(|d| &self.half_ref(*d).tally);
        let mut missing: Vec<String> = Vec::new();
        for label in tallies().flat_map(|t| &t.missing) {
            let name = label.name();
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        let unsupported = tallies().find_map(|t| t.unsupported);
        if let Some(number) = unsupported {
            match suite(number) {
                Some(suite) => {
                    let _ = write!(text, ": cipher suite TLS_{} of this version is not read", suite.name);
                }
                None => {
                    let _ = write!(text, ": cipher suite 0x{number:04x} is not read");
                }
            }
        } else if !missing.is_empty() {
            let _ = write!(text, ": missing {}", missing.join(", "));
        } else if self.hello.is_none() && self.server.is_none() {
            text.push_str(": its handshake was not captured, and no TLS 1.3 secret at hand fits");
        } else {
            text.push_str(": its handshake was not captured whole, and no secret at hand fits");
        }
        let bytes = |from_client: bool| {
            [Dir::ToServer, Dir::ToClient]
                .into_iter()
                .find(|d| self.is_client(*d) == from_client)
                .map_or(0, |d| self.half_ref(d).tally.bytes)
        };
        let _ = write!(text, "; {} bytes to the server, {} to the client", bytes(true), bytes(false));
        let early: u64 = tallies().map(|t| t.early_sealed).sum();
        if early > 0 {
            let _ = write!(text, ", {early} records of 0-RTT data");
        }
        text
    }

    fn damaged(&self, dir: Dir, half: &Half) -> String {
        let (name, sender, count) = (self.name(), self.sender(dir), half.tally.damaged);
        if half.tally.damaged_amid {
            format!("{name}: {count} records of what the {sender} sends do not authenticate")
        } else {
            format!(
                "{name}: the key log's secrets do not fit what the {sender} sends; {count} records do not authenticate"
            )
        }
    }

    fn sender(&self, dir: Dir) -> &'static str {
        if self.is_client(dir) { "client" } else { "server" }
    }

    /// `TLS 1.3 to a.example (h2, client random 00…)`, as far as known.
    fn name(&self) -> String {
        let version = match (&self.server, self.is_tls13()) {
            (_, Some(true)) => "TLS 1.3",
            (Some(server), _) => match server.version {
                0x0300 => "SSL 3.0",
                0x0301 => "TLS 1.0",
                0x0302 => "TLS 1.1",
                0x0303 => "TLS 1.2",
                _ => "TLS",
            },
            _ => "TLS",
        };
        let mut text = version.to_owned();
        if let Some(sni) = self.sni() {
            let _ = write!(text, " to {sni}");
        }
        let mut details = Vec::new();
        let offered = self.hello.as_ref().map_or(&[][..], |h| &h.alpn);
        match &self.alpn {
            Some(alpn) => details.push(format!("ALPN {alpn}")),
            None if !offered.is_empty() => details.push(format!("ALPN offered {}", offered.join(", "))),
            None => {}
        }
        if let Some(random) = self.random() {
            let mut hex = String::from("client random ");
            for byte in random {
                let _ = write!(hex, "{byte:02x}");
            }
            details.push(hex);
        }
        if !details.is_empty() {
            let _ = write!(text, " ({})", details.join("; "));
        }
        text
    }
}

fn place(at: u64) -> Span {
    Span::new(Space::Input, at, at.saturating_add(HEADER as u64))
}
