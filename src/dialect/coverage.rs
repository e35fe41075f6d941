//! What a dialect says nothing about: branches, fields and openings of the schema that no rule speaks of.
//! Never calls it wrong: much needs no rule.

use std::collections::BTreeSet;

use crate::schema::{FieldId, FieldPlan, Kind, Schema, TypeId};

use super::matcher::Matcher;
use super::names::resolve;
use super::plan::Plan;
use super::rules::Rules;
use super::timely::{Part, Role};

/// What no rule covers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Branches of the root messages, and of the messages that only choose among others right below.
    pub branches: Vec<String>,
    /// Fields called like ids that belong to no namespace.
    pub ids: Vec<String>,
    /// Fields of bytes, or called after an encoding, that no rule opens.
    pub encodings: Vec<String>,
    /// Fields called like credentials that nothing hides.
    pub secrets: Vec<String>,
    /// Openings that no match fits, where their lifeline has any: every answer is taken.
    pub openings: Vec<String>,
}

/// Names of a dialect that a schema does not have, each once, in the order of the rules.
pub fn unresolved<'r>(rules: &'r Rules, schema: &Schema) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    let mut add = |list: &'r [String]| names.extend(list.iter().map(String::as_str));
    for rule in &rules.level {
        [&rule.open, &rule.close, &rule.title].into_iter().for_each(|l| add(l));
    }
    for rule in &rules.measure {
        [&rule.field, &rule.since, &rule.until].into_iter().for_each(|l| add(l));
    }
    for rule in &rules.stream {
        [&rule.field, &rule.r#break].into_iter().for_each(|l| add(l));
    }
    for rule in &rules.namespace {
        [&rule.field, &rule.mention].into_iter().for_each(|l| add(l));
        for content in &rule.content {
            add(std::slice::from_ref(&content.id));
            add(std::slice::from_ref(&content.data));
        }
    }
    for rule in &rules.tunnel {
        [&rule.order, &rule.end].into_iter().for_each(|l| add(l));
        rule.payload.iter().for_each(|p| add(std::slice::from_ref(&p.field)));
    }
    rules.nested.iter().for_each(|rule| add(&rule.field));
    for rule in &rules.lifeline {
        let lists = [
            &rule.open,
            &rule.early,
            &rule.step,
            &rule.answer,
            &rule.close,
            &rule.abort,
            &rule.aborted,
            &rule.heartbeat,
            &rule.decide,
        ];
        lists.into_iter().for_each(|l| add(l));
    }
    for rule in &rules.ending {
        add(&rule.branch);
        add(std::slice::from_ref(&rule.reason));
        add(&rule.detail);
    }
    rules.fold.iter().for_each(|rule| add(&rule.field));
    rules.secret.iter().for_each(|rule| add(&rule.field));
    rules.pulse.iter().for_each(|rule| add(&rule.branch));
    let mut seen = BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(*name) && resolve(schema, name).is_empty());
    names
}

