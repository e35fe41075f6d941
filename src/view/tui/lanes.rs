//! The timeline's axis and the keys that move over it.
//! Never draws; a moment without a time is counted by its frame.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::frames::{Lane, Moment};
use super::keys::{Effect, Took, movement, plain, target};
use super::state::{Axis, State, View};

impl Axis {
    /// Where a moment lies: nanoseconds, or its frame's number.
    pub fn of(&self, moment: Moment) -> Option<i64> {
        if self.by_time { moment.time.map(|t| t.0) } else { i64::try_from(moment.frame).ok() }
    }
}

/// The first and last moment of all lanes on the axis; `None` where there is no span to show.
pub fn whole(state: &State) -> Option<(i64, i64)> {
    let axis = &state.axis;
    let from = state.lanes.iter().filter_map(|l| axis.of(l.first)).min()?;
    let to = state.lanes.iter().filter_map(|l| axis.of(l.last)).max()?;
    (to > from).then_some((from, to))
}

/// The part that is shown.
pub fn window(state: &State) -> Option<(i64, i64)> {
    let (from, to) = whole(state)?;
    let span = (to.saturating_sub(from)) as f64;
    let at = |part: f64| from.saturating_add((span * part) as i64);
    Some((at(state.axis.from), at(state.axis.to).max(at(state.axis.from) + 1)))
}

/// The lane that the cursor is on.
pub fn selected(state: &State) -> Option<&Lane> {
    state.lanes.get(*state.lanes_shown.get(state.lane.at)? as usize)
}

/// Takes a key of the timeline in.
pub(super) fn press(state: &mut State, key: KeyEvent, count: Option<u64>) -> Took {
    match plain(key) {
        KeyCode::Esc | KeyCode::Char('q' | 't') => state.view = View::Frames,
        KeyCode::Char('+' | '=') => zoom(state, 0.5),
        KeyCode::Char('-') => zoom(state, 2.0),
        KeyCode::Char('0') => (state.axis.from, state.axis.to) = (0.0, 1.0),
        KeyCode::Char('z') => fit(state),
        KeyCode::Char('h') | KeyCode::Left => pan(state, -0.2),
        KeyCode::Char('l') | KeyCode::Right => pan(state, 0.2),
        KeyCode::Char('a') => {
            state.axis = Axis { from: 0.0, to: 1.0, by_time: !state.axis.by_time };
            state.say(if state.axis.by_time { "lanes by time" } else { "lanes by frame" });
        }
        KeyCode::Char(' ') => fold(state),
        KeyCode::Char('x') => {
            state.lanes_folded.clear();
            state.relane();
        }
        KeyCode::Char('X') => {
            let has_more = state.lanes.iter().enumerate().filter(|(at, l)| l.end as usize > at + 1);
            state.lanes_folded = has_more.filter(|(_, l)| l.depth > 0).map(|(at, _)| at as u32).collect();
            state.relane();
        }
        KeyCode::Enter | KeyCode::Char('$') => {
            let frame = selected(state)
                .map(|l| if key.code == KeyCode::Enter { l.first.frame } else { l.last.frame });
            if let Some(frame) = frame {
                state.view = View::Frames;
                return Took::Asks(Effect::Number(frame));
            }
        }
        _ => {
            let Some(found) = movement(key, count) else { return Took::No };
            let rows = state.layout().lane_rows();
            let at = target(&found, state.lane.at, state.lanes_shown.len(), rows);
            state.lane.go(at, state.lanes_shown.len(), rows);
        }
    }
    Took::Yes
}

/// Folds or unfolds the lane of the cursor.
pub fn fold(state: &mut State) {
    let Some(number) = state.lanes_shown.get(state.lane.at).copied() else { return };
    let has_more = state.lanes.get(number as usize).is_some_and(|l| l.end > number + 1);
    if has_more && !state.lanes_folded.remove(&number) {
        state.lanes_folded.insert(number);
    }
    state.relane();
}

/// Shows more or less of the axis, the middle of the selected lane staying where it is.
pub fn zoom(state: &mut State, by: f64) {
    let Axis { from, to, .. } = state.axis;
    let focus = middle(state).filter(|m| (from..=to).contains(m)).unwrap_or((from + to) / 2.0);
    let span = ((to - from) * by).clamp(1e-7, 1.0);
    let part = if to > from { (focus - from) / (to - from) } else { 0.5 };
    state.axis.from = (focus - span * part).clamp(0.0, 1.0 - span);
    state.axis.to = state.axis.from + span;
}

fn pan(state: &mut State, by: f64) {
    let span = state.axis.to - state.axis.from;
    state.axis.from = (state.axis.from + span * by).clamp(0.0, 1.0 - span);
    state.axis.to = state.axis.from + span;
}

/// Shows the selected lane from end to end.
fn fit(state: &mut State) {
    let Some((first, last)) = ends(state) else { return };
    let margin = ((last - first) * 0.05).max(1e-7);
    state.axis.from = (first - margin).clamp(0.0, 1.0);
    state.axis.to = (last + margin).clamp(state.axis.from + 1e-7, 1.0 + 1e-7);
}

/// Where the selected lane begins and ends, as parts of the whole.
fn ends(state: &State) -> Option<(f64, f64)> {
    let (from, to) = whole(state)?;
    let lane = selected(state)?;
    let part = |moment| {
        Some((state.axis.of(moment)?.saturating_sub(from)) as f64 / (to.saturating_sub(from)) as f64)
    };
    Some((part(lane.first)?, part(lane.last)?))
}

fn middle(state: &State) -> Option<f64> {
    ends(state).map(|(first, last)| (first + last) / 2.0)
}
