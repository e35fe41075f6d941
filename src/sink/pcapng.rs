//! pcapng (draft-ietf-opsawg-pcapng): packets as they were captured, with comments.
//! Never changes a byte of a packet.
//!
//! ```text
//!  block:  type 4 │ length 4 │ body, padded to 4 │ length 4      option:  code 2 │ length 2 │ value, padded to 4
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

use crate::pdu::{Linktype, Packet};

/// Block types (sections 4.1, 4.2, 4.3, 4.7).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 0x0a;
/// Tells the byte order of a section.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Options of any block (section 3.5), of a section header, of an interface.
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_TSRESOL: u16 = 9;
/// Resolution of times: 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// The secrets are an NSS key log (section 4.7).
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Longest comment, in bytes: an option's length has 16 bits.
const MAX_COMMENT: usize = 0xfff0;

/// Writes sections, one a capture.
pub struct Writer<'o> {
    out: &'o mut dyn Write,
    /// Numbers of interfaces in this section, by their number in the capture and their link type.
    interfaces: HashMap<(u32, Linktype), u32>,
}

impl<'o> Writer<'o> {
    /// Nothing is written before the first section.
    pub fn new(out: &'o mut dyn Write) -> Self {
        Self { out, interfaces: HashMap::new() }
    }

    /// Begins a section: what follows has interfaces of its own.
    pub fn section(&mut self, comments: &[String]) -> io::Result<()> {
        self.interfaces.clear();
        let mut body = BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
        for version in [1u16, 0] {
            body.extend(version.to_le_bytes());
        }
        // The length of the section is not known yet.
        body.extend(u64::MAX.to_le_bytes());
        let program = format!("rpcshark {}", env!("CARGO_PKG_VERSION"));
        option(&mut body, SHB_USERAPPL, program.as_bytes());
        end(&mut body, comments);
        self.block(SECTION_HEADER, &body)
    }

    /// Writes TLS secrets in NSS key log format; they must come before the packets that they open.
    pub fn secrets(&mut self, key_log: &[u8]) -> io::Result<()> {
        let Ok(length) = u32::try_from(key_log.len()) else { return Ok(()) };
        let mut body = TLS_KEY_LOG.to_le_bytes().to_vec();
        body.extend(length.to_le_bytes());
        body.extend_from_slice(key_log);
        self.block(DECRYPTION_SECRETS, &body)
    }

    /// Writes a packet with comments.
    pub fn packet(&mut self, packet: &Packet, comments: &[String]) -> io::Result<()> {
        let interface = self.interface(packet.interface, packet.linktype)?;
        let Ok(length) = u32::try_from(packet.bytes.len()) else { return Ok(()) };
        let time = packet.time.map_or(0, |t| t.0.max(0) as u64);
        let mut body = interface.to_le_bytes().to_vec();
        for number in [(time >> 32) as u32, time as u32, length, packet.original_length.max(length)] {
            body.extend(number.to_le_bytes());
        }
        body.extend_from_slice(&packet.bytes);
        pad(&mut body);
        if !comments.is_empty() {
            end(&mut body, comments);
        }
        self.block(ENHANCED_PACKET, &body)
    }

    /// The number of an interface, which is described at its first packet.
    fn interface(&mut self, number: u32, linktype: Linktype) -> io::Result<u32> {
        if let Some(known) = self.interfaces.get(&(number, linktype)) {
            return Ok(*known);
        }
        let new = self.interfaces.len() as u32;
        self.interfaces.insert((number, linktype), new);
        // Link type, two bytes that are reserved, no limit of length.
        let mut body = (linktype.0 as u16).to_le_bytes().to_vec();
        body.extend([0; 6]);
        option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
        end(&mut body, &[]);
        self.block(INTERFACE_DESCRIPTION, &body)?;
        Ok(new)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let padding = body.len().wrapping_neg() % 4;
        let length = (body.len() + padding + 12) as u32;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(body)?;
        self.out.write_all(&[0; 3][..padding])?;
        self.out.write_all(&length.to_le_bytes())
    }
}

fn pad(body: &mut Vec<u8>) {
    while !body.len().is_multiple_of(4) {
        body.push(0);
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

/// Comments, and the end of the options.
fn end(body: &mut Vec<u8>, comments: &[String]) {
    for comment in comments {
        let mut length = comment.len().min(MAX_COMMENT);
        while !comment.is_char_boundary(length) {
            length -= 1;
        }
        option(body, OPT_COMMENT, comment.get(..length).unwrap_or_default().as_bytes());
    }
    option(body, OPT_END, &[]);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::base::Timestamp;

    use super::*;

    #[test]
    fn blocks_are_padded_and_closed() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        writer.section(&[]).unwrap();
        let packet = Packet {
            number: 1,
            time: Some(Timestamp(0x1_0000_0002)),
            linktype: Linktype(1),
            interface: 7,
            original_length: 9,
            bytes: Bytes::from_static(b"abcde"),
            at: 0,
        };
        writer.packet(&packet, &["é".repeat(40_000)]).unwrap();
        writer.packet(&packet, &[]).unwrap();
        let (mut at, mut kinds) = (0, Vec::new());
        while at < out.len() {
            let number = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().unwrap());
            let length = number(at + 4) as usize;
            assert_eq!((length % 4, number(at + length - 4) as usize), (0, length));
            kinds.push(number(at));
            if number(at) == ENHANCED_PACKET {
                assert_eq!([8, 12, 16, 20, 24].map(|n| number(at + n)), [0, 1, 2, 5, 9]);
                assert_eq!(&out[at + 28..at + 36], b"abcde\0\0\0");
            }
            at += length;
        }
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET, ENHANCED_PACKET]);
    }
}
