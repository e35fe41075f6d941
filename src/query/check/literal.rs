//! A literal in each form that a value of its field may have.
//! Never converts what a reader of the filter would not expect.

use crate::base::text::{clean, nearest};
use crate::schema::{Kind, Schema, TypePlan};

use super::kinds::named;
use super::{Error, Holds, Lit, Literal, Names, Node, Op, Type, Want, codes, time_of};

/// The forms of a literal; an error where it is of no type that the field may have.
pub fn forms(
    name: &str,
    holds: &Holds,
    op: Op,
    literal: &Literal,
    names: Names<'_>,
) -> Result<Vec<Want>, Error> {
    let found = match holds {
        Holds::Record(ty) => record(*ty, literal, names)?,
        Holds::Message(nodes) => message(name, nodes, literal, names.schema)?,
    };
    if !found.is_empty() {
        return Ok(found);
    }
    let span = literal.span.clone();
    if let Holds::Message(nodes) = holds
        && nodes.iter().all(|n| matches!(n, Node::Message(_) | Node::Map(_) | Node::End | Node::EndError))
    {
        let text = format!("{name} is {}: it cannot be compared as a whole", named(holds));
        return Err(
            Error::new(span, text).help(format!("{name}.** contains \"x\" looks at all that is in it"))
        );
    }
    let error = Error::new(span, format!("{name} is {}, not {}", named(holds), shown(&literal.tok)));
    let bytes = matches!(holds, Holds::Message(nodes) if nodes.contains(&Node::Kind(Kind::Bytes)));
    Err(match &literal.tok {
        Lit::Word(word) => error.help(format!("text goes in quotes: \"{}\"", clean(word))),
        Lit::Text(_) if bytes && matches!(op, Op::Eq | Op::Ne | Op::In) => {
            error.help("bytes are written 0a:6a:00, 0x0a6a00 or b\"\\x0aj\\x00\"")
        }
        Lit::Text(text) if text.parse::<f64>().is_ok() => {
            error.help(format!("numbers go without quotes: {text}"))
        }
        Lit::Int(..) | Lit::Float(_) => match holds {
            Holds::Record(Type::Duration) => error.help("durations have a unit: 10ms, 5s, 2m"),
            _ => error,
        },
        _ => error,
    })
}

fn shown(lit: &Lit) -> &'static str {
    match lit {
        Lit::Text(_) => "text",
        Lit::Word(_) => "a bare word",
        Lit::Bytes(_) => "bytes",
        Lit::Int(..) | Lit::Float(_) => "a number",
        Lit::Duration(_) => "a duration",
        Lit::Bool(_) => "true or false",
        Lit::Null => "null",
    }
}

