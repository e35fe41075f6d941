//! The end of a JSON object that lies whole in a text, and where its members are.
//! Never reads what is not plain: escapes, what is cut and what is wrong are for others to tell.

use std::ops::Range;

use crate::base::json::plain_length;

use super::scan::MAX_DEPTH;

/// Where the members of an object are: name without quotes, value.
pub(super) type Places = Vec<(Range<usize>, Range<usize>)>;

/// How long the object is that a text begins with, by RFC 8259; its members are appended to `places`. `None` where
/// it does not end in the text, is not JSON or has escapes in its strings.
pub(super) fn object(text: &[u8], places: &mut Places) -> Option<usize> {
    let mut reader = Reader { text, at: 0 };
    reader.take(b'{')?;
    reader.members(MAX_DEPTH - 1, |name, value| places.push((name, value)))?;
    Some(reader.at)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    #[inline]
    fn blanks(&mut self) {
        while self.peek().is_some_and(super::scan::is_blank) {
            self.at += 1;
        }
    }

    /// The rest of an object after its brace.
    fn members(&mut self, levels: usize, mut member: impl FnMut(Range<usize>, Range<usize>)) -> Option<()> {
        self.blanks();
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.blanks();
            self.take(b':')?;
            self.blanks();
            let from = self.at;
            self.value(levels)?;
            member(name, from..self.at);
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
            self.blanks();
        }
        self.take(b'}')
    }

    fn value(&mut self, levels: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b'{' => {
                self.at += 1;
                self.members(levels.checked_sub(1)?, |_, _| {})
            }
            b'[' => {
                self.at += 1;
                self.elements(levels.checked_sub(1)?)
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// The rest of an array after its bracket.
    fn elements(&mut self, levels: usize) -> Option<()> {
        self.blanks();
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(levels)?;
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
            self.blanks();
        }
        self.take(b']')
    }

    /// A string; gives what is between its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        self.take(b'"')?;
        let from = self.at;
        self.at += plain_length(self.text.get(from..)?);
        let to = self.at;
        self.take(b'"')?;
        Some(from..to)
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek()?.is_ascii_digit() {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// A number. One at the end of the text may go on after it.
    fn number(&mut self) -> Option<()> {
        let _ = self.take(b'-');
        let from = self.at;
        self.digits()?;
        if self.text.get(from) == Some(&b'0') && self.at > from + 1 {
            return None;
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if let b'e' | b'E' = self.peek()? {
            self.at += 1;
            if let b'+' | b'-' = self.peek()? {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::members::Members;
    use super::*;

    /// Whether an object was found; where it was, it must be what a full reader reads.
    fn check(text: &str) -> bool {
        let mut places = Vec::new();
        let Some(length) = object(text.as_bytes(), &mut places) else { return false };
        let json = text.get(..length).expect("the end of a character");
        let read = Members::read(json).unwrap_or_else(|| panic!("no JSON: {json}"));
        let part = |range: &Range<usize>| json.get(range.clone()).expect("characters");
        let found: Vec<_> = places.iter().map(|(name, value)| (part(name), part(value))).collect();
        let read: Vec<_> = read.0.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(found, read, "{json}");
        true
    }

    #[test]
    fn objects() {
        for text in [
            "{}",
            "{ }rest",
            "{\"a\" : 1 , \"b\":\"x\"}\n{}",
            "{\"a\":[],\"b\":[1,-0.5e+7,{\"c\":null}, true ,false],\"é\":{\"\":\"é\"}}",
        ] {
            assert!(check(text), "{text}");
        }
        for text in [
            "",
            "[]",
            "{",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":01}",
            "{\"a\":-}",
            "{\"a\":1.}",
            "{\"a\":.5}",
            "{\"a\":1e}",
            "{\"a\":+1}",
            "{\"a\":tru}",
            "{\"a\":[1,]}",
            "{\"a\":[1 2]}",
            "{\"a\":\"\\n\"}",
            "{\"a\":\"\n\"}",
            "{,}",
            "{\"a\":}",
            "{\"a\":1]",
            "{\"a\":[1}",
        ] {
            assert!(!check(text), "{text}");
        }
        let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(check(&deep(MAX_DEPTH - 1)) && !check(&deep(MAX_DEPTH)));
    }

    #[test]
    fn text_with_a_byte_changed() {
        let text =
            "{\"a_b\":{\"c\":\"0aff\",\"d\":{\"e\":\"x\"},\"f\":\"0\"},\"g\":[1.5e3,true,null,{}],\"h\":-0}";
        for at in 0..text.len() {
            for byte in b" \"\\{}[]:,0a-.e\n\x01" {
                let mut odd = text.as_bytes().to_vec();
                odd[at] = *byte;
                check(&String::from_utf8(odd).expect("ASCII"));
            }
        }
    }
}
