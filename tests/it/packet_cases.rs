//! Facts of the hostile packet captures under fixtures/cases: HTTP, TCP, link types, files, TLS.

use serde_json::{Value, json};

use crate::run::{fixture, parse, rpcshark, rpcshark_fed, stderr};

/// What the program said of one input.
struct Said {
    records: Vec<Value>,
    stderr: String,
}

fn decode(case: &str, file: &str, more: &[&str]) -> Said {
    let (proto, path) = (format!("@cases/{case}/proto"), format!("@cases/{case}/{file}"));
    let args = ["decode", "--format", "jsonl", "--no-builtin", "-I", &proto, &path];
    let output = rpcshark(&[&args, more].concat());
    Said { records: parse(&output), stderr: stderr(&output) }
}

fn facts(case: &str) -> Value {
    let text = std::fs::read(fixture(&format!("cases/{case}/expect.json"))).expect("the case");
    serde_json::from_slice::<Value>(&text).expect("JSON")["facts"].take()
}

impl Said {
    /// The messages of one direction, of one stream where one is named.
    fn messages(&self, direction: &str, stream: Option<u32>) -> Vec<Value> {
        let fits = |r: &&Value| {
            r["messageType"].is_string()
                && r["direction"] == direction
                && stream.is_none_or(|stream| r["stream"] == stream)
                && r["message"].get("$rest").is_none()
        };
        self.records.iter().filter(fits).map(|r| r["message"].clone()).collect()
    }

    fn ends(&self, kind: &str) -> Vec<Value> {
        self.records.iter().filter(|r| r["kind"] == kind).map(|r| r["message"].clone()).collect()
    }

    /// All findings as `code text`, those of frames and those of none.
    fn findings(&self) -> Vec<String> {
        let of_frames = self.records.iter().flat_map(|r| r["findings"].as_array().expect("findings"));
        let text = |f: &Value, key: &str| f[key].as_str().unwrap_or_default().to_owned();
        let of_frames = of_frames.map(|f| format!("{} {}", text(f, "code"), text(f, "text")));
        let loose = self.stderr.lines().filter_map(|line| {
            let (code, text) = line.split_once("]: ")?;
            Some(format!("{} {text}", code.split_once('[')?.1))
        });
        of_frames.chain(loose).collect()
    }

    /// A finding of this code that says all of these.
    fn check_finding(&self, code: &str, parts: &[&str]) {
        let fits = |f: &String| f.starts_with(code) && parts.iter().all(|part| f.contains(part));
        let all = self.findings();
        assert!(all.iter().any(fits), "no {code} with {parts:?} in {all:#?}");
    }

    fn check_clean(&self) {
        assert_eq!(self.findings(), Vec::<String>::new());
    }
}

#[test]
fn chunked_bodies_and_trailers() {
    let case = "54-http1-chunked-trailers";
    let facts = facts(case);
    let said = decode(case, "chunked.pcap", &[]);
    let fact = &facts["chunked.pcap"];
    assert_eq!(json!(said.messages("request", None)), fact["request"]);
    assert_eq!(json!(said.messages("response", None)), fact["response"]);
    assert_eq!(said.ends("end_stream"), [fact["end"].clone()]);
    assert_eq!(said.ends("trailers"), [fact["http_trailers"].clone()]);
    said.check_clean();

    let said = decode(case, "unary-content-encoding.pcap", &[]);
    let fact = &facts["unary-content-encoding.pcap"];
    assert_eq!(json!(said.messages("request", None)), fact["request"]);
    assert_eq!(json!(said.messages("response", None)), fact["response"]);
    said.check_clean();

    let said = decode(case, "errors.pcap", &[]);
    let error = said.records.iter().find(|r| r["kind"] == "error").expect("the unary error");
    assert_eq!((&error["http"]["status"], &error["message"]["code"]), (&json!(404), &json!("not_found")));
    said.check_finding("frame.unframed", &["HTTP 502", "text/html", "502 Bad Gateway"]);
    assert!(!said.stderr.contains("0x3c"));
}

