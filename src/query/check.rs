//! An expression with its names looked up and its types checked.
//! Never lets through what could only give an empty result.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use crate::base::text::nearest;
use crate::base::{Code, Timestamp};

use super::fields::{FIELDS, FieldInfo, Group, Type};
use super::parse::{Expr, Lit, Literal, Op, Operand, Path};
use super::steps::Step;
use super::{Error, Field, Meta, Names, Stage};

mod kinds;
mod literal;
mod message;
pub(super) use message::{MAX_DEEP, resolve as resolve_message};
pub use message::{Node, member};

/// Largest compiled size of one pattern.
const PATTERN_BYTES: usize = 1 << 20;

/// A checked expression.
#[derive(Clone, Debug)]
pub enum Test {
    And(Vec<Test>),
    Or(Vec<Test>),
    Not(Box<Test>),
    Always(bool),
    Leaf(Leaf),
}

impl Test {
    pub fn each_leaf(&self, visit: &mut dyn FnMut(&Leaf)) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().for_each(|t| t.each_leaf(visit)),
            Self::Not(inner) => inner.each_leaf(visit),
            Self::Always(_) => {}
            Self::Leaf(leaf) => visit(leaf),
        }
    }
}

/// One field against values.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub source: Source,
    pub check: Check,
    /// Words whose places are compared in place of their text.
    pub ranks: Option<&'static [&'static str]>,
    pub stage: Stage,
    pub name: String,
    pub span: Range<usize>,
}

impl Leaf {
    /// Whether it asks for nothing but the kind or the type of the message.
    pub fn tells_kind(&self) -> bool {
        matches!(self.source, Source::Field(Field::Meta(Meta::Kind | Meta::MessageType)))
    }
}

/// Where values come from.
#[derive(Clone, Debug)]
pub enum Source {
    Field(Field),
    Message(Vec<Step>),
}

/// What is asked of the values.
#[derive(Clone, Debug)]
pub enum Check {
    Present,
    /// The one value is true.
    True,
    /// No value is there: `== null`.
    Absent,
    /// Some value is one of these.
    Any(Vec<Wanted>),
    /// There are values, and none is one of these.
    None(Vec<Wanted>),
    /// Some value stands so to this.
    Order(Op, Vec<Want>),
    Contains(Vec<u8>),
    Matches(Regex),
    Mask(i128),
}

/// A value or a range, in each form that a value of the field may have.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub low: Vec<Want>,
    pub high: Option<Vec<Want>>,
}

/// A value to compare with.
#[derive(Clone, PartialEq, Debug)]
pub enum Want {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Nanos(i128),
    /// Text or number alike.
    Id(String),
}

/// What a path may hold: the types of its values, for messages of all places that it may mean.
pub enum Holds {
    Record(Type),
    Message(Vec<Node>),
}

/// Checks an expression.
pub fn check(expr: &Expr, names: Names<'_>) -> Result<Test, Error> {
    Ok(match expr {
        Expr::And(all) => Test::And(all.iter().map(|e| check(e, names)).collect::<Result<_, _>>()?),
        Expr::Or(all) => Test::Or(all.iter().map(|e| check(e, names)).collect::<Result<_, _>>()?),
        Expr::Not(inner) => Test::Not(Box::new(check(inner, names)?)),
        Expr::Always(value) => Test::Always(*value),
        Expr::Present(path) => {
            let (mut leaf, holds) = resolve(path, names)?;
            if let (Holds::Record(Type::Bool), Stage::Frame) = (&holds, leaf.stage) {
                leaf.check = Check::True;
            }
            Test::Leaf(leaf)
        }
        Expr::Compare(path, op, operands, op_span) => {
            let (mut leaf, holds) = resolve(path, names)?;
            leaf.check = comparison(&mut leaf, &holds, *op, operands, op_span, names)?;
            if let (Holds::Record(Type::Code), Check::Any(wanted) | Check::None(wanted)) =
                (&holds, &leaf.check)
            {
                let later =
                    wanted.iter().flat_map(|w| &w.low).any(|w| matches!(w, Want::Text(t) if is_late(t)));
                if later {
                    leaf.stage = Stage::Later;
                    if let Some(first) = operands.first() {
                        leaf.span = first.low.span.clone();
                        leaf.name = match &first.low.tok {
                            Lit::Text(code) => format!("the finding {code}"),
                            _ => leaf.name,
                        };
                    }
                }
            }
            Test::Leaf(leaf)
        }
    })
}

