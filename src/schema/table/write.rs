//! The files that count into a table.
//! Never plans a type, and never reads a file that was left out.

use std::collections::HashMap;

use crate::schema::{
    Error,
    features::Features,
    hash,
    layers::{Chosen, Layer, unresolved},
    names::Names,
    outline::{FieldOutline, join},
    plan::TypeId,
    secrets,
};

use super::{HEAD, MAGIC, MAKES_MAP, MAP_ENTRY, SECRET, SECTIONS, Section, packed};

/// The table of the files that count; the last layer is that of the well-known types.
pub(in crate::schema) fn write(
    layers: &[Layer],
    chosen: &[Chosen<'_>],
    names: &Names,
) -> Result<Vec<u8>, Error> {
    let mut extensions = extensions(layers, chosen, names)?;
    let mut out = Writer::default();
    for (number, Chosen { layer, file }) in (0..).zip(chosen) {
        let name = out.name(file.name);
        out.add(Section::Files, &[name.0, name.1, *layer as u32]);
        let place = |raw: &[u8]| place(layers, *layer, raw);
        for message in &file.messages {
            let fields = file.fields.get(message.fields.clone()).unwrap_or_default();
            let added = extensions.remove(&TypeId(out.types)).unwrap_or_default();
            let single = |n| fields.iter().any(|f| f.number == n && !f.repeated);
            let makes_map = message.map_entry && single(1) && single(2);
            let flags = u32::from(message.map_entry) * MAP_ENTRY + u32::from(makes_map) * MAKES_MAP;
            let (field, extension) = (out.fields, out.extensions);
            out.fields_of(&message.name, fields, &added, names);
            for Added { scope, file, raw, features, .. } in &added {
                let scope = out.name(scope);
                let row = [scope.0, scope.1, *file, raw.0, raw.1, packed(*features)];
                out.add(Section::Extensions, &row);
                out.extensions += 1;
            }
            let (name, raw) = (out.name(&message.name), place(message.raw));
            let features = packed(message.features);
            let (fields, extensions) = (out.fields, out.extensions);
            let row =
                [name.0, name.1, number, raw.0, raw.1, features, flags, field, fields, extension, extensions];
            out.add(Section::Types, &row);
            out.types += 1;
        }
        for item in &file.enums {
            let (name, raw) = (out.name(&item.name), place(item.raw));
            let row = [name.0, name.1, number, raw.0, raw.1, packed(item.features)];
            out.add(Section::Enums, &row);
        }
        for (name, raw) in &file.services {
            let (name, raw) = (out.name(name), place(raw));
            out.add(Section::Services, &[name.0, name.1, number, raw.0, raw.1]);
        }
        if *layer + 1 < layers.len() {
            out.own = out.types;
        }
    }
    out.symbols(names);
    out.chains();
    Ok(out.finish())
}

/// A field that a file adds to a message.
struct Added<'a> {
    outline: FieldOutline<'a>,
    scope: &'a str,
    file: u32,
    /// Where its descriptor lies, and its length.
    raw: (u32, u32),
    features: Features,
}

/// What files add to messages, by message.
fn extensions<'a>(
    layers: &[Layer],
    chosen: &'a [Chosen<'a>],
    names: &Names,
) -> Result<HashMap<TypeId, Vec<Added<'a>>>, Error> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for (number, Chosen { layer, file }) in (0..).zip(chosen) {
        for extension in &file.extensions {
            let (scope, outline) = (&*extension.scope, extension.field);
            let Some(ty) = names.message(scope, extension.extendee) else {
                return Err(unresolved(file.name, &join(scope, outline.name), extension.extendee));
            };
            let (raw, features) = (place(layers, *layer, extension.raw), extension.features);
            found.entry(ty).or_default().push(Added { outline, scope, file: number, raw, features });
        }
    }
    Ok(found)
}

/// Where a part of a layer's set lies in it, and its length.
fn place(layers: &[Layer], layer: usize, part: &[u8]) -> (u32, u32) {
    let set = layers.get(layer).map_or(0, |layer| layer.set.as_ptr() as usize);
    ((part.as_ptr() as usize).saturating_sub(set) as u32, part.len() as u32)
}

