//! The fields of a record, their types, and when each is known.
//! Never holds a name of a message or of a protocol.

use super::Stage;

/// What a field of the record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// Text.
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Words in an order: `<` and `>` are about their places.
    Ranked(&'static [&'static str]),
    /// A number that is shown as text: `"0x02"`.
    Flags,
    /// A point in time.
    Time,
    /// A span of time.
    Duration,
    /// Text or a number: an id.
    Id,
    /// The code of a finding.
    Code,
    /// A branch of a root message's oneof, or what stands for one.
    Kind,
    /// The full name of a message type.
    MessageName,
    /// The name of a lifeline.
    Pair,
}

macro_rules! metas {
    ($($variant:ident $name:literal $ty:expr, $stage:ident, $summary:literal;)*) => {
        /// A field of the record with a name of its own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Meta { $(#[doc = $summary] $variant),* }

        /// Every such field, in the order of the record.
        pub const FIELDS: &[FieldInfo] = &[$(FieldInfo {
            meta: Meta::$variant, name: $name, ty: $ty, stage: Stage::$stage, summary: $summary,
        }),*];
    };
}

/// What is known of a field.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// The field.
    pub meta: Meta,
    /// Its path.
    pub name: &'static str,
    /// What it holds.
    pub(super) ty: Type,
    /// When it is known.
    pub stage: Stage,
    /// One line on what it is.
    pub summary: &'static str,
}

const SEVERITIES: &[&str] = &["note", "warning", "error"];
const STATES: &[&str] = &["answered", "unanswered", "orphan", "aborted", "mismatch"];
const ENDINGS: &[&str] = &["completed", "canceled", "error", "cut-off", "unfinished", "open"];
const SPACES: &[&str] = &["capture", "inflated", "carrier"];

metas! {
    Frame "frame" Type::Int, Frame, "The frame's number, from 1";
    Capture "capture" Type::Text, Frame, "The capture's name";
    Ts "ts" Type::Time, Frame, "When its last byte was seen";
    Conn "conn" Type::Text, Frame, "The connection";
    Stream "stream" Type::Int, Frame, "The HTTP/2 stream, or the exchange's number on its connection";
    Call "call" Type::Int, Frame, "The call's number";
    Rpc "rpc" Type::Text, Frame, "package.Service/Method";
    Direction "direction" Type::Word(&["request", "response"]), Frame, "Who sent it";
    Protocol "protocol" Type::Word(&["connect", "grpc", "grpc-web", "bare"]), Frame, "How the call rides on HTTP";
    Offset "offset" Type::Int, Frame, "Where it begins in its body";
    At "at" Type::Int, Frame, "Where it begins in the capture file";
    Kind "kind" Type::Kind, Kind, "The branch set in the root message";
    MessageType "messageType" Type::MessageName, Kind, "The message's type";
    Flags "flags" Type::Flags, Frame, "The envelope's flags";
    Length "length" Type::Int, Kind, "Length of the payload";
    JsonLength "jsonLength" Type::Int, Kind, "Length of a payload in JSON";
    Compressed "compressed" Type::Bool, Frame, "Whether the payload is compressed";
    EndStream "endStream" Type::Bool, Frame, "Whether it is Connect's end of the stream";
    CarrierType "carrier.messageType" Type::MessageName, Record, "The type that carried the message";
    CarrierField "carrier.field" Type::Text, Record, "The field that carried it";
    CarrierEncoding "carrier.encoding" Type::Word(&["hex", "base64", "binary"]), Record, "How it was carried";
    CarrierAssumed "carrier.assumed" Type::Bool, Record, "Whether the carried type is the default";
    HttpMethod "http.method" Type::Text, Frame, "The request's method";
    HttpHost "http.host" Type::Text, Frame, "The request's host";
    HttpPath "http.path" Type::Text, Frame, "The request's path";
    HttpStatus "http.status" Type::Int, Frame, "The response's status";
    HttpVersion "http.version" Type::Text, Frame, "The version of HTTP";
    FindingCode "findings.code" Type::Code, Record, "The code of a finding";
    FindingSeverity "findings.severity" Type::Ranked(SEVERITIES), Record, "note, warning or error, in this order";
    FindingPath "findings.path" Type::Text, Record, "The field that a finding is about";
    FindingOffset "findings.offset" Type::Int, Record, "The byte that a finding is about";
    FindingIn "findings.in" Type::Word(SPACES), Record, "What that byte is counted in";
    FindingText "findings.text" Type::Text, Record, "The sentence of a finding";
    PairKind "pair.kind" Type::Pair, Later, "The kind of request that the frame asks, answers or ends";
    PairId "pair.id" Type::Id, Later, "Its id";
    PairWhat "pair.what" Type::Text, Later, "The branch that was asked for";
    PairState "pair.state" Type::Word(STATES), Later, "What became of it";
    PairLatency "pair.latency" Type::Duration, Later, "The time to its first answer";
    PairRequest "pair.request" Type::Int, Later, "The number of the frame that asks";
    PairResponses "pair.responses" Type::Int, Later, "The numbers of the frames that answer";
    RunRequestId "run.request_id" Type::Id, Later, "The id of the frame's run";
    RunConversationId "run.conversation_id" Type::Id, Later, "The id of what the run is part of";
    RunEnding "run.ending" Type::Word(ENDINGS), Later, "How the run ended";
    RunReason "run.reason" Type::Text, Later, "Why it ended so";
    RunTtft "run.ttft" Type::Duration, Later, "The time to its first token";
    RunDuration "run.duration" Type::Duration, Later, "The time from its first frame to its last";
}

/// Members whose names are open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// `ids.NAME`
    Ids,
    /// `carrier.NAME`
    Carrier,
    /// `http.headers.NAME`, in lower case.
    Headers,
    /// `run.tokens.NAME`
    Tokens,
}

impl Group {
    /// Each group and its path.
    pub const ALL: &'static [(Group, &'static str)] = &[
        (Group::Ids, "ids"),
        (Group::Carrier, "carrier"),
        (Group::Headers, "http.headers"),
        (Group::Tokens, "run.tokens"),
    ];

    /// When its members are known, and what they hold.
    pub(super) fn info(self) -> (Stage, Type) {
        match self {
            Self::Ids | Self::Carrier => (Stage::Record, Type::Id),
            Self::Headers => (Stage::Frame, Type::Text),
            Self::Tokens => (Stage::Later, Type::Int),
        }
    }
}
