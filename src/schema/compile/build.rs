//! One plan from one descriptor.
//! Never looks into another type's fields.

use std::collections::HashMap;

use prost::Message;

use crate::schema::{
    Annotation, Cardinality, EnumPlan, Error, FieldPlan, Kind, OneofPlan, Presence, Schema, TypeId, TypePlan,
    WellKnown,
    descriptor::{
        EnumDescriptorProto, FieldDescriptorProto, LABEL_REPEATED, LABEL_REQUIRED, MessageBody, TYPE_BYTES,
        TYPE_GROUP, TYPE_MESSAGE, TYPE_STRING,
    },
    features::{self, Features},
    layers::unresolved,
    names::resolve,
    outline::join,
    secrets,
    table::{EnumRow, ExtensionRow, Symbol, bracketed},
};

/// Largest field number (the wire format keeps 29 bits).
const MAX_NUMBER: i32 = (1 << 29) - 1;

/// The plan of a message.
pub(in crate::schema) fn plan(schema: &Schema, ty: TypeId) -> Result<TypePlan, Error> {
    let table = &schema.table;
    let Some(row) = table.ty(ty) else { return Ok(TypePlan::empty()) };
    let file = table.file(row.file);
    let unreadable = |file: &str, e| Error::new(file, format!("is not a descriptor set: {e}"));
    let proto = MessageBody::decode(row.raw).map_err(|e| unreadable(file, e))?;
    let mut fields = Vec::with_capacity(proto.field.len());
    for field_proto in &proto.field {
        let oneof = field_proto.oneof_index.and_then(|at| proto.oneof_decl.get(usize::try_from(at).ok()?));
        let features = row.features.with(oneof.and_then(|o| o.options.as_ref()?.features.as_ref()));
        fields.push(field(file, field_proto, row.name, features, schema)?);
    }
    let synthetic = |at: usize| {
        let mut branches = proto.field.iter().filter(|f| f.oneof_index == Some(at as i32));
        branches.any(|f| f.proto3_optional)
    };
    let mut oneofs = Vec::new();
    let mut place = HashMap::new();
    for (at, oneof) in proto.oneof_decl.iter().enumerate() {
        if !synthetic(at) {
            place.insert(at as i32, oneofs.len() as u16);
            oneofs.push(OneofPlan { name: oneof.name.as_str().into(), fields: Box::default() });
        }
    }
    for (plan, proto) in fields.iter_mut().zip(&proto.field) {
        plan.oneof = proto.oneof_index.and_then(|at| place.get(&at).copied());
        if plan.oneof.is_some() && plan.presence == Presence::Implicit {
            plan.presence = Presence::Explicit;
        }
    }
    for ExtensionRow { file, scope, raw, features } in table.extensions(row.extensions) {
        let file = table.file(file);
        let proto = FieldDescriptorProto::decode(raw).map_err(|e| unreadable(file, e))?;
        let mut field = field(file, &proto, scope, features, schema)?;
        field.name = bracketed(scope, &proto.name).into();
        field.json_name = (*field.name).into();
        fields.push(field);
    }
    let plan = TypePlan {
        name: row.name.into(),
        fields,
        oneofs,
        map_entry: table.is_map_entry(ty),
        ..TypePlan::empty()
    };
    finish(plan)
}

