//! System calls whose cost is measured, without anything around them: the `unsafe` code of this workload.

pub(super) mod packet;
pub(super) mod tcp;
pub(super) mod udp;
