//! Tnetstrings: length, colon, payload, type; read lazily and never past their payload.
//! Never builds a tree: a dictionary is its bytes, searched when a key is asked for.

/// Most digits of a length.
const MAX_DIGITS: usize = 12;

/// One value, borrowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value<'a> {
    /// `,` bytes or `;` text.
    Bytes(&'a [u8]),
    /// `#`
    Int(i64),
    /// `^`
    Float(f64),
    /// `!`
    Bool(bool),
    /// `~`
    Null,
    /// `]`: the payload.
    List(&'a [u8]),
    /// `}`: the payload.
    Dict(&'a [u8]),
}

/// The beginning of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// The digits and colon take `header` bytes, the payload `length`; its type follows.
    Length { header: usize, length: u64 },
    /// More bytes are needed.
    More,
    /// No tnetstring.
    Bad,
}

/// Reads the length of the value that `bytes` begins with.
pub(super) fn start(bytes: &[u8]) -> Start {
    let mut length = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(MAX_DIGITS + 1) {
        match byte {
            b'0'..=b'9' if at < MAX_DIGITS => length = length * 10 + u64::from(byte - b'0'),
            b':' if at > 0 => return Start::Length { header: at + 1, length },
            _ => return Start::Bad,
        }
    }
    if bytes.len() > MAX_DIGITS { Start::Bad } else { Start::More }
}

/// The value that `bytes` begins with, and what follows it.
pub(super) fn value(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let Start::Length { header, length } = start(bytes) else { return None };
    let rest = bytes.get(header..)?;
    let (payload, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let (kind, rest) = rest.split_first()?;
    let text = || std::str::from_utf8(payload).ok();
    let value = match kind {
        b',' | b';' => Value::Bytes(payload),
        b'#' => Value::Int(text()?.parse().ok()?),
        b'^' => Value::Float(text()?.parse().ok()?),
        b'!' => Value::Bool(payload == b"true"),
        b'~' => Value::Null,
        b']' => Value::List(payload),
        b'}' => Value::Dict(payload),
        _ => return None,
    };
    Some((value, rest))
}

/// The values of a list, up to the first that does not read.
pub(super) fn items<'a>(mut list: &'a [u8]) -> impl Iterator<Item = Value<'a>> {
    std::iter::from_fn(move || {
        let (item, rest) = value(list)?;
        list = rest;
        Some(item)
    })
}

/// The value of a key, which is text in one version and bytes in another.
pub(super) fn get<'a>(mut dict: &'a [u8], key: &str) -> Option<Value<'a>> {
    while let Some((Value::Bytes(name), rest)) = value(dict) {
        let (item, rest) = value(rest)?;
        if name == key.as_bytes() {
            return Some(item);
        }
        dict = rest;
    }
    None
}

impl<'a> Value<'a> {
    /// The value of a key of a dictionary.
    pub(super) fn get(self, key: &str) -> Option<Value<'a>> {
        match self {
            Self::Dict(dict) => get(dict, key),
            _ => None,
        }
    }

    /// Bytes or text.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A number of either kind.
    pub(super) fn number(self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(int as f64),
            Self::Float(float) => Some(float),
            _ => None,
        }
    }
}

/// Whether a content begins as a flow does: a dictionary whose first key is text. `None` where
/// it ends too early to say. Hex with colons has two lengths too, so the key is looked at.
pub(super) fn is_flow_head(head: &[u8]) -> Option<bool> {
    const MAX_KEY: u64 = 64;
    let rest = match start(head) {
        Start::Length { header, .. } => head.get(header..)?,
        Start::More => return None,
        Start::Bad => return Some(false),
    };
    let (rest, length) = match start(rest) {
        Start::Length { header, length } if length <= MAX_KEY => (rest.get(header..)?, length as usize),
        Start::More => return None,
        _ => return Some(false),
    };
    let key = rest.get(..length).unwrap_or(rest);
    if !key.iter().all(|b| b.is_ascii_lowercase() || *b == b'_') {
        return Some(false);
    }
    rest.get(length).map(|kind| length > 0 && matches!(kind, b';' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &[u8] = b"49:1:a;2:17#1:b;4:true!1:c;0:~1:d;3:1.5^1:e;5:2:hi,]}";

    #[test]
    fn reads_values() {
        let (value, rest) = value(FLOW).unwrap_or((Value::Null, b"?"));
        assert!(rest.is_empty());
        assert_eq!(value.get("a"), Some(Value::Int(17)));
        assert_eq!(value.get("b"), Some(Value::Bool(true)));
        assert_eq!(value.get("c"), Some(Value::Null));
        assert_eq!(value.get("d").and_then(Value::number), Some(1.5));
        assert_eq!(value.get("z"), None);
    }

    #[test]
    fn every_prefix_and_every_length_is_safe() {
        for end in 0..FLOW.len() {
            let cut = FLOW.get(..end).unwrap_or_default();
            assert_eq!(value(cut), None);
            let _ = is_flow_head(cut);
        }
        assert_eq!(value(b"999999999999:x,"), None);
        assert_eq!(start(b"9999999999999:"), Start::Bad);
        assert_eq!(start(b""), Start::More);
    }
}
