//! One test binary: rules of the house, laws, and stories over fixtures.

mod cases;
mod correlation;
mod diff;
mod export;
mod filter_laws;
mod filters;
mod fuzz;
mod generated;
mod house;
mod jsonl;
mod lanes;
mod laws;
mod limits;
mod live;
mod packet_cases;
mod packets;
mod recipes;
mod reference;
mod roundtrip;
mod run;
mod safety;
mod secrets;
mod session;
mod sessions;
mod shell;
mod supply;
mod tui;

/// Command lines as a person sees them.
#[test]
fn command_lines() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("docs/*-TUTORIAL.md");
}
