//! Allocations of the two ends of FCP: all are made at the start, within bounds, and none for a command.

mod counting;
mod initiator;
mod target;
