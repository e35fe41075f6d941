//! Which rules a field is of interest to, found in one walk over a message.
//! Never compares a name: paths are field places from a root type.

use std::collections::HashMap;

use crate::schema::{Encoding, FieldId, Presence, Schema, TypeId};

use super::names::Place;
use super::timely::Role;

/// A place below a root message.
#[derive(Clone, PartialEq, Debug, Default)]
struct Step {
    /// Field place → step, sorted.
    below: Vec<(u16, u32)>,
    roles: Vec<Role>,
    /// Fields right below whose absence is the id 0.
    zeros: Vec<(u16, u16)>,
}

/// Roles by path and by field.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Matcher {
    steps: Vec<Step>,
    roots: HashMap<TypeId, u32>,
    anywhere: HashMap<FieldId, Vec<Role>>,
    zeros: HashMap<TypeId, Vec<(u16, u16)>>,
    /// By type: whether it has fields that count at any depth, and whether it can hold such a type.
    has: Vec<bool>,
    reaches: Vec<bool>,
}

impl Matcher {
    /// Adds a role of a place. Call [`Matcher::settle`] after the last.
    pub(super) fn add(&mut self, place: &Place, role: Role) {
        let Some(root) = place.root else {
            push(self.anywhere.entry(place.field).or_default(), role);
            return;
        };
        let mut at = match self.roots.get(&root) {
            Some(at) => *at,
            None => {
                let at = self.step();
                self.roots.insert(root, at);
                at
            }
        };
        for index in &place.path {
            let found = self.below(at, *index);
            at = found.unwrap_or_else(|| {
                let next = self.step();
                if let Some(step) = self.steps.get_mut(at as usize) {
                    step.below.push((*index, next));
                    step.below.sort_unstable();
                }
                next
            });
        }
        if let Some(step) = self.steps.get_mut(at as usize) {
            push(&mut step.roles, role);
        }
    }

    /// An id whose absence is 0.
    pub(super) fn add_zero(&mut self, schema: &Schema, place: &Place, namespace: u16) {
        let implicit =
            schema.field_plan(place.field).is_some_and(|f| f.presence == Presence::Implicit && !f.is_many());
        if !implicit {
            return;
        }
        let zero = (place.field.index, namespace);
        let list = match place.root {
            None => self.zeros.entry(place.field.ty).or_default(),
            Some(root) => {
                let mut at = self.roots.get(&root).copied();
                for index in place.path.iter().take(place.path.len().saturating_sub(1)) {
                    at = at.and_then(|at| self.below(at, *index));
                }
                let Some(step) = at.and_then(|at| self.steps.get_mut(at as usize)) else { return };
                &mut step.zeros
            }
        };
        if !list.contains(&zero) {
            list.push(zero);
        }
    }

    /// Brings up to date which types can hold a field that counts at any depth.
    pub(super) fn settle(&mut self, schema: &Schema) {
        let blob =
            |n: Option<u16>| n.and_then(|n| schema.nested(n)).is_some_and(|n| n.encoding == Encoding::Blob);
        let blobs = schema.annotated().filter(|(_, a)| blob(a.nested)).map(|(field, _)| field.ty);
        let named = self.anywhere.keys().map(|field| field.ty);
        self.has = vec![false; schema.types().len()];
        for ty in blobs.chain(named).chain(self.zeros.keys().copied()) {
            if let Some(has) = self.has.get_mut(ty.0 as usize) {
                *has = true;
            }
        }
        self.reaches.clone_from(&self.has);
        schema.mark_holders(&mut self.reaches, std::iter::empty());
    }

    /// Types that paths start at, by number.
    pub fn roots(&self) -> Vec<TypeId> {
        let mut roots: Vec<TypeId> = self.roots.keys().copied().collect();
        roots.sort_unstable_by_key(|ty| ty.0);
        roots
    }

    /// Every path that has roles: its root, its fields, its roles.
    #[expect(clippy::type_complexity, reason = "one caller, three plain arguments")]
    pub fn each(&self, tell: &mut dyn FnMut(TypeId, &[u16], &[Role])) {
        for root in self.roots() {
            // Steps are made once and point down only: the walk ends.
            let mut todo: Vec<(u32, Vec<u16>)> =
                self.root(root).map(|at| (at, Vec::new())).into_iter().collect();
            while let Some((at, path)) = todo.pop() {
                let Some(step) = self.steps.get(at as usize) else { continue };
                if !step.roles.is_empty() {
                    tell(root, &path, &step.roles);
                }
                for (field, next) in &step.below {
                    let mut path = path.clone();
                    path.push(*field);
                    todo.push((*next, path));
                }
            }
        }
    }

    /// Where paths from a root type begin.
    pub fn root(&self, ty: TypeId) -> Option<u32> {
        self.roots.get(&ty).copied()
    }

    /// The step below a step by a field.
    pub fn below(&self, at: u32, field: u16) -> Option<u32> {
        let below = &self.steps.get(at as usize)?.below;
        below.binary_search_by_key(&field, |(f, _)| *f).ok().and_then(|i| below.get(i)).map(|(_, next)| *next)
    }

    /// Roles of a step.
    pub fn roles(&self, at: u32) -> &[Role] {
        self.steps.get(at as usize).map_or(&[], |s| &s.roles)
    }

    /// Roles of a field at any depth.
    pub fn anywhere(&self, field: FieldId) -> &[Role] {
        if !self.has(field.ty) {
            return &[];
        }
        self.anywhere.get(&field).map_or(&[], Vec::as_slice)
    }

    /// Ids that are 0 where absent, (field, namespace), in a message at a step or of a type.
    pub fn zeros(&self, at: Option<u32>, ty: Option<TypeId>) -> impl Iterator<Item = (u16, u16)> + '_ {
        let by_path = at.and_then(|at| self.steps.get(at as usize)).map_or(&[][..], |s| &s.zeros);
        let by_type = ty.and_then(|ty| self.zeros.get(&ty)).map_or(&[][..], Vec::as_slice);
        by_path.iter().chain(by_type).copied()
    }

    /// Whether a field of the type itself counts at any depth.
    pub fn has(&self, ty: TypeId) -> bool {
        self.has.get(ty.0 as usize) == Some(&true)
    }

    /// Whether a message of the type, or one inside it, has a field that counts at any depth.
    pub fn reaches(&self, ty: TypeId) -> bool {
        self.reaches.get(ty.0 as usize) == Some(&true)
    }

    fn step(&mut self) -> u32 {
        self.steps.push(Step::default());
        (self.steps.len() - 1) as u32
    }
}

/// Adds a role to those of one place, unless it is there or a nearer one is.
fn push(roles: &mut Vec<Role>, role: Role) {
    if roles.contains(&role) || roles.iter().any(|r| role.yields_to(*r)) {
        return;
    }
    roles.retain(|r| !r.yields_to(role));
    roles.push(role);
}
