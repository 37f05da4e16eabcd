//! TAP interfaces (`linux/if_tun.h`): attaching to one, and one frame a read or write, its virtio header first.

use super::socket::{gather, scatter};
use crate::frames::Outgoing;
use crate::info::Link;
use crate::vnet;
use linerate_ring::{Meta, OwnRx, OwnTx};
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// One queue of a TAP interface.
pub(crate) struct TapQueue {
    file: File,
    iovecs: Vec<libc::iovec>,
}

// SAFETY: the pointers in the list are made and used within one call; between calls they are dead values.
unsafe impl Send for TapQueue {}

/// State of the interface as the descriptor of one of its queues tells it, in whichever namespace the interface is; its carrier is not seen.
pub(crate) fn link(queue: BorrowedFd<'_>) -> Link {
    let mut entry = libc::pollfd { fd: queue.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry.
    match unsafe { libc::poll(&raw mut entry, 1, 0) } {
        1 if entry.revents & libc::POLLERR != 0 => Link::Gone,
        // A TAP can be written to while it is switched on: its send buffer has no limit that is reached.
        1 if entry.revents & libc::POLLOUT != 0 => Link::Up,
        _ => Link::Down,
    }
}

/// A frame that was read.
pub(crate) struct Read {
    /// Bytes of the frame.
    pub(crate) len: usize,
    /// The frame was longer than the slots that it was read into.
    pub(crate) truncated: bool,
    /// Metadata from the kernel about its checksum and segments.
    pub(crate) meta: Option<Meta>,
}

impl TapQueue {
    /// Attaches to the interface of that name, which is made if there is none. It has virtio headers of twelve bytes
    /// and several queues if `multi_queue`; `EINVAL` if an existing one has not, or is no TAP interface.
    pub(crate) fn attach(name: &str, multi_queue: bool) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // SAFETY: an `ifreq` is plain data, for which zeros are fine.
        let mut request: libc::ifreq = unsafe { zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from.cast_signed();
        }
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        let flags = flags | if multi_queue { libc::IFF_MULTI_QUEUE } else { 0 };
        request.ifr_ifru.ifru_flags = i16::try_from(flags).unwrap_or(0);
        let queue = Self { file, iovecs: Vec::new() };
        // SAFETY: an `ifreq`, which this request reads and writes.
        unsafe { queue.control(libc::TUNSETIFF, (&raw mut request).cast()) }?;
        let len = libc::c_int::try_from(vnet::LONG).unwrap_or(0);
        // SAFETY: an int, which this request only reads.
        unsafe { queue.control(libc::TUNSETVNETHDRSZ, (&raw const len).cast_mut().cast()) }?;
        Ok(queue)
    }

    /// Another handle of the same queue.
    pub(crate) fn another(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, iovecs: Vec::new() })
    }

    /// Allows the kernel to deliver frames with open checksums and super-frames, on all queues, or forbids it.
    pub(crate) fn set_offloads(&self, on: bool) -> io::Result<()> {
        let all = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        let set = |flags: libc::c_uint| {
            // SAFETY: this request takes a number, no pointer.
            match unsafe { libc::ioctl(self.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) } {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        };
        match on {
            false => set(0),
            // Kernels before 6.2 do not segment UDP here.
            true => set(all).or_else(|_| set(tcp)),
        }
    }

    /// # Safety
    /// `argument` must point at what the request reads or writes.
    unsafe fn control(&self, request: libc::Ioctl, argument: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: the caller's promise.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Writes one frame to the kernel.
    pub(crate) fn write(&mut self, ring: &mut OwnTx<'_>, frame: &Outgoing) -> io::Result<()> {
        let mut header = vnet::header(frame.meta);
        self.iovecs.clear();
        self.iovecs.push(libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() });
        gather(ring, frame, &mut self.iovecs);
        let n = libc::c_int::try_from(self.iovecs.len()).unwrap_or(0);
        // SAFETY: the list has n entries, which point at the header and at slots of the borrowed ring.
        match unsafe { libc::writev(self.file.as_raw_fd(), self.iovecs.as_ptr(), n) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Reads one frame into the first `slots` free slots; `WouldBlock` if there is none.
    pub(crate) fn read(&mut self, ring: &mut OwnRx<'_>, slots: u32) -> io::Result<Read> {
        let mut header = [0u8; vnet::LONG];
        // The kernel cuts a frame that is too long silently: one extra byte shows it.
        let mut beyond = 0u8;
        self.iovecs.clear();
        self.iovecs.push(libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() });
        let room = scatter(ring, 0, slots, &mut self.iovecs).ok_or(io::ErrorKind::InvalidInput)?;
        self.iovecs.push(libc::iovec { iov_base: (&raw mut beyond).cast(), iov_len: 1 });
        let n = libc::c_int::try_from(self.iovecs.len()).unwrap_or(0);
        // SAFETY: the list has n entries, which point at the header, at buffers of free slots of the borrowed ring, and at
        // `beyond`.
        let got = unsafe { libc::readv(self.file.as_raw_fd(), self.iovecs.as_ptr(), n) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let len = got.saturating_sub(header.len());
        Ok(Read { len: len.min(room), truncated: len > room, meta: vnet::meta(&header, 0) })
    }
}

impl AsFd for TapQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
