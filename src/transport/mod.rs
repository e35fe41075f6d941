//! Packets into HTTP: link, IP, TCP, TLS, HTTP/1 and HTTP/2, in order and in the clear.
//! Never knows an RPC, a message or a schema.

mod stream;
pub mod tls;

pub use stream::{Dir, StreamPart};
