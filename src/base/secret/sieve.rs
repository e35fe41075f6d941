//! Which strings of a payload may hold a credential: one search over all of it in place of one for each.
//! Never passes over what a look at each string by itself would find.

use std::ops::Range;

use aho_corasick::{Span, packed};

use super::fits;

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

/// A payload's strings, told apart as they come. Asked in their order, all of them take one search.
pub struct Sieve<'r, 'p> {
    /// Finds what a credential must hold; `None` where some pattern needs nothing.
    needs: Option<&'r packed::Searcher>,
    payload: &'p [u8],
    /// Where nothing that is needed begins, as far as known: from a place that was asked for to where one does.
    without_need: Option<Range<usize>>,
    /// The same for colons that can belong to a credential.
    without_colon: Option<Range<usize>>,
}

impl<'r, 'p> Sieve<'r, 'p> {
    pub(super) fn new(needs: Option<&'r packed::Searcher>, payload: &'p [u8]) -> Self {
        Self { needs, payload, without_need: None, without_colon: None }
    }

    /// Whether a credential may stand in a range of the payload.
    pub fn may_hold(&mut self, range: Range<usize>) -> bool {
        let (Some(needs), payload) = (self.needs, self.payload) else { return true };
        let need = |from: usize| Some(needs.find_in(payload, Span::from(from..payload.len()))?.start());
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
