//! Rules into a plan: every name looked up once, every field they speak of annotated.
//! Never stops at a name that the schema lacks where the dialect is the built-in one.

use crate::base::text::nearest;
use crate::schema::{Annotation, Encoding, FieldId, Inner, Nested, Schema, TypeId};

use super::Error;
use super::names::{Place, resolve};
use super::plan::{Namespace, Payload, PayloadEncoding, Plan, Relation, Tunnel};
use super::rules::{self, Rules};
use super::timely::Role;

mod timely;

/// How names that the schema lacks are taken.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// Left out: the schema decides how much of the dialect holds.
    Lenient,
    /// Refused, with their place in this file.
    Strict {
        /// The file, for messages.
        file: &'a str,
        /// Its text.
        text: &'a str,
    },
}

/// Adds the rules of a dialect to a plan and to the schema's annotations.
pub fn compile(rules: &Rules, mode: Mode<'_>, schema: &mut Schema, plan: &mut Plan) -> Result<(), Error> {
    let bases = Bases {
        namespaces: plan.namespaces.len(),
        lifelines: plan.lifelines.len(),
        levels: plan.levels.len(),
        roots: Vec::new(),
    };
    let mut compiler = Compiler { schema, plan, mode, error: None, bases };
    compiler.namespaces(&rules.namespace);
    compiler.tunnels(&rules.tunnel);
    compiler.nested(&rules.nested);
    compiler.secrets(&rules.secret);
    compiler.timely(rules);
    let error = compiler.error;
    plan.matcher.settle(schema);
    error.map_or(Ok(()), Err)
}

struct Compiler<'s, 'm> {
    schema: &'s mut Schema,
    plan: &'s mut Plan,
    mode: Mode<'m>,
    error: Option<Error>,
    bases: Bases,
}

/// Where this dialect begins in the plan's lists: names hold within one dialect.
struct Bases {
    namespaces: usize,
    lifelines: usize,
    levels: usize,
    /// Root types that its paths start at.
    roots: Vec<TypeId>,
}

impl Compiler<'_, '_> {
    /// Notes a name that does not resolve; the first is reported.
    fn unknown(&mut self, what: &str, name: &str) {
        let Mode::Strict { file, text } = self.mode else { return };
        if self.error.is_some() {
            return;
        }
        let at = text.find(&format!("\"{name}\"")).map_or(0, |at| at + 1);
        let type_part = name.split('/').next().unwrap_or(name);
        let near = match self.schema.type_by_name(type_part) {
            Some(_) => None,
            None => {
                let (owner, field) = type_part.rsplit_once('.').unwrap_or(("", type_part));
                match self.schema.type_by_name(owner) {
                    Some(ty) => {
                        nearest(field, self.schema.ty(ty).fields.iter().map(|f| &*f.name)).map(str::to_owned)
                    }
                    None => self
                        .schema
                        .nearest_type(if what == "type" { type_part } else { owner })
                        .map(str::to_owned),
                }
            }
        };
        let hint = near.map(|n| format!("; the nearest known name is '{n}'")).unwrap_or_default();
        let message = format!("the schema has no {what} '{name}'{hint}");
        self.error = Some(Error::at(file, text, at..at + name.len(), message));
    }

    /// Notes what cannot be used; the first is reported.
    fn refuse(&mut self, what: &str, message: String) {
        let Mode::Strict { file, text } = self.mode else { return };
        let at = text.find(what).unwrap_or(0);
        self.error.get_or_insert_with(|| Error::at(file, text, at..at + what.len(), message));
    }

    fn fields(&mut self, names: &[String]) -> Vec<FieldId> {
        self.places(names).into_iter().map(|p| p.field).collect()
    }

    fn places(&mut self, names: &[String]) -> Vec<Place> {
        let mut out: Vec<Place> = Vec::new();
        for name in names {
            let places = resolve(self.schema, name);
            if places.is_empty() {
                self.unknown("field", name);
            }
            out.extend(places);
        }
        for root in out.iter().filter_map(|p| p.root) {
            if !self.bases.roots.contains(&root) {
                self.bases.roots.push(root);
            }
        }
        out
    }

    /// Gives a role to the places of names.
    fn roles(&mut self, names: &[String], role: Role) -> Vec<Place> {
        let places = self.places(names);
        places.iter().for_each(|place| self.plan.matcher.add(place, role));
        places
    }

    fn ty(&mut self, name: &str) -> Option<TypeId> {
        let ty = self.schema.type_by_name(name);
        if ty.is_none() {
            self.unknown("type", name);
        }
        ty
    }

    fn namespace(&mut self, name: &str) -> Option<u16> {
        if name.is_empty() {
            return None;
        }
        let own = self.plan.namespaces.iter().enumerate().skip(self.bases.namespaces);
        let found = own.into_iter().find(|(_, n)| &*n.name == name).map(|(at, _)| at as u16);
        if found.is_none() {
            self.unknown("namespace", name);
        }
        found
    }

