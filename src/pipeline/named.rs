//! What the name of a file says about the body in it: the RPC, the side, and which files are one call.
//! Never opens a file; a name that says nothing is no trouble.

use std::sync::Arc;

use crate::pdu::Side;
use crate::schema::Schema;

/// A body whose file is named after its RPC, as `007_pkg.Service_Method_response.hex`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The RPC.
    pub rpc: Arc<str>,
    /// Who sent the body.
    pub side: Side,
    /// What the files of one call share: the path without the side.
    pub call: String,
}

const SIDES: &[(&str, Side)] = &[
    ("request", Side::Request),
    ("req", Side::Request),
    ("response", Side::Response),
    ("resp", Side::Response),
    ("res", Side::Response),
];

/// What a path says, where it ends in the name of a method of the schema and in a side.
pub fn of(schema: &Schema, path: &str) -> Option<Named> {
    let (folder, file) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
    let is_mark = |c: char| matches!(c, '_' | '-' | '.');
    // Extensions follow the side.
    let (stem, side) = SIDES.iter().find_map(|(word, side)| {
        let at = file.rfind(word)?;
        let stem = file.get(..at)?.strip_suffix(is_mark)?;
        let rest = file.get(at + word.len()..)?;
        (rest.is_empty() || rest.starts_with('.')).then_some((stem, *side))
    })?;
    let fits = |method: &str| {
        let (service, name) = method.split_once('/')?;
        let rest = stem.strip_suffix(name)?.strip_suffix(is_mark)?.strip_suffix(service)?;
        (rest.is_empty() || rest.ends_with(['_', '-'])).then_some(())
    };
    let method = schema.methods().iter().find(|m| fits(&m.name).is_some())?;
    Some(Named { rpc: Arc::from(&*method.name), side, call: format!("{folder}/{stem}") })
}
