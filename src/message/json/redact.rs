//! What is hidden: secret fields, credentials inside text, and copies of messages that hold a secret.
//! Never shows what it cannot tell: bytes that broke off a type with secrets are hidden whole.

use crate::{
    base::{Limits, Severity, secret},
    message::{
        Node, NodeKind, Tree,
        decode::{decode, fits},
        guess, path_of, wire,
    },
    schema::{FieldPlan, Kind, Schema, TypeId, TypePlan, WellKnown, is_secret_name},
};

use super::nested::MAX_LEVEL;
use super::{Writer, hides_unknown, push_string};

/// Paths named in a finding.
const MAX_PATHS: usize = 16;

/// Shortest bytes that are tried as a message with a secret in it.
const MIN_TRIED: usize = 4;

/// What has been hidden in one message.
#[derive(Default)]
pub(super) struct Hidden {
    count: usize,
    paths: Vec<String>,
    /// Of the first broken end that is too long to show: bytes shown, bytes there.
    cut: Option<(usize, usize)>,
}

impl Hidden {
    /// Notes that a broken end is not shown whole.
    pub fn cut(&mut self, shown: usize, there: usize) {
        self.cut.get_or_insert((shown, there));
    }

    /// What is to be said of a broken end that is not shown whole.
    pub fn rest(&self) -> Option<String> {
        let (shown, there) = self.cut?;
        Some(format!("only {shown} of {there} bytes are shown of what cannot be decoded"))
    }

    /// How many paths are named.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// The finding's text, where something was hidden.
    pub fn text(&self) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let values = if self.count == 1 { "value" } else { "values" };
        let more = if self.count > self.paths.len() { ", …" } else { "" };
        Some(format!("{} {values} hidden: {}{more}", self.count, self.paths.join(", ")))
    }
}

impl Writer<'_, '_> {
    /// Whether a field's value is hidden as such.
    pub(super) fn hides(&self, field: &FieldPlan) -> bool {
        self.options.redact && field.annotation.secret
    }

    /// Whether a map's value is hidden because its key is the name of a credential, as in an environment or in
    /// arguments: text and numbers are, what has members of its own (a schema's property) is not.
    pub(super) fn hides_entry(&self, key: &str, value: &FieldPlan, nodes: &[u32]) -> bool {
        if !self.options.redact || !(is_secret_name(key) || self.schema.secrets().is_key(key)) {
            return false;
        }
        match value.kind {
            Kind::String | Kind::Bytes => true,
            Kind::Message(ty) if self.schema.ty(ty).known == Some(WellKnown::Value) => {
                let has_members = |(_, n): (u32, &Node)| n.kind == NodeKind::Message;
                !nodes.iter().any(|at| self.tree.children(*at).any(has_members))
            }
            _ => false,
        }
    }

    /// Writes the marker in place of a value.
    pub(super) fn hide(&mut self, at: u32) {
        push_string(self.out, secret::REDACTED);
        self.note(at);
    }

    /// Notes that something at a node was hidden.
    pub(super) fn note(&mut self, at: u32) {
        self.hidden.count += 1;
        if self.hidden.paths.len() < MAX_PATHS {
            let path = path_of(self.schema, self.tree, self.payload, at);
            self.hidden.paths.push(path);
        }
    }

    /// Puts the field that was opened before the paths that its inside has named since.
    pub(super) fn place_hidden(&mut self, since: usize) {
        if since < self.hidden.paths.len() {
            let outer = path_of(self.schema, self.tree, self.payload, self.at);
            for path in self.hidden.paths.iter_mut().skip(since) {
                *path = if path.is_empty() { outer.clone() } else { format!("{outer}.{path}") };
            }
        }
    }

    /// The bytes with credentials masked, where they hold one.
    pub(super) fn masked(&mut self, at: u32, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.options.redact {
            return None;
        }
        let masked = self.schema.secrets().mask(bytes)?;
        self.note(at);
        Some(masked)
    }

