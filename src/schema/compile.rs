//! Descriptors into tables: names are resolved once, here, and are numbers from then on.
//! Never panics on a descriptor; what does not resolve is an error that names it.

mod build;
mod select;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use prost::Message;

use super::{
    Error, Method, Schema, TypeId,
    descriptor::{FileDescriptorProto, FileDescriptorSet, decode_set},
    hash::NameMap,
    outline::{self, ExtensionOutline, FieldOutline, FileOutline},
    plan::{EnumId, short},
    secrets,
    slots::{EnumSlot, Extension, Methods, ServiceSlot, TypeSlot},
};

use select::Chosen;

pub(super) use build::{enum_plan, plan};

/// Descriptors of the well-known types, made by build.rs.
const WELL_KNOWN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/well_known.binpb"));

/// Files of one standing. What an earlier layer defines, a later one must not define again.
#[derive(Clone)]
pub(super) struct Layer {
    /// A `FileDescriptorSet`, as a mirror (`descriptor`) or protox writes it.
    pub set: Bytes,
    /// Whether a clash or a broken reference is an error; else the file is left out.
    strict: bool,
    /// Whether all its types have been planned before, without an error.
    checked: bool,
}

impl Layer {
    /// Files that may hold anything.
    pub fn unchecked(files: Vec<FileDescriptorProto>) -> Self {
        // Written anew, so that the outline sees every part whole and in its place.
        Self { set: FileDescriptorSet { file: files }.encode_to_vec().into(), strict: true, checked: false }
    }

    /// What was compiled without an error in an earlier run.
    pub fn kept(set: Bytes) -> Self {
        Self { set, strict: true, checked: true }
    }

    /// What is built in, and gives way to all else.
    pub fn builtin(set: &'static [u8]) -> Self {
        Self { set: Bytes::from_static(set), strict: false, checked: true }
    }

    /// The files themselves.
    pub fn files(&self) -> Result<Vec<FileDescriptorProto>, Error> {
        decode_set("schema", &self.set)
    }
}

/// What a full name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Message(TypeId),
    Enum(EnumId),
    Service,
}

/// Every name that is defined.
#[derive(Clone, Default, Debug)]
pub(super) struct Names {
    pub symbols: NameMap<Arc<str>, Symbol>,
    types: u32,
    enums: u32,
}

impl Names {
    /// Numbers what a file defines, after what is there.
    fn define(&mut self, file: &FileOutline<'_>) {
        for message in &file.messages {
            self.symbols.insert(message.name.clone(), Symbol::Message(TypeId(self.types)));
            self.types += 1;
        }
        for item in &file.enums {
            self.symbols.insert(item.name.clone(), Symbol::Enum(EnumId(self.enums)));
            self.enums += 1;
        }
        for (name, _) in &file.services {
            self.symbols.insert(name.clone(), Symbol::Service);
        }
    }

