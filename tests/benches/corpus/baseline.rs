//! What the program is measured against, on corpora of this example: inflating alone, and a plain design.
//! Never does more than that: no findings, no records.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use rpcshark::schema::{self, Sources};

/// Inflates the frames of a file with one decoder for all; writes nothing.
pub fn inflate(path: &str) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 18, std::fs::File::open(path)?);
    let (mut head, mut body, mut out, mut sum) = ([0; 5], Vec::new(), vec![0; 1 << 20], 0u64);
    let mut decoder = flate2::Decompress::new_gzip(15);
    while reader.read_exact(&mut head).is_ok() {
        let [_, length @ ..] = head;
        body.resize(u32::from_be_bytes(length) as usize, 0);
        reader.read_exact(&mut body)?;
        if head[0] & 1 == 1 {
            decoder.reset(true);
            decoder.decompress(&body, &mut out, flate2::FlushDecompress::Finish).map_err(io::Error::other)?;
            sum += decoder.total_out();
        }
    }
    eprintln!("{sum} bytes");
    Ok(())
}

/// The plain design for appends in hex: serde_json's tree of the line, hex, prost-reflect's tree of the message, JSON.
pub fn naive(path: &str) -> io::Result<()> {
    let (set, _) =
        schema::descriptor_set(&Sources { builtin: true, ..Sources::default() }).map_err(io::Error::other)?;
    let mut pool = DescriptorPool::global();
    pool.decode_file_descriptor_set(set.as_slice()).map_err(io::Error::other)?;
    let descriptor =
        pool.get_message_by_name("agent.v1.AgentClientMessage").ok_or(io::ErrorKind::NotFound)?;
    let options = SerializeOptions::new().use_proto_field_name(true);
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for line in BufReader::with_capacity(1 << 18, std::fs::File::open(path)?).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let digits = record["bidi_append_request"]["data"].as_str().unwrap_or_default();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or(""), 16).unwrap_or(0);
        let bytes: Vec<u8> = digits.as_bytes().chunks(2).map(byte).collect();
        let message =
            DynamicMessage::decode(descriptor.clone(), bytes.as_slice()).map_err(io::Error::other)?;
        let mut text = Vec::new();
        message
            .serialize_with_options(&mut serde_json::Serializer::new(&mut text), &options)
            .map_err(io::Error::other)?;
        let message: serde_json::Value = serde_json::from_slice(&text)?;
        serde_json::to_writer(&mut out, &serde_json::json!({"message": message, "length": bytes.len()}))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
