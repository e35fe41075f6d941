//! What is taken out of the interface: frames that are written, texts that are copied.
//! Never touches the clipboard or a file.

use crate::base::text::clean;
use crate::view::tui::detail::Line;
use crate::view::tui::frames::Frames;
use crate::view::tui::keys::What;
use crate::view::tui::state::State;

use super::{App, Out};

impl<F: Frames> App<F> {
    /// Frames that are written: those marked, those the filter lets through, or the one that is open.
    pub(super) fn selection(&self) -> Vec<u64> {
        if !self.state.marks.is_empty() {
            return self.state.marks.iter().copied().collect();
        }
        if !self.state.filter.is_empty() {
            return (0..self.frames.len()).filter_map(|at| self.frames.number(at)).collect();
        }
        Some(self.state.detail.number).filter(|n| *n > 0).into_iter().collect()
    }

    pub(super) fn copy(&mut self, what: What) -> Option<Out> {
        let detail = &self.state.detail;
        let line = self.state.line();
        let found = line.and_then(|l| detail.lines.get(l));
        let (name, text) = match what {
            What::Message => ("the message", detail.message.clone()),
            What::Record => {
                let record = self.frames.record(detail.number).unwrap_or_default();
                ("the record", String::from_utf8_lossy(&record).trim_end().to_owned())
            }
            What::Path => {
                let path = line.map(|l| detail.path(l)).unwrap_or_default();
                let path = if path.is_empty() { path } else { format!("message.{path}") };
                ("the path", path)
            }
            What::Value => ("the value", found.map(|l| value(&self.state, l)).unwrap_or_default()),
            What::Bytes => {
                let lit = found.and_then(|l| l.place).and_then(|p| detail.lit(p, self.state.tab));
                let tab = detail.tabs.get(self.state.tab);
                let text = lit.zip(tab).map(|(lit, tab)| {
                    let byte = |at| (!tab.hides(at)).then(|| tab.bytes.get(at).copied()).flatten();
                    (lit.tag..lit.end)
                        .map(|at| byte(at).map_or("··".to_owned(), |b| format!("{b:02x}")))
                        .collect()
                });
                ("the bytes", text.unwrap_or_default())
            }
        };
        if text.is_empty() {
            self.state.refuse(format!("{name}: nothing to copy here"));
            return None;
        }
        Some(Out::Copy(name, text))
    }
}

/// What is copied of a line: a text without its quotes, whole; of a message its JSON.
fn value(state: &State, line: &Line) -> String {
    let text = line.value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    if let Some(text) = text.filter(|text| !text.ends_with('…')) {
        return text.to_owned();
    }
    if text.is_none() && !line.value.is_empty() {
        return line.value.clone();
    }
    // The line has only the beginning of a long text, and nothing of a message: the record has all of it.
    let path = state.line().map(|l| state.detail.path(l)).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_str(&state.detail.message).unwrap_or_default();
    let pointer = path.replace('[', ".").replace(']', "");
    let mut steps = pointer.split('.').filter(|s| !s.is_empty());
    let found = steps.try_fold(&json, |at, step| match at {
        serde_json::Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    });
    match found {
        None | Some(serde_json::Value::Null) => text.unwrap_or_default().to_owned(),
        Some(serde_json::Value::String(text)) => clean(text),
        Some(other) => clean(&other.to_string()),
    }
}
