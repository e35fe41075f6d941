//! Capture formats: bytes into records.

use std::io::Cursor;

use rpcshark::source::{Format, Options, Reader, Record};

/// Reads all records of a format; an error ends it, as it would for a caller.
fn read(data: &[u8], format: Format) {
    let options = Options { format: Some(format), ..Options::default() };
    let raw = Box::new(Cursor::new(data.to_vec()));
    let Ok(mut reader) = Reader::from_reader("fuzz", raw, &options) else { return };
    while let Ok(Some(record)) = reader.next() {
        if let Record::Packet(packet) = &record {
            assert!(packet.bytes.len() <= data.len(), "no packet is longer than its file");
        }
    }
}

/// libpcap's format.
pub fn fuzz_pcap(data: &[u8]) {
    read(data, Format::Pcap);
}

/// pcapng.
pub fn fuzz_pcapng(data: &[u8]) {
    read(data, Format::PcapNg);
}

/// HTTP Archive.
pub fn fuzz_har(data: &[u8]) {
    read(data, Format::Har);
}

/// mitmproxy flows.
pub fn fuzz_flow(data: &[u8]) {
    read(data, Format::Flow);
}

/// Fiddler session archives.
pub fn fuzz_saz(data: &[u8]) {
    read(data, Format::Saz);
}

/// JSON records.
pub fn fuzz_jsonl(data: &[u8]) {
    read(data, Format::Jsonl);
}

/// Hex and base64 text.
pub fn fuzz_hex(data: &[u8]) {
    read(data, Format::Hex);
    read(data, Format::Base64);
}

/// `curl --trace`.
pub fn fuzz_trace(data: &[u8]) {
    read(data, Format::Trace);
}
