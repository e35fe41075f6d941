//! Completion, manual pages, the settings file, paging, and the commands over schemas, as a shell sees them.

use std::fs;
use std::process::{Command, Output};

use crate::run::{fixture, is_there, rpcshark};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What bash would be offered for the last of these words.
fn completed(words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(["--", "rpcshark"])
        .args(words)
        .env("RPCSHARK_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("the program starts");
    text(&output).lines().map(str::to_owned).collect()
}

#[test]
fn completion_knows_commands_types_kinds_and_codes() {
    assert_eq!(completed(&["timel"]), ["timeline"]);
    assert_eq!(completed(&["decode", "--as", "agent.v1.AgentServerM"]), ["agent.v1.AgentServerMessage"]);
    let kinds = completed(&["decode", "-Y", "kind == \"exec_server_"]);
    assert!(kinds.contains(&"kind == \"exec_server_message".to_owned()), "{kinds:?}");
    assert_eq!(
        completed(&["check", "-Y", "findings.code == \"frame.tr"]),
        ["findings.code == \"frame.truncated"]
    );
    assert_eq!(completed(&["decode", "--from", "pcapn"]), ["pcapng"]);
}

#[test]
fn completion_reads_the_schema_of_the_line() {
    let protos = fixture("cases/28-presence/proto");
    let protos = protos.to_str().expect("a path in UTF-8");
    let types = completed(&["decode", "--no-builtin", "-I", protos, "--as", ""]);
    assert!(!types.is_empty() && types.iter().all(|t| !t.starts_with("agent.")), "{} types", types.len());
}

#[test]
fn every_shell_has_its_function() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(text(&rpcshark(&["completions", shell])).contains("RPCSHARK_COMPLETE"), "{shell}");
    }
    assert_eq!(rpcshark(&["completions", "csh"]).status.code(), Some(2));
}

