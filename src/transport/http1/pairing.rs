//! Which response answers which request (RFC 9112, section 9.3.2).
//! Never holds bytes.

use std::collections::VecDeque;

/// A request's method, as far as it decides on the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Head,
    Connect,
    Other,
}

/// A request that waits for its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The count of its exchange.
    pub stream: u32,
    pub method: Method,
    /// It offers an upgrade to HTTP/2.
    pub h2c: bool,
}

/// The exchanges of a connection, counted from 1.
#[derive(Default)]
pub(super) struct Pairing {
    last: u32,
    waiting: VecDeque<Waiting>,
    /// Responses whose requests were not seen before them, and whether their heads were.
    orphans: VecDeque<(u32, bool)>,
    /// The capture has the connection from its first byte, so that the n-th response
    /// answers the n-th request whichever was captured first.
    pub from_start: bool,
}

impl Pairing {
    /// The exchange of a request that begins. A response that came first is its own where
    /// that is still under way, for no client sends its next request before; but the
    /// middle of a response (`headed` unset) goes with the middle of a request only.
    pub fn request(&mut self, headed: bool, method: Method, h2c: bool, max: usize) -> u32 {
        if let Some((stream, response_headed)) = self.orphans.front().copied()
            && (self.from_start || response_headed || !headed)
        {
            self.orphans.pop_front();
            return stream;
        }
        let stream = self.next();
        if self.waiting.len() >= max {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting { stream, method, h2c });
        stream
    }

    /// What a response that begins answers.
    pub fn response(&mut self, headed: bool, max: usize) -> Waiting {
        self.waiting.pop_front().unwrap_or_else(|| {
            let stream = self.next();
            if self.orphans.len() >= max {
                self.orphans.pop_front();
            }
            self.orphans.push_back((stream, headed));
            Waiting { stream, method: Method::Other, h2c: false }
        })
    }

    /// A response has ended.
    pub fn response_over(&mut self) {
        if !self.from_start {
            self.orphans.clear();
        }
    }

    /// The request whose response comes next.
    pub fn front(&self) -> Option<Waiting> {
        self.waiting.front().copied()
    }

    /// Responses may have been passed over: those of all requests but the last were, as few
    /// clients send one before they have the answer to the one before.
    pub fn passed_over(&mut self) -> Vec<u32> {
        let keep = self.waiting.len().saturating_sub(1);
        self.waiting.drain(..keep).map(|waiting| waiting.stream).collect()
    }

    /// All requests that wait; they do so no more.
    pub fn give_up(&mut self) -> Vec<u32> {
        self.waiting.drain(..).map(|waiting| waiting.stream).collect()
    }

    fn next(&mut self) -> u32 {
        self.last = self.last.saturating_add(1);
        self.last
    }
}
