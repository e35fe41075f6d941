//! What `timeline` takes.
//! Never settles anything.

use clap::Args;

use super::Correlate;

/// `timeline`.
#[derive(Args, Debug)]
pub struct Timeline {
    /// Instead of the timeline, what each run had come to with this frame: text so far, latest snapshots, what
    /// was open, blobs
    #[arg(long, value_name = "FRAME")]
    pub at: Option<u64>,
    #[command(flatten)]
    pub common: Correlate,
}
