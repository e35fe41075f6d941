//! A kept frame decoded once more, for whoever looks at it.
//! Never changes what the first pass found.

use crate::pdu::Role;
use crate::query::Filter;
use crate::schema::TypeId;
use crate::session::Digest;
use crate::view::Decoded;

use super::decode::Worker;
use super::typing::is_json;
use super::{Config, Job};

/// What lies between the bytes as sent and the message that is shown.
#[derive(Default, Debug)]
pub struct Layers {
    /// The payload with the frame's encoding undone, where it had one.
    pub inflated: Option<Vec<u8>>,
    /// A message in JSON, in wire format.
    pub wire: Option<Vec<u8>>,
    /// The type of the outer message.
    pub outer: Option<TypeId>,
}

/// Decodes kept frames.
#[derive(Default)]
pub struct Again {
    worker: Worker,
}

impl Again {
    /// A frame decoded.
    pub fn decode(&mut self, config: &Config, job: &Job) -> Decoded {
        self.worker.decode(config, job)
    }

    /// What a frame says, once decoded.
    pub fn digest(&mut self, config: &Config, job: &Job) -> Digest {
        let decoded = self.worker.decode(config, job);
        self.worker.digest(config, job, &decoded)
    }

    /// The steps from the bytes to the message.
    pub fn layers(&mut self, config: &Config, job: &Job) -> Layers {
        let frame = &job.frame;
        let (payload, _) = self.worker.payload(config, frame, &mut Vec::new());
        let is_message = matches!(frame.role, Role::Message | Role::Decoded);
        let json = is_message && job.typed.ty.is_some() && is_json(frame, &payload);
        Layers {
            wire: json.then(|| self.worker.wire(config, frame, job.typed.ty).bytes().into()),
            inflated: frame.compressed.then(|| payload.into_owned().into()),
            outer: job.typed.ty.filter(|_| is_message),
        }
    }

    /// Whether a display filter lets a frame through.
    pub fn passes(&mut self, config: &Config, job: &Job, filter: &Filter) -> bool {
        self.worker.decode_passing(config, job, filter).is_some()
    }
}
