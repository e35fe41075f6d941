//! A message put into the message that carries it.
//! Never knows a carrier by name: the rule says which field holds what.

use serde_json::{Map, Value};

use crate::base::text::hex;
use crate::message::json_in;
use crate::schema::{Kind, Presence, Schema, TypeId};

/// How a field holds a carried message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadForm {
    /// Hex text.
    Hex,
    /// Base64 text.
    Base64,
    /// The bytes.
    Raw,
}

/// A carrier, resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Wrap {
    /// The outer message's type.
    pub carrier: TypeId,
    /// The place of the field that holds the payload, and how it does.
    pub payload: (u16, PayloadForm),
    /// The place of the field that orders the messages, and this one's number.
    pub order: Option<(u16, i64)>,
    /// The places of the fields that lead to the id, and the id.
    pub id: Option<(Vec<u16>, String)>,
}

impl Wrap {
    /// The outer message in wire format; an error says which value does not fit.
    pub fn wrap(&self, schema: &Schema, payload: &[u8]) -> Result<Vec<u8>, String> {
        let plan = schema.ty(self.carrier);
        let mut members: Vec<(u32, String, Value)> = Vec::new();
        let field = |place: u16| plan.field(place).ok_or("the carrier has no such field".to_owned());
        let (place, form) = self.payload;
        let holder = field(place)?;
        let text = match (form, holder.kind) {
            (PayloadForm::Hex, _) => hex(payload),
            // A bytes field that holds base64 text holds the text's bytes.
            (PayloadForm::Base64, Kind::Bytes) => {
                let text = base64_simd::STANDARD.encode_to_string(payload);
                base64_simd::STANDARD.encode_to_string(text)
            }
            (PayloadForm::Base64 | PayloadForm::Raw, _) => base64_simd::STANDARD.encode_to_string(payload),
        };
        members.push((holder.number, holder.name.to_string(), Value::from(text)));
        if let Some((place, number)) = self.order {
            let field = field(place)?;
            if number != 0 || field.presence != Presence::Implicit {
                members.push((field.number, field.name.to_string(), Value::from(number)));
            }
        }
        if let Some((path, id)) = &self.id {
            let mut names = Vec::new();
            let mut ty = self.carrier;
            let mut number = None;
            for place in path {
                let Some(field) = schema.ty(ty).field(*place) else { break };
                number = number.or(Some(field.number));
                names.push(field.name.to_string());
                ty = field.kind.message().unwrap_or(ty);
            }
            let first = if names.is_empty() { String::new() } else { names.remove(0) };
            let value = names
                .into_iter()
                .rev()
                .fold(Value::from(id.as_str()), |value, name| Value::Object(Map::from_iter([(name, value)])));
            members.extend(number.map(|number| (number, first, value)));
        }
        members.sort_by_key(|(number, ..)| *number);
        let object: Map<String, Value> = members.into_iter().map(|(_, name, value)| (name, value)).collect();
        let mut out = Vec::new();
        let errors = json_in::encode(
            schema,
            self.carrier,
            &Value::Object(object).to_string(),
            Default::default(),
            &mut out,
        );
        match errors.into_iter().next() {
            None => Ok(out),
            Some(error) => Err(format!("{}: {}", error.path, error.text)),
        }
    }
}

/// The places of the fields that lead from a type to the id of a namespace; none where it has none.
pub fn id_path(schema: &Schema, ty: TypeId, namespace: u16) -> Option<Vec<u16>> {
    const DEEPEST: usize = 3;
    fn look(schema: &Schema, ty: TypeId, namespace: u16, depth: usize) -> Option<Vec<u16>> {
        let plan = schema.ty(ty);
        let fields = || plan.fields.iter().enumerate().filter(|(_, f)| !f.is_many());
        if let Some((place, _)) = fields().find(|(_, f)| f.annotation.id == Some(namespace)) {
            return Some(vec![place as u16]);
        }
        if depth == 0 {
            return None;
        }
        fields().find_map(|(place, field)| {
            let below = look(schema, field.kind.message()?, namespace, depth - 1)?;
            Some([vec![place as u16], below].concat())
        })
    }
    look(schema, ty, namespace, DEEPEST)
}
