//! Schemas: names indexed at once, descriptors compiled to flat tables when first asked for, looked up by number.
//! Never reads a capture; an error here is the operator's, with its place.

mod compare;
mod compile;
mod descriptor;
mod error;
mod features;
mod hash;
mod load;
mod marks;
mod outline;
mod plan;
mod secrets;
mod slots;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, OnceLock},
};

use crate::base::secret::Rules;
use crate::base::text::nearest;

use compile::{Names, Symbol};
use hash::NameMap;
use slots::{EnumSlot, Methods, ServiceSlot, Sketches, TypeSlot};

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
    names: Names,
    types: Vec<TypeSlot>,
    enums: Vec<EnumSlot>,
    services: Vec<ServiceSlot>,
    sketches: Sketches,
    /// Names of the files, for errors.
    files: Vec<Box<str>>,
    /// Made when first asked for, as all below that is a `OnceLock`.
    methods: OnceLock<Methods>,
    /// snake_case of the short name → type; `None` where several types share it.
    snake_names: OnceLock<NameMap<Arc<str>, Option<TypeId>>>,
    annotations: HashMap<TypeId, Annotations>,
    nested: Vec<Nested>,
    /// What carriers carry, by the number in their annotation.
    carried: Vec<Vec<TypeId>>,
    /// What dialects say of secrets beside fields.
    secrets: Rules,
    /// By type: whether a secret can lie in it.
    reach_secrets: OnceLock<Vec<bool>>,
    secret_roots: OnceLock<Vec<TypeId>>,
    /// How many of `types` are more than the well-known ones that are always there.
    own: usize,
}

/// What is known of a type's fields beyond their descriptors.
#[derive(Clone, Debug, Default)]
struct Annotations {
    fields: Vec<(u16, Annotation)>,
    /// Fields that are ids.
    ids: Vec<u16>,
}

impl Schema {
    /// A schema from descriptor sets in wire format, without any file being read. The
    /// well-known types are always there. `sets` are (name for errors, bytes).
    pub fn from_sets(sets: &[(&str, &[u8])]) -> Result<Self, Error> {
        let mut layers = Vec::new();
        for (name, bytes) in sets {
            layers.push(compile::Layer::unchecked(descriptor::decode_set(name, bytes)?));
        }
        compile::compile(layers)
    }

    /// The type of a full name; a leading dot is allowed.
    pub fn type_by_name(&self, name: &str) -> Option<TypeId> {
        match self.names.symbols.get(name.strip_prefix('.').unwrap_or(name))? {
            Symbol::Message(ty) => Some(*ty),
            _ => None,
        }
    }

    /// The type whose short name is this in snake_case, if exactly one is.
    pub fn type_by_snake_name(&self, name: &str) -> Option<TypeId> {
        self.snake_names.get_or_init(|| compile::snake_names(self)).get(name).copied().flatten()
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
        let Some(slot) = self.types.get(ty.0 as usize) else { return &NONE };
        slot.plan.get_or_init(|| {
            // What can fail has been planned before, or was when it was kept.
            let mut plan = compile::plan(self, ty).unwrap_or_else(|_| TypePlan::empty());
            if let Some(known) = self.annotations.get(&ty) {
                known.apply(&mut plan);
            }
            plan.into()
        })
    }

    /// All types, in the order of their ids. Plans each that it comes to.
    pub fn types(&self) -> impl ExactSizeIterator<Item = (TypeId, &TypePlan)> {
        (0..self.types.len() as u32).map(|i| (TypeId(i), self.ty(TypeId(i))))
    }

    /// The plan of an enum.
    pub fn enum_plan(&self, id: EnumId) -> Option<&EnumPlan> {
        self.enums.get(id.0 as usize).map(EnumSlot::plan)
    }

    /// The enum of a full name.
    pub fn enum_by_name(&self, name: &str) -> Option<EnumId> {
        match self.names.symbols.get(name.strip_prefix('.').unwrap_or(name))? {
            Symbol::Enum(id) => Some(*id),
            _ => None,
        }
    }

    /// All enums.
    pub fn enums(&self) -> impl ExactSizeIterator<Item = (EnumId, &EnumPlan)> {
        self.enums.iter().enumerate().map(|(i, slot)| (EnumId(i as u32), slot.plan()))
    }

    /// The RPC of a path, `package.Service/Method`.
    pub fn method(&self, path: &str) -> Option<&Method> {
        let known = self.known_methods();
        known.all.get(*known.by_name.get(path.strip_prefix('/').unwrap_or(path))? as usize)
    }

    /// All RPCs.
    pub fn methods(&self) -> &[Method] {
        &self.known_methods().all
    }