/// What the rules of a plan leave out of a schema.
pub fn coverage(schema: &Schema, plan: &Plan) -> Coverage {
    let mut out = Coverage::default();
    let roots = plan.matcher.roots();
    for root in &roots {
        branches(schema, &plan.matcher, *root, &mut out.branches);
    }
    plan.matcher.each(&mut |root, path, roles| {
        for role in roles {
            if let Role::Life(number, Part::Open) = role {
                openings(schema, plan, *number, root, path, &mut out.openings);
            }
        }
    });
    let mut by_path: BTreeSet<(u32, u16)> = BTreeSet::new();
    plan.matcher.each(&mut |root, path, _| {
        let mut ty = Some(root);
        for (at, index) in path.iter().enumerate() {
            let Some(own) = ty else { return };
            if at + 1 == path.len() {
                by_path.insert((own.0, *index));
            }
            ty = schema.ty(own).field(*index).and_then(|f| f.kind.message());
        }
    });
    let mut todo: Vec<TypeId> = roots.iter().copied().chain(plan.tunnels.iter().map(|t| t.carrier)).collect();
    let mut seen: BTreeSet<u32> = todo.iter().map(|t| t.0).collect();
    while let Some(ty) = todo.pop() {
        for (index, field) in schema.ty(ty).fields.iter().enumerate() {
            if let Some(inner) = field.kind.message() {
                if seen.insert(inner.0) {
                    todo.push(inner);
                }
                continue;
            }
            let id = FieldId { ty, index: index as u16 };
            let named = !plan.matcher.anywhere(id).is_empty() || by_path.contains(&(ty.0, id.index));
            let name = || format!("{}.{}", schema.ty(ty).name, field.name);
            let is_quiet = named || field.annotation.nested.is_some() || field.annotation.carrier.is_some();
            if is_like_a_secret(field) && !field.annotation.secret {
                out.secrets.push(name());
            } else if is_quiet || field.annotation.secret || schema.ty(ty).map_entry {
            } else if is_like_an_id(field) {
                out.ids.push(name());
            } else if is_like_an_encoding(field) {
                out.encodings.push(name());
            }
        }
    }
    for list in [&mut out.branches, &mut out.ids, &mut out.encodings, &mut out.secrets, &mut out.openings] {
        list.sort();
        list.dedup();
    }
    out
}

fn branches(schema: &Schema, matcher: &Matcher, root: TypeId, out: &mut Vec<String>) {
    let plan = schema.ty(root);
    let Some(start) = matcher.root(root) else { return };
    for (index, field) in plan.fields.iter().enumerate().filter(|(_, f)| f.oneof.is_some()) {
        let name = format!("{}/{}", plan.name, field.name);
        let Some(at) = matcher.below(start, index as u16) else {
            out.push(name);
            continue;
        };
        let inner = field.kind.message().map(|ty| schema.ty(ty));
        // Where a rule speaks of the branch as a whole, it speaks of all in it.
        if !matcher.roles(at).is_empty() {
            continue;
        }
        for (index, field) in inner.iter().flat_map(|p| p.fields.iter().enumerate()) {
            if field.oneof.is_some() && matcher.below(at, index as u16).is_none() {
                out.push(format!("{name}/{}", field.name));
            }
        }
    }
}

fn openings(schema: &Schema, plan: &Plan, number: u16, root: TypeId, path: &[u16], out: &mut Vec<String>) {
    let Some(lifeline) = plan.lifelines.get(usize::from(number)).filter(|l| !l.matches.is_empty()) else {
        return;
    };
    let mut ty = Some(root);
    let mut name = schema.ty(root).name.to_string();
    let mut last = "";
    for index in path {
        let Some(field) = ty.and_then(|ty| schema.ty(ty).field(*index)) else { return };
        name.push('/');
        name.push_str(&field.name);
        last = &field.name;
        ty = field.kind.message();
    }
    let fits = |open: &str, itself: bool| {
        lifeline.matches.iter().any(|m| m.itself == itself && m.expected(open).is_some())
    };
    if fits(last, true) {
        return;
    }
    let Some(ty) = ty else { return };
    for field in schema.ty(ty).fields.iter().filter(|f| f.oneof.is_some()) {
        if !fits(&field.name, false) {
            out.push(format!("{name}/{} ({})", field.name, lifeline.name));
        }
    }
}

fn is_like_an_id(field: &FieldPlan) -> bool {
    let is_value = !matches!(field.kind, Kind::Bool | Kind::Enum(_) | Kind::Double | Kind::Float);
    is_value && (&*field.name == "id" || field.name.ends_with("_id") || field.name.ends_with("_ids"))
}

fn is_like_an_encoding(field: &FieldPlan) -> bool {
    let named = ["_json", "_base64", "_hex"].iter().any(|end| field.name.ends_with(end));
    field.kind == Kind::Bytes || field.kind == Kind::String && named
}

fn is_like_a_secret(field: &FieldPlan) -> bool {
    let words =
        ["password", "secret", "api_key", "access_token", "refresh_token", "credential", "private_key"];
    matches!(field.kind, Kind::String | Kind::Bytes) && words.iter().any(|word| field.name.contains(word))
}
