//! Which operators fit which types.
//! Never looks at a value.

use std::ops::Range;

use crate::schema::Kind;

use super::{Error, Holds, Node, Op, Type};

/// How an error names what a path holds.
pub fn named(holds: &Holds) -> String {
    match holds {
        Holds::Record(ty) => match ty {
            Type::Int => "a number".to_owned(),
            Type::Bool => "true or false".to_owned(),
            Type::Text | Type::Kind | Type::MessageName | Type::Code | Type::Pair => "text".to_owned(),
            Type::Word(words) | Type::Ranked(words) => format!("one of {}", words.join(", ")),
            Type::Flags => "a number".to_owned(),
            Type::Time => "a time".to_owned(),
            Type::Duration => "a duration".to_owned(),
            Type::Id => "text or a number".to_owned(),
        },
        Holds::Message(nodes) => {
            let mut names: Vec<&str> = nodes.iter().map(node_name).collect();
            names.sort_unstable();
            names.dedup();
            // Many types at once are named by their kind only.
            if names.len() > 4 { "of several types".to_owned() } else { names.join(" or ") }
        }
    }
}

fn node_name(node: &Node) -> &'static str {
    match node {
        Node::Kind(kind) => kind.name(),
        Node::Message(_) | Node::End | Node::EndError => "a message",
        Node::Map(_) => "a map",
        Node::Time => "a time",
        Node::Duration => "a duration",
        Node::Free => "JSON",
    }
}

fn any(holds: &Holds, record: fn(Type) -> bool, node: fn(&Node) -> bool) -> bool {
    match holds {
        Holds::Record(ty) => record(*ty),
        Holds::Message(nodes) => nodes.iter().any(node),
    }
}

fn refuse(name: &str, holds: &Holds, op: Op, span: &Range<usize>, ok: bool) -> Result<(), Error> {
    match ok {
        true => Ok(()),
        false => {
            let text = format!("{name} is {}, which '{}' does not go with", named(holds), op.name());
            Err(Error::new(span.clone(), text))
        }
    }
}

/// Whether `<` and the like make sense.
pub fn ordered(name: &str, holds: &Holds, op: Op, span: &Range<usize>) -> Result<(), Error> {
    let ok = any(
        holds,
        |ty| {
            !matches!(
                ty,
                Type::Bool | Type::Word(_) | Type::Kind | Type::MessageName | Type::Code | Type::Pair
            )
        },
        |node| {
            !matches!(
                node,
                Node::Kind(Kind::Bool) | Node::Message(_) | Node::Map(_) | Node::End | Node::EndError
            )
        },
    );
    refuse(name, holds, op, span, ok)
}

/// Whether `contains` and `matches` make sense.
pub fn textual(name: &str, holds: &Holds, op: Op, span: &Range<usize>) -> Result<(), Error> {
    let ok = any(
        holds,
        |ty| !matches!(ty, Type::Int | Type::Bool | Type::Flags | Type::Time | Type::Duration),
        |node| match node {
            Node::Kind(kind) => matches!(kind, Kind::String | Kind::Bytes | Kind::Enum(_)),
            Node::Time | Node::Duration => false,
            _ => true,
        },
    );
    refuse(name, holds, op, span, ok)
}

/// Whether `&` makes sense.
pub fn masked(name: &str, holds: &Holds, span: &Range<usize>) -> Result<(), Error> {
    let ok = any(
        holds,
        |ty| matches!(ty, Type::Int | Type::Flags),
        |node| match node {
            Node::Kind(kind) => !matches!(
                kind,
                Kind::String | Kind::Bytes | Kind::Bool | Kind::Double | Kind::Float | Kind::Message(_)
            ),
            Node::Free => true,
            _ => false,
        },
    );
    refuse(name, holds, Op::Mask, span, ok)
}
