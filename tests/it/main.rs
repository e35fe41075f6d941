//! One test binary: rules of the house, laws, and stories over fixtures.

mod cases;
mod correlation;
mod diff;
mod filters;
mod house;
mod jsonl;
mod live;
mod packet_cases;
mod packets;
mod reference;
mod roundtrip;
mod run;
mod session;
mod sessions;
mod shell;

/// Command lines as a person sees them.
#[test]
fn command_lines() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
