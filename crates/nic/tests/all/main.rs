//! Tests of the adapter over cables, TAPs and veth pairs. One program, to reduce linking.

mod adapter;
mod adapter_edges;
mod adapter_hostile;
mod adapter_kernel;
mod adapter_offload;
mod adapter_reaction;
mod adapter_tap;
mod adapter_vis;
mod common;
mod guests;
