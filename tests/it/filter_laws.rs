//! The law of the filter: what it lets through is what the same predicate in jq's language selects, for any predicate
//! over any record; and no text makes it panic. Never looks at one predicate in particular.

use std::collections::HashSet;
use std::fs;
use std::io::Cursor;
use std::sync::{LazyLock, Mutex};

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data};
use jaq_json::{Val, read};
use proptest::prelude::*;
use serde_json::Value;

use rpcshark::dialect::Plan;
use rpcshark::encode;
use rpcshark::pipeline::{self, Config, Expand, Job, Seen, display_filter};
use rpcshark::query::{Filter, Looked, Stage};
use rpcshark::schema::{Cardinality, Kind, Schema};
use rpcshark::source::{Format, Options, Reader};
use rpcshark::view::{self, Item};

use crate::fuzz::targets::messages::BUILTIN;
use crate::fuzz::targets::program::{self, Frames};
use crate::generated::{self, Draw};
use crate::run::fixture;

/// What predicates are made of: elements of arrays, numbers in the strings that ProtoJSON puts them in, times of one length.
const PRELUDE: &str = r#"
def flat: if type == "array" then .[] | flat else . end;
def num: if . == "Infinity" then infinite elif . == "-Infinity" then -infinite elif . == "NaN" then .
  elif type == "string" then tonumber else . end;
def moment: .[:-1] | if contains(".") then . else . + "." end | (. + "000000000")[:29];
def bits: {"0x00": 0, "0x01": 1, "0x02": 2, "0x80": 128}[.];
def is(f): any(.[]; f); def isnt(f): length > 0 and (any(.[]; f) | not);
"#;

/// The same predicate in both languages.
struct Predicate {
    filter: String,
    jq: String,
}

/// What a field of the record holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Class {
    Int,
    Float,
    Text,
    Word,
    Bool,
    Bytes,
    Enum,
    /// Only whether it is there can be asked.
    Whole,
}

/// Fields of the record: path, the values in jq, what they are.
const FIELDS: &[(&str, &str, Class)] = &[
    ("frame", ".frame", Class::Int),
    ("length", ".length", Class::Int),
    ("kind", ".kind", Class::Word),
    ("direction", ".direction", Class::Word),
    ("rpc", ".rpc", Class::Text),
    ("offset", ".offset", Class::Int),
    ("stream", ".stream", Class::Int),
    ("call", ".call", Class::Int),
    ("at", ".at", Class::Int),
    ("jsonLength", ".jsonLength", Class::Int),
    ("flags", "(.flags | values | bits)", Class::Int),
    ("capture", ".capture", Class::Text),
    ("conn", ".conn", Class::Text),
    ("protocol", ".protocol", Class::Word),
    ("messageType", ".messageType", Class::Word),
    ("compressed", ".compressed", Class::Bool),
    ("endStream", ".endStream", Class::Bool),
    ("carrier.field", ".carrier?.field", Class::Text),
    ("carrier.encoding", ".carrier?.encoding", Class::Word),
    ("http.method", ".http?.method", Class::Text),
    ("http.host", ".http?.host", Class::Text),
    ("http.status", ".http?.status", Class::Int),
    ("findings.code", ".findings[].code", Class::Word),
    ("findings.text", ".findings[].text", Class::Text),
    ("ids.request_id", "(.ids.request_id | flat)", Class::Whole),
    ("ids.call_id", "(.ids.call_id | flat)", Class::Whole),
];

/// Records that predicates are drawn for.
struct Pool {
    schema: Schema,
    records: Vec<Value>,
}

/// Text as both languages write it.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text")
}

impl Pool {
    fn predicate(&self, draw: &mut Draw<'_>, depth: usize) -> Predicate {
        let choice = if depth == 0 { 0 } else { draw.byte() % 8 };
        match choice {
            5 | 6 => {
                let (a, b) = (self.predicate(draw, depth - 1), self.predicate(draw, depth - 1));
                let (word, sign) = if choice == 5 { ("and", "&&") } else { ("or", "||") };
                let op = if draw.byte() % 2 == 1 { sign } else { word };
                let filter = format!("({}) {op} ({})", a.filter, b.filter);
                Predicate { filter, jq: format!("(({}) {word} ({}))", a.jq, b.jq) }
            }
            7 => {
                let inner = self.predicate(draw, depth - 1);
                let not = draw.pick(&["not ", "!"]);
                Predicate {
                    filter: format!("{not}({})", inner.filter),
                    jq: format!("(({}) | not)", inner.jq),
                }
            }
            _ => self.leaf(draw),
        }
    }