fn record(ty: Type, literal: &Literal, names: Names<'_>) -> Result<Vec<Want>, Error> {
    let refused = |text: String, near: Option<&str>| Err(Error::new(literal.span.clone(), text).near(near));
    let one = |want| Ok(vec![want]);
    match (ty, &literal.tok) {
        (Type::Int | Type::Flags, Lit::Int(n, _)) => one(Want::Int(*n)),
        (Type::Int | Type::Flags, Lit::Float(n)) => one(Want::Float(*n)),
        (Type::Flags, Lit::Text(text)) => {
            let digits = text.strip_prefix("0x").and_then(|d| i128::from_str_radix(d, 16).ok());
            match digits {
                Some(n) => one(Want::Int(n)),
                None => refused("flags are a number, as 0x02 or \"0x02\"".to_owned(), None),
            }
        }
        (Type::Bool, Lit::Bool(b)) => one(Want::Bool(*b)),
        (Type::Text, Lit::Text(text)) => one(Want::Text(text.clone())),
        (Type::Text, Lit::Bytes(bytes)) => one(Want::Bytes(bytes.clone())),
        (Type::Word(words), Lit::Text(text)) => match words.contains(&text.as_str()) {
            true => one(Want::Text(text.clone())),
            false => {
                let near = nearest(text, words.iter().copied());
                refused(format!("'{}' is none of {}", clean(text), words.join(", ")), near)
            }
        },
        (Type::Ranked(words), Lit::Text(text)) => match words.iter().position(|w| w == text) {
            Some(rank) => one(Want::Int(rank as i128)),
            None => {
                let near = nearest(text, words.iter().copied());
                refused(format!("'{}' is none of {}", clean(text), words.join(", ")), near)
            }
        },
        (Type::Time, Lit::Text(text)) => match time_of(text) {
            Some(nanos) => one(Want::Nanos(nanos)),
            None => Err(Error::new(literal.span.clone(), format!("'{}' is no time", clean(text)))
                .help("times are written \"2026-11-30T10:15:02.5Z\"")),
        },
        (Type::Duration, Lit::Duration(nanos)) => one(Want::Nanos(*nanos)),
        (Type::Id, Lit::Text(text)) => one(Want::Id(text.clone())),
        (Type::Id, Lit::Int(n, _)) => Ok(vec![Want::Id(n.to_string()), Want::Int(*n)]),
        (Type::Id, Lit::Bool(b)) => one(Want::Bool(*b)),
        (Type::Code, Lit::Text(text)) => match codes().any(|c| c == text) {
            true => one(Want::Text(text.clone())),
            false => refused(format!("no finding has the code '{}'", clean(text)), nearest(text, codes())),
        },
        (Type::Pair, Lit::Text(text)) => match names.pairs.contains(&text.as_str()) {
            true => one(Want::Text(text.clone())),
            false => {
                let near = nearest(text, names.pairs.iter().copied());
                let error = Error::new(literal.span.clone(), format!("no pair is called '{}'", clean(text)));
                Err(match near {
                    None if !names.pairs.is_empty() => {
                        error.help(format!("there are {}", names.pairs.join(", ")))
                    }
                    near => error.near(near),
                })
            }
        },
        (Type::MessageName, Lit::Text(text)) => {
            if names.schema.is_empty() || names.schema.type_by_name(text).is_some() {
                return one(Want::Text(text.clone()));
            }
            refused(format!("no message type '{}' is loaded", clean(text)), names.schema.nearest_type(text))
        }
        (Type::Kind, Lit::Text(text)) => {
            let schema = names.schema;
            if schema.is_empty() || text.contains('.') || is_kind(schema, text) {
                return one(Want::Text(text.clone()));
            }
            let all = kinds(schema);
            refused(format!("no message has the kind '{}'", clean(text)), nearest(text, all.iter().copied()))
        }
        _ => Ok(Vec::new()),
    }
}

/// Kinds of frames that hold no message.
const NO_MESSAGE: [&str; 3] = ["end_stream", "trailers", "error"];

/// Every kind that a frame can have.
fn kinds(schema: &Schema) -> Vec<&str> {
    NO_MESSAGE.into_iter().chain(schema.types().flat_map(|(_, plan)| kinds_of(plan))).collect()
}

/// The kinds that a message can have: its branches, or its type's name where it has no oneof.
fn kinds_of(plan: &TypePlan) -> Vec<&str> {
    match plan.oneofs.first() {
        _ if plan.map_entry => Vec::new(),
        Some(oneof) => oneof.fields.iter().filter_map(|f| plan.field(*f)).map(|f| &*f.name).collect(),
        None => vec![plan.short_name()],
    }
}

/// Whether some frame can have a kind: asked of the types alone that have the name.
fn is_kind(schema: &Schema, kind: &str) -> bool {
    let mut named = schema.types_with(kind);
    NO_MESSAGE.contains(&kind) || named.any(|ty| kinds_of(schema.ty(ty)).contains(&kind))
}

