//! Types, enums and RPCs as they lie until somebody asks for them: bytes with a name.
//! Never holds what a plan holds, but for the little that is asked of all types at once.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use super::{
    EnumPlan, FieldId, Method, TypeId, TypePlan,
    compile::{Names, enum_plan, join},
    features::Features,
    hash::{self, NameMap},
    outline::FieldOutline,
    secrets,
};

/// A message type.
#[derive(Clone, Debug)]
pub(super) struct TypeSlot {
    pub name: Arc<str>,
    /// The file it is defined in: a place in [`Schema`](super::Schema)'s list.
    pub file: u32,
    /// Its `DescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
    /// Whether it says that it is the entry of a map.
    pub map_entry: bool,
    /// Whether a repeated field of it is a map: it also has a key and a value.
    pub makes_map: bool,
    /// Its fields among the [`Sketches`].
    pub fields: Range<u32>,
    pub extensions: Box<[Extension]>,
    /// Made when first asked for.
    pub plan: OnceLock<Box<TypePlan>>,
}

/// A field that a file adds to a message.
#[derive(Clone, Debug)]
pub(super) struct Extension {
    /// The file it is declared in.
    pub file: u32,
    /// The full name of what it is declared in.
    pub scope: Arc<str>,
    /// Its `FieldDescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
}

/// An enum.
#[derive(Clone, Debug)]
pub(super) struct EnumSlot {
    pub name: Arc<str>,
    /// Its `EnumDescriptorProto`.
    pub raw: Bytes,
    pub features: Features,
    /// Made when first asked for.
    pub plan: OnceLock<EnumPlan>,
}

impl EnumSlot {
    /// The plan, made if it is not there.
    pub fn plan(&self) -> &EnumPlan {
        self.plan.get_or_init(|| enum_plan(self))
    }
}

/// A service.
#[derive(Clone, Debug)]
pub(super) struct ServiceSlot {
    pub name: Arc<str>,
    /// The file it is defined in.
    pub file: u32,
    /// Its `ServiceDescriptorProto`.
    pub raw: Bytes,
}

/// All RPCs.
#[derive(Clone, Default, Debug)]
pub(super) struct Methods {
    pub all: Vec<Method>,
    pub by_name: NameMap<Arc<str>, u32>,
}

/// What is asked of the fields of all types.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    name: Range<u32>,
    number: u32,
    /// The message that it holds.
    pub inner: Option<TypeId>,
    /// Whether it is a credential by itself.
    pub secret: bool,
}

/// The fields of all types, those of one in the order of [`FieldId::index`].
#[derive(Clone, Default, Debug)]
pub(super) struct Sketches {
    all: Vec<Sketch>,
    /// The names, one after the other.
    names: String,
    by_name: OnceLock<ByName>,
}

/// Fields by the hash of their name: the first of each remainder, and after each field the next.
#[derive(Clone, Debug)]
struct ByName {
    first: Vec<u32>,
    next: Vec<u32>,
}

/// No field.
const NONE: u32 = u32::MAX;

impl Sketches {
    /// Adds the fields of a type, its extensions too.
    pub fn add(
        &mut self,
        scope: &str,
        own: &[FieldOutline<'_>],
        added: &[(FieldOutline<'_>, Extension)],
        names: &Names,
    ) -> Range<u32> {
        let from = self.all.len();
        for field in own {
            self.push(scope, field.name, field, names);
        }
        for (field, Extension { scope, .. }) in added {
            self.push(scope, &bracketed(scope, field.name), field, names);
        }
        if let Some(new) = self.all.get_mut(from..) {
            new.sort_by_key(|s| s.number);
        }
        from as u32..self.all.len() as u32
    }

    fn push(&mut self, scope: &str, name: &str, field: &FieldOutline<'_>, names: &Names) {
        let from = self.names.len() as u32;
        self.names.push_str(name);
        self.all.push(Sketch {
            name: from..self.names.len() as u32,
            number: field.number,
            inner: if field.may_be_message() { names.message(scope, field.type_name) } else { None },
            secret: field.redact || field.may_be_secret() && secrets::is_secret_name(field.name),
        });
    }

    /// The fields of a type.
    pub fn of(&self, fields: &Range<u32>) -> &[Sketch] {
        self.all.get(fields.start as usize..fields.end as usize).unwrap_or_default()
    }

    /// The name of a field.
    pub fn name(&self, sketch: &Sketch) -> &str {
        self.names.get(sketch.name.start as usize..sketch.name.end as usize).unwrap_or_default()
    }

    /// The fields of a name in all types, in the order of the types.
    pub fn named<'a>(&'a self, types: &'a [TypeSlot], name: &'a str) -> impl Iterator<Item = FieldId> + 'a {
        let index = self.by_name.get_or_init(|| self.index());
        let first = index.first.get(place(name, index.first.len())).copied();
        let all = std::iter::successors(first, |at| index.next.get(*at as usize).copied());
        let all = all.take_while(|at| *at != NONE);
        let equal = all.filter(move |at| self.all.get(*at as usize).is_some_and(|s| self.name(s) == name));
        equal.filter_map(move |at| {
            let ty = types.partition_point(|slot| slot.fields.end <= at);
            Some(FieldId { ty: TypeId(ty as u32), index: (at - types.get(ty)?.fields.start) as u16 })
        })
    }

    fn index(&self) -> ByName {
        let mut index = ByName {
            first: vec![NONE; self.all.len().next_power_of_two()],
            next: vec![NONE; self.all.len()],
        };
        // From the end, so that each chain is in order.
        for (at, sketch) in self.all.iter().enumerate().rev() {
            let place = place(self.name(sketch), index.first.len());
            index.next[at] = std::mem::replace(&mut index.first[place], at as u32);
        }
        index
    }
}

/// The name of an extension among the fields of what it extends.
pub(super) fn bracketed(scope: &str, name: &str) -> String {
    format!("[{}]", join(scope, name))
}

/// Where the chain of a name begins among so many: a power of two.
fn place(name: &str, of: usize) -> usize {
    hash::hash(name) as usize & (of - 1)
}