/// Whether a code is found only by looking at a whole run.
fn is_late(code: &str) -> bool {
    ["pair.", "lifeline.", "run.", "id.", "blob."].iter().any(|layer| code.starts_with(layer))
}

/// The leaf of a path, asking whether it is present.
fn resolve(path: &Path, names: Names<'_>) -> Result<(Leaf, Holds), Error> {
    let leaf = |source, stage| Leaf {
        source,
        check: Check::Present,
        ranks: None,
        stage,
        name: path.show(),
        span: path.span.clone(),
    };
    let Some((Step::Name(first), first_span)) = path.steps.first() else {
        let (_, span) = path.steps.first().cloned().unwrap_or((Step::Deep, path.span.clone()));
        return Err(
            Error::new(span, "a path begins with the name of a field").help("message.** is any depth")
        );
    };
    if first == "message" {
        let rest = path.steps.get(1..).unwrap_or_default();
        let (steps, nodes) = message::resolve(names.schema, rest, false)?;
        return Ok((leaf(Source::Message(steps), Stage::Record), Holds::Message(nodes)));
    }
    let shown = path.show();
    let of = |info: &FieldInfo| {
        // Runs have findings of their frames too.
        let late = names.whole && info.name.starts_with("findings.");
        let stage = if late { Stage::Later } else { info.stage };
        let mut leaf = leaf(Source::Field(Field::Meta(info.meta)), stage);
        if let Type::Ranked(words) = info.ty {
            leaf.ranks = Some(words);
        }
        (leaf, Holds::Record(info.ty))
    };
    let named = |name: &str| FIELDS.iter().find(|f| f.name == name);
    if let Some(info) = named(&shown) {
        return Ok(of(info));
    }
    // A group alone is there where its member is that always is.
    let alone = match shown.as_str() {
        "findings" => named("findings.code"),
        "carrier" => named("carrier.messageType"),
        "http" => named("http.version"),
        "pair" => named("pair.state"),
        "run" => named("run.ending"),
        _ => None,
    };
    if let Some(info) = alone {
        return Ok(of(info));
    }
    for (group, prefix) in Group::ALL {
        let (stage, ty) = group.info();
        let member = match shown.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) {
            Some(member) => member,
            None if shown == *prefix => "*",
            None => continue,
        };
        let known = match group {
            Group::Ids => Some(names.ids),
            Group::Carrier => Some(names.carrier),
            Group::Tokens => Some(names.tokens),
            Group::Headers => None,
        };
        let (span, text) = match path.steps.last() {
            Some((_, span)) => (span.clone(), member),
            None => (path.span.clone(), member),
        };
        let member = match member {
            "*" => None,
            member if known.is_none_or(|k| k.contains(&member)) => Some(member.to_ascii_lowercase().into()),
            _ => {
                let all: Vec<&str> = known.unwrap_or_default().to_vec();
                let fixed = FIELDS.iter().filter_map(|f| f.name.strip_prefix(prefix)?.strip_prefix('.'));
                let near = nearest(text, all.iter().copied().chain(fixed));
                let error = Error::new(span, format!("{prefix} has no member '{text}'"));
                return Err(match near {
                    Some(_) => error.near(near),
                    None if all.is_empty() => error,
                    None => error.help(format!("there are {}", all.join(", "))),
                });
            }
        };
        let member = match (group, member) {
            (Group::Headers, member) => member,
            // Names of ids keep their case.
            (_, Some(_)) => Some(text.into()),
            (_, None) => None,
        };
        return Ok((leaf(Source::Field(Field::Member(*group, member)), stage), Holds::Record(ty)));
    }
    let tops = FIELDS.iter().map(|f| f.name).chain([
        "message",
        "ids",
        "carrier",
        "http",
        "findings",
        "http.headers",
    ]);
    let group = ["http", "findings", "carrier", "pair", "run"].contains(&first.as_str());
    let span = if group {
        path.steps.last().map_or(path.span.clone(), |(_, s)| s.clone())
    } else {
        first_span.clone()
    };
    let wanted = if group { shown.as_str() } else { first.as_str() };
    let near = nearest(wanted, tops);
    let error = Error::new(span, format!("a record has no field '{wanted}'"));
    let in_message =
        || message::resolve(names.schema, &[&[(Step::Deep, 0..0)][..], &path.steps].concat(), false).is_ok();
    Err(match near {
        None if in_message() => {
            error.help(format!("fields of messages stand under message: message.**.{shown}"))
        }
        near => error.near(near),
    })
}

