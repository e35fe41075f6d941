//! The entry of every fuzz target: the environment says which, so that there is one binary to build.
#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// The target of this run.
static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("TARGET").expect("TARGET names a target");
    let found = targets::ALL.iter().find(|(known, ..)| *known == name);
    found.unwrap_or_else(|| panic!("no target {name}")).1
});

fuzz_target!(|data: &[u8]| TARGET(data));
