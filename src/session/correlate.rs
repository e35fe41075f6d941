//! The session: digests in, events out, in capture order.
//! Never holds a payload; what can grow is bounded by `Limits`.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::base::{Code, Limits};
use crate::dialect::Plan;
use crate::pdu::{End, Side};
use crate::schema::Schema;

use super::blobs::{Blobs, Given};
use super::channel::Channel;
use super::digest::{BlobPart, Digest};
use super::ending::EndingKind;
use super::life::Held;
use super::lives::{self, Lives, Taken, Told};
use super::model::Model;
use super::order::Place;
use super::{At, Event, Id, IdValue, Input, Link, Notice, Placed};

/// What tells a run from others.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The level and the id of one of it.
    Id(u16, IdValue),
    /// A call that nothing names.
    Call(u64),
}

struct Call {
    channel: u64,
    /// Whether it is an exchange that makes up a run.
    stream: bool,
}

/// The state of a run over captures.
pub struct Session<'a> {
    pub(super) schema: &'a Schema,
    pub(super) plan: &'a Plan,
    pub(super) limits: &'a Limits,
    pub(super) keys: HashMap<Key, u64>,
    /// The key of each channel.
    pub(super) names: HashMap<u64, Key>,
    pub(super) channels: BTreeMap<u64, Channel>,
    next: u64,
    calls: HashMap<u64, Call>,
    /// Channels whose stream has ended, oldest first.
    ended: VecDeque<u64>,
    pub(super) lives: Lives,
    blobs: Blobs,
    pub(super) model: Model,
    text_bytes: usize,
    reached: Vec<&'static str>,
}

impl<'a> Session<'a> {
    /// A session under a schema and the dialects resolved against it.
    pub fn new(schema: &'a Schema, plan: &'a Plan, limits: &'a Limits) -> Self {
        Self {
            schema,
            plan,
            limits,
            keys: HashMap::new(),
            names: HashMap::new(),
            channels: BTreeMap::new(),
            next: 0,
            calls: HashMap::new(),
            ended: VecDeque::new(),
            lives: Lives::default(),
            blobs: Blobs::default(),
            model: Model::default(),
            text_bytes: 0,
            reached: Vec::new(),
        }
    }

    /// What a timeline is drawn from, as far as it is known.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The blobs found so far; references between them are followed by [`Session::finish`].
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// What was opened and has not come to its end, oldest first: the links as they would be now.
    pub fn open(&self) -> Vec<Link> {
        self.lives.open(self.schema, self.plan)
    }

    /// Takes a frame.
    pub fn push(&mut self, input: &Input<'_>, said: &Digest, out: &mut Vec<Event>) -> Placed {
        let order = said.carried.and_then(|c| c.order);
        let at = At { frame: input.frame, call: input.call, time: input.time, timed: input.timed, order };
        self.collect(input, said, out);
        let Some(number) = self.channel_of(input, said, at) else { return Placed::default() };
        let is_stream = self.is_stream(input, said, number);
        let (plan, max) = (self.plan, self.limits.max_stages);
        let mut notices = Vec::new();
        let Some(channel) = self.channels.get_mut(&number) else { return Placed::default() };
        let time = at.time.max(channel.last.time);
        channel.last = At { time, ..at };
        channel.name(plan, input.ids.iter().chain(&said.ids));
        let own = channel.own_stage(plan, &mut self.model, input, &at, max);
        let repeated = repeated(plan, channel, input, said, at, is_stream, &mut notices);
        channel.heard |= said.carried.is_some() || input.side == Side::Request && !said.is_silent();
        channel.begun |= !said.opens.is_empty() || is_stream;
        if let Some(status) = said.status.as_ref().filter(|_| is_stream && input.side == Side::Response) {
            channel.signs.status = Some(status.clone());
            channel.signs.end = None;
        }
        if said.carried.is_some_and(|c| c.last) {
            channel.signs.status.get_or_insert_default();
        }
        let mut placed = Placed { stage: own, run: own, repeated, after_abort: false };
        if repeated {
            if let Some(stage) = own {
                self.model.touch(stage, &at);
            }
            self.say(number, notices, out);
            return placed;
        }
        let stage = channel.place(plan, &mut self.model, said, &at, max);
        placed.stage = stage;
        judge(plan, channel, said, at);
        channel.count(plan, &mut self.model, said, &at, stage);
        for stream in &said.breaks {
            channel.texts.end_paragraph(*stream);
        }
        for piece in &said.pieces {
            if self.text_bytes < self.limits.max_text {
                let bytes = channel.texts.push(piece, order);
                channel.text_bytes += bytes;
                self.text_bytes += bytes;
            } else {
                self.reached.push("bytes of text");
            }
        }
        if let Some(stage) = stage {
            self.model.touch(stage, &at);
        }
        let (run, level) = (channel.id.clone(), channel.level);
        channel.close(plan, &mut self.model, said, &at);
        self.say(number, notices, out);
        let scope = plan.levels.get(usize::from(level)).and_then(|l| l.namespace);
        for part in &said.parts {
            let from = lives::From { channel: number, run: run.as_ref(), scope, at, stage };
            let id = part.id.clone().or_else(|| self.id_of_call(part.lifeline, input));
            let part = super::digest::Occurrence { id, ..part.clone() };
            let taken = self.lives.push(self.schema, plan, &from, &part);
            placed.after_abort |= taken.after_abort;
            if let Some(life) = taken.life {
                self.contents(life, said, at.frame, out);
            }
            self.take(number, taken, out);
        }
        self.bound(out);
        // Appends that a capture lists after their stream may still name the run: that one waits.
        let told = |c: &Channel| c.signs.status.is_some() && c.is_named(plan);
        if input.timed && is_stream && self.channels.get(&number).is_some_and(told) {
            self.outcome(number, out);
        }
        placed
    }

