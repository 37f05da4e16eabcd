//! What two processes say to each other when a cable is joined.
#![no_main]

libfuzzer_sys::fuzz_target!(|message: &[u8]| linerate_port::fuzz::handover(message));
