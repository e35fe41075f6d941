//! Descriptors into tables: names are resolved once, here, and are numbers from then on.
//! Never panics on a descriptor; what does not resolve is an error that names it.

mod build;

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Error, Method, Schema, TypeId,
    hash::NameMap,
    layers::{Layer, select, unresolved},
    outline::{self, MethodOutline, join},
    plan::short,
    secrets,
    table::{self, ServiceRow, Table},
};

pub(super) use build::{enum_plan, plan};

/// Descriptors of the well-known types, made by build.rs.
pub(super) const WELL_KNOWN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/well_known.binpb"));

/// All RPCs.
#[derive(Clone, Default, Debug)]
pub(super) struct Methods {
    pub all: Vec<Method>,
    pub by_name: NameMap<Arc<str>, u32>,
}

/// Compiles layers, the first of which has the first word; the well-known types come last.
pub(super) fn compile(mut layers: Vec<Layer>) -> Result<Schema, Error> {
    layers.push(Layer::builtin(WELL_KNOWN));
    let (chosen, names) = select(&layers)?;
    let table = table::write(&layers, &chosen, &names)?;
    let sets = layers.iter().map(|layer| layer.set.clone()).collect();
    let table = Table::new(table.into(), sets).ok_or_else(|| Error::new("schema", "is too large"))?;
    let schema = Schema::over(table);
    let is_checked = |file: u32| {
        let layer = chosen.get(file as usize).and_then(|chosen| layers.get(chosen.layer));
        layer.is_none_or(|layer| layer.checked)
    };
    if !(0..chosen.len() as u32).all(is_checked) {
        check(&schema, is_checked)?;
    }
    Ok(schema)
}

/// A schema over what was compiled before: its table, and the sets of its layers but the well-known types.
pub(super) fn compiled(table: Bytes, mut sets: Vec<Bytes>) -> Option<Schema> {
    sets.push(Bytes::from_static(WELL_KNOWN));
    Table::new(table, sets).map(Schema::over)
}

/// Plans all that has not been planned before, for the sake of the errors.
fn check(schema: &Schema, is_checked: impl Fn(u32) -> bool) -> Result<(), Error> {
    for (slot, number) in schema.plans.iter().zip(0..) {
        let Some(row) = schema.table.ty(TypeId(number)) else { continue };
        if !is_checked(row.file) || schema.table.extensions(row.extensions).any(|e| !is_checked(e.file)) {
            let _ = slot.set(Box::new(plan(schema, TypeId(number))?));
        }
    }
    let _ = schema.methods.set(methods(schema)?);
    Ok(())
}

/// All RPCs.
pub(super) fn methods(schema: &Schema) -> Result<Methods, Error> {
    let mut out = Methods::default();
    for service in schema.table.services() {
        for method in outline::methods(&service.raw) {
            let (input, output) = ends(schema, &service, &method)?;
            let name: Arc<str> = [service.name, "/", method.name].concat().into();
            out.by_name.insert(name.clone(), out.all.len() as u32);
            out.all.push(Method {
                name,
                input,
                output,
                client_streaming: method.client_streaming,
                server_streaming: method.server_streaming,
            });
        }
    }
    Ok(out)
}

/// What an RPC takes and what it returns.
fn ends(
    schema: &Schema,
    service: &ServiceRow<'_>,
    method: &MethodOutline<'_>,
) -> Result<(TypeId, TypeId), Error> {
    let message = |name: &str| {
        let fault = || unresolved(schema.table.file(service.file), &join(service.name, method.name), name);
        schema.message(service.name, name).ok_or_else(fault)
    };
    Ok((message(method.input_type)?, message(method.output_type)?))
}

/// Whether RPCs take a type and none returns it; without a list of all RPCs.
pub(super) fn is_only_taken(schema: &Schema, ty: TypeId) -> bool {
    let known = schema.table.type_name(ty);
    let mut taken = false;
    for service in schema.table.services() {
        let means = |name: &str| match name.strip_prefix('.') {
            Some(full) => full == known,
            None => schema.message(service.name, name) == Some(ty),
        };
        for method in outline::methods(&service.raw) {
            if means(method.output_type) {
                return false;
            }
            taken |= means(method.input_type);
        }
    }
    taken
}

/// Types by what their short names come to without case and underscores, sorted.
#[derive(Clone, Debug)]
pub(super) struct SnakeNames(Vec<(u64, TypeId)>);

impl SnakeNames {
    pub(super) fn new(schema: &Schema) -> Self {
        let types = (0..schema.table.own()).map(TypeId).filter(|ty| !schema.table.is_map_entry(*ty));
        let mut names: Vec<_> = types.map(|ty| (folded(short(schema.table.type_name(ty))), ty)).collect();
        names.sort_unstable();
        Self(names)
    }

    /// The only type of a name in snake_case; nested types give way to others.
    pub(super) fn find(&self, schema: &Schema, name: &str) -> Option<TypeId> {
        let hash = folded(name);
        let from = self.0.partition_point(|(other, _)| *other < hash);
        let alike = self.0.get(from..)?.iter().take_while(|(other, _)| *other == hash).map(|(_, ty)| *ty);
        let (mut outer, mut nested) = (Vec::new(), Vec::new());
        for ty in alike {
            let full = schema.table.type_name(ty);
            if secrets::snake_case(short(full)) != name {
                continue;
            }
            let holder = full.rsplit_once('.').and_then(|(holder, _)| schema.type_by_name(holder));
            if holder.is_some() { &mut nested } else { &mut outer }.push(ty);
        }
        match if outer.is_empty() { &nested } else { &outer }.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }
}

/// A number that a name has in common with its snake_case.
fn folded(name: &str) -> u64 {
    if !name.is_ascii() {
        // What is no letter may become one in lower case.
        let bytes = secrets::snake_case(name).into_bytes();
        return folded_bytes(&bytes);
    }
    folded_bytes(name.as_bytes())
}

fn folded_bytes(name: &[u8]) -> u64 {
    let letters = name.iter().filter(|byte| **byte != b'_');
    letters.fold(0, |hash: u64, byte| {
        (hash.rotate_left(5) ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

#[cfg(test)]
mod tests;
