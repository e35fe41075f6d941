//! Differences of two sessions as records: one object a change.
//! Never prints a byte that acts on a terminal.

use crate::base::json::{push_key, push_number, push_optional, push_string, push_value};
use crate::diff::{Change, Hunk};

/// Appends the record of a change, without a newline.
///
/// `type` (`added`, `removed`, `changed`, `moved`), `path` (in the message; empty where it is the whole message), `left` and
/// `right` (absent where that side has nothing), `frames` (left, right; null), `kind` (the branches that are set), `direction`,
/// `in` (`class`: the level's name or the RPC; `number`, `id`: left, right), `stage`, and `rpc` of a call beside the run.
pub fn change(hunk: &Hunk, change: &Change, out: &mut Vec<u8>) {
    out.push(b'{');
    push_key(out, "type");
    push_string(out, change.kind.name());
    push_key(out, "path");
    push_string(out, &change.path);
    for (key, side) in [("left", &change.left), ("right", &change.right)] {
        if let Some(side) = side {
            push_key(out, key);
            push_value(out, side);
        }
    }
    push_key(out, "frames");
    pair(&hunk.frames, out, |out, n| push_number(out, *n));
    push_key(out, "kind");
    push_optional(out, Some(hunk.what.as_str()).filter(|w| !w.is_empty()));
    push_key(out, "direction");
    push_string(out, hunk.side.name());
    push_key(out, "in");
    out.push(b'{');
    push_key(out, "class");
    push_string(out, &hunk.class);
    push_key(out, "number");
    pair(&hunk.numbers, out, |out, n| push_number(out, *n as u64));
    push_key(out, "id");
    pair(&hunk.ids, out, |out, id| push_string(out, id));
    out.push(b'}');
    push_key(out, "stage");
    push_optional(out, Some(hunk.stage.as_str()).filter(|s| !s.is_empty()));
    if let Some(rpc) = &hunk.rpc {
        push_key(out, "rpc");
        push_string(out, rpc);
    }
    out.push(b'}');
}

fn pair<T>(both: &[Option<T>; 2], out: &mut Vec<u8>, write: impl Fn(&mut Vec<u8>, &T)) {
    for (at, side) in both.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        match side {
            Some(side) => write(out, side),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b']');
}
