//! Numbers, text and bytes as JSON.
//! Never writes a control, invisible or bidirectional character raw.

use crate::{
    base::json::push_string,
    message::{Expand, Node},
    schema::{FieldPlan, Kind, TypeId},
};

use super::{Writer, collect::zigzag};

/// Appends base64 with padding, without quotes.
pub(in crate::message) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    base64_simd::STANDARD.encode_append(bytes, out);
}

/// A whole number or bool as JSON has it, and whether in quotes; `None` for other kinds.
pub(in crate::message) fn whole(kind: Kind, bits: u64, buffer: &mut itoa::Buffer) -> Option<(&str, bool)> {
    Some(match kind {
        Kind::Int32 | Kind::Sfixed32 => (buffer.format(bits as i32), false),
        Kind::Uint32 | Kind::Fixed32 => (buffer.format(bits as u32), false),
        Kind::Sint32 => (buffer.format(zigzag(kind, bits)), false),
        Kind::Int64 | Kind::Sfixed64 => (buffer.format(bits as i64), true),
        Kind::Uint64 | Kind::Fixed64 => (buffer.format(bits), true),
        Kind::Sint64 => (buffer.format(zigzag(kind, bits)), true),
        Kind::Bool => (if bits != 0 { "true" } else { "false" }, false),
        _ => return None,
    })
}

impl Writer<'_, '_> {
    /// A number, bool or enum.
    pub(super) fn number(&mut self, kind: Kind, bits: u64) {
        let mut buffer = itoa::Buffer::new();
        let (text, quoted) = match kind {
            Kind::Float => {
                let value = f32::from_bits(bits as u32);
                return self.float(ryu::Buffer::new().format(value), value.is_finite());
            }
            Kind::Double => {
                let value = f64::from_bits(bits);
                return self.float(ryu::Buffer::new().format(value), value.is_finite());
            }
            Kind::Enum(id) => {
                let plan = self.schema.enum_plan(id);
                if plan.is_some_and(|p| p.null) {
                    return self.out.extend_from_slice(b"null");
                }
                match plan.and_then(|p| p.name_of(bits as i32)) {
                    Some(name) => return push_string(self.out, name),
                    None => (buffer.format(bits as i32), false),
                }
            }
            _ => whole(kind, bits, &mut buffer).unwrap_or(("null", false)),
        };
        if quoted {
            self.out.push(b'"');
        }
        self.out.extend_from_slice(text.as_bytes());
        if quoted {
            self.out.push(b'"');
        }
    }

    fn float(&mut self, text: &str, finite: bool) {
        if finite {
            let text = text.strip_suffix(".0").unwrap_or(text);
            return self.out.extend_from_slice(text.as_bytes());
        }
        let name: &[u8] = match text {
            "inf" => b"\"Infinity\"",
            "-inf" => b"\"-Infinity\"",
            _ => b"\"NaN\"",
        };
        self.out.extend_from_slice(name);
    }

    /// The value of a field that is not on the wire.
    pub(super) fn default(&mut self, kind: Kind) {
        match kind {
            Kind::String | Kind::Bytes => self.out.extend_from_slice(b"\"\""),
            Kind::Message(ty) => self.message(ty, &[]),
            Kind::Enum(id) => {
                let first = self.schema.enum_plan(id).map_or(0, |p| p.first);
                self.number(kind, first as u64);
            }
            kind => self.number(kind, 0),
        }
    }

    /// A string field.
    pub(super) fn text(&mut self, field: &FieldPlan, at: u32, node: &Node) {
        let bytes = node.bytes(self.payload);
        let masked = self.masked(at, bytes);
        let bytes = masked.as_deref().unwrap_or(bytes);
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) if self.text_with_secret(at, field, text) => {}
            Ok(text) => push_string(self.out, text),
            Err(_) => {
                self.out.extend_from_slice(b"{\"$bytes\":\"");
                push_base64(self.out, bytes);
                self.out.extend_from_slice(b"\",\"$text\":");
                push_string(self.out, &String::from_utf8_lossy(bytes));
                self.out.push(b'}');
            }
        }
    }

    /// A bytes field, or bytes that stand for what could not be decoded.
    pub(super) fn bytes(&mut self, field: &FieldPlan, at: u32, bytes: &[u8]) {
        match field.annotation.carrier {
            Some(number) if !bytes.is_empty() && self.carried_with_secret(at, "protobuf", bytes, number) => {}
            _ => self.base64(at, bytes, self.inner_type(field)),
        }
    }

    /// The message type that a field is said to hold.
    pub(super) fn inner_type(&self, field: &FieldPlan) -> Option<TypeId> {
        field.annotation.nested.and_then(|n| self.schema.nested(n)).and_then(|n| n.ty)
    }

    /// Base64 in quotes, what is secret in it hidden.
    pub(super) fn base64(&mut self, at: u32, bytes: &[u8], inner: Option<TypeId>) {
        if self.options.redact && self.bytes_with_secret(at, "protobuf", bytes, inner) {
            return;
        }
        let masked = self.masked(at, bytes);
        self.out.push(b'"');
        push_base64(self.out, masked.as_deref().unwrap_or(bytes));
        self.out.push(b'"');
    }

    /// Whether encodings are opened at all.
    pub(super) fn expands(&self) -> bool {
        self.options.expand == Expand::All
    }
}
