//! Names of ports: parsed, all values read, all demands made. Whatever is typed, an error is one line.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for line in linerate_port::fuzz::grammar(text) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(line.contains("; "), "no mend: {line}");
    }
});
