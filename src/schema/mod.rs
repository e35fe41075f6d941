//! Schemas: descriptors compiled once to flat tables, looked up by number.
//! Never reads a capture; an error here is the operator's, with its place.

mod compare;
mod compile;
mod descriptor;
mod error;
mod features;
mod load;
mod plan;
mod secrets;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use crate::base::secret::Rules;
use crate::base::text::nearest;

pub use compare::{Change, Sort, compare};
pub use error::{Details, Error};
pub use load::{Loaded, Sources, descriptor_set, load};
pub use plan::{
    Annotation, Cardinality, Encoding, EnumId, EnumPlan, FieldId, FieldPlan, Inner, Kind, Method, Nested,
    OneofPlan, Presence, TypeId, TypePlan, WellKnown,
};
pub use secrets::is_secret_name;

/// Every type, enum and method that is loaded.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    types: Vec<TypePlan>,
    enums: Vec<EnumPlan>,
    methods: Vec<Method>,
    nested: Vec<Nested>,
    type_names: HashMap<Arc<str>, TypeId>,
    enum_names: HashMap<Arc<str>, EnumId>,
    method_names: HashMap<Arc<str>, u32>,
    /// snake_case of the short name → type; `None` where several types share it.
    snake_names: HashMap<Arc<str>, Option<TypeId>>,
    /// What carriers carry, by the number in their annotation.
    carried: Vec<Vec<TypeId>>,
    /// What dialects say of secrets beside fields.
    secrets: Rules,
    /// Roots in which a secret can lie, well-known types left out.
    secret_roots: Vec<TypeId>,
    /// Whether some field is annotated as an id.
    has_ids: bool,
    /// How many of `types` are more than the well-known ones that are always there.
    own: usize,
}

impl Schema {
    /// A schema from descriptor sets in wire format, without any file being read. The
    /// well-known types are always there. `sets` are (name for errors, bytes).
    pub fn from_sets(sets: &[(&str, &[u8])]) -> Result<Self, Error> {
        let mut layers = Vec::new();
        for (name, bytes) in sets {
            layers.push(compile::Layer { files: descriptor::decode_set(name, bytes)?, strict: true });
        }
        compile::compile(layers)
    }

    /// The type of a full name; a leading dot is allowed.
    pub fn type_by_name(&self, name: &str) -> Option<TypeId> {
        self.type_names.get(name.strip_prefix('.').unwrap_or(name)).copied()
    }

    /// The type whose short name is this in snake_case, if exactly one is.
    pub fn type_by_snake_name(&self, name: &str) -> Option<TypeId> {
        self.snake_names.get(name).copied().flatten()
    }

    /// The known type name nearest to one that is not known.
    pub fn nearest_type(&self, name: &str) -> Option<&str> {
        nearest(name, self.types.iter().filter(|t| !t.map_entry).map(|t| &*t.name)).or_else(|| {
            // A name without or with another package is the most common slip.
            let wanted = plan::short(name);
            self.types.iter().map(|t| &*t.name).find(|t| plan::short(t) == wanted)
        })
    }

    /// The plan of a type. A [`TypeId`] of another schema gives some other or an empty plan.
    pub fn ty(&self, ty: TypeId) -> &TypePlan {
        static NONE: LazyLock<TypePlan> = LazyLock::new(TypePlan::empty);
        self.types.get(ty.0 as usize).unwrap_or_else(|| &NONE)
    }

    /// All types, in the order of their ids.
    pub fn types(&self) -> impl ExactSizeIterator<Item = (TypeId, &TypePlan)> {
        self.types.iter().enumerate().map(|(i, t)| (TypeId(i as u32), t))
    }

    /// The plan of an enum.
    pub fn enum_plan(&self, id: EnumId) -> Option<&EnumPlan> {
        self.enums.get(id.0 as usize)
    }

    /// The enum of a full name.
    pub fn enum_by_name(&self, name: &str) -> Option<EnumId> {
        self.enum_names.get(name.strip_prefix('.').unwrap_or(name)).copied()
    }

    /// All enums.
    pub fn enums(&self) -> impl ExactSizeIterator<Item = (EnumId, &EnumPlan)> {
        self.enums.iter().enumerate().map(|(i, e)| (EnumId(i as u32), e))
    }

