//! Packet sockets (`packet(7)`): sending, receiving in batches, fanout, statistics. The ring is in `block_ring`.

use super::socket::{MOST, check, scatter, set_option};
use crate::vnet;
use linerate_ring::{Meta, OwnRx};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub(super) const SOL_PACKET: libc::c_int = libc::SOL_PACKET;
/// Distribution of frames over the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fanout {
    /// By flow.
    Hash,
    /// By the CPU that received it.
    Cpu,
    /// In turn.
    RoundRobin,
}

pub(super) fn socket() -> io::Result<OwnedFd> {
    // Protocol 0: it receives nothing until it is bound to one.
    // SAFETY: no pointers; the descriptor that comes back is new and ours.
    unsafe {
        let fd = check(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

fn bind(fd: BorrowedFd<'_>, index: u32, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: a `sockaddr_ll` is plain data, for which zeros are fine.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = u16::try_from(protocol).unwrap_or(0).to_be();
    address.sll_ifindex = i32::try_from(index).unwrap_or(0);
    let len = u32::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0);
    // SAFETY: the address is readable for its length.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// A socket that only sends, past the queueing discipline.
pub(crate) fn sender(index: u32) -> io::Result<OwnedFd> {
    let fd = socket()?;
    set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
    bind(fd.as_fd(), index, 0)?;
    Ok(fd)
}

/// A socket that only sends, each message with a virtio header before the frame.
pub(crate) fn asking_sender(index: u32) -> io::Result<OwnedFd> {
    let fd = socket()?;
    set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
    bind(fd.as_fd(), index, 0)?;
    Ok(fd)
}

/// Bytes that a frame may have beyond the slots that it is read into: the rest of a super-frame of 64 KiB.
const SPILL: usize = 65_536 + 64;
/// Memory for frames that wait to be read, in bytes for each slot of the ring: 16 MiB for 1024 slots, more than a TCP window.
/// The kernel doubles what it is told, and counts what it really spends on a frame, which for a short one is many times its
/// length.
const WAITING: u32 = 16 << 10;

/// Control message of a received frame (`struct cmsghdr`, `struct tpacket_auxdata`), aligned.
#[derive(Clone, Copy, Default)]
struct Control([u64; 6]);

/// A socket that receives frames into a ring's slots, a batch in one system call; it has received nothing yet: see
/// [`receive_from`].
pub(crate) struct Receiver {
    fd: OwnedFd,
    /// Bytes that were asked for.
    waiting: u32,
    messages: Vec<libc::mmsghdr>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<[u8; vnet::SHORT]>,
    controls: Vec<Control>,
    /// For each message, what does not fit its slots.
    spill: Vec<u8>,
}

/// A frame that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Bytes of the frame, without its tag.
    pub(crate) len: usize,
    /// The frame was longer than what it was read into.
    pub(crate) truncated: bool,
    /// The VLAN tag that the kernel took out: TPID and TCI.
    pub(crate) tag: Option<[u8; 4]>,
    /// Metadata from the kernel about its checksum and segments, of the frame with its tag in place.
    pub(crate) meta: Option<Meta>,
}

// SAFETY: the pointers in the lists are made and used within one call; between calls they are dead values.
unsafe impl Send for Receiver {}

impl Receiver {
    /// `slots`: of the ring that is received into.
    pub(crate) fn new(slots: u32) -> io::Result<Self> {
        let fd = socket()?;
        let waiting = slots.saturating_mul(WAITING).min(1 << 30);
        for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING, libc::PACKET_AUXDATA] {
            set_option(fd.as_fd(), SOL_PACKET, option, &1)?;
        }
        // Beyond the system's limit with the privilege, else up to it.
        set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &waiting)
            .or_else(|_| set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &waiting))?;
        Ok(Self {
            fd,
            waiting,
            messages: Vec::with_capacity(MOST),
            iovecs: Vec::new(),
            headers: vec![[0; vnet::SHORT]; MOST],
            controls: vec![Control::default(); MOST],
            spill: vec![0; SPILL * MOST],
        })
    }

    /// True if as much may wait in the socket as was asked for.
    pub(crate) fn has_room(&self) -> io::Result<bool> {
        let mut value = 0u32;
        let mut len = 4u32;
        // SAFETY: four writable bytes.
        check(unsafe {
            let value = (&raw mut value).cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value, &raw mut len)
        })?;
        Ok(value >= self.waiting)
    }

    /// Reads up to `most` frames in one system call, each into `slots` free slots of its own, in order, and what does not
    /// fit there behind them: see [`Receiver::arrived`] and [`Receiver::spilled`]. Returns the number read, 0 if none is
    /// there.
    pub(crate) fn read(&mut self, ring: &mut OwnRx<'_>, slots: u32, most: u32) -> u32 {
        let n = most.min(ring.room() / slots.max(1)).min(u32::try_from(MOST).unwrap_or(1));
        self.iovecs.clear();
        self.messages.clear();
        let mut starts = [0; MOST + 1];
        for i in 0..n {
            let at = i as usize;
            starts[at] = self.iovecs.len();
            let header = &mut self.headers[at];
            self.iovecs.push(libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() });
            if scatter(ring, i * slots, slots, &mut self.iovecs).is_none() {
                return 0;
            }
            let rest = &mut self.spill[at * SPILL..(at + 1) * SPILL];
            self.iovecs.push(libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() });
            starts[at + 1] = self.iovecs.len();
        }
        let base = self.iovecs.as_mut_ptr();
        for i in 0..n as usize {
            // SAFETY: an `mmsghdr` is plain data, for which zeros are fine.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = base.wrapping_add(starts[i]);
            message.msg_hdr.msg_iovlen = (starts[i + 1] - starts[i]) as _;
            message.msg_hdr.msg_control = self.controls[i].0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = size_of::<Control>() as _;
            self.messages.push(message);
        }
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: `messages` has n entries; they point into `iovecs`, and those at headers, at buffers of free slots of the
        // ring, which is borrowed until the call is over, and at `spill`; control messages have room of their own.
        let got = unsafe {
            libc::recvmmsg(self.fd.as_raw_fd(), self.messages.as_mut_ptr(), n, flags as _, std::ptr::null_mut())
        };
        u32::try_from(got).unwrap_or(0)
    }

    /// The `i`th frame of the last reading.
    pub(crate) fn arrived(&self, i: u32) -> Arrived {
        let i = i as usize;
        let message = &self.messages[i];
        let tag = self.controls[i].tag(message.msg_hdr.msg_controllen);
        Arrived {
            len: (message.msg_len as usize).saturating_sub(vnet::SHORT),
            truncated: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            tag,
            meta: vnet::meta(&self.headers[i], if tag.is_some() { 4 } else { 0 }),
        }
    }

    /// The part of the `i`th frame that did not fit its slots: `len` bytes.
    pub(crate) fn spilled(&self, i: u32, len: usize) -> &[u8] {
        let at = i as usize * SPILL;
        &self.spill[at..at + len.min(SPILL)]
    }

    /// Frames that the kernel has dropped since the last call for lack of room.
    pub(crate) fn dropped(&mut self) -> u64 {
        // SAFETY: a `tpacket_stats` is plain data, for which zeros are fine.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut len = u32::try_from(size_of::<libc::tpacket_stats>()).unwrap_or(0);
        // SAFETY: `stats` is writable for `len` bytes. Reading clears the kernel's counts.
        let result = unsafe {
            let value = (&raw mut stats).cast();
            libc::getsockopt(self.fd.as_raw_fd(), SOL_PACKET, libc::PACKET_STATISTICS, value, &raw mut len)
        };
        if result == 0 { stats.tp_drops.into() } else { 0 }
    }
}

