//! What differs between two schemas, and which of it messages on the wire do not survive.
//! Never compares comments, options, or the order of declarations.

use super::{Cardinality, FieldPlan, Kind, Method, Schema, TypePlan};

/// How something differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sort {
    /// Only the schema before has it.
    Removed,
    /// Only the schema after has it.
    Added,
    /// Both have it, with a difference.
    Changed,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// Full name of the message, enum or method it is in.
    pub name: String,
    /// The field or value, with its number.
    pub member: Option<String>,
    /// How.
    pub sort: Sort,
    /// What it was and became, where that is not said by the names.
    pub text: String,
    /// Whether one side misreads what the other wrote (protobuf, Updating A Message Type).
    pub breaking: bool,
}

/// Every difference, by name.
pub fn compare(before: &Schema, after: &Schema) -> Vec<Change> {
    let mut changes = Vec::new();
    messages(before, after, &mut changes);
    enums(before, after, &mut changes);
    methods(before, after, &mut changes);
    changes.sort();
    changes
}

fn whole(sort: Sort, what: &str, name: &str, breaking: bool) -> Change {
    Change { name: name.to_owned(), member: None, sort, text: what.to_owned(), breaking }
}

fn messages(before: &Schema, after: &Schema, changes: &mut Vec<Change>) {
    let own = |schema: &Schema, name: &str| schema.type_by_name(name).is_some();
    for (_, plan) in before.types().filter(|(_, t)| !t.map_entry) {
        match after.type_by_name(&plan.name) {
            None => changes.push(whole(Sort::Removed, "message", &plan.name, false)),
            Some(ty) => fields((before, plan), (after, after.ty(ty)), changes),
        }
    }
    let added = after.types().filter(|(_, t)| !t.map_entry && !own(before, &t.name));
    changes.extend(added.map(|(_, t)| whole(Sort::Added, "message", &t.name, false)));
}

/// Fields are one by their number: that is what the wire knows them by.
fn fields(
    (before, left): (&Schema, &TypePlan),
    (after, right): (&Schema, &TypePlan),
    changes: &mut Vec<Change>,
) {
    let mut push = |field: &FieldPlan, sort, text, breaking| {
        let member = Some(format!("{} = {}", field.name, field.number));
        changes.push(Change { name: left.name.to_string(), member, sort, text, breaking });
    };
    for field in &left.fields {
        let Some(other) = right.index_of(field.number).and_then(|i| right.field(i)) else {
            push(field, Sort::Removed, String::new(), false);
            continue;
        };
        let (was, is) = (shape(before, left, field), shape(after, right, other));
        if was != is {
            push(field, Sort::Changed, format!("{was} became {is}"), !survives(before, field, after, other));
        }
        if field.name != other.name {
            // ProtoJSON and text format know fields by name.
            push(field, Sort::Changed, format!("is called {}", other.name), false);
        }
    }
    for field in right.fields.iter().filter(|f| left.index_of(f.number).is_none()) {
        push(field, Sort::Added, shape(after, right, field), false);
    }
}

/// Label, type and oneof in a word or two.
fn shape(schema: &Schema, plan: &TypePlan, field: &FieldPlan) -> String {
    let label = match field.cardinality {
        Cardinality::Map => "map of ",
        Cardinality::Repeated => "repeated ",
        _ => "",
    };
    let oneof = field.oneof.and_then(|o| plan.oneofs.get(usize::from(o)));
    let oneof = oneof.map(|o| format!(" in oneof {}", o.name)).unwrap_or_default();
    format!("{label}{}{oneof}", type_name(schema, field))
}

fn type_name(schema: &Schema, field: &FieldPlan) -> String {
    match field.kind {
        Kind::Message(ty) => {
            let plan = schema.ty(ty);
            let parts = plan.fields.iter().filter(|_| plan.map_entry);
            let parts: Vec<String> = parts.map(|part| type_name(schema, part)).collect();
            if plan.map_entry { parts.join(" to ") } else { plan.name.to_string() }
        }
        Kind::Enum(id) => schema.enum_plan(id).map(|e| e.name.to_string()).unwrap_or_default(),
        scalar => scalar.name().to_owned(),
    }
}

/// Whether what was written as one field can be read as the other, with at most a lost part.
fn survives(before: &Schema, field: &FieldPlan, after: &Schema, other: &FieldPlan) -> bool {
    let many = |f: &FieldPlan| f.cardinality != Cardinality::Singular;
    let same_label = many(field) == many(other) && field.delimited == other.delimited;
    same_label
        && match (family(field.kind), family(other.kind)) {
            (Family::Message, Family::Message) => type_name(before, field) == type_name(after, other),
            (was, is) => was == is,
        }
}

/// Types that read each other's bytes.
#[derive(PartialEq, Eq)]
enum Family {
    Varint,
    Zigzag,
    Fixed32,
    Fixed64,
    Float,
    Double,
    Text,
    Message,
}

