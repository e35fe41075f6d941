//! Words into an expression, by binding power: or, and, not, comparison.
//! Never checks a name or a type.

use std::ops::Range;

use super::Error;
use super::lex::{Tok, Token, lex};
use super::steps::{self, Step, Steps};

/// Deepest nesting of parentheses and `not`.
const MAX_DEPTH: usize = 100;
/// Longest expression, in bytes.
const MAX_LENGTH: usize = 64 << 10;

/// An expression as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// All of these.
    And(Vec<Expr>),
    /// Any of these.
    Or(Vec<Expr>),
    /// Not this.
    Not(Box<Expr>),
    /// A path alone.
    Present(Path),
    /// A path against values.
    Compare(Path, Op, Vec<Operand>, Range<usize>),
    /// `true`, `false`
    Always(bool),
}

/// A path as written.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    pub steps: Steps,
    pub span: Range<usize>,
}

impl Path {
    /// The path as written, quotes aside.
    pub fn show(&self) -> String {
        steps::show(self.steps.iter().map(|(s, _)| s))
    }
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Contains,
    Matches,
    In,
    Mask,
}

impl Op {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Contains => "contains",
            Self::Matches => "matches",
            Self::In => "in",
            Self::Mask => "&",
        }
    }
}

/// A literal, or a range of a set.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    pub low: Literal,
    pub high: Option<Literal>,
}

/// A value as written.
#[derive(Clone, PartialEq, Debug)]
pub struct Literal {
    pub tok: Lit,
    pub span: Range<usize>,
}

