//! What has been seen of a frame so far, leaf by leaf, where a filter can be decided only later.
//! Never holds a value.

use smallvec::SmallVec;

use super::check::Test;
use super::eval::verdict;

const THERE: u8 = 1;
const HIT: u8 = 2;

/// Of each leaf: whether there was a value, and whether one fitted.
#[derive(Clone, Default, Debug)]
pub struct Looked(SmallVec<[u8; 8]>);

impl Looked {
    pub(super) fn add(&mut self, leaf: usize, there: bool, hit: bool) {
        if self.0.len() <= leaf {
            self.0.resize(leaf + 1, 0);
        }
        if let Some(seen) = self.0.get_mut(leaf) {
            *seen |= (u8::from(there) * THERE) | (u8::from(hit) * HIT);
        }
    }

    pub(super) fn judge(&self, test: &Test) -> bool {
        self.walk(test, &mut 0)
    }

    /// Every leaf is counted, decided or not: its place is its number.
    fn walk(&self, test: &Test, next: &mut usize) -> bool {
        match test {
            Test::Always(value) => *value,
            Test::Not(inner) => !self.walk(inner, next),
            Test::And(all) => {
                all.iter().map(|test| self.walk(test, next)).filter(|holds| !holds).count() == 0
            }
            Test::Or(all) => all.iter().map(|test| self.walk(test, next)).filter(|holds| *holds).count() > 0,
            Test::Leaf(leaf) => {
                let seen = self.0.get(*next).copied().unwrap_or(0);
                *next += 1;
                verdict(leaf, seen & THERE != 0, seen & HIT != 0)
            }
        }
    }
}
