//! Descriptors into tables: names are resolved once, here, and are numbers from then on.
//! Never panics on a descriptor; what does not resolve is an error that names it.

mod build;
mod select;

use std::sync::Arc;

use super::{
    Error, Method, Schema, TypeId,
    descriptor::{
        DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, decode_set,
    },
    features::Features,
    hash::NameMap,
    plan::EnumId,
    secrets,
};

/// Descriptors of the well-known types, made by build.rs.
const WELL_KNOWN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/well_known.binpb"));

/// Files of one standing. What an earlier layer defines, a later one must not define again.
pub(super) struct Layer {
    /// The files, in any order.
    pub files: Vec<FileDescriptorProto>,
    /// Whether a clash or a broken reference is an error; else the file is left out.
    pub strict: bool,
}

/// What a full name stands for.
#[derive(Clone, Copy)]
enum Symbol {
    Message(TypeId),
    Enum(EnumId),
}

/// Every name that is defined, while compiling.
#[derive(Default)]
struct Names {
    symbols: NameMap<Arc<str>, Symbol>,
}

impl Names {
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
}

/// A message on its way into a plan.
struct Pending<'a> {
    file: &'a FileDescriptorProto,
    proto: &'a DescriptorProto,
    name: Arc<str>,
    features: Features,
}

/// Compiles layers, the first of which has the first word; the well-known types come last.
pub(super) fn compile(mut layers: Vec<Layer>) -> Result<Schema, Error> {
    layers.push(Layer { files: decode_set("well-known types", WELL_KNOWN)?, strict: false });
    let well_known_layer = layers.len() - 1;
    let chosen = select::select(layers)?;
    let mut names = Names::default();
    let mut pending = Vec::new();
    let mut enums = Vec::new();
    let mut own = 0;
    for (layer, file) in &chosen {
        let edition = Features::of_file(&file.syntax, file.edition).ok_or_else(|| {
            let said = match file.edition {
                0 => format!("syntax {:?}", file.syntax),
                n => format!("edition number {n}"),
            };
            Error::new(&file.name, format!("{said} is not known"))
                .help("proto2, proto3 and the editions 2023 and 2024 are read")
        })?;
        let features = edition.with(file.options.as_ref().and_then(|o| o.features.as_ref()));
        for message in &file.message_type {
            collect(file, message, &file.package, features, &mut names, &mut pending, &mut enums);
        }
        for proto in &file.enum_type {
            collect_enum(proto, &file.package, features, &mut names, &mut enums);
        }
        if *layer != well_known_layer {
            own = pending.len();
        }
    }
    let mut schema = Schema { own, ..Schema::default() };
    for item in &pending {
        schema.types.push(build::plan(item, &names)?);
    }
    schema.enums = enums;
    for (_, file) in &chosen {
        extend(file, &names, &mut schema)?;
        services(file, &names, &mut schema)?;
    }
    build::finish(&mut schema)?;
    for (name, symbol) in names.symbols {
        match symbol {
            Symbol::Message(ty) => drop(schema.type_names.insert(name, ty)),
            Symbol::Enum(id) => drop(schema.enum_names.insert(name, id)),
        }
    }
    schema.settle();
    Ok(schema)
}

fn collect<'a>(
    file: &'a FileDescriptorProto,
    proto: &'a DescriptorProto,
    scope: &str,
    features: Features,
    names: &mut Names,
    pending: &mut Vec<Pending<'a>>,
    enums: &mut Vec<super::EnumPlan>,
) {
    let features = features.with(proto.options.as_ref().and_then(|o| o.features.as_ref()));
    let name: Arc<str> = join(scope, &proto.name).into();
    names.symbols.insert(name.clone(), Symbol::Message(TypeId(pending.len() as u32)));
    pending.push(Pending { file, proto, name: name.clone(), features });
    for nested in &proto.nested_type {
        collect(file, nested, &name, features, names, pending, enums);
    }
    for nested in &proto.enum_type {
        collect_enum(nested, &name, features, names, enums);
    }
}

