//! Which run, call and message of one session is which of the other.
//! Never takes a time or a name for a sign; order, kind and content decide.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::change::{Values, named};
use super::entry::Entry;
use super::ids::Bijection;
use super::{Change, Error, Group, Hunk, Kind, Lane, Options, Recording};

/// Pairs of runs that are weighed against each other, at most; beyond, they are paired in order.
const WEIGHED: usize = 40_000;
/// An entry with less JSON than this says too little to be known again in another place.
const TELLING: usize = 40;

/// What two sessions do differently, in the order of the left one.
pub fn compare(left: &Recording, right: &Recording, options: &Options) -> Result<Vec<Hunk>, Error> {
    let mut ids = Bijection::new(&left.ids, &right.ids);
    let mut out = Vec::new();
    let numbers = [numbers(left), numbers(right)];
    for (l, r) in pairs(left, right, options)? {
        let mut both = Both { left, right, groups: (l, r), numbers: &numbers, ids: &mut ids, out: &mut out };
        both.lanes();
    }
    for hunk in &mut out {
        let Found { hunk, groups } = hunk;
        for change in &mut hunk.changes {
            for (side, group, value) in
                [(true, groups.0, &mut change.left), (false, groups.1, &mut change.right)]
            {
                if let Some(value) = value {
                    named(value, &ids, side, group);
                }
            }
        }
    }
    Ok(out.into_iter().map(|f| f.hunk).collect())
}

/// A hunk whose ids have no names yet, and the runs it is of.
struct Found {
    hunk: Hunk,
    groups: (u32, u32),
}

/// The number of each group among those of its class, from 1.
fn numbers(recording: &Recording) -> Vec<usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let count = |g| {
        let count = counts.entry(g).or_default();
        *count += 1;
        *count
    };
    recording.groups.iter().map(|g| g.class.as_str()).map(count).collect()
}

/// Runs and calls, paired within their class.
#[expect(clippy::type_complexity, reason = "pairs of places, either side of which may be missing")]
fn pairs(
    left: &Recording,
    right: &Recording,
    options: &Options,
) -> Result<Vec<(Option<usize>, Option<usize>)>, Error> {
    if let Some((l, r)) = &options.run {
        return Ok(vec![(Some(run(left, l, "left")?), Some(run(right, r, "right")?))]);
    }
    let mut classes: BTreeMap<&str, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, group) in left.groups.iter().enumerate() {
        classes.entry(&group.class).or_default().0.push(at);
    }
    for (at, group) in right.groups.iter().enumerate() {
        classes.entry(&group.class).or_default().1.push(at);
    }
    let mut out = Vec::new();
    for (l, r) in classes.into_values() {
        class(left, right, &l, &r, &mut out);
    }
    // In the order of the left session; what only the right one has comes where it stands there.
    let place = |(l, r): &(Option<usize>, Option<usize>)| (l.or(*r), l.is_none());
    out.sort_by_key(place);
    Ok(out)
}

fn class(
    left: &Recording,
    right: &Recording,
    l: &[usize],
    r: &[usize],
    out: &mut Vec<(Option<usize>, Option<usize>)>,
) {
    let tokens = |recording: &Recording, list: &[usize]| -> Vec<u64> {
        list.iter().filter_map(|at| recording.groups.get(*at)).map(content).collect()
    };
    let (tokens_left, tokens_right) = (tokens(left, l), tokens(right, r));
    for op in capture_diff_slices(Algorithm::Myers, &tokens_left, &tokens_right) {
        let (old, new) = (op.old_range(), op.new_range());
        let (old, new) = (l.get(old).unwrap_or_default(), r.get(new).unwrap_or_default());
        if old.len() == new.len() || old.len().saturating_mul(new.len()) > WEIGHED {
            let common = old.len().min(new.len());
            out.extend(old.iter().zip(new).map(|(a, b)| (Some(*a), Some(*b))));
            out.extend(old.iter().skip(common).map(|a| (Some(*a), None)));
            out.extend(new.iter().skip(common).map(|b| (None, Some(*b))));
        } else {
            weighed(left, right, old, new, out);
        }
    }
}

