//! `-setup`: words from a file.

use super::state::State;
use linerate_text::path::from_text;
use std::fs::File;
use std::io::Read;

/// Largest file, bytes, and greatest nesting depth of such files.
const LARGEST: u64 = 1 << 20;
const NESTED: usize = 8;

/// Inserts the words of a file.
pub(super) fn setup(state: &mut State, path: &str) -> Result<(), String> {
    state.files += 1;
    if state.files > NESTED {
        return Err(format!("more than {NESTED} files; put all into one"));
    }
    let mut text = String::new();
    let read = File::open(from_text(path)).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Ok(n) if n as u64 <= LARGEST => {
            state.inserted = text.split_whitespace().map(str::to_owned).collect();
            Ok(())
        }
        Ok(_) => Err("it is larger than 1 MiB; give a smaller one".into()),
        Err(e) => Err(format!("{e}; give a file that can be read")),
    }
}
