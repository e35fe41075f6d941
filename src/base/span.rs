//! Places: a range of bytes in a named space.
//! Never borrows the bytes: state outlives buffers.

/// The byte space that a [`Span`] counts in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// The capture file (or standard input) itself.
    Input,
    /// One direction of one call: the body after HTTP framing and content-encoding are undone.
    Body,
    /// The payload of one frame after its own encoding is undone (equal to the body where there is none).
    Payload,
    /// A message carried inside a field (hex, bytes), after its encoding is undone.
    Nested,
}

/// A half-open range of bytes in one space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// Which bytes `start` and `end` count.
    pub space: Space,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Span {
    /// A range of `space`.
    pub fn new(space: Space, start: u64, end: u64) -> Self {
        Self { space, start, end }
    }
}
