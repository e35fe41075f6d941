//! A gRPC call over HTTP/2 without TLS, as a capture of raw IP packets.
//! Never waits for windows or acknowledgements: no reader of captures does.

use std::io::{self, Write};

/// Bytes of a TCP segment.
const SEGMENT: usize = 1_400;
/// Bytes of a DATA frame, at most (RFC 9113, section 4.2).
const DATA: usize = 16_384;

/// One side of the connection.
struct Side {
    from: u16,
    to: u16,
    sequence: u32,
}

struct Capture<'a> {
    out: &'a mut dyn Write,
    micros: u64,
    written: u64,
}

impl Capture<'_> {
    /// Writes bytes of one side as segments.
    fn send(&mut self, side: &mut Side, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(SEGMENT) {
            let length = 40 + part.len();
            self.micros += 10;
            for word in [self.micros / 1_000_000, self.micros % 1_000_000, length as u64, length as u64] {
                self.out.write_all(&(word as u32).to_le_bytes())?;
            }
            let mut head = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
            head.extend_from_slice(&[10, 0, 0, u8::from(side.from == 80) + 1]);
            head.extend_from_slice(&[10, 0, 0, u8::from(side.to == 80) + 1]);
            head.extend_from_slice(&side.from.to_be_bytes());
            head.extend_from_slice(&side.to.to_be_bytes());
            head.extend_from_slice(&side.sequence.to_be_bytes());
            head.extend_from_slice(&[0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
            self.out.write_all(&head)?;
            self.out.write_all(part)?;
            side.sequence = side.sequence.wrapping_add(part.len() as u32);
            self.written += 16 + length as u64;
        }
        Ok(())
    }
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// Header fields as literals without indexing (RFC 7541, section 6.2.2).
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

/// A message with its five bytes, in DATA frames.
fn data(message: &[u8], flags: u8) -> Vec<u8> {
    let mut body = vec![0];
    body.extend_from_slice(&(message.len() as u32).to_be_bytes());
    body.extend_from_slice(message);
    let last = body.chunks(DATA).count();
    let parts = body.chunks(DATA).zip(1..);
    parts.flat_map(|(part, n)| frame(0, if n == last { flags } else { 0 }, 1, part)).collect()
}

/// Writes about `size` bytes.
pub fn write(out: &mut dyn Write, size: u64, mut next: impl FnMut() -> Vec<u8>) -> io::Result<()> {
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101] {
        out.write_all(&word.to_le_bytes())?;
    }
    let mut capture = Capture { out, micros: 1_700_000_000_000_000, written: 0 };
    let mut client = Side { from: 40_000, to: 80, sequence: 1 };
    let mut server = Side { from: 80, to: 40_000, sequence: 1 };
    let request = fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/agent.v1.AgentService/RunSSE"),
        (":authority", "bench.test"),
        ("content-type", "application/grpc"),
    ]);
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend(frame(4, 0, 0, &[]));
    hello.extend(frame(1, 4, 1, &request));
    hello.extend(data(b"\x0a\x2411111111-2222-4333-8444-555555555555", 1));
    capture.send(&mut client, &hello)?;
    let response = fields(&[(":status", "200"), ("content-type", "application/grpc")]);
    capture.send(&mut server, &[frame(4, 0, 0, &[]), frame(1, 4, 1, &response)].concat())?;
    while capture.written < size {
        capture.send(&mut server, &data(&next(), 0))?;
    }
    capture.send(&mut server, &frame(1, 5, 1, &fields(&[("grpc-status", "0")])))?;
    capture.out.flush()
}
