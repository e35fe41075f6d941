//! What kind of RPC a message head speaks of: by content-type, method, path and headers.
//! Never by the name of a service, and never from the body.

use crate::pdu::{Codec, Head, Headers, Protocol, Start};

/// What a content-type promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// Envelopes.
    Frames(Protocol, Codec),
    /// One bare message; `proto` is a type that only RPCs use.
    Message { codec: Codec, proto: bool },
    /// Server-sent events, or what calls itself so.
    Events,
    /// Nothing, or just bytes.
    Unnamed,
    /// Something else.
    Other,
}

pub(super) fn content(head: &Head) -> Content {
    let Some(name) = content_type(head) else { return Content::Unnamed };
    let named = |suffix: &str| match suffix {
        "" | "+proto" => Codec::Proto,
        "+json" => Codec::Json,
        _ => Codec::Other,
    };
    // The longer names first: each is the beginning of the next.
    for (prefix, protocol) in [
        ("application/grpc-web-text", Protocol::GrpcWebText),
        ("application/grpc-web", Protocol::GrpcWeb),
        ("application/grpc", Protocol::Grpc),
        ("application/connect", Protocol::ConnectStream),
    ] {
        match name.strip_prefix(prefix) {
            Some("") if protocol == Protocol::ConnectStream => {}
            Some(suffix) if suffix.is_empty() || suffix.starts_with('+') => {
                return Content::Frames(protocol, named(suffix));
            }
            _ => {}
        }
    }
    match name.as_str() {
        "application/proto" => Content::Message { codec: Codec::Proto, proto: true },
        "application/protobuf" | "application/x-protobuf" => {
            Content::Message { codec: Codec::Proto, proto: false }
        }
        "application/json" => Content::Message { codec: Codec::Json, proto: false },
        "text/event-stream" => Content::Events,
        "application/octet-stream" | "binary/octet-stream" => Content::Unnamed,
        _ => Content::Other,
    }
}

/// The media type without its parameters, in lower case.
pub(super) fn content_type(head: &Head) -> Option<String> {
    let value = head.headers.get("content-type")?;
    let name = value.split(';').next().unwrap_or(value).trim();
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

/// The content-encoding, where one is named that changes the bytes.
pub(super) fn content_encoding(head: &Head) -> Option<&str> {
    let value = head.headers.get("content-encoding")?.trim();
    (!value.is_empty() && !value.eq_ignore_ascii_case("identity")).then_some(value)
}

/// The message encoding that the head declares for flagged frames.
pub(super) fn message_encoding(protocol: Protocol, headers: &Headers) -> Option<String> {
    let name = match protocol {
        Protocol::ConnectStream => "connect-content-encoding",
        Protocol::Grpc | Protocol::GrpcWeb | Protocol::GrpcWebText => "grpc-encoding",
        Protocol::ConnectUnary | Protocol::ConnectGet | Protocol::Bare => return None,
    };
    let value = headers.get(name)?.trim().to_ascii_lowercase();
    (!value.is_empty() && value != "identity").then_some(value)
}

/// `pkg.Service/Method` from a path, which may have a prefix and a query, or be a whole URL.
pub(super) fn rpc(path: &str) -> Option<&str> {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let (head, method) = path.rsplit_once('/')?;
    let start = head.rfind('/').map_or(0, |slash| slash + 1);
    let service = head.get(start..)?;
    let is_name = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
    };
    if !is_name(method) || !service.split('.').all(is_name) {
        return None;
    }
    path.get(start..)
}

/// Whether the path alone makes an RPC likely: a package, and a service as style guides have it.
pub(super) fn is_rpc_path(head: &Head) -> bool {
    let Start::Request { path: Some(path), .. } = &head.start else { return false };
    let Some((service, _)) = rpc(path).and_then(|r| r.split_once('/')) else { return false };
    service.rsplit_once('.').is_some_and(|(_, name)| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether the head of which entries were lost speaks of gRPC.
pub(super) fn hints_grpc(headers: &Headers) -> bool {
    headers
        .fields
        .iter()
        .any(|h| h.name.starts_with("grpc-") || h.name == "te" && h.value.eq_ignore_ascii_case("trailers"))
}

pub(super) fn status(head: &Head) -> Option<u16> {
    match head.start {
        Start::Response { status } => status,
        Start::Request { .. } => None,
    }
}

/// The name of an error code (RFC 9113, section 7).
pub(super) fn error_name(code: u32) -> &'static str {
    match code {
        0x0 => "NO_ERROR",
        0x1 => "PROTOCOL_ERROR",
        0x2 => "INTERNAL_ERROR",
        0x3 => "FLOW_CONTROL_ERROR",
        0x4 => "SETTINGS_TIMEOUT",
        0x5 => "STREAM_CLOSED",
        0x6 => "FRAME_SIZE_ERROR",
        0x7 => "REFUSED_STREAM",
        0x8 => "CANCEL",
        0x9 => "COMPRESSION_ERROR",
        0xa => "CONNECT_ERROR",
        0xb => "ENHANCE_YOUR_CALM",
        0xc => "INADEQUATE_SECURITY",
        0xd => "HTTP_1_1_REQUIRED",
        _ => "unknown error code",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content_type: &str) -> Content {
        let mut headers = Headers::default();
        headers.push("content-type", content_type);
        content(&Head { start: Start::Response { status: None }, headers, version: "" })
    }

    #[test]
    fn content_types() {
        let frames = Content::Frames;
        assert_eq!(of("application/connect+proto"), frames(Protocol::ConnectStream, Codec::Proto));
        assert_eq!(of("Application/Connect+JSON; x=y"), frames(Protocol::ConnectStream, Codec::Json));
        assert_eq!(of("application/grpc"), frames(Protocol::Grpc, Codec::Proto));
        assert_eq!(of("application/grpc+thrift"), frames(Protocol::Grpc, Codec::Other));
        assert_eq!(of("application/grpc-web+json"), frames(Protocol::GrpcWeb, Codec::Json));
        assert_eq!(of("application/grpc-web-text+proto"), frames(Protocol::GrpcWebText, Codec::Proto));
        assert_eq!(of("application/grpcx"), Content::Other);
        assert_eq!(of("application/connect"), Content::Other);
        assert_eq!(of("application/octet-stream"), Content::Unnamed);
        assert_eq!(of(" "), Content::Unnamed);
    }

    #[test]
    fn paths() {
        assert_eq!(rpc("/pkg.Service/Method"), Some("pkg.Service/Method"));
        assert_eq!(rpc("/api/v1.0/pkg.Service/Method?x=/y"), Some("pkg.Service/Method"));
        assert_eq!(rpc("https://host.test/pkg.v1.Service/Method"), Some("pkg.v1.Service/Method"));
        assert_eq!(rpc("/Service/Method"), Some("Service/Method"));
        assert_eq!(rpc("/a.1b/Method"), None);
        assert_eq!(rpc("/index.html"), None);
        assert_eq!(rpc("/pkg.Service/"), None);
        assert_eq!(rpc("*"), None);
    }
}
