//! Capture files into records, whatever format they are in.
//! Never decides what a packet or a body means.

pub mod pcap;
