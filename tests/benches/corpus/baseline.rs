//! What the program is measured against, on corpora of this example: inflating alone, and a plain design.
//! Never does more than that: no findings, no records.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use rpcshark::schema::{self, Sources};
use serde_json::{Value, json};

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

/// The plain design for appends in hex, with the record that the program writes: serde_json's tree of the line,
/// prost-reflect's tree of the append, hex, prost-reflect's tree of the message, a tree of the record, JSON.
pub fn naive(path: &str) -> io::Result<()> {
    let (set, _) =
        schema::descriptor_set(&Sources { builtin: true, ..Sources::default() }).map_err(io::Error::other)?;
    let mut pool = DescriptorPool::global();
    pool.decode_file_descriptor_set(set.as_slice()).map_err(io::Error::other)?;
    let named = |name: &str| pool.get_message_by_name(name).ok_or(io::ErrorKind::NotFound);
    let (append, carried) = (named("aiserver.v1.BidiAppendRequest")?, named("agent.v1.AgentClientMessage")?);
    let options = SerializeOptions::new().use_proto_field_name(true);
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut at = 0;
    for (index, line) in BufReader::with_capacity(1 << 18, std::fs::File::open(path)?).lines().enumerate() {
        let line = line?;
        let mut record: Value = serde_json::from_str(&line)?;
        let body = record["bidi_append_request"].take();
        let json_length = body.to_string().len();
        let outer = DynamicMessage::deserialize(append.clone(), body).map_err(io::Error::other)?;
        let outer = outer.serialize_with_options(serde_json::value::Serializer, &options)?;
        let digits = outer["data"].as_str().unwrap_or_default();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or(""), 16).unwrap_or(0);
        let bytes: Vec<u8> = digits.as_bytes().chunks(2).map(byte).collect();
        let message = DynamicMessage::decode(carried.clone(), bytes.as_slice()).map_err(io::Error::other)?;
        let message = message.serialize_with_options(serde_json::value::Serializer, &options)?;
        let kind = message.as_object().and_then(|fields| fields.keys().next());
        let id = &outer["request_id"]["request_id"];
        let seqno = outer["append_seqno"].as_str().and_then(|text| text.parse::<u64>().ok());
        let record = json!({
            "frame": index + 1, "capture": path, "ts": null, "conn": null, "stream": null, "call": index + 1,
            "rpc": "aiserver.v1.BidiService/BidiAppend", "direction": "request", "protocol": "bare", "offset": 0,
            "at": at, "kind": kind, "messageType": carried.full_name(), "flags": null, "length": bytes.len(),
            "jsonLength": json_length, "compressed": false, "endStream": false, "ids": {"request_id": id},
            "carrier": {
                "messageType": append.full_name(), "field": "data", "encoding": "hex",
                "append_seqno": seqno.unwrap_or(0), "request_id": id, "assumed": true,
            },
            "message": message, "findings": [],
        });
        serde_json::to_writer(&mut out, &record)?;
        out.write_all(b"\n")?;
        at += line.len() + 1;
    }
    out.flush()
}
