//! Workloads and measurement: pkt-gen, ledgers, histograms, CPU, and the result schema.

pub mod bench;
pub mod bridge;
pub mod check;
pub mod fcoe;
pub mod frame;
pub mod pktgen;
pub mod profile;
pub mod result;
pub mod switch;
pub mod xdd;

#[cfg(test)]
mod lines;
mod sys;
mod words;
