//! Which dependencies there may be, from where and under which licences, by deny.toml, for machines without cargo-deny.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// The strings of the list `key = [...]` in deny.toml.
fn list<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    let begin = text.find(&format!("\n{key} = [")).unwrap_or_else(|| panic!("deny.toml has no {key}"));
    let rest = &text[begin + 1..];
    let inside = &rest[..rest.find("\n]").or_else(|| rest.find(']')).expect("an end")];
    inside
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('"'))
        .filter_map(|line| line.split('"').nth(1))
        .collect()
}

/// Whether an SPDX expression can be met: one side of each OR, both of each AND.
fn is_met(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression.split(" AND ").all(|both| both.split(" OR ").any(|one| allowed(one.trim())))
}

#[test]
fn licences_bans_and_sources_are_those_of_deny_toml() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let deny = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "{} packages", packages.len());
    let (allow, banned) = (list(&deny, "allow"), list(&deny, "deny"));
    assert!(allow.contains(&"MIT") && banned.contains(&"openssl-sys"));
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        assert!(!banned.contains(&name), "{name} is banned");
        match package["source"].as_str() {
            Some(source) => {
                assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
            }
            // This package: no version of what it depends on is left open.
            None => {
                let wanted = package["dependencies"].as_array().expect("dependencies");
                let open = wanted.iter().find(|dependency| dependency["req"] == "*");
                assert!(open.is_none() && wanted.len() > 20, "{name}: {open:?}");
            }
        }
        let licence = package["license"].as_str().unwrap_or_default();
        let excepted = format!("{{ name = \"{name}\", allow = [\"{licence}\"] }}");
        let met = is_met(licence, &|one| allow.contains(&one)) || deny.contains(&excepted);
        assert!(met, "{name} is under '{licence}', which deny.toml does not allow");
    }
}