#[test]
fn interleaved_streams() {
    let case = "57-http2-interleaved";
    let facts = &facts(case)["interleaved.pcap"];
    let said = decode(case, "interleaved.pcap", &[]);
    for stream in [1, 3] {
        let fact = &facts[stream.to_string()];
        assert_eq!(json!(said.messages("request", Some(stream))), fact["request"]);
    }
    let long = "L".repeat(40_000);
    assert_eq!(said.messages("response", Some(1)), [json!({"str": "a1"}), json!({ "str": long })]);
    assert_eq!(json!(said.messages("response", Some(3))), facts["3"]["response"]);
    assert_eq!(said.ends("end_stream"), [json!({}), json!({})]);
    said.check_clean();
}

#[test]
fn continuation() {
    let case = "58-http2-continuation";
    let fact = &facts(case)["continuation.pcap"]["1"];
    let said = decode(case, "continuation.pcap", &[]);
    let request = &said.records[0];
    assert_eq!(request["http"]["path"], fact["path"]);
    assert_eq!(request["http"]["headers"]["x-after"], "seen");
    assert_eq!(request["http"]["headers"]["grpc-encoding"], "gzip");
    assert_eq!(json!(said.messages("request", None)), fact["request"]);
    assert_eq!(json!(said.messages("response", None)), fact["response"]);
    assert_eq!(said.ends("trailers")[0]["grpc-status"], fact["trailers"]["grpc-status"]);
    said.check_clean();
}

#[test]
fn resets_and_goaway() {
    let said = decode("60-http2-rst-goaway", "ends.pcap", &[]);
    assert_eq!(said.messages("response", Some(1)), [json!({"str": "whole"})]);
    let cut = said.records.iter().find(|r| r["message"].get("$rest").is_some()).expect("the cut frame");
    assert_eq!(cut["stream"], 1);
    said.check_finding("net.reset", &["CANCEL (0x8)"]);
    said.check_finding("frame.truncated", &["declared length 153, present 23"]);
    assert!(said.messages("response", Some(3)).is_empty());
    let status = said.ends("trailers");
    assert_eq!(
        (&status[0]["grpc-status"], &status[0]["grpc-message"]),
        (&json!("7"), &json!("denied\nline 2"))
    );
    assert_eq!(said.messages("response", Some(5)).len(), 1);
    assert_eq!(status[1]["grpc-status"], "0");
    assert_eq!(said.messages("response", Some(7)).len(), 1);
    said.check_finding("frame.no-end", &["response of call 4", "no trailers"]);
}

#[test]
fn joined_in_mid_connection() {
    let said = decode("61-http2-mid-connection", "late.pcap", &[]);
    let heads: Vec<_> = said.records.iter().filter(|r| r["http"].get("headers").is_some()).collect();
    for stream in [3, 5] {
        let request =
            heads.iter().find(|r| r["stream"] == stream && r["direction"] == "request").expect("a head");
        assert_eq!(request["http"]["headers"]["x-new"], "late literal");
        assert_eq!(request["http"].get("path").unwrap_or(&Value::Null), &Value::Null);
        // The path is not there; the type is, by trial.
        assert_eq!(request["rpc"], "qa.v1.QaService/Stream");
    }
    assert_eq!(said.messages("response", Some(3)), [json!({"i32": 3, "str": "after"})]);
    assert!(said.records.iter().all(|r| r["rpc"] == "qa.v1.QaService/Stream"));
    said.check_finding("net.hpack-lost", &["before the capture"]);
    said.check_finding("proto.assumed-type", &["qa.v1.QaService/Stream"]);
    said.check_finding("net.gap", &["began before the capture"]);
    assert!(!said.findings().iter().any(|f| f.starts_with("frame.no-end")), "trailers came");
}

