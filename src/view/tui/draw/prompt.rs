//! The last lines: what is typed and what is wrong with it, or where the reader is.
//! Never lets a mistake hide what was typed.

use ratatui::style::{Modifier, Style};

use super::super::layout::Area;
use super::super::prompt::label;
use super::super::state::{Pane, Prompt, State, View};
use super::{Canvas, Scene, grouped, width};

pub(super) fn draw(
    state: &State,
    scene: &Scene<'_>,
    area: Area,
    canvas: &mut Canvas<'_>,
) -> Option<(u16, u16)> {
    if area.height == 0 {
        return None;
    }
    match &state.prompt {
        Some(prompt) => Some(typed(prompt, area, canvas)),
        None => {
            status(state, scene, area, canvas);
            None
        }
    }
}

fn typed(prompt: &Prompt, area: Area, canvas: &mut Canvas<'_>) -> (u16, u16) {
    let palette = canvas.palette;
    let name = label(prompt.ask);
    let start = canvas.put(area.x, area.y, area.width, name, palette.key());
    let room = (area.x + area.width).saturating_sub(start);
    let head = width(prompt.text.get(..prompt.caret).unwrap_or(""));
    // A line that is too long is shown from where the caret stays in sight.
    let skipped = (head + 1).saturating_sub(room);
    let mut from = 0;
    for (at, _) in prompt.text.char_indices() {
        if width(prompt.text.get(..at).unwrap_or("")) >= skipped {
            from = at;
            break;
        }
    }
    let shown = prompt.text.get(from..).unwrap_or("");
    canvas.put(start, area.y, room, shown, Style::new());
    let caret = start + width(prompt.text.get(from..prompt.caret).unwrap_or(""));
    if area.height < 2 {
        return (caret, area.y);
    }
    if !prompt.words.is_empty() {
        words(prompt, Area { y: area.y + 1, height: 1, ..area }, canvas);
    } else if let Some(mistake) = &prompt.mistake {
        let column = |chars: usize| {
            let at = prompt.text.char_indices().nth(chars).map_or(prompt.text.len(), |(at, _)| at);
            (start + width(prompt.text.get(..at).unwrap_or("")))
                .saturating_sub(width(prompt.text.get(..from).unwrap_or("")))
        };
        let (first, last) = (column(mistake.start), column(mistake.end));
        let wide = last.saturating_sub(first).max(1);
        canvas.style(
            Area { x: first, y: area.y, width: wide, height: 1 },
            palette.mistake().add_modifier(Modifier::UNDERLINED),
        );
        let help = mistake.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        let text = format!("{} {}{help}", "^".repeat(usize::from(wide.min(40))), mistake.text);
        // Under its place where there is room for it, else as far left as it must be.
        let x = first.min((area.x + area.width).saturating_sub(width(&text).min(area.width)));
        canvas.put_cut(x, area.y + 1, (area.x + area.width).saturating_sub(x), &text, palette.mistake());
    }
    (caret, area.y)
}

fn words(prompt: &Prompt, area: Area, canvas: &mut Canvas<'_>) {
    let mut x = area.x;
    // From the chosen one's page on.
    let chosen = prompt.word.unwrap_or(0);
    let mut first = 0;
    let mut used = 0;
    for (at, word) in prompt.words.iter().enumerate().take(chosen + 1) {
        used += width(word) + 2;
        if used > area.width {
            first = at;
            used = width(word) + 2;
        }
    }
    for (at, word) in prompt.words.iter().enumerate().skip(first) {
        let style = if Some(at) == prompt.word { canvas.palette.cursor(true) } else { canvas.palette.key() };
        let room = (area.x + area.width).saturating_sub(x);
        if room == 0 {
            return;
        }
        x = canvas.put(x, area.y, room, word, style) + 2;
    }
}

fn status(state: &State, scene: &Scene<'_>, area: Area, canvas: &mut Canvas<'_>) {
    let palette = canvas.palette;
    if let Some((text, is_mistake)) = &state.note {
        canvas.put_cut(
            area.x,
            area.y,
            area.width,
            text,
            if *is_mistake { palette.mistake() } else { palette.key() },
        );
        return;
    }
    let keys = match state.view {
        View::Frames => "? help  / filter  s search  n pair  e finding  t timeline  f follow  q quit",
        View::Lanes => "Enter to the frame  + - zoom  h l move  Space fold  a axis  ? help  q back",
        View::Said => "Tab next stream  Enter to the frame  ? help  q back",
        View::Help => "",
    };
    let mut left = match state.view {
        View::Frames => place(state),
        View::Lanes => super::super::lanes::selected(state).map_or_else(String::new, |lane| {
            format!("frames {} to {}", grouped(lane.first.frame), grouped(lane.last.frame))
        }),
        View::Said => {
            format!("{}/{}", (state.said_top + 1).min(state.said_lines.len()), state.said_lines.len())
        }
        View::Help => String::new(),
    };
    if let Some(count) = state.count {
        left = format!("{count}");
    }
    if state.tail {
        left.push_str("  [at the end]");
    }
    let _ = scene;
    let room = width(keys) + 1;
    let free = area.width.saturating_sub(width(&left) + 2);
    if room <= free {
        canvas.put(area.x + area.width - room, area.y, room, keys, palette.dim());
        canvas.put(area.x, area.y, area.width - room, &left, Style::new());
    } else {
        canvas.put_cut(area.x, area.y, area.width, &left, Style::new());
        let short = "? help";
        if free > 8 {
            canvas.put(area.x + area.width - 7, area.y, 7, short, palette.dim());
        }
    }
}

/// Where the reader is: the frame among those shown, the field's number, type and bytes.
fn place(state: &State) -> String {
    let at = if state.len == 0 { 0 } else { state.list.at as u64 + 1 };
    let mut out = format!("{}/{}", grouped(at), grouped(state.len as u64));
    if state.focus == Pane::List {
        return out;
    }
    let line = state.line().and_then(|l| state.detail.lines.get(l));
    if let Some(line) = line {
        if !line.meta.is_empty() {
            out.push_str(&format!("  field {}", line.meta));
        }
        if let Some(lit) = line.place.and_then(|p| state.detail.lit(p, state.tab)) {
            let tab = state.detail.tabs.get(state.tab).map_or("", |t| t.name.as_str());
            out.push_str(&format!("  bytes {}..{} of {tab}", lit.tag, lit.end));
        }
    }
    out
}
