//! Workloads and measurement: pkt-gen, ledgers, histograms, CPU, and the result schema.

pub mod result;
