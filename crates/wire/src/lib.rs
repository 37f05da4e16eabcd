//! Views and builders of packet formats: no state, no time, no I/O, no unsafe.