    /// Resolves a reference made in `scope` (a full name): innermost scope first.
    fn resolve(&self, scope: &str, name: &str) -> Option<Symbol> {
        if let Some(full) = name.strip_prefix('.') {
            return self.symbols.get(full).copied();
        }
        let mut scope = scope;
        loop {
            let full = join(scope, name);
            if let Some(symbol) = self.symbols.get(&*full) {
                return Some(*symbol);
            }
            if scope.is_empty() {
                return None;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    /// The same, of a message.
    pub fn message(&self, scope: &str, name: &str) -> Option<TypeId> {
        match self.resolve(scope, name)? {
            Symbol::Message(ty) => Some(ty),
            _ => None,
        }
    }
}

/// Compiles layers, the first of which has the first word; the well-known types come last.
pub(super) fn compile(mut layers: Vec<Layer>) -> Result<Schema, Error> {
    layers.push(Layer::builtin(WELL_KNOWN));
    let (chosen, names) = select::select(&layers)?;
    let mut extensions = extensions(&chosen, &names)?;
    let mut schema = Schema { names, ..Schema::default() };
    schema.types.reserve(schema.names.types as usize);
    for (number, Chosen { layer, file, .. }) in (0..).zip(&chosen) {
        for message in &file.messages {
            let fields = file.fields.get(message.fields.clone()).unwrap_or_default();
            let added = extensions.remove(&TypeId(schema.types.len() as u32)).unwrap_or_default();
            let single = |n| fields.iter().any(|f| f.number == n && !f.repeated);
            schema.types.push(TypeSlot {
                name: message.name.clone(),
                file: number,
                raw: layer.set.slice_ref(message.raw),
                features: message.features,
                map_entry: message.map_entry,
                makes_map: message.map_entry && single(1) && single(2),
                fields: schema.sketches.add(&message.name, fields, &added, &schema.names),
                extensions: added.into_iter().map(|(_, extension)| extension).collect(),
                plan: OnceLock::new(),
            });
        }
        schema.enums.extend(file.enums.iter().map(|item| EnumSlot {
            name: item.name.clone(),
            raw: layer.set.slice_ref(item.raw),
            features: item.features,
            plan: OnceLock::new(),
        }));
        schema.services.extend(file.services.iter().map(|(name, raw)| ServiceSlot {
            name: name.clone(),
            file: number,
            raw: layer.set.slice_ref(raw),
        }));
        schema.files.push(file.name.into());
        if *layer.set != *WELL_KNOWN {
            schema.own = schema.types.len();
        }
    }
    let is_checked = |file: u32| chosen.get(file as usize).is_none_or(|c| c.layer.checked);
    if !chosen.iter().all(|c| c.layer.checked) {
        check(&schema, is_checked)?;
    }
    Ok(schema)
}

/// What files add to messages, by message.
fn extensions<'a>(
    chosen: &[Chosen<'a>],
    names: &Names,
) -> Result<HashMap<TypeId, Vec<(FieldOutline<'a>, Extension)>>, Error> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for (number, Chosen { layer, file, .. }) in (0..).zip(chosen) {
        for ExtensionOutline { scope, extendee, field, raw, features } in &file.extensions {
            let Some(ty) = names.message(scope, extendee) else {
                return Err(unresolved(file.name, &join(scope, field.name), extendee));
            };
            let (raw, scope) = (layer.set.slice_ref(raw), scope.clone());
            let extension = Extension { file: number, scope, raw, features: *features };
            found.entry(ty).or_default().push((*field, extension));
        }
    }
    Ok(found)
}

/// Plans all that has not been planned before, for the sake of the errors.
fn check(schema: &Schema, is_checked: impl Fn(u32) -> bool) -> Result<(), Error> {
    for (slot, number) in schema.types.iter().zip(0..) {
        if !is_checked(slot.file) || slot.extensions.iter().any(|e| !is_checked(e.file)) {
            let _ = slot.plan.set(Box::new(plan(schema, TypeId(number))?));
        }
    }
    let _ = schema.methods.set(methods(schema)?);
    Ok(())
}

/// All RPCs.
pub(super) fn methods(schema: &Schema) -> Result<Methods, Error> {
    let mut out = Methods::default();
    for slot in &schema.services {
        let file = schema.file(slot.file);
        for method in outline::methods(&slot.raw) {
            let message = |name: &str| {
                let found = schema.names.message(&slot.name, name);
                found.ok_or_else(|| unresolved(file, &join(&slot.name, method.name), name))
            };
            let (input, output) = (message(method.input_type)?, message(method.output_type)?);
            let name: Arc<str> = [&*slot.name, "/", method.name].concat().into();
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

/// Types by the snake_case of their short name; nested types give way to others.
pub(super) fn snake_names(schema: &Schema) -> NameMap<Arc<str>, Option<TypeId>> {
    let mut names = NameMap::default();
    let own = schema.types.get(..schema.own).unwrap_or_default();
    let is_nested =
        |name: &str| name.rsplit_once('.').is_some_and(|(outer, _)| schema.type_by_name(outer).is_some());
    for nested in [false, true] {
        let mut found: NameMap<Arc<str>, Option<TypeId>> = NameMap::default();
        for (i, ty) in own.iter().enumerate() {
            if ty.map_entry || is_nested(&ty.name) != nested {
                continue;
            }
            found
                .entry(secrets::snake_case(short(&ty.name)).into())
                .and_modify(|e| *e = None)
                .or_insert(Some(TypeId(i as u32)));
        }
        for (name, ty) in found {
            names.entry(name).or_insert(ty);
        }
    }
    names
}

fn unresolved(file: &str, user: &str, name: &str) -> Error {
    Error::new(file, format!("{user} refers to {name:?}, which no loaded file defines"))
        .help("a descriptor set needs its imports too: protoc --include_imports")
}

pub(super) fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { [scope, ".", name].concat() }
}

#[cfg(test)]
mod tests;