#[test]
fn segments_out_of_order_and_twice() {
    let case = "63-tcp-retransmit-overlap-order";
    let facts = facts(case);
    for (file, fact) in facts.as_object().expect("facts") {
        let said = decode(case, file, &[]);
        let words: Vec<_> = said.messages("response", None).iter().map(|m| m["str"].clone()).collect();
        assert_eq!(json!(words), fact["response_words"], "{file}");
        assert_eq!(said.ends("end_stream"), [json!({})], "{file}");
        said.check_clean();
    }
}

#[test]
fn holes() {
    let case = "65-tcp-gap";
    let said = decode(case, "lost-segment.pcap", &[]);
    let words: Vec<_> = said.messages("response", None).iter().map(|m| m["str"].clone()).collect();
    let word = |n: u32| json!(format!("w{n:02}-abcdefghijabcdefghijabcdefghij"));
    assert_eq!(words, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11].map(word));
    said.check_finding("net.gap", &["server to client: 60 bytes are missing", "300..360", "5301..5361"]);
    said.check_finding("net.gap", &["27 bytes of this frame's 36"]);
    said.check_finding("net.gap", &["that a frame begins here is assumed"]);

    let said = decode(case, "snaplen-96.pcap", &[]);
    said.check_finding("net.gap", &["client to server: a snap length cut", "91 bytes are missing"]);
    said.check_finding("net.gap", &["server to client: a snap length cut", "162 bytes are missing"]);
    decode(case, "starts-late.pcap", &[]).check_finding("net.gap", &["began before the capture"]);
}

#[test]
fn link_types() {
    let case = "67-link-types";
    let facts = facts(case);
    for (file, fact) in facts.as_object().expect("facts") {
        let said = decode(case, file, &[]);
        assert_eq!(json!(said.messages("response", None)), fact["response"], "{file}");
        assert_eq!(said.ends("end_stream"), [fact["end"].clone()], "{file}");
        said.check_clean();
    }
}

#[test]
fn pcap_variants() {
    let case = "69-pcap-variants";
    for (file, fact) in facts(case).as_object().expect("facts") {
        let said = decode(case, file, &[]);
        if fact.get("response").is_some() {
            assert_eq!(json!(said.messages("response", None)), fact["response"], "{file}");
        } else {
            assert!(said.records.is_empty(), "{file}");
        }
        // The facts name the first packet's time, a record has that of the packet with its end.
        let fraction = |time: &Value| time.as_str().and_then(|t| Some(t.split_once('.')?.1.to_owned()));
        match (file.as_str(), said.records.first().map(|r| &r["ts"])) {
            ("le-nano.pcap" | "be-nano.pcap", Some(ts)) => {
                assert_eq!(fraction(ts).map(|f| f.len()), Some("123456789Z".len()), "{file}");
            }
            ("le-micro.pcap" | "be-micro.pcap", Some(ts)) => {
                assert_eq!(fraction(ts), fraction(&fact["first_time"]), "{file}");
            }
            _ => {}
        }
    }
    let cut = |file| decode(case, file, &[]);
    cut("cut-in-last-packet.pcap").check_finding("capture.cut", &["inside packet 9: 34 of 54 bytes"]);
    cut("cut-in-record-header.pcap").check_finding("capture.cut", &["record header of packet 1"]);
    cut("packet-4gib.pcap").check_finding("capture.damaged", &["packet 1 claims 4294967280 bytes"]);
    cut("snaplen-too-small.pcap").check_clean();
    cut("header-only.pcap").check_clean();
}

#[test]
fn pcapng_interfaces() {
    let case = "70-pcapng-interfaces";
    let facts = facts(case);
    let said = decode(case, "three-interfaces.pcapng", &[]);
    let fact = &facts["three-interfaces.pcapng"];
    assert_eq!(json!(said.messages("response", None)), fact["responses"]);
    let within = |r: &Value| r["ts"].as_str().is_some_and(|t| t.starts_with("2023-11-14T22:13:20."));
    assert!(said.records.iter().all(within));
    said.check_clean();
    let said = decode(case, "equal-times.pcapng", &[]);
    assert_eq!(json!(said.messages("response", None)), facts["equal-times.pcapng"]["responses"]);
    said.check_clean();
    let said = decode(case, "tsoffset.pcapng", &[]);
    assert_eq!(json!(said.messages("response", None)), facts["tsoffset.pcapng"]["responses"]);
    assert!(said.records[0]["ts"].as_str().is_some_and(|t| t.starts_with("2023-11-14T22:13:2")));
    said.check_clean();
}