fn message(name: &str, nodes: &[Node], literal: &Literal, schema: &Schema) -> Result<Vec<Want>, Error> {
    let mut forms: Vec<Want> = Vec::new();
    let mut enums = Vec::new();
    let mut textual = false;
    let mut push = |want: Want| {
        if !forms.contains(&want) {
            forms.push(want);
        }
    };
    for node in nodes {
        match (node, &literal.tok) {
            (Node::Kind(Kind::String) | Node::Free, Lit::Text(text)) => {
                textual = true;
                push(Want::Text(text.clone()));
            }
            (Node::Kind(Kind::Enum(id)), Lit::Text(text) | Lit::Word(text)) => {
                enums.push(*id);
                if schema.enum_plan(*id).is_some_and(|e| e.number_of(text).is_some()) {
                    push(Want::Text(text.clone()));
                }
            }
            (Node::Kind(Kind::String | Kind::Bytes), Lit::Bytes(bytes)) => push(Want::Bytes(bytes.clone())),
            (Node::Kind(Kind::Bytes), Lit::Int(_, Some(bytes))) => push(Want::Bytes(bytes.clone())),
            (Node::Kind(Kind::Bool) | Node::Free, Lit::Bool(b)) => push(Want::Bool(*b)),
            (Node::Kind(kind), Lit::Int(n, _)) if is_number(*kind) => push(Want::Int(*n)),
            (Node::Free, Lit::Int(n, _)) => push(Want::Int(*n)),
            (Node::Kind(kind), Lit::Float(n)) if is_number(*kind) => push(Want::Float(*n)),
            (Node::Free, Lit::Float(n)) => push(Want::Float(*n)),
            (Node::Time, Lit::Text(text)) => match time_of(text) {
                Some(nanos) => push(Want::Nanos(nanos)),
                None => {
                    return Err(Error::new(literal.span.clone(), format!("'{}' is no time", clean(text)))
                        .help("times are written \"2026-11-30T10:15:02.5Z\""));
                }
            },
            (Node::Duration, Lit::Duration(nanos)) => push(Want::Nanos(*nanos)),
            (Node::Kind(kind), Lit::Duration(nanos)) if is_number(*kind) => match unit_of(name) {
                Some(unit) => push(Want::Float(*nanos as f64 / unit)),
                None => {
                    let text = format!("{name} is a number whose unit is not known");
                    return Err(Error::new(literal.span.clone(), text).help("compare it with a number"));
                }
            },
            _ => {}
        }
    }
    if forms.is_empty() && !enums.is_empty() && !textual {
        let (Lit::Text(text) | Lit::Word(text)) = &literal.tok else { return Ok(forms) };
        let values: Vec<&str> = enums
            .iter()
            .filter_map(|id| schema.enum_plan(*id))
            .flat_map(|e| e.values().map(|(_, n)| n))
            .collect();
        let short =
            values.iter().copied().find(|v| v.to_ascii_lowercase().ends_with(&text.to_ascii_lowercase()));
        let near = nearest(text, values.iter().copied()).or(short);
        let error = Error::new(literal.span.clone(), format!("{name} has no value '{}'", clean(text)));
        return Err(match near {
            Some(_) => error.near(near),
            None => error
                .help(format!("there are {}", values.iter().take(8).copied().collect::<Vec<_>>().join(", "))),
        });
    }
    Ok(forms)
}

fn is_number(kind: Kind) -> bool {
    !matches!(kind, Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_))
}

/// Nanoseconds in the unit that a field's name ends in.
fn unit_of(name: &str) -> Option<f64> {
    let units = [
        ("_ns", 1.0),
        ("_nanos", 1.0),
        ("_us", 1e3),
        ("_micros", 1e3),
        ("_ms", 1e6),
        ("_millis", 1e6),
        ("_s", 1e9),
        ("_sec", 1e9),
        ("_secs", 1e9),
        ("_seconds", 1e9),
        ("_minutes", 6e10),
    ];
    units.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, unit)| *unit)
}
