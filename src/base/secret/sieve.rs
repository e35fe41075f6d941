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
    /// By part: the texts that it is of, each with where it stands in them.
    texts: Vec<Vec<(usize, Vec<u8>)>>,
}

impl Needs {
    /// For texts of at least three bytes; `None` where they are too many.
    pub fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Option<Self> {
        let mut parts: Vec<[u8; 3]> = Vec::new();
        let mut known: Vec<Vec<(usize, Vec<u8>)>> = Vec::new();
        for text in texts {
            let (at, part) = rare(text)?;
            let text = (at, text.to_vec());
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
    fn find(&self, payload: &[u8], mut from: usize) -> Option<usize> {
        loop {
            let found = self.parts.find_in(payload, Span::from(from..payload.len()))?;
            let at = found.start();
            let stands = |(before, text): &(usize, Vec<u8>)| {
                at.checked_sub(*before).and_then(|at| payload.get(at..)).is_some_and(|b| b.starts_with(text))
            };
            if self.texts.get(found.pattern().as_usize())?.iter().any(stands) {
                return Some(at);
            }
            from = at + 1;
        }
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
        let colon = |from: usize| {
            let mut colons = memchr::memchr_iter(b':', payload.get(from..)?).map(|at| from + at);
            colons.find(|at| fits(payload.get(..*at), payload.get(*at..)))
        };
        range.end > payload.len()
            || next(&mut self.without_need, range.start, need) < range.end
            || next(&mut self.without_colon, range.start, colon) < range.end
    }
}

/// Where the next one begins, from a place on: as is known, or as `find` says.
fn next(without: &mut Option<Range<usize>>, from: usize, find: impl Fn(usize) -> Option<usize>) -> usize {
    match without {
        Some(known) if known.start <= from && from <= known.end => known.end,
        _ => without.insert(from..find(from).unwrap_or(usize::MAX)).end,
    }
}