/// The plan of a field or extension.
fn field(
    file: &str,
    proto: &FieldDescriptorProto,
    scope: &str,
    features: Features,
    schema: &Schema,
) -> Result<FieldPlan, Error> {
    let fault = |what: String| Error::new(file, format!("{}: {what}", join(scope, &proto.name)));
    if !(1..=MAX_NUMBER).contains(&proto.number) {
        return Err(fault(format!("field number {} is out of range", proto.number)));
    }
    let kind = match proto.r#type {
        1 => Kind::Double,
        2 => Kind::Float,
        3 => Kind::Int64,
        4 => Kind::Uint64,
        5 => Kind::Int32,
        6 => Kind::Fixed64,
        7 => Kind::Fixed32,
        8 => Kind::Bool,
        TYPE_STRING => Kind::String,
        TYPE_BYTES => Kind::Bytes,
        13 => Kind::Uint32,
        15 => Kind::Sfixed32,
        16 => Kind::Sfixed64,
        17 => Kind::Sint32,
        18 => Kind::Sint64,
        0 | TYPE_GROUP | TYPE_MESSAGE | 14 => {
            match (resolve(scope, &proto.type_name, |full| schema.table.symbol(full)), proto.r#type) {
                (Some(Symbol::Message(ty)), 0 | TYPE_GROUP | TYPE_MESSAGE) => Kind::Message(ty),
                (Some(Symbol::Enum(id)), 0 | 14) => Kind::Enum(id),
                (Some(_), _) => {
                    return Err(fault(format!("{} is not of the kind that is declared", proto.type_name)));
                }
                (None, _) => return Err(unresolved(file, &join(scope, &proto.name), &proto.type_name)),
            }
        }
        other => return Err(fault(format!("field type {other} is not known"))),
    };
    let options = proto.options.as_ref();
    let features = features.with(options.and_then(|o| o.features.as_ref()));
    let many = proto.label == LABEL_REPEATED;
    let presence = if many {
        Presence::Implicit
    } else if proto.label == LABEL_REQUIRED || features.presence == features::LEGACY_REQUIRED {
        Presence::Required
    } else if features.presence == features::IMPLICIT
        && !proto.proto3_optional
        && proto.extendee.is_empty()
        && kind.message().is_none()
    {
        Presence::Implicit
    } else {
        Presence::Explicit
    };
    let is_map = many && kind.message().is_some_and(|ty| schema.table.makes_map(ty));
    let packable = !matches!(kind, Kind::String | Kind::Bytes | Kind::Message(_));
    let packed = options.and_then(|o| o.packed).unwrap_or(features.repeated == features::PACKED);
    let secret = options.is_some_and(|o| o.debug_redact)
        || matches!(kind, Kind::String | Kind::Bytes) && secrets::is_secret_name(&proto.name);
    Ok(FieldPlan {
        number: proto.number as u32,
        name: proto.name.as_str().into(),
        json_name: proto.json_name.clone().unwrap_or_else(|| camel_case(&proto.name)).into(),
        kind,
        cardinality: match many {
            true if is_map => Cardinality::Map,
            true => Cardinality::Repeated,
            false => Cardinality::Singular,
        },
        presence,
        packed: many && packable && packed,
        delimited: proto.r#type == TYPE_GROUP
            || (kind.message().is_some() && features.message == features::DELIMITED),
        utf8: features.utf8 == features::VERIFY,
        oneof: None,
        annotation: Annotation { secret, ..Annotation::default() },
    })
}

/// The plan of an enum.
pub(in crate::schema) fn enum_plan(row: EnumRow<'_>) -> EnumPlan {
    // Read before, as a part of its set.
    let proto = EnumDescriptorProto::decode(row.raw).unwrap_or_default();
    let mut by_number: Vec<(i32, Box<str>)> =
        proto.value.iter().map(|v| (v.number, v.name.as_str().into())).collect();
    by_number.sort_by_key(|(number, _)| *number);
    by_number.dedup_by_key(|(number, _)| *number);
    let mut by_name: Vec<(Box<str>, i32)> =
        proto.value.iter().map(|v| (v.name.as_str().into(), v.number)).collect();
    by_name.sort();
    EnumPlan {
        name: row.name.into(),
        closed: row.features.enum_type == features::CLOSED,
        null: row.name == "google.protobuf.NullValue",
        first: proto.value.first().map_or(0, |v| v.number),
        by_number: by_number.into(),
        by_name: by_name.into(),
    }
}