    /// One side of a call has stopped.
    pub fn call_end(&mut self, call: u64, side: Side, end: &End, out: &mut Vec<Event>) {
        if side != Side::Response {
            return;
        }
        let Some(Call { channel: number, stream: true }) = self.calls.remove(&call) else { return };
        let Some(channel) = self.channels.get_mut(&number).filter(|c| c.stream == Some(call)) else { return };
        channel.signs.end = Some(end.clone());
        self.ended.push_back(number);
        if self.ended.len() > self.limits.max_ended
            && let Some(oldest) = self.ended.pop_front()
        {
            self.settle(oldest, out);
        }
    }

    /// The captures are at their end: what is still open is so for good.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        self.join(out);
        while let Some((number, _)) = self.channels.first_key_value() {
            let number = *number;
            self.settle(number, out);
        }
        while let Some(life) = self.lives.oldest() {
            let taken = self.lives.finish(self.schema, self.plan, life, true, Told::default());
            self.take(u64::MAX, taken, out);
        }
        let mut notices = Vec::new();
        self.blobs.finish(self.schema, self.plan, self.limits, &mut notices);
        self.say(u64::MAX, notices, out);
        self.bound(out);
    }

    /// The channel that a frame belongs to, where it is of interest.
    fn channel_of(&mut self, input: &Input<'_>, said: &Digest, at: At) -> Option<u64> {
        if let Some(call) = self.calls.get(&input.call) {
            return self.channels.contains_key(&call.channel).then_some(call.channel);
        }
        let by_rpc = input.rpc.and_then(|rpc| self.plan.level_of(rpc));
        let level = by_rpc.or_else(|| self.plan.run_of(said.root?).filter(|_| !said.is_silent()))?;
        let namespace = self.plan.levels.get(usize::from(level))?.namespace;
        let mut ids = input.ids.iter().chain(&said.ids);
        let id = ids.find(|(n, _)| Some(*n) == namespace).map(|(_, v)| v.clone());
        let key = id.clone().map_or(Key::Call(input.call), |id| Key::Id(level, id));
        let number = match self.keys.get(&key) {
            Some(number) => *number,
            None => {
                if self.channels.len() >= self.limits.max_channels {
                    self.reached.push("runs");
                    return None;
                }
                let number = self.next;
                self.next += 1;
                self.names.insert(number, key.clone());
                self.keys.insert(key, number);
                self.channels.insert(number, Channel::new(level, id, at));
                number
            }
        };
        if self.calls.len() < self.limits.max_calls {
            let stream = by_rpc.is_some() || input.rpc.is_none() && said.carried.is_none();
            // A call of one message is over with it; only what goes on has to be remembered.
            if stream {
                self.calls.insert(input.call, Call { channel: number, stream });
            }
        }
        Some(number)
    }

    /// Whether a frame is of the exchange that makes up the run.
    fn is_stream(&mut self, input: &Input<'_>, said: &Digest, number: u64) -> bool {
        let stream = self.calls.get(&input.call).is_some_and(|c| c.stream);
        let speaks = input.side == Side::Response || said.status.is_some();
        if let Some(channel) = self.channels.get_mut(&number).filter(|_| stream && speaks)
            && channel.stream != Some(input.call)
        {
            // A reconnect: how the call before it stopped says nothing of the run.
            channel.stream = Some(input.call);
            channel.signs.end = None;
            channel.signs.status = None;
        }
        stream
    }

    /// The id of a lifeline that names the whole call.
    fn id_of_call(&self, lifeline: u16, input: &Input<'_>) -> Option<IdValue> {
        let namespace = self.plan.lifelines.get(usize::from(lifeline))?.namespace?;
        input.ids.iter().find(|(n, _)| *n == namespace).map(|(_, v)| v.clone())
    }

    /// Blobs that stand in one message, or in request and reply of one call.
    fn collect(&mut self, input: &Input<'_>, said: &Digest, out: &mut Vec<Event>) {
        let mut notices = Vec::new();
        for to in &said.refs {
            self.blobs.refer(to, input.frame, self.limits);
        }
        for part in &said.blobs {
            let Some(rule) = self.plan.contents.get(usize::from(part.content)) else { continue };
            let id = match (&part.id, rule.same_exchange, rule.lifeline) {
                (Some(id), true, _) => {
                    self.blobs.ask(input.call, part.content, id, self.limits);
                    continue;
                }
                (None, true, _) => self.blobs.asked(input.call, part.content),
                (id, _, None) => id.clone(),
                _ => continue,
            };
            if let Some(id) = id {
                // Proto3 leaves out empty bytes: what has an id has content.
                let data = part.data.as_deref().unwrap_or_default();
                let given =
                    Given { id: &id, data, sha256: rule.sha256, from: &part.from, frame: input.frame };
                self.blobs.add(&given, self.limits, &mut notices);
            }
        }
        self.say(u64::MAX, notices, out);
    }

    /// Blobs whose id opened a life and whose content answers it.
    fn contents(&mut self, life: u64, said: &Digest, frame: u64, out: &mut Vec<Event>) {
        let mut notices = Vec::new();
        for part in &said.blobs {
            let BlobPart { content, id, data, from } = part;
            let Some(rule) = self.plan.contents.get(usize::from(*content)) else { continue };
            let Some(life) = self.lives.get_mut(life).filter(|l| rule.lifeline == Some(l.lifeline)) else {
                continue;
            };
            if let Some(id) = id {
                life.wants = Some((*content, id.clone()));
            }
            if let Some(data) = data {
                life.holds = Some(Held { content: *content, data: data.clone(), from: from.clone(), frame });
            }
            let wants = life.wants.as_ref().filter(|(wanted, _)| wanted == content);
            let holds = life.holds.as_ref().filter(|held| held.content == *content);
            if let (Some((_, id)), Some(held)) = (wants, holds) {
                let (data, from) = (&held.data, &held.from);
                let given = Given { id, data, sha256: rule.sha256, from, frame: held.frame };
                self.blobs.add(&given, self.limits, &mut notices);
                life.holds = None;
            }
        }
        self.say(u64::MAX, notices, out);
    }

    pub(super) fn take(&mut self, channel: u64, taken: Taken, out: &mut Vec<Event>) {
        self.say(channel, taken.notices, out);
        for link in taken.link.into_iter().chain(taken.links) {
            if self.model.links.len() < self.limits.max_stages {
                self.model.links.push(link.clone());
            }
            out.push(Event::Link(link));
        }
    }

    pub(super) fn say(&mut self, channel: u64, notices: Vec<Notice>, out: &mut Vec<Event>) {
        let run = self.channels.get(&channel).and_then(|c| c.id.clone());
        for mut notice in notices {
            notice.run = notice.run.or_else(|| run.clone());
            if self.model.notices.len() < self.limits.max_stages {
                self.model.notices.push(notice.clone());
            }
            out.push(Event::Finding(notice));
        }
    }

    /// Says once of each limit that it was reached, and gives up what is oldest.
    fn bound(&mut self, out: &mut Vec<Event>) {
        if self.lives.len() > self.limits.max_lives {
            self.reached.push("open requests");
            if let Some(oldest) = self.lives.oldest() {
                let channel = self.lives.get(oldest).map_or(u64::MAX, |l| l.channel);
                let taken = self.lives.finish(self.schema, self.plan, oldest, true, Told::default());
                self.take(channel, taken, out);
            }
        }
        if self.model.stages.len() >= self.limits.max_stages {
            self.reached.push("stages");
        }
        for what in std::mem::take(&mut self.reached) {
            let text = format!("more {what} than are kept");
            if !self
                .model
                .notices
                .iter()
                .any(|n| n.finding.code == Code::LimitReached && n.finding.text == text)
            {
                self.say(u64::MAX, vec![Notice::new(Code::LimitReached, text)], out);
            }
        }
    }

    /// A run is over for good.
    fn settle(&mut self, number: u64, out: &mut Vec<Event>) {
        self.outcome(number, out);
        let Some(channel) = self.channels.get_mut(&number) else { return };
        let (ending, _) = channel.signs.judge(self.plan);
        // What was lost with its run, or asked of a side that was not captured, is no news.
        let told = Told { one_way: channel.stream.is_none(), late: channel.is_late() };
        let whole = matches!(ending, EndingKind::Completed | EndingKind::Unfinished);
        let quiet = !whole || !channel.heard;
        let mut notices = Vec::new();
        channel.sequences.iter().for_each(|(_, sequence)| sequence.finish(&mut notices));
        let ids: Vec<Id> = self
            .plan
            .levels
            .get(usize::from(channel.level))
            .and_then(|l| l.namespace)
            .zip(channel.id.clone())
            .into_iter()
            .collect();
        notices.iter_mut().for_each(|n| n.ids.clone_from(&ids));
        let mut texts = Vec::new();
        std::mem::take(&mut channel.texts).finish(self.plan, channel.id.as_ref(), &mut texts);
        self.text_bytes = self.text_bytes.saturating_sub(channel.text_bytes);
        self.say(number, notices, out);
        out.extend(texts.into_iter().map(Event::Text));
        for life in self.lives.of(number) {
            let taken = self.lives.finish(self.schema, self.plan, life, quiet, told);
            self.take(number, taken, out);
        }
        self.channels.remove(&number);
        if let Some(key) = self.names.remove(&number) {
            self.keys.remove(&key);
        }
    }

    fn outcome(&mut self, number: u64, out: &mut Vec<Event>) {
        let Some(channel) = self.channels.get_mut(&number).filter(|c| c.begun && !c.outcome_sent) else {
            return;
        };
        channel.outcome_sent = true;
        let outcome = channel.outcome(self.plan);
        if let Some(code) = outcome.ending.code() {
            let reason = outcome.reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default();
            let how = match outcome.ending {
                EndingKind::Canceled => "was canceled",
                EndingKind::Error => "ended with an error",
                EndingKind::CutOff => "was cut off",
                _ => "did not come to its end",
            };
            let mut notice = Notice::new(code, format!("the run {how}{reason}"));
            notice.frames = vec![outcome.frames.1];
            self.say(number, vec![notice], out);
        }
        if self.model.outcomes.len() < self.limits.max_stages {
            self.model.outcomes.push(outcome.clone());
        }
        out.push(Event::Outcome(outcome));
    }
}

