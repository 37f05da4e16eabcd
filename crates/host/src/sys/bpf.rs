//! bpf(2): maps, programs, and links that attach them. Each lives as long as its descriptor.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

// enum bpf_cmd, bpf_map_type of linux/bpf.h
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// # Safety
/// `T` must be the part of `union bpf_attr` that the command reads, and its pointers valid for the command's accesses.
unsafe fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the caller's promise; the size is the structure's.
    match unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(RawFd::try_from(result).unwrap_or(-1)),
    }
}

/// # Safety
/// As for [`bpf`]; the command must return a new descriptor.
unsafe fn bpf_fd<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the descriptor is new and ours (and close-on-exec).
    unsafe { bpf(command, attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// A map from 32-bit keys to values of one size.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    value_size: usize,
}

/// Attributes of BPF_MAP_LOOKUP_ELEM and BPF_MAP_UPDATE_ELEM.
#[repr(C)]
struct Element {
    map_fd: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// Makes an array of 64-bit counters, all 0.
    pub fn counters(entries: u32) -> io::Result<Self> {
        Self::new(BPF_MAP_TYPE_ARRAY, 8, entries)
    }

    /// Makes a map from an interface's receive queues, 0 to `queues - 1`, to AF_XDP sockets.
    pub fn sockets(queues: u32) -> io::Result<Self> {
        Self::new(BPF_MAP_TYPE_XSKMAP, 4, queues)
    }

    fn new(map_type: u32, value_size: u32, max_entries: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Attributes {
            map_type: u32,
            key_size: u32,
            value_size: u32,
            max_entries: u32,
            map_flags: u32,
        }
        let attributes = Attributes { map_type, key_size: 4, value_size, max_entries, map_flags: 0 };
        // SAFETY: the attributes of BPF_MAP_CREATE, which has no pointers and gives a descriptor.
        let fd = unsafe { bpf_fd(BPF_MAP_CREATE, &attributes) }?;
        Ok(Self { fd, value_size: value_size as usize })
    }

    fn element(&self, key: &u32, value: u64) -> Element {
        let key = (&raw const *key).expose_provenance() as u64;
        Element { map_fd: number(self.fd.as_fd()), pad: 0, key, value, flags: 0 }
    }

    /// Redirects a queue's frames to a socket, in a map of sockets. The entry is removed when the socket is closed.
    pub fn set_socket(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = number(socket);
        if self.value_size != size_of_val(&value) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let element = self.element(&queue, (&raw const value).expose_provenance() as u64);
        // SAFETY: the attributes of BPF_MAP_UPDATE_ELEM; key and value are four readable bytes each, as the map says.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &element) }.map(drop)
    }

    /// Reads a counter of an array of counters.
    pub fn counter(&self, at: u32) -> io::Result<u64> {
        let mut value = 0u64;
        if self.value_size != size_of_val(&value) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let element = self.element(&at, (&raw mut value).expose_provenance() as u64);
        // SAFETY: the attributes of BPF_MAP_LOOKUP_ELEM; the key is four readable bytes and the value eight writable
        // ones, as the map says.
        unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &element) }?;
        Ok(value)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An instruction (`struct bpf_insn`). The kernel verifies a program before it accepts it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    code: u8,
    /// Destination register in the low half, source in the high half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Insn {
    /// Makes an instruction; destination and source are the low and the high half of `registers`.
    #[must_use]
    pub const fn new(code: u8, registers: u8, offset: i16, immediate: i32) -> Self {
        Self { code, registers, offset, immediate }
    }
}

/// Loads a program to be attached as `attach_type`.
pub(crate) fn load(
    prog_type: u32,
    attach_type: u32,
    program: &[Insn],
    prog_flags: u32,
    name: &str,
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
    for (to, from) in prog_name[..15].iter_mut().zip(name.bytes()) {
        *to = from;
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

/// Attaches a program. `of_the_place`: for netfilter, protocol family, hook, priority and flags; for traffic control,
/// the reference for the order, and the revision.
pub(crate) fn link(
    program: BorrowedFd<'_>,
    interface: u32,
    attach_type: u32,
    flags: u32,
    of_the_place: [u32; 4],
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        prog_fd: u32,
        target_ifindex: u32,
        attach_type: u32,
        flags: u32,
        of_the_place: [u32; 4],
    }
    let attributes =
        Attributes { prog_fd: number(program), target_ifindex: interface, attach_type, flags, of_the_place };
    // SAFETY: the attributes of BPF_LINK_CREATE, which has no pointers here and gives a descriptor.
    unsafe { bpf_fd(BPF_LINK_CREATE, &attributes) }
}