#[derive(Default)]
struct Writer {
    sections: [Vec<u8>; SECTIONS],
    types: u32,
    own: u32,
    fields: u32,
    extensions: u32,
    /// Names of fields, for the chains: many are alike.
    field_names: HashMap<String, (u32, u32)>,
    order: Vec<String>,
}

impl Writer {
    fn add(&mut self, section: Section, row: &[u32]) {
        let section = &mut self.sections[section as usize];
        row.iter().for_each(|word| section.extend_from_slice(&word.to_le_bytes()));
    }

    /// Adds a name; gives its place and length.
    fn name(&mut self, name: &str) -> (u32, u32) {
        let names = &mut self.sections[Section::Names as usize];
        let from = names.len() as u32;
        names.extend_from_slice(name.as_bytes());
        (from, name.len() as u32)
    }

    fn field_name(&mut self, name: &str) -> (u32, u32) {
        if let Some(known) = self.field_names.get(name) {
            return *known;
        }
        let place = self.name(name);
        self.field_names.insert(name.to_owned(), place);
        place
    }

    /// Adds the fields of a type, its extensions too.
    fn fields_of(&mut self, scope: &str, own: &[FieldOutline<'_>], added: &[Added<'_>], names: &Names) {
        let own = own.iter().map(|field| (scope, field.name.to_owned(), field));
        let added = added.iter().map(|a| (a.scope, bracketed(a.scope, a.outline.name), &a.outline));
        let mut all: Vec<_> = own.chain(added).collect();
        all.sort_by_key(|(_, _, field)| field.number);
        for (scope, name, field) in all {
            let inner = if field.may_be_message() { names.message(scope, field.type_name) } else { None };
            let secret = field.redact || field.may_be_secret() && secrets::is_secret_name(field.name);
            let place = self.field_name(&name);
            let inner = inner.map_or(0, |ty| ty.0 + 1);
            let flag = u32::from(secret) * SECRET;
            self.add(Section::Fields, &[place.0, place.1 | flag, inner]);
            self.order.push(name);
            self.fields += 1;
        }
    }

    /// Every name into the first free place after that of its hash.
    fn symbols(&mut self, names: &Names) {
        let places = (names.symbols.len() * 2).next_power_of_two() as u32;
        let mut table = vec![0; places as usize];
        for (name, symbol) in &names.symbols {
            let first = hash::place(name, places).unwrap_or_default();
            let mut order = (first..places).chain(0..first);
            if let Some(free) = order.find(|at| table.get(*at as usize) == Some(&0)) {
                table[free as usize] = symbol.word();
            }
        }
        self.add(Section::Symbols, &table);
    }

    /// Fields of one hash, each with the next.
    fn chains(&mut self) {
        let order = std::mem::take(&mut self.order);
        let mut first = vec![0; order.len().next_power_of_two()];
        let mut next = vec![0; order.len()];
        // From the end, so that each chain is in order.
        for ((at, name), next) in (1..order.len() as u32 + 1).zip(&order).zip(&mut next).rev() {
            let place = hash::place(name, first.len() as u32).unwrap_or_default();
            if let Some(first) = first.get_mut(place as usize) {
                *next = std::mem::replace(first, at);
            }
        }
        self.add(Section::First, &first);
        self.add(Section::Next, &next);
    }

    fn finish(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.own.to_le_bytes());
        let mut at = HEAD;
        for section in &self.sections {
            out.extend_from_slice(&(at as u32).to_le_bytes());
            out.extend_from_slice(&(section.len() as u32).to_le_bytes());
            at += section.len();
        }
        self.sections.iter().for_each(|section| out.extend_from_slice(section));
        out
    }
}

/// The name of an extension among the fields of what it extends.
pub(in crate::schema) fn bracketed(scope: &str, name: &str) -> String {
    ["[", &join(scope, name), "]"].concat()
}
