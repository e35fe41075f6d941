//! The line that is typed into: filter, search, number, file name, what to copy.
//! Never takes a character that would act on the terminal.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::base::text::is_unsafe;

use super::keys::{Effect, What};
use super::state::{Ask, Prompt, State};

/// What was typed before that is remembered.
const HISTORY: usize = 100;

/// Opens a prompt; a filter is there to be changed.
pub fn open(state: &mut State, ask: Ask) {
    let text = match ask {
        Ask::Filter => state.filter.clone(),
        _ => String::new(),
    };
    let caret = text.len();
    state.note = None;
    state.prompt = Some(Prompt {
        ask,
        text,
        caret,
        mistake: None,
        words: Vec::new(),
        word: None,
        word_start: 0,
        back: 0,
    });
}

/// What stands before the text.
pub fn label(ask: Ask) -> &'static str {
    match ask {
        Ask::Filter => "filter: ",
        Ask::Search => "search: ",
        Ask::Number => "frame: ",
        Ask::Write => "write to: ",
        Ask::Overwrite => "the file exists: write over it? (y/n) ",
        Ask::Copy => "copy: v value  m message  p path  r record  b bytes ",
    }
}

/// Takes a key of a prompt in.
pub fn press(state: &mut State, key: KeyEvent) -> Option<Effect> {
    let prompt = state.prompt.as_mut()?;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match prompt.ask {
        Ask::Copy => {
            state.prompt = None;
            let what = match key.code {
                KeyCode::Char('v' | 'f' | 'y') => What::Value,
                KeyCode::Char('m') => What::Message,
                KeyCode::Char('p') => What::Path,
                KeyCode::Char('r') => What::Record,
                KeyCode::Char('b') => What::Bytes,
                _ => return None,
            };
            return Some(Effect::Copy(what));
        }
        Ask::Overwrite => {
            let name = prompt.text.clone();
            state.prompt = None;
            return matches!(key.code, KeyCode::Char('y' | 'Y')).then_some(Effect::Write(name, true));
        }
        _ => {}
    }
    match (key.code, control) {
        (KeyCode::Esc, _) => {
            // The words go first, then the line.
            match prompt.words.is_empty() {
                true => state.prompt = None,
                false => prompt.words.clear(),
            }
            return None;
        }
        (KeyCode::Enter, _) => return enter(state),
        (KeyCode::Tab, _) => return turn_word(prompt, 1),
        (KeyCode::BackTab, _) => return turn_word(prompt, -1),
        (KeyCode::Left, _) | (KeyCode::Char('b'), true) => {
            prompt.caret = before(&prompt.text, prompt.caret);
            prompt.words.clear();
            return None;
        }
        (KeyCode::Right, _) | (KeyCode::Char('f'), true) => {
            prompt.caret = after(&prompt.text, prompt.caret);
            prompt.words.clear();
            return None;
        }
        (KeyCode::Home, _) | (KeyCode::Char('a'), true) => {
            prompt.caret = 0;
            return None;
        }
        (KeyCode::End, _) | (KeyCode::Char('e'), true) => {
            prompt.caret = prompt.text.len();
            return None;
        }
        (KeyCode::Backspace, _) | (KeyCode::Char('h'), true) => {
            let from = before(&prompt.text, prompt.caret);
            cut(prompt, from);
        }
        (KeyCode::Delete, _) => {
            let to = after(&prompt.text, prompt.caret);
            let from = std::mem::replace(&mut prompt.caret, to);
            cut(prompt, from);
        }
        (KeyCode::Char('w'), true) => {
            let head = prompt.text.get(..prompt.caret).unwrap_or("").trim_end();
            let from = head.rfind([' ', '.', '"']).map_or(0, |at| at + 1).min(prompt.caret);
            let from = if from == prompt.caret { before(&prompt.text, from) } else { from };
            cut(prompt, from);
        }
        (KeyCode::Char('u'), true) => cut(prompt, 0),
        (KeyCode::Up, _) => {
            let back = prompt.back + 1;
            if let Some(old) = state.history.get(back - 1) {
                (prompt.text, prompt.caret, prompt.back) = (old.clone(), old.len(), back);
            }
        }
        (KeyCode::Down, _) => {
            let back = prompt.back.saturating_sub(1);
            let text = back.checked_sub(1).and_then(|at| state.history.get(at)).cloned().unwrap_or_default();
            (prompt.caret, prompt.text, prompt.back) = (text.len(), text, back);
        }
        (KeyCode::Char(c), false) => insert(prompt, c.encode_utf8(&mut [0; 4])),
        _ => return None,
    }
    changed(state)
}

