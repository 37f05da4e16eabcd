//! Commands in, steps out; each test names the clause that it holds to.

mod golden;
mod slow;
mod support;
mod transfer;
