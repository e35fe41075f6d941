//! Text printed as it comes, credentials hidden although pieces cut them.
//! Never prints what may be the beginning of a credential before its end has come.

use std::io::{self, Write};

use rpcshark::base::secret;
use rpcshark::dialect::Plan;
use rpcshark::session::IdValue;
use rpcshark::session::running::Said;

use super::lines;
use crate::cli::records::Out;

/// Bytes that are held back of one text, at most.
const MAX_HELD: usize = 1 << 20;

type Voice = (u32, u16, Option<IdValue>);

/// What is on the way to standard output.
#[derive(Default)]
pub struct Live {
    /// Who spoke last.
    last: Option<Voice>,
    /// Whether the last line is open.
    open: bool,
    /// What is held back, by who says it.
    held: Vec<(Voice, String)>,
    /// Whether anything was printed.
    any: bool,
}

impl Live {
    /// Takes a piece and prints what is safe to.
    pub fn take(
        &mut self,
        out: &mut Out,
        plan: &Plan,
        said: &Said,
        show_secrets: bool,
        several: bool,
    ) -> io::Result<()> {
        let voice = (said.run, said.stream, said.key.clone());
        let at = match self.held.iter().position(|(v, _)| *v == voice) {
            Some(at) => at,
            None => {
                self.held.push((voice.clone(), String::new()));
                self.held.len() - 1
            }
        };
        let Some((_, held)) = self.held.get_mut(at) else { return Ok(()) };
        if said.paragraph && !held.is_empty() {
            let rest = std::mem::take(held);
            self.print(out, plan, &voice, &rest, show_secrets, several)?;
        }
        if said.paragraph && self.any && self.last.as_ref() == Some(&voice) {
            let gap: &[u8] = if self.open { b"\n\n" } else { b"\n" };
            out.write_all(gap)?;
            self.open = false;
        }
        let Some((_, held)) = self.held.get_mut(at) else { return Ok(()) };
        held.push_str(&said.text);
        let end = if show_secrets || held.len() > MAX_HELD { held.len() } else { settled(held) };
        let text: String = held.drain(..end).collect();
        self.print(out, plan, &voice, &text, show_secrets, several)
    }

    /// A run is over: what was held back of it is printed.
    pub fn finish(
        &mut self,
        out: &mut Out,
        plan: &Plan,
        run: u32,
        show_secrets: bool,
        several: bool,
    ) -> io::Result<()> {
        let (own, rest) = std::mem::take(&mut self.held).into_iter().partition(|((r, ..), _)| *r == run);
        self.held = rest;
        let own: Vec<(Voice, String)> = own;
        for (voice, text) in own {
            self.print(out, plan, &voice, &text, show_secrets, several)?;
        }
        Ok(())
    }

    /// The last line ends.
    pub fn close(&mut self, out: &mut Out) -> io::Result<()> {
        if std::mem::take(&mut self.open) { out.write_all(b"\n") } else { Ok(()) }
    }

    fn print(
        &mut self,
        out: &mut Out,
        plan: &Plan,
        voice: &Voice,
        text: &str,
        show_secrets: bool,
        several: bool,
    ) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.last.as_ref() != Some(voice) {
            self.close(out)?;
            let other =
                self.last.as_ref().is_some_and(|(run, stream, _)| (*run, *stream) != (voice.0, voice.1));
            if other || several && self.last.is_none() {
                let name = plan.streams.get(usize::from(voice.1)).map_or("", |s| &s.name);
                let gap = if self.any { "\n" } else { "" };
                writeln!(out, "{gap}==> run {}, {name} <==", voice.0)?;
            }
            self.last = Some(voice.clone());
        }
        let hidden = if show_secrets { None } else { secret::mask_text(text) };
        let text = lines(hidden.as_deref().unwrap_or(text));
        out.write_all(text.as_bytes())?;
        self.open = !text.ends_with('\n');
        self.any = true;
        Ok(())
    }
}

/// How much of a text may be shown although more may follow: no credential can begin in it and end beyond.
fn settled(text: &str) -> usize {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(line..).unwrap_or_default();
    let mut end = match rest.contains(['"', ':', '@']) || rest.contains("---") {
        true => line,
        false => text.rfind(char::is_whitespace).map_or(0, |at| at + 1),
    };
    while !text.is_char_boundary(end) {
        end += 1;
    }
    if let Some(begin) =
        text.rfind("-----BEGIN").filter(|b| !text.get(*b..).unwrap_or_default().contains("-----END"))
    {
        end = end.min(begin);
    }
    // A member's value, or a header's, may stand on the next line.
    let before = text.get(..end).unwrap_or_default().trim_end();
    if before.ends_with([':', '"']) || before.ends_with("earer") {
        let word = before.rfind('\n').map_or(0, |at| at + 1);
        end = end.min(word);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(text.get(..settled(text)), Some(shown));
    }

    #[test]
    fn whole_words_are_shown() {
        check("I'll read it fir", "I'll read it ");
        check("one\ntwo", "one\n");
        check("", "");
        check("é é", "é ");
    }

    #[test]
    fn what_may_be_a_credential_is_held() {
        check("see https://user:pa", "");
        check("a\n{\"password\": \"hunter", "a\n");
        check("{\n\"password\":\n", "{\n");
        check("x -----BEGIN RSA PRIVATE KEY-----\nMII\n", "x ");
        check("Bearer ", "");
    }
}
