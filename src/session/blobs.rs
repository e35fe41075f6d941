//! Content that ids stand for: collected from every place that holds it, checked against its id.
//! Never keeps more content than its limit; what is not kept is still listed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use crate::base::{Code, Limits};
use crate::dialect::Plan;
use crate::message::{self, Tree};
use crate::schema::{Inner, Schema};

use super::digest::{self, BlobRef};
use super::{Notice, hex};

/// Frames that a blob remembers.
const MAX_FRAMES: usize = 64;
/// Lengths that messages give for one blob, kept.
const MAX_LENGTHS: usize = 4;
/// Bytes of a SHA-256.
const DIGEST: usize = 32;
/// Ids that the finding of missing ones names.
const NAMED: usize = 8;

/// Lengths with the frames that say so.
type Lengths = SmallVec<[(u64, u64); 1]>;

/// What one id stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Blob {
    /// The id.
    pub id: Box<[u8]>,
    /// Length of the content in bytes.
    pub length: u64,
    /// Whether its SHA-256 is the id; `None` where it is no digest.
    pub sha256_ok: Option<bool>,
    /// The frames that hold it, in order.
    pub frames: Vec<u64>,
    /// The field or message that it was first found in.
    pub from: Box<str>,
    /// The content, unless the limit on what is kept was reached.
    pub data: Option<Box<[u8]>>,
}

/// Content with its id.
pub(super) struct Given<'a> {
    pub id: &'a [u8],
    pub data: &'a [u8],
    /// Whether ids of its namespace are digests.
    pub sha256: bool,
    pub from: &'a str,
    pub frame: u64,
}

/// All of them.
#[derive(Default)]
pub struct Blobs {
    found: BTreeMap<Box<[u8]>, Blob>,
    /// In order of appearance.
    order: Vec<Box<[u8]>>,
    /// What fields say of ids: the number of the nested encoding, and the first frame that does.
    refs: BTreeMap<Box<[u8]>, (u16, u64)>,
    /// How long messages say that content is: length and frame, each length once.
    lengths: BTreeMap<Box<[u8]>, Lengths>,
    kept: u64,
    full: bool,
    /// Ids that a call asked for, until its answer comes.
    asked: HashMap<(u64, u16), Box<[u8]>>,
}

impl Blobs {
    /// The blobs, in order of appearance.
    pub fn all(&self) -> impl Iterator<Item = &Blob> {
        self.order.iter().filter_map(|id| self.found.get(id))
    }

    /// A blob by its id.
    pub fn get(&self, id: &[u8]) -> Option<&Blob> {
        self.found.get(id)
    }

    /// What a blob holds, from the field that refers to it: a message type, `json` or `text`.
    pub fn content(&self, schema: &Schema, id: &[u8]) -> Option<String> {
        let nested = self.refs.get(id).and_then(|(number, _)| schema.nested(*number))?;
        Some(match (nested.ty, nested.inner) {
            (Some(ty), _) => schema.ty(ty).name.to_string(),
            (None, Some(Inner::Json)) => "json".to_owned(),
            (None, Some(Inner::Text)) => "text".to_owned(),
            (None, None) => return None,
        })
    }

    pub(super) fn refer(&mut self, to: &BlobRef, frame: u64, limits: &Limits) {
        if self.refs.len() >= limits.max_blobs && !self.refs.contains_key(&to.id) {
            return;
        }
        self.refs.entry(to.id.clone()).or_insert((to.nested, frame));
        if let Some(length) = to.length {
            let known = self.lengths.entry(to.id.clone()).or_default();
            if known.len() < MAX_LENGTHS && !known.iter().any(|(l, _)| *l == length) {
                known.push((length, frame));
            }
        }
    }

    /// The id that a call asks for.
    pub(super) fn ask(&mut self, call: u64, content: u16, id: &[u8], limits: &Limits) {
        if self.asked.len() < limits.max_calls {
            self.asked.insert((call, content), id.into());
        }
    }

    /// The id that a call asked for.
    pub(super) fn asked(&mut self, call: u64, content: u16) -> Option<Box<[u8]>> {
        self.asked.remove(&(call, content))
    }

