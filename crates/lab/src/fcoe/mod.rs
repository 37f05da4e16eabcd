//! The FCoE sweep's points as people read them: at a glance, and beside the published figures.

mod beside;
mod glance;

pub(crate) use beside::{beside, points};
pub(crate) use glance::glance;

/// The workload of the points in the result document.
pub(crate) const WORKLOAD: &str = linerate_load::fcoe::WORKLOAD.name;
