//! Encodings inside fields, opened: JSON, messages, hex, base64, text, blobs.
//! Never guesses: a value that is not in the encoding it should be in is written as it is.

use crate::base::text::hex;
use crate::{
    base::{Severity, secret, text::is_unsafe},
    message::{Node, Tree, decode::decode},
    schema::{Encoding, Inner, Nested, Schema, TypeId},
};

use super::redact::Hidden;
use super::{JsonOptions, Writer, push_string};

/// How many encodings inside each other are opened.
pub(super) const MAX_LEVEL: usize = 16;

/// Length of a blob's id in bytes (SHA-256).
const ID_LEN: usize = 32;

/// The value of a field as JSON, where the field is declared to hold another encoding and its bytes are in it.
pub fn open(
    schema: &Schema,
    tree: &Tree,
    payload: &[u8],
    at: u32,
    options: &JsonOptions<'_>,
) -> Option<Vec<u8>> {
    let node = tree.node(at)?;
    let field = schema.ty(tree.type_of(tree.parent(at))?).field(node.field)?;
    let nested = schema.nested(field.annotation.nested?)?;
    let (mut out, mut hidden) = (Vec::new(), Hidden::default());
    let mut writer =
        Writer { schema, tree, payload, options, out: &mut out, hidden: &mut hidden, at, level: 0 };
    writer.expand(nested, node).then_some(out)
}

impl Writer<'_, '_> {
    /// Writes a value in place of its encoding; false where it is not in that encoding.
    pub(super) fn expand(&mut self, nested: Nested, node: &Node) -> bool {
        let bytes = node.bytes(self.payload);
        if bytes.is_empty() || self.level >= MAX_LEVEL || !self.expands() {
            return false;
        }
        let begin = self.out.len();
        let done = match nested.encoding {
            Encoding::Json => self.opened("json", nested.ty, None, |w| w.json_text(bytes)),
            Encoding::Text => self.opened("text", None, None, |w| w.plain_text(bytes)),
            Encoding::Protobuf => {
                self.opened("protobuf", nested.ty, None, |w| w.inner_message(nested.ty, bytes))
            }
            Encoding::Hex => match hex_simd::decode_to_vec(bytes) {
                Ok(raw) => self.opened("hex", nested.ty, None, |w| w.inner(nested, &raw)),
                Err(_) => false,
            },
            Encoding::Base64 => match base64(bytes) {
                Some(raw) => self.opened("base64", nested.ty, None, |w| w.inner(nested, &raw)),
                None => false,
            },
            Encoding::Blob => self.blob(nested, bytes),
        };
        if !done {
            self.out.truncate(begin);
        }
        done
    }

    pub(super) fn opened(
        &mut self,
        encoding: &str,
        ty: Option<TypeId>,
        id: Option<&[u8]>,
        value: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        let mut first = true;
        self.out.push(b'{');
        if let Some(ty) = ty {
            let name = self.schema.ty(ty).name.clone();
            self.key("$type", &mut first);
            push_string(self.out, &name);
        }
        self.key("$encoding", &mut first);
        push_string(self.out, encoding);
        if let Some(id) = id {
            self.key("$id", &mut first);
            let hex = hex(id);
            push_string(self.out, &hex);
        }
        self.key("$value", &mut first);
        let done = value(self);
        self.out.push(b'}');
        done
    }

    /// A blob: by its id where that is known, or the bytes themselves where they stand in its place.
    fn blob(&mut self, nested: Nested, bytes: &[u8]) -> bool {
        let found =
            (bytes.len() == ID_LEN).then(|| self.options.blobs.and_then(|blobs| blobs(bytes))).flatten();
        match found {
            Some(blob) => {
                self.opened("blob", nested.ty, Some(bytes), |w| w.inner(nested, &blob) || w.binary(&blob))
            }
            None if bytes.len() == ID_LEN => false,
            None => {
                let encoding = match (nested.ty, nested.inner) {
                    (Some(_), _) => "protobuf",
                    (None, Some(Inner::Json)) => "json",
                    (None, Some(Inner::Text)) => "text",
                    (None, None) => return false,
                };
                self.opened(encoding, nested.ty, None, |w| w.inner(nested, bytes))
            }
        }
    }

    /// What decoded bytes hold.
    fn inner(&mut self, nested: Nested, bytes: &[u8]) -> bool {
        match (nested.ty, nested.inner) {
            (Some(_), _) => self.inner_message(nested.ty, bytes),
            (None, Some(Inner::Json)) => self.json_text(bytes),
            (None, Some(Inner::Text)) => self.plain_text(bytes),
            (None, None) => self.plain_text(bytes) || self.binary(bytes),
        }
    }

    fn binary(&mut self, bytes: &[u8]) -> bool {
        if !(self.options.redact && self.bytes_with_secret(Tree::ROOT, "protobuf", bytes, None)) {
            self.plain_base64(bytes);
        }
        true
    }

    pub(super) fn inner_message(&mut self, ty: Option<TypeId>, bytes: &[u8]) -> bool {
        let mut tree = Tree::new();
        let mut findings = Vec::new();
        decode(self.schema, ty, bytes, self.options.limits, &mut tree, &mut findings);
        if findings.iter().any(|f| f.severity == Severity::Error) {
            return false;
        }
        let (schema, options, level) = (self.schema, self.options, self.level + 1);
        let mut inner = Writer {
            schema,
            tree: &tree,
            payload: bytes,
            options,
            out: self.out,
            hidden: self.hidden,
            at: Tree::ROOT,
            level,
        };
        let before = inner.hidden.paths();
        inner.root();
        self.place_hidden(before);
        true
    }

    fn plain_text(&mut self, bytes: &[u8]) -> bool {
        let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return false };
        let masked = if self.options.redact { self.schema.secrets().mask_text(text) } else { None };
        if masked.is_some() {
            self.note(self.at);
        }
        push_string(self.out, masked.as_deref().unwrap_or(text));
        true
    }

    /// JSON text on one line, its strings made safe, its numbers as they are.
    fn json_text(&mut self, bytes: &[u8]) -> bool {
        let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return false };
        let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if !is_json(text) {
            return false;
        }
        let masked = if self.options.redact { self.schema.secrets().mask_text(text) } else { None };
        if let Some(masked) = &masked {
            self.note(self.at);
            // Masking across a quote would break the text: then all of it is hidden.
            if !is_json(masked) {
                push_string(self.out, secret::REDACTED);
                return true;
            }
        }
        let mut in_string = false;
        let mut escaped = false;
        for c in masked.as_deref().unwrap_or(text).chars() {
            if in_string && is_unsafe(c) {
                crate::base::json::push_escape(self.out, c);
            } else if in_string || !c.is_ascii_whitespace() {
                self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            match c {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = in_string && c == '\\' && !escaped;
        }
        true
    }
}

/// Base64 with or without padding, in either alphabet, as a `data:` URL too.
fn base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes = match bytes.strip_prefix(b"data:") {
        Some(rest) => rest.get(memchr::memmem::find(rest, b";base64,")? + 8..)?,
        None => bytes,
    };
    let plain = bytes.iter().rposition(|b| *b != b'=').map_or(0, |at| at + 1);
    let plain = bytes.get(..plain)?;
    let url = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(plain);
    base64_simd::STANDARD_NO_PAD.decode_to_vec(plain).or(url).ok()
}
