//! Which strings of a payload may hold a credential: one search over all of it in place of one for each.
//! Never passes over what a look at each string by itself would find.

use std::ops::Range;

use aho_corasick::{Span, packed};

use super::{Rules, fits};

/// What credentials that are known anywhere hold, but for those that are told by a colon ([`fits`]).
pub(super) const NEEDED: [&[u8]; 20] = [
    b"eyJ",
    b"sk-",
    b"crsr_",
    b"key_",
    b"AIza",
    b"gsk_",
    b"xai-",
    b"AKIA",
    b"ASIA",
    b"gho_",
    b"ghp_",
    b"ghs_",
    b"ghu_",
    b"ghr_",
    b"github_pat_",
    b"glpat-",
    b"xox",
    b"npm_",
    b"-----BEGIN ",
    b"earer",
];

/// Finds where a text stands that a credential must hold.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    /// Finds three bytes of each: those that are the rarest, since each find costs a second look.
    parts: packed::Searcher,
    /// By part: the texts that it is of.
    texts: Vec<Vec<Text>>,
}

/// A text that something needs.
#[derive(Clone, Debug)]
struct Text {
    /// Where the part stands in it.
    before: usize,
    text: Vec<u8>,
    /// What needs it, as whoever asked counts.
    owner: usize,
}

impl Needs {
    /// Bytes behind a range that are searched with it: a search of a few bytes alone is slower than one of more.
    const BEHIND: usize = 64;

    /// For texts of at least three bytes, each with what needs it; `None` where they are too many.
    pub fn new<'t>(texts: impl Iterator<Item = (usize, &'t [u8])>) -> Option<Self> {
        let mut parts: Vec<[u8; 3]> = Vec::new();
        let mut known: Vec<Vec<Text>> = Vec::new();
        for (owner, text) in texts {
            let (before, part) = rare(text)?;
            let text = Text { before, text: text.to_vec(), owner };
            match parts.iter().zip(&mut known).find(|(known, _)| **known == part) {
                Some((_, texts)) => texts.push(text),
                None => {
                    parts.push(part);
                    known.push(vec![text]);
                }
            }
        }
        Some(Self { parts: packed::Searcher::new(parts)?, texts: known })
    }

    /// Where the part of the next text stands, from a place on.
    fn find(&self, payload: &[u8], from: usize) -> Option<usize> {
        self.finds(payload, from).map(|(at, _)| at).next()
    }

    /// What needs a text that begins in a range of a payload, each as often as one does.
    pub fn owners(&self, payload: &[u8], range: Range<usize>) -> impl Iterator<Item = usize> {
        // Not to the next one in the payload, wherever that is: many ranges would each search all that is left.
        let near = payload.get(..range.end.saturating_add(Self::BEHIND)).unwrap_or(payload);
        let within = self.finds(near, range.start).take_while(move |(at, _)| *at < range.end);
        within.map(|(_, text)| text.owner)
    }

    /// The texts that stand in a payload, each with where its part does, from a place on.
    fn finds(&self, payload: &[u8], mut from: usize) -> impl Iterator<Item = (usize, &Text)> {
        let parts = std::iter::from_fn(move || {
            let found = self.parts.find_in(payload, Span::from(from..payload.len()))?;
            from = found.start() + 1;
            Some((found.start(), self.texts.get(found.pattern().as_usize())?))
        });
        parts.flat_map(move |(at, texts)| {
            let stands = move |text: &&Text| {
                let begins = at.checked_sub(text.before).and_then(|at| payload.get(at..));
                begins.is_some_and(|bytes| bytes.starts_with(&text.text))
            };
            texts.iter().filter(stands).map(move |text| (at, text))
        })
    }
}

/// The three bytes of a text that are the rarest in running text and in JSON, capitals and what joins words, best
/// at their end; and where they stand.
fn rare(text: &[u8]) -> Option<(usize, [u8; 3])> {
    let is_rare = |b: &u8| matches!(b, b'A'..=b'Z' | b'_' | b'-');
    let rarity = |three: &[u8; 3]| {
        2 * three.iter().filter(|b| is_rare(b)).count() + usize::from(three.last().is_some_and(is_rare))
    };
    let places = (0..).map_while(|at| Some((at, *text.get(at..)?.first_chunk()?)));
    places.max_by_key(|(_, three)| rarity(three))
}

/// A payload's strings, told apart as they come. Asked in their order, all of them take one search.
pub struct Sieve<'r, 'p> {
    /// These make what they look for when they are first asked: where nothing is hidden they are not.
    rules: &'r Rules,
    payload: &'p [u8],
    /// Where nothing that is needed begins, as far as known: from a place that was asked for to where one does.
    without_need: Option<Range<usize>>,
    /// The same for colons that can belong to a credential.
    without_colon: Option<Range<usize>>,
}

impl<'r, 'p> Sieve<'r, 'p> {
    pub(super) fn new(rules: &'r Rules, payload: &'p [u8]) -> Self {
        Self { rules, payload, without_need: None, without_colon: None }
    }

    /// Whether a credential may stand in a range of the payload.
    pub fn may_hold(&mut self, range: Range<usize>) -> bool {
        let (Some(needs), payload) = (self.rules.needs(), self.payload) else { return true };
        let need = |from: usize| needs.find(payload, from);
        let colon = |from: usize| next_colon(payload, from);
        range.end > payload.len()
            || next(&mut self.without_need, range.start, need) < range.end
            || next(&mut self.without_colon, range.start, colon) < range.end
    }
}

/// The next colon that can belong to a credential, from a place on.
pub(super) fn next_colon(bytes: &[u8], from: usize) -> Option<usize> {
    let mut colons = memchr::memchr_iter(b':', bytes.get(from..)?).map(|at| from + at);
    colons.find(|at| fits(bytes.get(..*at), bytes.get(*at..)))
}

/// Where the next one begins, from a place on: as is known, or as `find` says.
fn next(without: &mut Option<Range<usize>>, from: usize, find: impl Fn(usize) -> Option<usize>) -> usize {
    match without {
        Some(known) if known.start <= from && from <= known.end => known.end,
        _ => without.insert(from..find(from).unwrap_or(usize::MAX)).end,
    }
}
