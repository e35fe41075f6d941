//! The trailer block of gRPC-Web (PROTOCOL-WEB.md): an HTTP/1 header section in a frame.
//! Never undoes the encodings of values.

use crate::pdu::Headers;

/// Reads `name: value` lines, ended as HTTP/1 ends them or by a bare LF; what is no field counts
/// as lost.
pub(super) fn parse(block: &[u8]) -> Headers {
    let mut headers = Headers::default();
    for line in block.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        match line.iter().position(|b| *b == b':') {
            Some(colon) if colon > 0 => {
                let name = text(line.get(..colon).unwrap_or_default());
                headers.push(name.trim(), text(line.get(colon + 1..).unwrap_or_default()).trim());
            }
            _ => headers.lost = headers.lost.saturating_add(1),
        }
    }
    headers
}

/// UTF-8 where it is, else Latin-1, as all header values.
fn text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|b| char::from(*b)).collect(),
    }
}
