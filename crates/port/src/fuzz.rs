//! Entry points for fuzz targets. Not part of the crate's interface.

use crate::kind::Spec;

/// Parses a name, reads all its values and computes its demand; returns the lines of the errors.
pub fn grammar(text: &str) -> Vec<String> {
    let spec = match Spec::parse(text) {
        Ok(spec) => spec,
        Err(e) => return vec![e.to_string()],
    };
    let mut lines = Vec::new();
    let mut note = |result: Result<(), crate::OpenError>| lines.extend(result.err().map(|e| e.to_string()));
    note(spec.slots().map(|slots| assert!(slots.is_power_of_two())));
    note(spec.buf_size().map(|size| assert!(size.is_power_of_two())));
    note(spec.mtu().map(drop));
    note(spec.rate().map(drop));
    note((spec.kind.demand)(&spec).and_then(|demand| crate::wrap::demand(&spec, demand)).map(drop));
    lines
}

/// Parses a message of a cable's handshake, or of a switch's.
pub fn handover(message: &[u8]) {
    crate::cable::fuzz(message);
    crate::switch::fuzz(message);
}
