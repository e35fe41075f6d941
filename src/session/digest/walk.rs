//! One walk over a message, by which all rules find what they look for.
//! Never goes where no rule does.

use smallvec::SmallVec;

use crate::dialect::{How, Offer, Part, Plan, Role};
use crate::message::{self, Node, NodeKind, Tree};
use crate::schema::{Encoding, FieldId, Kind, Schema, TypeId};

use super::super::{IdValue, hex};
use super::{Agree, BlobPart, BlobRef, Digest, Folded, Occurrence, Piece, Title, branch, child, name_of};

/// Longest text of a title, in bytes.
const MAX_TITLE: usize = 400;

struct Found {
    namespace: u16,
    value: IdValue,
    parent: u32,
    mention: bool,
}

struct Open {
    node: u32,
    end: u32,
    step: Option<u32>,
    ty: Option<TypeId>,
}

pub(super) struct Walk<'a> {
    schema: &'a Schema,
    plan: &'a Plan,
    tree: &'a Tree,
    payload: &'a [u8],
    open: Vec<Open>,
    found: Vec<Found>,
    /// Occurrences with their nodes.
    parts: Vec<(u32, Occurrence)>,
    aborted: Vec<(u32, u16)>,
    undecided: Vec<(u32, u16)>,
    opens: Vec<(u32, u16, bool)>,
    pieces: Vec<(u32, Piece)>,
    folds: Vec<(u32, Folded)>,
    blobs: Vec<(u32, BlobPart)>,
    reasons: Vec<(u16, Box<str>)>,
    pub(super) out: Digest,
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Schema, plan: &'a Plan, tree: &'a Tree, payload: &'a [u8]) -> Self {
        Self {
            schema,
            plan,
            tree,
            payload,
            open: Vec::new(),
            found: Vec::new(),
            parts: Vec::new(),
            aborted: Vec::new(),
            undecided: Vec::new(),
            opens: Vec::new(),
            pieces: Vec::new(),
            folds: Vec::new(),
            blobs: Vec::new(),
            reasons: Vec::new(),
            out: Digest::default(),
        }
    }

    pub(super) fn go(&mut self) {
        let (tree, plan) = (self.tree, self.plan);
        let len = tree.nodes.len() as u32;
        let root = tree.root.and_then(|ty| plan.matcher.root(ty));
        self.enter(Tree::ROOT, len, root, tree.root);
        let mut at = 0;
        while let Some(node) = tree.node(at) {
            while self.open.last().is_some_and(|o| at >= o.end) {
                self.open.pop();
            }
            let Some(parent) = self.open.last() else { return };
            let (parent_node, parent_type) = (parent.node, parent.ty);
            let step =
                parent.step.filter(|_| node.is_known()).and_then(|s| plan.matcher.below(s, node.field));
            if node.is_known()
                && let Some(ty) = parent_type
            {
                self.node(at, node, parent_node, FieldId { ty, index: node.field }, step);
            }
            if node.kind == NodeKind::Message {
                if step.is_none() && !node.ty.is_some_and(|ty| plan.matcher.reaches(ty)) {
                    at = node.next.max(at + 1);
                    continue;
                }
                self.enter(at, node.next.min(len), step, node.ty);
            }
            at += 1;
        }
    }

    fn enter(&mut self, node: u32, end: u32, step: Option<u32>, ty: Option<TypeId>) {
        for (field, namespace) in self.plan.matcher.zeros(step, ty) {
            if child(self.tree, node, field).is_none() {
                self.found.push(Found { namespace, value: IdValue::Uint(0), parent: node, mention: false });
            }
        }
        self.open.push(Open { node, end, step, ty });
    }

    fn node(&mut self, at: u32, node: &Node, parent: u32, field: FieldId, step: Option<u32>) {
        let plan = self.plan;
        let by_path = step.map_or(&[][..], |s| plan.matcher.roles(s));
        for role in by_path {
            self.role(*role, at, node, parent, field);
        }
        for role in plan.matcher.anywhere(field) {
            if !by_path.iter().any(|r| role.yields_to(*r)) {
                self.role(*role, at, node, parent, field);
            }
        }
        if plan.matcher.has(field.ty) {
            self.reference(node, parent, field);
        }
    }

    /// A field that refers to content.
    fn reference(&mut self, node: &Node, parent: u32, field: FieldId) {
        let Some(number) = self.schema.field_plan(field).and_then(|f| f.annotation.nested) else { return };
        let blob = self.schema.nested(number).is_some_and(|n| n.encoding == Encoding::Blob);
        if blob && node.kind == NodeKind::Bytes {
            let id = node.bytes(self.payload);
            if id.len() != 32 {
                return;
            }
            let length = self.plan.length_of(field).and_then(|index| child(self.tree, parent, index));
            let length = length.map(|(_, n)| n.bits).filter(|length| *length > 0);
            let new = BlobRef { id: id.into(), nested: number, length };
            if !self.out.refs.contains(&new) {
                self.out.refs.push(new);
            }
        }
    }

    fn role(&mut self, role: Role, at: u32, node: &Node, parent: u32, field: FieldId) {
        match role {
            Role::Id(namespace) | Role::Mention(namespace) => {
                if let Some(value) = self.id_value(node, field) {
                    let mention = matches!(role, Role::Mention(_));
                    self.found.push(Found { namespace, value, parent, mention });
                }
            }
            Role::Life(lifeline, part) => self.life(lifeline, part, at, field),
            Role::Aborted(lifeline) if node.bits != 0 => self.aborted.push((at, lifeline)),
            Role::Decide(lifeline) => {
                let plan = node.ty.map(|ty| self.schema.ty(ty));
                let decides =
                    plan.is_none_or(|p| p.oneofs.is_empty()) || branch(self.schema, self.tree, at).is_some();
                let unknown = self.tree.children(at).any(|(_, n)| !n.is_known());
                if !decides && !unknown {
                    self.undecided.push((at, lifeline));
                }
            }
            Role::Ending(ending) => {
                if !self.out.endings.iter().any(|(e, _)| *e == ending) {
                    self.out.endings.push((ending, None));
                }
            }
            Role::Reason(ending) => self.reasons.push((ending, self.text(node).into())),
            Role::LevelOpen(level) => self.opens.push((at, level, true)),
            Role::LevelClose(level) => self.opens.push((at, level, false)),
            Role::Title(level, rank) => {
                let set = branch(self.schema, self.tree, at).filter(|_| node.kind == NodeKind::Message);
                if let Some(set) = set {
                    let name = name_of(self.schema, set).into();
                    self.out.titles.push(Title { level, rank, text: name, is_name: true });
                }
                let text = self.text(node);
                let mut end = text.len().min(MAX_TITLE);
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                if end > 0 {
                    self.out.titles.push(Title { level, rank, text: text[..end].into(), is_name: false });
                }
            }
            Role::Measure(measure) => {
                if let Some(value) = self.number(node, field) {
                    self.out.measures.push((measure, value));
                }
            }
            Role::Since(measure) => self.out.since.push(measure),
            Role::Until(measure) => self.out.until.push(measure),
            Role::Piece(stream) => self.piece(stream, at, node, parent, field),
            Role::Fold(fold) => self.fold(fold, at, node, field),
            Role::Break(stream) => self.out.breaks.push(stream),
            Role::Pulse(pulse) => self.out.pulse = Some(pulse),
            Role::ContentId(content) => self.blob(content, parent, node, true),
            Role::ContentData(content) => self.blob(content, parent, node, false),
            Role::Aborted(_) | Role::TunnelEnd => {}
        }
    }

    fn life(&mut self, lifeline: u16, part: Part, at: u32, branch_field: FieldId) {
        // Of branches within each other the longest path counts: it comes later in the walk.
        let tree = self.tree;
        let around = |n: u32| n < at && tree.node(n).is_some_and(|o| at < o.next);
        self.parts.retain(|(n, o)| !(o.lifeline == lifeline && around(*n)));
        let inside = branch(self.schema, tree, at);
        let below = inside.and_then(|f| child(tree, at, f.index));
        let deeper = below.and_then(|(n, _)| branch(self.schema, tree, n));
        let names = self.plan.lifelines.get(usize::from(lifeline)).map_or(&[][..], |l| &l.agree);
        let agree = names.iter().map(|name| self.agree(at, name)).collect();
        let path = message::path_of(self.schema, tree, self.payload, at).into();
        let offers = self.offers(lifeline, part, at);
        let occurrence = Occurrence {
            lifeline,
            part,
            id: None,
            branch: branch_field,
            inside,
            deeper,
            agree,
            aborted: false,
            undecided: None,
            offers,
            path,
        };
        self.parts.push((at, occurrence));
    }

    /// Of each offer, whether an opening makes it, or how often an answer takes it up.
    fn offers(&self, lifeline: u16, part: Part, at: u32) -> SmallVec<[u32; 1]> {
        let offers = self.plan.lifelines.get(usize::from(lifeline)).map_or(&[][..], |l| &l.offers);
        let count = |offer: &Offer| {
            let name = if part == Part::Open { &offer.open } else { &offer.answer };
            let index = self.tree.type_of(at).and_then(|ty| self.schema.ty(ty).field_by_name(name));
            let set = index.map(|i| self.tree.children(at).filter(move |(_, n)| n.field == i));
            let set = set.into_iter().flatten();
            set.filter(|(_, n)| part != Part::Open || n.bits != 0).count() as u32
        };
        offers.iter().map(count).collect()
    }

    fn agree(&self, at: u32, name: &str) -> Option<Agree> {
        let ty = self.tree.type_of(at)?;
        let index = self.schema.ty(ty).field_by_name(name)?;
        let (below, node) = child(self.tree, at, index)?;
        if node.kind == NodeKind::Message {
            let set = branch(self.schema, self.tree, below)?;
            return Some(Agree::Branch(name_of(self.schema, set).into()));
        }
        let value = self.id_value(node, FieldId { ty, index })?;
        Some(Agree::Value(value.to_string().into()))
    }

    fn piece(&mut self, stream: u16, at: u32, node: &Node, parent: u32, field: FieldId) {
        let Some(rule) = self.plan.streams.get(usize::from(stream)) else { return };
        let is_set = |name: &str| {
            let index = self.schema.ty(field.ty).field_by_name(name);
            index.and_then(|i| child(self.tree, parent, i)).is_some_and(|(_, n)| n.bits != 0)
        };
        let wanted =
            (rule.unless.is_empty() || !is_set(&rule.unless)) && (rule.when.is_empty() || is_set(&rule.when));
        let text = self.text(node);
        if wanted && !text.is_empty() {
            self.pieces.push((at, Piece { stream, key: None, text: text.into() }));
        }
    }

    /// A value of a fold; of one that replaces what was, only where it stands.
    fn fold(&mut self, fold: u16, at: u32, node: &Node, field: FieldId) {
        let how = self.plan.folds.get(usize::from(fold)).map(|f| f.how);
        let text = if how == Some(How::Append) { self.text(node) } else { "".into() };
        let number = if how == Some(How::Sum) { self.number(node, field).unwrap_or_default() } else { 0.0 };
        let around = self.open.windows(2).filter_map(|pair| {
            let [outer, inner] = pair else { return None };
            Some(FieldId { ty: outer.ty?, index: self.tree.node(inner.node)?.field })
        });
        let path = around.chain([field]).collect();
        self.folds.push((at, Folded { fold, path, key: None, text: text.into(), number }));
    }

    fn blob(&mut self, content: u16, parent: u32, node: &Node, is_id: bool) {
        if node.kind != NodeKind::Bytes {
            return;
        }
        let bytes: Box<[u8]> = node.bytes(self.payload).into();
        let free =
            |b: &BlobPart| b.content == content && if is_id { b.id.is_none() } else { b.data.is_none() };
        let found = self.blobs.iter_mut().find(|(p, b)| *p == parent && free(b));
        let part = match found {
            Some((_, part)) => part,
            None => {
                let holder = self.tree.node(parent).filter(|n| n.is_known());
                let around = self
                    .open
                    .iter()
                    .rev()
                    .find(|o| o.node != parent && (o.node == Tree::ROOT || o.node < parent));
                let field =
                    around.and_then(|o| o.ty).zip(holder).map(|(ty, n)| FieldId { ty, index: n.field });
                let from = match field {
                    Some(field) => name_of(self.schema, field),
                    None => self.tree.type_of(parent).map_or("", |ty| self.schema.ty(ty).short_name()),
                };
                self.blobs.push((parent, BlobPart { content, id: None, data: None, from: from.into() }));
                let Some((_, part)) = self.blobs.last_mut() else { return };
                part
            }
        };
        if is_id {
            part.id = Some(bytes);
        } else {
            part.data = Some(bytes);
        }
    }

    /// The id of a namespace for what stands at a node: right in it, further in it, or around it.
    fn id_at(&self, namespace: u16, at: u32) -> Option<IdValue> {
        let end = self.tree.node(at).map_or(u32::MAX, |n| n.next);
        let own = || self.found.iter().filter(|f| f.namespace == namespace && !f.mention);
        let inside = own().filter(|f| f.parent != Tree::ROOT && f.parent >= at && f.parent < end);
        let depth = |f: &Found| self.tree.node(f.parent).map_or(0, |n| n.depth);
        let around = |f: &&Found| {
            f.parent == Tree::ROOT || f.parent < at && self.tree.node(f.parent).is_some_and(|n| at < n.next)
        };
        let nearest = |f: &&Found| if f.parent == Tree::ROOT { 0 } else { f.parent.saturating_add(1) };
        inside
            .min_by_key(|f| depth(f))
            .or_else(|| own().filter(around).max_by_key(nearest))
            .map(|f| f.value.clone())
    }

    pub(super) fn finish(mut self) -> Digest {
        let plan = self.plan;
        for (at, lifeline) in std::mem::take(&mut self.aborted) {
            self.within(at, lifeline, |o, _| o.aborted = true);
        }
        for (at, lifeline) in std::mem::take(&mut self.undecided) {
            let path = message::path_of(self.schema, self.tree, self.payload, at);
            self.within(at, lifeline, |o, _| o.undecided = Some(path.as_str().into()));
        }
        let mut out = std::mem::take(&mut self.out);
        for (at, mut occurrence) in std::mem::take(&mut self.parts) {
            let namespace = plan.lifelines.get(usize::from(occurrence.lifeline)).and_then(|l| l.namespace);
            occurrence.id = namespace.and_then(|n| self.id_at(n, at));
            out.parts.push(occurrence);
        }
        for (at, level, opens) in std::mem::take(&mut self.opens) {
            let namespace = plan.levels.get(usize::from(level)).and_then(|l| l.namespace);
            let id = namespace.and_then(|n| self.id_at(n, at));
            if opens { out.opens.push((level, id)) } else { out.closes.push((level, id)) }
        }
        for (at, mut piece) in std::mem::take(&mut self.pieces) {
            let key = plan.streams.get(usize::from(piece.stream)).and_then(|s| s.key);
            piece.key = key.and_then(|n| self.id_at(n, at));
            out.pieces.push(piece);
        }
        for (at, mut folded) in std::mem::take(&mut self.folds) {
            let key = plan.folds.get(usize::from(folded.fold)).and_then(|f| f.key);
            folded.key = key.and_then(|n| self.id_at(n, at));
            out.folds.push(folded);
        }
        for (ending, reason) in std::mem::take(&mut self.reasons) {
            if let Some((_, slot)) = out.endings.iter_mut().find(|(e, _)| *e == ending) {
                *slot = Some(reason).filter(|r| !r.is_empty());
            }
        }
        out.blobs = std::mem::take(&mut self.blobs).into_iter().map(|(_, b)| b).collect();
        for found in self.found {
            let list = if found.mention { &mut out.mentions } else { &mut out.ids };
            let id = (found.namespace, found.value);
            if list.len() < 64 && !list.contains(&id) {
                list.push(id);
            }
        }
        out
    }

    /// Changes the occurrence of a lifeline that a node lies in.
    fn within(&mut self, at: u32, lifeline: u16, change: impl FnOnce(&mut Occurrence, u32)) {
        let tree = self.tree;
        let holds = |n: u32| n <= at && tree.node(n).is_some_and(|o| at < o.next);
        if let Some((n, o)) = self.parts.iter_mut().find(|(n, o)| o.lifeline == lifeline && holds(*n)) {
            change(o, *n);
        }
    }

    fn text(&self, node: &Node) -> std::borrow::Cow<'a, str> {
        match node.kind {
            NodeKind::Bytes | NodeKind::Text => String::from_utf8_lossy(node.bytes(self.payload)),
            _ => std::borrow::Cow::Borrowed(""),
        }
    }

    fn id_value(&self, node: &Node, field: FieldId) -> Option<IdValue> {
        let plan = self.schema.field_plan(field)?;
        match (plan.kind, node.kind) {
            (Kind::String, NodeKind::Bytes) => {
                Some(IdValue::Str(self.text(node).into())).filter(|_| node.end > node.start)
            }
            (Kind::Bytes, NodeKind::Bytes) => {
                Some(IdValue::Str(hex(node.bytes(self.payload)).into())).filter(|_| node.end > node.start)
            }
            (Kind::Sint32 | Kind::Sint64, NodeKind::Scalar) => {
                Some(IdValue::Uint(((node.bits >> 1) as i64 ^ -((node.bits & 1) as i64)) as u64))
            }
            (Kind::Message(_) | Kind::String | Kind::Bytes, _) => None,
            (_, NodeKind::Scalar) => Some(IdValue::Uint(node.bits)),
            _ => None,
        }
    }

    fn number(&self, node: &Node, field: FieldId) -> Option<f64> {
        if node.kind != NodeKind::Scalar {
            return None;
        }
        let bits = node.bits;
        Some(match self.schema.field_plan(field)?.kind {
            Kind::Double => f64::from_bits(bits),
            Kind::Float => f64::from(f32::from_bits(bits as u32)),
            Kind::Int32 | Kind::Sfixed32 | Kind::Enum(_) => f64::from(bits as i32),
            Kind::Int64 | Kind::Sfixed64 => bits as i64 as f64,
            Kind::Sint32 | Kind::Sint64 => ((bits >> 1) as i64 ^ -((bits & 1) as i64)) as f64,
            _ => bits as f64,
        })
        .filter(|n| n.is_finite())
    }
}
