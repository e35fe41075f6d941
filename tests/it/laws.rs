//! The seven laws of docs/ARCHITECTURE.md over every fixture: chunk, prefix, span, round trip, width, oracle, bound.
//! The rooms hold them in their own tests, the fuzz targets over any bytes; tests/it/roundtrip.rs over generated messages.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use rayon::prelude::*;
use rpcshark::base::{Limits, Severity};
use rpcshark::message::{self, JsonOptions, NodeKind, Tree, Wire, wire_out};
use rpcshark::pipeline::{self, Config, Expand, Job, Sink};
use rpcshark::schema::TypeId;
use rpcshark::view::Item;
use serde_json::Value;

use crate::fuzz::targets::messages::BUILTIN;
use crate::fuzz::targets::program::{self, decoded};
use crate::run::fixture;

/// Every file under fixtures/ that may be a capture.
fn captures() -> Vec<PathBuf> {
    fn find(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("fixtures").flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if path.is_dir() && !path.ends_with("gen") && !path.ends_with("proto") {
                find(&path, out);
            } else if path.is_file() && !matches!(ending, "md" | "proto" | "keys" | "keylog" | "py" | "db") {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    find(&fixture(""), &mut out);
    out.sort();
    assert!(out.len() > 200, "{} captures", out.len());
    out
}

fn each(check: impl Fn(&str, &[u8]) + Sync) {
    captures()
        .par_iter()
        .for_each(|path| check(&path.display().to_string(), &fs::read(path).expect("a fixture")));
}

fn plain() -> &'static Config {
    static CONFIG: LazyLock<Config> = LazyLock::new(|| program::config(Expand::Carrier, false));
    &CONFIG
}

/// Chunk law: any split gives the same output.
#[test]
fn any_split_gives_the_same() {
    each(|name, data| {
        let whole = decoded(data, usize::MAX, plain());
        // Byte by byte where that is soon done, else pieces that no structure has the length of.
        let step = if data.len() < 20_000 { 1 } else { 997 };
        let cut = decoded(data, step, plain());
        assert!(cut.out == whole.out, "{name}: the records differ in pieces of {step}");
        assert_eq!(cut.loose, whole.loose, "{name} in pieces of {step}");
    });
}

/// Width law: the number of threads does not show.
#[test]
fn any_number_of_threads_gives_the_same() {
    let wide = Config { threads: 3, ..program::config(Expand::Carrier, false) };
    each(|name, data| {
        if data.len() > 3_000 {
            let (one, three) = (decoded(data, usize::MAX, plain()), decoded(data, usize::MAX, &wide));
            assert!(one.out == three.out && one.loose == three.loose, "{name}");
        }
    });
}

/// Prefix law, captures: what is cut off takes nothing from what was there before, and is told.
#[test]
fn a_cut_capture_gives_the_beginning_of_the_whole() {
    each(|name, data| {
        // The end of these says how to read the beginning: a packed archive, keys, one JSON value, a HAR's entry.
        let in_order = [".bin", ".flow", ".pcap"].iter().any(|ending| name.ends_with(ending));
        if !in_order || name.contains("tls") || name.contains("/cases/") || data.len() < 100 {
            return;
        }
        let records = |out: &[u8]| -> Vec<Value> {
            out.split(|b| *b == b'\n')
                .filter(|l| !l.is_empty())
                .map(|l| serde_json::from_slice(l).expect("JSON"))
                .collect()
        };
        let all = records(&decoded(data, usize::MAX, plain()).out);
        for part in [data.len() / 3, data.len() / 2 + 1, data.len() - 3] {
            let cut = decoded(&data[..part], usize::MAX, plain());
            let begun = records(&cut.out);
            // Calls that the cut left open give what they hold at the end, so order is by call.
            let of_call = |records: &[Value], call: &Value| -> Vec<Value> {
                let same = records.iter().filter(|r| r["call"] == *call && r["kind"] != "trailers");
                same.map(|r| serde_json::json!([r["direction"], r["offset"], r["message"]])).collect()
            };
            for record in begun.iter().rev().skip(begun.len().min(8)) {
                let (some, whole) = (of_call(&begun, &record["call"]), of_call(&all, &record["call"]));
                assert!(some.len() <= whole.len() + 1, "{name} cut at {part}: call {} grew", record["call"]);
                let lost = some.iter().rev().skip(2).find(|r| !whole.contains(r));
                assert!(lost.is_none(), "{name} cut at {part}: {lost:?} is not in the whole");
            }
            let told =
                !cut.loose.is_empty() || begun.iter().any(|r| r["findings"] != Value::Array(Vec::new()));
            assert!(told || part == data.len(), "{name} cut at {part}: nobody was told");
        }
    });
}

/// Every message of every fixture that has a type, once.
static MESSAGES: LazyLock<Vec<(TypeId, Vec<u8>)>> = LazyLock::new(|| {
    struct Nothing;
    impl Sink for Nothing {
        fn finding(&mut self, _: &str, _: &rpcshark::base::Finding) {}
        fn error(&mut self, _: &rpcshark::source::Error) {}
    }
    let found = Mutex::new(std::collections::BTreeSet::new());
    let take = |item: &Item<'_>, _: &Job, _: &mut Vec<u8>| {
        if let (Some(ty), true) = (item.decoded.ty, item.decoded.payload.len() < 100_000) {
            found.lock().expect("no panic").insert((ty.0, item.decoded.payload.clone()));
        }
    };
    each(|_, data| {
        if let Some(reader) = program::open(data, usize::MAX) {
            pipeline::run(plain(), &mut std::iter::once(reader), &take, &mut Nothing)
                .expect("nothing is written");
        }
    });
    let messages: Vec<_> =
        found.into_inner().expect("no panic").into_iter().map(|(ty, wire)| (TypeId(ty), wire)).collect();
    assert!(messages.len() > 300, "{} messages", messages.len());
    messages
});

