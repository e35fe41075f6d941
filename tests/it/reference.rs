//! Holds the built-in schema to the protocol reference: every message, field and branch that
//! sections 2 to 21 name is found in `descriptors/agent`, spelled the same.
//! Knows no meaning, only names; what the names stand for is said in the schema's comments.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, DynamicMessage};

const NAMES: &str = include_str!("reference.tsv");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/descriptors/agent");

/// `section`, message, and a field or branch of it; none for a message that has no fields.
type Row = (u32, &'static str, Option<&'static str>);

#[test]
fn every_name_of_the_reference_is_in_the_schema() {
    let pool = pool();
    let wrong: Vec<String> = rows()
        .filter_map(|(section, message, name)| {
            let Some(found) = pool.get_message_by_name(message) else {
                return Some(format!("{section}: no message {message}"));
            };
            match name {
                Some(name) if found.get_field_by_name(name).is_none() => {
                    Some(format!("{section}: no {message}.{name}"))
                }
                None if found.fields().len() > 0 => Some(format!("{section}: {message} has fields")),
                _ => None,
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_section_of_the_reference_is_left_out() {
    let sections: BTreeSet<u32> = rows().map(|(section, ..)| section).collect();
    assert_eq!(sections, (2..=21).collect());
    let names: BTreeSet<_> = rows().filter(|row| row.2.is_some()).map(|row| (row.1, row.2)).collect();
    let empty: BTreeSet<_> = rows().filter(|row| row.2.is_none()).map(|row| row.1).collect();
    assert!(names.len() >= 395, "{} names", names.len());
    assert!(empty.len() >= 17, "{} messages without fields", empty.len());
}

/// The twelve roots and bridges carry their payload in a oneof; a branch that has slipped out of
/// it would still be found by name, yet no longer be the frame's kind.
#[test]
fn branches_stand_in_a_oneof() {
    let pool = pool();
    for (message, oneof, outside) in [
        ("agent.v1.AgentClientMessage", "message", &[][..]),
        ("agent.v1.AgentServerMessage", "message", &["ttft_breakdown"]),
        ("agent.v1.InteractionUpdate", "message", &[]),
        ("agent.v1.ExecClientControlMessage", "message", &[]),
        ("agent.v1.ExecServerControlMessage", "message", &[]),
        ("agent.v1.ShellStream", "event", &[]),
        ("agent.v1.InteractionQuery", "query", &["id"]),
        ("agent.v1.InteractionResponse", "result", &["id"]),
        ("agent.v1.KvServerMessage", "message", &["id", "span_context"]),
        ("agent.v1.KvClientMessage", "message", &["id"]),
        (
            "agent.v1.ExecClientMessage",
            "message",
            &["id", "exec_id", "local_execution_time_ms", "hook_additional_contexts"],
        ),
        (
            "agent.v1.ExecServerMessage",
            "message",
            &["id", "exec_id", "span_context", "accept_hook_additional_contexts", "machine_id"],
        ),
    ] {
        let found = pool.get_message_by_name(message).expect(message);
        let loose: BTreeSet<String> = found
            .fields()
            .filter(|field| field.containing_oneof().is_none_or(|of| of.name() != oneof))
            .map(|field| field.name().to_owned())
            .collect();
        assert_eq!(loose, outside.iter().map(|name| name.to_string()).collect(), "{message}");
    }
}

/// protoc's text format and prost-reflect's are two parsers; the shipped dialects must suit both.
#[test]
fn the_dialects_are_read_by_prost_reflect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("descriptors");
    let set = protox::compile(["dialect.proto"], [&folder]).expect("dialect.proto compiles");
    let pool = DescriptorPool::from_file_descriptor_set(set).expect("and links");
    let dialect = pool.get_message_by_name("rpcshark.dialect.v1.Dialect").expect("its root");
    for name in ["agent", "chat"] {
        let file = folder.join(name).join("dialect.txtpb");
        let text = std::fs::read_to_string(&file).expect("a dialect");
        let read = DynamicMessage::parse_text_format(dialect.clone(), &text).expect(name);
        for rule in dialect.fields() {
            assert!(read.has_field(&rule), "{name} has no {}", rule.name());
        }
    }
}

fn rows() -> impl Iterator<Item = Row> {
    NAMES.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut cells = line.split('\t');
        let section = cells.next().and_then(|cell| cell.parse().ok()).expect(line);
        let message = cells.next().expect(line);
        (section, message, cells.next().filter(|name| !name.is_empty()))
    })
}

fn pool() -> DescriptorPool {
    let mut files = Vec::new();
    protos(Path::new(ROOT), &mut files);
    let set = protox::compile(files, [ROOT]).expect("the built-in schema compiles");
    DescriptorPool::from_file_descriptor_set(set).expect("and links")
}

fn protos(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of schemas") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            protos(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            files.push(path);
        }
    }
}