    fn leaf(&self, draw: &mut Draw<'_>) -> Predicate {
        if draw.byte() % 2 == 1
            && let Some((path, values, class, seen)) = self.place(draw)
        {
            return asked(draw, &path, &values, class, &seen);
        }
        let (path, values, class) = *draw.pick(FIELDS);
        let seen = self.seen(draw, path);
        asked(draw, path, &format!("[{values} | values]"), class, &seen)
    }

    /// A value that some record has of one of its own fields.
    fn seen(&self, draw: &mut Draw<'_>, path: &str) -> Value {
        if path == "flags" {
            return (*draw.pick(&[0, 1, 2, 128])).into();
        }
        let all: Vec<&Value> = self
            .records
            .iter()
            .filter_map(|r| match path.strip_prefix("findings.") {
                Some(name) => r["findings"].as_array()?.first()?.get(name),
                None => path.split('.').try_fold(r, |at, step| at.get(step)),
            })
            .filter(|v| !v.is_null())
            .collect();
        if all.is_empty() { Value::Null } else { (*draw.pick(&all)).clone() }
    }

    /// A place in some message, here and there by `*` and `**`, whose values are all of one class.
    fn place(&self, draw: &mut Draw<'_>) -> Option<(String, String, Class, Value)> {
        let mut at = &draw.pick(&self.records)["message"];
        let mut steps: Vec<String> = Vec::new();
        loop {
            at = match at {
                Value::Object(members) if !members.is_empty() => {
                    let (name, below) = members.iter().nth(draw.below(members.len()))?;
                    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    let named = plain && name.starts_with(|c: char| c.is_ascii_alphabetic());
                    if name.starts_with('$') {
                        return None;
                    }
                    steps.push(if named { name.clone() } else { "*".to_owned() });
                    below
                }
                Value::Array(items) if !items.is_empty() => draw.pick(items),
                _ => break,
            };
            if steps.len() > 1 && draw.byte() % 8 == 7 {
                break;
            }
        }
        match draw.byte() % 4 {
            // All steps but the last are any number of any.
            1 if !steps.is_empty() => steps = vec!["**".to_owned(), steps.pop()?],
            2 if steps.len() > 1 => {
                let place = draw.below(steps.len() - 1);
                steps[place] = "*".to_owned();
            }
            _ => {}
        }
        let class = class_of(&self.schema, &steps)?;
        let path: String = steps.iter().map(|s| format!(".{s}")).collect();
        let below = steps.iter().map(|step| match step.as_str() {
            "*" => " | flat | objects | .[]".to_owned(),
            "**" => " | flat | ..".to_owned(),
            name => format!(" | flat | objects | .[{}]", quoted(name)),
        });
        let values = format!("[.message{} | flat | values]", below.collect::<String>());
        Some((format!("message{path}"), values, class, at.clone()))
    }
}

/// The class of all that a path leads to from any message, where it is one.
fn class_of(schema: &Schema, steps: &[String]) -> Option<Class> {
    let mut at: HashSet<(Kind, bool)> =
        schema.types().filter(|(_, t)| !t.map_entry).map(|(ty, _)| (Kind::Message(ty), false)).collect();
    let members = |(kind, is_map): (Kind, bool), name: Option<&str>| -> Vec<(Kind, bool)> {
        let Kind::Message(ty) = kind else { return Vec::new() };
        let plan = schema.ty(ty);
        let fields = plan.fields.iter().filter(|f| match is_map {
            true => f.number == 2,
            false => name.is_none_or(|name| *f.name == *name),
        });
        fields.map(|f| (f.kind, f.cardinality == Cardinality::Map)).collect()
    };
    for step in steps {
        let mut next: HashSet<(Kind, bool)> = HashSet::new();
        match step.as_str() {
            "**" => {
                let mut open: Vec<_> = at.into_iter().collect();
                while let Some(node) = open.pop() {
                    if next.insert(node) {
                        open.extend(members(node, None));
                    }
                }
            }
            "*" => next.extend(at.iter().flat_map(|node| members(*node, None))),
            name => next.extend(at.iter().flat_map(|node| members(*node, Some(name)))),
        }
        // JSON of well-known types is not what their fields are.
        let known = |kind: Kind| kind.message().is_some_and(|ty| schema.ty(ty).known.is_some());
        if next.iter().any(|(kind, _)| known(*kind)) && step != "**" {
            return None;
        }
        at = next;
    }
    let mut classes = at.iter().map(|(kind, _)| match kind {
        Kind::String => Class::Text,
        Kind::Bytes => Class::Bytes,
        Kind::Bool => Class::Bool,
        Kind::Enum(_) => Class::Enum,
        Kind::Double | Kind::Float => Class::Float,
        Kind::Message(_) => Class::Whole,
        _ => Class::Int,
    });
    let first = classes.next()?;
    classes.all(|c| c == first).then_some(first)
}

