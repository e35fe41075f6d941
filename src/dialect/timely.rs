//! Rules about what happens in time, resolved: levels, measures, streams, lifelines, endings, folds, pulses.
//! Never holds a name of a message other than the patterns that rules match branch names by.

use std::sync::Arc;

use super::Place;

/// One level of the timeline.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Level {
    /// Its shown name.
    pub name: Arc<str>,
    /// The level around it.
    pub within: Option<u16>,
    /// The namespace whose value tells one from the next.
    pub namespace: Option<u16>,
    /// RPCs whose exchange is one of this level.
    pub methods: Vec<Box<str>>,
    /// Whether branches open it; else it begins with its first frame.
    pub opens: bool,
    /// Whether branches close it.
    pub closes: bool,
}

/// What a measure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// Anything.
    #[default]
    Count,
    /// Tokens of a model.
    Tokens,
    /// Bytes.
    Bytes,
    /// A length of time.
    Milliseconds,
    /// A point in time, as milliseconds since 1970.
    EpochMilliseconds,
    /// A time in a form of its own: only ever left out.
    Time,
}

/// What becomes of several values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Take {
    /// The last.
    #[default]
    Last,
    /// The first.
    First,
    /// Their sum.
    Sum,
    /// The greatest.
    Max,
}

impl Take {
    /// What two values, the older first, come to.
    pub fn merge(self, old: f64, new: f64) -> f64 {
        match self {
            Self::Last => new,
            Self::First => old,
            Self::Sum => old + new,
            Self::Max => old.max(new),
        }
    }
}

/// A number worth showing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measure {
    /// Its name in statistics.
    pub name: Arc<str>,
    /// The level it belongs to.
    pub level: Option<u16>,
    /// What is counted.
    pub unit: Unit,
    /// What becomes of several values.
    pub take: Take,
    /// Whether it is the time between two branches instead of a field.
    pub between: bool,
    /// The fields that hold it; of a volatile one, what a diff leaves out.
    pub places: Vec<Place>,
    /// Whether it differs from session to session without a change.
    pub volatile: bool,
}

/// Text that is put together from its pieces. Those of one name are alternatives, the first is preferred.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stream {
    /// Its name.
    pub name: Arc<str>,
    /// The namespace by which pieces are kept apart.
    pub key: Option<u16>,
    /// The name of a field beside the piece that must not be true.
    pub unless: Box<str>,
    /// The name of a field beside the piece that must be true.
    pub when: Box<str>,
}

/// What a branch does to a lifeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Opens it.
    Open,
    /// May come before it opens.
    Early,
    /// By it, it goes on.
    Step,
    /// Answers it.
    Answer,
    /// Closes it, answered or not.
    Close,
    /// Asks to break it off.
    Abort,
    /// Says that it is alive.
    Heartbeat,
}

/// Which answer fits which opening.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Match {
    /// Pattern of the opening's branch name; one `*` is any text.
    pub open: Box<str>,
    /// Pattern of the answer's; its `*` is what the other stood for.
    pub answer: Box<str>,
    /// Branches inside the answer's branch that make it the last. Empty: one answer is all.
    pub last: Vec<Box<str>>,
    /// Whether the names are those of the branches themselves rather than of what is set inside.
    pub itself: bool,
}

impl Match {
    /// The name that an answer to `open` must have, where the rule fits `open`.
    pub fn expected(&self, open: &str) -> Option<String> {
        let Some((before, after)) = self.open.split_once('*') else {
            return (*self.open == *open).then(|| self.answer.to_string());
        };
        let middle = open.strip_prefix(before)?.strip_suffix(after)?;
        Some(self.answer.replacen('*', middle, 1))
    }
}

/// What an opening offers to take, and its answers may bring along.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Offer {
    /// The name of a boolean field of the opening.
    pub open: Box<str>,
    /// The name of the field of the answer.
    pub answer: Box<str>,
}

