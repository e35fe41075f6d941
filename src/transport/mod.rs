//! Packets into HTTP: link, IP, TCP, TLS, HTTP/1 and HTTP/2, in order and in the clear.
//! Never knows an RPC, a message or a schema.

mod feed;
pub mod h2;
pub mod http1;
mod stream;
#[cfg(test)]
mod testing;

pub use stream::{Dir, StreamPart};