    /// Writes text that is the hex or base64 of a message in which a secret is set as that message, its secrets
    /// hidden: the rest can be read, and no copy of the secret is left. False where it is no such text.
    pub(super) fn text_with_secret(&mut self, at: u32, field: &FieldPlan, text: &str) -> bool {
        if !self.options.redact || self.schema.secret_roots().is_empty() || text.len() < 2 * MIN_TRIED {
            return false;
        }
        let bytes = text.as_bytes();
        let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
        let encoding = if is_hex { "hex" } else { "base64" };
        if let Some(number) = field.annotation.carrier {
            let digits = bytes.strip_prefix(b"0x").or_else(|| bytes.strip_prefix(b"0X")).unwrap_or(bytes);
            let raw = hex_simd::decode_to_vec(digits).ok();
            return match raw.or_else(|| base64_simd::forgiving_decode_to_vec(bytes).ok()) {
                Some(raw) => self.carried_with_secret(at, encoding, &raw, number),
                // Neither digits nor anything else that a carrier holds: what it was cannot be told.
                None => {
                    self.hide(at);
                    true
                }
            };
        }
        let Some(raw) = encoded(bytes) else { return false };
        if self.schema.secrets().mask(&raw).is_some() {
            self.hide(at);
            return true;
        }
        let inner = self.inner_type(field);
        self.bytes_with_secret(at, encoding, &raw, inner)
    }

    /// Writes what a carrier holds as the message that it is where a secret may be in it; hides it where it is no
    /// whole message of any type that the carrier carries. False where it can be shown as it is.
    pub(super) fn carried_with_secret(&mut self, at: u32, encoding: &str, raw: &[u8], number: u16) -> bool {
        if !self.options.redact {
            return false;
        }
        let types = self.schema.carried(number);
        let readings: Vec<(TypeId, Reading)> =
            types.iter().map(|ty| (*ty, read(self.schema, self.options.limits, raw, *ty))).collect();
        if readings.iter().any(|(_, r)| *r == Reading::Plain) && self.schema.secrets().mask(raw).is_none() {
            return false;
        }
        let best = readings.iter().find(|(_, r)| *r == Reading::Secret);
        // A type that knows none of the fields fits anything: only the likeliest is taken with unknown ones.
        let fits = best.or_else(|| readings.first().filter(|(_, r)| *r == Reading::Unknown));
        let Some((ty, _)) = fits else {
            self.hide(at);
            return true;
        };
        self.open_or_hide(at, encoding, *ty, raw);
        true
    }

    /// Whether text of no known field is hidden: the hex or base64 of something with a secret in it.
    pub(super) fn hides_text(&self, text: &[u8]) -> bool {
        self.options.redact && hides_encoded(self.schema, self.options.limits, text)
    }

    /// The same as [`Self::text_with_secret`] for bytes.
    pub(super) fn bytes_with_secret(
        &mut self,
        at: u32,
        encoding: &str,
        bytes: &[u8],
        inner: Option<TypeId>,
    ) -> bool {
        let ty = secret_message(self.schema, self.options.limits, bytes, inner);
        if let Some(ty) = ty {
            self.open_or_hide(at, encoding, ty, bytes);
        }
        ty.is_some()
    }

    /// Writes bytes as a message of a type; hides them where they are none.
    fn open_or_hide(&mut self, at: u32, encoding: &str, ty: TypeId, bytes: &[u8]) {
        let begin = self.out.len();
        if self.level >= MAX_LEVEL
            || !self.opened(encoding, Some(ty), None, |w| w.inner_message(Some(ty), bytes))
        {
            self.out.truncate(begin);
            self.hide(at);
        }
    }