/// A question about values, `seen` one of them.
fn asked(draw: &mut Draw<'_>, path: &str, values: &str, class: Class, seen: &Value) -> Predicate {
    let is = |filter: String, test: String| Predicate { filter, jq: format!("({values} | is({test}))") };
    let text = || seen.as_str().unwrap_or("x").to_owned();
    let presence = |draw: &mut Draw<'_>| match draw.byte() % 3 {
        1 => Predicate { filter: format!("{path} == null"), jq: format!("({values} | length == 0)") },
        2 => Predicate { filter: format!("{path} != null"), jq: format!("({values} | length > 0)") },
        _ if path == "compressed" || path == "endStream" => is(path.to_owned(), ".".to_owned()),
        _ => Predicate { filter: path.to_owned(), jq: format!("({values} | length > 0)") },
    };
    if draw.byte() % 6 == 5 || seen.is_null() {
        return presence(draw);
    }
    match class {
        Class::Whole => presence(draw),
        Class::Bool => {
            let value = draw.byte() % 2 == 1;
            is(format!("{path} == {value}"), format!(". == {value}"))
        }
        Class::Int | Class::Float => number(draw, path, values, seen),
        Class::Bytes => {
            let bytes = base64_simd::STANDARD.decode_to_vec(text()).unwrap_or_default();
            let digits: Vec<String> = bytes.iter().map(|b| format!("\\x{b:02x}")).collect();
            is(format!("{path} == b\"{}\"", digits.concat()), format!(". == {}", quoted(&text())))
        }
        Class::Enum | Class::Word => {
            let Some(word) = seen.as_str() else { return presence(draw) };
            let word = quoted(word);
            match draw.byte() % 3 {
                1 => Predicate {
                    filter: format!("{path} != {word}"),
                    jq: format!("({values} | isnt(. == {word}))"),
                },
                2 => is(format!("{path} in {{{word}}}"), format!(". == {word}")),
                _ => is(format!("{path} == {word}"), format!(". == {word}")),
            }
        }
        Class::Text => words(draw, path, values, &text()),
    }
}

fn words(draw: &mut Draw<'_>, path: &str, values: &str, text: &str) -> Predicate {
    let is = |filter: String, test: String| Predicate {
        filter,
        jq: format!("({values} | is(type == \"string\" and ({test})))"),
    };
    let other = *draw.pick(&["", "the", "é", "\"\\\n", "zz"]);
    let part: String = text.chars().skip(draw.below(4)).take(1 + draw.below(6)).collect();
    let (whole, part, other) = (quoted(text), quoted(&part), quoted(other));
    match draw.byte() % 8 {
        1 => {
            Predicate { filter: format!("{path} != {whole}"), jq: format!("({values} | isnt(. == {whole}))") }
        }
        2 => is(format!("{path} contains {part}"), format!("contains({part})")),
        3 => is(format!("{path} contains {other}"), format!("contains({other})")),
        4 => is(
            format!("{path} in {{{whole}, {other} {part}}}"),
            format!(". == {whole} or . == {other} or . == {part}"),
        ),
        5 => {
            let op = draw.pick(&["<", "<=", ">", ">="]);
            is(format!("{path} {op} {part}"), format!(". {op} {part}"))
        }
        6 | 7 => {
            let patterns = ["^t", "[a-f]+$", r"\d{2}", "a.c", "é", "(?-i)T", r"\bthe\b", "^$", "x*"];
            let pattern: &&str = draw.pick(&patterns);
            let pattern = quoted(pattern);
            let op = draw.pick(&["matches", "~"]);
            is(format!("{path} {op} {pattern}"), format!("test({pattern}; \"i\")"))
        }
        _ => is(format!("{path} == {whole}"), format!(". == {whole}")),
    }
}

