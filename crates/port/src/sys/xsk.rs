//! AF_XDP sockets (`linux/if_xdp.h`, Documentation/networking/af_xdp.rst): registering memory, bind, kicks, statistics.
//! Their rings are in [`super::xsk_ring`].

use super::umem::Umem;
use super::xsk_ring::{Consumer, Desc, Mapped, Producer};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Option number, newer than the `libc` crate: frames that one system call may send in copy mode (Linux 6.17).
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Bytes of a request before a frame's data (`struct xsk_tx_metadata` as of Linux 6.14; older ones are shorter).
pub(crate) const METADATA: usize = 24;

/// Request for a transmit checksum: over all bytes from `start` on, stored at `offset` behind it
/// (Documentation/networking/xsk-tx-metadata.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) start: u16,
    pub(crate) offset: u16,
}

impl Request {
    /// End of the checksum field. The kernel refuses a request beyond a frame's first descriptor, and every frame
    /// behind it (`xsk_skb_metadata`): the frame would block all others for good.
    pub(crate) fn end(self) -> usize {
        usize::from(self.start) + usize::from(self.offset) + 2
    }

    /// Memory layout: flags; two halves and four bytes of padding; the launch time, which is not requested.
    pub(crate) fn words(self) -> [u64; METADATA / 8] {
        let ([a, b], [c, d]) = (self.start.to_ne_bytes(), self.offset.to_ne_bytes());
        [libc::XDP_TXMD_FLAGS_CHECKSUM.into(), u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]), 0]
    }
}

/// Binding of a socket (`sxdp_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The driver moves frames to and from the memory itself; otherwise the kernel copies them.
    pub(crate) zero_copy: bool,
    /// Frames of several descriptors (Linux 6.6).
    pub(crate) fragments: bool,
}

/// A socket's four rings.
pub(crate) struct Rings {
    pub(crate) rx: Consumer<Desc>,
    pub(crate) fill: Producer<u64>,
    pub(crate) tx: Producer<Desc>,
    pub(crate) completion: Consumer<u64>,
}

