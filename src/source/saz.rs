//! Fiddler session archives: a zip with the HTTP/1 messages of each session.
//! Never inflates more than the limit and never reads other files of the archive.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use crate::base::{Code, Finding, Severity, Timestamp};
use crate::pdu::{End, Side, Start};

use super::entry::{Conns, Half, Place, Sink};
use super::error::Trouble;
use super::http1;
use super::input::{Input, Step};

/// Reads the sessions of an archive one by one.
pub(super) struct Reader {
    archive: ZipArchive<Box<dyn Archive>>,
    /// The sessions that are left: number, and the places of its request, response and notes.
    sessions: std::collections::btree_map::IntoIter<u64, [Option<usize>; 3]>,
    max: u64,
    conns: Conns,
}

/// What an archive is read from.
pub(super) trait Archive: Read + Seek + Send {}

impl<T: Read + Seek + Send> Archive for T {}

const ADVICE: &str = "export the session as HAR and give that";

impl Reader {
    /// Opens an archive: the file itself where it is one, else what `head` and `input` give.
    pub(super) fn open(
        path: Option<&Path>,
        head: &[u8],
        input: &mut Input,
        max: usize,
    ) -> Result<Self, Trouble> {
        let file = path
            .filter(|path| path.is_file() && !input.is_compressed())
            .and_then(|path| File::open(path).ok());
        let from: Box<dyn Archive> = match file {
            Some(file) => Box::new(std::io::BufReader::new(file)),
            None => Box::new(Cursor::new(spool(head, input, max)?)),
        };
        let archive =
            ZipArchive::new(from).map_err(|error| malformed("a zip archive".into(), error.to_string()))?;
        let mut sessions: BTreeMap<u64, [Option<usize>; 3]> = BTreeMap::new();
        for index in 0..archive.len() {
            let name = archive.name_for_index(index).and_then(Result::ok);
            if let Some((number, part)) = name.and_then(|name| session_part(&name)) {
                let parts = sessions.entry(number).or_default();
                parts.get_mut(part).into_iter().for_each(|slot| *slot = Some(index));
            }
        }
        if sessions.is_empty() {
            let found = format!("{} other files", archive.len());
            return Err(malformed("files raw/N_c.txt and raw/N_s.txt".into(), found));
        }
        Ok(Self { archive, sessions: sessions.into_iter(), max: max as u64, conns: Conns::default() })
    }

    /// Hands on the next session; `false` where there is none.
    pub(super) fn next(&mut self, sink: &mut Sink<'_>) -> Result<bool, Trouble> {
        let Some((number, [request, response, notes])) = self.sessions.next() else { return Ok(false) };
        let notes = self.file(notes, number, sink).unwrap_or_default();
        let notes = String::from_utf8_lossy(&notes);
        let time = |name: &str| attribute(&notes, name).and_then(Timestamp::parse);
        let client = attribute(&notes, "ClientConnection")
            .or_else(|| session_flag(&notes, "x-clientport"))
            .unwrap_or_default()
            .to_owned();
        let Some(bytes) = self.file(request, number, sink) else { return Ok(true) };
        let Some(mut half) = http1::request(&bytes) else {
            let text = format!("session {number}: the request is not HTTP/1");
            sink.find(Finding::new(Code::CaptureDamaged, text));
            return Ok(true);
        };
        let method = match half.head.as_ref().map(|head| &head.start) {
            Some(Start::Request { method, .. }) => method.clone().unwrap_or_default(),
            _ => String::new(),
        };
        if method == "CONNECT" {
            return Ok(true);
        }
        let (conn, stream) = self.conns.next_stream(&client, sink, |n| (format!("saz:{n}"), None, None));
        let place = Place { conn, stream, at: None };
        half.times = (time("ClientBeginRequest"), time("ClientDoneRequest"));
        place.emit(Side::Request, half, sink);

        let bytes = self.file(response, number, sink).unwrap_or_default();
        let mut half = match http1::response(&bytes, method == "HEAD") {
            Some(half) => half,
            None => Half { end: End::Closed, ..Half::default() },
        };
        half.times = (time("ServerBeginResponse"), time("ServerDoneResponse"));
        place.emit(Side::Response, half, sink);
        Ok(true)
    }

