//! Commands in, steps out; each test names the clause that it holds to.

mod blocks;
mod buffers;
mod change;
mod control;
mod copy;
mod golden;
mod kept;
mod log;
mod model;
mod or;
mod ports;
mod protection;
mod reserve;
mod select;
mod slow;
mod support;
mod tasks;
mod transfer;
mod upkeep;
