//! What the fuzzer calls, and the tests over the corpus: one function a source and a layer, over any bytes.
//! Never looks inside the library: each goes in where a caller would.

mod layers;
pub mod messages;
pub mod program;
mod sources;
mod texts;

pub use layers::{fuzz_envelopes, fuzz_hpack, fuzz_http1, fuzz_http2, fuzz_inflate, fuzz_packets, fuzz_tls};
pub use messages::{fuzz_encode, fuzz_end_stream, fuzz_wire, fuzz_wire_typed};
pub use program::{fuzz_chunks, fuzz_program, fuzz_session};
pub use sources::{fuzz_flow, fuzz_har, fuzz_hex, fuzz_jsonl, fuzz_pcap, fuzz_pcapng, fuzz_saz, fuzz_trace};
pub use texts::{fuzz_descriptors, fuzz_dialect, fuzz_filter, fuzz_proto};

/// Takes any bytes; panics where a law is broken.
pub type Target = fn(&[u8]);

/// What any capture is to the whole program.
const CAPTURES: &[&str] =
    &["session", "program", "pcap", "pcapng", "har", "flow", "saz", "jsonl", "hex", "trace"];

/// Every target by its name, and the folders of its corpus.
pub const ALL: &[(&str, Target, &[&str])] = &[
    ("pcap", fuzz_pcap, &["pcap"]),
    ("pcapng", fuzz_pcapng, &["pcapng"]),
    ("har", fuzz_har, &["har"]),
    ("flow", fuzz_flow, &["flow"]),
    ("saz", fuzz_saz, &["saz"]),
    ("jsonl", fuzz_jsonl, &["jsonl"]),
    ("hex", fuzz_hex, &["hex"]),
    ("trace", fuzz_trace, &["trace"]),
    ("packets", fuzz_packets, &["packets"]),
    ("tls", fuzz_tls, &["tls"]),
    ("http1", fuzz_http1, &["http1"]),
    ("http2", fuzz_http2, &["http2"]),
    ("hpack", fuzz_hpack, &["hpack"]),
    ("envelopes", fuzz_envelopes, &["envelopes"]),
    ("inflate", fuzz_inflate, &["inflate"]),
    ("wire", fuzz_wire, &["wire"]),
    ("wire_typed", fuzz_wire_typed, &["wire_typed"]),
    ("end_stream", fuzz_end_stream, &["end_stream"]),
    ("encode", fuzz_encode, &["encode"]),
    ("proto", fuzz_proto, &["proto"]),
    ("descriptors", fuzz_descriptors, &["descriptors"]),
    ("dialect", fuzz_dialect, &["dialect"]),
    ("filter", fuzz_filter, &["filter"]),
    ("session", fuzz_session, CAPTURES),
    ("program", fuzz_program, CAPTURES),
    ("chunks", fuzz_chunks, CAPTURES),
];
