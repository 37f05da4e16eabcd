//! System calls whose price is measured, without anything around them. `unsafe` of this workload stands here.

pub(super) mod udp;