fn comparison(
    leaf: &mut Leaf,
    holds: &Holds,
    op: Op,
    operands: &[Operand],
    op_span: &Range<usize>,
    names: Names<'_>,
) -> Result<Check, Error> {
    let name = leaf.name.clone();
    let literal = |l: &Literal| literal::forms(&name, holds, op, l, names);
    let Some(first) = operands.first() else { return Ok(Check::Present) };
    if first.low.tok == Lit::Null {
        return match op {
            Op::Eq => Ok(Check::Absent),
            Op::Ne => Ok(Check::Present),
            _ => Err(Error::new(first.low.span.clone(), "null goes with == and != only")),
        };
    }
    match op {
        Op::Eq | Op::Ne | Op::In => {
            let wanted = operands
                .iter()
                .map(|operand| {
                    let low = literal(&operand.low)?;
                    let high = operand.high.as_ref().map(&literal).transpose()?;
                    if let Some(high) = &high {
                        let span = operand.low.span.start..operand.high.as_ref().map_or(0, |h| h.span.end);
                        let orders: Vec<_> = low
                            .iter()
                            .flat_map(|l| high.iter().filter_map(move |h| super::eval::order(l, h)))
                            .collect();
                        if orders.is_empty() {
                            return Err(Error::new(span, "both ends of a range are of one kind"));
                        }
                        if orders.iter().all(|o| o.is_gt()) {
                            return Err(Error::new(
                                span,
                                "the range is empty: its end lies before its beginning",
                            ));
                        }
                    }
                    Ok(Wanted { low, high })
                })
                .collect::<Result<Vec<_>, Error>>()?;
            Ok(if op == Op::Ne { Check::None(wanted) } else { Check::Any(wanted) })
        }
        Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            kinds::ordered(&name, holds, op, op_span)?;
            Ok(Check::Order(op, literal(&first.low)?))
        }
        Op::Contains => {
            kinds::textual(&name, holds, op, op_span)?;
            match &first.low.tok {
                Lit::Text(text) => Ok(Check::Contains(text.clone().into_bytes())),
                Lit::Bytes(bytes) | Lit::Int(_, Some(bytes)) => Ok(Check::Contains(bytes.clone())),
                _ => Err(Error::new(first.low.span.clone(), "contains takes text in quotes or bytes")),
            }
        }
        Op::Matches => {
            kinds::textual(&name, holds, op, op_span)?;
            let Lit::Text(pattern) = &first.low.tok else {
                return Err(Error::new(first.low.span.clone(), "matches takes a pattern in quotes"));
            };
            pattern_of(pattern, &first.low.span).map(Check::Matches)
        }
        Op::Mask => {
            kinds::masked(&name, holds, op_span)?;
            match &first.low.tok {
                Lit::Int(mask, _) => Ok(Check::Mask(*mask)),
                _ => Err(Error::new(first.low.span.clone(), "& takes a number, as in flags & 0x01")),
            }
        }
    }
}

fn pattern_of(pattern: &str, span: &Range<usize>) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_BYTES).build().map_err(|error| {
        match error {
            regex::Error::CompiledTooBig(_) => Error::new(span.clone(), "the pattern is too large"),
            other => {
                // The last line of a syntax error says what is wrong; the lines before draw it.
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                Error::new(span.clone(), format!("not a regular expression: {last}"))
            }
        }
    })
}

/// A time written as text.
fn time_of(text: &str) -> Option<i128> {
    Timestamp::parse(text).map(|t| i128::from(t.0))
}

/// Every code's name.
fn codes() -> impl Iterator<Item = &'static str> {
    Code::ALL.iter().map(|c| c.name())
}
