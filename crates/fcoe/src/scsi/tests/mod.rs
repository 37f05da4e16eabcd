//! Commands in, steps out; each test names the clause that it holds to.

mod blocks;
mod control;
mod golden;
mod model;
mod protection;
mod reserve;
mod slow;
mod support;
mod tasks;
mod transfer;
