//! BPF programs that count the packets that come by and let all of them pass or none, at places of the kernel's path.
//!
//! Program, counter and link live by descriptor: whatever becomes of the process, nothing stays attached.

use super::bpf::{
    BPF_LINK_CREATE, BPF_MAP_CREATE, BPF_PROG_TYPE_XDP, BPF_XDP, XDP_FLAGS_DRV_MODE, bpf, bpf_fd, insn, load, number,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

// enum bpf_cmd, bpf_map_type, bpf_prog_type, bpf_attach_type of linux/bpf.h
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PROG_TYPE_NETFILTER: u32 = 32;
const BPF_NETFILTER: u32 = 45;
const BPF_TCX_INGRESS: u32 = 46;
const BPF_TCX_EGRESS: u32 = 47;
/// linux/netfilter.h
const NFPROTO_IPV4: u32 = 2;

/// Where a program stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Netfilter's hook of that number (`enum nf_inet_hooks`) for IPv4, in the calling thread's network namespace.
    Netfilter(u32),
    /// The traffic control ingress of the interface of that number.
    TcIngress(u32),
    /// Its egress.
    TcEgress(u32),
    /// XDP in the interface's driver.
    Xdp(u32),
}

impl At {
    /// Type of the program, type of the attachment, interface, what lets a packet pass, what drops it.
    fn facts(self) -> (u32, u32, u32, i32, i32) {
        match self {
            Self::Netfilter(_) => (BPF_PROG_TYPE_NETFILTER, BPF_NETFILTER, 0, 1, 0),
            // TCX_PASS, TCX_DROP
            Self::TcIngress(interface) => (BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS, interface, 0, 2),
            Self::TcEgress(interface) => (BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_EGRESS, interface, 0, 2),
            // XDP_PASS, XDP_DROP
            Self::Xdp(interface) => (BPF_PROG_TYPE_XDP, BPF_XDP, interface, 2, 1),
        }
    }
}

/// A counting program at its place; it is taken off when this goes.
#[derive(Debug)]
pub(crate) struct Counting {
    counter: OwnedFd,
    _link: OwnedFd,
}

impl Counting {
    /// Loads and attaches one. Needs CAP_BPF and CAP_NET_ADMIN.
    pub(crate) fn attach(at: At, pass: bool) -> io::Result<Self> {
        let counter = counter()?;
        let (prog_type, attach_type, interface, passes, drops) = at.facts();
        let program = [
            // r1 = the counter's address          (two words; source 2 says: into the value of a map)
            insn(0x18, 0x21, 0, counter.as_raw_fd()),
            insn(0, 0, 0, 0),
            // r2 = 1
            insn(0xb7, 0x02, 0, 1),
            // atomically *(u64 *)r1 += r2
            insn(0xdb, 0x21, 0, 0),
            // return what is done with the packet
            insn(0xb7, 0x00, 0, if pass { passes } else { drops }),
            insn(0x95, 0x00, 0, 0),
        ];
        // traffic control takes any attach type at load, and wants none
        let expected = if prog_type == BPF_PROG_TYPE_SCHED_CLS { 0 } else { attach_type };
        let program = load(prog_type, expected, &program, 0, b"linerate_count")?;
        #[repr(C)]
        struct Attributes {
            prog_fd: u32,
            target_ifindex: u32,
            attach_type: u32,
            flags: u32,
            // netfilter: protocol family, hook, priority, flags; traffic control: relative to what, and revision
            of_the_place: [u32; 4],
        }
        let of_the_place = match at {
            At::Netfilter(hook) => [NFPROTO_IPV4, hook, 1, 0],
            _ => [0; 4],
        };
        let attributes = Attributes {
            prog_fd: number(program.as_raw_fd()),
            target_ifindex: interface,
            attach_type,
            // In the driver, before there is a socket buffer; otherwise the kernel may take the generic place behind it.
            flags: if matches!(at, At::Xdp(_)) { XDP_FLAGS_DRV_MODE } else { 0 },
            of_the_place,
        };
        // SAFETY: the attributes of BPF_LINK_CREATE, which has no pointers here and gives a descriptor.
        let link = unsafe { bpf_fd(BPF_LINK_CREATE, &attributes) }?;
        Ok(Self { counter, _link: link })
    }

    /// Packets that came by so far.
    pub(crate) fn count(&self) -> io::Result<u64> {
        #[repr(C)]
        struct Attributes {
            map_fd: u32,
            pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let key = 0u32;
        let mut value = 0u64;
        let attributes = Attributes {
            map_fd: number(self.counter.as_raw_fd()),
            pad: 0,
            key: (&raw const key).expose_provenance() as u64,
            value: (&raw mut value).expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: the attributes of BPF_MAP_LOOKUP_ELEM; the key is four readable bytes and the value eight writable
        // ones, as the map says.
        unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &attributes) }?;
        Ok(value)
    }
}

/// An array of one number.
fn counter() -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        map_type: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        map_flags: u32,
    }
    let attributes =
        Attributes { map_type: BPF_MAP_TYPE_ARRAY, key_size: 4, value_size: 8, max_entries: 1, map_flags: 0 };
    // SAFETY: the attributes of BPF_MAP_CREATE, which has no pointers and gives a descriptor.
    unsafe { bpf_fd(BPF_MAP_CREATE, &attributes) }
}
