//! Schemas: names indexed at once, descriptors compiled to flat tables when first asked for, looked up by number.
//! Never reads a capture; an error here is the operator's, with its place.

mod compare;
mod compile;
mod descriptor;
mod error;
mod features;
mod hash;
mod layers;
mod load;
mod marks;
mod names;
mod outline;
mod plan;
mod secrets;
mod table;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, OnceLock},
};

use crate::base::secret::Rules;
use crate::base::text::nearest;

use compile::Methods;
use layers::Layer;
use table::{Symbol, Table};

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
    table: Table,
    /// Made when first asked for, as all below that is a `OnceLock`.
    plans: Vec<OnceLock<Box<TypePlan>>>,
    enums: Vec<OnceLock<Box<EnumPlan>>>,
    methods: OnceLock<Methods>,
    snake_names: OnceLock<compile::SnakeNames>,
    annotations: HashMap<TypeId, Annotations>,
    nested: Vec<Nested>,
    /// What carriers carry, by the number in their annotation.
    carried: Vec<Vec<TypeId>>,
    /// What dialects say of secrets beside fields.
    secrets: Rules,
    /// By type: whether a secret can lie in it.
    reach_secrets: OnceLock<Vec<bool>>,
    secret_roots: OnceLock<Vec<TypeId>>,
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
            layers.push(Layer::unchecked(descriptor::decode_set(name, bytes)?));
        }
        compile::compile(layers)
    }

    fn over(table: Table) -> Self {
        Self {
            plans: (0..table.types()).map(|_| OnceLock::new()).collect(),
            enums: (0..table.enums()).map(|_| OnceLock::new()).collect(),
            table,
            ..Self::default()
        }
    }

    /// The type of a full name; a leading dot is allowed.
    pub fn type_by_name(&self, name: &str) -> Option<TypeId> {
        match self.table.symbol(name.strip_prefix('.').unwrap_or(name))? {
            Symbol::Message(ty) => Some(ty),
            _ => None,
        }
    }

    /// The message that a reference made in `scope` means.
    fn message(&self, scope: &str, name: &str) -> Option<TypeId> {
        match names::resolve(scope, name, |full| self.table.symbol(full))? {
            Symbol::Message(ty) => Some(ty),
            _ => None,
        }
    }

    fn type_ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.table.types()).map(TypeId)
    }

    /// The type whose short name is this in snake_case, if exactly one is.
    pub fn type_by_snake_name(&self, name: &str) -> Option<TypeId> {
        self.snake_names.get_or_init(|| compile::SnakeNames::new(self)).find(self, name)
    }

    /// The known type name nearest to one that is not known.
    pub fn nearest_type(&self, name: &str) -> Option<&str> {
        let names = || self.type_ids().map(|ty| self.table.type_name(ty));
        let plain = self.type_ids().filter(|ty| !self.table.is_map_entry(*ty));
        nearest(name, plain.map(|ty| self.table.type_name(ty))).or_else(|| {
            // A name without or with another package is the most common slip.
            let wanted = plan::short(name);
            names().find(|name| plan::short(name) == wanted)
        })
    }

    /// The plan of a type. A [`TypeId`] of another schema gives some other or an empty plan.
    pub fn ty(&self, ty: TypeId) -> &TypePlan {
        static NONE: LazyLock<TypePlan> = LazyLock::new(TypePlan::empty);
        let Some(slot) = self.plans.get(ty.0 as usize) else { return &NONE };
        slot.get_or_init(|| {
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
        (0..self.table.types()).map(|i| (TypeId(i), self.ty(TypeId(i))))
    }

    /// The plan of an enum.
    pub fn enum_plan(&self, id: EnumId) -> Option<&EnumPlan> {
        let (slot, row) = (self.enums.get(id.0 as usize)?, self.table.enumeration(id)?);
        Some(slot.get_or_init(|| compile::enum_plan(row).into()))
    }

    /// The enum of a full name.
    pub fn enum_by_name(&self, name: &str) -> Option<EnumId> {
        match self.table.symbol(name.strip_prefix('.').unwrap_or(name))? {
            Symbol::Enum(id) => Some(id),
            _ => None,
        }
    }

    /// All enums.
    pub fn enums(&self) -> impl Iterator<Item = (EnumId, &EnumPlan)> {
        (0..self.table.enums()).map(EnumId).filter_map(|id| Some((id, self.enum_plan(id)?)))
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

    /// Whether RPCs take a type and none returns it.
    pub fn is_only_taken(&self, ty: TypeId) -> bool {
        compile::is_only_taken(self, ty)
    }

    fn known_methods(&self) -> &Methods {
        // What can fail has been resolved before, as plans have.
        self.methods.get_or_init(|| compile::methods(self).unwrap_or_default())
    }

    /// A field by `package.Type.field`, or `package.Type.[full.extension]`.
    pub fn field(&self, path: &str) -> Option<FieldId> {
        let split = path.find(".[").or_else(|| path.rfind('.'))?;
        let ty = self.type_by_name(path.get(..split)?)?;
        let name = path.get(split + 1..)?;
        let index = self.table.fields(ty).position(|field| field.is_named(name))?;
        Some(FieldId { ty, index: index as u16 })
    }

    /// The fields of a name in all types below a package or type but entries of maps, in the order of the types.
    pub fn fields_named<'a>(&'a self, scope: &'a str, name: &'a str) -> impl Iterator<Item = FieldId> + 'a {
        let is_inside = move |ty: TypeId| {
            let rest = self.table.type_name(ty).strip_prefix(scope);
            !self.table.is_map_entry(ty) && rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let named = self.table.fields_named(name).filter(move |(ty, _)| is_inside(*ty));
        named.map(|(ty, index)| FieldId { ty, index })
    }

    /// The types of a short name, and those with a field of the name.
    pub fn types_with<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        let called = self.type_ids().filter(move |ty| plan::short(self.table.type_name(*ty)) == name);
        called.chain(self.table.fields_named(name).map(|(ty, _)| ty))
    }

    /// The fields of a type that a step of a path names (`*`: all), each with the message that it holds: what is
    /// known of all types at once, without a plan.
    pub fn fields_at<'a>(
        &'a self,
        ty: TypeId,
        step: &'a str,
    ) -> impl Iterator<Item = (FieldId, Option<TypeId>)> + 'a {
        let fields = self.table.fields(ty).zip(0..);
        let named = fields.filter(move |(field, _)| step == "*" || field.is_named(step));
        named.map(move |(field, index)| (FieldId { ty, index }, field.inner()))
    }

    /// The plan of a field.
    pub fn field_plan(&self, field: FieldId) -> Option<&FieldPlan> {
        self.ty(field.ty).field(field.index)
    }

    /// Says what is known of a field beyond its descriptor. `secret` is only ever added to
    /// what the general rules say.
    pub fn annotate(&mut self, field: FieldId, annotation: Annotation) {
        let Some(slot) = self.plans.get_mut(field.ty.0 as usize) else { return };
        if self.table.fields(field.ty).nth(usize::from(field.index)).is_none() {
            return;
        }
        let known = self.annotations.entry(field.ty).or_default();
        known.add(field.index, annotation);
        if let Some(plan) = slot.get_mut() {
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
        self.table.own() == 0
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
            has_odd_names: false,
        }
    }
}
