//! Splits JSON text into the values that are records, without reading what is in them.
//! Never holds more than one value, and none longer than the limit.

use super::skip::{self, Places};

/// Deepest nesting that is followed; what is deeper is given up.
pub(super) const MAX_DEPTH: usize = 128;

/// Which values are records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::source) enum Target {
    /// Objects one after another, or the objects of arrays.
    Values,
    /// The objects of the array `log.entries`.
    Entries,
}

/// What the scanner comes upon.
#[derive(PartialEq, Debug)]
pub(in crate::source) enum Item<'a> {
    /// A whole object, and where its members are in it, if that is known.
    Value { at: u64, json: &'a [u8], members: Option<&'a Places> },
    /// Text from `at` on that is not JSON, and why.
    Broken { at: u64, why: &'static str },
    /// The text ends inside an object that begins at `at`.
    Cut { at: u64 },
    /// An object longer than the limit.
    TooLarge { at: u64, length: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing yet, or between values.
    None,
    Open,
    Comma,
    Colon,
    Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    String {
        escaped: bool,
    },
    /// After broken text: until an object begins a line.
    Lost {
        line_start: bool,
    },
}

/// A push scanner.
pub(in crate::source) struct Scanner {
    target: Target,
    max: usize,
    /// Open containers from the outside in; `true` is an object.
    stack: Vec<bool>,
    mode: Mode,
    last: Last,
    /// Whether no character came since the last line break.
    line_start: bool,
    /// The depth at which records begin.
    base: usize,
    /// The last string of the two outer levels, as far as it can matter.
    key: Vec<u8>,
    in_log: bool,
    in_entries: bool,
    /// Offset of the record that is open.
    open: Option<u64>,
    carry: Vec<u8>,
    oversize: bool,
    /// The members of an object that was found in one piece.
    members: Places,
    /// How far the text was read.
    at: u64,
    /// Whether `log` and `log.entries` were there, for [`Target::Entries`].
    pub found_entries: bool,
    done: bool,
}

impl Scanner {
    pub(in crate::source) fn new(target: Target, max: usize) -> Self {
        Self {
            target,
            max,
            stack: Vec::new(),
            mode: Mode::Plain,
            last: Last::None,
            line_start: true,
            base: if target == Target::Values { 0 } else { 3 },
            key: Vec::new(),
            in_log: false,
            in_entries: false,
            open: None,
            carry: Vec::new(),
            oversize: false,
            members: Places::new(),
            at: 0,
            found_entries: false,
            done: false,
        }
    }

    /// Takes the next piece of the text.
    pub(in crate::source) fn push(&mut self, block: &[u8], out: &mut impl FnMut(Item<'_>)) {
        let base = self.at;
        let mut from = if self.open.is_some() { Some(0) } else { None };
        let mut i = 0;
        while let Some(&byte) = block.get(i) {
            if self.done {
                break;
            }
            if let Mode::String { escaped: false } = self.mode {
                i += self.skip_string(block, i);
                let Some(&byte) = block.get(i) else { break };
                self.in_string(byte, base + i as u64, &mut from, out);
                i += 1;
                continue;
            }
            if self.mode == Mode::Plain && is_blank(byte) {
                let blanks = block.get(i..).unwrap_or_default().iter().take_while(|b| is_blank(**b)).count();
                i += blanks;
                self.line_start = i.checked_sub(1).and_then(|last| block.get(last)) == Some(&b'\n');
                continue;
            }
            let at = base + i as u64;
            match self.mode {
                Mode::String { .. } => {
                    self.mode = Mode::String { escaped: false };
                    if byte == b'\n' {
                        self.broken(at, "a line break inside a string", &mut from, out);
                        self.mode = Mode::Lost { line_start: true };
                    }
                }
                Mode::Lost { line_start } => {
                    if line_start && (byte == b'{' || byte == b'[') {
                        self.mode = Mode::Plain;
                        self.line_start = true;
                        continue;
                    }
                    self.mode = Mode::Lost { line_start: byte == b'\n' };
                }
                Mode::Plain if byte == b'{' && self.stack.is_empty() && self.target == Target::Values => {
                    match self.whole(at, block.get(i..).unwrap_or_default(), out) {
                        Some(length) => {
                            i += length;
                            continue;
                        }
                        None if self.plain(byte, at, i, block, &mut from, out) == Again::Same => continue,
                        None => {}
                    }
                }
                Mode::Plain => {
                    if self.plain(byte, at, i, block, &mut from, out) == Again::Same {
                        continue;
                    }
                }
            }
            i += 1;
        }
        if let (Some(_), Some(from), false) = (self.open, from, self.oversize) {
            self.carry.extend_from_slice(block.get(from..).unwrap_or_default());
            self.limit();
        }
        self.at = base + block.len() as u64;
    }

    /// An object outside of all others that ends in the same piece of the text, which most do: found in one go.
    fn whole(&mut self, at: u64, text: &[u8], out: &mut impl FnMut(Item<'_>)) -> Option<usize> {
        self.members.clear();
        let length = skip::object(text, &mut self.members).filter(|length| *length <= self.max)?;
        let json = text.get(..length)?;
        self.line_start = false;
        self.last = Last::None;
        out(Item::Value { at, json, members: Some(&self.members) });
        Some(length)
    }

    /// Tells that the text ends.
    pub(in crate::source) fn finish(&mut self, out: &mut impl FnMut(Item<'_>)) {
        match self.open.take() {
            Some(at) => out(Item::Cut { at }),
            None if !self.stack.is_empty() && !self.done => out(Item::Cut { at: self.at }),
            None => {}
        }
        self.carry = Vec::new();
    }

    /// How many bytes from `from` on are plain characters of a string.
    fn skip_string(&mut self, block: &[u8], from: usize) -> usize {
        let rest = block.get(from..).unwrap_or_default();
        let length = memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
        if self.open.is_none() && self.key.len() < 16 {
            self.key.extend_from_slice(rest.get(..length.min(16)).unwrap_or_default());
        }
        length
    }

    fn in_string(&mut self, byte: u8, at: u64, from: &mut Option<usize>, out: &mut impl FnMut(Item<'_>)) {
        match byte {
            b'"' => {
                self.mode = Mode::Plain;
                self.last = Last::Value;
            }
            b'\\' => self.mode = Mode::String { escaped: true },
            _ => {
                self.broken(at, "a line break inside a string", from, out);
                self.mode = Mode::Lost { line_start: true };
            }
        }
    }

    fn plain(
        &mut self,
        byte: u8,
        at: u64,
        i: usize,
        block: &[u8],
        from: &mut Option<usize>,
        out: &mut impl FnMut(Item<'_>),
    ) -> Again {
        let line_start = std::mem::replace(&mut self.line_start, byte == b'\n');
        let outside = self.stack.is_empty();
        let in_object = self.stack.last().copied().unwrap_or(false);
        let wants_value = outside || self.last == Last::Colon || (!in_object && self.last != Last::Value);
        match byte {
            b'{' | b'[' if wants_value => return self.open(byte == b'{', at, i, from, out),
            b'{' | b'[' => {
                self.broken(at, "a value where none belongs", from, out);
                self.mode = Mode::Lost { line_start };
                return Again::Same;
            }
            b'}' | b']' => match self.stack.pop() {
                Some(object) if object == (byte == b'}') => {
                    self.last = if self.stack.is_empty() { Last::None } else { Last::Value };
                    self.close(i, block, from, out);
                }
                _ => return self.lost(at, "a bracket that closes nothing", from, out),
            },
            _ if outside && !matches!(byte, b',' | 0x1e | 0xef | 0xbb | 0xbf) => {
                return self.lost(at, "text outside of objects", from, out);
            }
            _ if outside => self.line_start = line_start,
            b'"' if wants_value || (in_object && matches!(self.last, Last::Open | Last::Comma)) => {
                self.key.clear();
                self.mode = Mode::String { escaped: false };
            }
            b',' if self.last == Last::Value => self.last = Last::Comma,
            b':' if in_object && self.last == Last::Value => self.last = Last::Colon,
            b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.last = Last::Value,
            _ => return self.lost(at, "a character that is not JSON", from, out),
        }
        Again::Next
    }

    fn open(
        &mut self,
        object: bool,
        at: u64,
        i: usize,
        from: &mut Option<usize>,
        out: &mut impl FnMut(Item<'_>),
    ) -> Again {
        let depth = self.stack.len();
        if self.target == Target::Entries && self.open.is_none() {
            match (depth, object) {
                (0, true) => {}
                (1, true) => self.in_log = self.key == b"log",
                (2, false) => {
                    self.in_entries = self.in_log && self.key == b"entries";
                    self.found_entries |= self.in_entries;
                }
                _ => {}
            }
        }
        let wanted = match self.target {
            Target::Values => object && depth == self.base,
            Target::Entries => object && depth == 3 && self.in_entries,
        };
        if self.target == Target::Values && !object && depth == 0 {
            self.base = 1;
        }
        if self.open.is_none() && wanted {
            self.open = Some(at);
            *from = Some(i);
            self.base = depth;
        }
        if depth >= MAX_DEPTH {
            return self.lost(at, "objects nested too deep", from, out);
        }
        self.stack.push(object);
        self.last = Last::Open;
        Again::Next
    }

    fn close(&mut self, i: usize, block: &[u8], from: &mut Option<usize>, out: &mut impl FnMut(Item<'_>)) {
        let depth = self.stack.len();
        if let (Some(at), true) = (self.open, depth == self.base) {
            self.open = None;
            let piece = block.get(from.take().unwrap_or(0)..=i).unwrap_or_default();
            if !self.oversize && !self.carry.is_empty() {
                self.carry.extend_from_slice(piece);
                self.limit();
            }
            let length = (self.at + i as u64 + 1).saturating_sub(at);
            if self.oversize || length > self.max as u64 {
                out(Item::TooLarge { at, length });
            } else if self.carry.is_empty() {
                out(Item::Value { at, json: piece, members: None });
            } else {
                out(Item::Value { at, json: &self.carry, members: None });
            }
            self.carry.clear();
            self.oversize = false;
        }
        if depth == 0 && self.target == Target::Values {
            self.base = 0;
        }
        if self.target == Target::Entries {
            match depth {
                0 => self.done = true,
                1 => self.in_log = false,
                2 => self.in_entries = false,
                _ => {}
            }
        }
    }

    fn limit(&mut self) {
        if self.carry.len() > self.max {
            self.oversize = true;
            self.carry = Vec::new();
        }
    }

    fn lost(
        &mut self,
        at: u64,
        why: &'static str,
        from: &mut Option<usize>,
        out: &mut impl FnMut(Item<'_>),
    ) -> Again {
        self.broken(at, why, from, out);
        self.mode = Mode::Lost { line_start: false };
        Again::Next
    }

    /// Gives up the record that is open. Entries stand in one big value: nothing can be found after.
    fn broken(
        &mut self,
        at: u64,
        why: &'static str,
        from: &mut Option<usize>,
        out: &mut impl FnMut(Item<'_>),
    ) {
        out(Item::Broken { at: self.open.take().unwrap_or(at), why });
        *from = None;
        self.carry.clear();
        self.oversize = false;
        self.stack.clear();
        self.last = Last::None;
        match self.target {
            Target::Values => self.base = 0,
            Target::Entries => self.done = true,
        }
    }
}

/// What may stand between the tokens of JSON (RFC 8259, section 2).
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[derive(PartialEq, Eq)]
enum Again {
    /// Look at the same byte again.
    Same,
    Next,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(target: Target, text: &str, size: usize, max: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut scanner = Scanner::new(target, max);
        let mut take = |item: Item<'_>| {
            out.push(match item {
                Item::Value { at, json, .. } => format!("{at} {}", String::from_utf8_lossy(json)),
                Item::Broken { at, .. } => format!("{at} broken"),
                Item::Cut { at } => format!("{at} cut"),
                Item::TooLarge { at, length } => format!("{at} too large {length}"),
            });
        };
        for chunk in text.as_bytes().chunks(size) {
            scanner.push(chunk, &mut take);
        }
        scanner.finish(&mut take);
        out
    }

    fn check(target: Target, text: &str, expected: &[&str]) {
        for size in [1, 2, 3, 7, text.len().max(1)] {
            assert_eq!(scan(target, text, size, 1000), expected, "{text} by {size}");
        }
        for end in 0..text.len() {
            scan(target, text.get(..end).unwrap_or_default(), 3, 1000);
        }
    }

    #[test]
    fn values() {
        let v = Target::Values;
        check(v, "", &[]);
        check(v, "{\"a\":1}\n{\"b\":\"}\\\"\"}\n", &["0 {\"a\":1}", "8 {\"b\":\"}\\\"\"}"]);
        check(
            v,
            "{\n \"a\": {\n  \"b\": [1, {}]\n }\n}{}",
            &["0 {\n \"a\": {\n  \"b\": [1, {}]\n }\n}", "29 {}"],
        );
        check(v, "[{\"a\":1},\n{\"b\":[{}]}] {}", &["1 {\"a\":1}", "10 {\"b\":[{}]}", "22 {}"]);
        check(v, "\u{feff}{}\r\n\x1e{}", &["3 {}", "8 {}"]);
    }

    #[test]
    fn broken_lines_cost_themselves() {
        let v = Target::Values;
        check(v, "{\"a\":1\n{\"b\":2}\n", &["0 broken", "7 {\"b\":2}"]);
        check(v, "{\"a\":\"x\n{\"b\":2}\n", &["0 broken", "8 {\"b\":2}"]);
        check(v, "{\"a\":1,\n{\"b\":2}\n", &["0 broken", "8 {\"b\":2}"]);
        check(v, "oops\n{\"b\":2}\nmore {\n{}", &["0 broken", "5 {\"b\":2}", "13 broken", "20 {}"]);
        check(v, "{\"a\":1]\n{}", &["0 broken", "8 {}"]);
        check(v, "{\"a\":{\"b\":1}", &["0 cut"]);
        let deep = format!("{}\n{{}}", "{\"a\":".repeat(200));
        assert_eq!(scan(v, &deep, 7, 10_000), ["0 broken", "1001 {}"]);
    }

    #[test]
    fn long_values_are_given_up() {
        let text = format!("{{\"a\":\"{}\"}}\n{{}}", "x".repeat(100));
        for size in [1, 5, 1000] {
            assert_eq!(scan(Target::Values, &text, size, 50), ["0 too large 108", "109 {}"]);
        }
    }

    #[test]
    fn entries() {
        let e = Target::Entries;
        let text = "{\"log\":{\"version\":\"1.2\",\"pages\":[{\"entries\":[{}]}],\"entries\":[{\"a\":{\"b\":{}}},{}],\"x\":{}},\"entries\":[{}]}";
        check(e, text, &["62 {\"a\":{\"b\":{}}}", "77 {}"]);
        check(e, "{\"log\":{\"entries\":[]}}", &[]);
        check(e, "{\"log\":5}", &[]);
        check(e, "{\"a\":{\"entries\":[{}]}}", &[]);
        check(e, "{\"log\":{\"entries\":[{}, {\"a\"", &["19 {}", "23 cut"]);
    }
}