/// An AF_XDP socket. Its memory stays pinned, and so valid for the kernel, as long as it lives.
#[derive(Debug)]
pub(crate) struct Xsk {
    fd: OwnedFd,
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl Xsk {
    /// A new socket, without memory and not bound. Needs CAP_NET_RAW.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let fd =
            unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0))?) };
        Ok(Self { fd })
    }

    /// An invalid socket: every call on it fails.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self { fd: std::fs::File::open("/dev/null").unwrap().into() }
    }

    fn set<T: Copy>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        let len = u32::try_from(size_of::<T>()).unwrap_or(0);
        // SAFETY: `value` is readable for its size.
        check(unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, option, (&raw const *value).cast(), len) })?;
        Ok(())
    }

    /// # Safety
    /// All bit patterns must be values of `T`.
    unsafe fn get<T: Copy>(&self, option: libc::c_int, mut value: T) -> io::Result<T> {
        let mut len = u32::try_from(size_of::<T>()).unwrap_or(0);
        let at = (&raw mut value).cast();
        // SAFETY: `value` is writable for its size.
        check(unsafe { libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_XDP, option, at, &raw mut len) })?;
        Ok(value)
    }

    /// Registers a region's buffers as this socket's UMEM; pins all their pages. `requests`: frames may have requests
    /// before them, if the kernel supports those (EINVAL before Linux 6.11).
    pub(crate) fn register(&self, umem: &Umem, requests: bool) -> io::Result<()> {
        let (start, len) = umem.memory();
        let registration = libc::xdp_umem_reg {
            addr: start.as_ptr().expose_provenance() as u64,
            len: len as u64,
            chunk_size: umem.chunk(),
            headroom: 0,
            flags: if requests { libc::XDP_UMEM_TX_METADATA_LEN } else { 0 },
            tx_metadata_len: if requests { u32::try_from(METADATA).unwrap_or(0) } else { 0 },
        };
        self.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }

    /// Makes the four rings, each of `slots` entries, and maps them.
    pub(crate) fn rings(&self, slots: u32) -> io::Result<Rings> {
        for ring in [libc::XDP_RX_RING, libc::XDP_TX_RING, libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING] {
            self.set(libc::SOL_XDP, ring, &slots)?;
        }
        let none = || libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
        let empty = libc::xdp_mmap_offsets { rx: none(), tx: none(), fr: none(), cr: none() };
        // SAFETY: numbers only.
        let at = unsafe { self.get(libc::XDP_MMAP_OFFSETS, empty) }?;
        let fd = self.fd.as_fd();
        let fill = i64::try_from(libc::XDP_UMEM_PGOFF_FILL_RING).unwrap_or(0);
        let completion = i64::try_from(libc::XDP_UMEM_PGOFF_COMPLETION_RING).unwrap_or(0);
        // SAFETY: the kernel made the rings with this many entries of these types and says where their parts lie.
        unsafe {
            Ok(Rings {
                rx: Consumer::over(Mapped::new(fd, libc::XDP_PGOFF_RX_RING, &at.rx, slots)?),
                fill: Producer::over(Mapped::new(fd, fill, &at.fr, slots)?),
                tx: Producer::over(Mapped::new(fd, libc::XDP_PGOFF_TX_RING, &at.tx, slots)?),
                completion: Consumer::over(Mapped::new(fd, completion, &at.cr, slots)?),
            })
        }
    }

    /// Binds to a queue of an interface.
    pub(crate) fn bind(&self, interface: u32, queue: u16, binding: Binding) -> io::Result<()> {
        let mut flags = libc::XDP_USE_NEED_WAKEUP;
        flags |= if binding.zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
        flags |= if binding.fragments { libc::XDP_USE_SG } else { 0 };
        self.bind_with(interface, queue, flags, 0)
    }

    /// Binds to a queue with the memory and the binding of a bound socket; the rings stay this one's own.
    pub(crate) fn bind_shared(&self, interface: u32, queue: u16, owner: &Self) -> io::Result<()> {
        let owner = owner.fd.as_raw_fd().cast_unsigned();
        self.bind_with(interface, queue, libc::XDP_SHARED_UMEM, owner)
    }

    fn bind_with(&self, interface: u32, queue: u16, flags: u16, owner: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: u16::try_from(libc::AF_XDP).unwrap_or(0),
            sxdp_flags: flags,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue.into(),
            sxdp_shared_umem_fd: owner,
        };
        let len = u32::try_from(size_of::<libc::sockaddr_xdp>()).unwrap_or(0);
        // SAFETY: the address is readable for its size.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(())
    }

    /// True if the driver moves frames itself, according to the kernel.
    pub(crate) fn is_zero_copy(&self) -> io::Result<bool> {
        // SAFETY: a number only.
        let options = unsafe { self.get(libc::XDP_OPTIONS, libc::xdp_options { flags: 0 }) }?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Lets one system call send a whole ring, and as much be under way. Older kernels send 32 frames per call.
    pub(crate) fn widen(&self, slots: u32, chunk: u32) {
        // Both only save system calls; the kick loop works without them.
        let _ = self.set(libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &slots);
        // A socket buffer's bookkeeping takes less than 1 KiB per frame.
        let room = u64::from(slots) * (u64::from(chunk) + 1024);
        let room = libc::c_int::try_from(room).unwrap_or(libc::c_int::MAX).min(libc::c_int::MAX / 2);
        let _ = self.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room);
    }

    /// Wakes the kernel to read the transmit ring.
    pub(crate) fn kick_tx(&self) -> io::Result<()> {
        let fd = self.fd.as_raw_fd();
        // SAFETY: no bytes are sent and no address is given.
        let result = unsafe { libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Wakes the driver to read the fill ring.
    pub(crate) fn kick_rx(&self) -> io::Result<()> {
        let (fd, null) = (self.fd.as_raw_fd(), std::ptr::null_mut());
        // SAFETY: no bytes are received and no address is asked for.
        let result =
            unsafe { libc::recvfrom(fd, null, 0, libc::MSG_DONTWAIT, std::ptr::null_mut(), std::ptr::null_mut()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Kernel counters of this socket.
    pub(crate) fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        let zero = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        // SAFETY: numbers only.
        unsafe { self.get(libc::XDP_STATISTICS, zero) }
    }
}

impl AsFd for Xsk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