fn family(kind: Kind) -> Family {
    match kind {
        Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64 | Kind::Bool | Kind::Enum(_) => {
            Family::Varint
        }
        Kind::Sint32 | Kind::Sint64 => Family::Zigzag,
        Kind::Fixed32 | Kind::Sfixed32 => Family::Fixed32,
        Kind::Fixed64 | Kind::Sfixed64 => Family::Fixed64,
        Kind::Float => Family::Float,
        Kind::Double => Family::Double,
        Kind::String | Kind::Bytes => Family::Text,
        Kind::Message(_) => Family::Message,
    }
}

fn enums(before: &Schema, after: &Schema, changes: &mut Vec<Change>) {
    for (_, plan) in before.enums() {
        let Some(other) = after.enum_by_name(&plan.name).and_then(|id| after.enum_plan(id)) else {
            changes.push(whole(Sort::Removed, "enum", &plan.name, false));
            continue;
        };
        let mut push = |number: i32, value: &str, sort, text: String| {
            let member = Some(format!("{value} = {number}"));
            changes.push(Change { name: plan.name.to_string(), member, sort, text, breaking: false });
        };
        for (number, value) in plan.values() {
            match other.name_of(number) {
                None => push(number, value, Sort::Removed, String::new()),
                Some(name) if name != value && plan.name_of(number) == Some(value) => {
                    push(number, value, Sort::Changed, format!("is called {name}"));
                }
                Some(_) => {}
            }
        }
        for (number, value) in other.values().filter(|(number, _)| plan.name_of(*number).is_none()) {
            push(number, value, Sort::Added, String::new());
        }
    }
    let added = after.enums().filter(|(_, e)| before.enum_by_name(&e.name).is_none());
    changes.extend(added.map(|(_, e)| whole(Sort::Added, "enum", &e.name, false)));
}

fn methods(before: &Schema, after: &Schema, changes: &mut Vec<Change>) {
    for method in before.methods() {
        match after.method(&method.name) {
            None => changes.push(whole(Sort::Removed, "rpc", &method.name, true)),
            Some(other) => {
                let (was, is) = (signature(before, method), signature(after, other));
                if was != is {
                    changes.push(whole(Sort::Changed, &format!("rpc {was} became {is}"), &method.name, true));
                }
            }
        }
    }
    let added = after.methods().iter().filter(|m| before.method(&m.name).is_none());
    changes.extend(added.map(|m| whole(Sort::Added, "rpc", &m.name, false)));
}

/// What a method takes and gives, as .proto text says it.
fn signature(schema: &Schema, method: &Method) -> String {
    let side = |stream: bool, ty| format!("({}{})", if stream { "stream " } else { "" }, schema.ty(ty).name);
    let input = side(method.client_streaming, method.input);
    format!("{input} returns {}", side(method.server_streaming, method.output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Sources, load};

    fn schema(text: &str) -> Schema {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.proto"), format!("syntax = 'proto3'; package p; {text}"))
            .unwrap();
        load(&Sources { roots: vec![folder.path().into()], ..Sources::default() }).unwrap().schema
    }

    fn check(before: &str, after: &str) -> Vec<String> {
        let shown = |c: &Change| {
            let sign = match c.sort {
                Sort::Removed => '-',
                Sort::Added => '+',
                Sort::Changed => '~',
            };
            let member = c.member.as_deref().map(|m| format!(" {m}")).unwrap_or_default();
            format!("{sign}{} {}{member}: {}", if c.breaking { "!" } else { "" }, c.name, c.text)
        };
        compare(&schema(before), &schema(after)).iter().map(shown).collect()
    }

    #[test]
    fn the_same() {
        assert!(
            check("message M { map<string, M> m = 1; }", "message M { map<string, M> m = 1; }").is_empty()
        );
    }

    #[test]
    fn fields_by_number() {
        let before = "message M { int32 a = 1; string b = 2; string c = 3; }";
        let after = "message M { int64 a = 1; string d = 2; int32 e = 4; }";
        let expected = [
            "~ p.M a = 1: int32 became int64",
            "~ p.M b = 2: is called d",
            "- p.M c = 3: ",
            "+ p.M e = 4: int32",
        ];
        assert_eq!(check(before, after), expected);
    }

    #[test]
    fn what_breaks() {
        let changes = check("message M { int32 a = 1; }", "message M { sint32 a = 1; }");
        assert_eq!(changes, ["~! p.M a = 1: int32 became sint32"]);
        let changes = check("message M { M a = 1; }", "message N {} message M { N a = 1; }");
        assert!(changes.contains(&"~! p.M a = 1: p.M became p.N".to_owned()));
        let changes = check("message M {} service S { rpc R(M) returns (M); }", "message M {}");
        assert_eq!(changes, ["-! p.S/R: rpc"]);
        let changes = check("message M { int32 a = 1; }", "message M { repeated int32 a = 1; }");
        assert_eq!(changes, ["~! p.M a = 1: int32 became repeated int32"]);
    }

    #[test]
    fn enums() {
        let changes = check("enum E { A = 0; B = 1; C = 2; }", "enum E { A = 0; X = 1; D = 3; }");
        assert_eq!(changes, ["~ p.E B = 1: is called X", "- p.E C = 2: ", "+ p.E D = 3: "]);
    }
}
