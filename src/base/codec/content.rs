//! HTTP content codings, undone only where the bytes still carry them: files of HTTP keep the
//! header of the wire beside a body that the browser has decoded.
//! Never reports a body that is plain under such a header.

use bytes::Bytes;

use crate::base::{Code, Finding, Limits};

use super::{Format, Inflater};

impl Inflater {
    /// Undoes the codings of a content-encoding value on a body. `whole` is false where the end
    /// of the body is missing.
    pub fn undo_content(
        &mut self,
        codings: &str,
        body: Bytes,
        whole: bool,
        limits: &Limits,
        findings: &mut Vec<Finding>,
    ) -> Bytes {
        let mut body = body;
        // The last coding named was the last applied (RFC 9110, section 8.4).
        for name in codings.rsplit(',').map(str::trim).filter(|n| !n.is_empty()).take(8) {
            let Some(format) = Format::named(name) else {
                let text = format!("content-encoding '{name}' is not supported; the body is kept as it is");
                findings.push(Finding::new(Code::CodecUnsupported, text));
                return body;
            };
            body = self.undo_one(format, body, whole, limits, findings);
        }
        body
    }

    fn undo_one(
        &mut self,
        format: Format,
        body: Bytes,
        whole: bool,
        limits: &Limits,
        findings: &mut Vec<Finding>,
    ) -> Bytes {
        if format == Format::Identity || body.is_empty() {
            return body;
        }
        let has_magic = matches!(format, Format::Gzip | Format::Zstd);
        if has_magic && !format.begins(&body) {
            return body;
        }
        let mut out = std::mem::take(&mut self.scratch);
        let mut found = Vec::new();
        out.clear();
        let done = self.run(format, &body, whole, limits, &mut out, &mut found);
        // Without a magic only success proves the coding, or as much of it as is there.
        let is_bomb = found.iter().any(|f| f.code == Code::CodecBomb);
        let proven = has_magic || is_bomb || found.is_empty() && (done.complete || !out.is_empty());
        let body = if proven {
            findings.append(&mut found);
            Bytes::copy_from_slice(&out)
        } else {
            body
        };
        self.scratch = out;
        body
    }
}
