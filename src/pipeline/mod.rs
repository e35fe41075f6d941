//! The staircase: records down through every room, batches of frames out in order.
//! Never prints and never opens a file: captures are handed in, bytes are handed out.
//!
//! ```text
//!  Record ─► transport ─► exchange ─► frame ─► joins ─┬─► decode + render ─┬─► write
//!            one thread, capture order                └─ many threads      ┘  in order
//! ```

mod again;
mod annotate;
mod batch;
mod chosen;
mod chunk;
mod compared;
mod complete;
mod crew;
mod decode;
mod feed;
mod filter;
mod hunt;
mod incoming;
mod joins;
mod kept;
mod live;
mod logged;
mod named;
mod runs;
mod typing;
mod verdicts;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::{Finding, Limits, Timestamp};
use crate::dialect::Plan;
use crate::pdu::{Frame, Protocol};
use crate::query::Filter;
use crate::schema::{Schema, TypeId};
use crate::view::{Decoded, Item};

pub use annotate::{Annotated, Comments, annotate};
pub use batch::{Correlated, Sink, Summary, run};
pub use chosen::Chosen;
pub use chunk::Rendered;
pub use feed::Feed;
pub use filter::{Seen, display_filter};
pub use verdicts::{Frames, Verdicts};
pub use window::Window;

/// How far encodings inside fields are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expand {
    /// Not at all: canonical ProtoJSON.
    None,
    /// A carried message becomes the record's message.
    Carrier,
    /// Every declared encoding.
    All,
}

/// Everything that does not change during a run.
pub struct Config {
    /// The types.
    pub schema: Schema,
    /// The dialects, resolved against `schema`.
    pub plan: Plan,
    /// The limits.
    pub limits: Limits,
    /// The type of messages whose capture does not say (`--as`).
    pub as_type: Option<TypeId>,
    /// Types of RPCs that no schema lists (`--map`): request, response.
    pub map: HashMap<String, (TypeId, TypeId)>,
    /// The encoding of compressed frames that nothing declares (`--encoding`).
    pub encoding: Option<String>,
    /// What a raw body of frames is (`--protocol`).
    pub raw: Protocol,
    /// What ports speak (`--decode-as`).
    pub decode_as: Vec<(u16, crate::transport::DecodeAs)>,
    /// TLS secrets (`--keylog`).
    pub keylog: Vec<bytes::Bytes>,
    /// How far encodings inside fields are opened.
    pub expand: Expand,
    /// Whether credentials are shown.
    pub show_secrets: bool,
    /// Whether unset fields without presence are printed.
    pub emit_defaults: bool,
    /// Whether message keys are lowerCamelCase.
    pub json_names: bool,
    /// Which frames are wanted (`-Y`); the others are not rendered, nor decoded further than it takes to tell.
    pub filter: Option<Filter>,
    /// Threads, this one among them; 0 and 1 are this thread alone, but for one that waits at a pipe.
    pub threads: usize,
    /// Whether frames are joined into runs, and events given.
    pub correlate: bool,
}

/// A frame with all that one thread had to say about it.
#[derive(Debug)]
pub struct Job {
    /// Its number in the output, from 1.
    pub number: u64,
    /// The capture's name.
    pub capture: Arc<str>,
    /// The frame.
    pub frame: Frame,
    /// The type of its message.
    pub typed: typing::Typed,
    /// What joins found.
    pub joined: joins::Joined,
    /// Times that relative and delta times count from.
    pub clock: (Option<Timestamp>, Option<Timestamp>),
    /// Whether its time is its own, and not that of a whole body.
    pub timed: bool,
    /// Its message in wire format, where it is JSON and was looked into.
    pub wired: Option<decode::Wired>,
}

impl Job {
    /// The frame to show, decoded.
    pub fn item<'a>(&'a self, config: &'a Config, decoded: &'a Decoded) -> Item<'a> {
        Item {
            number: self.number,
            capture: &self.capture,
            frame: &self.frame,
            decoded,
            show_secrets: config.show_secrets,
            secrets: config.schema.secrets(),
        }
    }
}

/// What renders a frame: appends its bytes. Runs on any thread.
pub type Render<'a> = dyn Fn(&Item<'_>, &Job, &mut Vec<u8>) + Sync + 'a;

/// A finding of no frame, with the capture it belongs to.
pub type Loose<'a> = (&'a str, &'a Finding);
