//! Rules of the house that a compiler does not hold: who may import whom, and what the source may not know.

use std::fs;
use std::path::{Path, PathBuf};

/// Which rooms a room may import. `pipeline` may import all.
const IMPORTS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("pdu", &["base"]),
    ("source", &["base", "pdu"]),
    ("sink", &["base", "pdu"]),
    ("transport", &["base", "pdu"]),
    ("exchange", &["base", "pdu"]),
    ("frame", &["base", "pdu"]),
    ("schema", &["base"]),
    ("message", &["base", "schema"]),
    ("dialect", &["base", "schema", "message"]),
    ("session", &["base", "pdu", "schema", "message", "dialect"]),
    ("diff", &["base", "schema", "message", "session"]),
    ("query", &["base", "schema", "message"]),
    ("encode", &["base", "schema", "message"]),
    ("view", &["base", "pdu", "schema", "message", "session", "diff", "dialect"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 20, "the sources are where they are looked for");
    files.retain(|f| !is_test(f));
    files.into_iter().map(|f| (f.clone(), fs::read_to_string(&f).expect("readable source"))).collect()
}

/// Whether a file under src holds tests alone.
fn is_test(file: &Path) -> bool {
    let named = |part: &std::ffi::OsStr| matches!(part.to_str(), Some("tests" | "tests.rs" | "testing.rs"));
    file.iter().any(named)
}

fn room(file: &Path) -> String {
    let inside = file.strip_prefix(root().join("src")).expect("under src");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

#[test]
fn rooms_import_only_what_they_may() {
    let mut wrong = Vec::new();
    for (file, text) in all_sources() {
        let room = room(&file);
        let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == room) else { continue };
        for (number, line) in text.lines().enumerate() {
            for part in line.split("crate::").skip(1) {
                let names: Vec<&str> = match part.strip_prefix('{') {
                    Some(list) => {
                        list.split(',').map(|n| n.trim().split([':', '}']).next().unwrap_or("")).collect()
                    }
                    None => vec![part.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")],
                };
                for name in names {
                    let is_room = IMPORTS.iter().any(|(r, _)| *r == name) || name == "pipeline";
                    if is_room && name != room && !allowed.contains(&name) {
                        wrong.push(format!("{}:{}: {room} imports {name}", file.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_protocol_is_known_to_the_source() {
    let known = regex::Regex::new(
        r"(?i)bidi_?(append|request|service)|agent\.v1|aiserver|run_request|exec_server|interaction_update",
    )
    .expect("a sound pattern");
    let wrong: Vec<_> = all_sources()
        .iter()
        .flat_map(|(file, text)| {
            let hits = text.lines().enumerate().filter(|(_, line)| known.is_match(line));
            hits.map(|(n, line)| format!("{}:{}: {line}", file.display(), n + 1)).collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_is_in_one_function_at_most_and_threads_are_started_in_the_pipeline() {
    let mut unsafe_blocks = 0;
    for (file, text) in all_sources() {
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        for line in code {
            let word = |w: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|t| t == w);
            unsafe_blocks += usize::from(word("unsafe"));
            let starts = ["rayon", "spawn", "spawn_scoped"].into_iter().any(word);
            let may = matches!(room(&file).as_str(), "pipeline" | "cli" | "main");
            assert!(!starts || may, "{}: a thread is started outside pipeline", file.display());
            let speaks = ["println", "print", "eprintln", "eprint", "dbg"]
                .iter()
                .any(|m| line.contains(&format!("{m}!(")));
            assert!(!speaks || matches!(room(&file).as_str(), "cli" | "main"), "{}: {line}", file.display());
        }
    }
    assert!(unsafe_blocks <= 1, "unsafe stands {unsafe_blocks} times");
}

#[test]
fn every_file_says_what_it_does_and_never_does_and_holds_one_idea() {
    for (file, text) in all_sources() {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or("");
        assert!(first.starts_with("//! "), "{}: the first line says what the module does", file.display());
        let length = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("").lines().count();
        assert!(length <= 600, "{}: {length} lines are more than one idea", file.display());
    }
}
