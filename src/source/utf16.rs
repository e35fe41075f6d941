//! UTF-16 into UTF-8, block by block, for JSON captures that Windows tools write.
//! Never looks at what the text says.

use bytes::Bytes;

/// The byte order of a text in UTF-16, with or without a byte order mark; `None` where it is in
/// UTF-8. JSON begins with ASCII, so that one zero of the first pair tells.
pub(super) fn order(head: &[u8]) -> Option<Order> {
    match head {
        [0xff, 0xfe, ..] => Some(Order::Little),
        [0xfe, 0xff, ..] => Some(Order::Big),
        [b'{' | b'[', 0, b, 0, ..] if b.is_ascii() => Some(Order::Little),
        [0, b'{' | b'[', 0, b, ..] if b.is_ascii() => Some(Order::Big),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Little,
    Big,
}

/// Turns blocks of UTF-16 into blocks of UTF-8; broken pairs become U+FFFD.
pub(super) struct Utf16 {
    order: Order,
    odd: Option<u8>,
    high: Option<u16>,
}

impl Utf16 {
    pub(super) fn new(order: Order) -> Self {
        Self { order, odd: None, high: None }
    }

    pub(super) fn push(&mut self, block: &[u8]) -> Bytes {
        let mut out = String::with_capacity(block.len() / 2);
        for &byte in block {
            let Some(first) = self.odd.take() else {
                self.odd = Some(byte);
                continue;
            };
            let unit = match self.order {
                Order::Little => u16::from_le_bytes([first, byte]),
                Order::Big => u16::from_be_bytes([first, byte]),
            };
            self.unit(unit, &mut out);
        }
        Bytes::from(out)
    }

    fn unit(&mut self, unit: u16, out: &mut String) {
        if let Some(high) = self.high.take() {
            if let Some(Ok(c)) = char::decode_utf16([high, unit]).next() {
                out.push(c);
                return;
            }
            out.push(char::REPLACEMENT_CHARACTER);
        }
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            _ => out.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_gives_the_same_text() {
        let text = "\u{feff}{\"a\": \"é\u{1f600}\"}";
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(order(&bytes), Some(Order::Little));
        for size in 1..=bytes.len() {
            let mut utf16 = Utf16::new(Order::Little);
            let out: Vec<u8> = bytes.chunks(size).flat_map(|chunk| utf16.push(chunk)).collect();
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn finds_the_order_without_a_mark() {
        assert_eq!(order(b"\x00{\x00\""), Some(Order::Big));
        assert_eq!(order(b"{\x00\"\x00"), Some(Order::Little));
        assert_eq!(order(b"\x00\x00\x00\x00\x05"), None);
    }
}
