//! Compiles the shipped schema and the well-known types to descriptor sets in the binary.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use prost::Message;

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
    fs::write(out.join("builtin.binpb"), set).expect("OUT_DIR can be written");

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
    fs::write(out.join("well_known.binpb"), set).expect("OUT_DIR can be written");
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
