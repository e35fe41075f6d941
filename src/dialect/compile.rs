//! Rules into a plan: every name looked up once, every field they speak of annotated.
//! Never stops at a name that the schema lacks where the dialect is the built-in one.

use crate::base::text::nearest;
use crate::schema::{Annotation, Encoding, FieldId, Inner, Nested, Schema, TypeId};

use super::Error;
use super::names::resolve;
use super::plan::{Namespace, Payload, PayloadEncoding, Plan, Tunnel};
use super::rules::{self, Rules};

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
    let mut compiler = Compiler { schema, plan, mode, error: None };
    compiler.namespaces(&rules.namespace);
    compiler.tunnels(&rules.tunnel);
    compiler.nested(&rules.nested);
    compiler.secrets(&rules.secret);
    if let (Mode::Strict { .. }, None) = (mode, &compiler.error) {
        compiler.check_the_rest(rules);
    }
    let error = compiler.error;
    schema.settle();
    error.map_or(Ok(()), Err)
}

struct Compiler<'s, 'm> {
    schema: &'s mut Schema,
    plan: &'s mut Plan,
    mode: Mode<'m>,
    error: Option<Error>,
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

    fn fields(&mut self, names: &[String]) -> Vec<FieldId> {
        let mut out = Vec::new();
        for name in names {
            let places = resolve(self.schema, name);
            if places.is_empty() {
                self.unknown("field", name);
            }
            out.extend(places.into_iter().map(|p| p.field));
        }
        out
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
        let found = self.plan.namespaces.iter().position(|n| &*n.name == name);
        if found.is_none() {
            self.unknown("namespace", name);
        }
        found.map(|at| at as u16)
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
            });
        }
        for rule in rules {
            let Some(number) = self.namespace(&rule.name) else { continue };
            let (within, spreads) = (self.namespace(&rule.within), self.namespace(&rule.spreads));
            if let Some(namespace) = self.plan.namespaces.get_mut(usize::from(number)) {
                namespace.within = within;
                namespace.spreads = spreads;
            }
            for field in self.fields(&rule.field) {
                self.schema.annotate(field, Annotation { id: Some(number), ..Annotation::default() });
            }
            self.fields(&rule.mention);
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
                            });
                            self.plan.tunnels.len() - 1
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
            }
        }
    }

    fn secrets(&mut self, rules: &[rules::Secret]) {
        for rule in rules.iter().filter(|r| !r.personal) {
            for field in self.fields(&rule.field) {
                self.schema.annotate(field, Annotation { secret: true, ..Annotation::default() });
            }
            self.plan.secret_headers.extend(rule.header.iter().map(|h| h.to_ascii_lowercase()));
            self.plan.secret_parameters.extend(rule.query.iter().cloned());
        }
    }

    /// Looks up the names of rules that other rooms read.
    fn check_the_rest(&mut self, rules: &Rules) {
        for rule in &rules.lifeline {
            for names in
                [&rule.open, &rule.early, &rule.step, &rule.answer, &rule.close, &rule.abort, &rule.aborted]
            {
                self.fields(names);
            }
            for names in [&rule.heartbeat, &rule.decide] {
                self.fields(names);
            }
            self.namespace(&rule.namespace);
            self.namespace(&rule.within);
        }
        for rule in &rules.ending {
            self.fields(&rule.branch);
        }
        for rule in &rules.fold {
            self.fields(&rule.field);
            self.namespace(&rule.key);
        }
        for rule in &rules.stream {
            self.fields(&rule.field);
            self.fields(&rule.r#break);
            self.namespace(&rule.key);
        }
        for rule in &rules.measure {
            for names in [&rule.field, &rule.since, &rule.until] {
                self.fields(names);
            }
        }
        for rule in &rules.level {
            for names in [&rule.open, &rule.close, &rule.title] {
                self.fields(names);
            }
            self.namespace(&rule.namespace);
        }
        for rule in &rules.pulse {
            self.fields(&rule.branch);
        }
    }
}
