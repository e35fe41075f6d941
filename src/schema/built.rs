//! As much of this folder as build.rs needs to write the table of the built-in schema.
//! Never a part of the library: build.rs mounts it.

mod descriptor;
mod features;
mod hash;
mod layers;
mod names;
mod outline;
mod plan;
mod secrets;
mod table;

use prost::bytes::Bytes;

use layers::{Layer, select};

/// What this is made of: a table means another thing where one of them changes.
pub const FILES: &[&str] = &[
    "built.rs",
    "descriptor.rs",
    "features.rs",
    "hash.rs",
    "layers.rs",
    "names.rs",
    "outline.rs",
    "plan.rs",
    "secrets.rs",
    "table.rs",
    "table/write.rs",
];

/// Why there is no table.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self([file.into(), message.into()].join(": "))
    }

    fn help(self, text: impl Into<String>) -> Self {
        Self([self.0, text.into()].join(": "))
    }
}

/// The table of descriptor sets, the well-known types last.
pub fn table(sets: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let layers: Vec<Layer> = sets.iter().map(|set| Layer::kept(Bytes::copy_from_slice(set))).collect();
    let (chosen, names) = select(&layers)?;
    table::write(&layers, &chosen, &names)
}

/// A number that changes with any of some texts.
pub fn stamp(texts: &[String]) -> u64 {
    texts.iter().fold(0, |stamp: u64, text| stamp.rotate_left(1) ^ hash::hash(text))
}
