//! The rules of a dialect as they are written: descriptors/dialect.proto, field by field.
//! Never resolves a name; that is `compile`'s work.

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident { $($tag:literal $field:ident : $kind:ident)* })*) => {
        $(rules!(@one $(#[$doc])* $name { } $($tag $field : $kind)*);)*
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct $name { $($done)* }
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : text $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto."] #[prost(string, tag = $tag)] pub $field: String, } $($rest)*);
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : texts $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto."] #[prost(string, repeated, tag = $tag)] pub $field: Vec<String>, } $($rest)*);
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : flag $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto."] #[prost(bool, tag = $tag)] pub $field: bool, } $($rest)*);
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : number $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto."] #[prost(uint32, tag = $tag)] pub $field: u32, } $($rest)*);
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : choice $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto: the enum's number."] #[prost(int32, tag = $tag)] pub $field: i32, } $($rest)*);
    };
    (@one $(#[$doc:meta])* $name:ident { $($done:tt)* } $tag:literal $field:ident : $kind:ident $($rest:tt)*) => {
        rules!(@one $(#[$doc])* $name { $($done)* #[doc = "See dialect.proto."] #[prost(message, repeated, tag = $tag)] pub $field: Vec<$kind>, } $($rest)*);
    };
}

rules! {
    /// All that is known of one protocol.
    Rules {
        "1" name: text
        "2" level: Level
        "3" measure: Measure
        "4" stream: Stream
        "5" namespace: Namespace
        "6" tunnel: Tunnel
        "7" nested: Nested
        "8" lifeline: Lifeline
        "9" ending: Ending
        "10" fold: Fold
        "11" secret: Secret
        "12" pulse: Pulse
    }
    /// One level of the timeline.
    Level { "1" name: text "2" within: text "3" namespace: text "4" method: texts "5" open: texts "6" close: texts "7" title: texts }
    /// A number worth showing.
    Measure {
        "1" name: text
        "2" level: text
        "3" unit: choice
        "4" take: choice
        "5" field: texts
        "6" since: texts
        "7" until: texts
        "8" volatile: flag
    }
    /// Text that is put together from its pieces.
    Stream { "1" name: text "2" field: texts "3" key: text "4" unless: text "5" when: text "6" r#break: texts }
    /// A set of ids.
    Namespace {
        "1" name: text
        "2" key: text
        "3" within: text
        "4" whole_exchange: flag
        "5" spreads: text
        "6" kind: choice
        "7" field: texts
        "8" header: texts
        "9" mention: texts
        "10" mention_header: texts
        "11" default_zero: flag
        "12" separator: text
        "13" digest: choice
        "14" content: Content
        "15" lasting: flag
        "16" relation: Relation
    }
    /// A header that points to another of the namespace.
    Relation { "1" header: text "2" name: text "3" inside: flag }
    /// An id and what it stands for.
    Content { "1" id: text "2" data: text "3" lifeline: text "4" same_exchange: flag }
    /// A message inside a field of another RPC's message.
    Tunnel {
        "1" payload: Payload
        "2" r#type: text
        "3" namespace: text
        "4" order: texts
        "5" in_flight: number
        "6" sibling: Sibling
        "7" end: texts
    }
    /// One form of a tunnel's payload.
    Payload { "1" field: text "2" encoding: choice }
    /// A call that tells what is inside a tunnel.
    Sibling { "1" method: text "2" r#type: text }
    /// A field whose value holds a further encoding.
    Nested {
        "1" field: texts
        "2" encoding: choice
        "3" r#type: text
        "4" content: choice
        "5" namespace: text
        "6" inline: flag
        "7" length: text
        "8" fragment: flag
        "9" tentative: flag
    }
    /// What opens, goes on, is answered and closes.
    Lifeline {
        "1" name: text
        "2" label: text
        "3" namespace: text
        "4" within: text
        "5" open: texts
        "6" early: texts
        "7" step: texts
        "8" answer: texts
        "9" close: texts
        "10" abort: texts
        "11" aborted: texts
        "12" heartbeat: texts
        "13" agree: texts
        "14" r#match: Match
        "15" decide: texts
        "16" loose: flag
        "17" offer: Offer
    }
    /// What an opening offers to take, and answers may bring along.
    Offer { "1" open: text "2" answer: text }
    /// Which answer fits which opening.
    Match { "1" open: text "2" answer: text "3" r#final: texts "4" itself: flag }
    /// What ends a run.
    Ending { "1" branch: texts "2" code: texts "3" outcome: choice "4" request: flag "5" reason: text "6" detail: texts }
    /// How successive values make one.
    Fold { "1" field: texts "2" how: choice "3" key: text }
    /// What must not be shown.
    Secret {
        "1" field: texts
        "2" header: texts
        "3" query: texts
        "4" path: text
        "5" json_key: texts
        "6" pattern: texts
        "7" personal: flag
        "8" label: text
    }
    /// What only keeps a connection alive.
    Pulse { "1" branch: texts "2" method: texts "3" every_ms: number "4" lifeline: text }
}
