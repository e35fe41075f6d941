//! Streams that nothing names, joined to the run whose answers fit what they asked.
//! Never guesses between two: who fits best must fit alone.

use crate::base::Code;

use super::correlate::{Key, Session};
use super::{Event, Notice};

/// Answers that must fit where more than one run could be meant.
const CERTAIN: usize = 2;

impl Session<'_> {
    /// Joins what can be joined, at the end of the captures.
    pub(super) fn join(&mut self, out: &mut Vec<Event>) {
        let unnamed: Vec<u64> = self
            .channels
            .iter()
            .filter(|(_, c)| c.id.is_none() && c.stream.is_some())
            .map(|(n, _)| *n)
            .collect();
        for stream in unnamed {
            let Some(level) = self.channels.get(&stream).map(|c| c.level) else { continue };
            let others = self.channels.iter();
            let others = others.filter(|(_, c)| c.id.is_some() && c.stream.is_none() && c.level == level);
            let mut fitting: Vec<(usize, u64)> =
                others.map(|(number, _)| (self.lives.fitting(self.plan, stream, *number), *number)).collect();
            fitting.sort_unstable_by(|a, b| b.cmp(a));
            let only = fitting.len() == 1;
            let (Some((most, run)), next) = (fitting.first().copied(), fitting.get(1).map_or(0, |(n, _)| *n))
            else {
                continue;
            };
            if most > next && (most >= CERTAIN || most > 0 && only) {
                self.adopt(stream, run, most, out);
            }
        }
    }

    /// Calls of a run go on in the channel of the stream that turned out to be its own.
    fn adopt(&mut self, stream: u64, run: u64, fitting: usize, out: &mut Vec<Event>) {
        let Some(old) = self.channels.remove(&run) else { return };
        let (id, stage) = (old.id.clone(), old.stage);
        if let Some(key) = self.names.remove(&run) {
            if let Some(Key::Call(call)) = self.names.insert(stream, key.clone()) {
                self.keys.remove(&Key::Call(call));
            }
            self.keys.insert(key, stream);
        }
        let Some(channel) = self.channels.get_mut(&stream) else { return };
        let first = channel.first.frame;
        channel.merge(self.plan, old);
        let (own, around) =
            (channel.stage, channel.outer_stage(self.plan, &mut self.model, self.limits.max_stages));
        if let (Some(from), Some(into)) = (stage, own) {
            self.model.merge(from, into);
            if let Some(own) = self.model.stage(into) {
                own.parent = own.parent.or(around);
            }
        }
        let text = format!(
            "nothing names this stream; {fitting} of the run's answers fit what it asks, and no other run's do"
        );
        let mut notice = Notice::new(Code::RunJoined, text);
        notice.frames = vec![first];
        self.say(stream, vec![notice], out);
        let taken = self.lives.adopt(self.schema, self.plan, run, stream, id.as_ref());
        self.take(stream, taken, out);
    }
}
