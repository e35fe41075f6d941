//! Dialect files: protobuf text format, checked by descriptors/dialect.proto.
//! Never opens a file; the text is handed in.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::Error;
use super::rules::Rules;

/// descriptors/dialect.proto and the built-in dialect, compiled by build.rs.
static SCHEMA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dialect.binpb"));
static BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.dialect.binpb"));

/// The built-in dialect.
pub fn builtin() -> Rules {
    // build.rs made these bytes from a file that it checked.
    Rules::decode(BUILTIN).unwrap_or_default()
}

/// Reads a dialect from its text; `file` is for messages.
pub fn parse(file: &str, text: &str) -> Result<Rules, Error> {
    static POOL: LazyLock<Option<DescriptorPool>> = LazyLock::new(|| DescriptorPool::decode(SCHEMA).ok());
    let Some(descriptor) = POOL.as_ref().and_then(|p| p.get_message_by_name("rpcshark.dialect.v1.Dialect"))
    else {
        return Err(Error::at(file, text, 0..0, "the program was built without its dialect schema"));
    };
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|error| {
        use miette::Diagnostic;
        let label = error.labels().and_then(|mut labels| labels.next());
        let span = label.map_or(0..0, |l| l.offset()..l.offset() + l.len().max(1));
        Error::at(file, text, span, error.to_string())
    })?;
    Rules::decode(message.encode_to_vec().as_slice())
        .map_err(|error| Error::at(file, text, 0..0, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret;

    #[test]
    fn what_is_built_in_holds_patterns() {
        let rules = builtin();
        let mut patterns = rules.secret.iter().flat_map(|rule| &rule.pattern).peekable();
        assert!(patterns.peek().is_some());
        patterns.for_each(|p| assert_eq!(secret::Rules::default().add_pattern(p), Ok(()), "{p}"));
    }
}
