//! rpcshark: a library that reads captures of Connect, gRPC and gRPC-Web traffic.
//!
//! ```text
//!  file stdin pcap HAR flow JSONL hex
//!         │
//!      source ──► transport ──► exchange ──► frame ──► message ──► session ──► view
//!         │    packets → HTTP    one RPC     5 bytes    fields       time        text jsonl
//!         └──────────── each format enters on its own floor ──────►    │
//!                                                    dialect (data) ───┘
//!      pipeline: the only staircase.   cli: the only door.
//! ```
//!
//! docs/ARCHITECTURE.md gives the invariants.

pub mod base;
pub mod dialect;
pub mod diff;
pub mod encode;
pub mod exchange;
pub mod frame;
pub mod message;
pub mod pdu;
pub mod pipeline;
pub mod query;
pub mod schema;
pub mod session;
pub mod sink;
pub mod source;
pub mod transport;
pub mod view;
