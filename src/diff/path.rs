//! Paths as `--only` and `--ignore` take them: `a.b.c`, `*` for any one step, `**` for any depth.
//! Never knows a schema: whether there is such a path has been asked before.

use serde_json::{Map, Value};

/// A path pattern. It covers what it names and all that is below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    steps: Vec<String>,
}

impl Pattern {
    /// A pattern of steps: names, places in lists, `*`, `**`.
    pub fn new(steps: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { steps: steps.into_iter().map(Into::into).collect() }
    }

    /// Whether a path, as steps, is what the pattern names, or below it.
    fn covers(&self, path: &[&str]) -> bool {
        covers(&self.steps, path)
    }
}

/// In one pass: the places in the pattern that the path may have come to, all at once.
fn covers(steps: &[String], path: &[&str]) -> bool {
    let is_deep = |at: usize| steps.get(at).is_some_and(|s| s == "**");
    let reach = |mut at: usize, out: &mut Vec<bool>| {
        // Nothing is as good as any number of steps.
        loop {
            if let Some(slot) = out.get_mut(at) {
                *slot = true;
            }
            if !is_deep(at) {
                return;
            }
            at += 1;
        }
    };
    let mut here = vec![false; steps.len() + 1];
    reach(0, &mut here);
    for name in path {
        if here.last() == Some(&true) {
            return true;
        }
        let mut next = vec![false; steps.len() + 1];
        for at in (0..steps.len()).filter(|at| here.get(*at) == Some(&true)) {
            let Some(step) = steps.get(at) else { continue };
            // A list's place may be left out.
            if step == "**" || name.bytes().all(|b| b.is_ascii_digit()) {
                reach(at, &mut next);
            }
            if step == "*" || step == name {
                reach(at + 1, &mut next);
            }
        }
        here = next;
    }
    here.last() == Some(&true)
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

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text.split('.'))
    }

    fn check(text: &str, path: &str, expect: bool) {
        let steps: Vec<&str> = path.split('.').collect();
        assert_eq!(pattern(text).covers(&steps), expect, "{text} on {path}");
    }

    #[test]
    fn patterns() {
        check("a.b", "a.b", true);
        check("a.b", "a.b.c", true);
        check("a.b", "a", false);
        check("a.*.c", "a.b.c", true);
        check("**.c", "a.b.c", true);
        check("**.c", "c", true);
        check("a.c", "a.0.c", true);
        check("a.1.c", "a.0.c", false);
        check("a.1.c", "a.1.c", true);
        // Not by trying one way after the other.
        check(&format!("{}b", "**.a.".repeat(60)), &["a"; 200].join("."), false);
    }

    fn kept(value: serde_json::Value, only: &str, ignore: &str, expect: Option<serde_json::Value>) {
        let list = |text: &str| text.split(' ').filter(|p| !p.is_empty()).map(pattern).collect::<Vec<_>>();
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
