//! JSON text as a tree that keeps number texts, duplicate keys and places (RFC 8259).
//! Never deeper than it is told, never a guess: what is not JSON is an error at its byte.

use std::borrow::Cow;

use crate::base::json::plain_length;

/// A value and the byte it begins at.
#[derive(Clone, PartialEq, Debug)]
pub struct Node<'a> {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// The value.
    pub value: Json<'a>,
}

/// A JSON value.
#[derive(Clone, PartialEq, Debug)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number as written.
    Number(&'a str),
    /// A string, escapes undone.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Node<'a>>),
    /// An object, in order, duplicates included.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

impl Json<'_> {
    /// The kind, as messages name it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// Why text is not JSON, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Offset of the byte.
    pub at: usize,
    /// What was expected, what was found.
    pub text: String,
}

/// Reads one value and nothing after it but blanks.
pub fn parse(text: &str, max_depth: usize) -> Result<Node<'_>, SyntaxError> {
    let mut reader = Reader { text, at: 0, depth: 0, max_depth };
    reader.blanks();
    let node = reader.value()?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.expected("the end of the text"));
    }
    Ok(node)
}

/// The number that begins at a byte, as written.
pub fn number_at(text: &str, at: usize) -> Option<&str> {
    Reader { text, at, depth: 0, max_depth: 0 }.number().ok()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    max_depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("'{}'", crate::base::text::clean(&c.to_string())),
            None => "the end".to_owned(),
        };
        SyntaxError { at: self.at, text: format!("expected {what}, found {found}") }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Node<'a>, SyntaxError> {
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Json::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Json::Number(self.number()?),
            Some(b't') => self.word("true", Json::Bool(true))?,
            Some(b'f') => self.word("false", Json::Bool(false))?,
            Some(b'n') => self.word("null", Json::Null)?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Node { at, value })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Json<'a>, SyntaxError>,
    ) -> Result<Json<'a>, SyntaxError> {
        if self.depth >= self.max_depth {
            return Err(SyntaxError { at: self.at, text: format!("nested deeper than {}", self.max_depth) });
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json<'a>, SyntaxError> {
        let mut members = Vec::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a member name in quotes"));
            }
            let name = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return Err(self.expected("':'"));
            }
            self.blanks();
            members.push((name, self.value()?));
            self.blanks();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.expected("',' or '}'"));
            }
        }
    }

    fn array(&mut self) -> Result<Json<'a>, SyntaxError> {
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.blanks();
            items.push(self.value()?);
            self.blanks();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.expected("',' or ']'"));
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, SyntaxError> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<&'a str, SyntaxError> {
        let from = self.at;
        self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || leading_zero && digits > 1 {
            return Err(SyntaxError { at: from, text: "expected a number without leading zeros".to_owned() });
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.expected("a digit"));
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(self.expected("a digit"));
            }
        }
        Ok(self.text.get(from..self.at).unwrap_or_default())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.at += 1;
        let mut plain = self.at;
        let mut owned: Option<String> = None;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += plain_length(rest);
            match self.peek() {
                Some(b'"') => {
                    let tail = self.text.get(plain..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(match owned {
                        Some(mut text) => {
                            text.push_str(tail);
                            Cow::Owned(text)
                        }
                        None => Cow::Borrowed(tail),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(self.text.get(plain..self.at).unwrap_or_default());
                    let c = self.escape()?;
                    text.push(c);
                    plain = self.at;
                }
                _ => return Err(self.expected("the end of the string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let from = self.at;
        self.at += 1;
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let lone = || SyntaxError { at: from, text: "a surrogate without its other half".to_owned() };
                let first = self.unit()?;
                if !(0xd800..0xe000).contains(&first) {
                    return char::from_u32(first).ok_or_else(lone);
                }
                if first >= 0xdc00 || !self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u")) {
                    return Err(lone());
                }
                self.at += 2;
                let second = self.unit()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(lone());
                }
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(lone)?
            }
            _ => return Err(SyntaxError { at: from, text: "expected an escape that JSON has".to_owned() }),
        })
    }

    fn unit(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits
            .and_then(|d| u32::from_str_radix(d, 16).ok())
            .ok_or_else(|| self.expected("four hex digits"))?;
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, at: usize) {
        assert_eq!(parse(text, 10).map_err(|e| e.at), Err(at), "{text}");
    }

    #[test]
    fn values() {
        let node = parse(" {\"a\\u00e9\\ud83d\\ude00\": [1.50e+3, -0, true, null, \"x\"]} ", 10).unwrap();
        let Json::Object(members) = node.value else { panic!("an object") };
        assert_eq!(members[0].0, "aé😀");
        let Json::Array(items) = &members[0].1.value else { panic!("an array") };
        assert_eq!(items[0].value, Json::Number("1.50e+3"));
        assert_eq!(items.len(), 5);
    }

    #[test]
    fn what_is_not_json() {
        refused("", 0);
        refused("{\"a\":1,}", 7);
        refused("[1,]", 3);
        refused("01", 0);
        refused("1.", 2);
        refused("NaN", 0);
        refused("\"\\ud800\"", 1);
        refused("\"\\x\"", 1);
        refused("\"a", 2);
        refused("1 2", 2);
        refused("[[[[[[[[[[[1]]]]]]]]]]]", 10);
    }
}
