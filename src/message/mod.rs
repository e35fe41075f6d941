//! Messages: payload bytes to a tree of fields with their place, and the tree to ProtoJSON.
//! Never fails on a payload, never knows a protocol.

mod collect;
pub mod coverage;
mod decode;
pub mod fast;
mod guess;
mod ids;
pub mod json;
pub mod json_in;
mod path;
mod put;
pub mod status;
mod tree;
mod wire;
pub mod wire_out;
mod wkt;

pub(crate) use guess::{is_message, kind as guess};

pub use decode::{MAX_DEPTH, decode, decode_start};
pub use ids::{Id, IdValue, ids, kind};
pub use json::{Expand, JsonOptions};
pub use path::{find, path_of};
pub use tree::{Children, Node, NodeKind, Tree};
pub use wire::Wire;

/// The type name in an Any's URL: what follows the last slash.
fn any_name(url: &str) -> Option<&str> {
    url.rsplit('/').next().filter(|name| !name.is_empty())
}
