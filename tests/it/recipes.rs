//! The commands that the documents print, run as they are printed: in a folder that has what they name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{fixture, is_there, stderr};

const PKG: &str = "syntax = \"proto3\"; package pkg; message Reply { string text = 1; }
message Chat { string text = 1; } service Svc { rpc Method(Chat) returns (Reply); }";

/// A folder in which every file is that a document speaks of.
fn desk() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    for (name, from) in [
        ("session.pcap", "good.pcap"),
        ("session.har", "good.har"),
        ("session.flow", "good.flow"),
        ("monday.pcap", "good.pcap"),
        ("tuesday.har", "good.har"),
        ("tls.pcapng", "good-tls13.pcap"),
        ("keys.log", "good-tls13.keys"),
        // What editcap makes; without it the command after it still has a file to read.
        ("both.pcapng", "good-tls13.pcap"),
        ("capture/good.har", "good.har"),
        ("protos/parcel.proto", "parcel/parcel.proto"),
        ("chat.txtpb", "parcel/parcel.txtpb"),
        ("descriptors/chat/parcel.proto", "parcel/parcel.proto"),
        ("descriptors/chat/parcel.txtpb", "parcel/parcel.txtpb"),
    ] {
        let to = at(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(fixture(from), to).expect("a copy");
    }
    fs::write(at("protos/pkg.proto"), PKG).expect("a file");
    fs::write(at("body.bin"), b"\0\0\0\0\x04\x0a\x02hi").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(fixture(""), at("fixtures")).expect("a link");
    dir
}

/// The lines of shell in a document, those that go on joined.
fn lines(document: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for block in document.split("```sh\n").skip(1) {
        let mut goes_on = false;
        for line in block.split("```").next().unwrap_or_default().lines() {
            match out.last_mut().filter(|_| goes_on) {
                Some(last) => *last = format!("{last}\n{line}"),
                None => out.push(line.to_owned()),
            }
            goes_on = line.ends_with('|') || line.ends_with('\\');
        }
    }
    out
}

/// What a line needs beyond this program, by the first words of its commands; what captures or builds is not run here.
fn is_elsewhere(line: &str) -> bool {
    const ELSEWHERE: &[&str] = &[
        "sudo ",
        "tcpdump ",
        "mitmdump ",
        "curl ",
        "node ",
        "cargo ",
        "git ",
        "tests/",
        "cd ",
        "SSLKEYLOGFILE=",
        "powershell",
        "gpg ",
        "docker ",
    ];
    ELSEWHERE.iter().any(|start| line.starts_with(start))
        || line.contains("Out-String")
        || line.contains(" | man ")
}

#[cfg(unix)]
#[test]
fn commands_in_documents_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = vec![root.join("README.md")];
    let found = fs::read_dir(root.join("docs")).expect("docs").flatten().map(|entry| entry.path());
    documents.extend(found.filter(|path| path.extension().is_some_and(|e| e == "md")));
    documents.sort();
    let program = Path::new(env!("CARGO_BIN_EXE_rpcshark")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let (mut ran, mut wrong) = (0, Vec::new());
    for document in documents {
        let desk = desk();
        let name = document.file_name().expect("a name").to_string_lossy().into_owned();
        for line in lines(&fs::read_to_string(&document).expect("a document")) {
            if is_elsewhere(&line) || (line.contains("parquet -o") && !cfg!(feature = "parquet")) {
                continue;
            }
            let first = line.split(' ').next().unwrap_or_default();
            if let Some(missing) =
                [first, "jq"].into_iter().find(|p| line.contains(p) && *p != "rpcshark" && !is_there(p))
            {
                eprintln!("SKIPPED {name}: {missing} is not installed: {line}");
                continue;
            }
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-euc", &line])
                .current_dir(desk.path())
                .env("PATH", &path)
                .env("HOME", desk.path())
                .env_remove("XDG_CONFIG_HOME")
                .output()
                .expect("bash starts");
            ran += 1;
            let told = stderr(&output);
            // Without a terminal `view` looks at its arguments and no further; 1 is an answer.
            let good = match line.contains("rpcshark view") {
                true => told.contains("view draws on a terminal"),
                false => output.status.code().is_some_and(|code| code < 2) && !told.contains("error:"),
            };
            if !good {
                wrong.push(format!("{name}: {line}\n{:?} {told}", output.status.code()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 60, "{ran} commands");
}
