//! Tests with another machine: `ssh` runs linerate's agent there, which serves them, and has its interface set as this one's.
//!
//! The two ends talk in lines (`words`) over the standard input and output of `ssh`. Each end changes its own interface
//! only (`end`), records that first, and puts it back when the other end is gone, however it went.

mod answering;
mod end;
mod far;
mod line;
mod near;
mod records;
mod visit;
mod words;

pub use far::agent;
pub use near::{Far, Remote};
pub use records::recovered;
pub use visit::Visit;
