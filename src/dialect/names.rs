//! The names that rules are written in, resolved against a schema.
//! Never guesses: a name that does not resolve gives nothing.

use crate::schema::{Cardinality, FieldId, Schema, TypeId};

/// A field that a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The type that the path starts at; `None` where the field counts at any depth.
    pub root: Option<TypeId>,
    /// The path from there: places of fields, the last included. Empty where `root` is `None`.
    pub path: Vec<u16>,
    /// The field.
    pub field: FieldId,
}

/// The longest path that `*` steps are followed over.
const MAX_STEPS: usize = 16;

/// The fields of a name (dialect.proto, NAMES).
pub fn resolve(schema: &Schema, name: &str) -> Vec<Place> {
    match name.split_once('/') {
        None => anywhere(schema, name),
        Some((start, path)) => match schema.type_by_name(start) {
            Some(root) => {
                let steps: Vec<&str> = path.split('/').collect();
                let mut out = Vec::new();
                if steps.len() <= MAX_STEPS {
                    walk(schema, root, root, &steps, &mut Vec::new(), &mut out);
                }
                out
            }
            None if path == "key" => map_keys(schema, start),
            None => Vec::new(),
        },
    }
}

fn anywhere(schema: &Schema, name: &str) -> Vec<Place> {
    let place = |field| Place { root: None, path: Vec::new(), field };
    if let Some(field) = schema.field(name) {
        return vec![place(field)];
    }
    let Some((package, field)) = name.split_once(".*.") else { return Vec::new() };
    schema.fields_named(package, field).map(place).collect()
}

fn map_keys(schema: &Schema, name: &str) -> Vec<Place> {
    let map =
        schema.field(name).and_then(|f| schema.field_plan(f)).filter(|f| f.cardinality == Cardinality::Map);
    let entry = map.and_then(|f| f.kind.message());
    let key = entry.and_then(|ty| schema.ty(ty).index_of(1).map(|index| FieldId { ty, index }));
    key.map(|field| Place { root: None, path: Vec::new(), field }).into_iter().collect()
}

fn walk(
    schema: &Schema,
    root: TypeId,
    ty: TypeId,
    steps: &[&str],
    path: &mut Vec<u16>,
    out: &mut Vec<Place>,
) {
    let Some((step, rest)) = steps.split_first() else { return };
    for (field, inner) in schema.fields_at(ty, step) {
        path.push(field.index);
        if rest.is_empty() {
            out.push(Place { root: Some(root), path: path.clone(), field });
        } else if let Some(inner) = inner {
            walk(schema, root, inner, rest, path, out);
        }
        path.pop();
    }
}
