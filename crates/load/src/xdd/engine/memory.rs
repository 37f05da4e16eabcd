//! Devices that are memory of this process, or nothing at all.

use super::{Blocks, Engine, Opened, Request};
use linerate_fcoe::{Backend, Null, Ram};

/// Octets of a block.
const BLOCK: u32 = 512;

/// `null:SIZE`.
pub(super) fn open_null(request: &Request<'_>) -> Opened {
    let size = size(&request.target.name)?;
    Null::new(size, BLOCK, 0).map(|null| engine(null, "null")).map_err(|e| e.to_string())
}

/// `ram:SIZE`.
pub(super) fn open_ram(request: &Request<'_>) -> Opened {
    let size = size(&request.target.name)?;
    if size > LARGEST {
        return Err("it takes more than 64 GiB of memory; give a smaller size".into());
    }
    Ram::new(size, BLOCK, false, 0).map(|ram| engine(ram, "memory")).map_err(|e| e.to_string())
}

/// The largest memory, octets.
const LARGEST: u64 = 64 << 30;

fn engine<B: Backend + 'static>(backend: B, path: &str) -> Vec<Box<dyn Engine>> {
    vec![Box::new(Blocks::new(backend, path.into()))]
}

/// The size in a name: a number, and K, M, G or T for powers of 1024.
fn size(name: &str) -> Result<u64, String> {
    let text = name.split_once(':').map_or("", |(_, size)| size);
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let digits = Some(digits).filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    let size = digits.and_then(|digits| digits.parse::<u64>().ok()).and_then(|n| n.checked_mul(1 << shift));
    size.filter(|size| (1..=1 << 50).contains(size)).ok_or_else(|| "no size; give one up to 1024T, as null:1G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        let sizes = ["null:512", "ram:64M", "null:1g", "null:1024T"].map(|name| size(name).unwrap());
        assert_eq!(sizes, [512, 64 << 20, 1 << 30, 1 << 50]);
        for name in
            ["null:", "null:M", "null:-1", "null:1X", "null:99999999999T", "null:0", "null:1\u{e9}", "null:2048T"]
        {
            assert!(size(name).unwrap_err().contains("as null:1G"), "{name}");
        }
    }
}
