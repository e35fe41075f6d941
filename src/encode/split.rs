//! JSON values one after another out of a stream: a line each, spread over lines, or in one array.
//! Never holds more than one value, and never judges what is in it.

use std::io::{self, BufRead};

/// A value and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its text.
    pub text: String,
    /// Line from 1.
    pub line: u64,
    /// Column from 1, in characters.
    pub column: u64,
}

impl Piece {
    /// Line and column, from 1, of an offset in the value's text.
    pub fn place(&self, at: usize) -> (u64, u64) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let lines = before.bytes().filter(|b| *b == b'\n').count() as u64;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
        (self.line + lines, if lines == 0 { self.column + column } else { column + 1 })
    }
}

/// Why there is no next value.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The stream cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not JSON.
    #[error("{line}:{column}: {text}")]
    Malformed {
        /// Line from 1.
        line: u64,
        /// Column from 1.
        column: u64,
        /// What is wrong.
        text: String,
    },
}

/// The values of a stream.
pub struct Pieces<R> {
    input: R,
    longest: u64,
    line: u64,
    column: u64,
    in_array: bool,
    in_value: Option<Vec<u8>>,
}

impl<R: BufRead> Pieces<R> {
    /// The values of `input`, each of `longest` bytes at most.
    pub fn new(input: R, longest: u64) -> Self {
        Self { input, longest, line: 1, column: 1, in_array: false, in_value: None }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn bump(&mut self, byte: u8) {
        self.input.consume(1);
        match byte {
            b'\n' => {
                self.line += 1;
                self.column = 1;
            }
            // Bytes after the first of a character are no columns.
            0x80..0xc0 => {}
            _ => self.column += 1,
        }
        if let Some(value) = &mut self.in_value {
            value.push(byte);
        }
    }

    /// The next value.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, SplitError> {
        let first = loop {
            let Some(byte) = self.peek()? else { return Ok(None) };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x1e => self.bump(byte),
                // A byte order mark.
                0xef | 0xbb | 0xbf if self.line == 1 && self.column <= 2 => self.bump(byte),
                b'[' if !self.in_array => {
                    self.in_array = true;
                    self.bump(byte);
                }
                b',' if self.in_array => self.bump(byte),
                b']' if self.in_array => {
                    self.in_array = false;
                    self.bump(byte);
                }
                _ => break byte,
            }
        };
        let (line, column) = (self.line, self.column);
        self.in_value = Some(Vec::new());
        let scanned = self.scan(first);
        let bytes = self.in_value.take().unwrap_or_default();
        let malformed = |text: &str| SplitError::Malformed { line, column, text: text.to_owned() };
        if !scanned? {
            return Err(malformed(&format!("the value is longer than {} bytes", self.longest)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Piece { text, line, column })),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let (line, column) = Piece { text, line, column }.place(at);
                Err(SplitError::Malformed { line, column, text: "the value is not UTF-8".to_owned() })
            }
        }
    }

    /// Takes in one value; false where it is too long.
    fn scan(&mut self, first: u8) -> io::Result<bool> {
        let mut depth = 0u64;
        let mut in_string = false;
        let mut escaped = false;
        let scalar = !matches!(first, b'{' | b'[' | b'"');
        while let Some(byte) = self.peek()? {
            // What is no value's first byte is a value of its own, so that the stream goes on after it.
            let is_begun = self.in_value.as_ref().is_some_and(|value| !value.is_empty());
            if scalar && is_begun && matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']') {
                return Ok(true);
            }
            self.bump(byte);
            if self.in_value.as_ref().is_some_and(|v| v.len() as u64 > self.longest) {
                return Ok(false);
            }
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            if depth == 0 && !in_string && !scalar {
                return Ok(true);
            }
        }
        Ok(true)
    }
}
