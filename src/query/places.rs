//! Paths by themselves: columns of a record, and the places of a message that a comparison is limited to.
//! Never accepts a name that no record and no message has, as far as types have names.

use crate::base::text::{clean, nearest};
use crate::schema::Schema;

use super::check::resolve_message;
use super::fields::{FIELDS, Group};
use super::steps::{self, Step, Steps};
use super::{Error, check};

/// Longest path that is taken in.
const LONGEST: usize = 4 << 10;

/// Checks the path of a column: a field of the frame record, or a place in its message.
pub fn column(text: &str, schema: &Schema) -> Result<(), Error> {
    let path = read(text)?;
    let Some((Step::Name(first), span)) = path.first() else { return deep_enough(&path) };
    let tops = || {
        let groups = Group::ALL.iter().map(|(_, name)| *name);
        let names = FIELDS.iter().map(|f| f.name).chain(groups).chain(["message", "findings", "http"]);
        names.filter(|n| !n.starts_with("pair.") && !n.starts_with("run.")).map(top)
    };
    if first == "message" {
        deep_enough(&path)?;
        return resolve_message(schema, path.get(1..).unwrap_or_default(), true).map(drop);
    }
    if tops().any(|name| name == first) {
        return deep_enough(&path);
    }
    let error = Error::new(span.clone(), format!("a record has no field '{}'", clean(first)));
    let in_message = || resolve_message(schema, path.get(..1).unwrap_or_default(), true).is_ok();
    Err(match nearest(first, tops()) {
        None if in_message() => error.help(format!("did you mean 'message.{}'?", clean(text))),
        near => error.near(near),
    })
}

/// The steps of a path into what two messages are compared by: `message.` may stand before it or not.
pub fn compared(text: &str, schema: &Schema) -> Result<Vec<String>, Error> {
    let mut path = read(text)?;
    if path.len() > 1 && matches!(path.first(), Some((Step::Name(name), _)) if name == "message") {
        path.remove(0);
    }
    deep_enough(&path)?;
    // How a call ended stands beside its messages.
    let end = matches!(path.first(), Some((Step::Name(name), _)) if name == "end");
    if !end || path.len() > 1 {
        resolve_message(schema, path.get(usize::from(end)..).unwrap_or_default(), true)?;
    }
    Ok(path
        .into_iter()
        .map(|(step, _)| match step {
            Step::Name(name) => name,
            Step::Any => "*".to_owned(),
            Step::Deep => "**".to_owned(),
            Step::Index(place) => place.to_string(),
        })
        .collect())
}

fn top(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A path and nothing after it; of several `**` in a row one is kept.
fn read(text: &str) -> Result<Steps, Error> {
    if text.is_empty() {
        return Err(Error::new(0..0, "the path is empty"));
    }
    if text.len() > LONGEST {
        return Err(Error::new(text.len()..text.len(), format!("the path is longer than {LONGEST} bytes")));
    }
    let (mut path, length) = steps::lex(text, 0)?;
    let rest = text.get(length..).unwrap_or_default();
    if let Some(c) = rest.chars().next() {
        let help = "a name with other signs stands in [\"…\"]";
        return Err(Error::new(length..length + c.len_utf8(), "no part of a path").help(help));
    }
    path.dedup_by(|(step, _), (before, _)| *step == Step::Deep && *before == Step::Deep);
    Ok(path)
}

/// Each `**` multiplies the work.
fn deep_enough(path: &Steps) -> Result<(), Error> {
    let mut deep = path.iter().filter(|(step, _)| *step == Step::Deep);
    match deep.nth(check::MAX_DEEP) {
        Some((_, span)) => {
            Err(Error::new(span.clone(), format!("a path has at most {} **", check::MAX_DEEP)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(found: Result<(), Error>, at: std::ops::Range<usize>, text: &str) {
        let error = found.expect_err("no such path");
        assert_eq!((error.span, &*error.text), (at, text));
    }

    #[test]
    fn paths_lead_somewhere_or_are_refused() {
        let schema = Schema::default();
        for path in
            ["kind", "ids.a", "http.headers.x-y", "findings.code", "message.a.b", "**.text", "*", "ts"]
        {
            assert_eq!(column(path, &schema), Ok(()), "{path}");
        }
        refused(column("knd", &schema), 0..3, "a record has no field 'knd'");
        refused(column("", &schema), 0..0, "the path is empty");
        refused(column("kind=", &schema), 4..5, "no part of a path");
        refused(column("**.a.**.b.**.c.**.d", &schema), 15..17, "a path has at most 3 **");
        assert_eq!(
            compared("message.**.**.a[1].2", &schema),
            Ok(["**", "a", "1", "2"].map(str::to_owned).to_vec())
        );
        assert!(compared("a[[[", &schema).is_err() && compared("...", &schema).is_err());
    }
}