impl Control {
    /// The VLAN tag, from a control message of `len` bytes.
    fn tag(&self, len: usize) -> Option<[u8; 4]> {
        // SAFETY: `cmsghdr` and `tpacket_auxdata` are plain data, for which any bytes will do, and both lie inside: 16 and
        // 20 bytes of 48, the second behind the first's 16, which is where CMSG_DATA has it.
        let (header, auxiliary) = unsafe {
            let base = self.0.as_ptr();
            (base.cast::<libc::cmsghdr>().read(), base.add(2).cast::<libc::tpacket_auxdata>().read())
        };
        let whole = len >= 16 + size_of::<libc::tpacket_auxdata>();
        if !whole || header.cmsg_level != SOL_PACKET || header.cmsg_type != libc::PACKET_AUXDATA {
            return None;
        }
        if auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let tpid = match auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => 0x8100,
            _ => auxiliary.tp_vlan_tpid,
        };
        let ([a, b], [c, d]) = (tpid.to_be_bytes(), auxiliary.tp_vlan_tci.to_be_bytes());
        Some([a, b, c, d])
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Lets sockets receive from an interface; several share its frames. They begin together: until all have joined, none
/// receives.
pub(crate) fn receive_from(sockets: &[impl AsFd], index: u32, fanout: Fanout) -> io::Result<()> {
    // One instruction: take no byte.
    let mut nothing = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }];
    let filter = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
    let kind = match fanout {
        Fanout::Hash => libc::PACKET_FANOUT_HASH,
        Fanout::RoundRobin => libc::PACKET_FANOUT_LB,
        Fanout::Cpu => libc::PACKET_FANOUT_CPU,
    };
    let flags = kind | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    let mut group = 0;
    for (i, socket) in sockets.iter().enumerate() {
        let fd = socket.as_fd();
        set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        bind(fd, index, libc::ETH_P_ALL)?;
        if sockets.len() > 1 {
            let flags = if i == 0 { flags | libc::PACKET_FANOUT_FLAG_UNIQUEID } else { flags };
            set_option(fd, SOL_PACKET, libc::PACKET_FANOUT, &(group | flags << 16))?;
            if i == 0 {
                group = fanout_group(fd)?;
            }
        }
    }
    sockets.iter().try_for_each(|socket| set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0))
}

/// The number that the kernel chose for a fanout group.
fn fanout_group(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut value = 0u32;
    let mut len = 4u32;
    // SAFETY: four writable bytes.
    check(unsafe {
        let value = (&raw mut value).cast();
        libc::getsockopt(fd.as_raw_fd(), SOL_PACKET, libc::PACKET_FANOUT, value, &raw mut len)
    })?;
    Ok(value & 0xffff)
}
