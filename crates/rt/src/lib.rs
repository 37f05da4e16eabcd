//! Running: clocks, waits, timers, threads, signals, block devices, and the loop that joins a machine to its queues.
//!
//! A [`Machine`] does a batch of work at a time and says when it wants to be asked again; [`run`] asks it, and while
//! there is nothing to do lets a [`Waiter`] spin or sleep. One machine has one thread.
//!
//! What this crate refuses to do: it knows no protocol and prints nothing.

pub mod block;
mod clock;
mod cpu;
mod event;
pub mod fc;
mod line;
mod machine;
pub mod net;
mod privileges;
mod random;
mod signal;
mod sys;
mod thread;
mod timer;
mod wait;

pub use clock::{Clock, monotonic_ns, ticks, wall};
pub use cpu::{CoreTime, ThreadTime, core_times};
pub use event::run;
pub use line::Line;
pub use machine::{Machine, Progress, Sleeper};
pub use privileges::{Capability, confine};
pub use random::random;
pub use signal::{Stop, forward_signals};
pub use thread::{cpus, pin, spawn};
pub use timer::Timers;
pub use wait::{WaitMode, WaitStats, Waiter, pause};
