//! Findings: what was wrong or odd in the capture, under stable codes.
//! Never a `Result`: the wire never errs.

use super::Span;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth knowing; normal traffic has it.
    Note,
    /// Something is missing or out of place.
    Warning,
    /// Bytes are damaged or contradict the schema or the protocol.
    Error,
}

impl Severity {
    /// The name used in records and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! catalogue {
    ($($variant:ident $name:literal $severity:ident $summary:literal)*) => {
        /// A stable code. [`Code::ALL`] is the catalogue that docs/FINDINGS.md is made from.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Code { $(#[doc = $summary] $variant),* }

        impl Code {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The name in records: `layer.what`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The usual severity; a finding may carry another where product rules say so.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),* }
            }

            /// One line on what the code means.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),* }
            }
        }
    };
}

catalogue! {
    FrameTruncated "frame.truncated" Warning "The bytes end inside a frame."
    FrameReservedFlags "frame.reserved-flags" Warning "Flag bits are set that the stream's protocol reserves."
    FrameTooLarge "frame.too-large" Error "A frame is longer than the limit."
    FrameAfterEnd "frame.after-end" Error "A frame follows the end of its stream."
    FrameNoEnd "frame.no-end" Warning "A stream stops without the frame or trailers that end it."
    FrameUnframed "frame.unframed" Warning "A body that should hold frames holds something else."
    FrameEnveloped "frame.enveloped" Note "A unary body has an envelope in front."
    FrameMissing "frame.missing-body" Warning "The capture does not hold the body."
    CodecUndeclared "codec.undeclared" Warning "A compressed payload whose encoding no header declares."
    CodecUnsupported "codec.unsupported" Warning "The declared encoding is not known."
    CodecCorrupt "codec.corrupt" Error "Compressed bytes are damaged or not what was declared."
    CodecBomb "codec.bomb" Error "Compressed bytes inflate past the limit."
    ProtoMalformed "proto.malformed" Error "Bytes break the protobuf wire format."
    ProtoWireType "proto.wire-type" Error "A field's wire type does not fit its declared type."
    ProtoUtf8 "proto.utf8" Error "A string field holds bytes that are not UTF-8."
    ProtoUnknownField "proto.unknown-field" Note "A field number that the schema does not have."
    ProtoUnknownEnum "proto.unknown-enum" Note "An enum number that the schema does not name."
    ProtoOneofMultiple "proto.oneof-multiple" Warning "Several branches of one oneof in one message."
    ProtoDepth "proto.depth" Error "Messages nest deeper than the limit."
    ProtoRange "proto.range" Warning "A well-known type holds a value outside its range."
    ProtoRequired "proto.required" Warning "A required field is not set."
    ProtoAny "proto.any" Warning "The value of an Any does not decode as its type."
    ProtoAmbiguous "proto.assumed-type" Note "The message type was found by trial, not named by the capture."
    JsonMalformed "json.malformed" Error "A JSON payload does not parse or does not fit its message."
    CarrierBothPayloads "carrier.both-payloads" Error "Both payload fields of a carrier are set and differ."
    CarrierBadEncoding "carrier.bad-encoding" Error "A carried payload is not in the encoding of its field."
    CarrierWrongType "carrier.wrong-type" Error "A carried payload does not decode as the type its stream says."
    CarrierEmpty "carrier.empty" Note "A carrier without a payload."
    CarrierOddSpelling "carrier.odd-spelling" Note "A carried payload is spelled unusually, as upper-case hex."
    OrderGap "order.gap" Warning "Order numbers are missing."
    OrderDuplicate "order.duplicate" Warning "An order number comes twice."
    OrderReordered "order.reordered" Warning "Messages came in another order than their numbers."
    PairUnanswered "pair.unanswered" Warning "A request never got its answer."
    PairOrphan "pair.orphan" Warning "An answer to nothing that was asked."
    PairTypeMismatch "pair.type-mismatch" Error "An answer of another type than was asked for."
    PairIdMismatch "pair.id-mismatch" Error "Request and answer disagree on a second id."
    PairAfterFinal "pair.after-final" Warning "A message for something that had already ended."
    PairUnasked "pair.unasked" Note "An answer brings along what its request did not offer to take."
    PairEmptyResult "pair.empty-result" Error "An answer without a result."
    LifelineNeverClosed "lifeline.never-closed" Warning "Something that was opened never ended."
    LifelineNotOpened "lifeline.not-opened" Warning "A step or end of something that was never opened."
    LifelineIdChanged "lifeline.id-changed" Warning "An id changed in mid-life."
    IdWrongNamespace "id.wrong-namespace" Error "An id that lives in another namespace of the same request."
    BlobHashMismatch "blob.hash-mismatch" Error "A blob's bytes do not hash to its id."
    BlobLength "blob.length-mismatch" Error "A blob is not as long as the message that refers to it says."
    BlobMissing "blob.missing" Note "A blob is referred to that the capture does not hold."
    RunCanceled "run.canceled" Note "The run was canceled."
    RunError "run.error" Warning "The run ended with an error."
    RunCutOff "run.cut-off" Warning "The run's stream was closed or reset without an end."
    RunUnfinished "run.unfinished" Warning "The run's stream ended cleanly before its turn did."
    RunJoined "run.joined" Note "A stream that nothing names was joined to a run by the ids inside."
    NetGap "net.gap" Warning "Bytes of a connection are missing from the capture."
    NetOverlap "net.overlap" Warning "A segment was sent again with other bytes."
    NetTlsNoKey "net.tls-no-key" Warning "A TLS connection cannot be decrypted with the keys at hand."
    NetTlsDamaged "net.tls-damaged" Warning "A TLS record does not authenticate."
    NetHpackLost "net.hpack-lost" Warning "Header table entries were sent before the capture began."
    NetHttp "net.http" Warning "Bytes that break HTTP."
    NetLink "net.link-type" Warning "A link type that is not read."
    NetReset "net.reset" Warning "A stream or connection was reset before it ended."
    CaptureCut "capture.cut" Note "The capture file ends inside a record."
    CaptureDamaged "capture.damaged" Warning "A record of the capture file cannot be read."
    CaptureSkipped "capture.skipped" Note "A part of the capture is of a kind that is not read."
    LimitReached "limit.reached" Warning "A limit on what is held was reached and something was given up."
    SecretRedacted "secret.redacted" Note "A secret was replaced; --show-secrets shows it."
}

/// One finding: a code, its severity, a sentence, and the place.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The stable code.
    pub code: Code,
    /// The severity of this one.
    pub severity: Severity,
    /// What was expected and what was found, in a sentence without its place. May quote
    /// the capture: views clean it.
    pub text: String,
    /// The path of the field (`a.b[3].c`), where there is one.
    pub path: Option<String>,
    /// The bytes.
    pub span: Option<Span>,
}

impl Finding {
    /// A finding of the code's usual severity, without a place.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, severity: code.severity(), text: text.into(), path: None, span: None }
    }

    /// The same at another severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same with a field path.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same with a place.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_have_two_parts() {
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.name()).collect();
        assert!(names.iter().all(|n| n.split('.').count() == 2));
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(before, names.len());
    }
}
