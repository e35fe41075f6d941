//! The state of runs as of a frame, as records: text so far, snapshots, sums, what is open.
//! Never adds anything up: that is `session::state`'s work.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::Timestamp;
use crate::base::json::{push_key, push_list, push_number, push_optional, push_string};
use crate::base::secret::Rules;
use crate::dialect::{How, Plan};
use crate::schema::{FieldId, Schema};
use crate::session::state::State;
use crate::session::{Digest, IdValue, Link, Placed, Session};

use super::events::{begin, push_float, push_opening, push_value};
use super::jsonl::push_id;

/// The frame that the state is of.
#[derive(Clone, Default, Debug)]
pub struct Moment {
    /// Its number; 0 before the first.
    pub frame: u64,
    /// When it came.
    pub time: Option<Timestamp>,
    /// By run, the stage of its last frame.
    last: HashMap<u32, u32>,
}

impl Moment {
    /// Takes a frame in.
    pub fn push(&mut self, frame: u64, time: Option<Timestamp>, placed: &Placed) {
        self.frame = frame;
        self.time = time.or(self.time);
        if let (Some(run), Some(stage)) = (placed.run, placed.stage) {
            self.last.insert(run, stage);
        }
    }

    /// The stage that a run is in.
    pub fn stage_of(&self, run: u32) -> Option<u32> {
        self.last.get(&run).copied()
    }
}

type Slot = (u32, u16, Box<[FieldId]>, Option<IdValue>);

/// The latest of what replaces what was there, as JSON that may be shown.
#[derive(Default)]
pub struct Snapshots(HashMap<Slot, Value>);

impl Snapshots {
    /// Takes a frame in; `message` is its record's.
    pub fn push(&mut self, schema: &Schema, plan: &Plan, placed: &Placed, said: &Digest, message: &[u8]) {
        let new = said.folds.iter().filter(|f| State::replaces(plan, f.fold));
        let Some(run) = placed.run else { return };
        let mut parsed = None;
        for folded in new {
            let message =
                parsed.get_or_insert_with(|| serde_json::from_slice::<Value>(message).unwrap_or_default());
            let value = folded.path.iter().try_fold(&*message, |at, field| {
                let plan = schema.field_plan(*field)?;
                let at = at.as_array().and_then(|list| list.last()).unwrap_or(at);
                at.get(&*plan.name).or_else(|| at.get(&*plan.json_name))
            });
            let slot = (run, folded.fold, folded.path.clone(), folded.key.clone());
            self.0.insert(slot, value.cloned().unwrap_or_default());
        }
    }
}

/// What a field has come to.
pub struct Shown {
    /// The fields from the root on, joined by dots.
    pub field: String,
    /// How its values add up.
    pub how: How,
    /// What keeps it apart: the key of the namespace and the id.
    pub key: Option<(String, IdValue)>,
    /// First and last frame that brought something.
    pub frames: (u64, u64),
    /// How many did.
    pub count: u64,
    /// Text of increments, a sum, or the latest snapshot.
    pub value: Value,
}

/// The state of one run.
pub struct Run {
    /// Its stage.
    pub stage: u32,
    /// Its id.
    pub id: Option<IdValue>,
    /// The id of what it is part of.
    pub around: Option<IdValue>,
    /// Its fields, in the order of their first frame.
    pub values: Vec<Shown>,
    /// What was opened and has not ended.
    pub open: Vec<Link>,
}

impl Run {
    /// Hides credentials in text: one that was cut in two is whole only here.
    pub fn hide(&mut self, secrets: &Rules) {
        for shown in &mut self.values {
            if let Value::String(text) = &mut shown.value
                && let Some(hidden) = secrets.mask_text(text)
            {
                *text = hidden;
            }
        }
    }
}

