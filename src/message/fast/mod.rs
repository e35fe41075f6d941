//! The fast lane: a regular message from its bytes to its JSON in one walk, nothing built between.
//! Never finds fault: what is not regular in every way is given up, for the tolerant decoder to do over.
//!
//! Regular is a message whose JSON is the concatenation of its fields in wire order: each singular
//! field and oneof set once, each repeated field in one run, nothing unknown, malformed or hidden.

mod first;
mod outline;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use smallvec::SmallVec;

use crate::{
    base::Limits,
    schema::{Schema, TypeId},
};

use super::{Expand, IdValue, JsonOptions};

pub use outline::{Content, Outline, outline};
pub use table::Tables;

/// An id that was met on the way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FastId<'a> {
    /// [`Annotation::id`](crate::schema::Annotation::id) of its field.
    pub namespace: u16,
    /// The value.
    pub value: IdValue<'a>,
    /// Whether the field is not on the wire and its value is the default: 0.
    pub absent: bool,
}

/// The ids of a message; it mostly has few.
pub type Ids<'a> = SmallVec<[FastId<'a>; 4]>;

/// Whether options are such that this lane can write what they ask for.
pub fn serves(options: &JsonOptions<'_>) -> bool {
    options.expand == Expand::None && !options.emit_defaults && options.blobs.is_none()
}

/// The branch set in the first oneof of a message whose outermost fields are regular, found without a look at
/// what they hold. `None` where they are not.
pub fn branch(schema: &Schema, tables: &Tables, ty: TypeId, payload: &[u8]) -> Option<Option<u16>> {
    walk::branch(tables.table(schema, ty)?, payload)
}

/// Appends the JSON of a regular message and its ids; gives the branch set in the root's first oneof.
/// `None`, and nothing appended, where the message is not regular.
#[expect(clippy::too_many_arguments, reason = "what goes in, how, and where it goes")]
pub fn write<'a>(
    schema: &Schema,
    tables: &Tables,
    ty: TypeId,
    payload: &'a [u8],
    redact: bool,
    limits: &Limits,
    out: &mut Vec<u8>,
    ids: &mut Ids<'a>,
) -> Option<Option<u16>> {
    let (begin, ids_begin) = (out.len(), ids.len());
    let done = walk::Walk::new(schema, tables, payload, redact, limits, out, ids).root(ty);
    if done.is_none() {
        out.truncate(begin);
        ids.truncate(ids_begin);
    }
    done
}
