//! Running: waits, timers, clocks, threads and the event loop.