    /// The content of a file of the archive, up to the limit; damage is told.
    fn file(&mut self, index: Option<usize>, number: u64, sink: &mut Sink<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let damage = match self.archive.by_index(index?) {
            Ok(file) => file.take(self.max).read_to_end(&mut out).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = damage {
            let text = format!("session {number}: a file of the archive cannot be read: {why}");
            sink.find(Finding::new(Code::CaptureDamaged, text).severity(Severity::Error));
        }
        if out.len() as u64 >= self.max {
            let text = format!("session {number}: a message is longer than the limit");
            sink.find(Finding::new(Code::LimitReached, text));
        }
        Some(out)
    }
}

/// Everything that is left of an input: an archive is read from its end.
fn spool(head: &[u8], input: &mut Input, max: usize) -> Result<Vec<u8>, Trouble> {
    let mut content = head.to_vec();
    loop {
        if content.len() > max {
            let expected = format!("at most {max} bytes from a pipe or compressed file");
            return Err(malformed(expected, "more".into()));
        }
        match input.next() {
            Ok(Step::Block(block)) => content.extend_from_slice(&block),
            Ok(Step::End | Step::Damaged(_)) => return Ok(content),
            Err(error) => return Err(malformed("bytes".into(), error.to_string())),
        }
    }
}

fn malformed(expected: String, found: String) -> Trouble {
    Trouble::Malformed { what: "a Fiddler session archive", at: 0, expected, found, advice: ADVICE }
}

/// Number and part of `raw/012_c.txt`.
fn session_part(name: &str) -> Option<(u64, usize)> {
    let name = name.replace('\\', "/");
    let name = name.strip_prefix("raw/")?;
    let (number, part) = name.split_once('_')?;
    let part = ["c.txt", "s.txt", "m.xml"].iter().position(|end| *end == part)?;
    Some((number.parse().ok()?, part))
}

/// The value of an attribute of the session's notes.
fn attribute<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let at = xml.find(&format!("{name}=\""))? + name.len() + 2;
    xml.get(at..)?.split('"').next().filter(|value| !value.is_empty())
}

/// The value of one of the session's flags: `<SessionFlag N="x-clientport" V="52001" />`.
fn session_flag<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let at = xml.find(&format!("N=\"{name}\""))?;
    attribute(xml.get(at..)?, "V")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Write;

    use super::*;
    use crate::pdu::HttpPart;
    use crate::source::{Options, Reader as Capture, Record};

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            let _ = zip.start_file(*name, zip::write::SimpleFileOptions::default());
            let _ = zip.write_all(content);
        }
        zip.finish().map(Cursor::into_inner).unwrap_or_default()
    }

    fn read(bytes: Vec<u8>) -> Result<VecDeque<Record>, super::super::Error> {
        let mut capture = Capture::from_reader("x", Box::new(Cursor::new(bytes)), &Options::default())?;
        let mut out = VecDeque::new();
        while let Some(record) = capture.next()? {
            out.push_back(record);
        }
        Ok(out)
    }

    #[test]
    fn sessions_in_order() {
        let bytes = archive(&[
            ("raw/02_c.txt", b"GET http://h/b HTTP/1.1\r\n\r\n"),
            ("raw/01_c.txt", b"POST http://h/a.B/C HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"),
            ("raw/01_s.txt", b"HTTP/1.1 200 OK\r\n\r\nyes"),
            ("raw/01_m.xml", b"<S ClientBeginRequest=\"2024-01-01T00:00:00Z\"/>"),
            ("index.htm", b"x"),
        ]);
        let records = read(bytes.clone()).unwrap_or_default();
        let bodies: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Http(event) => match &event.part {
                    HttpPart::Body(body) => Some(String::from_utf8_lossy(body).into_owned()),
                    HttpPart::End(end) => Some(format!("{end:?}")),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        assert_eq!(bodies, ["hi", "Complete", "yes", "Complete", "Complete", "Closed"]);
        for end in (0..bytes.len()).step_by(3) {
            let _ = read(bytes.get(..end).unwrap_or_default().to_vec());
        }
    }

    #[test]
    fn other_archives_are_refused() {
        assert!(read(archive(&[("a.txt", b"x")])).is_err());
    }
}
