//! Compiles the shipped schema and the well-known types to descriptor sets in the binary.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use prost::Message;

#[allow(dead_code, unused_imports, reason = "the library uses all of it")]
#[path = "src/schema/built.rs"]
mod schema;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = Path::new("descriptors");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=descriptors");

    let mut files = Vec::new();
    find_protos(&root.join("agent"), &mut files);
    files.sort();
    // The files import each other from the agent folder; dialect.proto lies beside it.
    let includes = [root.join("agent"), root.to_path_buf()];
    let set = if files.is_empty() {
        Vec::new()
    } else {
        match compile(&includes, &files, false) {
            Ok(set) => set,
            Err(error) => panic!("descriptors/agent does not compile: {error:?}"),
        }
    };
    let builtin = set;
    fs::write(out.join("builtin.binpb"), &builtin).expect("OUT_DIR can be written");

    let (schema, rules) = dialect(root, "agent");
    fs::write(out.join("dialect.binpb"), schema).expect("OUT_DIR can be written");
    fs::write(out.join("agent.dialect.binpb"), rules).expect("OUT_DIR can be written");

    let well_known = [
        "any",
        "duration",
        "empty",
        "field_mask",
        "struct",
        "timestamp",
        "wrappers",
        "api",
        "type",
        "source_context",
    ];
    let names: Vec<PathBuf> =
        well_known.iter().map(|n| format!("google/protobuf/{n}.proto").into()).collect();
    let set = compile(&[] as &[&Path], &names, false).expect("protox bundles the well-known types");
    fs::write(out.join("well_known.binpb"), &set).expect("OUT_DIR can be written");

    match schema::table(&[&builtin, &set]) {
        Ok(table) => fs::write(out.join("builtin.table"), table).expect("OUT_DIR can be written"),
        Err(error) => panic!("descriptors/agent does not compile: {error:?}"),
    }
    let mut texts = vec![format!("{builtin:?}"), format!("{set:?}")];
    for name in schema::FILES {
        let path = Path::new("src/schema").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        texts.push(fs::read_to_string(path).expect("the library's own files are there"));
    }
    // Tables that are kept between runs are those of this build alone.
    println!("cargo::rustc-env=RPCSHARK_TABLES={:016x}", schema::stamp(&texts));
}

/// The schema of dialects, and a dialect's text checked by it, both in wire format.
fn dialect(root: &Path, name: &str) -> (Vec<u8>, Vec<u8>) {
    let set = compile(&[root], &[root.join("dialect.proto")], true).expect("dialect.proto compiles");
    let pool = prost_reflect::DescriptorPool::decode(set.as_slice())
        .expect("protox writes what prost-reflect reads");
    let descriptor = pool.get_message_by_name("rpcshark.dialect.v1.Dialect").expect("dialect.proto has it");
    let file = root.join(name).join("dialect.txtpb");
    let text = fs::read_to_string(&file).expect("the dialect is there");
    match prost_reflect::DynamicMessage::parse_text_format(descriptor, &text) {
        Ok(rules) => (set, rules.encode_to_vec()),
        Err(error) => panic!("{}: {error}", file.display()),
    }
}

fn compile(
    includes: &[impl AsRef<Path>],
    files: &[PathBuf],
    imports: bool,
) -> Result<Vec<u8>, protox::Error> {
    let mut compiler = protox::Compiler::new(includes)?;
    compiler.include_imports(imports).include_source_info(false);
    compiler.open_files(files)?;
    Ok(compiler.file_descriptor_set().encode_to_vec())
}

fn find_protos(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            find_protos(&path, found);
        } else if path.extension().is_some_and(|e| e == "proto") {
            found.push(path);
        }
    }
}
