//! Requests of ethtool by ioctl (`linux/ethtool.h`), for what its netlink family lacks. Only such are made here as read
//! one flat structure and write one.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::ptr;

const PAGE: usize = 4096;

/// `struct ifreq` as this ioctl reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut u8,
    rest: [u8; 16],
}

/// Memory of our own for an answer, with a page behind it that nobody may touch: some answers have the length that the
/// driver takes at that instant, whatever was asked before, and the kernel stops there with EFAULT.
struct Block {
    at: *mut u8,
    len: usize,
}

impl Block {
    fn new(room: usize) -> io::Result<Self> {
        let len = room.max(1).next_multiple_of(PAGE) + PAGE;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping; no memory of others is touched.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let block = Self { at: at.cast(), len };
        // SAFETY: the last page of the mapping above, to which no reference exists.
        match unsafe { libc::mprotect(at.byte_add(len - PAGE), PAGE, libc::PROT_NONE) } {
            0 => Ok(block),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Sends a request about an interface: a command (`ETHTOOL_G…`) and the structure that it begins. Returns the first
/// `room` bytes of that structure as the kernel leaves it.
pub(crate) fn ask(interface: &str, request: &[u8], room: usize) -> io::Result<Vec<u8>> {
    const { assert!(size_of::<Request>() >= size_of::<libc::ifreq>()) };
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let room = room.max(request.len());
    let block = Block::new(room)?;
    // SAFETY: the block's readable part has `room` bytes or more, and is not the request's memory.
    unsafe { ptr::copy_nonoverlapping(request.as_ptr(), block.at, request.len()) };
    let mut ifreq = Request { name: [0; libc::IFNAMSIZ], data: block.at, rest: [0; 16] };
    ifreq.name[..interface.len()].copy_from_slice(interface.as_bytes());
    // Any socket will do; it belongs to the calling thread's network namespace.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the request is as large as an `ifreq` or larger. What its data points to is flat and is followed by a page
    // without access, so whatever length the kernel takes it to have, it reads and writes nothing but the block.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut ifreq) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: `room` bytes of the mapping, which are initialized: by zeros, the request, or the kernel.
        _ => Ok(unsafe { std::slice::from_raw_parts(block.at, room) }.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings of a set, asked with room for none: the kernel cannot write behind the block.
    #[test]
    fn an_answer_beyond_the_block_is_an_error() {
        // ETHTOOL_GSTRINGS of ETH_SS_FEATURES, which every interface has: 32 bytes for each of some 60.
        let request = [0x1b_u32.to_ne_bytes(), 4_u32.to_ne_bytes(), 0_u32.to_ne_bytes()].concat();
        match ask("lo", &request, 12) {
            Ok(answer) => assert!(answer.len() == 12, "they fit into a page"),
            Err(e) => assert!([Some(libc::EFAULT), Some(libc::EOPNOTSUPP)].contains(&e.raw_os_error()), "{e}"),
        }
        for name in ["", "a-name-beyond-15-bytes", "nosuch"] {
            assert_eq!(ask(name, &request, 12).unwrap_err().raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }
}
