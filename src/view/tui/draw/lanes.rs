//! The timeline: a lane for each level and each pair, over time.
//! Never draws a bar shorter than a column.

use ratatui::style::Style;

use super::super::frames::{Lane, Tone};
use super::super::lanes::window;
use super::super::layout::Area;
use super::super::state::State;
use super::{Canvas, Scene, width};
use crate::pdu::Side;

/// The columns that titles and notes take.
fn split(area_width: u16) -> (u16, u16) {
    let title = (area_width * 2 / 5).clamp(12, 56).min(area_width);
    (title, area_width.saturating_sub(title + 1))
}

const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

pub(super) fn draw(state: &State, scene: &Scene<'_>, area: Area, canvas: &mut Canvas<'_>) {
    let head = canvas.bar(area, true);
    let (left, right) = split(area.width);
    let x = area.x + left + 1;
    canvas.put_cut(
        area.x,
        area.y,
        left,
        if state.axis.by_time { " Timeline" } else { " Timeline, by frame" },
        head,
    );
    let Some(window) = window(state) else {
        let text = match (state.lanes.is_empty(), state.axis.by_time) {
            (true, _) => "no run, call or pair so far",
            (_, true) => "the capture has no times that differ: press a for lanes by frame",
            _ => "a single frame has no span",
        };
        canvas.put_cut(area.x + 1, area.y + 1, area.width.saturating_sub(1), text, canvas.palette.dim());
        return;
    };
    ticks(state, window, x, right, area.y, head, canvas);
    for (row, side) in [(1, Side::Request), (2, Side::Response)] {
        if row >= area.height {
            return;
        }
        let name = if side == Side::Request { "→ requests" } else { "← responses" };
        let style = canvas.palette.side(side);
        canvas.put_cut(area.x + 1, area.y + row, left.saturating_sub(1), name, style);
        let counts = &scene.density[usize::from(row - 1)];
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        for (column, count) in counts.iter().enumerate().take(usize::from(right)) {
            let level = if *count == 0 { 0 } else { 1 + (*count as usize * 7) / most as usize };
            let bar = LEVELS.get(level).copied().unwrap_or("█");
            canvas.put(x + column as u16, area.y + row, 1, bar, style);
        }
    }
    let body = Area { y: area.y + 3, height: area.height.saturating_sub(3), ..area };
    for row in 0..body.height {
        let at = state.lane.top + usize::from(row);
        let Some(number) = state.lanes_shown.get(at).copied() else { return };
        let Some(lane) = state.lanes.get(number as usize) else { return };
        let y = body.y + row;
        if at == state.lane.at {
            canvas.style(Area { y, height: 1, ..body }, canvas.palette.cursor(true));
        }
        let folded = state.lanes_folded.contains(&number);
        name(lane, number, folded, Area { y, width: left, height: 1, ..body }, canvas);
        bar(state, lane, window, x, right, y, canvas);
    }
}

fn name(lane: &Lane, number: u32, folded: bool, area: Area, canvas: &mut Canvas<'_>) {
    let marker = match (lane.end > number + 1, folded) {
        (false, _) => "  ",
        (true, true) => "▸ ",
        (true, false) => "▾ ",
    };
    let end = area.x + area.width;
    let mut x = area.x + (lane.depth.min(20) * 2).min(area.width / 3);
    x = canvas.put(x, area.y, end.saturating_sub(x), marker, canvas.palette.dim());
    // The note has what the title leaves, a third at least.
    let left = end.saturating_sub(x + width(&lane.title) + 1);
    let note = width(&lane.note).min(left.max(area.width / 3));
    let room = end.saturating_sub(x + note + 1);
    canvas.put_cut(x, area.y, room, &lane.title, canvas.palette.lane(lane.tone));
    if note > 0 {
        canvas.put_cut(end - note, area.y, note, &lane.note, canvas.palette.dim());
    }
}

fn bar(
    state: &State,
    lane: &Lane,
    (from, to): (i64, i64),
    x: u16,
    room: u16,
    y: u16,
    canvas: &mut Canvas<'_>,
) {
    let (Some(first), Some(last)) = (state.axis.of(lane.first), state.axis.of(lane.last)) else { return };
    if room == 0 || last < from || first > to {
        return;
    }
    let span = (to.saturating_sub(from)).max(1) as f64;
    let column = |at: i64| {
        let part = (at.saturating_sub(from)) as f64 / span;
        (part * f64::from(room - 1)).round().clamp(0.0, f64::from(room - 1)) as u16
    };
    let (start, end) = (column(first), column(last));
    let style = canvas.palette.lane(lane.tone);
    let line = if lane.tone == Tone::Level { "━" } else { "─" };
    for at in start..=end {
        canvas.put(x + at, y, 1, line, style);
    }
    let (left, right) = match lane.tone {
        Tone::Level => ("┣", "┫"),
        Tone::Good => ("├", "┤"),
        Tone::Stopped => ("├", "×"),
        Tone::Bad => ("├", "?"),
        Tone::Open => ("├", "╌"),
    };
    if first >= from {
        canvas.put(x + start, y, 1, left, style);
    }
    if last <= to {
        let sign = if start == end && lane.tone == Tone::Good { "│" } else { right };
        canvas.put(x + end, y, 1, sign, style);
    }
}

/// Round moments along the axis.
fn ticks(
    state: &State,
    (from, to): (i64, i64),
    x: u16,
    room: u16,
    y: u16,
    style: Style,
    canvas: &mut Canvas<'_>,
) {
    let Some((zero, _)) = super::super::lanes::whole(state) else { return };
    let zero = if state.axis.by_time { zero } else { 0 };
    let wanted = i64::from((room / 12).max(1));
    let least = (to.saturating_sub(from) / wanted).max(1);
    // The next round number: 1, 2 or 5 times a power of ten.
    let power = 10i64.saturating_pow(least.ilog10());
    let step = [1, 2, 5, 10]
        .into_iter()
        .map(|n| power.saturating_mul(n))
        .find(|s| *s >= least)
        .unwrap_or(least)
        .max(1);
    let mut at = zero.saturating_add((from.saturating_sub(zero)).div_euclid(step).saturating_mul(step));
    for _ in 0..200 {
        if at > to {
            return;
        }
        if at >= from {
            let part = (at.saturating_sub(from)) as f64 / (to.saturating_sub(from)).max(1) as f64;
            let column = (part * f64::from(room.saturating_sub(1))) as u16;
            let told = at.saturating_sub(zero);
            let text = if state.axis.by_time { moment(told, step) } else { told.to_string() };
            canvas.put(x + column, y, room.saturating_sub(column), &format!("╷{text}"), style);
        }
        at = at.saturating_add(step);
    }
}

/// Nanoseconds in the unit that the step asks for.
fn moment(nanos: i64, step: i64) -> String {
    match step {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", nanos / 1_000_000),
        _ => format!("{} s", nanos / 1_000_000_000),
    }
}

/// Columns of the axis in a terminal of a width.
pub fn columns(width: u16) -> usize {
    usize::from(split(width).1)
}
