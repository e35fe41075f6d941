//! One test binary: rules of the house, laws, and stories over fixtures.

mod cases;
mod filters;
mod house;
mod reference;
mod run;
