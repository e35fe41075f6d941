//! One test binary.

mod reference;