/// Whether a frame has been taken before: a resent message, or a replayed backlog.
fn repeated(
    plan: &Plan,
    channel: &mut Channel,
    input: &Input<'_>,
    said: &Digest,
    at: At,
    is_stream: bool,
    notices: &mut Vec<Notice>,
) -> bool {
    if let Some((carried, number)) = said.carried.and_then(|c| Some((c, c.order?))) {
        let in_flight = plan.tunnels.get(usize::from(carried.tunnel)).map_or(1, |t| t.in_flight);
        if channel.sequence(carried.tunnel).push(number, said.hash, at, in_flight, notices) == Place::Resent {
            return true;
        }
    }
    let replays = is_stream && input.side == Side::Response && said.status.is_none() && said.root.is_some();
    replays && channel.replay.push(input.call, said.hash, said.pulse.is_some())
}

/// What a frame says of the run's end.
fn judge(plan: &Plan, channel: &mut Channel, said: &Digest, at: At) {
    // More to do: an end before it was not the run's. Where the order of calls is not known it proves nothing.
    let within_run =
        |level: u16| plan.levels.get(usize::from(level)).is_some_and(|l| l.within == Some(channel.level));
    let opens = said.opens.iter().any(|(level, _)| within_run(*level));
    if opens && channel.signs.ended_by.as_ref().is_some_and(|(.., ended)| ended.before(&at) == Some(true)) {
        channel.signs.ended_by = None;
    }
    for (ending, reason) in &said.endings {
        let sign = Some((*ending, reason.clone(), at));
        match plan.endings.get(usize::from(*ending)).is_some_and(|e| e.request) {
            true => channel.signs.asked = sign,
            false => channel.signs.ended_by = sign,
        }
    }
}