/// All that a group says, ids aside.
fn content(group: &Group) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (lane, entries) in &group.lanes {
        (&lane.rpc, lane.side, entries.len()).hash(&mut hasher);
        entries.iter().for_each(|e| e.hash.hash(&mut hasher));
    }
    hasher.finish()
}

/// Pairs in order as many as there can be, so that those that are alike come together.
fn weighed(
    left: &Recording,
    right: &Recording,
    l: &[usize],
    r: &[usize],
    out: &mut Vec<(Option<usize>, Option<usize>)>,
) {
    let hashes = |recording: &Recording, list: &[usize]| -> Vec<Vec<u64>> {
        let of = |g: &Group| {
            let mut all: Vec<u64> = g.lanes.iter().flat_map(|(_, e)| e.iter().map(|e| e.hash)).collect();
            all.sort_unstable();
            all
        };
        list.iter().filter_map(|at| recording.groups.get(*at)).map(of).collect()
    };
    let (a, b) = (hashes(left, l), hashes(right, r));
    let width = b.len() + 1;
    // best[i * width + k]: the weight of the best pairing of a[i..] with b[k..].
    let mut best = vec![0u64; (a.len() + 1) * width];
    let at = |best: &[u64], i: usize, k: usize| best.get(i * width + k).copied().unwrap_or(0);
    let weights: Vec<u64> = a.iter().flat_map(|x| b.iter().map(move |y| alike(x, y))).collect();
    let weight = |i: usize, k: usize| weights.get(i * b.len() + k).copied().unwrap_or(0);
    for i in (0..a.len()).rev() {
        for k in (0..b.len()).rev() {
            let paired = weight(i, k) + at(&best, i + 1, k + 1);
            let value = paired.max(at(&best, i + 1, k)).max(at(&best, i, k + 1));
            if let Some(slot) = best.get_mut(i * width + k) {
                *slot = value;
            }
        }
    }
    let (mut i, mut k) = (0, 0);
    while i < a.len() || k < b.len() {
        let (own_left, own_right) = (l.get(i).copied(), r.get(k).copied());
        if i < a.len() && k < b.len() && at(&best, i, k) == weight(i, k) + at(&best, i + 1, k + 1) {
            out.push((own_left, own_right));
            (i, k) = (i + 1, k + 1);
        } else if i < a.len() && (k >= b.len() || at(&best, i, k) == at(&best, i + 1, k)) {
            out.push((own_left, None));
            i += 1;
        } else {
            out.push((None, own_right));
            k += 1;
        }
    }
}

/// How alike two sorted lists are, in thousandths; never 0, since a pair is better than none.
fn alike(a: &[u64], b: &[u64]) -> u64 {
    let (mut i, mut k, mut shared) = (0, 0, 0u64);
    while let (Some(x), Some(y)) = (a.get(i), b.get(k)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => k += 1,
            std::cmp::Ordering::Equal => (i, k, shared) = (i + 1, k + 1, shared + 1),
        }
    }
    10 + shared * 2_000 / ((a.len() + b.len()).max(1) as u64)
}

/// The run of an id, of the beginning of one, or of a number.
fn run(recording: &Recording, name: &str, side: &'static str) -> Result<usize, Error> {
    let known = || recording.groups.iter().enumerate().filter(|(_, g)| g.run || g.id.is_some());
    let by_id = |fits: &dyn Fn(&str) -> bool| {
        known().find(|(_, g)| g.id.as_deref().is_some_and(fits)).map(|(at, _)| at)
    };
    let by_number = || {
        let number: usize = name.parse().ok()?;
        known().filter(|(_, g)| g.run).nth(number.checked_sub(1)?).map(|(at, _)| at)
    };
    let found = by_id(&|id| id == name).or_else(by_number);
    found.or_else(|| by_id(&|id| !name.is_empty() && id.starts_with(name))).ok_or_else(|| {
        let ids: Vec<&str> = known().filter_map(|(_, g)| g.id.as_deref()).take(8).collect();
        let ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        Error::NoRun(name.to_owned(), side, ids)
    })
}

