//! Hands the name of Cargo's profile to the crate, as `LINERATE_BUILD`: figures of unlike builds are not the same figures.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo's PROFILE knows `debug` and `release` only. OUT_DIR is `…/PROFILE/build/linerate-lab-HASH/out`.
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let profile = out.ancestors().nth(3).and_then(|at| at.file_name()?.to_str());
    println!("cargo::rustc-env=LINERATE_BUILD={}", profile.unwrap_or("unknown"));
}
