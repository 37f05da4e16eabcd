//! Devices that are memory of this process, or nothing at all.

use super::{Blocks, Engine, Opened, Request};
use linerate_block::{Backend, Null, Ram};

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

/// The size in a name.
fn size(name: &str) -> Result<u64, String> {
    let size = name.split_once(':').and_then(|(_, text)| linerate_rt::block::size(text));
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