/// What a value is.
#[derive(Clone, PartialEq, Debug)]
pub enum Lit {
    Text(String),
    /// A word without quotes: the name of an enum's value.
    Word(String),
    Bytes(Vec<u8>),
    Int(i128, Option<Vec<u8>>),
    Float(f64),
    Duration(i128),
    Bool(bool),
    Null,
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expr, Error> {
    if text.len() > MAX_LENGTH {
        let end = text.len();
        return Err(Error::new(end..end, format!("the filter is longer than {} KiB", MAX_LENGTH >> 10)));
    }
    let tokens = lex(text)?;
    if tokens.is_empty() {
        return Err(Error::new(0..text.len(), "the filter is empty"));
    }
    let mut parser = Parser { tokens, at: 0, end: text.trim_end().len(), depth: 0 };
    let expr = parser.expression(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(expr),
        Some(token) => {
            let error = Error::new(token.span.clone(), "expected 'and', 'or' or the end of the filter");
            Err(match &token.tok {
                Tok::Op(")") => Error::new(token.span.clone(), "')' without '('"),
                Tok::Op("==" | "!=" | "<" | "<=" | ">" | ">=") => {
                    error.help("comparisons do not chain: write a < b and b < c, or in {1..5}")
                }
                _ => error,
            })
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    end: usize,
    depth: usize,
}

/// The words that are operators, in one spelling.
fn keyword(token: &Token) -> Option<&'static str> {
    match &token.tok {
        Tok::Op(op) => Some(op),
        Tok::Path(path) => match path.as_slice() {
            [(Step::Name(name), _)] => Some(match name.as_str() {
                "and" => "and",
                "or" => "or",
                "not" => "not",
                "eq" => "==",
                "ne" => "!=",
                "lt" => "<",
                "le" => "<=",
                "gt" => ">",
                "ge" => ">=",
                "contains" => "contains",
                "matches" => "matches",
                "in" => "in",
                "bitand" => "&",
                _ => return None,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn comparison(op: &str) -> Option<Op> {
    Some(match op {
        "==" => Op::Eq,
        "!=" => Op::Ne,
        "<" => Op::Lt,
        "<=" => Op::Le,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        "contains" => Op::Contains,
        "matches" => Op::Matches,
        "in" => Op::In,
        "&" => Op::Mask,
        _ => return None,
    })
}

impl Parser {
    fn peek(&self) -> Option<&'static str> {
        self.tokens.get(self.at).and_then(keyword)
    }

    fn take(&mut self, op: &str) -> bool {
        let found = self.peek() == Some(op);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Error {
        match self.tokens.get(self.at) {
            Some(token) => Error::new(token.span.clone(), format!("expected {what}")),
            None => Error::new(self.end..self.end, format!("expected {what} at the end of the filter")),
        }
    }

    /// What binds at least as strongly as `power`: 0 or, 1 and, 2 not and comparisons.
    fn expression(&mut self, power: u8) -> Result<Expr, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.expected("less nesting: the filter is too deep"));
        }
        self.depth += 1;
        let mut left = self.prefix()?;
        loop {
            let (op, binds) = match self.peek() {
                Some("or") => ("or", 0),
                Some("and") => ("and", 1),
                _ => break,
            };
            if binds < power {
                break;
            }
            self.at += 1;
            let right = self.expression(binds + 1)?;
            left = match (op, left) {
                ("or", Expr::Or(mut all)) => {
                    all.push(right);
                    Expr::Or(all)
                }
                ("or", left) => Expr::Or(vec![left, right]),
                (_, Expr::And(mut all)) => {
                    all.push(right);
                    Expr::And(all)
                }
                (_, left) => Expr::And(vec![left, right]),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Expr, Error> {
        if self.take("not") {
            return Ok(Expr::Not(Box::new(self.expression(2)?)));
        }
        if self.peek() == Some("(") {
            let open = self.tokens.get(self.at).map_or(0..0, |t| t.span.clone());
            self.at += 1;
            let inner = self.expression(0)?;
            if !self.take(")") {
                return Err(match self.tokens.get(self.at) {
                    Some(_) => self.expected("'and', 'or' or ')'"),
                    None => Error::new(open, "'(' without ')'"),
                });
            }
            return Ok(inner);
        }
        let Some(token) = self.tokens.get(self.at).cloned() else { return Err(self.expected("a field")) };
        let Tok::Path(path) = token.tok else {
            let error = self.expected("a field");
            return Err(match token.tok {
                Tok::Op(_) => error,
                _ => error.help("the field stands left, the value right: kind == \"x\""),
            });
        };
        if keyword(&self.tokens[self.at]).is_some() {
            return Err(self.expected("a field"));
        }
        self.at += 1;
        let path = Path { steps: path, span: token.span };
        let Some(op) = self.peek().and_then(comparison) else {
            return Ok(match path.show().as_str() {
                "true" => Expr::Always(true),
                "false" => Expr::Always(false),
                _ => Expr::Present(path),
            });
        };
        let op_span = self.tokens.get(self.at).map_or(0..0, |t| t.span.clone());
        self.at += 1;
        let operands =
            if op == Op::In { self.set()? } else { vec![Operand { low: self.literal()?, high: None }] };
        Ok(Expr::Compare(path, op, operands, op_span))
    }

    /// `{a, b, 1..5}`; commas may be left out, as in Wireshark.
    fn set(&mut self) -> Result<Vec<Operand>, Error> {
        if !self.take("{") {
            return Err(self.expected("'{' and the values of a set"));
        }
        let mut all = Vec::new();
        loop {
            if self.peek() == Some("}") && !all.is_empty() {
                self.at += 1;
                return Ok(all);
            }
            let low = self.literal()?;
            let high = if self.take("..") { Some(self.literal()?) } else { None };
            all.push(Operand { low, high });
            self.take(",");
        }
    }

    fn literal(&mut self) -> Result<Literal, Error> {
        let Some(token) = self.tokens.get(self.at).cloned() else { return Err(self.expected("a value")) };
        let lit = match token.tok {
            Tok::Text(text) => Lit::Text(text),
            Tok::Bytes(bytes) => Lit::Bytes(bytes),
            Tok::Int(int, bytes) => Lit::Int(int, bytes),
            Tok::Float(float) => Lit::Float(float),
            Tok::Duration(nanos) => Lit::Duration(nanos),
            Tok::Path(path) if keyword(&self.tokens[self.at]).is_none() => match path.as_slice() {
                [(Step::Name(name), _)] => match name.as_str() {
                    "true" => Lit::Bool(true),
                    "false" => Lit::Bool(false),
                    "null" => Lit::Null,
                    _ => Lit::Word(name.clone()),
                },
                _ => Lit::Word(steps::show(path.iter().map(|(s, _)| s))),
            },
            _ => return Err(self.expected("a value: text in quotes, a number, true, false or null")),
        };
        self.at += 1;
        Ok(Literal { tok: lit, span: token.span })
    }
}
