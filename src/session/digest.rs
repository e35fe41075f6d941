//! What one decoded frame says, by the rules of the dialects: small, owned, made on any thread.
//! Never looks at another frame; what it means in time is for `Session`.

mod walk;

use std::hash::{DefaultHasher, Hash, Hasher};

use smallvec::SmallVec;

use crate::dialect::{Part, Plan, Role};
use crate::message::{Node, Tree};
use crate::schema::{FieldId, Schema, TypeId};

use super::{IdValue, Status};
use walk::Walk;

/// An occurrence of a lifeline's branch.
#[derive(Clone, PartialEq, Debug)]
pub struct Occurrence {
    /// The lifeline.
    pub lifeline: u16,
    /// What it does to it.
    pub part: Part,
    /// The id in the branch or around it; `None` where the message has none.
    pub id: Option<IdValue>,
    /// The branch itself.
    pub branch: FieldId,
    /// The branch set in its oneof.
    pub inside: Option<FieldId>,
    /// The branch set in that one's oneof.
    pub deeper: Option<FieldId>,
    /// Values of the fields that must agree, by their place in the rule.
    pub agree: SmallVec<[Option<Agree>; 2]>,
    /// A field says that it was broken off.
    pub aborted: bool,
    /// The path of a message in it that should decide and does not.
    pub undecided: Option<Box<str>>,
    /// Of each offer of the rule, whether it is made, or how often it was taken up.
    pub offers: SmallVec<[u32; 1]>,
    /// The path of the branch.
    pub path: Box<str>,
}

/// A value that must agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agree {
    /// A scalar, as text.
    Value(Box<str>),
    /// The branch set in a message's oneof.
    Branch(Box<str>),
}

/// A piece of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// The stream's rule.
    pub stream: u16,
    /// What keeps it apart.
    pub key: Option<IdValue>,
    /// The text.
    pub text: Box<str>,
}

/// What heads one of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Title {
    /// The level.
    pub level: u16,
    /// Its place among the level's titles; the lowest is preferred.
    pub rank: u16,
    /// The text.
    pub text: Box<str>,
    /// It is the name of a branch.
    pub is_name: bool,
}

/// A field that refers to content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlobRef {
    /// The id.
    pub id: Box<[u8]>,
    /// The number of the nested encoding.
    pub nested: u16,
    /// How long the message says the content is, in bytes.
    pub length: Option<u64>,
}

/// A value that adds up with others of its field.
#[derive(Clone, PartialEq, Debug)]
pub struct Folded {
    /// The rule.
    pub fold: u16,
    /// The fields from the root on.
    pub path: Box<[FieldId]>,
    /// What keeps it apart.
    pub key: Option<IdValue>,
    /// Text to be put after what came before; empty where the rule is another.
    pub text: Box<str>,
    /// A number to be added.
    pub number: f64,
}

/// Content, or the id of content, of a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct BlobPart {
    /// The content rule.
    pub content: u16,
    /// The id, where the message has it.
    pub id: Option<Box<[u8]>>,
    /// The content, where the message has it.
    pub data: Option<Box<[u8]>>,
    /// The message that holds it: the name of the field it is in, or its type.
    pub from: Box<str>,
}

/// A carrier's own facts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Carried {
    /// The tunnel.
    pub tunnel: u16,
    /// The place in its sequence, where the carrier has a field for it.
    pub order: Option<i64>,
    /// Whether the carrier says that it is the last.
    pub last: bool,
}