fn number(draw: &mut Draw<'_>, path: &str, values: &str, seen: &Value) -> Predicate {
    let values = format!("({values} | map(num))");
    let is = |filter: String, test: String| Predicate {
        filter,
        jq: format!("({values} | is(type == \"number\" and ({test})))"),
    };
    let seen = seen.as_str().map_or_else(|| seen.to_string(), str::to_owned);
    let near = seen.parse::<i128>().ok();
    // A fraction as it is; of whole numbers one beside it, too.
    let value = match near {
        Some(n) => (n + i128::from(draw.byte() % 3) - 1).clamp(i128::from(i64::MIN), i128::from(u64::MAX)),
        None => match seen.parse::<f64>() {
            Ok(n) if n.is_finite() => {
                let op = draw.pick(&["==", "<", "<=", ">", ">="]);
                return is(format!("{path} {op} {seen}"), format!(". {op} {seen}"));
            }
            _ => 0,
        },
    };
    let spelled = match draw.byte() % 4 {
        1 if value >= 0 => format!("{value:#x}"),
        2 if value != 0 && value % 1024 == 0 => format!("{}K", value / 1024),
        3 if value.abs() < 1 << 50 => format!("{value}.0"),
        _ => value.to_string(),
    };
    match draw.byte() % 8 {
        1 => Predicate {
            filter: format!("{path} != {spelled}"),
            jq: format!("({values} | isnt(. == {value}))"),
        },
        2 => {
            let end = value + i128::from(draw.byte());
            is(format!("{path} in {{{spelled}..{end}, 7}}"), format!(". == 7 or . >= {value} and . <= {end}"))
        }
        3 => is(format!("{path} in {{{spelled} 0}}"), format!(". == {value} or . == 0")),
        4 => is(format!("{path} == {spelled}"), format!(". == {value}")),
        _ => {
            let (word, op) = *draw.pick(&[("<", "<"), ("le", "<="), ("gt", ">"), (">=", ">=")]);
            is(format!("{path} {word} {spelled}"), format!(". {op} {value}"))
        }
    }
}

/// What the predicates in jq's language say of a record.
struct Jq(jaq_core::Filter<data::JustLut<Val>>);

impl Jq {
    fn new(predicates: &[Predicate]) -> Self {
        let all: Vec<&str> = predicates.iter().map(|p| p.jq.as_str()).collect();
        let code = format!("{PRELUDE} [{}]", all.join(","));
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs).load(&arena, File { code: code.as_str(), path: () });
        let modules = modules.unwrap_or_else(|_| panic!("no jq: {code}"));
        let filter = Compiler::default().with_funs(funs).compile(modules);
        Self(filter.unwrap_or_else(|_| panic!("no jq: {code}")))
    }

    fn say(&self, line: &[u8]) -> Vec<bool> {
        let input = read::parse_single(line).expect("a record");
        let context = Ctx::<data::JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let mut outputs = self.0.id.run((context, input));
        match outputs.next() {
            Some(Ok(Val::Arr(said))) => said.iter().map(|v| matches!(v, Val::Bool(true))).collect(),
            Some(Err(error)) => {
                panic!("{:?} on {}", error.get_err().map(|e| e.to_string()), String::from_utf8_lossy(line))
            }
            _ => panic!("one array"),
        }
    }
}

/// Filters over all frames of a capture beside what jq says of their records.
fn agree(config: &Config, plan: &Plan, capture: Reader, predicates: &[Predicate]) {
    let filters: Vec<Filter> = predicates
        .iter()
        .map(|p| {
            display_filter(&p.filter, &config.schema, plan, false)
                .unwrap_or_else(|e| panic!("{e}: {}", p.filter))
        })
        .collect();
    let jq = Mutex::new(Jq::new(predicates));
    let render = |item: &Item<'_>, _: &Job, _: &mut Vec<u8>| {
        let mut line = Vec::new();
        view::jsonl::write(item, &mut line);
        let seen = Seen::new(item, None);
        let said = jq.lock().expect("one thread").say(&line);
        for ((filter, predicate), said) in filters.iter().zip(predicates).zip(said) {
            let passes = filter.matches(&config.schema, &seen);
            assert_eq!(
                passes,
                said,
                "{}\n{}\n{}",
                predicate.filter,
                predicate.jq,
                String::from_utf8_lossy(&line)
            );
            for stage in [Stage::Frame, Stage::Kind, Stage::Record] {
                let early = filter.decide(&config.schema, &seen, stage);
                assert!(early.is_none_or(|early| early == passes), "{} at {stage:?}", predicate.filter);
            }
            let mut looked = Looked::default();
            filter.look(&config.schema, &seen, &mut looked);
            assert_eq!(filter.judge(&looked), passes, "{} looked at", predicate.filter);
        }
    };
    let mut sink = Frames::default();
    pipeline::run(config, &mut std::iter::once(capture), &render, &mut sink).expect("the sink takes all");
}