fn tree(ty: TypeId, payload: &[u8]) -> (Tree, usize) {
    let (mut tree, mut findings) = (Tree::new(), Vec::new());
    message::decode(&BUILTIN.0, Some(ty), payload, &Limits::default(), &mut tree, &mut findings);
    (tree, findings.iter().filter(|f| f.severity == Severity::Error).count())
}

/// Span law: nodes tile the message that they lie in, so that their bytes are the payload, none lost, none twice.
#[test]
fn nodes_tile_the_payload() {
    MESSAGES.par_iter().for_each(|(ty, payload)| {
        let (tree, _) = tree(*ty, payload);
        let inside =
            |at: u32| tree.node(at).map_or((0, payload.len()), |n| (n.start as usize, n.end as usize));
        let messages = tree.walk().filter(|(_, n, _)| n.kind == NodeKind::Message).map(|(at, ..)| at);
        for parent in messages.chain([Tree::ROOT]) {
            let (mut at, end) = inside(parent);
            for (_, node) in tree.children(parent) {
                assert_eq!(node.tag as usize, at, "a node begins where the one before ends");
                at = node.end as usize;
                if node.wire == Wire::Group && node.kind == NodeKind::Message {
                    // Its end tag, as long as that of its beginning; a group that breaks off has none.
                    at = (at + (node.start - node.tag) as usize).min(end);
                }
            }
            assert_eq!(at, end, "the last node ends where the message does");
        }
    });
}

/// Prefix law, messages: a shorter one has the beginning of the nodes, and what is missing is told.
#[test]
fn a_cut_message_has_the_beginning_of_the_nodes() {
    MESSAGES.par_iter().filter(|(_, payload)| payload.len() < 400).for_each(|(ty, payload)| {
        let (whole, _) = tree(*ty, payload);
        for cut in 0..payload.len() {
            let (part, errors) = tree(*ty, &payload[..cut]);
            let kept = part.nodes.iter().zip(&whole.nodes).take_while(|(a, b)| {
                (a.tag, a.start, a.number, a.kind) == (b.tag, b.start, b.number, b.kind)
            });
            let kept = kept.count();
            let rest = &part.nodes[kept..];
            assert!(rest.iter().all(|n| n.kind == NodeKind::Rest) || rest.len() <= 1, "{rest:?}");
            let at_a_field = whole.children(Tree::ROOT).any(|(_, n)| n.tag as usize == cut);
            assert!(errors > 0 || at_a_field, "cut at {cut} of {}: nobody was told", payload.len());
        }
    });
}

