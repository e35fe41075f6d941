//! `--jq`: an expression of jq's language over each record.
//! Never holds more than one record.

use std::io::{self, Write};

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, compile, data};
use jaq_json::{Num, Val, read};

use anyhow::{Result, bail};

use rpcshark::base::json::push_string;
use rpcshark::base::text::clean;

use super::exit::Exit;
use super::expression::ExpressionError;

/// Longest expression that is taken in.
const LONGEST: usize = 64 << 10;
/// Stack for reading and running an expression: both go as deep as it is nested, which its length bounds.
const STACK: usize = 1 << 30;

/// Does the work of a command, with a stack that is deep enough for any expression where it `has_expression`.
pub fn with_room(has_expression: bool, work: impl FnOnce() -> Result<Exit> + Send) -> Result<Exit> {
    if !has_expression {
        return work();
    }
    let mut work = Some(work);
    let mut once = || match work.take() {
        Some(work) => work(),
        None => bail!("the command has run already"),
    };
    let done = std::thread::scope(|scope| {
        let room = std::thread::Builder::new().stack_size(STACK);
        room.spawn_scoped(scope, &mut once).ok().map(|thread| thread.join())
    });
    match done {
        Some(Ok(done)) => done,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        // No thread is to be had: the stack that is there has to do.
        None => once(),
    }
}

/// A compiled expression with its arguments.
pub struct Jq {
    filter: Filter<data::JustLut<Val>>,
    vars: Vars<Val>,
    /// Strings as they are, without quotes and escapes (`-r`).
    raw: bool,
    /// Whether a terminal reads: then raw text is cleaned.
    terminal: bool,
}

/// How a record fared.
pub enum Outcome {
    /// Its outputs were written.
    Done,
    /// It failed on the way, with this message.
    Failed(String),
    /// `halt` was called.
    Halted,
}

impl Jq {
    /// Compiles an expression; `args` are names and values (`--arg`).
    pub fn new(code: &str, args: &[String], raw: bool, terminal: bool) -> Result<Self> {
        if code.len() > LONGEST {
            let text = format!("the expression is longer than {} KiB", LONGEST >> 10);
            return Err(at(code, "", text).into());
        }
        let mut names = Vec::new();
        let mut values = Vec::new();
        for pair in args.chunks(2) {
            let [name, value] = pair else { bail!("--arg takes a name and a value") };
            if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                bail!("--arg: '{}' is no name for a variable", clean(name));
            }
            names.push(format!("${name}"));
            values.push(Val::from(value.clone()));
        }
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs).load(&arena, File { code, path: () }).map_err(|errors| {
            errors.into_iter().next().map(|(_, e)| load_error(code, e)).unwrap_or_default()
        })?;
        let filter = Compiler::default()
            .with_funs(funs)
            .with_global_vars(names.iter().map(String::as_str))
            .compile(modules)
            .map_err(|errors| compile_error(code, errors))?;
        Ok(Self { filter, vars: Vars::new(values), raw, terminal })
    }

    /// Runs over one record, `line`; every output is written to `out`.
    pub fn run(&self, line: &[u8], out: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<Outcome> {
        let input = match read::parse_single(line) {
            Ok(input) => input,
            Err(error) => return Ok(Outcome::Failed(error.to_string())),
        };
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, self.vars.clone());
        let mut text = Vec::new();
        for output in self.filter.id.run((context, input)) {
            match output {
                Ok(value) => {
                    text.clear();
                    self.show(&value, &mut text);
                    out(&text)?;
                }
                Err(exception) => {
                    return Ok(match exception.get_err() {
                        Ok(error) => Outcome::Failed(shorten(&said(error))),
                        Err(_) => Outcome::Halted,
                    });
                }
            }
        }
        Ok(Outcome::Done)
    }

    fn show(&self, value: &Val, out: &mut Vec<u8>) {
        match value {
            Val::TStr(text) | Val::BStr(text) if self.raw => {
                let text = String::from_utf8_lossy(text);
                if self.terminal {
                    let lines: Vec<String> = text.split('\n').map(clean).collect();
                    out.extend_from_slice(lines.join("\n").as_bytes());
                } else {
                    out.extend_from_slice(text.as_bytes());
                }
            }
            value => write_value(value, out, 0),
        }
    }
}

