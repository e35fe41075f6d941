//! Paths as `--only` and `--ignore` take them: `a.b.c`, `*` for any one step, `**` for any depth.
//! Never knows a schema: a path that nothing has matches nothing.

use serde_json::{Map, Value};

/// A path pattern. It covers what it names and all that is below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    steps: Vec<String>,
}

impl Pattern {
    /// Reads a pattern; a leading `message.` may stand or not, and places in lists (`[3]`) count as steps.
    pub fn parse(text: &str) -> Self {
        let text = text.replace("[\"", ".").replace("\"]", "").replace('[', ".").replace(']', "");
        let mut steps: Vec<String> = text.split('.').filter(|s| !s.is_empty()).map(str::to_owned).collect();
        if steps.len() > 1 && steps.first().is_some_and(|s| s == "message") {
            steps.remove(0);
        }
        Self { steps }
    }

    /// Whether a path, as steps, is what the pattern names, or below it.
    fn covers(&self, path: &[&str]) -> bool {
        covers(&self.steps, path)
    }
}

fn covers(steps: &[String], path: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    if step == "**" {
        return (0..=path.len()).any(|skip| path.get(skip..).is_some_and(|path| covers(rest, path)));
    }
    let Some((name, below)) = path.split_first() else { return false };
    if (step == "*" || step == name) && covers(rest, below) {
        return true;
    }
    // A list's place may be left out.
    name.bytes().all(|b| b.is_ascii_digit()) && covers(steps, below)
}

/// Leaves out of a message what is ignored, and all but what is asked for. `None` where nothing is left.
pub(super) fn filter(value: Value, only: &[Pattern], ignore: &[Pattern]) -> Option<Value> {
    if only.is_empty() && ignore.is_empty() {
        return Some(value);
    }
    let places: Vec<String> = Vec::new();
    keep(value, &places, only, ignore)
}

fn keep(value: Value, path: &[String], only: &[Pattern], ignore: &[Pattern]) -> Option<Value> {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    if !steps.is_empty() && ignore.iter().any(|p| p.covers(&steps)) {
        return None;
    }
    let wanted = only.is_empty() || only.iter().any(|p| p.covers(&steps));
    let only = if wanted { &[][..] } else { only };
    let below = |step: &str| {
        let mut path = path.to_vec();
        // An opened encoding is no step that people write.
        if step != "$value" {
            path.push(step.to_owned());
        }
        path
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            let opened = object.contains_key("$encoding");
            let mut kept = Map::new();
            for (key, value) in object {
                if opened && key != "$value" {
                    kept.insert(key, value);
                } else if let Some(value) = keep(value, &below(&key), only, ignore) {
                    kept.insert(key, value);
                }
            }
            let empty = if opened { !kept.contains_key("$value") } else { kept.is_empty() };
            (!empty).then_some(Value::Object(kept))
        }
        Value::Array(elements) if !elements.is_empty() => {
            let kept: Vec<Value> = elements
                .into_iter()
                .enumerate()
                .filter_map(|(at, v)| keep(v, &below(&at.to_string()), only, ignore))
                .collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        value => wanted.then_some(value),
    }
}

/// Appends a step to a path as people write it.
pub(super) fn push(path: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '@' | '-' | '#'));
    match (plain, path.is_empty()) {
        (false, _) => format!("{path}[{key:?}]"),
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expect: bool) {
        let steps: Vec<&str> = path.split('.').collect();
        assert_eq!(Pattern::parse(pattern).covers(&steps), expect, "{pattern} on {path}");
    }

    #[test]
    fn patterns() {
        check("a.b", "a.b", true);
        check("a.b", "a.b.c", true);
        check("a.b", "a", false);
        check("message.a.b", "a.b", true);
        check("a.*.c", "a.b.c", true);
        check("**.c", "a.b.c", true);
        check("**.c", "c", true);
        check("a.c", "a.0.c", true);
        check("a[1].c", "a.0.c", false);
        check("a[1].c", "a.1.c", true);
    }

    fn kept(value: serde_json::Value, only: &str, ignore: &str, expect: Option<serde_json::Value>) {
        let list =
            |text: &str| text.split(' ').filter(|p| !p.is_empty()).map(Pattern::parse).collect::<Vec<_>>();
        assert_eq!(filter(value, &list(only), &list(ignore)), expect);
    }

    #[test]
    fn what_is_left() {
        use serde_json::json;
        let message = json!({"a": {"b": 1, "c": [{"d": 2}, {"e": 3}]}, "f": {}});
        kept(message.clone(), "", "", Some(message.clone()));
        kept(message.clone(), "a.c.d", "", Some(json!({"a": {"c": [{"d": 2}]}})));
        kept(message.clone(), "", "**.e f", Some(json!({"a": {"b": 1, "c": [{"d": 2}]}})));
        kept(message.clone(), "x", "", None);
        kept(message, "a", "a.c", Some(json!({"a": {"b": 1}})));
    }
}
