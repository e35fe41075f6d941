//! Every name that is defined, while a table is being written.
//! Never knows what a name's type holds.

use std::sync::Arc;

use super::{
    hash::NameMap,
    outline::FileOutline,
    outline::join,
    plan::{EnumId, TypeId},
    table::Symbol,
};

/// Every name that is defined, in the order of the files.
#[derive(Default)]
pub(super) struct Names {
    pub symbols: NameMap<Arc<str>, Symbol>,
    types: u32,
    enums: u32,
    services: u32,
}

impl Names {
    /// Numbers what a file defines, after what is there.
    pub fn define(&mut self, file: &FileOutline<'_>) {
        for message in &file.messages {
            self.symbols.insert(message.name.clone(), Symbol::Message(TypeId(self.types)));
            self.types += 1;
        }
        for item in &file.enums {
            self.symbols.insert(item.name.clone(), Symbol::Enum(EnumId(self.enums)));
            self.enums += 1;
        }
        for (name, _) in &file.services {
            self.symbols.insert(name.clone(), Symbol::Service(self.services));
            self.services += 1;
        }
    }

    /// The message that a reference made in `scope` means.
    pub fn message(&self, scope: &str, name: &str) -> Option<TypeId> {
        match resolve(scope, name, |full| self.symbols.get(full).copied())? {
            Symbol::Message(ty) => Some(ty),
            _ => None,
        }
    }
}

/// Resolves a reference made in `scope` (a full name): innermost scope first.
pub(super) fn resolve(scope: &str, name: &str, known: impl Fn(&str) -> Option<Symbol>) -> Option<Symbol> {
    if let Some(full) = name.strip_prefix('.') {
        return known(full);
    }
    let mut scope = scope;
    loop {
        if let Some(symbol) = known(&join(scope, name)) {
            return Some(symbol);
        }
        if scope.is_empty() {
            return None;
        }
        scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
}