/// Text that was pasted: into a prompt alone, as if typed, on one line.
pub fn paste(state: &mut State, text: &str) -> Option<Effect> {
    let prompt = state.prompt.as_mut()?;
    if matches!(prompt.ask, Ask::Copy | Ask::Overwrite) {
        return None;
    }
    let line: String = text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    insert(prompt, line.trim_end());
    changed(state)
}

fn changed(state: &mut State) -> Option<Effect> {
    let prompt = state.prompt.as_mut()?;
    prompt.words.clear();
    prompt.word = None;
    prompt.mistake = None;
    (prompt.ask == Ask::Filter && !prompt.text.trim().is_empty()).then_some(Effect::Check)
}

fn enter(state: &mut State) -> Option<Effect> {
    let prompt = state.prompt.take()?;
    let text = prompt.text.trim().to_owned();
    let remembered = matches!(prompt.ask, Ask::Filter | Ask::Search) && !text.is_empty();
    if remembered {
        state.history.retain(|old| *old != text);
        state.history.insert(0, text.clone());
        state.history.truncate(HISTORY);
    }
    match prompt.ask {
        Ask::Filter => {
            // A wrong filter stays to be mended; setting it says what is wrong.
            state.prompt = Some(Prompt { words: Vec::new(), word: None, ..prompt });
            Some(Effect::Filter(text))
        }
        Ask::Search => {
            if !text.is_empty() {
                state.search = text;
            }
            Some(Effect::Search(false))
        }
        Ask::Number => match text.parse() {
            Ok(number) => Some(Effect::Number(number)),
            Err(_) if text.is_empty() => None,
            Err(_) => {
                state.refuse("expected the number of a frame");
                None
            }
        },
        Ask::Write if !text.is_empty() => Some(Effect::Write(text, false)),
        Ask::Write | Ask::Copy | Ask::Overwrite => None,
    }
}

/// Puts the next of the words in place of the one at the caret; asks for them where there are none yet.
fn turn_word(prompt: &mut Prompt, by: isize) -> Option<Effect> {
    if prompt.ask != Ask::Filter {
        return None;
    }
    if prompt.words.is_empty() {
        return Some(Effect::Complete);
    }
    let count = prompt.words.len() as isize;
    let next = match prompt.word {
        Some(word) => (word as isize + by).rem_euclid(count) as usize,
        None if by > 0 => 0,
        None => (count - 1) as usize,
    };
    choose(prompt, next);
    Some(Effect::Check)
}

/// Puts one of the words where the caret is.
pub fn choose(prompt: &mut Prompt, word: usize) {
    let Some(text) = prompt.words.get(word).cloned() else { return };
    if replace(prompt, &text) {
        prompt.word = Some(word);
    }
}

/// Puts a text in place of the word before the caret; false where that is no place in the line.
pub fn replace(prompt: &mut Prompt, text: &str) -> bool {
    let (Some(head), Some(tail)) = (prompt.text.get(..prompt.word_start), prompt.text.get(prompt.caret..))
    else {
        return false;
    };
    let line = format!("{head}{text}{tail}");
    prompt.caret = head.len() + text.len();
    prompt.text = line;
    true
}

fn insert(prompt: &mut Prompt, text: &str) {
    let safe: String = text.chars().filter(|c| !is_unsafe(*c)).collect();
    if prompt.text.is_char_boundary(prompt.caret) && prompt.text.len() < 8_000 {
        prompt.text.insert_str(prompt.caret, &safe);
        prompt.caret += safe.len();
    }
}

fn cut(prompt: &mut Prompt, from: usize) {
    if from <= prompt.caret
        && prompt.text.is_char_boundary(from)
        && prompt.text.is_char_boundary(prompt.caret)
    {
        prompt.text.replace_range(from..prompt.caret, "");
        prompt.caret = from;
    }
}

fn before(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|head| head.char_indices().next_back()).map_or(0, |(at, _)| at)
}

fn after(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|tail| tail.chars().next()).map_or(text.len(), |c| at + c.len_utf8())
}
