//! Frames that a filter wants: what the frame or the outermost fields tell is not decoded for.
//! Never lets through what the whole record would not.

use crate::message::{self, JsonOptions, fast};
use crate::pdu::Role;
use crate::query::{Filter, Stage};
use crate::schema::TypeId;
use crate::view::Decoded;

use super::super::filter::{self, Seen};
use super::super::typing::is_json;
use super::super::{Config, Expand, Job};
use super::{Worker, branch_name, kind, options};

/// Branches whose answer is kept, at most.
const MAX_SAID: usize = 64;

impl Worker {
    /// Whether the run's filter does not want a frame of which neither the message nor what it carries is to be
    /// decoded to tell.
    pub fn refuses_early(&mut self, config: &Config, job: &Job) -> bool {
        let Some(filter) = &config.filter else { return false };
        let by_frame = || filter::decide(config, filter, job, &Decoded::default(), Stage::Frame);
        filter.begins() == Stage::Frame && by_frame() == Some(false) || self.refuses(config, job, filter)
    }

    /// Decodes a frame that the filter wants; `None` where it does not.
    pub fn decode_wanted(&mut self, config: &Config, job: &Job) -> Option<Decoded> {
        match &config.filter {
            Some(filter) => self.decode_passing(config, job, filter),
            None => Some(self.decode(config, job)),
        }
    }

    /// Decodes a frame that a filter lets through; `None` where it does not.
    pub fn decode_passing(&mut self, config: &Config, job: &Job, filter: &Filter) -> Option<Decoded> {
        let early = match filter.begins() {
            Stage::Frame => filter::decide(config, filter, job, &Decoded::default(), Stage::Frame),
            _ => None,
        };
        if early == Some(false) {
            return None;
        }
        let decoded = self.decode(config, job);
        if self.unwanted {
            return None;
        }
        let wanted = early.unwrap_or_else(|| {
            let canonical = self.canonical(config, &decoded);
            let item = job.item(config, &decoded);
            filter.matches(&config.schema, &Seen::new(&item, canonical))
        });
        wanted.then_some(decoded)
    }

    /// Whether the filter does not want a message that needs no decoding before its outermost fields are seen.
    fn refuses(&mut self, config: &Config, job: &Job, filter: &Filter) -> bool {
        let frame = &job.frame;
        let as_is = frame.role == Role::Message && frame.whole && !frame.compressed && !carries(config, job);
        match job.typed.ty {
            Some(ty) if as_is && !is_json(frame, &frame.payload) => {
                self.refuses_kind(config, job, filter, ty, &frame.payload, None)
            }
            _ => false,
        }
    }

    /// Whether the filter does not want a message by its kind alone, which its outermost fields tell.
    pub(super) fn refuses_kind(
        &mut self,
        config: &Config,
        job: &Job,
        filter: &Filter,
        ty: TypeId,
        wire: &[u8],
        wire_length: Option<u64>,
    ) -> bool {
        let Some(branch) = self.branch(config, ty, wire) else { return false };
        // What was said of the run's filter holds for all messages of that branch.
        let is_kept = filter.is_by_kind() && config.filter.as_ref().is_some_and(|f| std::ptr::eq(f, filter));
        if let Some((.., refused)) = self.said.iter().find(|(t, b, _)| is_kept && (*t, *b) == (ty, branch)) {
            return *refused;
        }
        let name = branch_name(&config.schema, ty, branch);
        let mut early = std::mem::take(&mut self.early);
        early.kind = name.map(|name| kind(config, ty, name));
        (early.ty, early.message_type) = (Some(ty), Some(config.schema.ty(ty).name.clone()));
        early.wire_length = wire_length;
        let refused = filter::decide(config, filter, job, &early, Stage::Kind) == Some(false);
        self.early = early;
        if is_kept && self.said.len() < MAX_SAID {
            self.said.push((ty, branch, refused));
        }
        refused
    }

    /// The message of the frame just decoded in the form that filters are about, where it was written in another.
    fn canonical(&mut self, config: &Config, decoded: &Decoded) -> Option<&[u8]> {
        let other = config.json_names || config.emit_defaults || config.expand == Expand::All;
        if !other || decoded.ty.is_none() {
            return None;
        }
        let options = JsonOptions {
            json_names: false,
            emit_defaults: false,
            expand: message::Expand::None,
            ..options(config)
        };
        self.canonical.clear();
        let (tree, out) = (&self.tree, &mut self.canonical);
        message::json::write(&config.schema, tree, &decoded.payload, &options, out, &mut Vec::new());
        Some(&self.canonical)
    }

    /// The branch that is set in a message, where a look at its outermost fields tells.
    fn branch(&self, config: &Config, ty: TypeId, wire: &[u8]) -> Option<Option<u16>> {
        fast::branch(&config.schema, self.tables.as_deref()?, ty, wire)
    }
}

/// Whether what a frame carries is shown in its place.
pub(super) fn carries(config: &Config, job: &Job) -> bool {
    job.joined.inner.is_some() && config.expand != Expand::None
}
