//! The limits of a run, each with a name; their sum bounds the memory.
//! Never enforced here: each is checked where the bytes are.

/// What bounds memory and work. Reaching one is a finding, never an error.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest frame payload that is kept, in bytes (`--max-frame`).
    pub max_frame: u64,
    /// Longest result of undoing one encoding, in bytes (`--max-inflate`).
    pub max_inflate: u64,
    /// Largest ratio of inflated to compressed length, above `ratio_floor` bytes of output.
    pub max_ratio: u64,
    /// Output below this length is never a bomb, whatever its ratio.
    pub ratio_floor: u64,
    /// Deepest nesting of messages and groups (`--max-depth`).
    pub max_depth: usize,
    /// Fields of one message that are decoded, at every depth together; the rest is kept as bytes.
    pub max_fields: usize,
    /// Bytes that are shown of a message's broken end (`$rest`).
    pub max_rest: usize,
    /// Out-of-order bytes held per direction of a TCP connection.
    pub max_held: usize,
    /// Connections followed at once; the longest idle is given up.
    pub max_connections: usize,
    /// Calls that are open at once on all connections.
    pub max_calls: usize,
    /// Longest HTTP header block, in bytes.
    pub max_header_block: usize,
    /// Requests of one HTTP/1 connection that wait for their responses; the oldest is given up.
    pub max_pipelined: usize,
    /// Longest whole body (unary, unframed) that is kept, in bytes.
    pub max_body: u64,
    /// Longest record of a capture file that is read whole (a JSON record, a HAR entry, a flow,
    /// an archive from a pipe), in bytes.
    pub max_record: u64,
    /// Bytes of whole bodies held at once over all calls, until each is complete.
    pub max_bodies: usize,
    /// Fragments of IP datagrams held, in bytes.
    pub max_fragments: usize,
    /// TLS records held per direction that wait for a key or for the other side's hello, in bytes.
    pub max_tls_held: usize,
    /// Work that searching for keys may do on one TLS connection, in bytes read: a trial of AES-GCM reads
    /// a block of 16, one of another cipher the record.
    pub max_tls_search: u64,
    /// Channels (ids that join calls) remembered.
    pub max_channels: usize,
    /// Things that are open, or were and may still be spoken of, at once; the oldest is given up.
    pub max_lives: usize,
    /// Runs that have ended and may still be spoken of; the oldest is settled.
    pub max_ended: usize,
    /// Stages of a timeline that are kept; links, findings and outcomes as many.
    pub max_stages: usize,
    /// Text put together from pieces, of all runs that are not settled, in bytes.
    pub max_text: usize,
    /// Blobs that are listed, and ids of blobs that are remembered.
    pub max_blobs: usize,
    /// Content of blobs that is kept, in bytes.
    pub max_blob_bytes: u64,
    /// Longest input from a pipe that is kept where it has to be read twice, in bytes.
    pub max_kept: u64,
    /// Frames that an export holds; it says how many it left out.
    pub max_export_frames: usize,
    /// Bytes of one payload that a report shows.
    pub max_report_payload: usize,
    /// What frames hold, in bytes of the report; the rest are listed without it.
    pub max_report: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_frame: 64 << 20,
            max_inflate: 64 << 20,
            max_ratio: 2_000,
            ratio_floor: 1 << 20,
            max_depth: 100,
            max_fields: 4 << 20,
            max_rest: 1 << 20,
            max_held: 16 << 20,
            max_connections: 4_096,
            max_calls: 65_536,
            max_header_block: 1 << 20,
            max_pipelined: 1_024,
            max_body: 64 << 20,
            max_record: 256 << 20,
            max_bodies: 256 << 20,
            max_fragments: 4 << 20,
            max_tls_held: 32 << 10,
            max_tls_search: 256 << 20,
            max_channels: 65_536,
            max_lives: 65_536,
            max_ended: 1_024,
            max_stages: 262_144,
            max_text: 64 << 20,
            max_blobs: 65_536,
            max_blob_bytes: 64 << 20,
            max_kept: 1 << 30,
            max_export_frames: 1_000_000,
            max_report_payload: 16 << 10,
            max_report: 64 << 20,
        }
    }
}

macro_rules! named {
    ($($name:ident)*) => {
        impl Limits {
            /// The name of every limit.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Sets a limit by its name; false where there is none of that name, or the value is more than
            /// it can hold.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => value.try_into().map(|value| self.$name = value).is_ok(),)*
                    _ => false,
                }
            }

            /// A limit by its name.
            pub fn by_name(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => u64::try_from(self.$name).ok(),)*
                    _ => None,
                }
            }
        }
    };
}

named! {
    max_frame max_inflate max_ratio ratio_floor max_depth max_fields max_rest max_held max_connections max_calls
    max_header_block max_pipelined max_body max_record max_bodies max_fragments max_tls_held max_tls_search
    max_channels max_lives max_ended max_stages max_text max_blobs max_blob_bytes max_export_frames
    max_report_payload max_report max_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_name_and_a_line_in_the_docs() {
        let written = format!("{:?}", Limits::default());
        assert_eq!(written.matches(": ").count(), Limits::NAMES.len());
        let docs = include_str!("../../docs/LIMITS.md");
        for name in Limits::NAMES {
            let mut limits = Limits::default();
            let default = limits.by_name(name).unwrap_or(0);
            assert!(limits.set(name, 7) && limits.by_name(name) == Some(7), "{name}");
            let line = docs.lines().find(|line| line.starts_with(&format!("| `{name}` ")));
            let spelled = match default {
                _ if default % (1 << 20) == 0 => format!("{} MiB", default >> 20),
                _ if default % 1024 == 0 && name.contains("held") => format!("{} KiB", default >> 10),
                _ => default.to_string(),
            };
            let says = |line: &str| {
                line.contains(&format!("| {spelled} |")) || line.contains(&format!("| {default} |"))
            };
            assert!(line.is_some_and(says), "{name}: {spelled} is not in docs/LIMITS.md: {line:?}");
        }
    }
}