/// What needs all fields: order, look-ups, oneofs, the well-known shape.
fn finish(mut ty: TypePlan) -> Result<TypePlan, Error> {
    ty.fields.sort_by_key(|f| f.number);
    let pairs = ty.fields.iter().zip(ty.fields.iter().skip(1));
    if let Some((a, b)) = pairs.into_iter().find(|(a, b)| a.number == b.number) {
        let text = format!("{}: fields {} and {} share the number {}", ty.name, a.name, b.name, a.number);
        return Err(Error::new("schema", text));
    }
    if ty.fields.len() >= usize::from(u16::MAX) {
        return Err(Error::new("schema", format!("{} has more than 65,534 fields", ty.name)));
    }
    let mut dense =
        vec![0; ty.fields.iter().map(|f| f.number as usize + 1).filter(|n| *n <= 256).max().unwrap_or(0)];
    let mut branches = vec![Vec::new(); ty.oneofs.len()];
    for (i, field) in ty.fields.iter_mut().enumerate() {
        if let Some(slot) = dense.get_mut(field.number as usize) {
            *slot = i as u16 + 1;
        }
        if let Some(list) = field.oneof.and_then(|o| branches.get_mut(usize::from(o))) {
            list.push(i as u16);
        }
        // No feature makes a map's entry, or what it holds, a group.
        field.delimited &= !ty.map_entry && field.cardinality != Cardinality::Map;
    }
    for (oneof, fields) in ty.oneofs.iter_mut().zip(branches) {
        oneof.fields = fields.into();
    }
    ty.dense = dense.into();
    ty.by_name = sorted(&ty.fields, |f| &f.name);
    ty.by_json_name = sorted(&ty.fields, |f| &f.json_name);
    let json_name = |place: &u16| ty.field(*place).map_or("", |field| &field.json_name);
    let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let mut names = ty.by_json_name.iter().map(json_name);
    let mut before = None;
    ty.has_odd_names = names.any(|name| before.replace(name) == Some(name) || !is_plain(name));
    ty.has_required = ty.fields.iter().any(|f| f.presence == Presence::Required);
    ty.known = well_known(&ty);
    Ok(ty)
}

fn sorted(fields: &[FieldPlan], key: impl Fn(&FieldPlan) -> &str) -> Box<[u16]> {
    let mut order: Vec<u16> = (0..fields.len() as u16).collect();
    order.sort_by_key(|i| fields.get(usize::from(*i)).map(&key));
    order.into()
}

/// The well-known type that a type is: by its name, and only if its fields are the public ones.
fn well_known(ty: &TypePlan) -> Option<WellKnown> {
    let name = ty.name.strip_prefix("google.protobuf.")?;
    let has = |number: u32, ok: fn(Kind) -> bool, cardinality: Cardinality| {
        let field = ty.index_of(number).and_then(|i| ty.field(i));
        field.is_some_and(|f| ok(f.kind) && f.cardinality == cardinality)
    };
    let one = |number, ok| has(number, ok, Cardinality::Singular);
    let is_message = |kind: Kind| kind.message().is_some();
    let (known, fits) = match name {
        "Any" => (WellKnown::Any, one(1, |k| k == Kind::String) && one(2, |k| k == Kind::Bytes)),
        "Timestamp" => (WellKnown::Timestamp, one(1, |k| k == Kind::Int64) && one(2, |k| k == Kind::Int32)),
        "Duration" => (WellKnown::Duration, one(1, |k| k == Kind::Int64) && one(2, |k| k == Kind::Int32)),
        "FieldMask" => (WellKnown::FieldMask, has(1, |k| k == Kind::String, Cardinality::Repeated)),
        "Struct" => (WellKnown::Struct, has(1, is_message, Cardinality::Map)),
        "ListValue" => (WellKnown::ListValue, has(1, is_message, Cardinality::Repeated)),
        "Value" => (
            WellKnown::Value,
            one(2, |k| k == Kind::Double)
                && one(3, |k| k == Kind::String)
                && one(5, is_message)
                && one(6, is_message),
        ),
        "Empty" => (WellKnown::Empty, ty.fields.is_empty()),
        "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value" | "UInt32Value"
        | "BoolValue" | "StringValue" | "BytesValue" => {
            (WellKnown::Wrapper, ty.fields.len() == 1 && one(1, |k| k.message().is_none()))
        }
        _ => return None,
    };
    fits.then_some(known)
}

/// The ProtoJSON name that protoc makes of a name.
fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.push(c.to_ascii_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}
