//! bpf(2): one map of AF_XDP sockets, one program that steers frames to them, one link that attaches it to an interface.
//! Programs that count and drop are in [`super::count`].
//!
//! All three live as long as their descriptors: however the process ends, the interface is as it was.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

// enum bpf_cmd, bpf_map_type, bpf_prog_type, bpf_attach_type of linux/bpf.h
pub(super) const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
pub(super) const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
pub(super) const BPF_PROG_TYPE_XDP: u32 = 6;
pub(super) const BPF_XDP: u32 = 37;
/// The program takes frames of several buffers (Linux 5.18).
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
/// Run by the driver, or for any interface by the network stack (linux/if_link.h).
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
pub(super) const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

pub(super) fn number(fd: RawFd) -> u32 {
    u32::try_from(fd).unwrap_or(u32::MAX)
}

/// # Safety
/// `T` must be the part of `union bpf_attr` that the command reads, and its pointers valid for what the command does.
pub(super) unsafe fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the caller's promise; the size is the structure's.
    match unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(RawFd::try_from(result).unwrap_or(-1)),
    }
}

/// # Safety
/// As for [`bpf`]; the command must give a new descriptor.
pub(super) unsafe fn bpf_fd<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the descriptor is new and ours (and close-on-exec).
    unsafe { bpf(command, attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// A map from an interface's receive queues to AF_XDP sockets.
#[derive(Debug)]
pub(crate) struct SocketMap(OwnedFd);

impl SocketMap {
    /// For queues 0 to `queues - 1`.
    pub(crate) fn new(queues: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Attributes {
            map_type: u32,
            key_size: u32,
            value_size: u32,
            max_entries: u32,
            map_flags: u32,
        }
        let attributes =
            Attributes { map_type: BPF_MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, max_entries: queues, map_flags: 0 };
        // SAFETY: the attributes of BPF_MAP_CREATE, which has no pointers and gives a descriptor.
        unsafe { bpf_fd(BPF_MAP_CREATE, &attributes) }.map(Self)
    }

    /// Has a queue's frames go to a socket. The entry goes with the socket.
    pub(crate) fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        #[repr(C)]
        struct Attributes {
            map_fd: u32,
            pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let value = number(socket.as_raw_fd());
        let attributes = Attributes {
            map_fd: number(self.0.as_raw_fd()),
            pad: 0,
            key: (&raw const queue).expose_provenance() as u64,
            value: (&raw const value).expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: the attributes of BPF_MAP_UPDATE_ELEM; key and value are four readable bytes each, as the map says.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &attributes) }.map(drop)
    }
}

/// `struct bpf_insn`.
#[repr(C)]
pub(super) struct Insn {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// An instruction; destination and source are the low and the high half of `registers`.
pub(super) fn insn(code: u8, registers: u8, offset: i16, immediate: i32) -> Insn {
    Insn { code, registers, offset, immediate }
}

/// Loads a program that will be attached as `attach_type`.
pub(super) fn load(
    prog_type: u32,
    attach_type: u32,
    program: &[Insn],
    prog_flags: u32,
    name: &[u8],
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        prog_type: u32,
        insn_cnt: u32,
        insns: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log_buf: u64,
        kern_version: u32,
        prog_flags: u32,
        prog_name: [u8; 16],
        prog_ifindex: u32,
        expected_attach_type: u32,
    }
    let license: &CStr = c"MIT OR Apache-2.0";
    let mut prog_name = [0; 16];
    // The last byte stays 0.
    for (to, from) in prog_name[..15].iter_mut().zip(name) {
        *to = *from;
    }
    let attributes = Attributes {
        prog_type,
        insn_cnt: u32::try_from(program.len()).unwrap_or(0),
        insns: program.as_ptr().expose_provenance() as u64,
        license: license.as_ptr().expose_provenance() as u64,
        log_level: 0,
        log_size: 0,
        log_buf: 0,
        kern_version: 0,
        prog_flags,
        prog_name,
        prog_ifindex: 0,
        expected_attach_type: attach_type,
    };
    // SAFETY: the attributes of BPF_PROG_LOAD, which reads the instructions and the licence, both alive, and gives
    // a descriptor.
    unsafe { bpf_fd(BPF_PROG_LOAD, &attributes) }
}

/// A program that redirects each frame to its queue's socket, and passes it to the network stack if there is none.
#[derive(Debug)]
pub(crate) struct Redirect(OwnedFd);

impl Redirect {
    /// Loads it. `fragments`: also for frames of several buffers.
    pub(crate) fn load(map: &SocketMap, fragments: bool) -> io::Result<Self> {
        let program = [
            // r2 = context->rx_queue_index                (struct xdp_md, byte 16)
            insn(0x61, 0x12, 16, 0),
            // r1 = the map                                (two words; source 1 says: a descriptor)
            insn(0x18, 0x11, 0, map.0.as_raw_fd()),
            insn(0, 0, 0, 0),
            // r3 = XDP_PASS                               (what to do without a socket)
            insn(0xb7, 0x03, 0, 2),
            // r0 = bpf_redirect_map(r1, r2, r3)
            insn(0x85, 0, 0, 51),
            // return r0
            insn(0x95, 0, 0, 0),
        ];
        let flags = if fragments { BPF_F_XDP_HAS_FRAGS } else { 0 };
        load(BPF_PROG_TYPE_XDP, BPF_XDP, &program, flags, b"linerate_xsk").map(Self)
    }

    /// Attaches it to an interface: in its driver, or in front of the network stack.
    pub(crate) fn attach(&self, interface: u32, driver: bool) -> io::Result<Attached> {
        #[repr(C)]
        struct Attributes {
            prog_fd: u32,
            target_ifindex: u32,
            attach_type: u32,
            flags: u32,
        }
        let attributes = Attributes {
            prog_fd: number(self.0.as_raw_fd()),
            target_ifindex: interface,
            attach_type: BPF_XDP,
            flags: if driver { XDP_FLAGS_DRV_MODE } else { XDP_FLAGS_SKB_MODE },
        };
        // SAFETY: the attributes of BPF_LINK_CREATE, which has no pointers and gives a descriptor.
        unsafe { bpf_fd(BPF_LINK_CREATE, &attributes) }.map(|link| Attached { _link: link })
    }
}

/// A program at its interface; it is taken off when this goes. The link holds the program, and the program the map.
#[derive(Debug)]
pub(crate) struct Attached {
    _link: OwnedFd,
}