/// Something that opens, goes on, is answered and closes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lifeline {
    /// The name of its links.
    pub name: Arc<str>,
    /// Words lent to findings.
    pub label: Arc<str>,
    /// The namespace of its id; `None`: one at a time per value of `within`.
    pub namespace: Option<u16>,
    /// The namespace of the scope where it has no id.
    pub within: Option<u16>,
    /// Names of fields that must agree.
    pub agree: Vec<Box<str>>,
    /// Which answer fits which opening.
    pub matches: Vec<Match>,
    /// What may come along with answers.
    pub offers: Vec<Offer>,
    /// It may stay open, or be found open, without a finding.
    pub loose: bool,
    /// Whether answers are expected at all.
    pub answers: bool,
    /// Whether it is asked in messages of one root type and answered in those of another.
    pub bridge: bool,
}

/// How a run is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// In good order.
    #[default]
    Completed,
    /// Broken off on purpose.
    Canceled,
    /// By an error.
    Error,
}

/// What ends a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ending {
    /// Status codes that mean it, by their Connect name.
    pub codes: Vec<Box<str>>,
    /// What it then is.
    pub verdict: Verdict,
    /// Whether its branches only ask for it.
    pub request: bool,
}

/// How successive values make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// One after the other.
    Append,
    /// The newer takes the older's place.
    Replace,
    /// Added up.
    Sum,
}

/// A fold of fields.
#[derive(Clone, PartialEq, Debug)]
pub struct Fold {
    /// The fields.
    pub places: Vec<Place>,
    /// How.
    pub how: How,
    /// The namespace by which values are kept apart.
    pub key: Option<u16>,
}

/// What keeps a connection alive and says nothing else.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pulse {
    /// RPCs that are nothing but such; `*` at the end stands for every method.
    pub methods: Vec<Box<str>>,
    /// Usual time between two, in milliseconds; 0 where not known.
    pub every_ms: u32,
    /// The lifeline it belongs to; `None`: it speaks for the connection.
    pub lifeline: Option<u16>,
}

/// Where an id's content is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// The namespace of the id.
    pub namespace: u16,
    /// Whether the id is the SHA-256 of the content.
    pub sha256: bool,
    /// The lifeline that brings id and content together.
    pub lifeline: Option<u16>,
    /// Whether the id is in the request and the content in the reply of one call.
    pub same_exchange: bool,
}

/// What a field or branch means where it occurs. Numbers are places in the plan's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An id of a namespace.
    Id(u16),
    /// An id of a namespace that speaks of something else.
    Mention(u16),
    /// A part of a lifeline.
    Life(u16, Part),
    /// A boolean of an answer: it was broken off.
    Aborted(u16),
    /// An answer's message that must decide.
    Decide(u16),
    /// An ending's branch.
    Ending(u16),
    /// An ending's reason in words.
    Reason(u16),
    /// Opens one of a level.
    LevelOpen(u16),
    /// Closes one of a level.
    LevelClose(u16),
    /// Heads one of a level; the lowest second number is preferred.
    Title(u16, u16),
    /// A measure's value.
    Measure(u16),
    /// A measure's time starts.
    Since(u16),
    /// A measure's time stops.
    Until(u16),
    /// A piece of a stream.
    Piece(u16),
    /// A stream's paragraph ends.
    Break(u16),
    /// A pulse.
    Pulse(u16),
    /// The id of content.
    ContentId(u16),
    /// Content.
    ContentData(u16),
    /// A value that adds up.
    Fold(u16),
    /// Set to true, the last message of a tunnel.
    TunnelEnd,
}

impl Role {
    /// Whether two roles exclude each other but for what is nearer to the point: an id by its
    /// path is no mention.
    pub fn yields_to(self, other: Self) -> bool {
        matches!((self, other), (Self::Mention(a), Self::Id(b)) if a == b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(open: &str, answer: &str, name: &str, expect: Option<&str>) {
        let rule = Match { open: open.into(), answer: answer.into(), ..Match::default() };
        assert_eq!(rule.expected(name).as_deref(), expect);
    }

    #[test]
    fn a_star_stands_for_the_same_text_on_both_sides() {
        check("*_args", "*_result", "read_args", Some("read_result"));
        check("pi_*_args", "pi_*_result", "pi_ls_args", Some("pi_ls_result"));
        check("pi_*_args", "pi_*_result", "read_args", None);
        check("ask", "reply", "ask", Some("reply"));
        check("*_ask", "reply", "pick_ask", Some("reply"));
    }
}