/// Round trip law: the tree written again is the same message, and stays as it is.
#[test]
fn a_tree_leads_back_to_its_message() {
    let (schema, _) = &*BUILTIN;
    let limits = Limits::default();
    let json = |ty: TypeId, wire: &[u8]| {
        let options = JsonOptions { redact: false, ..JsonOptions::new(&limits) };
        let mut out = Vec::new();
        message::json::write(schema, &tree(ty, wire).0, wire, &options, &mut out, &mut Vec::new());
        serde_json::from_slice::<Value>(&out).expect("JSON")
    };
    MESSAGES.par_iter().for_each(|(ty, payload)| {
        let (once, errors) = tree(*ty, payload);
        if errors > 0 {
            return;
        }
        let (mut wire, mut again) = (Vec::new(), Vec::new());
        wire_out::write(schema, &once, payload, &mut wire);
        assert_eq!(json(*ty, &wire), json(*ty, payload));
        wire_out::write(schema, &tree(*ty, &wire).0, &wire, &mut again);
        assert_eq!(again, wire);
    });
}

/// Oracle law: where prost-reflect takes a payload, our JSON is its JSON.
#[test]
fn prost_reflect_says_the_same() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("descriptors");
    let mut files = Vec::new();
    let mut folders = vec![root.join("agent")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("descriptors").flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "proto") {
                files.push(path);
            }
        }
    }
    let set = protox::compile(&files, [root.join("agent"), root]).expect("the shipped schema");
    let pool = DescriptorPool::from_file_descriptor_set(set).expect("a pool");
    let (schema, _) = &*BUILTIN;
    let limits = Limits::default();
    let options = SerializeOptions::new().use_proto_field_name(true);
    let compared = MESSAGES.par_iter().filter(|(ty, payload)| {
        let descriptor = pool.get_message_by_name(&schema.ty(*ty).name).expect("the type");
        let Ok(theirs) = DynamicMessage::decode(descriptor, payload.as_slice()) else { return false };
        let Ok(theirs) = theirs.serialize_with_options(serde_json::value::Serializer, &options) else {
            return false;
        };
        let ours = JsonOptions { redact: false, keep_unknown: false, ..JsonOptions::new(&limits) };
        let mut out = Vec::new();
        message::json::write(schema, &tree(*ty, payload).0, payload, &ours, &mut out, &mut Vec::new());
        assert_eq!(serde_json::from_slice::<Value>(&out).expect("JSON"), theirs, "{}", schema.ty(*ty).name);
        true
    });
    let compared = compared.count();
    assert!(compared * 10 > MESSAGES.len() * 9, "{compared} of {} were compared", MESSAGES.len());
}

/// Bound law: a stream many times as long as the budget does not pass it, nor do bombs.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_input() {
    let zeros = |length: usize| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&vec![0; length]).expect("in memory");
        packer.finish().expect("in memory")
    };
    let bomb = zeros(80 << 20);
    let frame = |flags: u8, payload: &[u8]| {
        let mut out = vec![flags];
        out.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        out.extend_from_slice(payload);
        out
    };
    // Unknown bytes of one field: what is decoded is a node, what is printed all of it.
    let text = [&[0x0a, 0x80, 0x80, 0x04][..], &[b'x'; 65_536]].concat();
    let long = frame(0, &text).repeat(16);
    let peak = |args: &[&str], block: &[u8], times: usize| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
            .args(["decode", "--from", "raw", "--no-builtin", "-q", "--threads", "2"])
            .args(args)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        for _ in 0..times {
            input.write_all(block).expect("all is read");
        }
        let status = format!("/proc/{}/status", child.id());
        let status = fs::read_to_string(status).expect("the program runs");
        drop(input);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert!(child.wait().expect("the end").success(), "{said}");
        let line = status.lines().find(|l| l.starts_with("VmHWM:")).expect("a peak");
        line.split_whitespace().nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number") >> 10
    };
    let (short, much) = (peak(&[], &long, 16), peak(&[], &long, 96));
    assert!(much < 160 && much < short + 48, "16 MB take {short} MB, 96 MB take {much}");
    let bombs = peak(&["--encoding", "gzip"], &frame(1, &bomb).repeat(8), 4);
    assert!(bombs < 700, "32 bombs take {bombs} MB");
}
