//! Named paths of a record as columns, as `tshark -T fields` prints them.
//! Never invents a value: what a record does not have is an empty column.

use serde_json::Value;

use crate::base::text::push_clean;

/// Which of several values of a path are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occurrence {
    /// The first.
    First,
    /// The last.
    Last,
    /// All, joined by the aggregator.
    All,
}

/// How columns are printed (`-E`).
#[derive(Clone, Debug)]
pub struct Columns {
    /// The paths (`-e`).
    pub paths: Vec<String>,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Between columns.
    pub separator: char,
    /// Which values are printed.
    pub occurrence: Occurrence,
    /// Between several values of one column.
    pub aggregator: char,
    /// Around each column.
    pub quote: Option<char>,
}

impl Columns {
    /// The line that names the columns.
    pub fn header_line(&self) -> String {
        self.join(self.paths.iter().map(|path| crate::base::text::clean(path)))
    }

    /// The line of a record.
    pub fn line(&self, record: &Value) -> String {
        self.join(self.paths.iter().map(|path| {
            let steps: Vec<&str> = path.split('.').collect();
            let mut found = Vec::new();
            select(record, &steps, &mut found);
            let chosen: &[&Value] = match self.occurrence {
                Occurrence::All => &found,
                Occurrence::First => &found[..found.len().min(1)],
                Occurrence::Last => &found[found.len().saturating_sub(1)..],
            };
            let texts: Vec<String> = chosen.iter().map(|v| show(v)).collect();
            texts.join(&self.aggregator.to_string())
        }))
    }

    /// Whether a record has something at a path.
    pub fn has(path: &str, record: &Value) -> bool {
        let mut found = Vec::new();
        select(record, &path.split('.').collect::<Vec<_>>(), &mut found);
        !found.is_empty()
    }

    fn join(&self, cells: impl Iterator<Item = String>) -> String {
        let quoted: Vec<String> = cells
            .map(|cell| match self.quote {
                Some(q) => format!("{q}{}{q}", cell.replace(q, &format!("{q}{q}"))),
                None => cell,
            })
            .collect();
        quoted.join(&self.separator.to_string())
    }
}

/// Collects the values at a path: a step is a member, `*` any member, `**` any depth; arrays are entered of themselves.
fn select<'a>(value: &'a Value, steps: &[&str], found: &mut Vec<&'a Value>) {
    if let Value::Array(items) = value {
        return items.iter().for_each(|item| select(item, steps, found));
    }
    let Some((step, rest)) = steps.split_first() else { return found.push(value) };
    let Value::Object(members) = value else { return };
    match *step {
        "**" => {
            select(value, rest, found);
            members.values().for_each(|member| select(member, steps, found));
        }
        "*" => members.values().for_each(|member| select(member, rest, found)),
        name => {
            // A member's own name may hold dots (`http.headers.x.y`): the longest that fits wins.
            for len in (1..=steps.len()).rev() {
                let joined;
                let name = if len == 1 {
                    name
                } else {
                    joined = steps[..len].join(".");
                    &joined
                };
                if let Some(member) = members.get(name) {
                    return select(member, &steps[len..], found);
                }
            }
        }
    }
}

fn show(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Null => {}
        Value::String(text) => push_clean(&mut out, text),
        other => push_clean(&mut out, &other.to_string()),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &str, path: &str, occurrence: Occurrence, expect: &str) {
        let columns = Columns {
            paths: vec![path.to_owned(), "frame".to_owned()],
            header: false,
            separator: '\t',
            occurrence,
            aggregator: ',',
            quote: None,
        };
        let record: Value = serde_json::from_str(record).unwrap();
        assert_eq!(columns.line(&record), expect);
    }

    #[test]
    fn paths() {
        let record =
            r#"{"frame":1,"message":{"a":{"text":"x\ty"},"b":[{"text":"z"}]},"kind":null,"h":{"x.y":5}}"#;
        check(record, "message.a.text", Occurrence::All, "x\\ty\t1");
        check(record, "message.**.text", Occurrence::All, "x\\ty,z\t1");
        check(record, "message.*.text", Occurrence::Last, "z\t1");
        check(record, "kind", Occurrence::All, "\t1");
        check(record, "h.x.y", Occurrence::First, "5\t1");
        check(record, "none", Occurrence::All, "\t1");
    }
}