/// A pair of groups being compared.
struct Both<'o, 'a> {
    left: &'a Recording,
    right: &'a Recording,
    groups: (Option<usize>, Option<usize>),
    numbers: &'o [Vec<usize>; 2],
    ids: &'o mut Bijection<'a>,
    out: &'o mut Vec<Found>,
}

/// How an entry of one side relates to the other.
enum Fate {
    Pair(usize, usize),
    Moved(usize, usize),
    Left(usize),
    Right(usize),
}

impl<'a> Both<'_, 'a> {
    fn lanes(&mut self) {
        let group = |recording: &'a Recording, at: Option<usize>| at.and_then(|at| recording.groups.get(at));
        let (left, right) = (group(self.left, self.groups.0), group(self.right, self.groups.1));
        let mut lanes: Vec<&'a Lane> =
            left.into_iter().chain(right).flat_map(|g| g.lanes.iter().map(|(lane, _)| lane)).collect();
        // The server opens most of what has ids: its side is compared first, and tells which ids are which.
        lanes.sort_by(|a, b| (&a.rpc, std::cmp::Reverse(a.side)).cmp(&(&b.rpc, std::cmp::Reverse(b.side))));
        lanes.dedup();
        for lane in lanes {
            let of = |group: Option<&'a Group>| -> &'a [Entry] {
                group
                    .and_then(|g| g.lanes.iter().find(|(known, _)| known == lane))
                    .map_or(&[], |(_, entries)| entries)
            };
            self.entries(lane, of(left), of(right));
        }
    }

    fn entries(&mut self, lane: &Lane, left: &'a [Entry], right: &'a [Entry]) {
        for fate in self.fates(left, right) {
            match fate {
                Fate::Pair(l, r) => {
                    if let (Some(l), Some(r)) = (left.get(l), right.get(r)) {
                        self.pair(lane, l, r);
                    }
                }
                Fate::Moved(l, r) => {
                    if let (Some(l), Some(r)) = (left.get(l), right.get(r)) {
                        l.ids.iter().zip(&r.ids).for_each(|(l, r)| {
                            self.ids.same(*l, *r);
                        });
                        self.whole(lane, Kind::Moved, Some(l), Some(r));
                    }
                }
                Fate::Left(l) => self.whole(lane, Kind::Removed, left.get(l), None),
                Fate::Right(r) => self.whole(lane, Kind::Added, None, right.get(r)),
            }
        }
    }

    /// Equal content first, then what was moved, then the same kind in between.
    fn fates(&self, left: &[Entry], right: &[Entry]) -> Vec<Fate> {
        let token = |is_left: bool, entry: &Entry| {
            let mut hasher = DefaultHasher::new();
            entry.hash.hash(&mut hasher);
            entry.ids.iter().for_each(|id| self.ids.token(is_left, *id).hash(&mut hasher));
            hasher.finish()
        };
        let tokens_left: Vec<u64> = left.iter().map(|e| token(true, e)).collect();
        let tokens_right: Vec<u64> = right.iter().map(|e| token(false, e)).collect();
        let ops = capture_diff_slices(Algorithm::Myers, &tokens_left, &tokens_right);
        let moved = moved(&ops, left, &tokens_left, &tokens_right);
        let gone: HashMap<usize, usize> = moved.iter().map(|(l, r)| (*r, *l)).collect();
        let mut out = Vec::new();
        for op in ops {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                out.extend((0..len).map(|n| Fate::Pair(old_index + n, new_index + n)));
                continue;
            }
            let old: Vec<usize> = op.old_range().filter(|l| !moved.contains_key(l)).collect();
            let new: Vec<usize> = op.new_range().filter(|r| !gone.contains_key(r)).collect();
            out.extend(op.old_range().filter_map(|l| moved.get(&l).map(|r| Fate::Moved(l, *r))));
            by_kind(left, right, &old, &new, &mut out);
        }
        out
    }

    fn pair(&mut self, lane: &Lane, left: &Entry, right: &Entry) {
        if left.hash == right.hash {
            let mut same = true;
            for (l, r) in left.ids.iter().zip(&right.ids) {
                same &= self.ids.same(*l, *r);
            }
            if same {
                return;
            }
        }
        let groups = self.group_numbers();
        let mut values = Values { ids: &mut *self.ids, groups, guessed: false, out: Vec::new() };
        values.compare("", &left.value(), &right.value());
        let changes = values.out;
        if !changes.is_empty() {
            self.hunk(lane, Some(left), Some(right), changes);
        }
    }

    fn whole(&mut self, lane: &Lane, kind: Kind, left: Option<&Entry>, right: Option<&Entry>) {
        let (l, r) = (left.map(Entry::value), right.map(Entry::value));
        let change = Change { kind, path: String::new(), left: l, right: r };
        self.hunk(lane, left, right, vec![change]);
    }

    fn group_numbers(&self) -> (u32, u32) {
        let number = |at: Option<usize>| at.map_or(u32::MAX, |at| at as u32);
        (number(self.groups.0), number(self.groups.1))
    }

    fn hunk(&mut self, lane: &Lane, left: Option<&Entry>, right: Option<&Entry>, changes: Vec<Change>) {
        let group = |recording: &'a Recording, at: Option<usize>| at.and_then(|at| recording.groups.get(at));
        let (own_left, own_right) = (group(self.left, self.groups.0), group(self.right, self.groups.1));
        let number = |list: &[usize], at: Option<usize>| at.and_then(|at| list.get(at).copied());
        let [numbers_left, numbers_right] = self.numbers;
        let stage = |recording: &Recording, entry: Option<&Entry>| {
            entry.and_then(|e| e.stage).and_then(|s| recording.stages.get(&s).cloned())
        };
        let stage = stage(self.left, left).or_else(|| stage(self.right, right)).unwrap_or_default();
        let hunk = Hunk {
            class: own_left.or(own_right).map(|g| g.class.clone()).unwrap_or_default(),
            numbers: [number(numbers_left, self.groups.0), number(numbers_right, self.groups.1)],
            ids: [own_left.and_then(|g| g.id.clone()), own_right.and_then(|g| g.id.clone())],
            stage,
            rpc: lane.rpc.clone(),
            side: lane.side,
            what: left.or(right).map(|e| e.kind.to_string()).unwrap_or_default(),
            frames: [left.map(|e| e.frame), right.map(|e| e.frame)],
            changes,
        };
        self.out.push(Found { hunk, groups: self.group_numbers() });
    }
}