/// A file in `$fpath` is loaded when the first Tab is pressed: that Tab completes, too.
#[test]
fn zsh_completes_from_the_first_tab() {
    let function = text(&rpcshark(&["completions", "zsh"]));
    if !is_there("zsh") {
        eprintln!("SKIPPED zsh_completes_from_the_first_tab: zsh is not installed");
        return assert!(function.contains("funcstack"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("_rpcshark"), function).expect("a file");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_rpcshark")).parent().expect("a folder");
    let line = "fpath=($PWD); path=($0 $path); autoload -Uz _rpcshark
        compdef() { }; _describe() { print -l ${(P)3} }; words=(rpcshark deco) CURRENT=2; _rpcshark";
    let output = Command::new("zsh").args(["-fc", line]).arg(program).current_dir(&folder).output();
    let output = output.expect("zsh starts");
    assert!(text(&output).starts_with("decode"), "{output:?}");
}

#[test]
fn manual_pages_are_whole_and_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    // As `man1` is where nothing has been installed yet.
    let folder = folder.path().join("share/man1");
    let to = folder.to_str().expect("a path in UTF-8");
    assert!(rpcshark(&["man", "--write-to", to]).status.success());
    let names: Vec<_> = fs::read_dir(to).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(names.contains(&"rpcshark.1".into()) && names.contains(&"rpcshark-decode.1".into()), "{names:?}");
    let page = fs::read_to_string(folder.join("rpcshark-decode.1")).expect("a page");
    assert!(page.contains("show\\-secrets") && page.contains("tcpdump"));
    let again = rpcshark(&["man", "--write-to", to]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
}

/// Runs a line of shell on a terminal, as `script` of util-linux makes one.
#[cfg(target_os = "linux")]
fn on_a_terminal(line: &str, pager: &str) -> String {
    let output = Command::new("script")
        .args(["-qec", line, "/dev/null"])
        .env("RPCSHARK_PAGER", pager)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .output()
        .expect("script of util-linux starts");
    text(&output).replace('\r', "")
}

#[test]
#[cfg(target_os = "linux")]
fn text_is_paged_on_a_terminal_and_errors_are_not_lost() {
    let program = env!("CARGO_BIN_EXE_rpcshark");
    let capture = fixture("heartbeat.har");
    let capture = capture.display();
    let paged = on_a_terminal(&format!("{program} decode {capture}"), "sed s/^/P:/");
    assert_eq!(
        paged.lines().filter(|l| l.starts_with("P:")).count(),
        4,
        "three frames and the summary: {paged}"
    );
    let plain = on_a_terminal(&format!("{program} --no-pager decode {capture}"), "sed s/^/P:/");
    assert!(!plain.contains("P:"), "{plain}");
    let left = on_a_terminal(&format!("{program} decode {capture}; echo code $?"), "true");
    assert!(left.contains("code 0"), "a pager that ends first is no failure: {left}");
    let error = on_a_terminal(&format!("{program} decode --as no.Type {capture}"), "cat >/dev/null");
    assert!(error.contains("no message type"), "{error}");
}

#[test]
fn the_settings_file_gives_what_the_line_leaves_open() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("rpcshark");
    fs::create_dir_all(folder.join("protos")).expect("a folder");
    fs::write(folder.join("protos/a.proto"), "syntax = 'proto3'; package mine; message A { int32 a = 1; }")
        .expect("a file");
    let run = |settings: &str, args: &[&str]| {
        fs::write(folder.join("config.toml"), settings).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpcshark"));
        command.args(args).env("XDG_CONFIG_HOME", home.path()).output().expect("the program starts")
    };
    let listed = run("proto_path = ['protos']", &["schema", "list"]);
    assert!(text(&listed).contains("message mine.A\n"));
    let without = run("proto_path = ['protos']", &["schema", "list", "--no-config"]);
    assert!(!text(&without).contains("mine.A"));
    let wrong = run("colour = 'never'", &["schema", "list"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        told.contains("config.toml") && told.contains("colour") && told.contains("--no-config"),
        "{told}"
    );
}

#[test]
fn a_compiled_schema_is_the_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = folder.path().join("all.binpb");
    let set = set.to_str().expect("a path in UTF-8");
    assert!(rpcshark(&["schema", "compile", "-o", set]).status.success());
    let listed = text(&rpcshark(&["schema", "list", "--no-builtin", "--descriptor-set", set]));
    assert_eq!(listed, text(&rpcshark(&["schema", "list"])));
    assert!(rpcshark(&["schema", "diff", set, set]).status.success());
    assert_eq!(rpcshark(&["schema", "compile", "-o", set]).status.code(), Some(2), "never written over");
}

#[test]
fn schemas_are_compared_by_what_the_wire_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("syntax = 'proto3'; package p; {text}")).expect("a file");
        path.display().to_string()
    };
    let before = write("a.proto", "message M { int32 a = 1; string b = 2; }");
    let after = write("b.proto", "message M { sint32 a = 1; string c = 2; bool d = 3; }");
    let output = rpcshark(&["schema", "diff", &before, &after]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output),
        "~ p.M a = 1: int32 became sint32 (breaks the wire)\n~ p.M b = 2: is called c\n+ p.M d = 3: bool\n"
    );
    assert_eq!(text(&rpcshark(&["schema", "diff", "--breaking", &before, &after])).lines().count(), 1);
}

#[test]
fn coverage_names_what_the_schema_lacks() {
    let whole = rpcshark(&["schema", "coverage", "@good.pcap", "--format", "text"]);
    assert!(whole.status.success() && text(&whole).contains("0 fields, 0 enum numbers"));
    let none = rpcshark(&["schema", "coverage", "--no-builtin", "@good.pcap"]);
    assert_eq!(none.status.code(), Some(1));
    let first: serde_json::Value =
        serde_json::from_str(text(&none).lines().next().unwrap_or("")).expect("JSON");
    assert_eq!(first["type"], "untyped");
    assert!(first["rpc"].as_str().is_some_and(|rpc| rpc.contains('/')));
}
