//! Words that may stand at the caret of a display filter: fields of the record, paths into messages, kinds, codes.
//! Never reads a frame.

use std::collections::{BTreeSet, HashSet};

use crate::base::Code;
use crate::query::{FIELDS, Group};
use crate::schema::{Schema, TypeId};
use crate::view::tui::Completion;

use super::Config;

/// Words that are offered, at most.
const MAX_WORDS: usize = 200;
/// Deepest message that `**` looks into.
const DEEP: usize = 12;

/// What the word before a byte of an expression may become. `kinds` are those seen so far.
pub fn complete(config: &Config, kinds: &[String], text: &str, at: usize) -> Completion {
    let head = text.get(..at).unwrap_or(text);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '*' | '-' | '[' | ']' | '$');
    let start =
        head.rfind(|c| !is_word(c)).map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
    let word = head.get(start..).unwrap_or("");
    let before = head.get(..start).unwrap_or("").trim_end();
    let (begin, known): (usize, BTreeSet<String>) = match compared(before) {
        Some("kind") => (start, kinds.iter().cloned().collect()),
        Some("findings.code") => (start, Code::ALL.iter().map(|c| c.name().to_owned()).collect()),
        Some("findings.severity") => (start, ["note", "warning", "error"].map(str::to_owned).into()),
        Some("direction") => (start, ["request", "response"].map(str::to_owned).into()),
        Some("messageType") => {
            let types = config.schema.types().filter(|(_, t)| !t.map_entry && t.known.is_none());
            (start, types.map(|(_, t)| t.name.to_string()).collect())
        }
        Some("rpc") => (start, config.schema.methods().iter().map(|m| m.name.to_string()).collect()),
        Some(_) => (start, BTreeSet::new()),
        None => match word.rsplit_once('.') {
            Some((path, _)) if path == "message" || path.starts_with("message.") => {
                (start + path.len() + 1, fields(&config.schema, path))
            }
            _ => (start, names(config)),
        },
    };
    let word = head.get(begin..).unwrap_or("");
    let lower = word.to_lowercase();
    // What begins so comes first, then what has it inside.
    let (mut words, inside): (Vec<String>, Vec<String>) = known
        .into_iter()
        .filter(|w| w.to_lowercase().contains(&lower))
        .partition(|w| w.to_lowercase().starts_with(&lower));
    words.extend(inside);
    words.truncate(MAX_WORDS);
    Completion { start: begin, words }
}

/// The field whose value is being typed: what stands before an operator and perhaps a quote.
fn compared(before: &str) -> Option<&str> {
    let before = before.trim_end_matches(['"', '{', ',', ' ']);
    let operators = ["==", "!=", "<=", ">=", "<", ">", " contains", " matches", " in", " eq", " ne"];
    let head = operators.iter().find_map(|op| before.strip_suffix(op))?.trim_end();
    let start = head.rfind([' ', '(', '!']).map_or(0, |at| at + 1);
    head.get(start..)
}

/// Fields of the record.
fn names(config: &Config) -> BTreeSet<String> {
    let mut out: BTreeSet<String> = FIELDS.iter().map(|f| f.name.to_owned()).collect();
    out.insert("message.".to_owned());
    out.extend(config.plan.namespaces.iter().map(|n| format!("ids.{}", n.key)));
    out.extend(
        Group::ALL.iter().filter(|(group, _)| *group == Group::Headers).map(|(_, path)| format!("{path}.")),
    );
    out.extend(["and", "or", "not", "contains", "matches"].map(str::to_owned));
    out
}

/// Fields of the messages that a path leads to.
fn fields(schema: &Schema, path: &str) -> BTreeSet<String> {
    let mut types: HashSet<TypeId> = schema.roots().filter(|ty| schema.ty(*ty).known.is_none()).collect();
    for step in path.split('.').skip(1) {
        let step = step.split('[').next().unwrap_or(step);
        types = match step {
            "**" => deep(schema, types),
            "*" => inside(schema, &types, None),
            name => inside(schema, &types, Some(name)),
        };
    }
    let named = types.iter().flat_map(|ty| &schema.ty(*ty).fields).map(|f| f.name.to_string());
    named.chain(std::iter::once("**".to_owned())).collect()
}

fn inside(schema: &Schema, types: &HashSet<TypeId>, name: Option<&str>) -> HashSet<TypeId> {
    let fields = types.iter().flat_map(|ty| &schema.ty(*ty).fields);
    fields.filter(|f| name.is_none_or(|n| *f.name == *n)).filter_map(|f| f.kind.message()).collect()
}

fn deep(schema: &Schema, types: HashSet<TypeId>) -> HashSet<TypeId> {
    let mut all = types.clone();
    let mut edge = types;
    for _ in 0..DEEP {
        edge = inside(schema, &edge, None).into_iter().filter(|ty| all.insert(*ty)).collect();
        if edge.is_empty() {
            break;
        }
    }
    all
}
