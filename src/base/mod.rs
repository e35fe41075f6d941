//! The ground that every room stands on: findings, limits, time and safe text.
//! Never reads, never prints, never knows a protocol.

pub mod codec;
mod finding;
pub mod json;
mod limits;
pub mod maps;
pub mod secret;
mod span;
pub mod text;
mod time;

pub use finding::{Code, Finding, Severity};
pub use limits::Limits;
pub use span::{Space, Span};
pub use time::{Second, Timestamp, civil_from_days};

/// What a layer is handed besides its input: where findings go, and the limits.
pub struct Cx<'a> {
    /// Findings made so far in this step; layers push, the pipeline takes.
    pub findings: &'a mut Vec<Finding>,
    /// The named limits of this run.
    pub limits: &'a Limits,
}

impl Cx<'_> {
    /// Records a finding.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}