/// The state of the runs that began by then.
pub fn runs(
    schema: &Schema,
    plan: &Plan,
    session: &Session<'_>,
    state: &State,
    snapshots: &Snapshots,
    moment: &Moment,
) -> Vec<Run> {
    let stages = &session.model().stages;
    let mut open = session.open();
    let mut out = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        let number = number as u32;
        if moment.stage_of(number).is_none() {
            continue;
        }
        let own = state.values().iter().filter(|v| v.run == number);
        let values = own.map(|v| {
            let rule = plan.folds.get(usize::from(v.fold));
            let how = rule.map_or(How::Replace, |f| f.how);
            let names: Vec<&str> =
                v.path.iter().filter_map(|f| schema.field_plan(*f)).map(|f| &*f.name).collect();
            let namespace = rule.and_then(|r| plan.namespaces.get(usize::from(r.key?)));
            let slot = (v.run, v.fold, v.path.clone(), v.key.clone());
            Shown {
                field: names.join("."),
                how,
                key: namespace.map(|n| n.key.to_string()).zip(v.key.clone()),
                frames: v.frames,
                count: v.count,
                value: match how {
                    How::Append => Value::String(v.text()),
                    How::Sum => serde_json::Number::from_f64(v.number).map_or(Value::Null, Value::Number),
                    How::Replace => snapshots.0.get(&slot).cloned().unwrap_or_default(),
                },
            }
        });
        let values = values.collect();
        let around = stage.parent.and_then(|p| stages.get(p as usize)).and_then(|s| s.id.clone());
        let (own, rest) = open.into_iter().partition(|l: &Link| l.run == stage.id);
        open = rest;
        out.push(Run { stage: number, id: stage.id.clone(), around, values, open: own });
    }
    out
}

/// Appends a run's state as a line of JSON: `type` is `state`.
pub fn write(plan: &Plan, moment: &Moment, run: &Run, out: &mut Vec<u8>) {
    begin(out, "state");
    push_key(out, "frame");
    push_number(out, moment.frame);
    push_key(out, "ts");
    push_optional(out, moment.time.map(|t| t.to_string()).as_deref());
    push_key(out, "request_id");
    push_value(out, run.id.as_ref());
    push_key(out, "conversation_id");
    push_value(out, run.around.as_ref());
    push_key(out, "values");
    push_list(out, &run.values, |out, shown| {
        out.push(b'{');
        push_key(out, "field");
        push_string(out, &shown.field);
        push_key(out, "how");
        push_string(out, how(shown.how));
        push_key(out, "ids");
        out.push(b'{');
        if let Some((key, id)) = &shown.key {
            push_key(out, key);
            push_id(out, id);
        }
        out.push(b'}');
        push_key(out, "frames");
        out.extend_from_slice(format!("[{},{}]", shown.frames.0, shown.frames.1).as_bytes());
        push_key(out, "count");
        push_number(out, shown.count);
        push_key(out, "value");
        match shown.value.as_f64().filter(|_| shown.how == How::Sum) {
            Some(sum) => push_float(out, Some(sum)),
            None => out.extend_from_slice(shown.value.to_string().as_bytes()),
        }
        out.push(b'}');
    });
    push_key(out, "open");
    push_list(out, &run.open, |out, link| {
        out.push(b'{');
        push_opening(plan, link, out);
        push_key(out, "responses");
        push_number(out, link.count);
        push_key(out, "waiting_ms");
        push_float(out, waiting_ms(moment, link));
        out.push(b'}');
    });
    out.extend_from_slice(b"}\n");
}

/// How values add up, by the name in records.
fn how(how: How) -> &'static str {
    match how {
        How::Append => "append",
        How::Replace => "replace",
        How::Sum => "sum",
    }
}

/// How long something has been open, in milliseconds.
pub fn waiting_ms(moment: &Moment, link: &Link) -> Option<f64> {
    let nanos = moment.time?.0.checked_sub(link.time?.0)?;
    (nanos >= 0).then_some(nanos as f64 / 1e6)
}