/// Deepest value that is written; what an expression builds is the operator's, and so is its depth.
const MAX_DEPTH: usize = 2_000;

fn write_value(value: &Val, out: &mut Vec<u8>, depth: usize) {
    match value {
        _ if depth > MAX_DEPTH => out.extend_from_slice(b"null"),
        Val::Null => out.extend_from_slice(b"null"),
        Val::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Val::Num(Num::Float(n)) if n.is_nan() => out.extend_from_slice(b"null"),
        Val::Num(Num::Float(n)) if n.is_infinite() => {
            // As jq writes what JSON cannot.
            out.extend_from_slice(if *n > 0.0 {
                b"1.7976931348623157e+308"
            } else {
                b"-1.7976931348623157e+308"
            });
        }
        Val::Num(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Val::TStr(text) | Val::BStr(text) => push_string(out, &String::from_utf8_lossy(text)),
        Val::Arr(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(item, out, depth + 1);
            }
            out.push(b']');
        }
        Val::Obj(members) => {
            out.push(b'{');
            for (i, (key, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                match key {
                    Val::TStr(text) | Val::BStr(text) => push_string(out, &String::from_utf8_lossy(text)),
                    other => push_string(out, &other.to_string()),
                }
                out.push(b':');
                write_value(item, out, depth + 1);
            }
            out.push(b'}');
        }
    }
}

/// What an error says; one that an expression raised is its own text.
fn said(error: jaq_json::Error) -> String {
    match error.into_val() {
        Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
        other => other.to_string(),
    }
}

/// An error quotes the value it is about, which may be a whole message.
fn shorten(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn load_error(code: &str, error: load::Error<&str>) -> ExpressionError {
    let (part, text) = match error {
        load::Error::Io(errors) => match errors.into_iter().next() {
            Some((part, text)) => (part, text),
            None => ("", "cannot be loaded".to_owned()),
        },
        load::Error::Lex(errors) => match errors.into_iter().next() {
            Some((expected, part)) => {
                // The rest of the text is where the lexer gave up; the place is its first character.
                let first = part.chars().next().map_or(0, char::len_utf8);
                (part.get(..first).unwrap_or(part), format!("expected {}", expected.as_str()))
            }
            None => ("", "not jq".to_owned()),
        },
        load::Error::Parse(errors) => match errors.into_iter().next() {
            Some((expected, part)) => (part, format!("expected {}", expected.as_str())),
            None => ("", "not jq".to_owned()),
        },
    };
    at(code, part, text)
}

fn compile_error(code: &str, errors: compile::Errors<&str, ()>) -> ExpressionError {
    let first = errors.into_iter().next().and_then(|(_, errors)| errors.into_iter().next());
    match first {
        Some((name, undefined)) => {
            let text = match undefined {
                compile::Undefined::Filter(0) => format!("no function '{}'", clean(name)),
                compile::Undefined::Filter(arity) => {
                    format!(
                        "no function '{}' of {arity} argument{}",
                        clean(name),
                        if arity == 1 { "" } else { "s" }
                    )
                }
                ref other => format!("no {} '{}'", other.as_str(), clean(name)),
            };
            let mut error = at(code, name, text);
            if matches!(undefined, compile::Undefined::Var) {
                error.help = Some("--arg NAME VALUE defines $NAME".to_owned());
            }
            error
        }
        None => ExpressionError::default(),
    }
}

fn at(code: &str, part: &str, text: String) -> ExpressionError {
    // What is no part of the expression has no place in it.
    let inside = !part.is_empty() && code.as_bytes().as_ptr_range().contains(&part.as_ptr());
    let span = if inside { load::span(code, part) } else { code.len()..code.len() };
    let span = if span.end <= code.len() { span } else { code.len()..code.len() };
    ExpressionError { option: "--jq", code: code.to_owned(), span, text, help: None }
}

/// Writes an output and a newline.
pub fn line(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    out.write_all(text)?;
    out.write_all(b"\n")
}
