//! A pipe whose shared memory another process scribbles over, by a script; the same that the tests of `ring` run.
#![no_main]

#[path = "../../crates/ring/tests/script/mod.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::run(bytes));
