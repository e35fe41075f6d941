//! One test binary: rules of the house, laws, and stories over fixtures.

mod cases;
mod house;
mod live;
mod packet_cases;
mod packets;
mod reference;
mod run;
