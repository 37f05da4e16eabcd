//! Tests of stored results and reports. One program, so that little is linked.

mod report;
mod sample;
mod store;
mod text;
