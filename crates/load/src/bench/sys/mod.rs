//! Raw memory for the roof: the `unsafe` code of measurements.

pub(super) mod copy;
pub(super) mod read;
pub(super) mod roof;
