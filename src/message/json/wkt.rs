//! The well-known types, as ProtoJSON writes them.
//! Never refuses one: out of range it is written as an ordinary message.

use crate::{
    message::{NodeKind, wkt},
    schema::{TypeId, WellKnown},
};

use super::{Writer, push_string};

impl Writer<'_, '_> {
    /// Writes a well-known message; false where it has to be written as an ordinary one.
    pub(super) fn well_known(&mut self, known: WellKnown, ty: TypeId, parts: &[u32]) -> bool {
        if known == WellKnown::Any {
            self.any(ty, parts);
            return true;
        }
        let schema = self.schema;
        let plan = schema.ty(ty);
        let found = self.found(plan, parts);
        // A form without members has no place for what is unknown or broken.
        if !found.unknown.is_empty() || !found.rest.is_empty() {
            return false;
        }
        match known {
            WellKnown::Timestamp | WellKnown::Duration => {
                let (seconds, nanos) = wkt::seconds(self.tree, parts);
                let text = match known {
                    WellKnown::Timestamp => wkt::timestamp(seconds, nanos),
                    _ => wkt::duration(seconds, nanos),
                };
                let Some(text) = text else { return false };
                push_string(self.out, &text);
            }
            WellKnown::FieldMask => {
                let nodes = found.last().map(|(_, nodes)| nodes).unwrap_or_default();
                let text = |n: &u32| {
                    let bytes = self.tree.node(*n).map(|n| n.bytes(self.payload)).unwrap_or_default();
                    wkt::mask_path(std::str::from_utf8(bytes).ok()?)
                };
                let Some(paths) = nodes.iter().map(text).collect::<Option<Vec<String>>>() else {
                    return false;
                };
                push_string(self.out, &paths.join(","));
            }
            WellKnown::Struct => match (plan.field(0), found.last()) {
                (Some(field), Some((_, nodes))) => self.map(field, &nodes),
                _ => self.out.extend_from_slice(b"{}"),
            },
            WellKnown::ListValue => match (plan.field(0), found.last()) {
                (Some(field), Some((_, nodes))) => self.list(field, &nodes),
                _ => self.out.extend_from_slice(b"[]"),
            },
            WellKnown::Value => match found.last() {
                Some((index, nodes)) if index > 0 => {
                    if let Some(field) = plan.field(index) {
                        self.value(field, &nodes);
                    }
                }
                _ => self.out.extend_from_slice(b"null"),
            },
            WellKnown::Wrapper => match (plan.field(0), found.last()) {
                (Some(field), Some((_, nodes))) => self.value(field, &nodes),
                (Some(field), None) => self.default(field.kind),
                (None, _) => return false,
            },
            WellKnown::Empty | WellKnown::Any => self.out.extend_from_slice(b"{}"),
        }
        true
    }

    /// An Any: `@type` and the fields of its value, or the value as it is written, or its bytes.
    fn any(&mut self, ty: TypeId, parts: &[u32]) {
        let schema = self.schema;
        let plan = schema.ty(ty);
        let found = self.found(plan, parts);
        let (mut url, mut value) = (None, None);
        for (index, nodes) in found.runs() {
            let last = nodes.last().copied();
            match plan.field(index).map(|f| f.number) {
                Some(1) => url = last,
                Some(2) => value = last,
                _ => {}
            }
        }
        let is_set = |at: &u32| self.tree.node(*at).is_some_and(|n| n.end > n.start);
        self.out.push(b'{');
        let mut first = true;
        if let Some(at) = url.filter(is_set)
            && let (Some(node), Some(field)) = (self.tree.node(at).copied(), plan.field(0))
        {
            self.key("@type", &mut first);
            self.text(field, at, &node);
        }
        match value.and_then(|at| Some((at, *self.tree.node(at)?))) {
            Some((at, node)) if node.kind == NodeKind::Message => {
                if let Some(inner) = node.ty {
                    self.any_value(inner, at, &mut first);
                }
            }
            Some((at, node)) if node.end > node.start => {
                self.key("value", &mut first);
                let inner = url.and_then(|u| self.named_type(u));
                if self.options.redact && inner.is_some_and(|ty| schema.reaches_secret(ty)) {
                    self.hide(at);
                } else {
                    self.base64(at, node.bytes(self.payload), None);
                }
            }
            // A value left out is the empty message of its type.
            _ => {
                if let Some(inner) = url.and_then(|u| self.named_type(u))
                    && schema.ty(inner).known.is_some()
                {
                    self.key("value", &mut first);
                    self.message(inner, &[]);
                }
            }
        }
        if !found.unknown.is_empty() {
            self.key("$unknown", &mut first);
            self.unknown(plan, &found.unknown);
        }
        if !found.rest.is_empty() {
            self.key("$rest", &mut first);
            self.rest(schema.reaches_secret(ty), &found.rest);
        }
        self.out.push(b'}');
    }

    fn any_value(&mut self, inner: TypeId, at: u32, first: &mut bool) {
        if self.schema.ty(inner).known.is_some() {
            self.key("value", first);
            self.message(inner, &[at]);
        } else {
            self.fields(inner, &[at], first);
        }
    }

    fn named_type(&self, url: u32) -> Option<TypeId> {
        let bytes = self.tree.node(url)?.bytes(self.payload);
        self.schema.type_by_name(crate::message::any_name(std::str::from_utf8(bytes).ok()?)?)
    }
}
