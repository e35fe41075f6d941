//! What holds of a type because of the types that can lie in it.
//! Never plans a type: the sketches of all fields are enough.

use super::{Schema, TypeId, WellKnown};

impl Schema {
    /// The types of the messages that a type's fields hold, as fields or as encodings inside them.
    pub fn held(&self, ty: TypeId) -> impl Iterator<Item = TypeId> + '_ {
        self.table.fields(ty).filter_map(|sketch| sketch.inner())
    }

    /// Whether a secret can lie in a type, at any depth; an Any can hold any type.
    pub fn reaches_secret(&self, ty: TypeId) -> bool {
        let reach = self.reach_secrets.get_or_init(|| self.holders_of_secrets());
        reach.get(ty.0 as usize) == Some(&true)
    }

    /// The roots in which a secret can lie, well-known types left out.
    pub fn secret_roots(&self) -> &[TypeId] {
        self.secret_roots.get_or_init(|| {
            let own = self.roots().filter(|ty| ty.0 < self.table.own());
            own.filter(|ty| self.reaches_secret(*ty)).collect()
        })
    }

    /// Types whose messages can stand alone: an RPC takes or returns them, or no other type holds them.
    pub fn roots(&self) -> impl Iterator<Item = TypeId> {
        let is_own = |ty: TypeId| !self.table.is_map_entry(ty) && ty.0 < self.table.own();
        let mut is_root: Vec<bool> = self.type_ids().map(is_own).collect();
        for i in self.type_ids() {
            for inner in self.held(i).filter(|inner| *inner != i) {
                set(&mut is_root, inner, false);
            }
        }
        for method in self.methods() {
            set(&mut is_root, method.input, true);
            set(&mut is_root, method.output, true);
        }
        (0..).map(TypeId).zip(is_root).filter(|(_, is)| *is).map(|(ty, _)| ty)
    }

    /// Marks the types that can hold a marked one, at any depth, through fields and what `more` adds.
    pub fn mark_holders(&self, marks: &mut [bool], more: impl Iterator<Item = (TypeId, TypeId)>) {
        let mut holders: Vec<Vec<TypeId>> = vec![Vec::new(); self.plans.len()];
        let held = self.type_ids().flat_map(|ty| self.held(ty).map(move |i| (ty, i)));
        for (holder, inner) in held.chain(more) {
            if let Some(list) = holders.get_mut(inner.0 as usize) {
                list.push(holder);
            }
        }
        let mut todo: Vec<usize> = marks.iter().enumerate().filter(|(_, m)| **m).map(|(i, _)| i).collect();
        while let Some(at) = todo.pop() {
            for holder in holders.get(at).into_iter().flatten() {
                if !set(marks, *holder, true) {
                    todo.push(holder.0 as usize);
                }
            }
        }
    }

    fn holders_of_secrets(&self) -> Vec<bool> {
        let has = |ty| self.table.fields(ty).any(|field| field.secret());
        let mut marks: Vec<bool> = self.type_ids().map(has).collect();
        for (field, _) in self.annotated().filter(|(_, a)| a.secret) {
            set(&mut marks, field.ty, true);
        }
        if let Some(any) = self.type_by_name("google.protobuf.Any")
            && self.ty(any).known == Some(WellKnown::Any)
            && marks.contains(&true)
        {
            set(&mut marks, any, true);
        }
        let opened = self.annotated().filter_map(|(f, a)| Some((f.ty, self.nested(a.nested?)?.ty?)));
        self.mark_holders(&mut marks, opened);
        marks
    }
}

/// Sets a type's mark; gives what it was.
fn set(marks: &mut [bool], ty: TypeId, mark: bool) -> bool {
    marks.get_mut(ty.0 as usize).is_none_or(|slot| std::mem::replace(slot, mark))
}
