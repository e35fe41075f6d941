//! What messages are called: kinds by the branch that is set, types by their names.
//! Never the same name for two threads: those who count how often one thing is used wait for each other.

use std::sync::Arc;

use crate::schema::{Schema, TypeId};

use super::super::Config;
use super::Worker;

/// Names that a worker keeps; a power of two.
const NAMES: usize = 32;

/// The names that a worker has given, each at a place that its type and branch give.
pub(super) type Known = [Option<Names>; NAMES];

/// What a message of a type is called by its branch, copied from the schema.
pub(super) struct Names {
    ty: TypeId,
    branch: Option<u16>,
    pub kind: Option<Arc<str>>,
    pub message_type: Arc<str>,
}

impl Worker {
    /// The names of a message, for this worker alone.
    pub(super) fn names(&mut self, config: &Config, ty: TypeId, branch: Option<u16>) -> &Names {
        let place = ty.0 as usize ^ branch.map_or(0, |branch| usize::from(branch) + 1);
        let slot = &mut self.names[place % NAMES];
        if slot.as_ref().is_some_and(|known| (known.ty, known.branch) != (ty, branch)) {
            *slot = None;
        }
        slot.get_or_insert_with(|| {
            let kind = branch_name(&config.schema, ty, branch).map(|name| kind(config, ty, name));
            let message_type = Arc::from(&*config.schema.ty(ty).name);
            Names { ty, branch, kind: kind.map(|kind| Arc::from(&*kind)), message_type }
        })
    }
}

/// The name of the branch that is set; a type without oneofs has its own name for it.
pub(super) fn branch_name(schema: &Schema, ty: TypeId, branch: Option<u16>) -> Option<Arc<str>> {
    let plan = schema.ty(ty);
    match branch {
        Some(index) => plan.field(index).map(|f| f.name.clone()),
        None => plan.oneofs.is_empty().then(|| plan.short_name().into()),
    }
}

/// What a message is called by the branch that is set in it.
pub(super) fn kind(config: &Config, ty: TypeId, branch: Arc<str>) -> Arc<str> {
    match &*branch {
        // Kinds of frames that are no messages: a branch of that name carries its oneof's.
        "end_stream" | "trailers" | "error" => {
            let oneof = config.schema.ty(ty).oneofs.first().map_or("", |o| &o.name);
            format!("{oneof}.{branch}").into()
        }
        _ => branch,
    }
}
