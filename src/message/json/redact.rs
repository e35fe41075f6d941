//! What is hidden: secret fields, credentials inside text, and copies of messages that hold a secret.
//! Never shows what it cannot tell: bytes that broke off a type with secrets are hidden whole.

use smallvec::SmallVec;

use crate::{
    base::{Code, Limits, Severity, secret},
    message::{NodeKind, Tree, decode::decode, guess, path_of, wire},
    schema::{FieldPlan, Schema, TypeId},
};

use super::nested::MAX_LEVEL;
use super::{Writer, push_string};

/// Paths named in a finding.
const MAX_PATHS: usize = 16;

/// Shortest bytes that are tried as a message with a secret in it.
const MIN_TRIED: usize = 4;

/// What has been hidden in one message.
#[derive(Default)]
pub(super) struct Hidden {
    count: usize,
    paths: Vec<String>,
}

impl Hidden {
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
        let masked = secret::mask(bytes)?;
        self.note(at);
        Some(masked)
    }

    /// Writes text that is the hex or base64 of a message in which a secret is set as that message, its secrets
    /// hidden: the rest can be read, and no copy of the secret is left. False where it is no such text.
    pub(super) fn text_with_secret(&mut self, at: u32, field: &FieldPlan, text: &str) -> bool {
        if !self.options.redact || self.schema.secret_roots().is_empty() || text.len() < 2 * MIN_TRIED {
            return false;
        }
        let inner = self.inner_type(field);
        let bytes = text.as_bytes();
        if bytes.iter().all(u8::is_ascii_hexdigit) {
            let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
            let Ok(raw) = hex_simd::decode_to_vec(even) else { return false };
            if secret::mask(&raw).is_some() {
                self.hide(at);
                return true;
            }
            return self.bytes_with_secret(at, "hex", &raw, inner)
                || self.fails_closed(at, field, &raw, even.len() == bytes.len());
        }
        if field.annotation.carrier.is_some() && field.annotation.nested.is_none() && !text.is_empty() {
            // Neither digits nor anything else that a carrier holds: what it was cannot be told.
            self.hide(at);
            return true;
        }
        let plain = text.trim_end_matches('=').as_bytes();
        let is_base64 = plain.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
        let raw = is_base64.then(|| base64_simd::STANDARD_NO_PAD.decode_to_vec(plain).ok()).flatten();
        raw.is_some_and(|raw| self.bytes_with_secret(at, "base64", &raw, inner))
    }

    /// Hides what a carrier holds where it is no whole message of any type that can stand alone.
    fn fails_closed(&mut self, at: u32, field: &FieldPlan, raw: &[u8], whole: bool) -> bool {
        let closed = field.annotation.carrier.is_some() && !(whole && self.decodes(raw));
        if closed {
            self.hide(at);
        }
        closed
    }

    /// Whether bytes decode without damage as some message that can stand alone.
    fn decodes(&self, raw: &[u8]) -> bool {
        let (mut tree, mut findings) = (Tree::new(), Vec::new());
        self.schema.types().filter(|(_, plan)| plan.root).any(|(ty, _)| {
            findings.clear();
            decode(self.schema, Some(ty), raw, self.options.limits, &mut tree, &mut findings);
            !findings.iter().any(|f| f.severity == Severity::Error || f.code == Code::ProtoUnknownField)
        })
    }

    /// The same for bytes.
    pub(super) fn bytes_with_secret(
        &mut self,
        at: u32,
        encoding: &str,
        bytes: &[u8],
        inner: Option<TypeId>,
    ) -> bool {
        let Some(ty) = self.secret_message(bytes, inner) else { return false };
        let begin = self.out.len();
        if self.level >= MAX_LEVEL
            || !self.opened(encoding, Some(ty), None, |w| w.inner_message(Some(ty), bytes))
        {
            self.out.truncate(begin);
            self.hide(at);
        }
        true
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
            has_secret(self.schema, &tree)
        })
    }

    fn secret_message(&self, bytes: &[u8], inner: Option<TypeId>) -> Option<TypeId> {
        secret_message(self.schema, self.options.limits, bytes, inner)
    }
}

/// Whether bytes, or what they are the hex or base64 of, decode as a message in which a secret is set.
pub fn holds_secret(schema: &Schema, limits: &Limits, bytes: &[u8]) -> bool {
    if schema.secret_roots().is_empty() || bytes.len() < MIN_TRIED {
        return false;
    }
    let holds = |raw: &[u8]| secret_message(schema, limits, raw, None).is_some();
    if bytes.iter().all(u8::is_ascii_hexdigit) {
        let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
        return hex_simd::decode_to_vec(even).is_ok_and(|raw| holds(&raw));
    }
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    holds(bytes)
        || bytes.iter().all(is_base64)
            && base64_simd::forgiving_decode_to_vec(bytes).is_ok_and(|raw| holds(&raw))
}

/// The type as which bytes decode cleanly with a secret set: `inner`, or one that can stand alone.
fn secret_message(schema: &Schema, limits: &Limits, bytes: &[u8], inner: Option<TypeId>) -> Option<TypeId> {
    if bytes.len() < MIN_TRIED || schema.secret_roots().is_empty() || !guess::is_message(bytes) {
        return None;
    }
    let inner = inner.filter(|ty| schema.ty(*ty).reaches_secret);
    let mut tree = Tree::new();
    let mut findings = Vec::new();
    let numbers = numbers(bytes);
    let knows = |ty: TypeId| numbers.iter().all(|n| schema.ty(ty).index_of(*n).is_some());
    inner.iter().chain(schema.secret_roots()).copied().find(|ty| {
        // A type that lacks one of the outermost fields cannot decode cleanly.
        if Some(*ty) != inner && !knows(*ty) {
            return false;
        }
        findings.clear();
        decode(schema, Some(*ty), bytes, limits, &mut tree, &mut findings);
        let clean =
            !findings.iter().any(|f| f.severity == Severity::Error || f.code == Code::ProtoUnknownField);
        // What the schema says lies here needs no proof by a clean decode.
        (clean || Some(*ty) == inner) && has_secret(schema, &tree)
    })
}

/// The numbers of a message's outermost fields: the first few.
fn numbers(bytes: &[u8]) -> SmallVec<[u32; 16]> {
    let (mut out, mut at) = (SmallVec::new(), 0);
    while at < bytes.len() && out.len() < 16 {
        let Ok(((number, ..), next)) = wire::field(bytes, at, bytes.len()) else { break };
        if !out.contains(&number) {
            out.push(number);
        }
        at = next;
    }
    out
}

/// Whether a secret field is set somewhere, or a message in which one can lie broke off.
fn has_secret(schema: &Schema, tree: &Tree) -> bool {
    let mut parents: Vec<(u32, u32)> = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        let at = at as u32;
        while parents.last().is_some_and(|(_, end)| at >= *end) {
            parents.pop();
        }
        let parent = parents.last().map_or(Tree::ROOT, |(parent, _)| *parent);
        let field = tree.type_of(parent).and_then(|ty| schema.ty(ty).field(node.field));
        let set = field.is_some_and(|f| f.annotation.secret) && node.end > node.start;
        let broke = node.kind == NodeKind::Rest
            && parent != Tree::ROOT
            && tree.type_of(parent).is_some_and(|ty| schema.ty(ty).reaches_secret);
        if set || broke {
            return true;
        }
        if node.next > at + 1 {
            parents.push((at, node.next));
        }
    }
    false
}
