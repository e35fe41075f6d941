//! What an operator hands in: schemas, dialects, expressions.

use std::path::PathBuf;
use std::sync::LazyLock;

use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::query::{Filter, Names};
use rpcshark::schema::{self, Schema, Sources};

use super::messages::BUILTIN;

/// A .proto file. It goes by a file, which is where schemas come from.
pub fn fuzz_proto(data: &[u8]) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = std::env::temp_dir().join(format!("rpcshark-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for schemas");
        folder
    });
    let thread =
        format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let file = FOLDER.join(format!("{thread}.proto"));
    std::fs::write(&file, data).expect("the schema is written");
    let sources = Sources {
        roots: vec![FOLDER.clone()],
        protos: vec![file],
        allow_missing_imports: data.len().is_multiple_of(2),
        ..Sources::default()
    };
    if let Ok(loaded) = schema::load(&sources) {
        let _ = loaded.schema.nearest_type("pkg.Nothing");
    }
}

/// A descriptor set.
pub fn fuzz_descriptors(data: &[u8]) {
    if let Ok(schema) = Schema::from_sets(&[("fuzz.binpb", data)]) {
        let _ = schema.nearest_type("pkg.Nothing");
    }
}

/// A dialect, against the built-in schema, in both modes.
pub fn fuzz_dialect(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(rules) = dialect::parse("fuzz.dialect", text) else { return };
    let strict = Mode::Strict { file: "fuzz.dialect", text };
    for mode in [Mode::Lenient, strict] {
        static PLAIN: LazyLock<Schema> = LazyLock::new(|| {
            schema::load(&Sources { builtin: true, ..Sources::default() })
                .expect("the built-in schema")
                .schema
        });
        let (mut schema, mut plan) = (PLAIN.clone(), Plan::default());
        let _ = dialect::compile(&rules, mode, &mut schema, &mut plan);
        let _ = dialect::coverage(&schema, &plan);
    }
}

/// A display filter.
pub fn fuzz_filter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema, plan) = &*BUILTIN;
    let ids: Vec<&str> = plan.namespaces.iter().map(|n| &*n.key).collect();
    let whole = text.len().is_multiple_of(3);
    let names = Names { schema, ids: &ids, carrier: &ids, pairs: &["run"], tokens: &["input"], whole };
    match Filter::new(text, names) {
        Ok(filter) => drop((filter.needs(), filter.later())),
        Err(error) => {
            assert!(error.span.end <= text.len(), "a mistake is in the expression");
            assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
        }
    }
}
