//! The fuzz targets over their corpus: what once broke something, and a beginning for the fuzzer.

#[path = "../fuzz/targets/mod.rs"]
pub mod targets;

use std::fs;
use std::path::PathBuf;

use rayon::prelude::*;

/// Inputs up to this length are tried at every cut, longer ones at so many.
const SHORT: usize = 64;

#[test]
fn every_corpus_input_is_survived() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    targets::ALL.par_iter().for_each(|(name, target, folders)| {
        let files = folders.iter().flat_map(|f| fs::read_dir(corpus.join(f)).into_iter().flatten().flatten());
        let mut seen = 0;
        for file in files {
            let data = fs::read(file.path()).expect("a corpus file");
            let step = data.len().div_ceil(if folders.len() > 1 { SHORT / 16 } else { SHORT }).max(1);
            for cut in (0..data.len()).step_by(step).chain([data.len()]) {
                let input = &data[..cut];
                let result = std::panic::catch_unwind(|| target(input));
                assert!(result.is_ok(), "{} cut at {cut}", file.path().display());
            }
            seen += 1;
        }
        assert!(seen > 0, "{name} has no corpus");
    });
}