    fn namespaces(&mut self, rules: &[rules::Namespace]) {
        for rule in rules {
            let key = if rule.key.is_empty() { &rule.name } else { &rule.key };
            self.plan.namespaces.push(Namespace {
                name: rule.name.as_str().into(),
                key: key.as_str().into(),
                within: None,
                whole_exchange: rule.whole_exchange,
                spreads: None,
                headers: rule.header.iter().map(|h| h.to_ascii_lowercase()).collect(),
                default_zero: rule.default_zero,
                mention_headers: relations(rule),
                separator: rule.separator.as_str().into(),
                lasting: rule.lasting,
            });
        }
        for rule in rules {
            let Some(number) = self.namespace(&rule.name) else { continue };
            let (within, spreads) = (self.namespace(&rule.within), self.namespace(&rule.spreads));
            if let Some(namespace) = self.plan.namespaces.get_mut(usize::from(number)) {
                namespace.within = within;
                namespace.spreads = spreads;
            }
            for place in self.roles(&rule.field, Role::Id(number)) {
                self.schema.annotate(place.field, Annotation { id: Some(number), ..Annotation::default() });
                if rule.default_zero {
                    self.plan.matcher.add_zero(self.schema, &place, number);
                }
            }
            self.roles(&rule.mention, Role::Mention(number));
        }
    }

    fn tunnels(&mut self, rules: &[rules::Tunnel]) {
        for rule in rules {
            let Some(inner) = self.ty(&rule.r#type) else { continue };
            let namespace = self.namespace(&rule.namespace);
            let mut siblings = Vec::new();
            for sibling in &rule.sibling {
                if let Some(ty) = self.ty(&sibling.r#type) {
                    siblings.push((sibling.method.as_str().into(), ty));
                }
            }
            let order = self.fields(&rule.order);
            self.roles(&rule.end, Role::TunnelEnd);
            for payload in &rule.payload {
                let encoding = match payload.encoding {
                    3 => PayloadEncoding::Hex,
                    4 => PayloadEncoding::Base64,
                    _ => PayloadEncoding::Raw,
                };
                for field in self.fields(std::slice::from_ref(&payload.field)) {
                    let number = match self.plan.tunnels.iter().position(|t| t.carrier == field.ty) {
                        Some(at) => at,
                        None => {
                            self.plan.tunnels.push(Tunnel {
                                carrier: field.ty,
                                payloads: Vec::new(),
                                inner,
                                namespace,
                                order: order.iter().find(|o| o.ty == field.ty).map(|o| o.index),
                                siblings: siblings.clone(),
                                in_flight: rule.in_flight.max(1),
                            });
                            let types = [inner].into_iter().chain(siblings.iter().map(|(_, ty)| *ty));
                            let number = self.plan.tunnels.len() - 1;
                            self.schema.carry(number as u16, types.collect());
                            number
                        }
                    };
                    self.plan.tunnels[number].payloads.push(Payload { field: field.index, encoding });
                    self.schema.annotate(
                        field,
                        Annotation { carrier: Some(number as u16), ..Annotation::default() },
                    );
                }
            }
        }
    }

    fn nested(&mut self, rules: &[rules::Nested]) {
        for rule in rules {
            let ty = if rule.r#type.is_empty() { None } else { self.ty(&rule.r#type) };
            let encoding = match rule.encoding {
                1 => Encoding::Json,
                2 => Encoding::Protobuf,
                3 => Encoding::Hex,
                4 => Encoding::Base64,
                5 => Encoding::Blob,
                6 => Encoding::Text,
                // Media and what is opaque stay as they are.
                _ => continue,
            };
            if rule.fragment || encoding == Encoding::Protobuf && ty.is_none() {
                self.fields(&rule.field);
                continue;
            }
            let inner = match rule.content {
                1 => Some(Inner::Json),
                6 => Some(Inner::Text),
                _ => None,
            };
            let number = self.schema.add_nested(Nested { encoding, ty, inner });
            for field in self.fields(&rule.field) {
                self.schema.annotate(field, Annotation { nested: Some(number), ..Annotation::default() });
                if rule.length.is_empty() {
                    continue;
                }
                match self.schema.ty(field.ty).field_by_name(&rule.length) {
                    Some(index) => self.plan.lengths.push((field, index)),
                    None => self.unknown("field", &rule.length),
                }
            }
        }
    }

    fn secrets(&mut self, rules: &[rules::Secret]) {
        for rule in rules.iter().filter(|r| !r.personal) {
            for field in self.fields(&rule.field) {
                self.schema.annotate(field, Annotation { secret: true, ..Annotation::default() });
            }
            let secrets = self.schema.secrets_mut();
            if let Err(error) = secrets.add(&rule.header, &rule.query, &rule.path, &rule.json_key) {
                let first = rule.json_key.first().map_or("", String::as_str);
                self.refuse(first, format!("these keys are too many or too long together: {error}"));
            }
            for pattern in &rule.pattern {
                // What is built in is known to be right: a test adds it as an operator's.
                let added = match self.mode {
                    Mode::Lenient => {
                        self.schema.secrets_mut().add_known(pattern);
                        Ok(())
                    }
                    Mode::Strict { .. } => self.schema.secrets_mut().add_pattern(pattern),
                };
                if let Err(error) = added {
                    self.refuse(pattern, format!("no pattern: {error}"));
                }
            }
        }
    }
}

/// Headers that point to others, those that say in what way first.
fn relations(rule: &rules::Namespace) -> Vec<Relation> {
    let told = rule.relation.iter().map(|r| Relation {
        header: r.header.to_ascii_lowercase(),
        name: r.name.as_str().into(),
        inside: Some(r.inside),
    });
    let bare = rule
        .mention_header
        .iter()
        .map(|h| Relation { header: h.to_ascii_lowercase(), ..Relation::default() });
    told.chain(bare).collect()
}
