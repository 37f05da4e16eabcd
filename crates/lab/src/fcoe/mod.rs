//! The FCoE sweep's points as displayed: as a summary, and as a table beside the published figures.

mod beside;
mod summary;

pub(crate) use beside::{beside, points};
pub(crate) use summary::summary;

/// Name of the points' workload in the result document.
pub(crate) const WORKLOAD: &str = linerate_load::fcoe::WORKLOAD.name;
