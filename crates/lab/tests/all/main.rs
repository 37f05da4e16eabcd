//! What is kept and drawn of results. One program, so that little is linked.

mod report;
mod sample;
mod store;
mod text;
