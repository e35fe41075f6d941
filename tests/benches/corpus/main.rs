//! Writes a corpus for measurements: the same bytes for the same seed.
//! Never needs a schema: messages of `agent.v1.AgentServerMessage`, in appends of `agent.v1.AgentClientMessage`,
//! are written field by field.
//!
//! `cargo run --release --example corpus -- KIND FORM MEGABYTES FILE [SEED]`, KIND one of small (text deltas and
//! heartbeats; of a client, output of a command), mixed (a tenth of them blobs and checkpoints; of a client, files and
//! blobs), checkpoints, blobs; FORM one of raw (Connect frames),
//! gzip (each frame compressed), hexl (JSON Lines of appends in hex), pcap (gRPC over h2c).

mod appends;
mod baseline;
mod messages;
mod pcap;

use std::fs::File;
use std::io::{self, BufWriter, Write};

use flate2::{Compression, write::GzEncoder};

use messages::Dice;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [what, path] if what == "inflate" => return baseline::inflate(path),
        [what, path] if what == "naive" => return baseline::naive(path),
        _ => {}
    }
    let [kind, form, megabytes, path, rest @ ..] = args.as_slice() else {
        eprintln!("corpus KIND FORM MEGABYTES FILE [SEED]");
        std::process::exit(2);
    };
    let size = megabytes.parse::<u64>().unwrap_or(50) * 1_000_000;
    let mut dice = Dice(rest.first().and_then(|s| s.parse().ok()).unwrap_or(7));
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    if form == "pcap" {
        return pcap::write(&mut out, size, || messages::message(kind, &mut dice));
    }
    let (mut written, mut number) = (0, 0u64);
    while written < size {
        let message = match form.as_str() {
            "hexl" => appends::message(kind, &mut dice),
            _ => messages::message(kind, &mut dice),
        };
        let mut frame = Vec::new();
        match form.as_str() {
            "hexl" => {
                let digits: String = message.iter().map(|b| format!("{b:02x}")).collect();
                let ids = "\"requestId\":{\"requestId\":\"11111111-2222-4333-8444-555555555555\"}";
                writeln!(
                    frame,
                    "{{\"bidi_append_request\":{{\"data\":\"{digits}\",{ids},\"appendSeqno\":\"{number}\"}}}}"
                )?;
            }
            _ => {
                let payload = match form.as_str() {
                    "gzip" => {
                        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
                        encoder.write_all(&message)?;
                        encoder.finish()?
                    }
                    _ => message,
                };
                frame.push(u8::from(form == "gzip"));
                frame.extend_from_slice(&(payload.len() as u32).to_be_bytes());
                frame.extend_from_slice(&payload);
            }
        }
        out.write_all(&frame)?;
        written += frame.len() as u64;
        number += 1;
    }
    out.flush()
}
