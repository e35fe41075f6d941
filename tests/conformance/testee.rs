//! Answers the questions of Google's conformance suite (conformance.proto) with the library's public API.
//! Never reads a capture: `tests/conformance/run.sh` starts it and speaks to it through its pipes.

use std::{
    env,
    io::{self, Read, Write},
};

use prost::Message;
use rpcshark::{
    base::{Code, Finding, Limits, Severity},
    message::{
        self, JsonOptions, Tree,
        json_in::{self, JsonInOptions},
        wire_out,
    },
    schema::{self, Schema, TypeId},
};

/// The suite's test messages, compiled from the .proto files that come with its runner.
const TEST_MESSAGES: &[u8] = include_bytes!("test_messages.binpb");

const PROTOBUF: i32 = 1;
const JSON: i32 = 2;
/// `TestCategory.JSON_IGNORE_UNKNOWN_PARSING_TEST`
const IGNORE_UNKNOWN: i32 = 3;

#[derive(Clone, PartialEq, prost::Message)]
struct ConformanceRequest {
    #[prost(oneof = "Payload", tags = "1, 2")]
    payload: Option<Payload>,
    #[prost(int32, tag = "3")]
    requested_output_format: i32,
    #[prost(string, tag = "4")]
    message_type: String,
    #[prost(int32, tag = "5")]
    test_category: i32,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Payload {
    #[prost(bytes, tag = "1")]
    Protobuf(Vec<u8>),
    /// A string in conformance.proto, which questions about UTF-8 break.
    #[prost(bytes, tag = "2")]
    Json(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
struct ConformanceResponse {
    #[prost(oneof = "Outcome", tags = "1, 3, 4, 5, 6")]
    result: Option<Outcome>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Outcome {
    #[prost(string, tag = "1")]
    ParseError(String),
    #[prost(bytes, tag = "3")]
    Protobuf(Vec<u8>),
    #[prost(string, tag = "4")]
    Json(String),
    #[prost(string, tag = "5")]
    Skipped(String),
    #[prost(string, tag = "6")]
    SerializeError(String),
}

fn main() -> io::Result<()> {
    let schema = test_schema().map_err(io::Error::other)?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut request = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut request)?;
        let request = ConformanceRequest::decode(&*request)?;
        let response = ConformanceResponse { result: Some(answer(&schema, request)) }.encode_to_vec();
        output.write_all(&(response.len() as u32).to_le_bytes())?;
        output.write_all(&response)?;
        output.flush()?;
    }
    Ok(())
}

/// The test messages from the descriptor set, or from .proto text below the folder that `TEST_PROTOS` names.
fn test_schema() -> Result<Schema, schema::Error> {
    match env::var_os("TEST_PROTOS") {
        Some(root) => {
            let roots = vec![root.into()];
            Ok(schema::load(&schema::Sources { roots, ..Default::default() })?.schema)
        }
        None => Schema::from_sets(&[("test_messages.binpb", TEST_MESSAGES)]),
    }
}

fn answer(schema: &Schema, request: ConformanceRequest) -> Outcome {
    if request.message_type == "conformance.FailureSet" {
        return Outcome::Protobuf(Vec::new());
    }
    let Some(ty) = schema.type_by_name(&request.message_type) else {
        return Outcome::Skipped(format!("{} is not known", request.message_type));
    };
    let payload = match request.payload {
        Some(Payload::Protobuf(bytes)) => bytes,
        Some(Payload::Json(text)) => {
            let Ok(text) = String::from_utf8(text) else {
                return Outcome::ParseError("not UTF-8".to_owned());
            };
            let options = JsonInOptions { ignore_unknown: request.test_category == IGNORE_UNKNOWN };
            let mut bytes = Vec::new();
            if let Some(error) = json_in::encode(schema, ty, &text, options, &mut bytes).first() {
                return Outcome::ParseError(format!("{}: {}", error.path, error.text));
            }
            bytes
        }
        None => return Outcome::Skipped("neither protobuf nor JSON".to_owned()),
    };
    convert(schema, ty, &payload, request.requested_output_format)
}

/// Decodes a message and writes it in the format that is asked for.
fn convert(schema: &Schema, ty: TypeId, payload: &[u8], format: i32) -> Outcome {
    let limits = Limits::default();
    let mut tree = Tree::new();
    let mut findings = Vec::new();
    message::decode(schema, Some(ty), payload, &limits, &mut tree, &mut findings);
    if let Some(error) = findings.iter().find(|f| f.severity == Severity::Error) {
        return Outcome::ParseError(said(error));
    }
    let mut out = Vec::new();
    match format {
        PROTOBUF => {
            wire_out::write(schema, &tree, payload, &mut out);
            Outcome::Protobuf(out)
        }
        JSON => {
            if let Some(error) = findings.iter().find(|f| matches!(f.code, Code::ProtoRange | Code::ProtoAny))
            {
                return Outcome::SerializeError(said(error));
            }
            let options = JsonOptions {
                json_names: true,
                keep_unknown: false,
                redact: false,
                ..JsonOptions::new(&limits)
            };
            message::json::write(schema, &tree, payload, &options, &mut out, &mut findings);
            Outcome::Json(String::from_utf8_lossy(&out).into_owned())
        }
        other => Outcome::Skipped(format!("output format {other}")),
    }
}

fn said(finding: &Finding) -> String {
    format!("{}: {}", finding.code.name(), finding.text)
}