/// What one frame says.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Digest {
    /// The message's type.
    pub root: Option<TypeId>,
    /// The branch set in the root's oneof.
    pub kind: Option<FieldId>,
    /// A hash of type and payload: equal messages, equal hashes.
    pub hash: u64,
    /// Ids of the message's own, in wire order, each once.
    pub ids: Vec<(u16, IdValue)>,
    /// Ids that speak of something else.
    pub mentions: Vec<(u16, IdValue)>,
    /// Lifelines.
    pub parts: Vec<Occurrence>,
    /// Levels that begin, with the id of theirs.
    pub opens: Vec<(u16, Option<IdValue>)>,
    /// Levels that end.
    pub closes: Vec<(u16, Option<IdValue>)>,
    /// Titles.
    pub titles: Vec<Title>,
    /// Values of measures.
    pub measures: Vec<(u16, f64)>,
    /// Measures whose time starts.
    pub since: Vec<u16>,
    /// Measures whose time stops.
    pub until: Vec<u16>,
    /// Text.
    pub pieces: Vec<Piece>,
    /// Values that add up.
    pub folds: Vec<Folded>,
    /// Streams whose paragraph ends.
    pub breaks: Vec<u16>,
    /// Endings, with their reason.
    pub endings: Vec<(u16, Option<Box<str>>)>,
    /// The pulse that it is.
    pub pulse: Option<u16>,
    /// Content and its ids.
    pub blobs: Vec<BlobPart>,
    /// Ids of content that fields refer to.
    pub refs: Vec<BlobRef>,
    /// What the carrier says.
    pub carried: Option<Carried>,
    /// How the stream ended, for the frame that ends it.
    pub status: Option<Status>,
}

impl Digest {
    /// Of a frame that ends its stream.
    pub fn end(status: Status) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Whether there is nothing in it that any rule speaks of.
    pub fn is_silent(&self) -> bool {
        self.parts.is_empty()
            && self.opens.is_empty()
            && self.closes.is_empty()
            && self.endings.is_empty()
            && self.pieces.is_empty()
            && self.status.is_none()
            && self.carried.is_none()
    }
}

/// Digests a message. `tree` is what `payload` decodes to.
pub fn make(schema: &Schema, plan: &Plan, tree: &Tree, payload: &[u8]) -> Digest {
    let mut hasher = DefaultHasher::new();
    (tree.root.map(|t| t.0), payload).hash(&mut hasher);
    let mut walk = Walk::new(schema, plan, tree, payload);
    walk.out.root = tree.root;
    walk.out.hash = hasher.finish();
    walk.out.kind = branch(schema, tree, Tree::ROOT);
    walk.go();
    walk.finish()
}

/// What a carrier says beside what it carries.
pub fn carried(schema: &Schema, plan: &Plan, tree: &Tree) -> Option<Carried> {
    let root = tree.root?;
    let at = plan.tunnels.iter().position(|t| t.carrier == root)?;
    let tunnel = plan.tunnels.get(at)?;
    let number =
        |index: u16| tree.children(Tree::ROOT).filter(|(_, n)| n.field == index).last().map(|(_, n)| n.bits);
    let ends = |index: u16| plan.matcher.anywhere(FieldId { ty: root, index }).contains(&Role::TunnelEnd);
    let fields = 0..schema.ty(root).fields.len() as u16;
    Some(Carried {
        tunnel: at as u16,
        order: tunnel.order.map(|order| number(order).unwrap_or(0) as i64),
        last: fields.into_iter().any(|index| ends(index) && number(index).is_some_and(|n| n != 0)),
    })
}

/// The field set in a message's oneof: of the first oneof that has one, the last.
pub(super) fn branch(schema: &Schema, tree: &Tree, at: u32) -> Option<FieldId> {
    let ty = tree.type_of(at)?;
    schema.ty(ty).oneofs.iter().find_map(|oneof| {
        let set = tree.children(at).filter(|(_, n)| n.is_known() && oneof.fields.contains(&n.field));
        set.last().map(|(_, n)| FieldId { ty, index: n.field })
    })
}

/// The last node of a field right below a message.
fn child(tree: &Tree, at: u32, field: u16) -> Option<(u32, &Node)> {
    tree.children(at).filter(|(_, n)| n.field == field).last()
}

/// The name of a field.
pub(super) fn name_of(schema: &Schema, field: FieldId) -> &str {
    schema.field_plan(field).map_or("", |f| &f.name)
}