    /// Whether bytes that broke off may show a secret: in the field that was cut, or in hex digits.
    pub(super) fn may_hold_secret(&self, bytes: &[u8]) -> bool {
        if self.schema.secret_roots().is_empty() {
            return false;
        }
        let cut = match wire::tag(bytes, 0, bytes.len()) {
            Ok((_, next)) => {
                wire::varint(bytes, next, bytes.len()).ok().and_then(|(_, start)| bytes.get(start..))
            }
            Err(_) => None,
        };
        if cut.is_some_and(|cut| self.begins_with_secret(cut)) {
            return true;
        }
        bytes.split(|b| !b.is_ascii_hexdigit()).filter(|run| run.len() >= 2 * MIN_TRIED).any(|run| {
            // A byte before the digits can look like one: both alignments are tried.
            [0, 1].into_iter().any(|skip| {
                let run = run.get(skip..).unwrap_or_default();
                let even = run.get(..run.len() & !1).unwrap_or_default();
                hex_simd::decode_to_vec(even).is_ok_and(|raw| self.begins_with_secret(&raw))
            })
        })
    }

    /// Whether bytes begin a message, whole or not, in which a secret is set.
    fn begins_with_secret(&self, bytes: &[u8]) -> bool {
        let mut tree = Tree::new();
        self.schema.secret_roots().iter().any(|ty| {
            decode(self.schema, Some(*ty), bytes, self.options.limits, &mut tree, &mut Vec::new());
            look(self.schema, &tree).secret
        })
    }
}

/// Whether bytes, or what they are the hex or base64 of, decode as a message in which a secret is set; `inner`
/// where they are said to be one of a type.
pub fn holds_secret(schema: &Schema, limits: &Limits, bytes: &[u8], inner: Option<TypeId>) -> bool {
    if schema.secret_roots().is_empty() || bytes.len() < MIN_TRIED {
        return false;
    }
    let holds = |raw: &[u8]| secret_message(schema, limits, raw, inner).is_some();
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    !is_hex && holds(bytes) || encoded(bytes).is_some_and(|raw| holds(&raw))
}

/// Whether text is the hex or base64 of something with a secret in it.
pub fn hides_encoded(schema: &Schema, limits: &Limits, text: &[u8]) -> bool {
    encoded(text).is_some_and(|raw| schema.secrets().mask(&raw).is_some())
        || holds_secret(schema, limits, text, None)
}

/// What bytes are the hex or base64 of, where they can be.
fn encoded(bytes: &[u8]) -> Option<Vec<u8>> {
    if !may_be_encoded(bytes) {
        return None;
    }
    if bytes.iter().all(u8::is_ascii_hexdigit) {
        let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
        return hex_simd::decode_to_vec(even).ok();
    }
    base64_simd::forgiving_decode_to_vec(bytes).ok()
}

/// Whether bytes are nothing but what hex and base64 are written with.
pub fn may_be_encoded(bytes: &[u8]) -> bool {
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    bytes.len() >= 2 * MIN_TRIED && bytes.iter().all(is_base64)
}

/// The type as which bytes decode cleanly with a secret set: `inner`, or one that can stand alone.
fn secret_message(schema: &Schema, limits: &Limits, bytes: &[u8], inner: Option<TypeId>) -> Option<TypeId> {
    if bytes.len() < MIN_TRIED || schema.secret_roots().is_empty() || !guess::is_message(bytes) {
        return None;
    }
    let inner = inner.filter(|ty| schema.reaches_secret(*ty));
    let mut tree = Tree::new();
    let mut findings = Vec::new();
    inner.iter().chain(schema.secret_roots()).copied().find(|ty| {
        if Some(*ty) != inner && !knows_first(schema.ty(*ty), bytes) {
            return false;
        }
        findings.clear();
        decode(schema, Some(*ty), bytes, limits, &mut tree, &mut findings);
        let seen = look(schema, &tree);
        let clean = !seen.unknown && !findings.iter().any(|f| f.severity == Severity::Error);
        // What the schema says lies here needs no proof by a clean decode.
        (clean || Some(*ty) == inner) && seen.secret
    })
}

