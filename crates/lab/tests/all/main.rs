//! Tests of stored results and reports. One program, so that little is linked.

mod export;
mod import;
mod import_beside;
mod import_foreign;
mod import_iperf3;
mod import_kinds;
mod import_left;
mod import_other;
mod import_refused;
mod index;
mod report;
mod sample;
mod store;
mod text;
mod views;
