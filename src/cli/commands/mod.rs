//! One command a file.
//! Never shares state between them.

pub mod decode;
pub mod encode;
pub mod schema;
