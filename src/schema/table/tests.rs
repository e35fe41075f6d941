use super::*;
use crate::schema::{Schema, compile, layers::Layer};

const PROTO: &str = "
    syntax = \"proto3\";
    package demo.v1;
    message Outer {
      message Inner { string name = 2; Outer back = 1; }
      Inner inner = 3;
      map<string, Inner> by_name = 1;
      Level level = 2;
      string api_key = 4;
    }
    enum Level { LOW = 0; HIGH = 1; }
    service Calls { rpc Call(Outer) returns (Outer.Inner); }
";

fn table() -> Table {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("demo.proto"), PROTO).unwrap();
    let sources = crate::schema::Sources { roots: vec![folder.path().into()], ..Default::default() };
    crate::schema::load(&sources).unwrap().schema.table
}

/// Asks a table for all that can be asked.
fn ask(table: &Table) -> Vec<String> {
    let mut said = Vec::new();
    for ty in (0..table.types().min(200) + 1).map(TypeId) {
        if let Some(row) = table.ty(ty) {
            said.push(format!("{} {} {} {:?}", row.name, row.file, row.raw.len(), row.features));
            said.extend(table.extensions(row.extensions).map(|e| format!("{} {}", e.scope, e.raw.len())));
        }
        said.push(format!("{} {}", table.is_map_entry(ty), table.makes_map(ty)));
        let fields = table.fields(ty).take(200);
        said.extend(fields.map(|f| format!("{} {:?} {}", f.name(), f.inner(), f.secret())));
    }
    for item in (0..table.enums().min(200) + 1).map(EnumId) {
        said.extend(table.enumeration(item).map(|e| format!("{} {}", e.name, e.raw.len())));
    }
    said.extend(table.services().take(200).map(|s| format!("{} {} {}", s.name, s.file, s.raw.len())));
    for name in ["demo.v1.Outer", "demo.v1.Outer.Inner", "demo.v1.Level", "demo.v1.Calls", "", "x"] {
        said.push(format!("{:?}", table.symbol(name)));
        said.push(format!("{:?}", table.fields_named(name).take(200).collect::<Vec<_>>()));
    }
    said.push(format!("{:?} {}", table.fields_named("inner").collect::<Vec<_>>(), table.file(0)));
    said
}

#[test]
fn says_what_was_written() {
    let table = table();
    let symbol = |name: &str| table.symbol(name);
    let Some(Symbol::Message(outer)) = symbol("demo.v1.Outer") else { panic!("a message") };
    let Some(Symbol::Message(inner)) = symbol("demo.v1.Outer.Inner") else { panic!("a message") };
    assert!(matches!(symbol("demo.v1.Level"), Some(Symbol::Enum(_))));
    assert!(matches!(symbol("demo.v1.Calls"), Some(Symbol::Service(_))));
    assert!(symbol("demo.v1").is_none() && symbol("").is_none());
    let fields: Vec<_> = table.fields(outer).map(|f| (f.name(), f.inner().is_some(), f.secret())).collect();
    let expected =
        [("by_name", true, false), ("level", false, false), ("inner", true, false), ("api_key", false, true)];
    assert_eq!(fields, expected);
    assert_eq!(table.fields_named("inner").collect::<Vec<_>>(), [(outer, 2)]);
    assert_eq!(table.fields_named("back").collect::<Vec<_>>(), [(inner, 0)]);
    let entry = table.fields(outer).next().and_then(|f| f.inner()).unwrap();
    assert!(table.is_map_entry(entry) && table.makes_map(entry) && !table.makes_map(inner));
    let own = table.own();
    assert!(inner.0 < own && own < table.types());
}

#[test]
fn what_is_damaged_or_cut_is_refused_or_looked_up_without_harm() {
    let whole = table();
    for length in 0..whole.bytes.len() {
        let cut = Table::new(whole.bytes.slice(..length), whole.sets.clone());
        assert!(cut.is_none(), "{length}");
    }
    for at in 0..whole.bytes.len() {
        let mut bytes = whole.bytes.to_vec();
        bytes[at] ^= 0x81;
        if let Some(table) = Table::new(bytes.into(), whole.sets.clone()) {
            ask(&table);
        }
    }
    let elsewhere = Table::new(whole.bytes.clone(), Vec::new()).unwrap();
    ask(&elsewhere);
    assert!(ask(&Table::default()).iter().all(|said| !said.contains("demo")));
}

#[test]
fn that_of_the_build_is_that_of_a_run() {
    let sources = crate::schema::Sources { builtin: true, ..Default::default() };
    let ready = crate::schema::load(&sources).unwrap().schema.table;
    let set = ready.sets.first().unwrap().clone();
    let made: Schema = compile::compile(vec![Layer::kept(set)]).unwrap();
    assert!(made.table.bytes == ready.bytes && made.table.sets == ready.sets);
}
