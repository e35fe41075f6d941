//! Captures written: the twin of `source`.
//! Never reads one and never says what a packet holds.

pub mod pcapng;