    pub(super) fn add(&mut self, given: &Given<'_>, limits: &Limits, out: &mut Vec<Notice>) {
        let Given { id, data, sha256, from, frame } = *given;
        // What is not as long as a digest is none.
        let ok = (sha256 && id.len() == DIGEST).then(|| Sha256::digest(data)[..] == *id);
        if ok == Some(false) {
            let text = format!("the {} bytes given for {} do not hash to it", data.len(), short(id));
            let mut notice = Notice::new(Code::BlobHashMismatch, text);
            notice.frames = vec![frame];
            out.push(notice);
        }
        if let Some(blob) = self.found.get_mut(id) {
            if blob.frames.len() < MAX_FRAMES && blob.frames.last() != Some(&frame) {
                blob.frames.push(frame);
            }
            return;
        }
        if self.found.len() >= limits.max_blobs {
            self.full(frame, "blobs", out);
            return;
        }
        let keep = self.kept.saturating_add(data.len() as u64) <= limits.max_blob_bytes;
        if keep {
            self.kept += data.len() as u64;
        } else {
            self.full(frame, "bytes of blobs", out);
        }
        let blob = Blob {
            id: id.into(),
            length: data.len() as u64,
            sha256_ok: ok,
            frames: vec![frame],
            from: from.into(),
            data: keep.then(|| data.into()),
        };
        self.order.push(id.into());
        self.found.insert(id.into(), blob);
    }

    /// Compares what messages say of lengths with the blobs.
    fn measure(&self, out: &mut Vec<Notice>) {
        for (id, lengths) in &self.lengths {
            let Some(blob) = self.found.get(id) else { continue };
            for (length, frame) in lengths.iter().filter(|(length, _)| *length != blob.length) {
                let text = format!("blob {} has {} bytes, its message says {length}", short(id), blob.length);
                let mut notice = Notice::new(Code::BlobLength, text);
                notice.frames = [Some(*frame), blob.frames.first().copied()].into_iter().flatten().collect();
                out.push(notice);
            }
        }
    }

    fn full(&mut self, frame: u64, what: &str, out: &mut Vec<Notice>) {
        if !std::mem::replace(&mut self.full, true) {
            let mut notice = Notice::new(Code::LimitReached, format!("more {what} than are kept"));
            notice.frames = vec![frame];
            out.push(notice);
        }
    }

    /// Follows references inside blobs, and says which are missing.
    pub(super) fn finish(&mut self, schema: &Schema, plan: &Plan, limits: &Limits, out: &mut Vec<Notice>) {
        let mut open: Vec<Box<[u8]>> = self.refs.keys().cloned().collect();
        let mut done: BTreeSet<Box<[u8]>> = open.iter().cloned().collect();
        let mut tree = Tree::default();
        while let Some(id) = open.pop() {
            let Some((number, frame)) = self.refs.get(&id).copied() else { continue };
            let ty = schema.nested(number).and_then(|n| n.ty);
            let data = self.found.get(&id).and_then(|b| b.data.as_deref());
            let (Some(ty), Some(data)) = (ty, data) else { continue };
            message::decode(schema, Some(ty), data, limits, &mut tree, &mut Vec::new());
            for inner in digest::make(schema, plan, &tree, data).refs {
                self.refer(&inner, frame, limits);
                if done.insert(inner.id.clone()) {
                    open.push(inner.id);
                }
            }
        }
        self.measure(out);
        let missing: Vec<_> = self.refs.iter().filter(|(id, _)| !self.found.contains_key(*id)).collect();
        let Some(frame) = missing.iter().map(|(_, (_, frame))| *frame).min() else { return };
        let names: Vec<String> = missing.iter().take(NAMED).map(|(id, _)| short(id)).collect();
        let more = if missing.len() > NAMED { ", …" } else { "" };
        let text = format!(
            "{} blobs are referred to and not in the capture: {}{more}",
            missing.len(),
            names.join(", ")
        );
        let mut notice = Notice::new(Code::BlobMissing, text);
        notice.frames = vec![frame];
        out.push(notice);
    }
}

/// The beginning of an id.
fn short(id: &[u8]) -> String {
    format!("{}…", hex(id.get(..6).unwrap_or(id)))
}
