//! One test binary: rules of the house, laws, and stories over fixtures.

mod house;
mod reference;
mod session;
