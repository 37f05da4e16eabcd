//! Execution: clocks, waits, timers, threads, signals, block devices, and the loop that runs a machine on its queues.
//!
//! A [`Machine`] does a batch of work at a time and says when it needs the next call; [`run`] calls it, and while there
//! is no work lets a [`Waiter`] spin or sleep. One machine has one thread.
//!
//! Out of scope: this crate knows no protocol and prints nothing.

pub mod block;
mod clock;
pub mod control;
mod cpu;
pub mod dcb;
mod event;
pub mod fc;
mod identity;
mod limits;
mod line;
mod machine;
pub mod net;
mod places;
mod privileges;
mod signal;
mod state;
mod sys;
mod thread;
mod timer;
mod wait;

pub use clock::{Clock, monotonic_ns, ticks, wall};
pub use cpu::{CoreTicks, CoreTime, ThreadTime, core_ticks, core_times, run_delay};
pub use event::run;
pub use identity::{hash, host_hash};
pub use limits::raise_descriptors;
pub use line::{Line, local_mac};
pub use linerate_port::random;
pub use machine::{Machine, Progress, Sleeper};
pub use places::{Moves, NoPlace, Place, Places};
pub use privileges::{Capability, confine};
pub use signal::{Stop, at_hangup, forward_signals};
pub use state::StateFiles;
pub use sys::stdio::stdout_was_closed;
pub use thread::{cpus, pin, spawn};
pub use timer::Timers;
pub use wait::{WaitMode, WaitStats, Waiter, pause};