/// The records of a capture.
fn records(config: &Config, capture: Reader) -> Vec<Value> {
    let mut sink = Frames::default();
    let render = |item: &Item<'_>, _: &Job, out: &mut Vec<u8>| view::jsonl::write(item, out);
    pipeline::run(config, &mut std::iter::once(capture), &render, &mut sink).expect("the sink takes all");
    let lines = sink.out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a record")).collect()
}

fn predicates(pool: &Pool, drawn: &[u8], count: usize) -> Vec<Predicate> {
    let mut draw = Draw::new(drawn);
    (0..count).map(|_| pool.predicate(&mut draw, 3)).collect()
}

const CAPTURES: &[&str] =
    &["good.pcap", "good-json.pcap.gz", "provider-error-grpc.pcap", "unanswered.pcap", "good.har"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filters_say_what_jq_says_of_captures(
        capture in 0..CAPTURES.len(),
        drawn in proptest::collection::vec(any::<u8>(), 0..900),
    ) {
        static CONFIG: LazyLock<Config> = LazyLock::new(|| program::config(Expand::Carrier, false));
        static POOLS: LazyLock<Vec<(Vec<u8>, Pool)>> = LazyLock::new(|| CAPTURES.iter().map(|name| {
            let data = fs::read(fixture(name)).expect("a fixture");
            let capture = program::open(&data, usize::MAX).expect("a capture");
            let records = records(&CONFIG, capture);
            (data, Pool { schema: BUILTIN.0.clone(), records })
        }).collect());
        let (data, pool) = &POOLS[capture];
        let capture = program::open(data, usize::MAX).expect("a capture");
        agree(&CONFIG, &BUILTIN.1, capture, &predicates(pool, &drawn, 24));
    }

    #[test]
    fn filters_say_what_jq_says_of_any_messages(
        proto in proptest::collection::vec(any::<u8>(), 0..160),
        sent in proptest::collection::vec(any::<u8>(), 0..400),
        drawn in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let schema = generated::schema(&generated::proto(&mut Draw::new(&proto)));
        let ty = schema.type_by_name("gen.v1.M0").expect("the root");
        let mut draw = Draw::new(&sent);
        let mut body = Vec::new();
        for _ in 0..8 {
            encode::envelope(0, &generated::message(&schema, ty, &mut draw, 3), &mut body).expect("short");
        }
        let config = Config {
            as_type: Some(ty),
            ..program::config_of(schema.clone(), Plan::default(), Expand::Carrier, false)
        };
        let open = || {
            let options = Options { format: Some(Format::Raw), typed: true, ..Options::default() };
            Reader::from_reader("generated", Box::new(Cursor::new(body.clone())), &options).expect("a body")
        };
        let pool = Pool { schema, records: records(&config, open()) };
        // Without a dialect there are no ids.
        let mut predicates = predicates(&pool, &drawn, 16);
        predicates.retain(|p| !p.filter.contains("ids."));
        agree(&config, &Plan::default(), open(), &predicates);
    }

    #[test]
    fn no_text_makes_a_filter_panic(text in prop_oneof![
        any::<String>(),
        "(message(\\.(\\*|\\*\\*|[a-z_]{1,6}|\\$unknown|é))*(\\[[0-9\"a]{0,3}\\])?|kind|ids\\.\\PC{0,3}) ?(==|in|~|<|&|contains) ?\\PC{0,20}",
        "[(!{\\[\"'~.*&|=<>0-9a-fx:é\\\\ ]{0,40}",
    ]) {
        let (schema, plan) = &*BUILTIN;
        for whole in [false, true] {
            if let Err(error) = display_filter(&text, schema, plan, whole) {
                prop_assert!(text.get(error.span.clone()).is_some(), "{:?}: {:?}", text, error);
            }
        }
    }
}