/// Whether a type has the field that bytes begin with: one it does not have is never a clean message of it.
pub fn knows_first(plan: &TypePlan, bytes: &[u8]) -> bool {
    let Ok((wire::Tag::Field(number, kind), _)) = wire::tag(bytes, 0, bytes.len()) else { return false };
    plan.index_of(number).and_then(|index| plan.field(index)).is_some_and(|field| fits(field, kind))
}

/// What bytes are, read as a type.
#[derive(PartialEq, Eq)]
enum Reading {
    /// A whole message without a secret.
    Plain,
    /// A whole message with one.
    Secret,
    /// A whole message with fields that the type does not have.
    Unknown,
    /// None.
    Broken,
}

fn read(schema: &Schema, limits: &Limits, bytes: &[u8], ty: TypeId) -> Reading {
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    decode(schema, Some(ty), bytes, limits, &mut tree, &mut findings);
    match look(schema, &tree) {
        _ if findings.iter().any(|f| f.severity == Severity::Error) => Reading::Broken,
        Seen { secret: true, .. } => Reading::Secret,
        Seen { unknown: true, .. } => Reading::Unknown,
        _ => Reading::Plain,
    }
}

/// What a tree holds.
#[derive(Default)]
struct Seen {
    /// A secret field that is set, or a broken end of a message in which one can lie.
    secret: bool,
    /// Fields that no type has, those within secrets left out.
    unknown: bool,
}

fn look(schema: &Schema, tree: &Tree) -> Seen {
    let (mut seen, mut hidden_to) = (Seen::default(), 0);
    for (at, node, parent) in tree.walk().filter(|(_, node, _)| node.end > node.start || !node.is_known()) {
        let Some(ty) = tree.type_of(parent).filter(|_| at >= hidden_to) else { continue };
        let plan = schema.ty(ty);
        let known = plan.field(node.field);
        let secret = match node.kind {
            NodeKind::Rest => parent != Tree::ROOT && schema.reaches_secret(ty),
            _ => known
                .map_or_else(|| hides_unknown(schema, plan, node.number), |field| field.annotation.secret),
        };
        if secret && known.is_some() {
            hidden_to = node.next;
        }
        seen.secret |= secret;
        seen.unknown |= known.is_none() && node.kind != NodeKind::Rest;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Sources, load};

    const PROTO: &str = r#"syntax = "proto3"; package demo.v1;
        message Login { string user = 1; string password = 2; }
        message Page { repeated int32 n = 3; Login login = 5; string api_key = 9; }"#;

    #[test]
    fn what_lacks_the_first_field_would_not_have_been_clean() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("t.proto"), PROTO).unwrap();
        let schema = load(&Sources { roots: vec![dir.path().into()], ..Sources::default() }).unwrap().schema;
        let ty = schema.type_by_name("demo.v1.Page").unwrap();
        let mut state = 7u64;
        let mut roll = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        let (mut tree, limits) = (Tree::new(), Limits::default());
        let (mut secrets, mut passed) = (0, 0);
        for _ in 0..30_000 {
            // Fields of any number and wire type, most of which hold what they should.
            let mut bytes = Vec::new();
            for _ in 0..1 + roll(3) {
                let number = [2, 3, 5, 9, 9, 12][roll(6) as usize];
                let wire = if roll(4) == 0 { roll(6) } else { 2 };
                bytes.push((number << 3 | wire) as u8);
                if wire == 2 {
                    bytes.push(4);
                }
                bytes.extend_from_slice(if number == 5 { b"\x12\x02ab" } else { b"abcd" });
            }
            let mut findings = Vec::new();
            decode(&schema, Some(ty), &bytes, &limits, &mut tree, &mut findings);
            let seen = look(&schema, &tree);
            let clean = !seen.unknown && !findings.iter().any(|f| f.severity == Severity::Error);
            let knows = knows_first(schema.ty(ty), &bytes);
            assert!(knows || !clean, "{bytes:02x?}");
            secrets += u32::from(clean && seen.secret);
            passed += u32::from(!knows);
        }
        assert!(secrets > 1_000 && passed > 1_000, "{secrets} {passed}");
    }
}
