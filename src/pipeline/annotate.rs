//! Packets of captures once more, each with the comments of its place, into a sink.
//! Never decodes: what is to be said of a place was found by a run before.

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::base::Timestamp;
use crate::sink::pcapng::Writer;
use crate::source::{Error, Format, Reader, Record};

/// What is to be said of one capture's packets.
#[derive(Clone, Default, Debug)]
pub struct Comments {
    /// By a byte of the file: of the packet that it lies in.
    pub places: BTreeMap<u64, Vec<String>>,
    /// By a time: of the first packet of that time.
    pub times: HashMap<Timestamp, Vec<String>>,
    /// Of the capture as a whole.
    pub whole: Vec<String>,
}

/// What came of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// Packets written.
    pub packets: u64,
    /// Those with a comment.
    pub commented: u64,
    /// Captures that hold no packets, and were passed over.
    pub others: u64,
}

/// Writes the packets of captures, a section each.
pub fn annotate(
    captures: &mut dyn Iterator<Item = Reader>,
    comments: &mut HashMap<String, Comments>,
    writer: &mut Writer<'_>,
    trouble: &mut dyn FnMut(&Error),
) -> io::Result<Annotated> {
    let mut done = Annotated::default();
    for mut reader in captures {
        if !matches!(reader.format(), Format::Pcap | Format::PcapNg) {
            done.others += 1;
            continue;
        }
        let mut own = comments.remove(reader.name()).unwrap_or_default();
        writer.section(&own.whole)?;
        loop {
            match reader.next() {
                Ok(Some(Record::Packet(packet))) => {
                    let begin = packet.at;
                    let end = begin.saturating_add(packet.bytes.len() as u64);
                    let mut said = Vec::new();
                    while let Some((place, _)) = own.places.range(begin..end).next() {
                        let place = *place;
                        said.extend(own.places.remove(&place).unwrap_or_default());
                    }
                    said.extend(packet.time.and_then(|time| own.times.remove(&time)).unwrap_or_default());
                    done.packets += 1;
                    done.commented += u64::from(!said.is_empty());
                    writer.packet(&packet, &said)?;
                }
                Ok(Some(Record::Secrets(key_log))) => writer.secrets(&key_log)?,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    trouble(&error);
                    break;
                }
            }
        }
    }
    Ok(done)
}
