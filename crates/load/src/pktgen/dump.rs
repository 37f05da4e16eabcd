//! `-X`: frames in hexadecimal, in the format of netmap's pkt-gen.

use super::output::Output;
use linerate_ring::Frame;
use std::fmt::Write as _;

/// Prints a slot's bytes under a line with their position.
pub(super) fn dump(output: &Output, ring: &str, cursor: u32, flags: u16, frame: &Frame<'_>) {
    output.line(&text(ring, cursor, flags, &frame.to_vec()));
}

fn text(ring: &str, cursor: u32, flags: u16, bytes: &[u8]) -> String {
    let mut text = format!("ring {ring} cur {cursor:5} [flags {flags:#06x} len {:5}]", bytes.len());
    for (k, row) in bytes.chunks(16).enumerate() {
        let hex: String = row.iter().fold(String::new(), |mut hex, b| {
            let _ = write!(hex, "{b:02x} ");
            hex
        });
        let shown: String =
            row.iter().map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '.' }).collect();
        let _ = write!(text, "\n{:5}: {hex:48}{shown}", k * 16);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn rows_of_sixteen_with_what_can_be_shown() {
        let shown = text("tx0", 7, 0x20, b"\x00\x01netmap \xff tail of it");
        assert_eq!(
            shown,
            "ring tx0 cur     7 [flags 0x0020 len    21]\n    \
             0: 00 01 6e 65 74 6d 61 70 20 ff 20 74 61 69 6c 20 ..netmap . tail \n   \
             16: 6f 66 20 69 74                                  of it"
        );
    }
}