    /// The RPC of a path, `package.Service/Method`.
    pub fn method(&self, path: &str) -> Option<&Method> {
        self.methods.get(*self.method_names.get(path.strip_prefix('/').unwrap_or(path))? as usize)
    }

    /// All RPCs.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// A field by `package.Type.field`, or `package.Type.[full.extension]`.
    pub fn field(&self, path: &str) -> Option<FieldId> {
        let split = path.find(".[").or_else(|| path.rfind('.'))?;
        let ty = self.type_by_name(path.get(..split)?)?;
        let index = self.ty(ty).field_by_name(path.get(split + 1..)?)?;
        Some(FieldId { ty, index })
    }

    /// The plan of a field.
    pub fn field_plan(&self, field: FieldId) -> Option<&FieldPlan> {
        self.ty(field.ty).field(field.index)
    }

    /// Says what is known of a field beyond its descriptor. `secret` is only ever added to
    /// what the general rules say. Call [`Schema::settle`] after the last one.
    pub fn annotate(&mut self, field: FieldId, annotation: Annotation) {
        let Some(ty) = self.types.get_mut(field.ty.0 as usize) else { return };
        let Some(plan) = ty.fields.get_mut(usize::from(field.index)) else { return };
        let old = plan.annotation;
        plan.annotation = Annotation {
            secret: old.secret || annotation.secret,
            id: annotation.id.or(old.id),
            nested: annotation.nested.or(old.nested),
            carrier: annotation.carrier.or(old.carrier),
        };
        if plan.annotation.id.is_some() && !ty.ids.contains(&field.index) {
            ty.ids.push(field.index);
            self.has_ids = true;
        }
    }

    /// Declares a nested encoding; the number goes into [`Annotation::nested`].
    pub fn add_nested(&mut self, nested: Nested) -> u16 {
        if let Some(at) = self.nested.iter().position(|n| *n == nested) {
            return at as u16;
        }
        self.nested.push(nested);
        (self.nested.len() - 1).min(usize::from(u16::MAX)) as u16
    }

    /// A nested encoding by its number.
    pub fn nested(&self, number: u16) -> Option<Nested> {
        self.nested.get(usize::from(number)).copied()
    }

    /// Declares what the payload of a carrier can be: the types for the number in [`Annotation::carrier`].
    pub fn carry(&mut self, number: u16, types: Vec<TypeId>) {
        let at = usize::from(number);
        if self.carried.len() <= at {
            self.carried.resize(at + 1, Vec::new());
        }
        self.carried[at] = types;
    }

    /// What a carrier's payload can be, the likeliest first.
    pub fn carried(&self, number: u16) -> &[TypeId] {
        self.carried.get(usize::from(number)).map_or(&[], Vec::as_slice)
    }

    /// What is secret beside fields.
    pub fn secrets(&self) -> &Rules {
        &self.secrets
    }

    /// The same, to add to.
    pub fn secrets_mut(&mut self) -> &mut Rules {
        &mut self.secrets
    }

    /// Whether some field is annotated as an id.
    pub fn has_ids(&self) -> bool {
        self.has_ids
    }

    /// Brings what follows from annotations up to date ([`TypePlan::reaches_secret`]).
    pub fn settle(&mut self) {
        secrets::settle(&mut self.types, &self.nested);
        let own = self.types.iter().take(self.own).enumerate();
        self.secret_roots =
            own.filter(|(_, t)| t.root && t.reaches_secret).map(|(i, _)| TypeId(i as u32)).collect();
    }

    /// The roots ([`TypePlan::root`]) in which a secret can lie.
    pub fn secret_roots(&self) -> &[TypeId] {
        &self.secret_roots
    }

    /// Whether nothing is loaded but the well-known types.
    pub fn is_empty(&self) -> bool {
        self.own == 0
    }
}

impl TypePlan {
    fn empty() -> Self {
        Self {
            name: Box::default(),
            fields: Vec::new(),
            oneofs: Vec::new(),
            known: None,
            map_entry: false,
            has_required: false,
            root: false,
            reaches_secret: false,
            ids: Vec::new(),
            dense: Box::default(),
            by_name: Box::default(),
            by_json_name: Box::default(),
        }
    }
}
