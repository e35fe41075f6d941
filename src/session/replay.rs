//! A backlog that a server sends again after a reconnect.
//! Never takes equal frames of one call for a replay: the same text may well be said twice.

use std::collections::VecDeque;

/// Frames of a stream that are remembered.
const REMEMBERED: usize = 1 << 16;
/// Frames of the first stream that a replay may leave out in a row.
const SKIPPED: usize = 64;

/// The frames of a run's stream, and how far a later call has repeated them.
#[derive(Default)]
pub(super) struct Replay {
    /// Hashes from the first frame on; complete while no frame was given up.
    seen: VecDeque<u64>,
    given_up: bool,
    /// The call that brings frames now.
    call: Option<u64>,
    /// How many of `seen` the call has repeated; `None` once it says something new.
    repeated: Option<usize>,
}

impl Replay {
    /// Takes a frame of the run's stream; whether it is a repetition.
    pub(super) fn push(&mut self, call: u64, hash: u64, pulse: bool) -> bool {
        if self.call != Some(call) {
            self.repeated = (self.call.is_some() && !self.given_up).then_some(0);
            self.call = Some(call);
        }
        if pulse {
            return false;
        }
        if let Some(from) = self.repeated {
            // Whoever replays begins at the beginning; further on, some may be left out.
            let reach = if from == 0 { 1 } else { SKIPPED };
            let found = self.seen.iter().skip(from).take(reach).position(|known| *known == hash);
            if let Some(found) = found {
                self.repeated = Some(from + found + 1);
                return true;
            }
            self.repeated = None;
        }
        self.seen.push_back(hash);
        if self.seen.len() > REMEMBERED {
            self.seen.pop_front();
            self.given_up = true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frames: &[(u64, u64)], repeated: &[usize]) {
        let mut replay = Replay::default();
        let found: Vec<usize> = frames
            .iter()
            .enumerate()
            .filter(|(_, (call, hash))| replay.push(*call, *hash, *hash == 0))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(found, repeated);
    }

    #[test]
    fn one_call_may_say_the_same_twice() {
        check(&[(1, 7), (1, 7), (1, 7)], &[]);
    }

    #[test]
    fn a_backlog_comes_again_from_the_start() {
        check(&[(1, 7), (1, 8), (1, 9), (2, 7), (2, 0), (2, 8), (2, 9), (2, 9)], &[3, 5, 6]);
    }

    #[test]
    fn a_second_call_that_goes_on_is_new() {
        check(&[(1, 7), (1, 8), (2, 8), (2, 7)], &[]);
    }
}