fn collect_enum(
    proto: &EnumDescriptorProto,
    scope: &str,
    features: Features,
    names: &mut Names,
    enums: &mut Vec<super::EnumPlan>,
) {
    let name: Arc<str> = join(scope, &proto.name).into();
    names.symbols.insert(name.clone(), Symbol::Enum(EnumId(enums.len() as u32)));
    enums.push(build::enum_plan(proto, &name, features));
}

/// Adds the extensions of a file to the types that they extend.
fn extend(file: &FileDescriptorProto, names: &Names, schema: &mut Schema) -> Result<(), Error> {
    let features = Features::of_file(&file.syntax, file.edition).map_or_else(
        || Features { presence: 1, enum_type: 1, repeated: 1, utf8: 2, message: 1 },
        |f| f.with(file.options.as_ref().and_then(|o| o.features.as_ref())),
    );
    let mut todo: Vec<(String, Features, &[FieldDescriptorProto], &[DescriptorProto])> =
        vec![(file.package.clone(), features, &file.extension, &file.message_type)];
    while let Some((scope, features, extensions, messages)) = todo.pop() {
        for proto in extensions {
            let Some(Symbol::Message(ty)) = names.resolve(&scope, &proto.extendee) else {
                return Err(unresolved(file, &join(&scope, &proto.name), &proto.extendee));
            };
            let mut field = build::field(file, proto, &scope, features, names)?;
            field.name = format!("[{}]", join(&scope, &proto.name)).into();
            field.json_name = field.name.clone();
            if let Some(plan) = schema.types.get_mut(ty.0 as usize) {
                plan.fields.push(field);
            }
        }
        for message in messages {
            let features = features.with(message.options.as_ref().and_then(|o| o.features.as_ref()));
            let scope = join(&scope, &message.name);
            todo.push((scope, features, &message.extension, &message.nested_type));
        }
    }
    Ok(())
}

fn services(file: &FileDescriptorProto, names: &Names, schema: &mut Schema) -> Result<(), Error> {
    for service in &file.service {
        let service_name = join(&file.package, &service.name);
        for method in &service.method {
            let message = |name: &str| match names.resolve(&service_name, name) {
                Some(Symbol::Message(ty)) => Ok(ty),
                _ => Err(unresolved(file, &join(&service_name, &method.name), name)),
            };
            let (input, output) = (message(&method.input_type)?, message(&method.output_type)?);
            let name: Arc<str> = format!("{service_name}/{}", method.name).into();
            schema.method_names.insert(name.clone(), schema.methods.len() as u32);
            schema.methods.push(Method {
                name: (*name).into(),
                input,
                output,
                client_streaming: method.client_streaming,
                server_streaming: method.server_streaming,
            });
        }
    }
    Ok(())
}

/// Types by the snake_case of their short name; nested types give way to others.
pub(super) fn snake_names(schema: &Schema) -> NameMap<Arc<str>, Option<TypeId>> {
    let mut names = NameMap::default();
    let own = schema.types.get(..schema.own).unwrap_or_default();
    let is_nested =
        |name: &str| name.rsplit_once('.').is_some_and(|(outer, _)| schema.type_names.contains_key(outer));
    for nested in [false, true] {
        let mut found: NameMap<Arc<str>, Option<TypeId>> = NameMap::default();
        for (i, ty) in own.iter().enumerate() {
            if ty.map_entry || is_nested(&ty.name) != nested {
                continue;
            }
            found
                .entry(secrets::snake_case(ty.short_name()).into())
                .and_modify(|e| *e = None)
                .or_insert(Some(TypeId(i as u32)));
        }
        for (name, ty) in found {
            names.entry(name).or_insert(ty);
        }
    }
    names
}

fn unresolved(file: &FileDescriptorProto, user: &str, name: &str) -> Error {
    Error::new(&file.name, format!("{user} refers to {name:?}, which no loaded file defines"))
        .help("a descriptor set needs its imports too: protoc --include_imports")
}

fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { [scope, ".", name].concat() }
}

#[cfg(test)]
mod tests;