/// A content-type may name no codec, and the messages be JSON all the same.
#[test]
fn json_where_no_codec_is_named() {
    let proto = "@cases/54-http1-chunked-trailers/proto";
    let args = ["decode", "--format", "jsonl", "--no-builtin", "-I", proto, "--as", "qa.v1.Req", "-"];
    let output = rpcshark_fed(&args, b"\0\0\0\0\x09{\"q\":\"a\"}\x02\0\0\0\x02{}");
    assert_eq!(parse(&output)[0]["message"], json!({"q": "a"}));
}

#[test]
fn tls13() {
    let case = "72-tls13-keylog";
    let with = |log: &str| {
        let path = format!("@cases/{case}/{log}");
        let said = decode(case, "tls13.pcap", &["--keylog", &path]);
        let keys = std::fs::read_to_string(fixture(&format!("cases/{case}/{log}"))).expect("a key log");
        // Secrets are read, never said.
        for secret in keys.lines().filter_map(|line| line.split(' ').nth(2)).filter(|s| s.len() >= 32) {
            let out = format!("{:?}{}", said.records, said.stderr);
            assert!(!out.contains(secret), "{log}: a secret is in the output");
        }
        said
    };
    let fact = &facts(case)["tls13.pcap"]["with full.keylog"];
    let said = with("full.keylog");
    assert_eq!(json!(said.messages("request", None)), fact["request"]);
    assert_eq!(json!(said.messages("response", None)), fact["response"]);
    assert_eq!(said.ends("trailers"), [json!({"grpc-status": "0"})]);
    said.check_clean();

    let said = with("server-only.keylog");
    assert_eq!(json!(said.messages("response", None)), fact["response"]);
    let client = ["what the client sends", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0"];
    said.check_finding("net.tls-no-key", &client);

    let said = with("handshake-only.keylog");
    assert!(said.records.is_empty());
    said.check_finding("net.tls-no-key", &["CLIENT_TRAFFIC_SECRET_0, SERVER_TRAFFIC_SECRET_0"]);

    let said = with("foreign.keylog");
    assert!(said.records.is_empty());
    let random = "client random de2552ebff5eafd4cc73f9c9b69c6fb8355e6b1ab7610c82a1ef0744f2c0abe7";
    said.check_finding("net.tls-no-key", &["api.example.test", random]);

    let said = with("zeroed.keylog");
    assert!(said.records.is_empty());
    said.check_finding("net.tls-damaged", &["do not fit", "do not authenticate"]);

    let said = decode(case, "tls13.pcap", &[]);
    assert!(said.records.is_empty());
    let parts =
        ["TLS 1.3 to api.example.test", "ALPN offered h2", "490 bytes to the server, 1385 to the client"];
    said.check_finding("net.tls-no-key", &parts);
}

#[test]
fn tls12() {
    let case = "73-tls12-keylog";
    for (file, fact) in facts(case).as_object().expect("facts") {
        let keylog = format!("@cases/{case}/all.keylog");
        let said = decode(case, file, &["--keylog", &keylog]);
        assert_eq!(json!(said.messages("request", None)), fact["request"], "{file}");
        assert_eq!(json!(said.messages("response", None)), fact["response"], "{file}");
        assert_eq!(said.ends("trailers"), [json!({"grpc-status": fact["grpc-status"]})], "{file}");
        said.check_clean();
        let said = decode(case, file, &[]);
        assert!(said.records.is_empty());
        said.check_finding("net.tls-no-key", &["TLS 1.2 to api.example.test", "CLIENT_RANDOM"]);
    }
}
