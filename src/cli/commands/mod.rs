//! One command a file.
//! Never shares state between them.

pub mod blobs;
pub mod check;
mod correlated;
pub mod decode;
pub mod dialect;
pub mod diff;
pub mod encode;
pub mod export;
pub mod follow;
pub mod schema;
pub mod shell;
mod state;
pub mod stats;
pub mod timeline;
pub mod view;