    fn known_methods(&self) -> &Methods {
        // What can fail has been resolved before, as plans have.
        self.methods.get_or_init(|| compile::methods(self).unwrap_or_default())
    }

    /// A field by `package.Type.field`, or `package.Type.[full.extension]`.
    pub fn field(&self, path: &str) -> Option<FieldId> {
        let split = path.find(".[").or_else(|| path.rfind('.'))?;
        let ty = self.type_by_name(path.get(..split)?)?;
        let (name, fields) = (path.get(split + 1..)?, &self.types.get(ty.0 as usize)?.fields);
        let index = self.sketches.of(fields).iter().position(|s| self.sketches.name(s) == name)?;
        Some(FieldId { ty, index: index as u16 })
    }

    /// The fields of a name in all types below a package or type but entries of maps, in the order of the types.
    pub fn fields_named<'a>(&'a self, scope: &'a str, name: &'a str) -> impl Iterator<Item = FieldId> + 'a {
        let inside = move |slot: &TypeSlot| {
            !slot.map_entry && slot.name.strip_prefix(scope).is_some_and(|rest| rest.starts_with('.'))
        };
        let named = self.sketches.named(&self.types, name);
        named.filter(move |field| self.types.get(field.ty.0 as usize).is_some_and(inside))
    }

    /// The types of a short name, and those with a field of the name.
    pub fn types_with<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        let called = self.types.iter().zip(0..).filter(move |(slot, _)| plan::short(&slot.name) == name);
        let fields = self.sketches.named(&self.types, name);
        called.map(|(_, number)| TypeId(number)).chain(fields.map(|field| field.ty))
    }

    /// The fields of a type by number, each with its name and the message that it holds: what is known of all
    /// types at once, without a plan.
    pub fn outlined(&self, ty: TypeId) -> impl Iterator<Item = (FieldId, &str, Option<TypeId>)> {
        let slot = self.types.get(ty.0 as usize);
        let fields = slot.into_iter().flat_map(|slot| self.sketches.of(&slot.fields)).zip(0..);
        fields.map(move |(field, index)| (FieldId { ty, index }, self.sketches.name(field), field.inner))
    }

    /// The plan of a field.
    pub fn field_plan(&self, field: FieldId) -> Option<&FieldPlan> {
        self.ty(field.ty).field(field.index)
    }

    /// Says what is known of a field beyond its descriptor. `secret` is only ever added to
    /// what the general rules say.
    pub fn annotate(&mut self, field: FieldId, annotation: Annotation) {
        let Some(slot) = self.types.get_mut(field.ty.0 as usize) else { return };
        if self.sketches.of(&slot.fields).get(usize::from(field.index)).is_none() {
            return;
        }
        let known = self.annotations.entry(field.ty).or_default();
        known.add(field.index, annotation);
        if let Some(plan) = slot.plan.get_mut() {
            known.apply(plan);
        }
        (self.reach_secrets, self.secret_roots) = Default::default();
    }

    /// What is known of fields beyond their descriptors, in no order.
    pub fn annotated(&self) -> impl Iterator<Item = (FieldId, Annotation)> {
        let each = |(ty, known): (&TypeId, &'_ Annotations)| {
            let ty = *ty;
            known.fields.clone().into_iter().map(move |(index, a)| (FieldId { ty, index }, a))
        };
        self.annotations.iter().flat_map(each)
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
        self.annotations.values().any(|known| !known.ids.is_empty())
    }

    /// Whether nothing is loaded but the well-known types.
    pub fn is_empty(&self) -> bool {
        self.own == 0
    }

    fn file(&self, number: u32) -> &str {
        self.files.get(number as usize).map_or("schema", |name| name)
    }
}

impl Annotations {
    fn add(&mut self, index: u16, new: Annotation) {
        let at = self.fields.iter().position(|(known, _)| *known == index).unwrap_or_else(|| {
            self.fields.push((index, Annotation::default()));
            self.fields.len() - 1
        });
        let known = &mut self.fields[at].1;
        *known = known.with(new);
        if known.id.is_some() && !self.ids.contains(&index) {
            self.ids.push(index);
        }
    }

    fn apply(&self, plan: &mut TypePlan) {
        for (index, annotation) in &self.fields {
            if let Some(field) = plan.fields.get_mut(usize::from(*index)) {
                field.annotation = field.annotation.with(*annotation);
            }
        }
        plan.ids.clone_from(&self.ids);
    }
}

impl TypePlan {
    fn empty() -> Self {
        Self {
            name: Arc::default(),
            fields: Vec::new(),
            oneofs: Vec::new(),
            known: None,
            map_entry: false,
            has_required: false,
            ids: Vec::new(),
            dense: Box::default(),
            by_name: Box::default(),
            by_json_name: Box::default(),
        }
    }
}
