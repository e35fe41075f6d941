//! Packet captures through the binary: every recording of the fixtures against its truth.
//! Knows no bytes: what was sent stands in the truth that the client wrote.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::run::{codes, fixture, records};

/// One form for what ProtoJSON may spell in several: numbers as such, members in order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(n) => format!("{:?}", n.as_f64()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(k, v)| format!("{k:?}:{}", canonical(v))).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

fn key(rpc: &Value, direction: &Value, ty: &Value, message: &Value) -> String {
    format!("{rpc} {direction} {ty} {}", canonical(message))
}

/// The messages of a truth file from its marker on, if it has one.
fn sent(truth: &Path) -> Vec<String> {
    let text = fs::read_to_string(truth).expect("a truth file");
    let lines: Vec<Map<String, Value>> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of truth")).collect();
    let begin = lines.iter().position(|line| line.contains_key("marker")).map_or(0, |at| at + 1);
    let message = |line: &Map<String, Value>| {
        let shown = line.get("inner").and_then(Value::as_object).unwrap_or(line);
        let (ty, json) = (shown.get("type")?, shown.get("json")?);
        Some(key(line.get("method")?, line.get("dir")?, ty, json))
    };
    lines.iter().skip(begin).filter_map(message).collect()
}

fn check(recording: &str, truth: &str) {
    let keys = recording.replace(".pcap", ".keys");
    let (file, keylog) = (format!("@{recording}"), format!("@{keys}"));
    let mut args = vec!["--json-names", "--show-secrets", &file];
    if fixture(&keys).exists() {
        args.extend(["--keylog", &keylog]);
    }
    let records = records(&args);
    let mut seen: HashMap<String, i64> = HashMap::new();
    // A frame that is there in part is no message that was sent.
    let is_whole =
        |record: &&Value| record["messageType"].is_string() && !codes(record).contains(&"frame.truncated");
    for record in records.iter().filter(is_whole) {
        let found = key(&record["rpc"], &record["direction"], &record["messageType"], &record["message"]);
        *seen.entry(found).or_default() += 1;
    }
    let sent = sent(&fixture(truth));
    let missing: Vec<_> = sent
        .iter()
        .filter(|message| {
            let left = seen.entry((*message).clone()).or_default();
            *left -= 1;
            *left < 0
        })
        .collect();
    assert!(missing.is_empty(), "{recording}: {} of {} missing: {:#?}", missing.len(), sent.len(), missing);
    let made_up: Vec<_> = seen.iter().filter(|(_, left)| **left > 0).collect();
    // What was sent just before the marker may be in the capture too.
    let may_have_more = recording.starts_with("midstream");
    assert!(made_up.is_empty() || may_have_more, "{recording}: made up: {made_up:#?}");
}

#[test]
fn recordings_give_what_was_sent() {
    let text = fs::read_to_string(fixture("truth.json")).expect("the list of truths");
    let truths: Map<String, Value> = serde_json::from_str(&text).expect("a JSON object");
    let mut count = 0;
    for (recording, truth) in truths.iter().filter(|(name, _)| name.contains(".pcap")) {
        check(recording, truth.as_str().expect("a name"));
        count += 1;
    }
    assert!(count >= 24, "{count} recordings");
}

/// Every packet capture of the fixtures' top folder is in the list of truths.
#[test]
fn no_recording_is_left_out() {
    let truths = fs::read_to_string(fixture("truth.json")).expect("the list of truths");
    for entry in fs::read_dir(fixture("")).expect("fixtures").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        assert!(!name.contains(".pcap") || truths.contains(&format!("{name:?}")), "{name} has no truth");
    }
}