/// Entries that stand in another place: unmatched on both sides, telling, and each the only one of its content.
fn moved(ops: &[DiffOp], left: &[Entry], tokens_left: &[u64], tokens_right: &[u64]) -> HashMap<usize, usize> {
    let unmatched = |tokens: &[u64], range: &dyn Fn(&DiffOp) -> Range<usize>| {
        let mut found: HashMap<u64, Option<usize>> = HashMap::new();
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            for at in range(op) {
                let Some(token) = tokens.get(at) else { continue };
                found.entry(*token).and_modify(|f| *f = None).or_insert(Some(at));
            }
        }
        found
    };
    let here = unmatched(tokens_left, &|op| op.old_range());
    let there = unmatched(tokens_right, &|op| op.new_range());
    let both = here.into_iter().filter_map(|(token, l)| Some((l?, there.get(&token).copied().flatten()?)));
    both.filter(|(l, _)| left.get(*l).is_some_and(|e| e.json.len() >= TELLING)).collect()
}

/// Pairs entries of one kind, in order; the rest is on one side alone.
fn by_kind(left: &[Entry], right: &[Entry], old: &[usize], new: &[usize], out: &mut Vec<Fate>) {
    let kinds = |entries: &[Entry], list: &[usize]| -> Vec<String> {
        list.iter().filter_map(|at| entries.get(*at)).map(|e| e.kind.to_string()).collect()
    };
    for op in capture_diff_slices(Algorithm::Myers, &kinds(left, old), &kinds(right, new)) {
        let old = old.get(op.old_range()).unwrap_or_default();
        let new = new.get(op.new_range()).unwrap_or_default();
        if let DiffOp::Equal { .. } = op {
            out.extend(old.iter().zip(new).map(|(l, r)| Fate::Pair(*l, *r)));
        } else {
            out.extend(old.iter().map(|l| Fate::Left(*l)));
            out.extend(new.iter().map(|r| Fate::Right(*r)));
        }
    }
}
