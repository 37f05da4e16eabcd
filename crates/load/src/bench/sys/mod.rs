//! Raw memory for the roof. `unsafe` of measurements stands here.

pub(super) mod copy;
pub(super) mod read;
pub(super) mod roof;
