//! Payloads in memory to message JSON: prost-reflect, generated code and the lanes of rpcshark, on the same bytes.
//! Never measures before all of them agree on what the JSON is.
//!
//! `cargo bench --bench lanes` prints criterion's figures and then the ratios, medians of rounds taken in turn.

#[allow(missing_docs, reason = "what a generator writes has none")]
mod generated;
#[path = "../corpus/messages.rs"]
mod messages;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};

use rpcshark::base::Limits;
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::message::{self, JsonOptions, Tree, fast};
use rpcshark::schema::{self, Schema, Sources, TypeId};

const ROOT: &str = "agent.v1.AgentServerMessage";
/// Payload bytes of a corpus.
const SIZE: usize = 4 << 20;
/// Rounds of which the median counts.
const ROUNDS: usize = 15;

struct Bench {
    schema: Schema,
    ty: TypeId,
    tables: fast::Tables,
    descriptor: MessageDescriptor,
    limits: Limits,
}

impl Bench {
    fn new() -> Self {
        let mut schema =
            schema::load(&Sources { builtin: true, ..Sources::default() }).expect("it is built in").schema;
        let mut plan = Plan::default();
        dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan).expect("it is built in");
        let (set, _) =
            schema::descriptor_set(&Sources { builtin: true, ..Sources::default() }).expect("it is built in");
        let mut pool = DescriptorPool::global();
        pool.decode_file_descriptor_set(set.as_slice()).expect("protox wrote it");
        Self {
            ty: schema.type_by_name(ROOT).expect("the corpus is of it"),
            tables: fast::Tables::new(&schema, false),
            descriptor: pool.get_message_by_name(ROOT).expect("the corpus is of it"),
            limits: Limits::default(),
            schema,
        }
    }

    fn naive(&self, payload: &[u8], out: &mut Vec<u8>) {
        let message = DynamicMessage::decode(self.descriptor.clone(), payload).expect("the corpus is sound");
        let options = SerializeOptions::new().use_proto_field_name(true);
        message.serialize_with_options(&mut serde_json::Serializer::new(out), &options).expect("it has JSON");
    }

    fn generated(&self, payload: &[u8], out: &mut Vec<u8>) {
        let message = generated::AgentServerMessage::decode(payload).expect("the corpus is sound");
        serde_json::to_writer(out, &message).expect("it has JSON");
    }

    /// As the program does: what the fast lane leaves, as it does bytes that may hide something, the tolerant one takes.
    fn fast(&self, payload: &[u8], redact: bool, tree: &mut Tree, out: &mut Vec<u8>) {
        let (schema, tables) = (&self.schema, &self.tables);
        let done =
            fast::write(schema, tables, self.ty, payload, redact, &self.limits, out, &mut fast::Ids::new());
        assert!(redact || done.is_some(), "the corpus is regular");
        if done.is_none() {
            self.tolerant(payload, redact, tree, out);
        }
    }

    fn tolerant(&self, payload: &[u8], redact: bool, tree: &mut Tree, out: &mut Vec<u8>) {
        let options = JsonOptions { redact, ..JsonOptions::new(&self.limits) };
        message::decode(&self.schema, Some(self.ty), payload, &self.limits, tree, &mut Vec::new());
        message::json::write(&self.schema, tree, payload, &options, out, &mut Vec::new());
    }

    /// Runs one of them over a corpus.
    fn run(&self, name: &str, corpus: &[Vec<u8>], out: &mut Vec<u8>) {
        let mut tree = Tree::new();
        for payload in corpus {
            out.clear();
            match name {
                "naive" => self.naive(payload, out),
                "generated" => self.generated(payload, out),
                "tolerant" => self.tolerant(payload, false, &mut tree, out),
                "fast" => self.fast(payload, false, &mut tree, out),
                _ => self.fast(payload, true, &mut tree, out),
            }
            black_box(&out);
        }
    }
}

const NAMES: [&str; 5] = ["naive", "generated", "tolerant", "fast", "fast, redacted"];

fn corpus(kind: &str) -> Vec<Vec<u8>> {
    let mut dice = messages::Dice(7);
    let (mut out, mut size) = (Vec::new(), 0);
    while size < SIZE {
        let message = messages::message(kind, &mut dice);
        size += message.len();
        out.push(message);
    }
    out
}

fn agree(bench: &Bench, corpus: &[Vec<u8>]) {
    let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).expect("JSON");
    for payload in corpus.iter().take(2_000) {
        let mut all: [Vec<u8>; 5] = Default::default();
        for (name, out) in NAMES.iter().zip(&mut all) {
            bench.run(name, std::slice::from_ref(payload), out);
        }
        assert!(all.iter().all(|out| value(out) == value(&all[0])), "they differ: {all:?}");
    }
}

fn main() {
    let bench = Bench::new();
    let mut criterion = Criterion::default().configure_from_args().without_plots();
    // Under `cargo test` each runs once.
    let testing = std::env::args().any(|a| a == "--test");
    for kind in ["small", "mixed", "blobs"] {
        let corpus = corpus(kind);
        let bytes: usize = corpus.iter().map(Vec::len).sum();
        agree(&bench, &corpus);
        let mut group = criterion.benchmark_group(kind);
        group.throughput(Throughput::Bytes(bytes as u64)).sample_size(10);
        for name in NAMES {
            group.bench_function(name, |b| {
                let mut out = Vec::new();
                b.iter(|| bench.run(name, &corpus, &mut out));
            });
        }
        group.finish();
        if !testing {
            ratios(&bench, kind, &corpus, bytes);
        }
    }
}

fn ratios(bench: &Bench, kind: &str, corpus: &[Vec<u8>], bytes: usize) {
    let mut times: [Vec<Duration>; 5] = Default::default();
    let mut out = Vec::new();
    for _ in 0..ROUNDS {
        for (name, times) in NAMES.iter().zip(&mut times) {
            let begun = Instant::now();
            bench.run(name, corpus, &mut out);
            times.push(begun.elapsed());
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let medians = times.each_mut().map(median);
    println!("\n| {kind} | MB/s | messages/s | × naive | × generated |\n| --- | --- | --- | --- | --- |");
    for (name, time) in NAMES.iter().zip(medians) {
        println!(
            "| {name} | {:.0} | {:.2} M | {:.1} | {:.1} |",
            bytes as f64 / time / 1e6,
            corpus.len() as f64 / time / 1e6,
            medians[0] / time,
            medians[1] / time
        );
    }
    println!();
}
