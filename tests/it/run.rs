//! Runs the program over fixtures and reads its records.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A file under fixtures/.
pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Runs the program; arguments that begin with `@` are files under fixtures/.
pub fn rpcshark(args: &[&str]) -> Output {
    rpcshark_fed(args, b"")
}

/// The same with standard input.
pub fn rpcshark_fed(args: &[&str], input: &[u8]) -> Output {
    let resolved = args.iter().map(|arg| match arg.strip_prefix('@') {
        Some(name) => fixture(name).into_os_string(),
        None => (*arg).into(),
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(resolved)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    // A program that ends early closes its input; that is its right.
    let _ = feeder.join();
    output
}

/// The records that `decode --format jsonl` prints with these further arguments.
pub fn records(args: &[&str]) -> Vec<Value> {
    let output = rpcshark(&[&["decode", "--format", "jsonl"], args].concat());
    parse(&output)
}

/// The records in an output.
pub fn parse(output: &Output) -> Vec<Value> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|c| c < 2), "{:?}: {stderr}", output.status);
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Whether a shell finds a program.
pub fn is_there(program: &str) -> bool {
    let found = Command::new("bash").args(["-c", "command -v \"$0\"", program]).output();
    found.is_ok_and(|output| output.status.success())
}

/// Standard error of a run.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The codes of a record's findings.
pub fn codes(record: &Value) -> Vec<&str> {
    let findings = record["findings"].as_array().expect("findings");
    findings.iter().filter_map(|f| f["code"].as_str()).collect()
}
